"""Confidence of resolutions: how probable it is that each is right, and how often all are."""

from dataclasses import dataclass

import numpy as np

from prefjudge.core.resolving.confidence import Confidence
from prefjudge.core.resolving.resolutions import Resolutions


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfidenceSummary:
    """How sure the winners are to be the best.

    Attributes
    ----------
    model : str
        What the probabilities rest on.
    scale : float
        How far apart candidates are, in logits, on average over what the votes leave possible.
    rests_on : str
        ``votes`` where they tell how often votes are wrong; ``prior`` where they do not, and all
        probabilities rest on how often crowds usually are.
    error, error_low, error_high : float or None
        The share of wrong votes on a random pair, and the bounds between which it lies with a probability of
        0.9; none where the votes do not tell it.
    mean : float
        The expected share of the resolved queries whose winner is the best; a random pick of several.
    at_80, at_95 : int
        Queries whose winner is the best with at least that probability.
    """

    model: str
    scale: float
    rests_on: str
    error: float | None
    error_low: float | None
    error_high: float | None
    mean: float
    at_80: int
    at_95: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolvedQuery:
    """One query's resolution, and the probability that each candidate is the best."""

    query_id: str
    status: str
    winners: tuple[str, ...]
    margin: float
    cycle: tuple[str, ...]
    pool_size: int
    votes: int
    missing: int
    p_best: dict[str, float]


def summarise_confidence(resolutions: Resolutions, confidence: Confidence) -> ConfidenceSummary:
    """Return how sure the winners are; both arguments come from the same judgments and pools."""
    rows = np.flatnonzero(resolutions.winner)
    query = resolutions.query[rows]
    count = np.bincount(query, minlength=len(resolutions))
    total = np.bincount(query, weights=confidence.chance[rows], minlength=len(resolutions))
    each = total[count > 0] / count[count > 0]
    scales = confidence.scales
    low, high = scales.interval(0.9)
    return ConfidenceSummary(
        model=confidence.model,
        scale=scales.mean,
        rests_on="votes" if scales.told else "prior",
        error=scales.error if scales.told else None,
        error_low=low if scales.told else None,
        error_high=high if scales.told else None,
        mean=float(each.mean()) if each.size else float("nan"),
        at_80=int((each >= 0.8).sum()),
        at_95=int((each >= 0.95).sum()),
    )


def resolved_queries(resolutions: Resolutions, confidence: Confidence | None) -> tuple[ResolvedQuery, ...]:
    """Return the resolution of each query, with the probabilities where they are known."""
    listed = []
    for place, one in enumerate(resolutions):
        rows = range(int(resolutions.start[place]), int(resolutions.start[place + 1]))
        p_best = {
            resolutions.docs[resolutions.doc[row]]: round(float(confidence.chance[row]), 4)
            for row in rows
            if confidence is not None
        }
        listed.append(
            ResolvedQuery(
                query_id=one.query_id,
                status=one.status.value,
                winners=one.winners,
                margin=one.margin,
                cycle=one.cycle,
                pool_size=one.pool_size,
                votes=one.votes,
                missing=one.missing,
                p_best=dict(sorted(p_best.items())),
            )
        )
    return tuple(listed)
