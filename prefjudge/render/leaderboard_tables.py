"""Leaderboards as tables: one board, several side by side, scores in long form, and what changed between."""

from collections.abc import Mapping, Sequence

from prefjudge.core.qrels import Scores
from prefjudge.evaluation.correlation import RankCorrelation
from prefjudge.evaluation.leaderboard import Leaderboard, LeaderboardRow
from prefjudge.evaluation.tie_sensitivity import TieSensitivity
from prefjudge.evaluation.tiers import Standing
from prefjudge.render.tables import Bold, Cell, Column, Table


def leaderboard_table(
    board: Leaderboard,
    standings: Sequence[Standing] = (),
    ties: Sequence[TieSensitivity] = (),
    *,
    provenance: Mapping[str, str] | None = None,
) -> Table:
    """Return one leaderboard; with tiers and rank intervals, and the ends of tie sensitivity, where given.

    Runs that are better than perfect are bold.
    """
    columns = [
        Column(name="rank", kind="integer"),
        Column(name="run"),
        Column(name="score", head=board.measure, kind="number"),
        Column(name="low", kind="number"),
        Column(name="high", kind="number"),
    ]
    if standings:
        columns += [
            Column(name="tier", kind="integer"),
            Column(name="rank_low", head="rank from", kind="integer"),
            Column(name="rank_high", head="to", kind="integer"),
        ]
    if ties:
        columns += [
            Column(name="ties_low", head="ties from", kind="number"),
            Column(name="ties_high", head="to", kind="number"),
        ]
    firm = {one.run: (one.tier, one.highest, one.lowest) for one in standings}
    loose = {one.run: (one.lowest, one.highest) for one in ties}
    rows: list[tuple[Cell, ...]] = []
    for row in board.rows:
        cells: tuple[Cell, ...] = (row.rank, _mark(row, row.run), _mark(row, row.score), row.low, row.high)
        if standings:
            cells += firm.get(row.run, (None, None, None))
        if ties:
            cells += loose.get(row.run, (None, None))
        rows.append(cells)
    return Table(
        title=f"{board.measure} under {board.qrels}, {board.queries:,} queries",
        columns=tuple(columns),
        rows=tuple(rows),
        notes=_notes(board, bool(standings), bool(ties)),
        provenance=provenance or {},
    )


def _mark(row: LeaderboardRow, value: str | float) -> Cell:
    return Bold(value) if row.beats else value


def _notes(board: Leaderboard, tiers: bool, ties: bool) -> tuple[str, ...]:
    centre = "Mean" if board.statistic == "mean" else "Median"
    method = "Student's t, as far as the scale reaches" if board.interval == "t" else "order statistics"
    notes = [
        f"{centre} over the judged queries with its {board.confidence:.0%} interval ({method}); "
        f"documents ordered by {board.order}."
    ]
    beaten = sorted({name for row in board.rows for name in row.beats})
    if beaten:
        winners = sum(bool(row.beats) for row in board.rows)
        notes.append(f"Marked: better than perfect; {winners} run(s) score above {', '.join(beaten)}.")
    if tiers:
        notes.append(
            "Runs of a tier are not significantly worse than its leader; the ranks from and to are those "
            "that no significant difference rules out (paired t tests of all pairs, Holm's correction, 5 %)."
        )
    if ties:
        notes.append(
            "Ties: the least and the greatest score that an order of equally scored documents gives."
        )
    return tuple(notes)


def side_by_side_table(
    boards: Sequence[Leaderboard], *, provenance: Mapping[str, str] | None = None
) -> Table:
    """Return several leaderboards in one table, a row for each run in the order of the first board.

    Each board gives a score, half its interval's width and a rank.
    """
    runs = list(dict.fromkeys(row.run for board in boards for row in board.rows))
    columns = [Column(name="run")]
    for number, board in enumerate(boards, 1):
        name = f"{board.measure} {board.qrels}"
        columns += [
            Column(name=f"score_{number}", head=name, kind="number"),
            Column(name=f"half_width_{number}", head="±", kind="number"),
            Column(name=f"rank_{number}", head="rank", kind="integer"),
        ]
    found = [{row.run: row for row in board.rows} for board in boards]
    rows: list[tuple[Cell, ...]] = []
    for run in runs:
        cells: list[Cell] = [run]
        for placed in found:
            row = placed.get(run)
            cells += (
                [None] * 3
                if row is None
                else [_mark(row, row.score), max(row.high - row.score, row.score - row.low), row.rank]
            )
        rows.append(tuple(cells))
    beaten = sorted({name for board in boards for row in board.rows for name in row.beats})
    notes = (f"Marked scores are better than perfect: above {', '.join(beaten)}.",) if beaten else ()
    return Table(
        title="Leaderboards",
        columns=tuple(columns),
        rows=tuple(rows),
        notes=notes,
        provenance=provenance or {},
    )


def scores_table(boards: Sequence[Leaderboard], *, provenance: Mapping[str, str] | None = None) -> Table:
    """Return every row of every board in long form, for CSV."""
    return Table(
        title="Scores",
        columns=(
            Column(name="qrels"),
            Column(name="measure"),
            Column(name="rank", kind="integer"),
            Column(name="run"),
            Column(name="score", kind="number"),
            Column(name="low", kind="number"),
            Column(name="high", kind="number"),
            Column(name="queries", kind="integer"),
            Column(name="perfect", kind="flag"),
            Column(name="order"),
        ),
        rows=tuple(
            (
                board.qrels,
                board.measure,
                row.rank,
                row.run,
                row.score,
                row.low,
                row.high,
                board.queries,
                row.perfect,
                str(board.order),
            )
            for board in boards
            for row in board.rows
        ),
        provenance=provenance or {},
    )


def per_query_table(matrices: Sequence[Scores], *, provenance: Mapping[str, str] | None = None) -> Table:
    """Return the score of every query under every run, in long form."""
    return Table(
        title="Scores per query",
        columns=(
            Column(name="qrels"),
            Column(name="measure"),
            Column(name="run"),
            Column(name="query_id"),
            Column(name="score", kind="number"),
        ),
        rows=tuple(
            (matrix.qrels, matrix.measure, run, query, float(score))
            for matrix in matrices
            for column, run in enumerate(matrix.runs)
            for query, score in zip(matrix.queries, matrix.values[:, column], strict=True)
        ),
        provenance=provenance or {},
    )


def correlation_table(results: Sequence[RankCorrelation]) -> Table:
    """Return Kendall's tau and tau_AP of pairs of leaderboards, with the run that moves most."""
    rows: list[tuple[Cell, ...]] = []
    for result in results:
        moved = max(result.shifts, key=lambda shift: abs(shift.shift))
        words = f"{moved.run} {moved.reference} to {moved.other}" if moved.shift else None
        rows.append(
            (
                result.reference,
                result.other,
                result.runs,
                result.queries,
                result.tau,
                result.tau_ap,
                words,
            )
        )
    return Table(
        title="Kendall's τ and τ_AP between the leaderboards",
        columns=(
            Column(name="reference"),
            Column(name="other"),
            Column(name="runs", kind="integer"),
            Column(name="queries", kind="integer"),
            Column(name="tau", head="τ", kind="number"),
            Column(name="tau_ap", head="τ_AP", kind="number"),
            Column(name="largest_shift", head="largest shift"),
        ),
        rows=tuple(rows),
    )
