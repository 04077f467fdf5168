"""Redrawn votes: what the crowd might have said instead."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from prefjudge.core.judges.judgments import Judgments, nameless
from prefjudge.core.resolving.confidence import assess_confidence


@dataclass(frozen=True, slots=True, kw_only=True)
class VoteModel:
    """How likely each vote was to go to the left, under strengths that the votes themselves support.

    Attributes
    ----------
    judgments : Judgments
        The votes as they were cast.
    left : ndarray of float64, shape (votes,)
        The probability that the left document is preferred.
    scale : float
        The standard deviation of the strengths, in logits: how far apart candidates are.
    told : bool
        Whether the votes tell how many of them are wrong.
    """

    judgments: Judgments
    left: NDArray[np.float64]
    scale: float
    told: bool = True

    def draw(self, rng: np.random.Generator) -> Judgments:
        """Cast every vote again: the same questions, other judges. Ties stay ties."""
        choice = np.where(rng.random(self.left.size) < self.left, 1, -1).astype(np.int8)
        return replace(self.judgments, choice=np.where(self.judgments.choice == 0, 0, choice).astype(np.int8))


def fit_votes(judgments: Judgments, *, rng: np.random.Generator) -> VoteModel:
    """Fit the strengths of all candidates to the votes: Bradley-Terry, averaged over the scales that fit.

    Votes are drawn from a model and not from the votes themselves, because most pairs are judged once, and
    one vote drawn from one vote never changes. The strengths are drawn together by the prior, so what is
    drawn is rather more doubtful than the judges were: where independent sets of votes exist, compare those.
    """
    # Other judges would err as often as these did, whoever they are: no name takes part.
    fitted = assess_confidence(nameless(judgments), rng=rng, draws=0)
    width = len(judgments.docs)
    key = np.repeat(np.arange(len(fitted.queries)), np.diff(fitted.start)) * width + fitted.doc
    order = np.argsort(key)

    def strength_of(doc: NDArray[np.int32]) -> NDArray[np.float64]:
        wanted = judgments.query.astype(np.int64) * width + doc
        return fitted.strength[order[np.searchsorted(key[order], wanted)]]

    gap = strength_of(judgments.left) - strength_of(judgments.right)
    return VoteModel(
        judgments=judgments,
        left=0.5 * (1.0 + np.tanh(0.5 * gap)),
        scale=fitted.scales.mean,
        told=fitted.scales.told,
    )
