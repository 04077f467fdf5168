import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from prefjudge.evaluation.measures.measures import Measure, bounds, direction, score_matrix

from .samples import make_qrels, make_ranks

SPELLINGS = {
    "RR@10": [
        "RR@10",
        "MRR@10",
        "mrr@10",
        "rr@10",
        "MRR @10",
        "recip_rank@10",
        "RR(rel=1)@10",
        "recip_rank.10",
        "mrr_10",
    ],
    "RR": ["RR", "recip_rank", "MRR", "mean reciprocal rank"],
    "RR(rel=2)@10": ["RR(rel=2)@10", "mrr@10-l2", " RR( rel = 2 ) @ 10 "],
    "nDCG@10": [
        "nDCG@10",
        "ndcg_cut.10",
        "ndcg_cut_10",
        "ndcg@10",
        "NDCG@10",
        "ndcg10",
        "nDCG(dcg='log2')@10",
    ],
    "nDCG(dcg='exp-log2')@10": ["nDCG(dcg='exp-log2')@10", 'ndcg(dcg="exp-log2")@10'],
    "nDCG": ["nDCG", "ndcg"],
    "AP(rel=2)@100": ["AP(rel=2)@100", "map@100-l2", "map_cut_100-l2", "MAP(rel=2)@100"],
    "AP": ["AP", "map", "MAP", "average precision"],
    "AP(rel=2)": ["map-l2", "AP(rel=2)"],
    "P@1": ["P@1", "P_1", "P.1", "precision@1", "p@1"],
    "P@5": ["precision.5", "prec@5"],
    "R@100": ["R@100", "recall_100", "recall.100", "Recall@100"],
    "Success@10": ["Success@10", "success.10", "hit_rate@10", "hits@10"],
    "NCG@100": ["NCG@100", "ncg@100"],
    "Judged@10": ["Judged@10", "judged@10"],
    "ERR@20": ["ERR@20", "err@20", "ERR(max=4)@20"],
    "ERR(max=3)@20": ["ERR(max=3)@20"],
    "RBP(p=0.8)": ["RBP", "rbp", "RBP(p=0.8)", "rbp.8"],
    "RBP(p=0.95)": ["rbp.95", "RBP(p=.95)"],
    "RBP(p=0.95,rel=2)@10": ["rbp.95@10-l2", "RBP(rel=2,p=0.95)@10"],
    "ESL@100": ["ESL", "esl@100", "expected search length"],
    "Rprec": ["Rprec", "R-prec"],
    "Bpref": ["bpref"],
    "Compat(p=0.95)": ["Compat", "compatibility", "Compat(p=0.95)"],
}


@pytest.mark.parametrize(
    ("canonical", "spelling"), [(name, text) for name, texts in SPELLINGS.items() for text in texts]
)
def test_spellings(canonical: str, spelling: str) -> None:
    measure = Measure.parse(spelling)
    assert str(measure) == canonical
    assert Measure.parse(canonical) == measure
    assert hash(Measure.parse(canonical)) == hash(measure)


QRELS = make_qrels({"q1": {"a": 2, "b": 0, "c": 1, "z": 1}, "q2": {"a": 1}, "q3": {"a": 0}})
RUN = {"q1": {"b": 5.0, "x": 4.0, "c": 3.0, "a": 2.0}}


@pytest.mark.parametrize(
    ("measure", "value"),
    [
        ("RR@10", 1 / 3),
        ("RR@2", 0.0),
        ("RR(rel=2)", 1 / 4),
        ("P@4", 2 / 4),
        ("P@10", 2 / 10),
        ("R@10", 2 / 3),
        ("Success@3", 1.0),
        ("AP", (1 / 3 + 2 / 4) / 3),
        ("AP(rel=2)@3", 0.0),
        ("Rprec", 1 / 3),
        ("NCG@4", 3 / 4),
        ("Judged@2", 1 / 2),
        ("Judged@10", 3 / 4),
        ("ESL@10", 3.0),
        ("ESL@2", 3.0),
        ("RBP(p=0.5)", 0.5 * (0.25 + 0.125)),
        ("nDCG@10", (1 / math.log2(4) + 2 / math.log2(5)) / (2 + 1 / math.log2(3) + 1 / math.log2(4))),
        (
            "nDCG(dcg='exp-log2')@3",
            (1 / math.log2(4)) / (3 + 1 / math.log2(3) + 1 / math.log2(4)),
        ),
        ("ERR@10", (1 / 16) / 3 + (15 / 16) * (3 / 16) / 4),
        ("ERR(max=2)@10", (1 / 4) / 3 + (3 / 4) * (3 / 4) / 4),
        ("ERR(max=3)@10", (1 / 8) / 3 + (7 / 8) * (3 / 8) / 4),
    ],
)
def test_values_by_hand(measure: str, value: float) -> None:
    scores = Measure.parse(measure).score(make_ranks(RUN, QRELS), QRELS)
    assert scores[0] == pytest.approx(value)
    missed = 3.0 if measure == "ESL@2" else 11.0 if measure == "ESL@10" else 0.0
    assert scores[1:].tolist() == [missed, missed]


def test_the_matrix_has_a_row_for_every_judged_query() -> None:
    scores = score_matrix(
        [make_ranks(RUN, QRELS, "one"), make_ranks({}, QRELS, "none")], QRELS, Measure.parse("mrr@10")
    )
    assert (scores.measure, scores.runs, scores.queries) == ("RR@10", ("one", "none"), ("q1", "q2", "q3"))
    np.testing.assert_allclose(scores.values, [[1 / 3, 0], [0, 0], [0, 0]])


def slow_score(name: str, ranking: list[str], label: dict[str, float]) -> float:
    """Score by walking down the ranking, one document after the other."""
    ideal = sorted(label.values(), reverse=True)
    total = reading = 0.0
    going_on = 1.0
    top = 4
    for place, doc in enumerate(ranking[:4], 1):
        grade = label.get(doc, 0.0)
        satisfied = (2**grade - 1) / 2**top
        total += {
            "ERR@4": going_on * satisfied / place,
            "RBP(p=0.6)@4": 0.4 * 0.6 ** (place - 1) * (grade >= 1),
            "NCG@4": grade / (sum(ideal[:4]) or 1),
            "Judged@4": (doc in label) / len(ranking[:4]),
            "nDCG(dcg='exp-log2')@4": (2**grade - 1)
            / math.log2(place + 1)
            / (sum((2**best - 1) / math.log2(rank + 2) for rank, best in enumerate(ideal[:4])) or 1),
            "ESL@4": 0.0,
        }[name]
        going_on *= 1 - satisfied
        if name == "ESL@4":
            reading += 1
            if grade >= 1:
                return reading
    return 5.0 if name == "ESL@4" else total


docs = st.sampled_from("abcdefgh")


@given(
    st.permutations("abcdefgh").flatmap(lambda order: st.integers(0, 8).map(lambda size: order[:size])),
    st.dictionaries(docs, st.integers(0, 3).map(float), min_size=1),
    st.sampled_from(["ERR@4", "RBP(p=0.6)@4", "NCG@4", "Judged@4", "nDCG(dcg='exp-log2')@4", "ESL@4"]),
)
def test_equals_a_walk_down_the_ranking(ranking: list[str], label: dict[str, float], name: str) -> None:
    qrels = make_qrels({"q": label})
    run = {"q": {doc: -float(place) for place, doc in enumerate(ranking)}}
    score = Measure.parse(name).score(make_ranks(run, qrels), qrels)[0]
    assert score == pytest.approx(slow_score(name, ranking, label))


@pytest.mark.parametrize(
    ("name", "sign", "ends"),
    [
        ("RR@10", 1, (0, 1)),
        ("ESL@10", -1, (1, 11)),
        ("ESL(rel=2)@3", -1, (1, 4)),
        ("ppref@10", 1, (0, 1)),
        ("PGC(p=0.8)", 1, (0, 1)),
        ("wpref@10", 1, (-math.inf, math.inf)),
        ("mine@10", 1, (-math.inf, math.inf)),
    ],
)
def test_which_way_a_measure_goes_and_how_far(name: str, sign: int, ends: tuple[float, float]) -> None:
    assert (direction(name), bounds(name)) == (sign, ends)
