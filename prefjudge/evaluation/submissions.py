"""Submissions: the entries of a leaderboard."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date

import numpy as np

from prefjudge.evaluation.correlation import kendall_tau

BASELINE = "🏛"
RECORD = "🏆"
TYPES = ("full ranking", "reranking")


@dataclass(frozen=True, slots=True, kw_only=True)
class Submission:
    """One entry of a leaderboard.

    Attributes
    ----------
    line : int
        Where the file has it.
    submission_id : str
        Empty where the leaderboard gives none.
    date : datetime.date
    team, description, type : str
        As the leaderboard has them.
    public, held_out : float or None
        The scores on the queries with published labels (dev) and on the held-out ones (eval).
    baseline : bool
        Whether the organisers entered it: rules do not bind it.
    record : bool
        Whether the leaderboard marks it as the best of its day.
    """

    line: int
    submission_id: str
    date: date
    team: str
    description: str
    type: str
    public: float | None
    held_out: float | None
    baseline: bool = False
    record: bool = False

    @property
    def name(self) -> str:
        """The id, or the date and the line where there is none."""
        return self.submission_id or f"{self.date:%Y%m%d} (line {self.line})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """Where a submission stands by its public and by its held-out score, among those that have both."""

    submission: str
    team: str
    public: float
    held_out: float
    public_rank: int
    held_out_rank: int

    @property
    def shift(self) -> int:
        """How many places it rises from the public to the held-out queries."""
        return self.public_rank - self.held_out_rank


def compare_scores(
    entries: Sequence[Submission], team_of: Mapping[str, str]
) -> tuple[tuple[Standing, ...], float]:
    """Rank the submissions by both scores, and return Kendall's tau between them (NaN for fewer than two)."""
    both = [
        (entry, entry.public, entry.held_out)
        for entry in entries
        if entry.public is not None and entry.held_out is not None
    ]
    public = np.array([score for _, score, _ in both])
    held_out = np.array([score for _, _, score in both])
    rows = [
        Standing(
            submission=entry.name,
            team=team_of[entry.name],
            public=one,
            held_out=other,
            public_rank=int((public > one).sum()) + 1,
            held_out_rank=int((held_out > other).sum()) + 1,
        )
        for entry, one, other in both
    ]
    tau = kendall_tau(public, held_out) if len(both) > 1 else float("nan")
    return tuple(sorted(rows, key=lambda row: (row.held_out_rank, row.public_rank, row.submission))), tau


def record_holders(entries: Sequence[Submission]) -> list[Submission]:
    """Return the entries that beat everything before them; the organisers' baselines count but hold none."""
    best, records = float("-inf"), []
    for entry in entries:
        if entry.held_out is not None and entry.held_out > best:
            best = entry.held_out
            if not entry.baseline:
                records.append(entry)
    return records
