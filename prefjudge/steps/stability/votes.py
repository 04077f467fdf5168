"""Sets of votes, whose preference qrels score the runs: as they were cast, and as they might have been."""

from collections.abc import Sequence
from functools import partial
from itertools import combinations
from pathlib import Path

import numpy as np

from prefjudge.core.judges.judgments import Judgments
from prefjudge.core.pooling.qrels import Qrels, Scores
from prefjudge.core.resolving.preferences import resolve, to_qrels
from prefjudge.errors import InputError
from prefjudge.evaluation.comparing.redrawn_votes import fit_votes
from prefjudge.evaluation.leaderboards.stability import (
    NoiseCeiling,
    RankStability,
    bootstrap_votes,
    noise_ceiling,
)
from prefjudge.evaluation.scoring.judged_pairs import compared_pairs, relabel
from prefjudge.evaluation.scoring.leave_one_out import pooled_documents
from prefjudge.evaluation.scoring.measures import Measure, score_matrix
from prefjudge.evaluation.testing.integer_scores import Column
from prefjudge.formats.labels.judgments import read_judgments
from prefjudge.formats.lines.problems import Notice
from prefjudge.formats.lines.readers import stem
from prefjudge.gather.readers import Reader
from prefjudge.gather.score_inputs import ScoreInputs


class VoteSet:
    """One set of judgments, and the scores of the runs under the preference qrels that its votes make."""

    def __init__(
        self,
        name: str,
        judgments: "Judgments",
        found: "ScoreInputs",
        measures: Sequence["Measure"],
        reader: "Reader",
    ) -> None:
        self.name, self.judgments = name, judgments
        self._pools = found.pools
        self._rule = found.rule
        self._asked = found.asked if judgments is found.judgments else None
        self._documents = (
            compared_pairs(judgments).documents if found.pools is None else pooled_documents(found.pools)
        )
        self._ranks = reader.judged(self._documents)
        self._measures = measures

    @property
    def runs(self) -> tuple[str, ...]:
        """The tags of the runs."""
        return tuple(placed.run for placed in self._ranks)

    def redraw(
        self, trials: int, confidence: float, rng: "np.random.Generator"
    ) -> "list[tuple[RankStability, NoiseCeiling]]":
        """Return, for each measure, the ranks of the runs under votes drawn like these, and their ceiling."""
        model = fit_votes(self.judgments, rng=rng)
        labels = self._resolved(self.judgments)

        def redrawn(stream: "np.random.Generator", measure: "Measure") -> "Scores":
            return self._scores(measure, self._resolved(model.draw(stream)))

        return [
            bootstrap_votes(
                partial(redrawn, measure=measure),
                self._scores(measure, labels),
                trials=max(2, trials),
                confidence=confidence,
                rng=rng,
            )
            for measure in self._measures
        ]

    def means(self) -> "Column":
        """Return the mean score of each run under the first measure."""
        scores = self._scores(self._measures[0], self._resolved(self.judgments))
        means: Column = scores.values.mean(axis=0)
        return means

    def _resolved(self, judgments: "Judgments") -> "Qrels":
        found = resolve(judgments, rule=self._rule, pools=self._pools, asked=self._asked)
        labels = to_qrels(found, name=self.name)
        if not labels.queries:
            raise InputError(
                f"{self.name} decides no query: pairs of every query lack a judgment",
                "See which: prefjudge resolve --judgments FILE",
            )
        return labels

    def _scores(self, measure: "Measure", labels: "Qrels") -> "Scores":
        return score_matrix(relabel(self._ranks, self._documents, labels), labels, measure)


def vote_sets(
    found: "ScoreInputs",
    paths: Sequence[Path],
    measures: Sequence["Measure"],
    reader: "Reader",
    notices: list["Notice"],
) -> list[VoteSet]:
    """Return the judgments of the files, or else a study's, by the name of the qrels that they make."""
    named = [(stem(path), read_judgments(path, notices=notices)) for path in paths]
    if not named and found.judgments is not None and len(found.judgments):
        named = [("preference", found.judgments)]
    return [VoteSet(name, judgments, found, measures, reader) for name, judgments in named]


def compare_sets(sets: Sequence[VoteSet], confidence: float) -> "NoiseCeiling | None":
    """Compare the leaderboards of independent sets of judgments, each two, under the first measure."""
    if len(sets) < 2:
        return None
    boards = [votes.means() for votes in sets]
    return noise_ceiling(list(combinations(boards, 2)), confidence=confidence)
