"""Which pairs lack a vote: against sets of pairs, on small tournaments and on one with a vast pool."""

import tracemalloc
from collections import Counter
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from prefjudge.core.judgments import Judgments
from prefjudge.core.pools import (
    QrelsPerQuery,
    TopPairs,
    TopSplit,
    all_pairs,
    asked_missing,
    build_pools,
    count_parts,
    drop_candidates,
    number_candidates,
    number_in_order,
    pairs_missing,
    pool_top_pairs,
    pooled_qrels,
    pools_of,
    sample_queries,
    select_queries,
    top_pairs,
)
from prefjudge.core.resolving.tournaments import tournaments
from prefjudge.core.runs import Heads, Order, Qrels, vocabulary_of
from prefjudge.errors import InputError
from tests.core.tables import Ranking, as_sets, contributions, heads_of, qrels_of

RUNS: Ranking = {
    "strong": {"q1": ["d1", "d2"], "q2": ["d9", "d8"]},
    "weak": {"q1": ["d3", "d1"], "q2": ["d9", "d7"]},
}


def test_the_top_of_each_run_and_the_first_qrel_are_pooled() -> None:
    pools = build_pools(
        heads_of(RUNS), qrels_of([("q1", "d5", 1), ("q1", "d4", 1), ("q2", "d9", 1), ("q3", "d1", 1)])
    )
    assert as_sets(pools) == {"q1": {"d1", "d3", "d5"}, "q2": {"d9"}}
    assert contributions(pools) == {
        ("q1", "d1", "strong"),
        ("q1", "d3", "weak"),
        ("q1", "d5", "original"),
        ("q2", "d9", "strong"),
        ("q2", "d9", "weak"),
        ("q2", "d9", "original"),
    }
    assert pools.histogram == {1: 1, 3: 1}


def test_one_qrel_means_the_first_of_the_highest_grade() -> None:
    judged = qrels_of([("q1", "d6", 1), ("q1", "d5", 3), ("q1", "d4", 3), ("q2", "d7", 0)])
    assert as_sets(build_pools(heads_of(RUNS), judged)) == {"q1": {"d1", "d3", "d5"}, "q2": {"d9"}}
    every = build_pools(heads_of(RUNS), judged, per_query=QrelsPerQuery.ALL)
    assert as_sets(every)["q1"] == {"d1", "d3", "d4", "d5", "d6"}
    none = build_pools(heads_of(RUNS), judged, per_query=QrelsPerQuery.NONE)
    assert as_sets(none)["q1"] == {"d1", "d3"}


@given(
    st.dictionaries(
        st.sampled_from(["A", "B", "C", "D"]),
        st.dictionaries(
            st.sampled_from(["1", "10", "2", "07"]),
            st.lists(st.sampled_from([f"d{i}" for i in range(9)]), min_size=1, max_size=4, unique=True),
            min_size=1,
        ),
        min_size=1,
    ),
    st.integers(1, 4),
)
def test_a_pool_is_the_union_of_the_tops_and_its_pairs_are_all_pairs(rankings: Ranking, depth: int) -> None:
    pools = build_pools(heads_of(rankings), depth=depth)
    expected: dict[str, set[str]] = {}
    for by_query in rankings.values():
        for query, top in by_query.items():
            expected.setdefault(query, set()).update(top[:depth])
    assert as_sets(pools) == expected
    pairs = all_pairs(pools)
    seen = {
        (pairs.queries[q], pairs.docs[a], pairs.docs[b])
        for q, a, b in zip(pairs.query, pairs.doc_a, pairs.doc_b, strict=True)
    }
    assert len(pairs) == len(seen)
    assert seen == {(q, a, b) for q, docs in expected.items() for a in docs for b in docs if a < b}
    assert np.all(np.diff(pairs.query) >= 0)


def test_selected_queries_keep_their_sources() -> None:
    pools = select_queries(build_pools(heads_of(RUNS)), ["q2", "unknown"])
    assert as_sets(pools) == {"q2": {"d9"}}
    assert contributions(pools) == {("q2", "d9", "strong"), ("q2", "d9", "weak")}
    first = select_queries(build_pools(heads_of(RUNS), depth=2), ["q1"])
    assert contributions(first) == {
        ("q1", "d1", "strong"), ("q1", "d2", "strong"), ("q1", "d1", "weak"), ("q1", "d3", "weak"),
    }  # fmt: skip


def test_a_sample_has_only_queries_with_enough_candidates_and_follows_the_seed() -> None:
    rankings = {run: {f"q{i}": [f"{run if i % 2 else 'same'}-{i}"] for i in range(40)} for run in ("A", "B")}
    pools = build_pools(heads_of(rankings))
    sample = sample_queries(pools, 7, rng=np.random.default_rng(3))
    assert len(sample.queries) == 7
    assert set(sample.sizes) == {2}
    assert sample.queries == sample_queries(pools, 7, rng=np.random.default_rng(3)).queries
    assert sample.queries != sample_queries(pools, 7, rng=np.random.default_rng(4)).queries
    with pytest.raises(ValueError, match="only 20 queries have a pool of at least 2, not 21"):
        sample_queries(pools, 21, rng=np.random.default_rng(3))
    assert set(sample_queries(pools, 20, rng=np.random.default_rng(3)).sizes) == {2}


def test_dropped_candidates_leave_with_what_put_them_there_but_never_the_last_of_a_pool() -> None:
    pools = build_pools(heads_of(RUNS), qrels_of([("q1", "d5", 1), ("q2", "d7", 1)]))
    fewer = drop_candidates(pools, {("q1", "d1"), ("q1", "d5"), ("q2", "d9"), ("q2", "d7"), ("q2", "d3")})
    assert as_sets(fewer) == {"q1": {"d3"}, "q2": {"d7", "d9"}}
    assert contributions(fewer) == {
        ("q1", "d3", "weak"),
        ("q2", "d9", "strong"),
        ("q2", "d9", "weak"),
        ("q2", "d7", "original"),
    }


def test_grouping_takes_little_more_memory_than_the_pools_themselves() -> None:
    runs, queries, depth = 20, 500, 10
    lists = np.arange(runs * queries, dtype=np.int32)
    count = lists.size * depth
    heads = Heads(
        runs=tuple(map(str, range(runs))),
        queries=tuple(map(str, range(queries))),
        docs=vocabulary_of([f"{row:07}" for row in range(count)]),
        list_run=lists // queries,
        list_query=lists % queries,
        start=np.arange(lists.size + 1) * depth,
        doc=np.random.default_rng(1).permutation(count).astype(np.int32),
        order=Order.SCORE,
    )
    qrels = qrels_of([("1", "0000007", 1), ("not asked", "elsewhere", 1)])
    build_pools(heads, qrels, depth=depth)  # numpy's own tables are made once
    tracemalloc.start()
    pools = build_pools(heads, qrels, depth=depth)  # of which one document is in no pool
    kept, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert count <= pools.query.size <= count + 1
    assert "elsewhere" not in pools.docs
    assert most < 2 * kept


def test_pools_of_rows_number_each_candidate_at_its_first_row() -> None:
    rng = np.random.default_rng(5)
    drawn = zip(*rng.integers(0, 9, (2, 200)), rng.choice(["", "a", "b"], 200), strict=True)
    rows = [(f"q{q}", f"d{d}", str(source)) for q, d, source in drawn]
    for some in ([], rows[:1], sorted(rows), sorted(set(rows), key=lambda row: (row[0][::-1], row[1][::-1]))):
        pools = pools_of(some)
        members = list(dict.fromkeys((query, doc) for query, doc, _ in some))
        named = [(members.index((query, doc)), source) for query, doc, source in some if source]
        assert [
            (pools.queries[q], pools.docs[d]) for q, d in zip(pools.query, pools.doc, strict=True)
        ] == members
        assert [
            (row, pools.sources[s]) for row, s in zip(pools.source_row, pools.source, strict=True)
        ] == named
        assert (list(pools.docs), list(pools.sources)) == (
            sorted({doc for _, doc, _ in some}),
            sorted({source for _, source in named}),
        )


# Which pairs lack a vote: against sets of pairs, on small tournaments and on one with a vast pool.


def _block(sizes: list[int], pairs: list[tuple[int, int]]) -> tuple[np.ndarray, ...]:
    start = np.concatenate([[0], np.cumsum(sizes)])
    query = np.repeat(np.arange(len(sizes), dtype=np.int32), sizes)
    left, right = np.array(pairs, dtype=np.int32).reshape(-1, 2).T
    return start, query, left, right


@pytest.mark.parametrize("seed", range(20))
def test_missing_pairs_are_those_of_no_vote(seed: int) -> None:
    rng = np.random.default_rng(seed)
    sizes = rng.integers(0, 6, 9).tolist()
    start, query, *_ = _block(sizes, [])
    possible = [(a, b) for a in range(query.size) for b in range(a) if query[a] == query[b]]
    share = rng.choice([0.0, 0.3, 1.0])
    votes = [tuple(rng.permutation(pair)) for pair in possible if rng.random() <= share for _ in range(2)]
    asked = [pair for pair in possible if rng.random() < 0.5]
    judged = {frozenset(pair) for pair in votes}

    def lacking(pairs: list[tuple[int, int]]) -> list[int]:
        of = [int(query[a]) for a, b in pairs if frozenset((a, b)) not in judged]
        return [of.count(q) for q in range(len(sizes))]

    _, _, left, right = _block(sizes, votes)
    _, _, first, second = _block(sizes, asked)
    assert pairs_missing(start, query, left, right).tolist() == lacking(possible)
    assert asked_missing(start, query, (first, second), (left, right)).tolist() == lacking(asked)


def test_a_vast_pool_with_few_votes() -> None:
    # 60,000 candidates have more pairs than an int32 counts
    start, query, left, right = _block([60_000, 2], [(0, 1), (1, 0), (59_999, 59_998), (60_000, 60_001)])
    pairs = 60_000 * 59_999 // 2
    assert pairs_missing(start, query, left, right).tolist() == [pairs - 2, 0]
    asked = (np.array([1, 59_990, 60_001]), np.array([0, 59_999, 60_000]))
    assert asked_missing(start, query, asked, (left, right)).tolist() == [1, 0]
    assert count_parts(start, query, left, right).tolist() == [59_998, 1]


# What is judged where one run's top results meet the qrels: section 3.1's categories A and B.


RUN = {
    "a": ["qa", "second", "third"],  # category A
    "b": ["top", "qb"],  # category B
    "lone": ["ql"],  # category A with nothing to compare with
    "graded": ["first", "better"],  # the qrel of the highest grade, the first in the file, is meant
    "unlabelled": ["top", "second"],
    "irrelevant": ["top", "second"],
}
QRELS = [
    ("b", "qb", 1.0),
    ("a", "qa", 1.0),
    ("lone", "ql", 1.0),
    ("graded", "first", 1.0),
    ("graded", "better", 2.0),
    ("graded", "late", 2.0),
    ("missed", "qm", 1.0),
    ("irrelevant", "top", 0.0),
]
HEADS = heads_of({"other": {"a": ["no", "no2"], "b": ["qb", "no"]}, "run": RUN})


def named(pairs: TopPairs) -> dict[str, tuple[str | None, ...]]:
    """Return the qrel, the top and the rival of each query."""

    def name(code: int) -> str | None:
        return pairs.docs[code] if code >= 0 else None

    columns = zip(pairs.query, pairs.qrel, pairs.top, pairs.rival, strict=True)
    return {pairs.queries[query]: tuple(name(code) for code in codes) for query, *codes in columns}


def test_the_qrel_meets_the_top_or_where_it_is_the_top_the_second() -> None:
    found = top_pairs(HEADS, qrels_of(QRELS), "run")
    assert named(found) == {
        "a": ("qa", "qa", "second"),
        "b": ("qb", "top", "top"),
        "lone": ("ql", "ql", None),
        "graded": ("better", "first", "first"),
        "missed": ("qm", None, None),
    }
    by_query = dict(zip((found.queries[q] for q in found.query), found.agreed.tolist(), strict=True))
    assert by_query == {"a": True, "b": False, "lone": True, "graded": False, "missed": False}
    assert found.split == TopSplit(a=2, b=2, no_rival=1, not_retrieved=1)
    assert (found.split.queries, found.split.pairs) == (5, 3)


def test_only_the_queries_asked_for_are_paired() -> None:
    found = top_pairs(HEADS, qrels_of(QRELS), "run", queries=["b", "missed", "unknown"])
    assert named(found) == {"b": ("qb", "top", "top"), "missed": ("qm", None, None)}


def test_a_run_that_is_not_there_is_told_with_those_that_are() -> None:
    with pytest.raises(InputError, match=r"^there is no run 'bm25'") as caught:
        top_pairs(HEADS, qrels_of(QRELS), "bm25")
    assert caught.value.hint == "Choose one of: other, run."


def test_a_pool_holds_the_qrel_and_its_rival_and_tells_who_put_them_there() -> None:
    pools = pool_top_pairs(heads_of({"run": RUN}), qrels_of(QRELS))
    assert as_sets(pools) == {
        "a": {"qa", "second"},
        "b": {"qb", "top"},
        "graded": {"better", "first"},
        "lone": {"ql"},
        "missed": {"qm"},
    }
    assert pools.queries == ("a", "b", "graded", "lone", "missed"), "the run's order, then the qrels'"
    assert contributions(pools) == {
        ("a", "qa", "original"), ("a", "qa", "run"), ("a", "second", "run"),
        ("b", "qb", "original"), ("b", "top", "run"),
        ("graded", "better", "original"), ("graded", "first", "run"),
        ("lone", "ql", "original"), ("lone", "ql", "run"),
        ("missed", "qm", "original"),
    }  # fmt: skip
    with pytest.raises(ValueError, match=r"^this design takes the top result of one run, not of 2 runs$"):
        pool_top_pairs(HEADS, qrels_of(QRELS))


def rows(labels: Qrels) -> list[tuple[str, str, float]]:
    columns = (labels.query.tolist(), labels.doc.tolist(), labels.grade.tolist())
    return [(labels.queries[q], labels.docs[d], grade) for q, d, grade in zip(*columns, strict=True)]


def test_the_qrels_of_a_pool_are_those_that_were_judged() -> None:
    labels = qrels_of(QRELS)
    pools = pool_top_pairs(heads_of({"run": RUN}), labels)
    more = qrels_of([("new", "top", 1.0), *QRELS, ("a", "second", 1.0), ("a", "nowhere", 3.0)])
    judged = pooled_qrels(more, pools, "original")
    # second was put into the pool by the run alone, and top is of other queries' pools.
    assert rows(judged) == [
        ("b", "qb", 1),
        ("a", "qa", 1),
        ("lone", "ql", 1),
        ("graded", "better", 2),
        ("missed", "qm", 1),
    ]
    assert judged.queries == more.queries
    assert pooled_qrels(more, pools, "unknown") is more
    bare = build_pools(heads_of({"run": RUN}), qrels_of([("elsewhere", "x", 1.0)]))
    assert pooled_qrels(more, bare, "original") is more
    assert np.array_equal(pooled_qrels(labels, pools, "run").query, labels.query[[1, 2, 3]])


# Candidates: however the rows are found, the numbers are the same.


Votes = list[list[tuple[int, int]]]


def columns(votes: Votes) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return how many votes each query has, and the queries, left and right documents of all of them."""
    counts = np.array([len(of_query) for of_query in votes])
    left, right = (
        np.array([pair[side] for of_query in votes for pair in of_query], dtype=np.int32) for side in (0, 1)
    )
    return counts, np.repeat(np.arange(counts.size, dtype=np.int32), counts), left, right


PAIR = st.tuples(st.integers(0, 5), st.integers(0, 5)).filter(lambda pair: pair[0] != pair[1])
ROUND_ROBIN = st.integers(2, 4).map(lambda size: list(combinations(range(size), 2)))
QUERY = st.lists(PAIR, max_size=8) | ROUND_ROBIN


def as_judgments(votes: Votes) -> Judgments:
    counts, query, left, right = columns(votes)
    return Judgments.of_nobody(
        queries=tuple(map(str, range(counts.size))),
        docs=tuple(map(str, range(100))),
        query=query,
        left=left,
        right=right,
        choice=np.ones(query.size, np.int8),
    )


@given(pairs=st.lists(QUERY, min_size=1, max_size=6), step=st.integers(4, 7))
def test_numbering_in_order_equals_looking_up(pairs: Votes, step: int) -> None:
    votes = [[(a + step * place, b + step * place) for a, b in query] for place, query in enumerate(pairs)]
    counts, query, left, right = columns(votes)
    found = number_in_order(counts, left, right)
    theirs = number_candidates([(query, left), (query, right)])
    if found is not None and found[1].size == theirs[1].size:
        for ours, other in zip((*found[:2], *found[2]), (*theirs[:2], *theirs[2]), strict=True):
            np.testing.assert_array_equal(ours, other)


@given(pairs=st.lists(QUERY, min_size=1, max_size=6), step=st.integers(4, 7), block_rows=st.integers(1, 30))
def test_a_block_has_the_documents_that_were_compared(pairs: Votes, step: int, block_rows: int) -> None:
    votes = [[(a + step * place, b + step * place) for a, b in query] for place, query in enumerate(pairs)]
    place = 0
    for block in tournaments(as_judgments(votes), block_rows=block_rows):
        for number in range(block.n_queries):
            rows = slice(block.start[number], block.start[number + 1])
            seen = Counter(doc for pair in votes[place] for doc in pair)
            assert dict(zip(block.doc[rows].tolist(), block.comparisons[rows].tolist(), strict=True)) == seen
            judged = {frozenset(pair) for pair in votes[place]}
            assert block.missing[number] == len(seen) * (len(seen) - 1) // 2 - len(judged)
            place += 1
    assert place == len(votes)


@pytest.mark.parametrize(
    ("votes", "in_order"),
    [
        ([[(4, 5), (6, 5)], [], [(7, 8)]], True),
        ([[(0, 1)], [(1, 2)]], False),
        ([[(0, 1)], [(3, 4)]], False),
        ([[(0, 2)], [(3, 4)]], True),
        ([[(3, 4)], [(0, 1)]], False),
        ([[], []], False),
    ],
    ids=["rising", "shared", "gap between queries", "gap in a query", "falling", "nothing"],
)
def test_only_codes_that_rise_with_the_queries_are_numbered_in_order(votes: Votes, in_order: bool) -> None:
    counts, _, left, right = columns(votes)
    assert (number_in_order(counts, left, right) is not None) == in_order
