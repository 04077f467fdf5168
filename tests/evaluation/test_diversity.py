"""alpha-nDCG, against pyndeval's figures and by hand."""

from pathlib import Path

import numpy as np
import pytest

import prefjudge
from prefjudge.errors import InputError
from prefjudge.evaluation.measures.formulas import GREEDY

QRELS = """1 1 a 1
1 2 a 0
1 1 b 1
1 2 b 2
1 2 c 1
1 3 c 1
1 3 d 0
2 1 e 1
3 1 f 0
"""
RUN = """1 Q0 d 1 9 t
1 Q0 b 2 8 t
1 Q0 c 3 7 t
1 Q0 a 4 6 t
2 Q0 x 1 9 t
2 Q0 e 2 8 t
"""


def scored(folder: Path, *measures: str, qrels: str = QRELS) -> np.ndarray:
    (folder / "qrels").write_text(qrels)
    (folder / "run").write_text(RUN)
    found = prefjudge.score(runs=folder / "run", qrels=folder / "qrels", measure=measures)
    return np.array([board.matrices[0].values[:, 0] for board in found.boards])


def test_each_subtopic_gains_less_when_it_comes_again(tmp_path: Path) -> None:
    # d gains nothing; b 1 + 1; c 1/2 + 1; a 1/2. Greedily: c before b (they tie, and c is the greater id), a.
    at = 1 / np.log2(np.arange(2, 6))
    ours = 2 * at[1] + 1.5 * at[2] + 0.5 * at[3]
    best = 2 * at[0] + 1.5 * at[1] + 0.5 * at[2]
    assert scored(tmp_path, "alpha_nDCG@10")[0] == pytest.approx([ours / best, at[1] / at[0], 0.0])
    short, all_of_it = scored(tmp_path, "alpha-nDCG(alpha=1)@2", "alpha_nDCG")
    assert short[0] == pytest.approx(2 * at[1] / (2 * at[0] + 1 * at[1]))
    assert all_of_it[0] == pytest.approx(ours / best)


def test_a_ranking_may_beat_the_greedy_one_and_stays_within_the_bounds(tmp_path: Path) -> None:
    (tmp_path / "qrels").write_text(
        "".join(f"1 {s} {doc} 1\n" for doc, subtopics in GREEDY_TRAP.items() for s in subtopics)
    )
    (tmp_path / "run").write_text("1 Q0 a 1 9 t\n1 Q0 b 2 8 t\n")
    found = prefjudge.score(runs=tmp_path / "run", qrels=tmp_path / "qrels", measure="alpha_nDCG(alpha=1)@2")
    value = found.boards[0].matrices[0].values[0, 0]
    assert 1.0 < value < GREEDY


GREEDY_TRAP = {"a": "123", "b": "456", "z": "1245"}
"""z gains most, and leaves 1 to each of the others; a and b together gain more."""


def test_a_document_that_nobody_judged_may_be_left_out(tmp_path: Path) -> None:
    whole, condensed = scored(tmp_path, "alpha_nDCG@10", "alpha_nDCG(judged_only=True)@10")
    assert (whole[1] < condensed[1], condensed[1]) == (True, 1.0)
    assert whole[0] == condensed[0]  # d is judged


def test_other_measures_take_the_greatest_grade(tmp_path: Path) -> None:
    assert scored(tmp_path, "P(rel=2)@4")[0] == pytest.approx([0.25, 0, 0])


def test_qrels_without_subtopics_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="alpha_nDCG needs judgments of subtopics"):
        scored(tmp_path, "alpha_nDCG@10", qrels="1 0 a 1\n1 0 b 0\n")
    with pytest.raises(InputError, match=r"has grade 1 on line 1 and another here"):
        scored(tmp_path, "alpha_nDCG@10", qrels="1 1 a 1\n1 2 b 0\n1 1 a 2\n")


def test_it_is_the_score_of_pyndeval(tmp_path: Path) -> None:
    ir_measures = pytest.importorskip("ir_measures")
    pytest.importorskip("pyndeval")
    rng = np.random.default_rng(3)
    judged = [
        ir_measures.Qrel(str(query), f"d{doc}", int(rng.integers(0, 2)), str(subtopic))
        for query in range(4)
        for doc in range(30)
        for subtopic in range(query + 2)
    ]
    run = [
        ir_measures.ScoredDoc(str(query), f"d{doc}", float(-place))
        for query in range(4)
        for place, doc in enumerate(rng.permutation(40)[:35].tolist())
    ]
    for text in ("alpha_nDCG@5", "alpha_nDCG(alpha=0.9)@20"):
        theirs = {
            one.query_id: one.value
            for one in ir_measures.iter_calc([ir_measures.parse_measure(text)], judged, run)
        }
        found = prefjudge.score(runs=[run], qrels=[judged], measure=text).boards[0].matrices[0]
        assert dict(zip(found.queries, found.values[:, 0], strict=True)) == pytest.approx(theirs)
