from math import isnan

from prefjudge.evaluation.leaderboards.not_judged import count_judged

from .judging import make_heads


def test_the_judged_are_counted_among_the_tops_of_each_run() -> None:
    heads = make_heads({"r": {"1": ["a"], "2": ["b"]}, "s": {"1": ["b"]}, "none": {}})
    found = count_judged(heads, {("1", "a"), ("2", "a"), ("1", "c")})
    assert [(one.run, one.judged, one.queries) for one in found] == [("r", 1, 2), ("s", 0, 1), ("none", 0, 0)]
    assert [one.share for one in found[:2]] == [0.5, 0.0]
    assert isnan(found[2].share)
