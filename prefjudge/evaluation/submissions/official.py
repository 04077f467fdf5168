"""Runs beside their places on an official leaderboard (shallow pooling, Table 3 and Figure 5)."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import nan

import numpy as np

from prefjudge.evaluation.leaderboards.correlation import kendall_tau
from prefjudge.evaluation.leaderboards.leaderboard import Leaderboard
from prefjudge.evaluation.submissions.submissions import Submission


@dataclass(frozen=True, slots=True, kw_only=True)
class OfficialRow:
    """One run on the official leaderboard and under each label set.

    Attributes
    ----------
    run : str
        The run tag, or what the perfect ranking is called.
    rank : int or None
        Its place among all entries of the leaderboard; None where it has none.
    evaluation : float or None
        The leaderboard's own score, on queries whose labels no participant has.
    all_queries, selected, preference : float
        The score under the original qrels on all their queries, under them on those with preference qrels,
        and under the preference qrels; NaN where there is none.
    reference : str
        The entry: its description and its team.
    perfect : bool
        Whether it is the perfect ranking under the original qrels.
    """

    run: str
    rank: int | None
    evaluation: float | None
    all_queries: float
    selected: float
    preference: float
    reference: str = ""
    perfect: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class OfficialBoard:
    """Table 3: the perfect ranking, then the runs in the official order.

    Attributes
    ----------
    measure : str
        What the scores are, but for the leaderboard's own.
    original, preference : str
        The label sets; ``preference`` is empty where there is none.
    queries, selected : int
        How many queries the original qrels judge, and how many of them were selected.
    rows : tuple of OfficialRow
        Runs that the leaderboard does not list stand last.
    tau : float
        Kendall's tau between the leaderboard's scores and those on the selected queries (Figure 5); NaN for
        fewer than two listed runs.
    """

    measure: str
    original: str
    preference: str
    queries: int
    selected: int
    rows: tuple[OfficialRow, ...]
    tau: float

    @property
    def listed(self) -> tuple[OfficialRow, ...]:
        """The runs that the leaderboard has a score for."""
        return tuple(row for row in self.rows if row.evaluation is not None and not row.perfect)


def find_entry(run: str, entries: Sequence[Submission]) -> Submission | None:
    """Return the entry whose id, or else whose description, is the run tag; None where not one alone is."""
    by_id = [entry for entry in entries if entry.submission_id == run]
    words = run.strip().casefold()
    found = by_id or [entry for entry in entries if entry.description.strip().casefold() == words]
    return found[0] if len(found) == 1 else None


def official_order(runs: Sequence[str], entries: Sequence[Submission]) -> tuple[str, ...]:
    """Return the runs by their scores on the leaderboard, those that it does not list last."""
    found = {run: find_entry(run, entries) for run in runs}
    scores = {run: entry.eval for run, entry in found.items() if entry and entry.eval is not None}
    return tuple(sorted(runs, key=lambda run: -scores.get(run, -float("inf"))))


def official_board(
    entries: Sequence[Submission],
    every: Leaderboard,
    selected: Leaderboard,
    preference: Leaderboard | None = None,
) -> OfficialBoard:
    """Put runs beside their places on a leaderboard.

    Parameters
    ----------
    entries : sequence of Submission
        The leaderboard. A run is the entry whose id, or whose description, is its tag.
    every, selected : Leaderboard
        The runs under the original qrels, with the perfect ranking under them: on all their queries, and on
        the selected ones.
    preference : Leaderboard, optional
        The runs under the preference qrels, on the selected queries, with the perfect ranking under the
        original qrels where there is one.
    """
    order = official_order([row.run for row in every.ranked], entries)
    boards = [
        {row.run: row.score for row in board.ranked} if board else {}
        for board in (every, selected, preference)
    ]
    bars = [
        board.perfect.score if board and board.perfect else nan for board in (every, selected, preference)
    ]
    rows = [
        OfficialRow(
            run="perfect ranking",
            rank=None,
            evaluation=1.0 if bars[0] == 1.0 else None,  # as under any labels, by a measure of one answer
            all_queries=bars[0],
            selected=bars[1],
            preference=bars[2],
            perfect=True,
        )
    ]
    for run in order:
        entry = find_entry(run, entries)
        score = entry.eval if entry else None
        better = [one for one in entries if score is not None and one.eval is not None and one.eval > score]
        rows.append(
            OfficialRow(
                run=run,
                rank=len(better) + 1 if score is not None else None,
                evaluation=score,
                all_queries=boards[0][run],
                selected=boards[1][run],
                preference=boards[2].get(run, nan),
                reference=f"{entry.description} ({entry.team})" if entry else "",
            )
        )
    listed = [row for row in rows if row.evaluation is not None and not row.perfect]
    official = np.array([row.evaluation for row in listed], dtype=np.float64)
    ours = np.array([row.selected for row in listed])
    return OfficialBoard(
        measure=every.measure,
        original=every.qrels,
        preference=preference.qrels if preference else "",
        queries=every.queries,
        selected=selected.queries,
        rows=tuple(rows),
        tau=float(kendall_tau(official, ours)) if len(listed) > 1 else nan,
    )
