"""Resolutions: status, winners and qrels, against the published lists, networkx and plain Python."""

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import combinations, permutations
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prefjudge.core.judgments import Judgments, select_judgments
from prefjudge.core.pools import Pairs, all_pairs
from prefjudge.core.resolving.resolutions import (
    Change,
    Kind,
    Resolution,
    Resolutions,
    Status,
    Variation,
    assess_sensitivity,
    find_changes,
    name_cycles,
    resolve,
    resolve_all,
    to_qrels,
    with_answers,
)
from prefjudge.core.resolving.rules import NO_RULE, RULES
from prefjudge.core.resolving.tournaments import TieWorth
from prefjudge.core.runs import Qrels
from tests.core.tables import judgments_of, judgments_of_file, pools_of, qrels_of
from tests.evaluation.samples import make_qrels


def winners(resolutions: Resolutions) -> dict[str, tuple[str, ...]]:
    return {one.query_id: one.winners for one in resolutions}


def rows_of(qrels: Qrels) -> set[tuple[str, str]]:
    return {(qrels.queries[q], qrels.docs[d]) for q, d in zip(qrels.query, qrels.doc, strict=True)}


def test_sparse_crowd_judgments_are_resolved_only_where_they_connect(data_dir: Path) -> None:
    judgments = judgments_of_file(data_dir / "cast19" / "judgments.txt.gz")
    strict, resolutions = resolve(judgments, sparse_rule=NO_RULE), resolve(judgments)
    assert len(resolutions) == 171
    assert strict.counts()["sparse"] == 93
    assert (resolutions.counts()["partial"], resolutions.counts()["sparse"]) == (93, 0)
    for one, before in zip(resolutions, strict, strict=True):
        assert one == before or (one.missing > 0 and one.winners and not before.winners)
    assert all(bool(one.winners) == (one.status is not Status.SPARSE) for one in strict)


def test_single_tie_cycle_and_sparse_are_told_apart() -> None:
    judgments = judgments_of(
        "one a b a", "one a c a", "one b c b",
        "tie a b tie",
        "ring a b a", "ring b c b", "ring c a c", "ring a d a", "ring b d b", "ring c d c",
        "sparse a b a", "sparse c d c",
    )  # fmt: skip
    resolutions = resolve(judgments)
    assert [one.status.value for one in resolutions] == ["single", "tie", "cycle", "sparse"]
    assert winners(resolutions) == {"one": ("a",), "tie": ("a", "b"), "ring": ("a", "b", "c"), "sparse": ()}
    assert resolutions.of("ring").cycle == ("a", "b", "c")
    assert resolutions.of("one").margin == 1
    assert resolutions.of("sparse").missing == 4
    assert rows_of(to_qrels(resolutions)) == {
        ("one", "a"), ("tie", "a"), ("tie", "b"), ("ring", "a"), ("ring", "b"), ("ring", "c"),
    }  # fmt: skip


def test_tied_leaders_meet_again_among_themselves() -> None:
    # a and b both win three of four; a beat b.
    judgments = judgments_of(
        "q a b a", "q a c a", "q a d d", "q a e a", "q b c b", "q b d b", "q b e b",
        "q c d c", "q c e e", "q d e d",
    )  # fmt: skip
    both = resolve_all(judgments, rules=("shallow-pooling", "most-wins"))
    assert both["shallow-pooling"][0].winners == ("a",)
    assert both["shallow-pooling"][0].status is Status.SINGLE
    assert both["shallow-pooling"][0].margin == 0
    assert both["most-wins"][0].winners == ("a", "b")
    assert both["most-wins"][0].status is Status.TIE


@pytest.mark.parametrize("rule", RULES)
def test_the_winner_of_a_query_judged_in_part_is_of_those_that_are_connected(rule: str) -> None:
    """Under every rule: one that looks at who never lost must not take a candidate that nobody compared."""
    judgments = judgments_of(
        "full a b a", "part a b a", "ring a b a", "ring b c b", "ring c a c", "outside a x x",
        "outside a b a", "apart a b a", "apart c d c",
    )  # fmt: skip
    pools = pools_of(
        {"full": "ab", "part": "abc", "ring": "abcd", "none": "ab", "alone": "a", "outside": "ab",
         "apart": "abcd"}
    )  # fmt: skip
    resolutions = resolve(judgments, pools=pools, rule=rule)
    assert winners(resolutions) == {
        "full": ("a",), "part": ("a",), "ring": ("a", "b", "c"), "none": (), "alone": ("a",),
        "outside": ("a",), "apart": (),
    }  # fmt: skip
    assert [one.status.value for one in resolutions] == [
        "single", "partial", "partial", "sparse", "single", "single", "sparse",
    ]  # fmt: skip
    assert resolutions.of("part").missing == 2
    assert resolutions.of("ring").cycle == ("a", "b", "c")
    assert to_qrels(resolutions).queries == ("full", "part", "ring", "alone", "outside")
    strict = resolve(judgments, pools=pools, rule=rule, sparse_rule=NO_RULE)
    assert to_qrels(strict).queries == ("full", "alone", "outside")
    assert strict.counts()["sparse"] == 4


def test_a_rule_that_counts_votes_is_kept_where_all_who_are_compared_met_each_other() -> None:
    """Else who was shown most wins most: then it is Bradley-Terry that finds the winner."""
    met = ["met a b a", "met a c a", *["met b c b"] * 3]
    often = [*["often a b a"] * 3, *(f"often b {doc} b" for doc in "cdef")]
    judgments, pools = judgments_of(*met, *often), pools_of({"met": "abcz", "often": "abcdefz"})
    found = resolve_all(judgments, rules=("shallow-pooling", "bradley-terry"), pools=pools)
    assert winners(found["shallow-pooling"]) == {"met": ("b",), "often": ("a",)}
    assert winners(found["bradley-terry"]) == {"met": ("a",), "often": ("a",)}
    counted = resolve(judgments, pools=pools, sparse_rule="shallow-pooling")
    assert winners(counted) == {"met": ("b",), "often": ("b",)}


@pytest.mark.parametrize("rule", RULES)
def test_votes_on_documents_outside_a_querys_pool_do_not_count(rule: str) -> None:
    """Whether another query pools the document or none does, and on whichever side it stood."""
    inside = ["q a b a w1", "q b a a w2", "q b c b w1", "q a c a w2", "p c d c w1"]
    outside = [
        "q a d d w2", "q d b d w3", "p a c a w1", "p d b b w1", "q z a z w3", "q d z d w3",
        "elsewhere a b a w1",
    ]  # fmt: skip
    pools = pools_of({"q": "abc", "p": "cd"})
    alone = resolve(judgments_of(*inside), pools=pools, rule=rule)
    beside = resolve(judgments_of(*outside[:3], *inside, *outside[3:]), pools=pools, rule=rule)
    assert list(beside) == list(alone)
    assert [(one.pool_size, one.votes, one.winners) for one in beside] == [(3, 4, ("a",)), (2, 1, ("c",))]
    for name in ("query", "doc", "winner", "votes"):
        np.testing.assert_array_equal(getattr(beside, name), getattr(alone, name))


def test_qrels_are_in_the_order_of_the_queries_and_then_of_the_doc_ids() -> None:
    tied = judgments_of(
        "q10 b a tie", "q10 c a tie", "q10 b c tie", "q2 b c b", "q1 d a tie", "q3 x y y", "q0 c b c"
    )
    qrels = to_qrels(resolve(tied, rule="most-wins"))
    rows = [(qrels.queries[q], qrels.docs[d]) for q, d in zip(qrels.query, qrels.doc, strict=True)]
    assert rows == [
        ("q10", "a"), ("q10", "b"), ("q10", "c"), ("q2", "b"), ("q1", "a"), ("q1", "d"), ("q3", "y"),
        ("q0", "c"),
    ]  # fmt: skip
    assert qrels.docs == tuple(sorted(qrels.docs))
    assert qrels.grade.tolist() == [1.0] * 8


def test_only_the_asked_pairs_need_judgments() -> None:
    pools = pools_of({"q": "abc", "p": "abc"})
    asked = all_pairs(pools)
    keep = ~((asked.doc_a == 1) & (asked.doc_b == 2))
    asked = type(asked)(
        queries=asked.queries, docs=asked.docs,
        query=asked.query[keep], doc_a=asked.doc_a[keep], doc_b=asked.doc_b[keep],
    )  # fmt: skip
    judgments = judgments_of("q a b a", "q c a a", "p a b a")
    resolutions = resolve(judgments, pools=pools, asked=asked)
    assert [one.status.value for one in resolutions] == ["single", "partial"]
    assert resolutions.of("p").missing == 1


def test_asking_little_does_not_make_a_winner_of_an_unjudged_pool() -> None:
    pools = pools_of({"apart": "abcd", "none": "ab"})
    asked = all_pairs(pools)
    none = np.zeros(len(asked), dtype=bool)
    none[[0, 5]] = True  # a with b, c with d
    asked = type(asked)(
        queries=asked.queries, docs=asked.docs,
        query=asked.query[none], doc_a=asked.doc_a[none], doc_b=asked.doc_b[none],
    )  # fmt: skip
    resolutions = resolve(judgments_of("apart a b a", "apart c d c"), pools=pools, asked=asked)
    assert winners(resolutions) == {"apart": (), "none": ()}
    assert resolutions.missing.tolist() == [1, 1]


def test_where_nothing_was_asked_only_what_connects_is_missing() -> None:
    none = np.empty(0, dtype=np.int32)
    judgments = judgments_of("q a b a", "q a c a", "apart a b a", "apart c d c")
    asked = Pairs(queries=judgments.queries, docs=judgments.docs, query=none, doc_a=none, doc_b=none)
    resolutions = resolve(judgments, asked=asked)
    assert winners(resolutions) == {"q": ("a",), "apart": ()}
    assert resolutions.missing.tolist() == [0, 1]


def test_votes_of_a_pair_add_up_and_ties_count_as_asked() -> None:
    judgments = judgments_of("q a b a", "q a b b", "q b a b", "q a c tie", "q b c tie", "q b c tie")
    assert resolve(judgments)[0].winners == ("b",)
    half = resolve(judgments, ties="half")
    assert half[0].winners == ("b",)
    assert half.wins.tolist() == [1.5, 3.0, 1.5]


def test_strength_counts_where_asked() -> None:
    judgments = judgments_of("q a b a", "q a b b", "q a b b")
    strong = Judgments(
        **{name: getattr(judgments, name) for name in Judgments.__slots__ if name != "strength"},
        strength=np.array([3, 1, 1], dtype=np.int8),
    )
    assert resolve(strong)[0].winners == ("b",)
    assert resolve(strong, strengths=True)[0].winners == ("a",)


def test_an_unknown_rule_is_named() -> None:
    with pytest.raises(ValueError, match="no rule 'best'"):
        resolve(judgments_of("q a b a"), rule="best")


LOGS = st.lists(
    st.tuples(st.integers(0, 3), st.integers(0, 4), st.integers(0, 4), st.sampled_from([1, -1, 0])).filter(
        lambda row: row[1] != row[2]
    ),
    max_size=60,
)


def lines(log: list[tuple[int, int, int, int]]) -> list[str]:
    names = "abcde"
    return [
        f"q{q} {names[x]} {names[y]} {names[x] if choice > 0 else names[y] if choice < 0 else 'tie'}"
        for q, x, y, choice in log
    ]


def plain_shallow_pooling(rows: list[list[str]], query: str) -> tuple[str, ...]:
    """Section 5.1 in its own words, one query at a time, with networkx."""
    graph = nx.MultiDiGraph()
    for q, x, y, preferred in rows:
        if q == query:
            graph.add_nodes_from((x, y))
            if preferred != "tie":
                graph.add_edge(preferred, y if preferred == x else x)
    if any(
        not any(q == query and {x, y} == {a, b} for q, a, b, _ in rows) for x in graph for y in graph if x < y
    ):
        return ()
    left = set(graph)
    while True:
        wins = dict(graph.subgraph(left).out_degree())
        leaders = {doc for doc in left if wins[doc] == max(wins.values())}
        if len(leaders) == 1 or leaders == left:
            return tuple(sorted(leaders))
        left = leaders


@settings(max_examples=200, deadline=None)
@given(log=LOGS, block_rows=st.sampled_from([1, 7, 1000]))
def test_bulk_equals_one_query_at_a_time(log: list[tuple[int, int, int, int]], block_rows: int) -> None:
    judgments = judgments_of(*lines(log))
    rows = [line.split() for line in lines(log)]
    expected = {query: plain_shallow_pooling(rows, query) for query in judgments.queries}
    assert winners(resolve(judgments, block_rows=block_rows, sparse_rule=NO_RULE)) == expected
    with ThreadPoolExecutor(2) as threads:
        found = resolve(judgments, block_rows=block_rows, sparse_rule=NO_RULE, each=threads.map)
        assert winners(found) == expected


@settings(max_examples=100, deadline=None)
@given(log=LOGS, data=st.data(), rule=st.sampled_from(["shallow-pooling", "most-wins"]))
def test_names_sides_and_order_do_not_matter(
    log: list[tuple[int, int, int, int]], data: st.DataObject, rule: str
) -> None:
    before = winners(resolve(judgments_of(*lines(log)), rule=rule))
    place = data.draw(st.permutations(range(5)))
    moved = [
        (q, place[y], place[x], -choice) if data.draw(st.booleans()) else (q, place[x], place[y], choice)
        for q, x, y, choice in data.draw(st.permutations(log))
    ]
    after = winners(resolve(judgments_of(*lines(moved)), rule=rule))
    renamed = {"abcde"[old]: "abcde"[new] for old, new in enumerate(place)}
    assert after == {q: tuple(sorted(renamed[doc] for doc in docs)) for q, docs in before.items()}


def test_no_judgments_make_no_resolutions() -> None:
    assert len(resolve(judgments_of())) == 0
    assert to_qrels(resolve(judgments_of())).queries == ()


@pytest.mark.parametrize("pair", [("q", "a", "z"), ("q", "z", "a"), ("p", "a", "b")])
def test_asked_pairs_that_nobody_judged_need_the_pools(pair: tuple[str, str, str]) -> None:
    query, a, b = pair
    codes = [np.zeros(1, dtype=np.int32), np.zeros(1, dtype=np.int32), np.ones(1, dtype=np.int32)]
    asked = Pairs(queries=(query,), docs=(a, b), query=codes[0], doc_a=codes[1], doc_b=codes[2])
    with pytest.raises(ValueError, match=r"^the asked pairs name .* that were not judged: pass the pools$"):
        resolve(judgments_of("q a b a"), asked=asked)


# Resolutions whose winners are replaced by answers that were found elsewhere.


VOTES = judgments_of(
    "one a b a", "one a c a", "one b c b",
    "ring a b a", "ring b c b", "ring c a c",
    "thin a b a", "thin c d c", "part a b a", "part b c b",
)  # fmt: skip


def test_the_answers_that_the_rule_found_change_nothing() -> None:
    found = resolve(VOTES)
    again = with_answers(found, to_qrels(found), found.rule)
    assert list(again) == list(found)


def test_queries_are_counted_under_every_status() -> None:
    none = dict.fromkeys(Status, 0)
    assert resolve(VOTES).counts() == none | {"single": 1, "cycle": 1, "partial": 1, "sparse": 1}
    assert resolve(judgments_of("q a b a")).counts() == none | {"single": 1}


@pytest.mark.parametrize(
    ("query", "answers", "status", "margin"),
    [
        ("one", ("b",), Status.SINGLE, -1.0),
        ("one", ("a", "c"), Status.TIE, 0.0),
        ("one", (), Status.SPARSE, 0.0),
        ("ring", ("a",), Status.SINGLE, 0.0),
        ("ring", ("a", "b"), Status.TIE, 0.0),
        ("thin", ("a",), Status.SINGLE, 0.0),
        ("part", ("b",), Status.PARTIAL, 0.0),
        ("part", (), Status.SPARSE, 0.0),
        ("one", ("a", "elsewhere"), Status.SINGLE, 1.0),
    ],
)
def test_other_answers_have_a_status_of_their_own(
    query: str, answers: tuple[str, ...], status: Status, margin: float
) -> None:
    labels = make_qrels({query: dict.fromkeys(answers, 1), "unknown": {"a": 1}}, "preference")
    one: Resolution = with_answers(resolve(VOTES), labels, "lead:2").of(query)
    inside = tuple(doc for doc in answers if doc != "elsewhere")
    assert (one.winners, one.status, one.margin) == (inside, status, margin)
    assert one.cycle == ()


def test_changes_are_told_by_query_whatever_the_order_of_the_rows() -> None:
    before = qrels_of([("q3", "b", 1), ("q3", "a", 1), ("q1", "a", 1), ("q2", "c", 1)])
    after = qrels_of([("q4", "d", 1), ("q3", "a", 1), ("q3", "b", 1), ("q1", "b", 1), ("q1", "a", 1)])
    assert find_changes(before, after) == (
        Change(query_id="q1", before=("a",), after=("a", "b")),
        Change(query_id="q2", before=("c",), after=()),
        Change(query_id="q4", before=(), after=("d",)),
    )


# Cycles: the named cycle is one, and goes through all winners of a tournament.


def test_each_of_a_circle_is_preferred_to_the_next() -> None:
    rng = np.random.default_rng(3)
    lines = []
    for query in range(400):
        size = int(rng.integers(3, 8))
        for x in range(size):
            for y in range(x):
                winner, loser = (x, y) if rng.random() < 0.5 else (y, x)
                lines.append(f"q{query} d{loser} d{winner} d{winner}")
    judgments = judgments_of(*lines)
    beats = {tuple(line.split()[i] for i in (0, 3, 1)) for line in lines}
    for rule in ("shallow-pooling", "smith"):
        resolutions = resolve(judgments, rule=rule)
        cycles = name_cycles(judgments, resolutions)
        assert set(cycles) == {one.query_id for one in resolutions if one.status.value == "cycle"}
        assert max(map(len, cycles.values())) > 4
        for query, cycle in cycles.items():
            assert set(cycle) == set(resolutions.of(query).cycle)
            assert cycle[0] == min(cycle)
            for place, doc in enumerate(cycle):
                assert (query, doc, cycle[(place + 1) % len(cycle)]) in beats


def test_without_a_circle_there_is_nothing_to_name() -> None:
    judgments = judgments_of("q a b a", "q a c tie", "p a b tie")
    assert name_cycles(judgments, resolve(judgments)) == {}


def test_a_circle_follows_the_majorities_and_not_single_votes() -> None:
    lines = ["q a b b", "q a b a", "q b a a", "q b c b", "q c a c", "q a c c", "q a c a", "q a b tie"]
    for order in (lines, lines[::-1]):
        judgments = judgments_of(*order)
        resolutions = resolve(judgments, rule="smith")
        assert resolutions.of("q").cycle == ("a", "b", "c")
        assert name_cycles(judgments, resolutions) == {"q": ("a", "b", "c")}


def test_winners_without_a_circle_of_majorities_are_named_in_order() -> None:
    judgments = judgments_of("q c a c", "q c a a", "p b a b")
    resolutions = resolve(judgments)
    named = replace(resolutions, cycle=np.ones_like(resolutions.cycle))
    assert name_cycles(judgments, named) == {"q": ("a", "c"), "p": ("a", "b")}
    quiet = replace(judgments, choice=np.zeros_like(judgments.choice))
    assert name_cycles(quiet, named) == {"q": ("a", "c"), "p": ("a", "b")}


def test_a_circle_goes_through_one_that_all_of_it_beat_and_one_that_beats_them_all() -> None:
    # Neither of the two fits between neighbours alone: the loser stands right before the one it beats.
    for a, b, c, loser, master in permutations("abcde"):
        pairs = [(a, b), (b, c), (c, a), (loser, master)]
        pairs += [(one, loser) for one in (a, b, c)] + [(master, one) for one in (a, b, c)]
        judgments = judgments_of(*(f"q {winner} {other} {winner}" for winner, other in pairs))
        (cycle,) = name_cycles(judgments, resolve(judgments, rule="smith")).values()
        assert sorted(cycle) == list("abcde")
        assert set(zip(cycle, (*cycle[1:], cycle[0]), strict=True)) <= set(pairs)


def test_where_pairs_are_even_a_circle_has_majorities_only() -> None:
    rng = np.random.default_rng(5)
    lines = []
    for query in range(150):
        for x, y in combinations("abcdef", 2):
            for _ in range(int(rng.integers(1, 5))):
                lines.append(f"q{query} {x} {y} {rng.choice([x, y, 'tie'])}")
    judgments = judgments_of(*lines)
    lead: Counter[tuple[str, str, str]] = Counter()
    for query, x, y, chosen in map(str.split, lines):
        if chosen != "tie":
            loser = y if chosen == x else x
            lead[query, chosen, loser] += 1
            lead[query, loser, chosen] -= 1
    resolutions = resolve(judgments, rule="smith")
    cycles = name_cycles(judgments, resolutions)
    whole = 0
    for query, cycle in cycles.items():
        ends = list(zip(cycle, (*cycle[1:], cycle[0]), strict=True))
        left_out = set(resolutions.of(query).cycle) - set(cycle)
        assert len(cycle) == len(set(cycle)) > 2
        assert all(lead[query, x, y] > 0 for x, y in ends)
        assert not any(lead[query, x, z] > 0 and lead[query, z, y] > 0 for x, y in ends for z in left_out)
        whole += not left_out
    assert len(cycles) > whole > 0


# Sensitivity: what changes when a rule, a tie, a worker or a run is taken away.


def by_name(variations: tuple[Variation, ...]) -> dict[str, Variation]:
    return {f"{one.kind.value} {one.name}": one for one in variations}


LOG = (
    "q a b a x", "q a b b y", "q a b b x", "q a c a x", "q a c a y", "q a c a z", "q b c b z",
    "ring a b a x", "ring b c b y", "ring c a c y",
    "pair a b a z",
)  # fmt: skip


def test_each_change_is_counted_by_what_it_does() -> None:
    found = by_name(assess_sensitivity(judgments_of(*LOG), rules=("shallow-pooling-pairs", "smith")))
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
    found = by_name(assess_sensitivity(judgments_of(*LOG), pools=pools))
    assert (found["run one"].resolved, found["run one"].changed) == (2, 1)  # without a, b is the best of q
    # Without c, a and b have one and two votes; pair is empty.
    assert (found["run two"].resolved, found["run two"].changed, found["run two"].lost) == (1, 1, 1)


def test_runs_are_compared_under_the_qrels_before_and_after() -> None:
    seen = []

    def compare(before: Qrels, after: Qrels) -> float:
        seen.append((before.doc.size, after.doc.size))
        return 0.5

    found = assess_sensitivity(judgments_of(*LOG), compare_runs=compare)
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


def answers(qrels: Qrels) -> set[tuple[str, str]]:
    return {(qrels.queries[q], qrels.docs[d]) for q, d in zip(qrels.query, qrels.doc, strict=True)}


def test_the_first_and_the_last_winner_are_those_by_doc_id() -> None:
    seen = []

    def compare(before: Qrels, after: Qrels) -> float:
        seen.append(answers(after))
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
            found.append(answers(qrels))
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
                assert found == answers(expected[name]), (name, ties, strengths)
