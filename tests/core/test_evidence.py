"""What is said of a worker who stands out, and from where on."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import beta

from prefjudge.core.judgments import Judgments
from prefjudge.core.workers import (
    Evidence,
    Sign,
    SignKind,
    Turns,
    find_persons,
    find_signs,
    gather_evidence,
    share_interval,
)


def judged(rows: list[tuple[str, str, str, int, str]]) -> Judgments:
    """Judgments from rows of query, left, right, choice, worker ("" for nobody)."""
    queries, docs = sorted({r[0] for r in rows}), sorted({d for r in rows for d in r[1:3]})
    workers = sorted({r[4] for r in rows} - {""})
    return Judgments(
        queries=tuple(queries), docs=tuple(docs), workers=tuple(workers),
        query=np.array([queries.index(r[0]) for r in rows], dtype=np.int32),
        left=np.array([docs.index(r[1]) for r in rows], dtype=np.int32),
        right=np.array([docs.index(r[2]) for r in rows], dtype=np.int32),
        choice=np.array([r[3] for r in rows], dtype=np.int8),
        strength=np.ones(len(rows), dtype=np.int8),
        worker=np.array([workers.index(r[4]) if r[4] else -1 for r in rows], dtype=np.int32),
    )  # fmt: skip


def crowd(rng: np.random.Generator, pairs: int = 60) -> tuple[Judgments, np.ndarray]:
    """Three honest workers, one who always chooses the left, one at random; and their times."""
    rows, times = [], []
    for pair in range(pairs):
        for worker in ("ann", "bob", "cid", "left", "random"):
            better_left = rng.random() < 0.5
            docs = (f"a{pair}", f"b{pair}") if better_left else (f"b{pair}", f"a{pair}")
            right = 1 if better_left else -1
            honest = right if rng.random() < 0.9 else -right
            choice = {"left": 1, "random": int(rng.choice([-1, 1]))}.get(worker, honest)
            rows.append(("q", *docs, choice, worker))
            times.append(500 if worker == "random" else int(rng.integers(15_000, 40_000)))
    return judged(rows), np.array(times)


def test_the_interval_of_a_share_is_the_quantiles_of_its_posterior() -> None:
    low, high = share_interval(np.array([3, 0]), np.array([1, 0]))
    assert low == pytest.approx([beta.ppf(0.025, 4, 2), 0.025])
    assert high == pytest.approx([beta.ppf(0.975, 4, 2), 0.975])


def test_each_odd_worker_stands_out_by_what_is_odd_and_honest_ones_do_not() -> None:
    judgments, times = crowd(np.random.default_rng(7), pairs=150)
    words = np.full(len(judgments), 120)
    evidence = gather_evidence(
        replace(judgments, gold=np.array([[18, 17, 18, 9, 10], [0, 1, 0, 9, 8]])),
        milliseconds=times,
        words=words,
    )
    signs = find_signs(evidence)
    kinds = {worker: {sign.kind for sign in signs if sign.worker == worker} for worker in evidence.workers}
    assert kinds["ann"] == kinds["bob"] == kinds["cid"] == set()
    assert kinds["left"] >= {SignKind.SIDE, SignKind.GOLD, SignKind.AGREEMENT}
    assert SignKind.TIME not in kinds["left"]
    assert kinds["random"] >= {SignKind.TIME, SignKind.AGREEMENT, SignKind.GOLD}
    assert SignKind.SIDE not in kinds["random"]


def test_repeats_count_where_the_sides_were_swapped() -> None:
    evidence = gather_evidence(
        judged(
            [
                ("q", "a", "b", 1, "w"),
                ("q", "b", "a", -1, "w"),  # the same passage on the other side
                ("q", "a", "c", 1, "w"),
                ("q", "c", "a", 1, "w"),  # the same side, so another passage
                ("q", "b", "c", 1, "w"),
                ("q", "b", "c", -1, "w"),  # not swapped
                ("q", "c", "b", 1, "x"),  # somebody else
                ("r", "b", "a", 1, "w"),  # another query
                ("r", "c", "a", 1, "w"),
                ("r", "a", "c", 1, "w"),  # the same side again
            ]
        )
    )
    assert evidence.workers == ("w", "x")
    assert evidence.repeated.tolist() == [3, 0]
    assert evidence.consistent.tolist() == [1, 0]


def test_a_worker_of_the_vocabulary_who_judged_nothing_has_a_row() -> None:
    judgments = replace(judged([("q", "a", "b", 1, "v")]), workers=("v", "w"))
    evidence = gather_evidence(judgments)
    assert evidence.judged.tolist() == evidence.left.tolist() == evidence.decided.tolist() == [1, 0]
    assert evidence.side_p.tolist() == [1.0, 1.0]


def test_what_is_not_known_is_evidence_of_nothing() -> None:
    rows = [("q", "a", "b", 1, ""), ("q", "b", "a", 0, "w"), ("q", "a", "b", 1, "w")]
    evidence = gather_evidence(judged(rows), milliseconds=np.zeros(3, dtype=np.int64), words=np.full(3, 500))
    assert evidence.judged.tolist() == [2]
    assert evidence.decided.tolist() == [1]
    assert np.isnan(evidence.seconds).all()
    assert evidence.timed.tolist() == evidence.hurried.tolist() == [0]
    assert find_signs(evidence) == ()
    nobody = gather_evidence(judged([("q", "a", "b", 1, "")]))
    assert find_signs(nobody) == ()


@given(st.integers(0, 2**32 - 1))
def test_the_order_of_workers_and_of_names_does_not_matter(seed: int) -> None:
    rng = np.random.default_rng(seed)
    judgments, times = crowd(rng, pairs=8)
    order = np.argsort(judgments.worker, kind="stable")
    by_worker = judged(
        [
            (
                "q", judgments.docs[judgments.left[i]], judgments.docs[judgments.right[i]],
                int(judgments.choice[i]), judgments.workers[judgments.worker[i]],
            )
            for i in order
        ]
    )  # fmt: skip
    one = gather_evidence(judgments, milliseconds=times)
    other = gather_evidence(by_worker, milliseconds=times[order])
    for column in ("left", "decided", "side_p", "seconds", "compared", "agreed"):
        np.testing.assert_array_equal(getattr(one, column), getattr(other, column))


def test_the_time_of_a_worker_is_the_median_from_the_first_judgment_on() -> None:
    times = {"one": [9_000], "two": [4_000, 7_000], "three": [60_000, 2_000, 5_000], "none": [0]}
    rows = [("q", "a", "b", 1, worker) for worker, known in times.items() for _ in known]
    taken = np.array([time for known in times.values() for time in known])
    evidence = gather_evidence(judged(rows), milliseconds=taken, words=np.full(len(rows), 40))
    found = dict(zip(evidence.workers, evidence.seconds.tolist(), strict=True))
    assert found == pytest.approx({"one": 9.0, "two": 5.5, "three": 5.0, "none": np.nan}, nan_ok=True)
    assert evidence.workers == ("none", "one", "three", "two")
    assert evidence.timed.tolist() == [0, 1, 3, 2]
    assert evidence.hurried.tolist() == [0, 0, 1, 0], "4 s for 40 words are as fast as people read"


# What is said of a worker who stands out, and from where on.


PLAIN = {
    "judged": 40, "left": 20, "decided": 40, "side_p": 1.0, "seconds": 20.0,
    "timed": 40, "hurried": 20, "repeated": 20, "consistent": 18, "compared": 40.0, "agreed": 36.0,
    "gold_right": 19, "gold_missed": 1, "gold_low": 0.76, "gold_high": 0.95,
}  # fmt: skip


def evidence(**odd: float) -> Evidence:
    """Return four plain workers, of whom ``w0`` is odd in some columns."""
    columns = {name: np.array([odd.get(name, plain), *[plain] * 3]) for name, plain in PLAIN.items()}
    return Evidence(workers=("w0", "w1", "w2", "w3"), **columns)


@pytest.mark.parametrize(
    ("odd", "kind", "text"),
    [
        (
            {"side_p": 0.0024, "left": 30},
            SignKind.SIDE,
            "chose the left passage in 30 of 40 comparisons (chance 1 in 417)",
        ),
        (
            {"side_p": 9.9e-7, "left": 1, "decided": 1},
            SignKind.SIDE,
            "chose the left passage in 1 of 1 comparison (chance below 1 in a million)",
        ),
        ({"hurried": 21}, SignKind.TIME, "made 21 of 40 choices faster than anybody can read"),
        # The others are consistent in 54 of 60: nobody of 8 is with the chance 0.1^8, and 5 of 8 with 0.038.
        (
            {"repeated": 8, "consistent": 0},
            SignKind.CONSISTENCY,
            "chose the same passage in 0 of 8 pairs that came back with their sides swapped "
            "(chance below 1 in a million if like the others)",
        ),
        # They agree in 108 of 120: one of three or less has the chance 0.1^3 + 3 * 0.9 * 0.1^2 = 0.028, and
        # none 0.001.
        (
            {"compared": 3.0, "agreed": 0.0},
            SignKind.AGREEMENT,
            "agrees with the majority of the others in 0% of 3 comparisons "
            "(chance 1 in 1,000 if like the others)",
        ),
        (
            {"gold_right": 9, "gold_missed": 9, "gold_low": 0.29, "gold_high": 0.71},
            SignKind.GOLD,
            "got 9 of 18 gold pairs right (95 % interval: 29% to 71%)",
        ),
    ],
)
def test_what_stands_out_is_said_with_its_chance(odd: dict[str, float], kind: SignKind, text: str) -> None:
    assert find_signs(evidence(**odd)) == (Sign(worker="w0", kind=kind, text=text),)


@pytest.mark.parametrize(
    "even",
    [
        {},
        {"side_p": 0.0025},  # 0.01, shared by four workers
        {"hurried": 20},
        {"repeated": 8, "consistent": 5},
        {"compared": 3.0, "agreed": 1.0},
        {"compared": 3.0, "agreed": 1.9},  # ties agree by half: what is whole counts
        {"repeated": 0, "consistent": 0, "compared": 0.0, "agreed": 0.0},
        {"gold_high": 0.9},
    ],
)
def test_at_the_bound_nobody_stands_out(even: dict[str, float]) -> None:
    assert find_signs(evidence(**even)) == ()


def test_the_level_and_the_accuracy_are_as_asked() -> None:
    odd = evidence(side_p=0.1, gold_high=0.94)
    assert find_signs(odd) == ()
    found = find_signs(odd, level=0.5, accuracy=0.945)
    assert [(sign.worker, sign.kind) for sign in found] == [("w0", SignKind.SIDE), ("w0", SignKind.GOLD)]


# Suspected persons, against crowds in which it is known who is whom.


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
