"""Flags: what stands out in the evidence about workers, in plain words.

A sign asks a person to look. It is not a reason to refuse pay.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
import scipy

from prefjudge.core.judges.evidence import Evidence
from prefjudge.core.judges.verdicts import Floats
from prefjudge.counts import many


class SignKind(StrEnum):
    """What a sign is about."""

    SIDE = "side"
    RUN = "run"
    TIME = "time"
    CONSISTENCY = "consistency"
    AGREEMENT = "agreement"
    GOLD = "gold"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sign:
    """Something about a worker that stands out.

    Attributes
    ----------
    worker : str
        The worker.
    kind : SignKind
        What it is about.
    text : str
        What was seen, and how surprising it is.
    """

    worker: str
    kind: SignKind
    text: str


def find_signs(evidence: Evidence, *, level: float = 0.01, accuracy: float = 0.9) -> tuple[Sign, ...]:
    """Say what stands out about each worker.

    Parameters
    ----------
    evidence : Evidence
        What the judgments show.
    level : float
        The chance, over all workers together, at which an even split, a row of one side or a low agreement
        stands out (Bonferroni: each worker is held to ``level / n_workers``).
    accuracy : float
        The share of gold pairs that an acceptable worker gets right. Gold stands out where the whole 95 %
        interval is below it.

    Returns
    -------
    tuple of Sign
        By worker, and for each in the order of :class:`SignKind`.
    """
    each = level / max(len(evidence.workers), 1)
    agreement_p = _below_the_others(evidence.agreed, evidence.compared)
    consistency_p = _below_the_others(
        evidence.consistent.astype(np.float64), evidence.repeated.astype(np.float64)
    )
    found: list[Sign] = []
    for row, worker in enumerate(evidence.workers):
        found += [
            Sign(worker=worker, kind=kind, text=text)
            for kind, text in _signs(evidence, row, each, accuracy, consistency_p[row], agreement_p[row])
        ]
    return tuple(found)


def _signs(
    evidence: Evidence, row: int, level: float, accuracy: float, consistency_p: float, agreement_p: float
) -> Iterator[tuple[SignKind, str]]:
    if evidence.side_p[row] < level:
        left, decided = evidence.left[row], evidence.decided[row]
        yield (
            SignKind.SIDE,
            f"chose the left passage in {left} of {many(decided, 'comparison')} "
            f"({_chance(evidence.side_p[row])})",
        )
    if evidence.run_p[row] < level:
        run = evidence.longest_run[row]
        yield SignKind.RUN, f"chose the same side {run} times in a row ({_chance(evidence.run_p[row])})"
    if 2 * evidence.hurried[row] > evidence.timed[row]:
        yield (
            SignKind.TIME,
            f"made {evidence.hurried[row]} of {evidence.timed[row]} choices faster than anybody reads",
        )
    if consistency_p < level:
        yield (
            SignKind.CONSISTENCY,
            f"chose the same passage in {evidence.consistent[row]} of {evidence.repeated[row]} pairs that "
            f"came back with their sides swapped ({_chance(consistency_p)} if like the others)",
        )
    if agreement_p < level:
        share = evidence.agreed[row] / evidence.compared[row]
        yield (
            SignKind.AGREEMENT,
            f"agrees with the majority of the others in {share:.0%} of {evidence.compared[row]:.0f} "
            f"comparisons ({_chance(agreement_p)} if like the others)",
        )
    if evidence.gold_high[row] < accuracy:
        right = evidence.gold_right[row]
        yield (
            SignKind.GOLD,
            f"got {right} of {many(right + evidence.gold_missed[row], 'gold pair')} right "
            f"(95 % interval: {evidence.gold_low[row]:.0%} to {evidence.gold_high[row]:.0%})",
        )


def _below_the_others(yes: Floats, asked: Floats) -> Floats:
    """Return the binomial chance of so few, if the worker's rate were that of all others together."""
    others = np.maximum(asked.sum() - asked, 1.0)
    rate = np.clip((yes.sum() - yes) / others, 0.0, 1.0)
    known = (asked > 0) & (asked.sum() > asked)
    return np.where(known, scipy.special.bdtr(np.floor(yes), asked.astype(np.int64), rate), 1.0)


def _chance(p: float) -> str:
    return "chance below 1 in a million" if p < 1e-6 else f"chance 1 in {1 / p:,.0f}"
