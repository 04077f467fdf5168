from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prefjudge.evaluation.boards import tie_sensitivity
from prefjudge.evaluation.measures.measures import Measure

from .samples import make_qrels, make_ranks

docs = st.sampled_from("abcdef")


@given(
    st.dictionaries(docs, st.integers(0, 2).map(float), max_size=6),
    st.dictionaries(docs, st.integers(0, 2).map(float), min_size=1, max_size=4),
    st.sampled_from(["RR@3", "nDCG@3", "AP", "ESL@3"]),
)
def test_the_bounds_are_reached_by_some_order(
    run: dict[str, float], label: dict[str, float], name: str
) -> None:
    qrels = make_qrels({"q": label})
    measure = Measure.parse(name)
    (found,) = tie_sensitivity([make_ranks({"q": run}, qrels)], qrels, measure)
    values = []
    for order in permutations(run):
        if all(run[above] >= run[below] for above, below in zip(order, order[1:], strict=False)):  # noqa: RUF007
            ranking = {doc: float(-place) for place, doc in enumerate(order)}
            values.append(measure.score(make_ranks({"q": ranking}, qrels), qrels)[0])
    assert found.lowest == pytest.approx(min(values))
    assert found.highest == pytest.approx(max(values))
    assert found.lowest <= found.score <= found.highest
    assert found.queries == (min(values) < max(values))


def test_the_ends_are_means_over_the_queries() -> None:
    """Of three queries two have a tie on top: the score is 1 or 1/2 there, and 1/4 on the third."""
    qrels = make_qrels({"1": {"m": 1}, "2": {"m": 1}, "3": {"m": 1}})
    tied = {"m": 1.0, "a": 1.0}
    run = {"1": tied, "2": tied, "3": {"a": 4.0, "b": 3.0, "c": 2.0, "m": 1.0}}
    ranks = [make_ranks(run, qrels, "r")]
    (mean,) = tie_sensitivity(ranks, qrels, Measure.parse("RR@10"))
    assert (mean.run, mean.measure, mean.queries) == ("r", "RR@10", 2)
    assert (mean.lowest, mean.score, mean.highest) == pytest.approx((1.25 / 3, 2.25 / 3, 2.25 / 3))


def test_the_ends_of_a_geometric_mean_are_on_its_scale() -> None:
    qrels = make_qrels({"q": {"m": 1}})
    ranks = make_ranks({"q": {"a": 2.0, "m": 1.0}}, qrels)
    (found,) = tie_sensitivity([ranks], qrels, Measure.parse("GMAP"))
    assert (found.lowest, found.score, found.highest) == pytest.approx((0.5, 0.5, 0.5))
