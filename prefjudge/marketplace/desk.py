"""Where requests wait for their turn: from the event loop to the database and back."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from prefjudge.marketplace.market import Market, Turn

T = TypeVar("T")
_RETRIED = ("40001", "40P01")  # SQLSTATE of a serialisation failure and of a deadlock
_TRIES = 5


class Desk:
    """Runs turns on threads of its own.

    SQLite has one writer at a time, so one thread serves it, without waits for locks; PostgreSQL
    gets several.
    """

    def __init__(self, market: Market) -> None:
        threads = 1 if market.database.dialect == "sqlite" else 8
        self.market = market
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="turn")

    async def run(self, act: Callable[[Turn], T], *, write: bool = True) -> T:
        """Carry out ``act`` in a turn; a turn that the database broke off in a deadlock is tried again."""
        return await asyncio.get_running_loop().run_in_executor(self._pool, self.run_now, act, write)

    def call(self, act: Callable[[Turn], T], *, write: bool = True) -> T:
        """Carry out ``act`` in a turn, for a caller that is no coroutine."""
        return self._pool.submit(self.run_now, act, write).result()

    def run_now(self, act: Callable[[Turn], T], write: bool = True) -> T:
        """Carry out ``act`` in a turn on this thread."""
        for _ in range(_TRIES - 1):
            try:
                with self.market.turn(write=write) as turn:
                    return act(turn)
            except Exception as error:
                if getattr(error, "sqlstate", None) not in _RETRIED:
                    raise
        with self.market.turn(write=write) as turn:
            return act(turn)

    def close(self) -> None:
        """Wait for the turns under way, and end the threads."""
        self._pool.shutdown(wait=True)
