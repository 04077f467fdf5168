import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from prefjudge.core.pools import (
    QrelsPerQuery,
    all_pairs,
    build_pools,
    drop_candidates,
    pools_of,
    sample_queries,
    select_queries,
)
from prefjudge.core.runs import Heads, Order, vocabulary_of
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


def test_depth_takes_more_of_each_run() -> None:
    assert as_sets(build_pools(heads_of(RUNS), depth=2)) == {
        "q1": {"d1", "d2", "d3"},
        "q2": {"d7", "d8", "d9"},
    }


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


def test_pools_come_back_from_their_rows() -> None:
    rows = [
        ("q1", "d1", "weak"),
        ("q1", "d3", ""),
        ("q1", "d4", "a"),
        ("q2", "d1", "a"),
        ("q2", "d1", "weak"),
    ]
    pools = pools_of(rows)
    assert as_sets(pools) == {"q1": {"d1", "d3", "d4"}, "q2": {"d1"}}
    assert contributions(pools) == {row for row in rows if row[2]}
    assert (pools.queries, pools.docs, pools.sources) == (("q1", "q2"), ("d1", "d3", "d4"), ("a", "weak"))


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
