"""What is recorded some HITs at a time is recorded whole, also where a call in the middle fails."""

from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from prefjudge import collect, publish, status, work
from prefjudge.crowd.mturk import MTurkCrowd
from prefjudge.crowd.protocol import RefusedError
from prefjudge.errors import CrowdError
from prefjudge.steps.status import StatusResult
from prefjudge.study.assignments import KEPT
from prefjudge.study.progress import count_verdicts
from prefjudge.study.store import Study


def fail_at(
    monkeypatch: pytest.MonkeyPatch, name: str, number: int, error: CrowdError, *, done: bool = False
) -> list[str]:
    """Let the call of that number fail, once; where ``done``, the crowd has done what was asked before."""
    made: list[str] = []
    call: Callable[..., Any] = getattr(MTurkCrowd, name)

    def called(crowd: MTurkCrowd, *given: Any, **named: Any) -> Any:
        made.append(str(given[0]))
        if len(made) == number:
            if done:
                call(crowd, *given, **named)
            raise error
        return call(crowd, *given, **named)

    monkeypatch.setattr(MTurkCrowd, name, called)
    return made


def published(state: StatusResult) -> tuple[dict[str, int], Decimal]:
    return state.hits, Decimal(state.committed)


HIT = Decimal("2.40")


def test_what_no_call_has_reached_is_forgotten_and_published_later(
    served: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fail_at(monkeypatch, "publish", 3, RefusedError("no"))
    with pytest.raises(RefusedError, match="no"):
        publish(served, yes=True)
    assert published(status(served)) == ({"open": 2}, 2 * HIT)
    fail_at(monkeypatch, "publish", 2, CrowdError("the line is dead"), done=True)
    with pytest.raises(CrowdError, match="dead"):
        publish(served, yes=True)
    # The call that failed may have made its HIT, and did: only its intent says so.
    assert published(status(served)) == ({"open": 3, "planned": 1}, 4 * HIT)
    publish(served, yes=True)
    assert published(status(served)) == ({"open": 7}, 7 * HIT)


def test_what_came_before_a_marketplace_fails_is_collected_and_paid(
    served: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    publish(served, yes=True)
    work(served, workers=7, error=0.0)
    with monkeypatch.context() as broken:
        fail_at(broken, "_fetch", 4, CrowdError("the line is dead"))
        with pytest.raises(CrowdError, match="dead"):
            collect(served)
    state = status(served)
    assert (state.assignments, state.hits) == (3, {"closed": 3, "open": 4})
    with monkeypatch.context() as broken:
        approved = fail_at(broken, "approve", 3, CrowdError("the line is dead"), done=True)
        with pytest.raises(CrowdError, match="dead"):
            collect(served)
    assert status(served).assignments == 7
    again = fail_at(monkeypatch, "approve", -1, CrowdError("never"))
    assert collect(served).finished
    assert len(again) == 5, "the two that were approved for certain are not asked for again"
    assert approved[2] in again


def test_extensions_that_no_call_has_reached_are_forgotten_and_made_later(
    served: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    publish(served, yes=True)
    work(served, workers=7, error=0.0, temper=["careless"] * 7)
    with monkeypatch.context() as broken:
        fail_at(broken, "extend", 3, RefusedError("no"))
        with pytest.raises(RefusedError, match="no"):
            collect(served)
    with Study(served).transaction(write=False) as db:
        dropped = sum(count for verdict, count in count_verdicts(db).items() if verdict != KEPT)
    assert dropped > 4
    assert Decimal(status(served).committed) == (7 + 2) * HIT
    with monkeypatch.context() as broken:
        fail_at(broken, "extend", 2, CrowdError("the line is dead"), done=True)
        with pytest.raises(CrowdError, match="dead"):
            collect(served)
    # The call that failed may have extended its HIT, and did: only its intent says so.
    assert Decimal(status(served).committed) == (7 + 4) * HIT
    made = fail_at(monkeypatch, "extend", -1, CrowdError("never"))
    assert collect(served).reissued == dropped - 3
    assert len(made) == dropped - 4, "the crowd has told of the one that was lost"
    assert Decimal(status(served).committed) == (7 + dropped) * HIT
    assert collect(served).reissued == 0
