import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from prefjudge.evaluation.measures.measures import Measure

from .samples import RunDict, make_qrels, make_ranks


def overlap(ranking: list[str], ideal: list[str], persistence: float) -> float:
    """Rank-biased overlap to depth 1000, step by step; a list that ends keeps what it held."""
    total = 0.0
    for depth in range(1, 1001):
        shared = len(set(ranking[:depth]) & set(ideal[:depth]))
        total += persistence ** (depth - 1) * shared / depth
        if depth > max(len(ranking), len(ideal)) and not shared:
            break
    return total


def slow_compatibility(run: dict[str, float], label: dict[str, float], persistence: float) -> float:
    ranking = sorted(run, key=lambda doc: (run[doc], doc), reverse=True)
    place = {doc: number for number, doc in enumerate(ranking)}
    ideal = sorted(
        (doc for doc in label if label[doc] > 0), key=lambda doc: (-label[doc], place.get(doc, 10_000))
    )
    best = overlap(ideal, ideal, persistence)
    return overlap(ranking, ideal, persistence) / best if best else 0.0


docs = st.sampled_from([f"d{number}" for number in range(12)])


@given(
    st.dictionaries(docs, st.integers(-9, 2).map(float)),
    st.dictionaries(docs, st.sampled_from([-1.0, 0.0, 0.5, 1.0, 2.0, 105.0]), min_size=1),
    st.sampled_from([0.8, 0.95]),
)
def test_equals_the_definition(run: dict[str, float], label: dict[str, float], persistence: float) -> None:
    qrels = make_qrels({"q": label})
    score = Measure.parse(f"Compat(p={persistence})").score(make_ranks({"q": run}, qrels), qrels)
    assert score[0] == pytest.approx(slow_compatibility(run, label, persistence))


def test_a_missing_document_does_not_pass_a_retrieved_one_with_a_negative_score() -> None:
    qrels = make_qrels({"q": {"found": 1.0, "missing": 1.0}})
    ranks = make_ranks({"q": {"found": -3.0}}, qrels)
    shifted = make_ranks({"q": {"found": 3.0}}, qrels)
    measure = Measure.parse("Compat")
    assert measure.score(ranks, qrels)[0] == measure.score(shifted, qrels)[0] > 0.5


def test_agrees_with_ir_measures_on_runs_without_negative_scores(
    dl21_runs: dict[str, RunDict], dl21_labels: dict[str, dict[str, int]]
) -> None:
    ir_measures = pytest.importorskip("ir_measures", reason="ir_measures is the oracle")
    qrels = make_qrels(dl21_labels)
    compared = 0
    for name, run in sorted(dl21_runs.items()):
        scores = [score for ranking in run.values() for score in ranking.values()]
        tied = any(len(set(ranking.values())) < len(ranking) for ranking in run.values())
        if min(scores) <= 0 or tied:
            continue
        theirs = {
            value.query_id: value.value
            for value in ir_measures.iter_calc([ir_measures.Compat(p=0.8)], dl21_labels, run)
        }
        ours = Measure.parse("Compat(p=0.8)").score(make_ranks(run, qrels, name), qrels)
        np.testing.assert_allclose(
            ours, [theirs.get(query, 0.0) for query in qrels.queries], atol=1e-6, err_msg=name
        )
        compared += 1
    assert compared >= 3


def test_what_stands_below_the_depth_counts_as_not_retrieved() -> None:
    qrels = make_qrels({"q": {"a": 2, "b": 1}})
    others = {f"x{place}": 2000.0 - place for place in range(1001)}
    far = make_ranks({"q": {"a": 3000.0, **others, "b": 1.0}}, qrels)
    near = make_ranks({"q": {"a": 3000.0, **others}}, qrels)
    measure = Measure.parse("Compat(p=0.95)")
    assert measure.score(far, qrels).tolist() == measure.score(near, qrels).tolist()
