"""Whole runs, read by the engines and scored by every measure, against trec_eval."""

from pathlib import Path

import numpy as np
import pytest

from prefjudge.core.runs import JudgedRanks, Order, Qrels
from prefjudge.evaluation.boards import leaderboard
from prefjudge.evaluation.measures.measures import Measure, score_matrix
from prefjudge.reading.labels import read_qrels
from prefjudge.reading.runs.heads import Reading, RunFiles

from .samples import RunDict

CUTOFFS = (1, 3, 5, 10, 20, 100)
PAIRS = {
    "RR": "recip_rank",
    "AP": "map",
    "nDCG": "ndcg",
    "Rprec": "Rprec",
    "Bpref": "bpref",
    **{f"nDCG@{k}": f"ndcg_cut_{k}" for k in CUTOFFS},
    **{f"AP@{k}": f"map_cut_{k}" for k in CUTOFFS},
    **{f"P@{k}": f"P_{k}" for k in CUTOFFS},
    **{f"R@{k}": f"recall_{k}" for k in CUTOFFS},
    **{f"Success@{k}": f"success_{k}" for k in CUTOFFS},
}


@pytest.fixture(scope="module")
def nist(data_dir: Path) -> Qrels:
    return read_qrels(data_dir / "dl21" / "qrels-nist.txt", name="nist")


@pytest.fixture(scope="module")
def ranks(data_dir: Path, nist: Qrels) -> list[JudgedRanks]:
    return RunFiles(sorted((data_dir / "dl21" / "runs").glob("*.gz")), Reading(order=Order.SCORE_F32)).judged(
        nist
    )


@pytest.mark.parametrize("level", [1, 2])
def test_scores_are_trec_evals_to_four_decimals(
    ranks: list[JudgedRanks],
    nist: Qrels,
    dl21_runs: dict[str, RunDict],
    dl21_labels: dict[str, dict[str, int]],
    level: int,
) -> None:
    pytrec_eval = pytest.importorskip("pytrec_eval", reason="pytrec_eval is the oracle")
    cuts = ",".join(map(str, CUTOFFS))
    asked = {f"{name}.{cuts}" for name in ("ndcg_cut", "map_cut", "P", "recall", "success")}
    oracle = pytrec_eval.RelevanceEvaluator(
        dl21_labels, asked | {"recip_rank", "map", "ndcg", "Rprec", "bpref"}, relevance_level=level
    )
    theirs = [oracle.evaluate(run) for _, run in sorted(dl21_runs.items())]
    for ours, key in PAIRS.items():
        measure = Measure.parse(ours if ours.startswith("nDCG") else f"{ours}-l{level}")
        expected = [[run.get(query, {}).get(key, 0.0) for run in theirs] for query in nist.queries]
        scores = score_matrix(ranks, nist, measure).values
        np.testing.assert_allclose(scores, expected, atol=5e-5, rtol=0, err_msg=ours)


def test_rr_never_falls_below_rr_to_a_cut_off(ranks: list[JudgedRanks], nist: Qrels) -> None:
    """One order feeds every measure: a scorer that breaks ties in two ways reports RR@10 above RR."""
    whole, cut = (score_matrix(ranks, nist, Measure.parse(name)).values for name in ("RR", "RR@10"))
    assert (whole >= cut).all()


def test_the_order_is_stored_with_the_board(data_dir: Path, nist: Qrels) -> None:
    run = data_dir / "dl21" / "runs" / "p_bm25.txt.gz"
    for order in Order:
        board = leaderboard(
            score_matrix(RunFiles([run], Reading(order=order)).judged(nist), nist, Measure.parse("RR@10"))
        )
        assert board.order is order


def test_ranks_hold_under_every_order_of_the_queries(ranks: list[JudgedRanks], nist: Qrels) -> None:
    """The rows of a run may stand in any order."""
    rng = np.random.default_rng(5)
    for name in ("nDCG@10", "AP", "ERR@20", "Compat", "Bpref"):
        measure = Measure.parse(name)
        for placed in ranks[:4]:
            shuffled = rng.permutation(placed.query.size)
            columns = {
                field: getattr(placed, field)[shuffled]
                for field in ("query", "judged", "position", "best", "worst", "grade")
            }
            other = JudgedRanks(run=placed.run, retrieved=placed.retrieved, order=placed.order, **columns)
            np.testing.assert_allclose(measure.score(other, nist), measure.score(placed, nist), rtol=1e-12)
