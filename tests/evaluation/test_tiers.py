from functools import partial
from math import isnan

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm, t

from prefjudge.evaluation import boards as tiers
from prefjudge.evaluation.boards import leaderboard, nearly_same, rank_intervals
from prefjudge.evaluation.measures.measures import lower_is_better
from prefjudge.evaluation.tests import compare_runs
from prefjudge.show.boards import leaderboard_table

from .test_leaderboard import scores_of

standings_of = partial(tiers.standings_of, first_from=2)
"""With P(first) from few queries, too, for which it has exact values."""


def columns(**means: float) -> dict[str, list[float]]:
    noise = np.random.default_rng(7).normal(0, 0.05, (len(means), 200))
    return {run: (mean + row).tolist() for (run, mean), row in zip(means.items(), noise, strict=True)}


def test_tiers_and_rank_intervals() -> None:
    scores = scores_of(columns(low=0.1, top=0.5, near=0.499, middle=0.3))
    result = rank_intervals(scores)
    found = {one.run: (one.tier, one.highest, one.lowest) for one in result}
    assert found == {"top": (1, 1, 2), "near": (1, 1, 2), "middle": (2, 3, 3), "low": (3, 4, 4)}
    assert {result[0].run, result[1].run} == {"top", "near"}


def test_short_searches_lead() -> None:
    scores = scores_of(columns(long=9.0, short=1.0), "ESL@10")
    result = rank_intervals(scores)
    assert [(one.run, one.tier) for one in result] == [("short", 1), ("long", 2)]


def test_identical_runs_share_a_tier() -> None:
    values = np.random.default_rng(3).random(50).tolist()
    scores = scores_of({"b": values, "a": values, "c": [0.0] * 50})
    result = rank_intervals(scores)
    assert [(one.run, one.tier, one.highest, one.lowest) for one in result] == [
        ("a", 1, 1, 2),
        ("b", 1, 1, 2),
        ("c", 2, 3, 3),
    ]


@given(
    st.integers(2, 6).flatmap(
        lambda runs: st.lists(
            st.lists(st.sampled_from([0.0, 0.1, 1 / 3, 0.5, 1.0]), min_size=runs, max_size=runs),
            min_size=2,
            max_size=40,
        )
    ),
    st.sampled_from(["RR@10", "ESL@100"]),
)
def test_the_short_way_to_t_tests_gives_the_same_tiers(rows: list[list[float]], measure: str) -> None:
    scores = scores_of(
        {f"r{number}": list(column) for number, column in enumerate(zip(*rows, strict=True))}, measure
    )
    long = compare_runs(scores, test="t", rng=np.random.default_rng(1))
    rises = long.significant & ((long.difference > 0) != lower_is_better(measure))
    falls = long.significant & ~rises
    for one in standings_of(scores):
        is_a, is_b = (np.array(scores.runs)[column] == one.run for column in (long.a, long.b))
        assert one.highest == 1 + (is_a & rises).sum() + (is_b & falls).sum()
        assert one.lowest == len(scores.runs) - (is_a & falls).sum() - (is_b & rises).sum()


def test_the_short_way_tells_runs_apart() -> None:
    result = standings_of(scores_of(columns(low=0.1, top=0.5, near=0.499, middle=0.3)))
    found = {one.run: (one.tier, one.highest, one.lowest) for one in result}
    assert found == {"top": (1, 1, 2), "near": (1, 1, 2), "middle": (2, 3, 3), "low": (3, 4, 4)}


def test_the_chance_to_be_first_is_that_of_a_mean_difference() -> None:
    scores = scores_of(columns(a=0.5, b=0.496))
    gap = scores.values[:, 0] - scores.values[:, 1]
    expected = norm.cdf(gap.mean() / (gap.std(ddof=1) / np.sqrt(gap.size)))
    first = {one.run: one.first for one in standings_of(scores)}
    assert first["a"] == pytest.approx(expected, abs=0.03)
    assert 0.1 < first["b"] == pytest.approx(1 - first["a"])
    short = scores_of({"a": scores.values[:, 0].tolist(), "b": scores.values[:, 1].tolist()}, "ESL@10")
    assert {one.run: one.first for one in standings_of(short)}["b"] == pytest.approx(expected, abs=0.03)


@pytest.mark.parametrize("queries", [3, 5, 12])
def test_few_queries_tell_the_chance_to_be_first_by_student(queries: int) -> None:
    """One minus half the p of the t test, but for what chance makes of so few queries."""
    rng = np.random.default_rng(6)
    a, b = rng.random(queries) + 0.4, rng.random(queries)
    gap = a - b
    by_t = t.cdf(gap.mean() / (gap.std(ddof=1) / np.sqrt(queries)), queries - 1)
    chance = 2.0 ** (1 - queries)
    first = {one.run: one.first for one in standings_of(scores_of({"a": a.tolist(), "b": b.tolist()}))}
    assert first["a"] == pytest.approx((1 - chance) * by_t + chance / 2, abs=0.02)


def test_a_run_that_is_ahead_on_each_of_two_queries_may_still_not_be_the_best() -> None:
    first = {one.run: one.first for one in standings_of(scores_of({"a": [1.0, 1.0], "b": [0.5, 0.5]}))}
    assert first == {"a": 0.75, "b": 0.25}  # one minus half the p of the sign test


def test_the_first_of_many_close_runs_is_known_to_be_lucky() -> None:
    """As probable as it is right, where runs are as far apart as chance puts them."""
    rng = np.random.default_rng(7)
    said, right = [], []
    for _ in range(150):
        true = rng.normal(0, 1 / np.sqrt(60), 25)
        values = true + rng.normal(0, 1, (60, 25))
        found = standings_of(scores_of({f"r{run}": values[:, run].tolist() for run in range(25)}))
        said.append(found[0].first)
        right.append(found[0].run == f"r{true.argmax()}")
    assert np.mean(said) == pytest.approx(np.mean(right), abs=0.05)
    equal = rng.normal(0, 1, (60, 25))
    found = standings_of(scores_of({f"r{run}": equal[:, run].tolist() for run in range(25)}))
    assert max(one.first for one in found) < 0.3


def test_runs_that_are_the_same_are_first_together() -> None:
    values = np.random.default_rng(3).random(50)
    scores = scores_of({"b": values.tolist(), "a": values.tolist(), "c": (values - 5).tolist()})
    first = [(one.run, round(one.first, 12)) for one in standings_of(scores)]
    assert first == [("a", 0.5), ("b", 0.5), ("c", 0.0)]
    nothing = scores_of({"a": [0.0] * 5, "b": [0.0] * 5})
    assert [one.first for one in standings_of(nothing)] == [0.5, 0.5]
    rng = np.random.default_rng(4)  # whatever the sizes, rounding parts no copies
    for queries in (3, 40, 200):
        best, other = rng.random(queries) + 0.3, rng.random(queries) + 0.3
        columns_of = zip("abcd", [best.tolist(), other.tolist()] * 2, strict=True)
        copied = scores_of(dict(columns_of))
        first = {one.run: one.first for one in standings_of(copied)}
        assert first["a"] == first["c"]
        assert first["b"] == first["d"]
        assert sum(first.values()) == pytest.approx(1)


def test_runs_that_differ_on_few_of_the_queries_that_either_hits_are_nearly_the_same() -> None:
    base = [1.0, 0.5] * 20 + [0.0] * 60
    copy = [0.0, *base[1:]]  # of the 40 queries that either hits, one differs
    other = [1.0 - value for value in base]
    found = nearly_same(scores_of({"copy": copy, "base": base, "other": other}))
    assert [(one.a, one.b, one.queries, one.same) for one in found] == [("base", "copy", 40, 39)]
    assert nearly_same(scores_of({"copy": copy, "base": base}), least=0.98) == ()
    few = {"a": [1.0] * 19 + [0.0] * 500, "b": [1.0] * 19 + [0.0] * 500}
    assert nearly_same(scores_of(few)) == (), "queries that neither hits say nothing"
    assert len(nearly_same(scores_of(few), fewest=19)) == 1


@pytest.mark.parametrize(("queries", "told"), [(3, False), (49, False), (50, True)])
def test_who_is_the_best_is_told_from_fifty_queries_on(queries: int, told: bool) -> None:
    rng = np.random.default_rng(5)
    scores = scores_of({name: rng.random(queries).tolist() for name in ("a", "b", "c")})
    firm = tiers.standings_of(scores)
    assert [isnan(one.first) for one in firm] == [not told] * 3
    assert [(one.tier, one.highest) for one in firm] == [
        (one.tier, one.highest) for one in standings_of(scores)
    ]
    (note,) = [one for one in leaderboard_table(leaderboard(scores), firm).notes if "P(first)" in one]
    assert ("P(first) is not given for fewer than 50 queries" in note) is not told
