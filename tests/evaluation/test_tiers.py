import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from prefjudge.evaluation.firmness import near_copies, rank_intervals
from prefjudge.evaluation.measures.measures import lower_is_better
from prefjudge.evaluation.tests import compare_runs

from .test_leaderboard import scores_of


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
    for one in rank_intervals(scores):
        is_a, is_b = (np.array(scores.runs)[column] == one.run for column in (long.a, long.b))
        assert one.highest == 1 + (is_a & rises).sum() + (is_b & falls).sum()
        assert one.lowest == len(scores.runs) - (is_a & falls).sum() - (is_b & rises).sum()


def test_runs_that_differ_on_few_of_the_queries_that_either_hits_are_nearly_the_same() -> None:
    base = [1.0, 0.5] * 20 + [0.0] * 60
    copy = [0.0, *base[1:]]  # of the 40 queries that either hits, one differs
    other = [1.0 - value for value in base]
    assert near_copies(scores_of({"copy": copy, "base": base, "other": other})) == (
        "base and copy are nearly the same by this measure: of the 40 queries that either hits, they score "
        "alike on 97%; 1 query tells them apart",
    )
    assert near_copies(scores_of({"copy": copy, "base": base}), least=0.98) == ()
    few = {"a": [1.0] * 19 + [0.0] * 500, "b": [1.0] * 19 + [0.0] * 500}
    assert near_copies(scores_of(few)) == (), "queries that neither hits say nothing"
    assert len(near_copies(scores_of(few), fewest=19)) == 1
