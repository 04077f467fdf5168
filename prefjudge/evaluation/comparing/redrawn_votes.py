"""Redrawn votes: what the crowd might have said instead."""

from dataclasses import replace

import numpy as np

from prefjudge.core.judges.judgments import Judgments, select_judgments
from prefjudge.core.resolving.likely_pools import DrawnPools
from prefjudge.core.resolving.tournament import Index


def cast_again(
    judgments: Judgments, left: Index, right: Index, drawn: DrawnPools, rng: np.random.Generator
) -> Judgments:
    """Cast the votes on drawn pools again: the same questions, other people. Ties stay ties.

    Parameters
    ----------
    judgments : Judgments
        The votes as they were cast.
    left, right : ndarray of int64, shape (votes,)
        The rows of the documents shown; -1 where one is no candidate.
    drawn : DrawnPools
        What the pools are truly like. Votes on others are left out.
    rng : numpy.random.Generator
    """
    chances = drawn.chances_of(left, right)
    asked = np.flatnonzero(np.isfinite(chances))
    choice = np.where(rng.random(asked.size) < chances[asked], 1, -1)
    again = select_judgments(judgments, asked)
    return replace(again, choice=np.where(again.choice == 0, 0, choice).astype(np.int8))
