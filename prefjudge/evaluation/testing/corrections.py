"""Corrections for testing many pairs at once, and the resamples that they need."""

import math
from enum import StrEnum

import numpy as np

from prefjudge.counts import many
from prefjudge.errors import InputError
from prefjudge.evaluation.testing.integer_scores import Column


class Correction(StrEnum):
    """How p-values of several pairs are adjusted."""

    NONE = "none"
    BONFERRONI = "bonferroni"
    """Multiply by the number of pairs: bounds the chance of any false claim."""
    HOLM = "holm"
    """Bonferroni step by step: the same promise, never weaker."""
    BH = "bh"
    """Benjamini-Hochberg: bounds the expected share of false claims among the claims."""
    TUKEY = "tukey"
    """Randomised Tukey HSD: each pair against the largest difference that chance makes among all runs."""


def adjust(p: Column, correction: Correction) -> Column:
    """Adjust the p-values of a family of tests.

    Parameters
    ----------
    p : ndarray of float64, shape (pairs,)
    correction : Correction
        ``TUKEY`` leaves them alone: its p-values come from the resamples, already adjusted.

    Returns
    -------
    ndarray of float64, shape (pairs,)
        At most 1; a pair is significant where its value is at most alpha.
    """
    m = p.size
    if m == 0 or correction in (Correction.NONE, Correction.TUKEY):
        return p.copy()
    if correction is Correction.BONFERRONI:
        return np.minimum(p * m, 1.0)
    order = np.argsort(p, kind="stable")
    step = np.arange(1, m + 1)
    adjusted = np.empty(m)
    if correction is Correction.HOLM:
        # Holm (1979). The running maximum: no pair may pass where one with a smaller p did not.
        adjusted[order] = np.maximum.accumulate(p[order] * (m - step + 1))
    else:
        # Benjamini and Hochberg (1995) step up: a pair passes where any with a greater p does.
        adjusted[order] = np.minimum.accumulate((p[order] * (m / step))[::-1])[::-1]
    return np.minimum(adjusted, 1.0)


def resamples_needed(pairs: int, alpha: float, correction: Correction) -> int:
    """Return the least number of resamples with which any pair can be significant.

    The smallest p-value of B resamples is 1 / (B + 1). Bonferroni and Holm multiply the smallest one by the
    number of pairs, so with 10,000 resamples and 1,953 pairs nothing could ever be significant at 0.05.
    """
    family = pairs if correction in (Correction.BONFERRONI, Correction.HOLM) else 1
    # 1 / (B + 1) x family <= alpha, solved for B; 1e-9 is
    # for an alpha such as 0.05, which is not 1/20 exactly.
    return max(1, math.ceil(family / alpha - 1 - 1e-9))


def check_resamples(resamples: int, pairs: int, alpha: float, correction: Correction) -> None:
    """Refuse a number of resamples with which no pair could be significant.

    Raises
    ------
    InputError
        Names the number that is needed.
    """
    if resamples < 1:
        raise InputError(f"{many(resamples, 'resample')}: nothing would be drawn", "Give 1 or more.")
    needed = resamples_needed(pairs, alpha, correction)
    if resamples < needed:
        raise InputError(
            f"{many(resamples, 'resample')} cannot show significance at {alpha:g} for {many(pairs, 'pair')} "
            f"after {correction.value}: the smallest adjusted p-value they can give is "
            f"{min(1.0, needed * alpha / (resamples + 1)):.3g}",
            f"Use at least {many(needed, 'resample')}, or a test that needs none (t), or the tukey "
            f"correction.",
        )
