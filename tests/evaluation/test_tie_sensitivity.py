from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prefjudge.evaluation.measures import Measure
from prefjudge.evaluation.tie_sensitivity import tie_sensitivity

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


def test_a_constant_run_could_be_anything() -> None:
    qrels = make_qrels({"q": {"m": 1}})
    (found,) = tie_sensitivity(
        [make_ranks({"q": dict.fromkeys("abm", 1.0)}, qrels)], qrels, Measure.parse("RR@10")
    )
    assert (found.lowest, found.score, found.highest, found.queries) == (1 / 3, 1.0, 1.0, 1)
