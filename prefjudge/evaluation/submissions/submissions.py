"""Submissions: the entries of a leaderboard.

*Public*, *held-out* and *private* mean what they do in Craswell et al. (SIGIR 2021, section 3): the public
queries are those that the leaderboard's scores are of; held-out or private ones are answered by every run
too, and not scored there. A leaderboard's file has none of these words: its ``eval`` score is the one on the
public queries, whose labels no participant has, and ``dev`` the one on other queries, whose labels all have.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

import numpy as np

from prefjudge.evaluation.leaderboards.correlation import kendall_tau

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
    dev, eval : float or None
        The scores on the queries with published labels, and on the public leaderboard's, which has the order.
    baseline : bool
        Whether the organisers entered it: rules do not bind it.
    record : bool
        Whether the leaderboard marks it as the best of its day.
    paper, code : str
        Where they are to be read.
    """

    line: int
    submission_id: str
    date: date
    team: str
    description: str
    type: str
    dev: float | None
    eval: float | None
    baseline: bool = False
    record: bool = False
    paper: str = ""
    code: str = ""

    @property
    def name(self) -> str:
        """The id, or the date and the line where there is none."""
        return self.submission_id or f"{self.date:%Y%m%d} (line {self.line})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """Where a submission stands by its dev and by its eval score, among those that have both.

    The team is empty where it is not known.
    """

    submission: str
    team: str
    dev: float
    eval: float
    dev_rank: int
    eval_rank: int

    @property
    def shift(self) -> int:
        """How many places it rises from the dev to the eval queries."""
        return self.dev_rank - self.eval_rank


def compare_scores(entries: Sequence[Submission], teams: Sequence[str]) -> tuple[tuple[Standing, ...], float]:
    """Rank the submissions by both scores, and return Kendall's tau between them (NaN for fewer than two).

    ``teams`` has the team of each entry.
    """
    both = [
        (entry, team, entry.dev, entry.eval)
        for entry, team in zip(entries, teams, strict=True)
        if entry.dev is not None and entry.eval is not None
    ]
    dev = np.array([score for _, _, score, _ in both])
    official = np.array([score for _, _, _, score in both])
    rows = [
        Standing(
            submission=entry.name,
            team=team,
            dev=one,
            eval=other,
            dev_rank=int((dev > one).sum()) + 1,
            eval_rank=int((official > other).sum()) + 1,
        )
        for entry, team, one, other in both
    ]
    tau = kendall_tau(dev, official) if len(both) > 1 else float("nan")
    return tuple(sorted(rows, key=lambda row: (row.eval_rank, row.dev_rank, row.submission))), tau


def record_holders(entries: Sequence[Submission]) -> list[Submission]:
    """Return the entries that beat everything before them, and are the best of their day.

    The organisers' baselines count but hold none. Of equals of a day the first has it.
    """
    best, records = float("-inf"), []
    for score, entry in sorted(
        ((entry.eval, entry) for entry in entries if entry.eval is not None),
        key=lambda one: (one[1].date, -one[0]),
    ):
        if score > best:
            best = score
            if not entry.baseline:
                records.append(entry)
    return records
