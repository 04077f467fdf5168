from math import isnan

from prefjudge.evaluation.boards import count_judged, judged_tops

from .judging import make_heads
from .samples import make_qrels, make_ranks


def test_the_judged_are_counted_among_the_tops_of_each_run() -> None:
    heads = make_heads({"r": {"1": ["a"], "2": ["b"]}, "s": {"1": ["b"]}, "none": {}})
    found = count_judged(heads, {("1", "a"), ("2", "a"), ("1", "c")})
    assert [(one.run, one.judged, one.queries) for one in found] == [("r", 1, 2), ("s", 0, 1), ("none", 0, 0)]
    assert [one.share for one in found[:2]] == [0.5, 0.0]
    assert isnan(found[2].share)


def test_the_judged_are_counted_on_the_queries_that_are_asked_for() -> None:
    voted = make_qrels({"1": {"a": 0, "b": 0}, "2": {"a": 0}, "3": {"c": 0}})
    runs = {
        "known": {"1": {"b": 2.0, "x": 1.0}, "2": {"a": 1.0}, "3": {"x": 1.0}},
        "new": {"1": {"x": 2.0, "b": 1.0}, "2": {"y": 1.0}},
        "short": {"2": {"a": 1.0}},
    }
    ranks = [make_ranks(run, voted, name) for name, run in runs.items()]
    found = judged_tops(ranks, voted, {"1", "2"})
    assert [(one.run, one.judged, one.queries) for one in found] == [
        ("known", 2, 2),
        ("new", 0, 2),
        ("short", 1, 1),
    ]
