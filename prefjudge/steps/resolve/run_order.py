"""Compares the order of runs under two sets of preference qrels."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from prefjudge.core.resolving.resolutions import PREFERENCE_NAME, HowResolved
from prefjudge.core.runs import Order, Qrels
from prefjudge.evaluation.correlation import TwoVotings, kendall_tau
from prefjudge.evaluation.measures.measures import Measure, score_matrix
from prefjudge.evaluation.measures.placings import Placed, compared_pairs, place_candidates
from prefjudge.evaluation.stability import pooled_documents, redrawn_votings
from prefjudge.findings.answers import split_runs
from prefjudge.findings.boards import VoteSet
from prefjudge.findings.judgments import JudgmentInput
from prefjudge.reading.inputs import expand, paths_of
from prefjudge.reading.runs.heads import Reading, RunFiles


class RunOrder:
    """The order of runs under preference qrels: ``placed`` is where they placed the candidates."""

    def __init__(self, votes: JudgmentInput, placed: Placed, measure: Measure) -> None:
        self._votes, self._placed, self._measure = votes, placed, measure

    def compare(self, before: Qrels, after: Qrels) -> float:
        """Return Kendall's tau between the orders under two sets of qrels; NaN where one is empty."""
        scores = [
            score_matrix(self._placed.under(qrels), self._placed.labels(qrels), self._measure).values.mean(0)
            for qrels in (before, after)
            if qrels.queries
        ]
        return float(kendall_tau(*scores)) if len(scores) == 2 else float("nan")

    def two_votings(self, how: HowResolved, rng: np.random.Generator) -> TwoVotings | None:
        """Return how well the orders agree that other votes like these give; None where none is decided.

        They are resolved as those that it stands beside.
        """
        votes = self._votes
        cast = VoteSet(
            PREFERENCE_NAME,
            votes.log,
            self._placed,
            how=how,
            pools=votes.pools,
            asked=votes.asked,
        )
        if not cast.labels.queries:
            return None
        (noise,) = cast.noise([self._measure], rng)
        return redrawn_votings(noise, rng=rng)


def run_order(votes: JudgmentInput, runs: Sequence[str | Path], measure: str | None) -> RunOrder | None:
    """Return the order of the runs, to compare; None without runs."""
    order, paths = Order.SCORE, expand(runs) if runs else ()
    if not paths and votes.study is not None:
        order = votes.study.config.pool.order
        measure = measure or votes.study.config.measures[0]
        ranked, _ = split_runs(votes.study)
        paths = paths_of(ranked, "run", votes.study.folder)
    if not paths:
        return None
    documents = pooled_documents(votes.pools) if votes.pools else compared_pairs(votes.log).documents
    placed = place_candidates(
        documents, votes.copies, RunFiles(paths, Reading(order=order), notices=votes.notices).judged
    )
    return RunOrder(votes, placed, Measure.parse(measure or "RR@10"))
