"""Suspected persons, against crowds in which it is known who is whom."""

from dataclasses import replace

import numpy as np
import pytest

from prefjudge.core.workers import Turns, find_persons

DAY = 86_400.0


def turns(rows: list[tuple[int, float, float]], workers: int) -> Turns:
    """Return the turns of so many accounts, of an account and two times each."""
    worker, accepted, submitted = np.array(rows, dtype=np.float64).T
    return Turns(
        workers=tuple(f"w{number}" for number in range(workers)),
        worker=worker.astype(np.int64),
        hit=np.arange(worker.size),
        published=np.zeros(worker.size),
        accepted=accepted,
        submitted=submitted,
    )


def honest(rng: np.random.Generator, people: int, days: float) -> list[tuple[int, float, float]]:
    """Let people come once or more: some work on and on, some pause, and some are all here at one hour."""
    rows = []
    for worker in range(people):
        pause, together, now = rng.choice([10.0, 300.0]), rng.random() < 0.3, 0.0
        for visit in range(rng.integers(1, 4)):
            start = visit * DAY + rng.normal(0, 90) if together else rng.uniform(0, days * DAY)
            now = max(now, start)
            for _ in range(rng.geometric(1 / 4)):
                done = now + rng.lognormal(np.log(330), 0.4)
                rows.append((worker, now, done))
                now = done + rng.exponential(pause)
    return rows


def one_person(
    rng: np.random.Generator, accounts: range, hits: int, slowest: float
) -> list[tuple[int, float, float]]:
    """Let one person work through so many HITs under names that change by chance."""
    rows, now = [], rng.uniform(0, DAY / 2)
    for account in rng.choice(accounts, hits).tolist():
        done = now + rng.lognormal(np.log(330), 0.4)
        rows.append((account, now, done))
        now = done + rng.uniform(8, slowest)
    return rows


@pytest.mark.parametrize(("people", "slowest"), [(14, 45), (14, 120), (200, 45)])
def test_one_person_with_six_accounts_is_found_and_nobody_with_them(people: int, slowest: float) -> None:
    """Names are changed within seconds, or within two minutes."""
    six = range(people, people + 6)
    for seed in range(5):
        rng = np.random.default_rng(seed)
        rows = honest(rng, people, 2.0) + one_person(rng, six, 60, slowest)
        (found,) = find_persons(turns(rows, people + 6))
        assert found.workers == tuple(f"w{number}" for number in six)
        assert "stopped, while none was at work (chance below 1 in a million)" in found.text


@pytest.mark.parametrize(("people", "studies"), [(20, 60), (500, 10)])
@pytest.mark.parametrize("days", [0.25, 2.0])
def test_different_people_are_nobody(people: int, studies: int, days: float) -> None:
    drawn = [honest(np.random.default_rng([seed, people]), people, days) for seed in range(studies)]
    assert [find_persons(turns(rows, people)) for rows in drawn] == [()] * studies


def test_who_waited_for_a_hit_that_was_not_to_be_had_is_nobody() -> None:
    """Where each HIT is published when the last one came in, people follow each other as one person would."""
    rng = np.random.default_rng(1)
    one_by_one = turns(one_person(rng, range(6), 60, 45), 6)
    assert find_persons(one_by_one)
    late = np.concatenate(([0.0], one_by_one.submitted[:-1] + 1))
    assert find_persons(replace(one_by_one, published=late)) == ()
    assert find_persons(replace(one_by_one, hit=np.zeros(60, dtype=np.int64))) == ()


def test_without_times_there_is_nobody() -> None:
    nothing = np.zeros(0)
    codes = nothing.astype(np.int64)
    assert (
        find_persons(
            Turns(workers=(), worker=codes, hit=codes, published=nothing, accepted=nothing, submitted=nothing)
        )
        == ()
    )
