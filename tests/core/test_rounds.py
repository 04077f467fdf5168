"""Rounds and challenges: what is asked next of a study's own judgments, and what newcomers change."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from prefjudge.core.planning import rounds
from prefjudge.core.planning.rounds import (
    Duel,
    Round,
    conclude_challenge,
    gather_challenge,
    merge_answers,
    next_challenge_round,
    next_round,
    votes_are_even,
)
from prefjudge.core.planning.sure import Sure
from prefjudge.core.pools import Pools
from prefjudge.core.resolving.resolutions import resolve, to_qrels
from prefjudge.core.resolving.scales import one_scale
from prefjudge.core.resolving.tournaments import tournaments
from prefjudge.core.strategies import RoundRobin
from tests.core.tables import judgments_of, pools_of, qrels_of


def asked(found: Round) -> set[tuple[str, str, str, int]]:
    pairs = found.pairs
    columns = (pairs.query.tolist(), pairs.doc_a.tolist(), pairs.doc_b.tolist(), found.votes.tolist())
    return {
        (pairs.queries[q], pairs.docs[a], pairs.docs[b], votes)
        for q, a, b, votes in zip(*columns, strict=True)
    }


def leaders(found: Round, pools: Pools) -> dict[str, str]:
    names: dict[str, str] = {}
    for row in np.flatnonzero(found.leaders):
        query = pools.queries[pools.query[row]]
        names[query] = names.get(query, "") + pools.docs[pools.doc[row]]
    return names


def test_the_first_round_asks_for_all_pairs_and_the_next_for_what_they_lack() -> None:
    pools = pools_of({"q": "abc", "alone": "a", "p": "bd"})
    first = next_round(judgments_of(), pools, RoundRobin(2))
    assert asked(first) == {("q", "a", "b", 2), ("q", "a", "c", 2), ("q", "b", "c", 2), ("p", "b", "d", 2)}
    assert first.open.tolist() == [True, False, True]
    judgments = judgments_of("p d b d", "p b d d", "q c a c", "q a b tie", "x a b a")
    second = next_round(judgments, pools, RoundRobin(2))
    assert asked(second) == {("q", "a", "b", 1), ("q", "a", "c", 1), ("q", "b", "c", 2)}
    assert leaders(second, pools)["p"] == "d"


def test_a_study_of_many_blocks_is_asked_as_a_small_one_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rounds, "tournaments", partial(tournaments, block_rows=7))
    pools = pools_of({"first": "cab", "none": "", "then": "ab", "last": "dbca"})
    judgments = judgments_of("first a b b", "first b c b", "then b a tie", "last d b d", "last a d d")
    found = next_round(judgments, pools, RoundRobin(1))
    assert asked(found) == {
        ("first", "a", "c", 1), ("last", "a", "b", 1), ("last", "a", "c", 1), ("last", "b", "c", 1),
        ("last", "c", "d", 1),
    }  # fmt: skip
    assert found.open.tolist() == [True, False, False, True]
    assert leaders(found, pools) == {"first": "b", "then": "ab", "last": "d"}


def arrivals() -> Pools:
    pools = pools_of({"q": "abxy", "p": "ax", "new": "ab"})
    rows = np.arange(8, dtype=np.int32)
    return replace(pools, sources=("night", "day"), source_row=rows, source=(rows % 2).astype(np.int32))


def test_newcomers_are_the_documents_that_no_earlier_pool_had() -> None:
    judged = ["q a b a", "p a b b"]
    known = pools_of({"q": "ab", "p": "ab"})
    best = to_qrels(resolve(judgments_of(*judged), pools=known))
    challenge = gather_challenge(best, known, arrivals())
    assert challenge.newcomers == {"q": ("x", "y"), "p": ("x",)}
    assert challenge.incumbents == {"q": "a", "p": "b"}
    assert challenge.unknown == ("new",)
    assert challenge.brought_by["q", "x"] == ("night",)


def test_votes_are_even_where_all_pairs_of_a_pool_have_as_many() -> None:
    pools = pools_of({"q": "abc", "p": "ab", "alone": "a"})
    even = ["q a b a", "q b c tie", "q c a c", "p a b b", "p b a b"]
    assert votes_are_even(judgments_of(*even), pools)
    assert votes_are_even(judgments_of(), pools)
    assert not votes_are_even(judgments_of(*even, "q c b b"), pools)
    assert not votes_are_even(judgments_of(*even[1:]), pools)
    assert votes_are_even(judgments_of(*even, "q a d a"), pools), "d is in no pool"


def test_only_best_known_answers_with_a_grade_come_first() -> None:
    pools = pools_of({"q": "abc", "p": "abc"})
    known = qrels_of([("q", "b", 1.0), ("q", "a", 0.0), ("p", "c", 0.0), ("p", "z", 1.0), ("x", "a", 1.0)])
    found = next_round(judgments_of(), pools, Sure(0.9, crowd=one_scale(1.0)), best_known=known)
    # Each candidate of an order meets the next one.
    assert {(query, a, b) for query, a, b, _ in asked(found)} == {
        ("q", "a", "b"), ("q", "a", "c"), ("p", "a", "b"), ("p", "b", "c"),
    }  # fmt: skip


def test_answers_that_are_kept_come_before_those_that_were_found() -> None:
    kept = qrels_of([("q", "b", 1), ("q", "a", 1), ("o", "x", 1)])
    found = qrels_of([("q", "c", 1), ("p", "z", 1), ("p", "d", 1)])
    merged = merge_answers(kept, found)
    assert (merged.name, merged.queries) == (kept.name, ("o", "p", "q"))
    rows = [(merged.queries[q], merged.docs[d]) for q, d in zip(merged.query, merged.doc, strict=True)]
    assert rows == [("o", "x"), ("p", "d"), ("p", "z"), ("q", "a"), ("q", "b")]
    assert set(merged.grade) == {1.0}


def by_probability(best: str, past: str, *judged: str) -> tuple[dict[str, str], list[Duel]]:
    """Return the answer to q after a challenge by x, and the duels."""
    known = pools_of({"q": past})
    arrived = replace(
        pools_of({"q": "x"}), sources=("run",), source_row=np.zeros(1, np.int32), source=np.zeros(1, np.int32)
    )
    challenge = gather_challenge(qrels_of([("q", best, 1)]), known, arrived, past=known)
    after, duels = conclude_challenge(challenge, judgments_of(*judged), Sure(0.5, crowd=one_scale(1.0)))
    return {after.queries[q]: after.docs[d] for q, d in zip(after.query, after.doc, strict=True)}, [*duels]


LOST = ["q a b b"] * 3 + ["q a c a"] * 4


def test_a_candidate_that_lost_in_an_earlier_round_returns_where_all_votes_say_so() -> None:
    """b won at first, and loses to a now: a is the best again, though no run brought it."""
    judged = [*LOST, *["q b x b"] * 2, *["q a b a"] * 9]
    after, duels = by_probability("b", "abc", *judged)
    assert after == {"q": "a"}
    assert [(duel.newcomer, duel.incumbent, duel.dethroned, duel.returned) for duel in duels] == [
        ("x", "b", False, False), ("a", "b", True, True),
    ]  # fmt: skip
    assert (duels[1].votes_for, duels[1].votes_against) == (9, 3)
    assert duels[0].chance < 0.5 < duels[1].chance


def test_a_tie_does_not_favour_the_incumbent_and_a_newcomer_whom_nobody_met_leaves_it() -> None:
    even = ["q a b a"] * 4 + ["q a x a", "q a x x"] * 6
    ahead, _ = by_probability("a", "ab", *even)
    assert ahead == {"q": "a"}, "it has beaten b as well"
    ahead, _ = by_probability("a", "ab", *even, *["q b x x"] * 9)
    assert ahead == {"q": "x"}, "even against a, and better than a against b"
    after, duels = by_probability("a", "ab", "q a b b", "q a b b")
    assert (after, duels) == ({"q": "a"}, [])


def test_a_challenge_by_probability_asks_about_newcomers_first_and_then_about_who_may_return() -> None:
    known = pools_of({"q": "abc", "untouched": "ab"})
    challenge = gather_challenge(qrels_of([("q", "b", 1)]), known, pools_of({"q": "x"}), past=known)
    assert challenge.pools.queries == ("q",)
    judged = ["q a b a", "q a b b", "q a c a", "q b c b", "untouched a b a"]
    first = next_challenge_round(challenge, judgments_of(*judged), Sure(0.9, crowd=one_scale(1.0)))
    ((_, met, newcomer, votes),) = asked(first)
    assert met in ("a", "b")
    assert (newcomer, votes) == ("x", 2)
    judged += [f"q {met} x {met}"] * 12
    later = next_challenge_round(challenge, judgments_of(*judged), Sure(0.9, crowd=one_scale(1.0)))
    most = max(asked(later), key=lambda row: row[3])
    assert most[1:3] == ("a", "b"), "a lost to b in an earlier round"


def test_rounds_weigh_the_votes_by_who_cast_them() -> None:
    """Two workers who are known for voting by chance do not outvote one who is known to be right."""
    pools = pools_of({"q": "ab"} | {f"p{number}": "ab" for number in range(40)})
    lines = [f"p{n} a b {vote} {who}" for n in range(40)
             for who, vote in (("good", "a"), ("fair", "a"), ("best", "a"), ("bad", "ab"[n % 2]),
                               ("worse", "ab"[(n + 1) // 2 % 2]))]  # fmt: skip
    lines += ["q a b b bad", "q a b b worse", "q a b a good"]
    named = judgments_of(*lines)
    nameless = replace(named, workers=(), worker=np.full(len(named), -1, dtype=np.int32))
    strategy = Sure(0.99, crowd=one_scale(1.5))
    by_name, by_count = (next_round(one, pools, strategy) for one in (named, nameless))
    assert (leaders(by_name, pools)["q"], leaders(by_count, pools)["q"]) == ("a", "b")
    # What votes by chance have told is little, so that a further vote is worth more.
    patient = Sure(0.99, crowd=one_scale(1.5), patience=12)
    lines = [*lines[:-3], *["q a b a bad", "q a b b bad", "q a b a worse", "q a b b worse"] * 6]
    named = judgments_of(*lines)
    nameless = replace(named, workers=(), worker=np.full(len(named), -1, dtype=np.int32))
    by_name, by_count = (next_round(one, pools, patient) for one in (named, nameless))
    assert (bool(by_name.open[0]), bool(by_count.open[0])) == (True, False)
