"""Compares the order of runs under two sets of preference qrels."""

from collections.abc import Sequence
from pathlib import Path

from prefjudge.core.pooling.qrels import Qrels
from prefjudge.core.pooling.runs import Order
from prefjudge.core.resolving.sensitivity import CompareRuns
from prefjudge.engines.files.files import judged
from prefjudge.evaluation.leaderboards.correlation import kendall_tau
from prefjudge.evaluation.scoring.judged_pairs import compared_pairs, relabel
from prefjudge.evaluation.scoring.leave_one_out import pooled_documents
from prefjudge.evaluation.scoring.measures import Measure, score_matrix
from prefjudge.gather.inputs import expand, paths_of
from prefjudge.gather.judgments import JudgmentInput
from prefjudge.gather.waiting_runs import split_runs


def run_comparison(
    votes: JudgmentInput, runs: Sequence[str | Path], measure: str | None
) -> CompareRuns | None:
    """Return how to compare the order of the runs under two preference qrels; None without runs."""
    order, paths = Order.SCORE, expand(runs) if runs else ()
    if not paths and votes.study is not None:
        order = votes.study.config.pool.order
        measure = measure or votes.study.config.measures[0]
        ranked, _ = split_runs(votes.study)
        paths = paths_of(ranked, "run", votes.study.folder)
    if not paths:
        return None
    parsed = Measure.parse(measure or "RR@10")
    documents = pooled_documents(votes.pools) if votes.pools else compared_pairs(votes.log).documents
    ranks = judged(paths, documents, order=order, notices=votes.notices)

    def compare(before: Qrels, after: Qrels) -> float:
        scores = [
            score_matrix(relabel(ranks, documents, qrels), qrels, parsed).values.mean(axis=0)
            for qrels in (before, after)
            if qrels.queries
        ]
        return float(kendall_tau(*scores)) if len(scores) == 2 else float("nan")

    return compare
