"""Condensed lists, gains, sets, counts and inferred measures, against ir_measures, trec_eval and cwl_eval."""

import math

import numpy as np
import pytest

from prefjudge.core.runs import Order
from prefjudge.errors import InputError
from prefjudge.evaluation.boards import leaderboard
from prefjudge.evaluation.measures.measures import FAMILIES, Measure, bounds, one_each, score_matrix
from prefjudge.evaluation.stability import bootstrap_ranks

from .samples import QrelDict, RunDict, make_qrels, make_ranks

QUERIES = [f"q{number}" for number in range(60)]


def world(seed: int, *, least: int = 0) -> tuple[RunDict, dict[str, dict[str, int]]]:
    """Return a run with many ties and labels from ``least`` to 3, of which it retrieves a part."""
    rng = np.random.default_rng(seed)
    docs = [f"d{number}" for number in range(40)]
    run: RunDict = {}
    labels: dict[str, dict[str, int]] = {}
    for query in QUERIES:
        judged = rng.choice(docs, size=rng.integers(1, 25), replace=False)
        labels[query] = {str(doc): int(rng.integers(least, 4)) for doc in judged}
        returned = rng.choice(docs, size=rng.integers(1, 30), replace=False)
        run[query] = {str(doc): float(rng.integers(0, 6)) for doc in returned}
    del run["q7"]  # a query that the run misses
    labels["q8"] = dict.fromkeys(labels["q8"], 0)  # and one without an answer
    return run, labels


def ours(name: str, run: RunDict, labels: QrelDict) -> np.ndarray:
    qrels = make_qrels(labels)
    return Measure.parse(name).score(make_ranks(run, qrels), qrels)


IR_MEASURES = [
    "P(judged_only=True)@5",
    "P(rel=2,judged_only=True)@10",
    "RR(judged_only=True)",
    "Rprec(judged_only=True)",
    "AP(judged_only=True)",
    "AP(rel=2,judged_only=True)@10",
    "nDCG(judged_only=True)",
    "nDCG(judged_only=True)@10",
    "nDCG(gains={1:3,2:1,3:9})@10",
    "nDCG(gains={0:2,3:0})",
    "nDCG(gains={1:5,2:3},judged_only=True)@5",
    "R(judged_only=True)@10",
    "Success(judged_only=True)@1",
    "NumRet",
    "NumRet(rel=2)",
    "NumRel",
    "SetP",
    "SetP(rel=2)",
    "SetP(relative=True)",
    "SetP(judged_only=True)",
    "SetR(rel=2)",
    "SetF",
    "SetF(beta=0.5)",
    "SetF(beta=2.0,rel=2,judged_only=True)",
    "infAP",
    "infAP(rel=2)",
    *(f"IPrec@{share}" for share in (0.0, 0.1, 0.3, 0.5, 0.7, 1.0)),
    "IPrec(rel=2,judged_only=True)@0.2",
]


@pytest.mark.parametrize("name", IR_MEASURES)
@pytest.mark.parametrize("seed", [3, 4])
def test_each_query_scores_as_in_ir_measures(name: str, seed: int) -> None:
    ir_measures = pytest.importorskip("ir_measures", reason="ir_measures is the oracle")
    run, labels = world(seed, least=-1 if "infAP" in name else 0)
    measure = ir_measures.parse_measure(name)
    theirs = {one.query_id: one.value for one in ir_measures.iter_calc([measure], labels, run)}
    expected = [theirs.get(query, 0.0) for query in QUERIES]
    if name == "NumRel":  # ir_measures says nothing of a query that the run misses
        expected[7] = float(sum(grade >= 1 for grade in labels["q7"].values()))
    # trec_eval divides 0 by 0 where nothing that was returned is judged
    np.testing.assert_allclose(ours(name, run, labels), np.nan_to_num(expected), atol=1e-9)


@pytest.mark.parametrize("seed", [5, 6])
def test_user_models_score_as_in_cwl_eval(seed: int) -> None:
    pytest.importorskip("cwl", reason="cwl-eval is the oracle")
    ir_measures = pytest.importorskip("ir_measures")
    from cwl.ruler.cwl_ruler import Ranking, RBPCWLMetric

    run, labels = world(seed)
    rankings = {
        query: sorted(docs, key=lambda doc: (docs[doc], doc), reverse=True) for query, docs in run.items()
    }
    # ir_measures breaks ties the other way here: it is given the ranking without them
    untied = {
        query: {doc: -float(place) for place, doc in enumerate(docs)} for query, docs in rankings.items()
    }
    for name in ("INST(max_rel=3)", "INST(T=2.5,max_rel=3)", "INST(T=1.0,min_rel=1,max_rel=2)"):
        theirs = {
            found.query_id: found.value
            for found in ir_measures.iter_calc([ir_measures.parse_measure(name)], labels, untied)
        }
        np.testing.assert_allclose(
            ours(name, run, labels), [theirs.get(query, 0.0) for query in QUERIES], atol=1e-9
        )
    graded = ours("RBP(p=0.8,max_rel=3)", run, labels)
    for query, score in zip(QUERIES, graded, strict=True):
        gains = [labels[query].get(doc, 0) / 3 for doc in rankings.get(query, [])]
        theirs_now = RBPCWLMetric(0.8).measure(Ranking(query, gains, [1.0] * len(gains)))
        assert score == pytest.approx(theirs_now, abs=1e-9)


@pytest.mark.parametrize("seed", [7, 8])
def test_the_geometric_mean_is_trec_evals(seed: int) -> None:
    pytrec_eval = pytest.importorskip("pytrec_eval", reason="pytrec_eval is the oracle")
    run, labels = world(seed)
    found = pytrec_eval.RelevanceEvaluator(labels, {"gm_map"}).evaluate(run)
    logs = [found[query]["gm_map"] if query in found else math.log(1e-5) for query in QUERIES]
    np.testing.assert_allclose(ours("gm_map", run, labels), logs, atol=1e-9)
    qrels = make_qrels(labels)
    scores = score_matrix([make_ranks(run, qrels)], qrels, Measure.parse("GMAP"))
    (row,) = leaderboard(scores).rows
    (mean,) = bootstrap_ranks(scores, rng=np.random.default_rng(1)).mean
    assert (row.score, mean) == pytest.approx((math.exp(np.mean(logs)),) * 2, abs=1e-9)
    assert 1e-5 <= row.low < row.score < row.high <= 1
    assert row.hit == sum(log > math.log(1e-5) for log in logs)


@pytest.mark.parametrize("seed", range(4))
def test_scores_stay_within_the_bounds_that_are_declared(seed: int) -> None:
    run, labels = world(seed, least=-1)
    given = {"INST": "INST(max_rel=3)", "IPrec": "IPrec@0.3"}
    for name, family in FAMILIES.items():
        if name == "alpha_nDCG":  # of judgments of subtopics: see test_diversity
            continue
        text = given.get(name, f"{name}@10" if family.cutoff == "required" else name)
        for measure in {text, text.replace("INST(", "INST(T=3,")}:
            low, high = bounds(str(Measure.parse(measure)))
            scores = ours(measure, run, labels)
            assert (scores >= low).all(), measure
            assert (scores <= high + 1e-12).all(), measure


def test_condensed_lists_close_the_gaps_of_documents_without_a_label() -> None:
    run = {"q": {"x": 9.0, "a": 8.0, "y": 7.0, "skipped": 6.0, "b": 5.0}}
    labels = {"q": {"a": 0, "skipped": -1, "b": 2}}
    assert ours("RR", run, labels) == pytest.approx([1 / 5])
    assert ours("RR(judged_only=True)", run, labels) == pytest.approx([1 / 2])
    assert ours("SetP(judged_only=True)", run, labels) == pytest.approx([1 / 2])


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("P@10,20", ["P@10", "P@20"]),
        ("ndcg_cut.5,10", ["nDCG@5", "nDCG@10"]),
        ("AP(rel=2)@10, 100", ["AP(rel=2)@10", "AP(rel=2)@100"]),
        ("map@10,100-l2", ["AP(rel=2)@10", "AP(rel=2)@100"]),
        ("iprec_at_recall.0.1,.25", ["IPrec@0.1", "IPrec@0.25"]),
        ("nDCG(gains={1:3,2:7})@10", ["nDCG(gains={1:3,2:7})@10"]),
        ("RBP(p=0.8,rel=2)@10,20", ["RBP(p=0.8,rel=2)@10", "RBP(p=0.8,rel=2)@20"]),
        ("num_rel_ret", ["NumRet(rel=1)"]),
        ("set_relative_P", ["SetP(relative=True)"]),
        ("nDCG( gains = {3: 9, 1:1, 0:-1} )@5", ["nDCG(gains={0:-1,3:9})@5"]),
        ("gm_map", ["GMAP"]),
    ],
)
def test_lists_of_cut_offs_name_several_measures(text: str, names: list[str]) -> None:
    found = [Measure.parse(one) for one in one_each(text)]
    assert [str(one) for one in found] == names
    assert [Measure.parse(name) for name in names] == found


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("INST", "needs max_rel"),
        ("IPrec", "Write for instance IPrec@0.1"),
        ("IPrec@2", "between 0 and 1"),
        ("nDCG(gains=3)@10", "the gain of each grade, such as {1:3,2:7}"),
        ("nDCG(gains={a:1})@10", "the gain of each grade"),
        ("RR(judged_only=1)", "True or False"),
        ("SetP@10", "takes no cut-off"),
        ("P@0.5", "unknown measure"),
        ("SetF(beta=0)", "above 0"),
    ],
)
def test_a_wrong_parameter_says_what_it_takes(text: str, says: str) -> None:
    with pytest.raises(InputError) as refused:
        Measure.parse(text)
    assert says in str(refused.value)


def test_inst_refuses_a_scale_without_width() -> None:
    labels = {"q": {"a": 1}}
    with pytest.raises(InputError, match="Give a max_rel above min_rel"):
        ours("INST(min_rel=3,max_rel=3)", {"q": {"a": 1.0}}, labels)


def test_the_order_of_ties_is_the_runs_own() -> None:
    """Condensing a list keeps its order: the documents are not ranked again."""
    run = {"q": {"a": 1.0, "b": 1.0, "c": 1.0}}
    qrels = make_qrels({"q": {"a": 1, "c": 0}})
    measure = Measure.parse("RR(judged_only=True)")
    assert measure.score(make_ranks(run, qrels, order=Order.SCORE), qrels) == pytest.approx([1 / 2])
