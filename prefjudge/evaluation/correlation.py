"""Rank correlation: how far two leaderboards put the same runs in the same order."""

from dataclasses import dataclass

import numpy as np

from prefjudge.errors import InputError
from prefjudge.evaluation.leaderboard import Leaderboard
from prefjudge.evaluation.measures import direction
from prefjudge.evaluation.placings import Floats


@dataclass(frozen=True, slots=True, kw_only=True)
class RankShift:
    """Where one run stands on each of two leaderboards, among the runs that both hold.

    ``shift`` is positive where the run stands higher on the other leaderboard than on the reference.
    """

    run: str
    reference: int
    other: int

    @property
    def shift(self) -> int:
        """How many places the run rises."""
        return self.reference - self.other


@dataclass(frozen=True, slots=True, kw_only=True)
class RankCorrelation:
    """How well two leaderboards agree.

    Attributes
    ----------
    reference, other : str
        The leaderboards: measure and qrels in a phrase.
    measures, qrels : tuple of (str, str)
        The same apart, the reference first.
    runs : int
        How many runs both hold; perfect rankings do not count.
    queries : int
        How many queries the scores are over. Boards over other queries than these say what the queries do
        too: see :func:`prefjudge.evaluation.boards.on_common_queries`.
    tau : float
        Kendall's tau-b, which allows for ties. NaN where one board ties all runs, or there is only one.
    tau_ap : float
        The AP correlation, which weighs the top most. The reference is taken for the truth.
    shifts : tuple of RankShift
        Every run, in the order of the reference.
    """

    reference: str
    other: str
    measures: tuple[str, str]
    qrels: tuple[str, str]
    runs: int
    queries: int
    tau: float
    tau_ap: float
    shifts: tuple[RankShift, ...]


def kendall_tau(x: Floats, y: Floats) -> float:
    """Return Kendall's tau-b of two score vectors; NaN where one of them is constant.

    Parameters
    ----------
    x, y : ndarray of float64, shape (n,)
        Scores of the same things, in the same order.
    """
    dx = np.sign(x[:, None] - x[None, :])
    dy = np.sign(y[:, None] - y[None, :])
    scale = float(np.sqrt(np.abs(dx).sum() * np.abs(dy).sum()))
    return float((dx * dy).sum() / scale) if scale else float("nan")


def tau_ap(truth: Floats, estimate: Floats) -> float:
    """Return the AP correlation of an estimated order with the true one.

    Each thing but the first contributes the share of those above it in the estimate that are truly above it,
    so that errors at the top weigh more. True ties count one half; estimated ties count their mean over all
    orders that break them.

    Parameters
    ----------
    truth, estimate : ndarray of float64, shape (n,)
        Scores, the greater the better.

    Returns
    -------
    float
        1 for the same order, -1 for the opposite, NaN for fewer than two things.

    Notes
    -----
    Yilmaz, Aslam & Robertson, "A new rank correlation coefficient for information retrieval" (SIGIR 2008).
    """
    count = truth.size
    if count < 2:
        return float("nan")
    right = 0.5 * (1 + np.sign(truth[None, :] - truth[:, None]))  # [i, j]: j is truly above i
    above = estimate[None, :] > estimate[:, None]
    beside = (estimate[None, :] == estimate[:, None]) & ~np.eye(count, dtype=bool)
    total = 0.0
    for item in range(count):
        known, mates = int(above[item].sum()), int(beside[item].sum())
        correct = right[item, above[item]].sum()
        per_mate = right[item, beside[item]].mean() if mates else 0.0
        drawn = np.arange(mates + 1)  # how many of its equals stand above it: each number is as likely
        seen = known + drawn
        shares = np.divide(correct + drawn * per_mate, seen, out=np.zeros(mates + 1), where=seen > 0)
        total += shares.mean()
    return float(2 * total / (count - 1) - 1)


def correlate(reference: Leaderboard, other: Leaderboard) -> RankCorrelation:
    """Compare the order of the runs that two leaderboards share.

    Raises
    ------
    InputError
        Where they share no run.
    """
    first, second = ({row.run: row.score for row in board.ranked} for board in (reference, other))
    runs = [run for run in first if run in second]
    if not runs:
        raise InputError(f"the leaderboards {_name(reference)} and {_name(other)} share no run")
    x = direction(reference.measure) * np.array([first[run] for run in runs])
    y = direction(other.measure) * np.array([second[run] for run in runs])
    places = [(np.searchsorted(np.sort(-scores), -scores) + 1).tolist() for scores in (x, y)]
    return RankCorrelation(
        reference=_name(reference),
        other=_name(other),
        measures=(reference.measure, other.measure),
        qrels=(reference.qrels, other.qrels),
        runs=len(runs),
        queries=min(reference.queries, other.queries),
        tau=kendall_tau(x, y),
        tau_ap=tau_ap(x, y),
        shifts=tuple(
            RankShift(run=run, reference=before, other=after)
            for run, before, after in zip(runs, *places, strict=True)
        ),
    )


def _name(board: Leaderboard) -> str:
    return f"{board.measure} {board.qrels}"
