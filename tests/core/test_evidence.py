from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import beta

from prefjudge.core.judgments import Judgments
from prefjudge.core.workers import SignKind, find_signs, gather_evidence, share_interval


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
    texts = {(sign.worker, sign.kind): sign.text for sign in signs}
    assert texts["left", SignKind.SIDE] == (
        "chose the left passage in 150 of 150 comparisons (chance below 1 in a million)"
    )
    assert texts["left", SignKind.GOLD].startswith("got 9 of 18 gold pairs right (95 % interval: 29% to 71%)")
    assert texts["random", SignKind.TIME] == "made 150 of 150 choices faster than anybody can read"


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
