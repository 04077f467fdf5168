"""Sensitivity: what changes when a rule, a tie, a worker or a run is taken away."""

from dataclasses import replace

import numpy as np
import pytest

from prefjudge.core.judgments import select_judgments
from prefjudge.core.pools import all_pairs
from prefjudge.core.resolving.resolutions import Kind, Variation, assess_sensitivity, resolve, to_qrels
from prefjudge.core.resolving.tournaments import TieWorth
from prefjudge.core.runs import Qrels
from tests.core.tables import judgments_of, pools_of


def by_name(variations: tuple[Variation, ...]) -> dict[str, Variation]:
    return {f"{one.kind.value} {one.name}": one for one in variations}


VOTES = (
    "q a b a x", "q a b b y", "q a b b x", "q a c a x", "q a c a y", "q a c a z", "q b c b z",
    "ring a b a x", "ring b c b y", "ring c a c y",
    "pair a b a z",
)  # fmt: skip


def test_each_change_is_counted_by_what_it_does() -> None:
    found = by_name(assess_sensitivity(judgments_of(*VOTES), rules=("shallow-pooling-pairs", "smith")))
    # q: a has 4 votes, b 3; pair by pair b beats both.
    pairs = found["rule shallow-pooling-pairs"]
    assert (pairs.resolved, pairs.changed, pairs.changed_share) == (3, 1, pytest.approx(1 / 3))
    assert found["ties first doc_id"].changed == 1
    # Without y, the ring has lost two pairs and with them c, and a wins it alone; a still wins q.
    without_y = found["worker y"]
    assert (without_y.resolved, without_y.changed, without_y.lost, without_y.gained) == (3, 1, 0, 0)
    assert all(np.isnan(one.correlation) for one in found.values())
    assert not [name for name in found if name.startswith("run")]


def test_a_run_takes_along_only_what_it_alone_brought() -> None:
    pools = pools_of({"q": "abc", "pair": "ab"})
    pools = replace(
        pools,
        sources=("one", "two"),
        source_row=np.array([0, 1, 1, 2, 3, 4], dtype=np.int32),
        source=np.array([0, 0, 1, 1, 1, 1], dtype=np.int32),
    )
    found = by_name(assess_sensitivity(judgments_of(*VOTES), pools=pools))
    assert (found["run one"].resolved, found["run one"].changed) == (2, 1)  # without a, b is the best of q
    # Without c, a and b have one and two votes; pair is empty.
    assert (found["run two"].resolved, found["run two"].changed, found["run two"].lost) == (1, 1, 1)


def test_runs_are_compared_under_the_qrels_before_and_after() -> None:
    seen = []

    def compare(before: Qrels, after: Qrels) -> float:
        seen.append((before.doc.size, after.doc.size))
        return 0.5

    found = assess_sensitivity(judgments_of(*VOTES), compare_runs=compare)
    assert {one.correlation for one in found} == {0.5}
    assert [one.kind for one in found[:2]] == [Kind.TIES, Kind.TIES]
    assert seen[0] == (5, 3)


def test_a_strategy_asks_for_fewer_pairs_and_those_of_a_run_go_with_it() -> None:
    pools = pools_of({"q": "abc"})
    pools = replace(
        pools,
        sources=("one", "two"),
        source_row=np.array([0, 1, 2], dtype=np.int32),
        source=np.array([0, 0, 1], dtype=np.int32),
    )
    every = all_pairs(pools)
    knockout = replace(every, query=every.query[1:], doc_a=every.doc_a[1:], doc_b=every.doc_b[1:])
    votes = judgments_of("q a c a x", "q a c a y", "q b c b x", "q b c b y")  # b never met a
    found = by_name(assess_sensitivity(votes, pools=pools, asked=knockout, rules=("copeland",)))
    assert (found["rule copeland"].resolved, found["worker x"].resolved) == (1, 1)
    assert (found["run two"].resolved, found["run two"].lost) == (0, 1), "nothing compares a with b"
    assert found["run one"].changed == 1, "c is alone, and waits for no pair"
    with pytest.raises(ValueError, match="pass the pools"):
        resolve(judgments_of("q a b a"), asked=knockout)


def winners(qrels: Qrels) -> set[tuple[str, str]]:
    return {(qrels.queries[q], qrels.docs[d]) for q, d in zip(qrels.query, qrels.doc, strict=True)}


def test_the_first_and_the_last_winner_are_those_by_doc_id() -> None:
    seen = []

    def compare(before: Qrels, after: Qrels) -> float:
        seen.append(winners(after))
        return 0.0

    # In the order of the file, c is the first document and a the last.
    votes = judgments_of("q c b c", "q b a b", "q c a a", "p d c tie")
    found = assess_sensitivity(votes, compare_runs=compare, ties=TieWorth.HALF)
    assert [one.name for one in found] == ["first doc_id", "last doc_id"]
    assert seen == [{("q", "a"), ("p", "c")}, {("q", "c"), ("p", "d")}]


def test_ties_and_strengths_count_in_every_variation_as_they_are_asked_to() -> None:
    votes = judgments_of("q a b a x", "q a b b y", "q a b b y", "p a b tie x", "p a b a y", "p a b b x")
    votes.strength[0] = 3
    for ties, strengths in ((TieWorth.HALF, True), (TieWorth.IGNORE, True), (TieWorth.HALF, False)):
        after: list[set[tuple[str, str]]] = []

        def compare(before: Qrels, qrels: Qrels, found: list[set[tuple[str, str]]] = after) -> float:
            found.append(winners(qrels))
            return 0.0

        options = {"ties": ties, "strengths": strengths}
        variations = assess_sensitivity(votes, rules=["copeland"], compare_runs=compare, **options)
        without = {
            "x": select_judgments(votes, votes.worker != 0),
            "y": select_judgments(votes, votes.worker != 1),
        }
        expected = {f"worker {name}": to_qrels(resolve(rest, **options)) for name, rest in without.items()}
        expected["rule copeland"] = to_qrels(resolve(votes, rule="copeland", **options))
        for one, found in zip(variations, after, strict=True):
            if (name := f"{one.kind.value} {one.name}") in expected:
                assert found == winners(expected[name]), (name, ties, strengths)
