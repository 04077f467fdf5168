"""Reliability: how far judges agree, with each other and with themselves on either side of the screen."""

from dataclasses import dataclass

import numpy as np
import scipy

from prefjudge.core.judges.judgments import Judgments
from prefjudge.core.judges.verdicts import Floats, Index, gather_verdicts


def share(part: Floats | Index, whole: Floats | Index) -> Floats:
    """Return ``part / whole``; NaN where the whole is 0."""
    found = np.full(whole.shape, np.nan)
    np.divide(part, whole, out=found, where=whole > 0)
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerAgreement:
    """How often each worker agrees with the majority of the others who judged the same pair.

    Attributes
    ----------
    workers : tuple of str
        The workers.
    compared, agreed : ndarray of float64, shape (n_workers,)
        Judgments of pairs on which the others have a majority, and those that agree with it. A tie agrees by
        half.
    """

    workers: tuple[str, ...]
    compared: Floats
    agreed: Floats

    @property
    def rate(self) -> Floats:
        """The share that agrees, shape (n_workers,); NaN without anything to compare."""
        return share(self.agreed, self.compared)


def majority_agreement(judgments: Judgments) -> WorkerAgreement:
    """Compare each judgment with the majority of the other judgments of its pair.

    Judgments without a worker id count as others only.
    """
    verdicts = gather_verdicts(judgments)
    lead = np.bincount(verdicts.pair, weights=verdicts.choice, minlength=verdicts.n_pairs)
    # The lead less one's own vote: agreeing with a majority that one made oneself proves nothing.
    others = np.sign(lead[verdicts.pair] - verdicts.choice)
    rows = (others != 0) & (judgments.worker >= 0)
    agreed = 0.5 + 0.5 * others[rows] * verdicts.choice[rows]
    n = len(judgments.workers)
    return WorkerAgreement(
        workers=judgments.workers,
        compared=np.bincount(judgments.worker[rows], minlength=n).astype(np.float64),
        agreed=np.bincount(judgments.worker[rows], weights=agreed, minlength=n).astype(np.float64),
    )


def krippendorff_alpha(judgments: Judgments) -> float:
    """Return Krippendorff's alpha of the judgments, with nominal values.

    A unit is a pair; its values are the first document by doc_id, the second, and a tie. Pairs with a single
    judgment do not count.

    Returns
    -------
    float
        1 for perfect agreement, 0 for chance; NaN where no pair has two judgments, or all values are equal.

    References
    ----------
    K. Krippendorff: Computing Krippendorff's alpha-reliability (2011).
    """
    verdicts = gather_verdicts(judgments)
    table = np.zeros((verdicts.n_pairs, 3))
    np.add.at(table, (verdicts.pair, verdicts.choice + 1), 1.0)
    judged = table.sum(axis=1)
    table, judged = table[judged > 1], judged[judged > 1]
    values = table.sum(axis=0)
    total = values.sum()
    if not total:
        return float("nan")
    # Ordered pairs of unequal values in each unit, over judged - 1 as in Krippendorff's coincidence matrix.
    observed = ((judged**2 - (table**2).sum(axis=1)) / (judged - 1)).sum() / total
    expected = (total**2 - (values**2).sum()) / (total * (total - 1))
    return float(1.0 - observed / expected) if expected else float("nan")


@dataclass(frozen=True, slots=True, kw_only=True)
class SideBias:
    """How often each worker preferred the left, and how surprising that is.

    Attributes
    ----------
    workers : tuple of str
        The workers; the last entry of the columns is all judgments together.
    left, decided : ndarray of int64, shape (n_workers + 1,)
        Judgments for the left, and all that are not ties.
    p_value : ndarray of float64, shape (n_workers + 1,)
        The two-sided exact binomial probability of a split at least as uneven, if sides did not matter.
    """

    workers: tuple[str, ...]
    left: Index
    decided: Index
    p_value: Floats

    @property
    def left_rate(self) -> Floats:
        """The share for the left, shape (n_workers + 1,); NaN without judgments."""
        return share(self.left, self.decided)


def side_bias(judgments: Judgments) -> SideBias:
    """Test whether each worker, and all together, prefer a side of the screen.

    The sides must have been drawn at random for each assignment, and the log must keep the side shown.
    """
    n = len(judgments.workers)
    rows = (judgments.choice != 0) & (judgments.worker >= 0)
    won = judgments.choice > 0
    decided = np.append(np.bincount(judgments.worker[rows], minlength=n), np.count_nonzero(judgments.choice))
    left = np.append(np.bincount(judgments.worker[rows & won], minlength=n), np.count_nonzero(won))
    fewer = np.minimum(left, decided - left)
    # Twice the lower tail: at chance 1/2 the binomial distribution is symmetric.
    p_value = np.where(
        decided > 0, np.minimum(1.0, 2.0 * scipy.special.bdtr(fewer.astype(np.float64), decided, 0.5)), 1.0
    )
    return SideBias(workers=judgments.workers, left=left, decided=decided, p_value=p_value)
