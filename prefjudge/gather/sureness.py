"""How sure the answers to judgments are: one source for all that show it."""

import numpy as np

from prefjudge.core.resolving.confidence import Confidence, assess_confidence
from prefjudge.core.resolving.confidence_summary import ConfidenceSummary, summarise_confidence
from prefjudge.core.resolving.model_checks import check_model
from prefjudge.core.resolving.resolutions import Resolutions
from prefjudge.gather.judgments import JudgmentInput


def assess_answers(
    votes: JudgmentInput, resolutions: Resolutions, *, rng: np.random.Generator, strengths: bool = False
) -> tuple[Confidence, ConfidenceSummary]:
    """Return how probable it is that each candidate is the best, and how sure the winners are.

    Parameters
    ----------
    votes : JudgmentInput
        The judgments, and the pools.
    resolutions : Resolutions
        Their winners.
    rng : numpy.random.Generator
    strengths : bool
        Whether a vote counts as often as it is strong.
    """
    chances = assess_confidence(votes.log, rng=rng, pools=votes.pools, strengths=strengths)
    checks = check_model(votes.log, chances.scales, rng=rng, pools=votes.pools)
    return chances, summarise_confidence(resolutions, chances, checks)
