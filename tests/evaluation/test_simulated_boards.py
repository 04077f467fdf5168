"""Simulated studies of shallow pooling against the verbs that analyse real ones."""

from pathlib import Path

import numpy as np
import pytest

from prefjudge.core.planning.paper_rates import Rates, mean_shift
from prefjudge.core.pooling.pools import build_pools
from prefjudge.core.pooling.qrels import restrict
from prefjudge.core.pooling.runs import Order
from prefjudge.core.pooling.top_pairs import top_pairs
from prefjudge.core.resolving.preferences import resolve, to_qrels
from prefjudge.engines import files
from prefjudge.evaluation.comparing.simulated_paper import simulate_paper
from prefjudge.evaluation.comparing.top_against_qrel import top_against_qrel
from prefjudge.evaluation.comparing.winratio import PERFECT, win_ratios
from prefjudge.evaluation.leaderboards.correlation import kendall_tau
from prefjudge.evaluation.scoring.leave_one_out import pooled_documents
from prefjudge.evaluation.scoring.measures import Measure, score_matrix
from prefjudge.formats.qrels import read_qrels

RR = Measure.parse("RR@10")
SURE = Rates(error=0.2, qrel_agreed=0.9, rival_differs=0.95)
"""People so sure that sixty queries show something."""


def _write(folder: Path) -> tuple[list[Path], Path]:
    """Write three runs: on half of the sixty queries the first one puts the qrel second."""
    tops = {"new": ("new", "known"), "old": ("old", "known"), "mixed": ("known", "old")}
    for run, docs in tops.items():
        lines = []
        for query in range(60):
            shown = ("known", "old") if run == "new" and query % 2 else docs
            lines += [f"q{query} Q0 {doc} {place} {9 - place} {run}" for place, doc in enumerate(shown, 1)]
        (folder / run).write_text("\n".join(lines) + "\n")
    (folder / "qrels").write_text("".join(f"q{query} 0 known 1\n" for query in range(60)))
    return [folder / run for run in tops], folder / "qrels"


@pytest.mark.parametrize("seed", range(3))
def test_one_study_shows_what_the_verbs_show_of_its_votes(seed: int, tmp_path: Path) -> None:
    paths, labelled = _write(tmp_path)
    qrels = read_qrels(labelled)
    heads = files.top(paths, k=2, order=Order.SCORE)
    top, pools = top_pairs(heads, qrels, "new"), build_pools(heads, qrels, depth=1)
    labels = restrict(qrels, pools.queries)

    def means(labels: object) -> np.ndarray:
        ranks = files.judged(paths, labels, order=Order.SCORE)  # type: ignore[arg-type]
        return score_matrix(ranks, labels, RR).values.mean(axis=0)  # type: ignore[arg-type]

    ranks = files.judged(paths, pooled_documents(pools), order=Order.SCORE)
    rng = np.random.default_rng(seed)
    votes, pooled, found = simulate_paper(
        pools, top, heads, ranks, means(labels), rates=SURE, studies=1, rng=rng
    )
    ratios = win_ratios(pooled, heads, qrels)
    sure = [pair for pair in ratios.pairs if pair.p_bonferroni <= 0.05]
    assert found.significant_ratios.mean == len(sure) > 0
    better = sum(pair.a == PERFECT and pair.wins_b > pair.wins_a for pair in sure)
    assert found.better_than_perfect.mean == better > 0
    preference = to_qrels(resolve(pooled))
    assert found.tau.mean == pytest.approx(kendall_tau(means(labels), means(preference)))
    against = top_against_qrel(votes, heads, qrels, "new")
    assert found.qrel_ratio.mean == pytest.approx(against.a.qrel / (against.a.qrel + against.a.rival))
    assert found.rival_ratio.mean == pytest.approx(against.b.rival / (against.b.qrel + against.b.rival))


@pytest.mark.parametrize(("share", "scale"), [(0.66, 1.0), (0.95, 1.0), (0.95, 30.0)])
def test_a_passage_that_is_so_much_stronger_wins_that_share(share: float, scale: float) -> None:
    """Also where people hardly err, so that strengths lie far apart; drawn, and not integrated again."""
    rng = np.random.default_rng(1)
    apart = rng.normal(mean_shift(share, scale), np.sqrt(2) * scale, 400_000)
    assert np.mean(0.5 + 0.5 * np.tanh(apart / 2)) == pytest.approx(share, abs=0.005)
