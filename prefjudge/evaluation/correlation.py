"""Rank correlation: how far two leaderboards put the same runs in the same order."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from prefjudge.errors import InputError
from prefjudge.evaluation.boards import Leaderboard
from prefjudge.evaluation.measures.measures import direction
from prefjudge.evaluation.measures.placings import Floats


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


Over = Literal["boards as printed", "common queries"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TwoVotings:
    """How well two leaderboards agree that rest on independent votes of one kind: only the votes differ.

    This is no ceiling: both are noisy. Labels that are nearer the truth agree better with one voting.
    """

    value: float
    """The mean of Kendall's tau over pairs of leaderboards; NaN where none orders any runs."""
    low: float
    high: float
    """The middle ``confidence`` of the taus."""
    truth: float = float("nan")
    truth_low: float = float("nan")
    truth_high: float = float("nan")
    """The same of a board of the truth and the board of the votes that were cast, over what may be true by
    the posterior of P(best): what knows nothing of these votes cannot be expected to agree better with them.
    NaN by sets of judgments."""
    by: Literal["redrawn votes", "sets of judgments"]
    """What the pairs of leaderboards rest on: votes drawn from a model of those cast, or votes cast twice."""
    pairs: int
    """How many pairs of leaderboards were compared."""
    confidence: float
    rests_on: Literal["votes", "prior"] = "votes"
    """``prior`` where the votes do not tell how many of them are wrong, so that it rests on what crowds
    usually show."""

    @property
    def doubts(self) -> tuple[str, ...]:
        """What to bear in mind, a sentence each."""
        if self.rests_on == "votes":
            return ()
        return (
            "These votes do not tell how many of them are wrong, so this rests on what crowds usually show.",
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Tau:
    """How well two orders of the runs agree."""

    queries: tuple[int, int]
    """How many queries each is over, the reference first."""
    tau: float
    """Kendall's tau-b, which allows for ties. NaN where one board ties all runs, or there is only one."""
    tau_ap: float
    """The AP correlation, which weighs the top most. The reference is taken for the truth."""
    two_votings: TwoVotings | None = None
    """How well two boards agree that rest on independent votes, where one of these rests on votes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RankCorrelation:
    """How well two leaderboards agree."""

    reference: str
    other: str
    """The leaderboards: measure and qrels in a phrase."""
    measures: tuple[str, str]
    qrels: tuple[str, str]
    """The same apart, the reference first."""
    runs: int
    """How many runs both hold; perfect rankings do not count."""
    queries: int
    """How many queries both boards are over."""
    over: Over
    """What ``tau``, ``tau_ap`` and ``shifts`` compare. Boards over the same queries, or one over some of the
    other's, as they stand: what the queries left out do to the order is then part of the answer. Boards of
    which each has queries that the other lacks, over the common ones."""
    shifts: tuple[RankShift, ...]
    """Every run, in the order of the reference."""
    printed: Tau
    common: Tau
    """Between the boards as printed, and between those over the queries that both have. Where the queries
    differ, the former says what labels and queries do together, and the latter what the labels do."""

    @property
    def two_votings(self) -> TwoVotings | None:
        """How well two votings agree on what is compared."""
        return self.compared.two_votings

    @property
    def same_queries(self) -> bool:
        """Whether both boards are over the same queries."""
        return self.printed.queries == self.common.queries

    @property
    def compared(self) -> Tau:
        """What ``over`` names."""
        return self.common if self.over == "common queries" else self.printed

    @property
    def tau(self) -> float:
        """Kendall's tau-b of what is compared."""
        return self.compared.tau

    @property
    def tau_ap(self) -> float:
        """The AP correlation of what is compared."""
        return self.compared.tau_ap


def kendall_tau(x: Floats, y: Floats) -> float:
    """Return Kendall's tau-b of two score vectors; NaN where one of them is constant."""
    dx = np.sign(x[:, None] - x[None, :])
    dy = np.sign(y[:, None] - y[None, :])
    # Each pair is counted twice above and below the line, which
    # cancels. Pairs that tie on one side leave its factor.
    scale = float(np.sqrt(np.abs(dx).sum() * np.abs(dy).sum()))
    return float((dx * dy).sum() / scale) if scale else float("nan")


def tau_ap(truth: Floats, estimate: Floats) -> float:
    """Return the AP correlation of an estimated order with the true one, by scores: greater is better."""
    # Each thing but the first contributes the share of those above it in the estimate that are truly above
    # it, so that errors at the top weigh more. Ties that both have are agreement; other true ties count one
    # half, and other estimated ties their mean over all orders that break them. It is 1 for the same order
    # with the same ties, -1 for the opposite without ties, NaN for fewer than two things.
    # Yilmaz, Aslam & Robertson, "A new rank correlation coefficient for information retrieval" (SIGIR 2008).
    # Where the truth has no ties, this is the tau_AP,a of Urbano & Marrero, "The treatment of ties in AP
    # correlation" (ICTIR 2017), for how right an estimate is. Theirs for two observers who may both have
    # ties, tau_AP,b, takes neither for the truth, so that it is another coefficient where there are no ties,
    # too.
    count = truth.size
    if count < 2:
        return float("nan")
    right = 0.5 * (1 + np.sign(truth[None, :] - truth[:, None]))  # [i, j]: j is truly above i
    above = estimate[None, :] > estimate[:, None]
    beside = (estimate[None, :] == estimate[:, None]) & ~np.eye(count, dtype=bool)
    right[beside & (truth[None, :] == truth[:, None])] = 1.0
    total = 0.0
    for item in range(count):
        known, mates = int(above[item].sum()), int(beside[item].sum())
        correct = right[item, above[item]].sum()
        per_mate = right[item, beside[item]].mean() if mates else 0.0
        drawn = np.arange(mates + 1)  # how many of its equals stand above it: each number is as likely
        seen = known + drawn
        shares = np.divide(correct + drawn * per_mate, seen, out=np.zeros(mates + 1), where=seen > 0)
        total += shares.mean()
    # Without ties the first of the order adds 0, so the mean is over the others.
    return float(2 * total / (count - 1) - 1)


def correlate(
    reference: Leaderboard, other: Leaderboard, *, common: tuple[Leaderboard, Leaderboard] | None = None
) -> RankCorrelation:
    """Compare the order of the runs that two leaderboards share."""
    shared = common or (reference, other)
    queries = min(board.queries for board in shared)
    nested = queries == min(reference.queries, other.queries)
    runs, x, y = _shared_runs(*((reference, other) if nested else shared))
    # Standard competition ranks: one more than the scores that are better.
    places = [(np.searchsorted(np.sort(-scores), -scores) + 1).tolist() for scores in (x, y)]
    return RankCorrelation(
        reference=_name(reference),
        other=_name(other),
        measures=(reference.measure, other.measure),
        qrels=(reference.qrels, other.qrels),
        runs=len(runs),
        queries=queries,
        over="boards as printed" if nested else "common queries",
        shifts=tuple(
            RankShift(run=run, reference=before, other=after)
            for run, before, after in zip(runs, *places, strict=True)
        ),
        printed=_taus(reference, other),
        common=_taus(*shared),
    )


def _taus(reference: Leaderboard, other: Leaderboard) -> Tau:
    _, x, y = _shared_runs(reference, other)
    queries = (reference.queries, other.queries)
    return Tau(queries=queries, tau=kendall_tau(x, y), tau_ap=tau_ap(x, y))


def _shared_runs(reference: Leaderboard, other: Leaderboard) -> tuple[list[str], Floats, Floats]:
    """Return the runs that two boards share, and their scores on both, the greater the better."""
    first, second = ({row.run: row.score for row in board.ranked} for board in (reference, other))
    runs = [run for run in first if run in second]
    if not runs:
        raise InputError(f"the leaderboards {_name(reference)} and {_name(other)} have no run in common")
    x = direction(reference.measure) * np.array([first[run] for run in runs])
    y = direction(other.measure) * np.array([second[run] for run in runs])
    return runs, x, y


def _name(board: Leaderboard) -> str:
    return f"{board.measure} {board.qrels}"
