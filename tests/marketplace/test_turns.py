"""Nobody makes others wait by asking for much at once."""

import asyncio
from concurrent.futures import ThreadPoolExecutor

import pytest

from prefjudge.marketplace.errors import Refusal
from prefjudge.marketplace.site.state import AT_ONCE, WAITING, Turns


def test_each_worker_has_a_line_of_their_own_and_its_length_is_limited() -> None:
    async def scene() -> None:
        turns, running, most, refused = Turns(), 0, 0, 0
        done = asyncio.Event()

        async def ask(who: str) -> None:
            nonlocal running, most, refused
            try:
                async with turns.of(who):
                    running += who == "greedy"
                    most = max(most, running)
                    if who == "greedy":
                        await done.wait()
                    running -= who == "greedy"
            except Refusal as refusal:
                refused += (refusal.code, refusal.status) == ("too_many_requests", 429)

        crowd = [asyncio.create_task(ask("greedy")) for _ in range(AT_ONCE + WAITING + 5)]
        await asyncio.sleep(0)
        await asyncio.wait_for(ask("other"), 5)  # although nobody of the crowd has ended
        assert refused == 5
        crowd[-6].cancel()  # who hangs up leaves the line
        done.set()
        await asyncio.gather(*crowd, return_exceptions=True)
        assert most == AT_ONCE
        assert turns.empty
        with pytest.raises(ZeroDivisionError):
            async with turns.of("greedy"):
                raise ZeroDivisionError
        assert turns.empty

    with ThreadPoolExecutor(1) as thread:  # this one may have the loop of a browser's tests
        thread.submit(lambda: asyncio.run(scene())).result()
