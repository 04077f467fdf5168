"""What is judged where one run's top results meet the qrels: section 3.1's categories A and B."""

import numpy as np
import pytest

from prefjudge.core.pools import TopPairs, TopSplit, build_pools, pool_top_pairs, pooled_qrels, top_pairs
from prefjudge.core.runs import Qrels
from prefjudge.errors import InputError
from tests.core.tables import as_sets, contributions, heads_of, qrels_of

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
