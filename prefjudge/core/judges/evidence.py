"""Evidence: what a worker's judgments show about how the worker works, apart from the gold pairs.

It is there to be looked at. None of it is a reason to refuse pay: each sign also turns up by chance, or in
honest work on unusual pairs.
"""

from dataclasses import dataclass, replace

import numpy as np
import scipy
from numpy.typing import NDArray

from prefjudge.core.judges.judgments import Judgments
from prefjudge.core.judges.reliability import majority_agreement, share, side_bias
from prefjudge.core.judges.verdicts import Floats, Index, gather_verdicts

FASTEST = 10.0
"""Words a second beyond which nobody reads; people read about four (Brysbaert, 2019)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What the judgments show, in columns of shape (n_workers,).

    Attributes
    ----------
    workers : tuple of str
        The workers. Judgments without a worker id are evidence about nobody.
    judged : ndarray of int64
        The judgments.
    left, decided : ndarray of int64
        The judgments for the left, and all that are not ties.
    side_p : ndarray of float64
        The two-sided exact binomial probability of sides at least as uneven, if sides did not matter.
    longest_run : ndarray of int64
        The most judgments in a row for the same side; a tie ends a row.
    run_p : ndarray of float64
        The probability of so long a row in as many judgments, if each side were as likely.
    seconds : ndarray of float64
        The median visible time of a comparison; NaN where no time is known.
    timed, hurried : ndarray of int64
        The judgments whose time and length are known, and those made faster than anybody reads.
    repeated, consistent : ndarray of int64
        The pairs that came back with their sides swapped, and those in which the same passage was preferred.
    compared, agreed : ndarray of float64
        The judgments of pairs on which the others have a majority, and those that agree with it; a tie agrees
        by half.
    gold_right, gold_missed : ndarray of int64
        The gold pairs.
    gold_low, gold_high : ndarray of float64
        The 95 % interval of the share of gold pairs answered right, from a uniform prior.
    """

    workers: tuple[str, ...]
    judged: Index
    left: Index
    decided: Index
    side_p: Floats
    longest_run: Index
    run_p: Floats
    seconds: Floats
    timed: Index
    hurried: Index
    repeated: Index
    consistent: Index
    compared: Floats
    agreed: Floats
    gold_right: Index
    gold_missed: Index
    gold_low: Floats
    gold_high: Floats

    @property
    def left_rate(self) -> Floats:
        """The share for the left, shape (n_workers,); NaN without any."""
        return share(self.left, self.decided)


def without_sides(evidence: Evidence) -> Evidence:
    """Return it without what rests on sides, for judgments that do not tell them."""
    nothing, unknown = np.zeros_like(evidence.left), np.full(evidence.left.size, np.nan)
    return replace(
        evidence, left=nothing, decided=nothing, side_p=unknown, longest_run=nothing, run_p=unknown
    )


def gather_evidence(
    judgments: Judgments,
    *,
    milliseconds: NDArray[np.int64] | None = None,
    words: NDArray[np.int64] | None = None,
    gold_right: NDArray[np.int64] | None = None,
    gold_missed: NDArray[np.int64] | None = None,
    fastest: float = FASTEST,
) -> Evidence:
    """Gather the evidence about each worker.

    Parameters
    ----------
    judgments : Judgments
        The judgments, each worker's in the order in which they were made, with the sides as shown.
    milliseconds : ndarray of int64, shape (n,), optional
        How long each comparison was visible; 0 where that is not known.
    words : ndarray of int64, shape (n,), optional
        How many words the query and both passages have.
    gold_right, gold_missed : ndarray of int64, shape (n_workers,), optional
        The gold pairs that each worker got right, and missed.
    fastest : float
        The words a second beyond which nobody reads.

    References
    ----------
    M. Brysbaert: How many words do we read per minute? (Journal of Memory and Language, 2019).
    """
    n = len(judgments.workers)
    nobody = np.zeros(n, dtype=np.int64)
    right = nobody if gold_right is None else gold_right
    missed = nobody if gold_missed is None else gold_missed
    sides, agreement = side_bias(judgments), majority_agreement(judgments)
    longest, run_p = _runs(judgments)
    seconds, timed, hurried = _times(judgments, milliseconds, words, fastest)
    repeated, consistent = _repeats(judgments)
    low, high = share_interval(right, missed)
    return Evidence(
        workers=judgments.workers,
        judged=np.bincount(judgments.worker[judgments.worker >= 0], minlength=n),
        left=sides.left[:n],
        decided=sides.decided[:n],
        side_p=sides.p_value[:n],
        longest_run=longest,
        run_p=run_p,
        seconds=seconds,
        timed=timed,
        hurried=hurried,
        repeated=repeated,
        consistent=consistent,
        compared=agreement.compared,
        agreed=agreement.agreed,
        gold_right=right,
        gold_missed=missed,
        gold_low=low,
        gold_high=high,
    )


def share_interval(
    yes: NDArray[np.int64] | Floats, no: NDArray[np.int64] | Floats, confidence: float = 0.95
) -> tuple[Floats, Floats]:
    """Return the central interval of a share, by its Beta posterior from a uniform prior."""
    tail = (1.0 - confidence) / 2
    a, b = np.asarray(yes, dtype=np.float64) + 1, np.asarray(no, dtype=np.float64) + 1
    low, high = (np.asarray(scipy.special.betaincinv(a, b, p), dtype=np.float64) for p in (tail, 1.0 - tail))
    return low, high


def run_chance(length: int, count: int) -> float:
    """Return the probability of a row of at least ``length`` equal sides in ``count`` throws of a coin.

    A row of ``length`` equal throws is a row of ``length - 1`` throws that each repeat the one before. The
    chance to see none follows from the position at which the first such row would end.
    """
    # none[t]: the chance of no such row in t throws.
    row, throws = length - 1, count - 1
    if throws < row:
        return 0.0
    if row <= 0:
        return 1.0
    none = np.ones(throws + 1)
    none[row] = 1.0 - 0.5**row
    for end in range(row + 1, throws + 1):
        # The first row ends here where ``row`` repeats follow
        # one change, and none was complete before that change.
        none[end] = none[end - 1] - 0.5 ** (row + 1) * none[end - row - 1]
    return float(1.0 - none[throws])


def _runs(judgments: Judgments) -> tuple[Index, Floats]:
    """Return each worker's longest row of one side, and its chance."""
    n = len(judgments.workers)
    rows = np.flatnonzero(judgments.worker >= 0)
    # Stable, so that each worker's judgments stay in the order in which they were made.
    rows = rows[np.argsort(judgments.worker[rows], kind="stable")]
    worker, choice = judgments.worker[rows], judgments.choice[rows]
    begins = np.ones(rows.size, dtype=bool)
    # A tie is a stretch of its own, whose length does not count.
    begins[1:] = (worker[1:] != worker[:-1]) | (choice[1:] != choice[:-1]) | (choice[1:] == 0)
    starts = np.flatnonzero(begins)
    lengths = np.diff(np.append(starts, rows.size))
    lengths[choice[starts] == 0] = 0
    longest = np.zeros(n, dtype=np.int64)
    np.maximum.at(longest, worker[starts], lengths)
    decided = np.bincount(worker[choice != 0], minlength=n)
    pairs = zip(longest.tolist(), decided.tolist(), strict=True)
    return longest, np.array([run_chance(run, count) for run, count in pairs], dtype=np.float64)


def _times(
    judgments: Judgments,
    milliseconds: NDArray[np.int64] | None,
    words: NDArray[np.int64] | None,
    fastest: float,
) -> tuple[Floats, Index, Index]:
    """Return each worker's median time in seconds, the judgments timed, and those made too fast to read."""
    n = len(judgments.workers)
    seconds, timed, hurried = np.full(n, np.nan), np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int64)
    if milliseconds is None:
        return seconds, timed, hurried
    rows = np.flatnonzero((judgments.worker >= 0) & (milliseconds > 0))
    rows = rows[np.lexsort((milliseconds[rows], judgments.worker[rows]))]
    worker, took = judgments.worker[rows], milliseconds[rows] / 1000
    count = np.bincount(worker, minlength=n)
    some, first = count > 0, np.cumsum(count) - count
    # Both middle times where the count is even, twice the same where it is odd.
    middle = (took[(first + (count - 1) // 2)[some]] + took[(first + count // 2)[some]]) / 2
    seconds[some] = middle
    if words is None:
        return seconds, timed, hurried
    fast = words[rows] > fastest * took
    return seconds, count, np.bincount(worker[fast], minlength=n)


def _repeats(judgments: Judgments) -> tuple[Index, Index]:
    """Count the pairs that came back to the same worker with swapped sides, and those judged the same."""
    n = len(judgments.workers)
    verdicts = gather_verdicts(judgments)
    rows = np.flatnonzero((judgments.worker >= 0) & (judgments.choice != 0))
    # By worker, pair and time: a pair's judgments by one worker are contiguous, in the order they were made.
    rows = rows[np.lexsort((rows, verdicts.pair[rows], judgments.worker[rows]))]
    worker, pair = judgments.worker[rows], verdicts.pair[rows]
    again = (worker[1:] == worker[:-1]) & (pair[1:] == pair[:-1])
    again &= verdicts.a_left[rows][1:] != verdicts.a_left[rows][:-1]
    same = again & (verdicts.choice[rows][1:] == verdicts.choice[rows][:-1])
    return np.bincount(worker[1:][again], minlength=n), np.bincount(worker[1:][same], minlength=n)
