"""Leaderboards as tables: one board, several side by side, scores in long form, and what changed between."""

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

from prefjudge.core.pooling.qrels import Scores
from prefjudge.counts import many
from prefjudge.evaluation.leaderboards.correlation import (
    Over,
    RankCorrelation,
    Tau,
    TwoVotings,
)
from prefjudge.evaluation.leaderboards.leaderboard import Leaderboard, LeaderboardRow
from prefjudge.evaluation.leaderboards.tie_sensitivity import TieSensitivity
from prefjudge.evaluation.leaderboards.tiers import FIRST_TOLD_FROM, Standing
from prefjudge.evaluation.testing.intervals import T_NEEDS
from prefjudge.render.text.cells import RING
from prefjudge.render.text.tables import Bold, Cell, Column, Table, Unsure, to_records


def leaderboard_table(
    board: Leaderboard,
    standings: Sequence[Standing] = (),
    ties: Sequence[TieSensitivity] = (),
    *,
    provenance: Mapping[str, str] | None = None,
) -> Table:
    """Return one leaderboard; with tiers and rank intervals, and the ends of tie sensitivity, where given.

    Runs that are better than perfect are bold; those above it by chance, perhaps, have a ring.
    """
    columns = [
        Column(name="rank", kind="integer", priority=0),
        Column(name="run", priority=0),
        Column(name="score", head=board.measure, kind="number"),
        Column(name="low", kind="number", priority=3),
        Column(name="high", kind="number", priority=3),
    ]
    if standings:
        columns += [
            Column(name="tier", kind="integer", priority=2),
            Column(name="rank_low", head="rank from", kind="integer", priority=4),
            Column(name="rank_high", head="to", kind="integer", priority=4),
            Column(name="p_first", head="P(first)", kind="chance", priority=4),
        ]
    if ties:
        columns += [
            Column(name="ties_low", head="ties from", kind="number", priority=5),
            Column(name="ties_high", head="to", kind="number", priority=5),
        ]
    firm = {one.run: (one.tier, one.highest, one.lowest, one.first) for one in standings}
    loose = {one.run: (one.lowest, one.highest) for one in ties}
    rows: list[tuple[Cell, ...]] = []
    for row in board.rows:
        cells: tuple[Cell, ...] = (row.rank, _mark(row, row.run), _mark(row, row.score), row.low, row.high)
        if standings:
            cells += firm.get(row.run, (None,) * 4)
        if ties:
            cells += loose.get(row.run, (None, None))
        rows.append(cells)
    return Table(
        title=f"{board.measure} under {board.qrels}, {many(board.queries, 'query')}",
        columns=tuple(columns),
        rows=tuple(rows),
        notes=_notes(board, standings, bool(ties)),
        provenance=provenance or {},
    )


def leaderboard_records(
    board: Leaderboard, standings: Sequence[Standing] = (), ties: Sequence[TieSensitivity] = ()
) -> list[dict[str, object]]:
    """Return the rows of one leaderboard for JSON, with all that is known of each."""
    records = to_records(leaderboard_table(board, standings, ties))
    names = [column.name for column in _DETAILS]
    return [
        {**record, **dict(zip(names, _details(row), strict=True))}
        for record, row in zip(records, board.rows, strict=True)
    ]


_DETAILS = (
    Column(name="interval"),
    Column(name="hit", kind="integer"),
    Column(name="queries", kind="integer"),
    Column(name="above_perfect", kind="flag"),
    Column(name="above_perfect_by", kind="number"),
    Column(name="p_above_perfect", kind="p"),
)


def _details(row: LeaderboardRow) -> tuple[Cell, ...]:
    known = row.above_perfect is not None
    against = (row.above_perfect, row.above_perfect_by, row.p_above_perfect) if known else (None,) * 3
    return row.interval, row.hit, row.queries, *against


def _mark(row: LeaderboardRow, value: str | float) -> Cell:
    if row.above_perfect:
        return Bold(value)
    return Unsure(value) if row.above_perfect_by > 0 else value


def _first_words(board: Leaderboard) -> str:
    if board.queries < FIRST_TOLD_FROM:
        return f"P(first) is not told from fewer than {FIRST_TOLD_FROM} queries: it would say too much."
    return "P(first): how probable it is that the run is the best of these over many such queries."


def _notes(board: Leaderboard, standings: Sequence[Standing], ties: bool) -> tuple[str, ...]:
    centre = "Mean" if board.statistic == "mean" else "Median"
    notes = [
        f"{centre} over the judged queries with its {board.confidence:.0%} interval "
        f"({_interval_words([board])}); documents ordered by {board.order}.",
        *_perfect_notes([board]),
    ]
    if standings:
        notes.append(
            "Runs of a tier are not significantly worse than its leader; the ranks from and to are those "
            "that no significant difference rules out (paired t tests of all pairs, Holm's correction, 5 %). "
            f"{_first_words(board)} All of this holds the chance of the queries and, under labels from "
            "votes, that of the votes."
        )
        if any(one.tier > after.tier for one, after in pairwise(standings)):
            notes.append(
                "Tiers interleave: a run may score less than one of a later tier and still not differ "
                "significantly from its leader, because its differences from the leader vary more "
                "over the queries."
            )
    if ties:
        notes.append(
            "Ties: the least and the greatest score that an order of equally scored documents gives."
        )
    return tuple(notes)


def _interval_words(boards: Sequence[Leaderboard]) -> str:
    """Say how the intervals were made, and where another way takes the usual one's place."""
    used = {row.interval for board in boards for row in board.rows}
    if "order statistics" in used:
        return "order statistics"
    gaffke = f"Gaffke's, where fewer than {T_NEEDS} queries differ from the run's most frequent score"
    student = "Student's t, as far as the scale reaches"
    if "Gaffke" not in used:
        return student
    return f"{student}; {gaffke}" if "t" in used else gaffke


def _perfect_notes(boards: Sequence[Leaderboard]) -> list[str]:
    """Say which runs are above the perfect ranking, on which queries, and by which test."""
    found = [(board, board.perfect) for board in boards if board.perfect]
    notes = [f"{board.measure} {board.qrels}: {perfect_words(board)}." for board, _ in found]
    if found:
        test = "sign tests" if found[0][0].statistic == "median" else "t tests"
        notes.append(
            f"Marked: better than perfect on these queries (paired {test}, Holm's correction over the runs, "
            f"5 %); {RING}: above, not significant."
        )
    if any(bar.queries < board.queries for board, bar in found):
        notes.append("The runs' own scores are over all their queries; with --common all are over the same.")
    return notes


def perfect_words(board: Leaderboard) -> str:
    """Return what the perfect ranking of a board scores, and how many runs are better; empty without one."""
    bar = board.perfect
    if bar is None:
        return ""
    better = sum(row.above_perfect is True for row in board.rows)
    unsure = sum(row.above_perfect is False and row.above_perfect_by > 0 for row in board.rows)
    over = many(bar.queries, "query")
    return (
        f"{bar.run} scores {bar.score:.4f} on the {over} that both label sets judge; better than it: "
        f"{better:,} of {many(len(board.ranked), 'run')}; above it, not significant: {unsure:,}"
    )


def side_by_side_table(
    boards: Sequence[Leaderboard],
    *,
    same_queries: bool = True,
    provenance: Mapping[str, str] | None = None,
) -> Table:
    """Return several leaderboards in one table, a row for each run in the order of the first board.

    Each board gives a score, half its interval's width and a rank; where not all have the ``same_queries``,
    its heading says how many it has.
    """
    runs = dict.fromkeys(row.run for board in boards for row in board.rows if not row.perfect)
    bars = dict.fromkeys(board.perfect.run for board in boards if board.perfect)
    columns = [Column(name="run", priority=0)]
    for number, board in enumerate(boards, 1):
        over = "" if same_queries else f", {many(board.queries, 'query')}"
        columns += [
            Column(name=f"score_{number}", head=f"{board.measure} {board.qrels}{over}", kind="number"),
            Column(name=f"half_width_{number}", head="±", kind="number", priority=3),
            Column(name=f"rank_{number}", head="rank", kind="integer", priority=2),
        ]
    found = [{row.run: row for row in board.rows} for board in boards]
    rows: list[tuple[Cell, ...]] = []
    for run in (*runs, *bars):
        cells: list[Cell] = [run if run in runs else _bar_name(run, boards)]
        for placed in found:
            row = placed.get(run)
            cells += (
                [None] * 3
                if row is None
                else [_mark(row, row.score), max(row.high - row.score, row.score - row.low), row.rank]
            )
        rows.append(tuple(cells))
    queries = f" over {many(boards[0].queries, 'query')}" if same_queries else ""
    return Table(
        title=f"Leaderboards{queries}",
        columns=tuple(columns),
        rows=tuple(rows),
        notes=(
            f"±: the longer half of the {boards[0].confidence:.0%} interval ({_interval_words(boards)}).",
            *_perfect_notes(boards),
        ),
        provenance=provenance or {},
    )


def _bar_name(run: str, boards: Sequence[Leaderboard]) -> str:
    """Return the name of a perfect ranking with the number of its queries on each board."""
    counts = dict.fromkeys(
        f"{board.perfect.queries:,}" for board in boards if board.perfect and board.perfect.run == run
    )
    plural = "query" if [*counts] == ["1"] else "queries"
    return f"{run}, {' and '.join(counts)} {plural}"


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
            Column(name="perfect", kind="flag"),
            Column(name="order"),
            *_DETAILS,
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
                row.perfect,
                str(board.order),
                *_details(row),
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
            Column(name="run", priority=0),
            Column(name="query_id", priority=0),
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
    """Return Kendall's tau and tau_AP of pairs of leaderboards, with the run that moves most.

    Boards over different queries have a row for what is printed and one for the queries that both have.
    """
    rows: list[tuple[Cell, ...]] = []
    apart = not all(result.same_queries for result in results)
    votings = [one.two_votings for result in results for one in (result.printed, result.common)]
    noisy = any(votings)
    for result in results:
        moved = max(result.shifts, key=lambda shift: abs(shift.shift))
        words = f"{moved.run} {moved.reference} to {moved.other}" if moved.shift else None
        ways: list[tuple[Over, Tau]] = [("boards as printed", result.printed)]
        if not result.same_queries:
            ways.append(("common queries", result.common))
        for over, found in ways:
            queries = " and ".join(f"{count:,}" for count in dict.fromkeys(found.queries))
            rows.append(
                (
                    result.reference,
                    result.other,
                    result.runs,
                    *((over, queries) if apart else (result.queries,)),
                    found.tau,
                    found.tau_ap,
                    *(votings_cells(found.two_votings) if noisy else ()),
                    words if over == result.over else None,
                )
            )
    return Table(
        title="Kendall's τ and τ_AP between the leaderboards",
        columns=(
            Column(name="reference", priority=0),
            Column(name="other", priority=0),
            Column(name="runs", kind="integer", priority=4),
            *([Column(name="over", priority=0)] if apart else []),
            Column(name="queries", kind="text" if apart else "integer", priority=2),
            Column(name="tau", head="τ", kind="number"),
            Column(name="tau_ap", head="τ_AP", kind="number", priority=2),
            *(TWO_VOTINGS if noisy else ()),
            Column(name="largest_shift", head="largest shift", priority=3),
        ),
        rows=tuple(rows),
        notes=votings_notes(votings),
    )


TWO_VOTINGS = (
    Column(name="two_votings", head="two votings", kind="number", priority=1),
    Column(name="two_votings_low", head="from", kind="number", priority=5),
    Column(name="two_votings_high", head="to", kind="number", priority=5),
    Column(name="truth", head="truth", kind="number", priority=1),
    Column(name="truth_low", head="from", kind="number", priority=5),
    Column(name="truth_high", head="to", kind="number", priority=5),
    Column(name="two_votings_by", head="by", priority=5),
)
"""Columns that stand beside a tau of a board that rests on votes."""
_VOTINGS_WORDS = (
    "Two votings: the τ at which boards of two rounds of voting like this one agree, which labels that are "
    "nearer to the truth pass. Truth: the τ of a board of the truth with the one of these votes, as far as "
    "they tell the truth; what knows nothing of the votes cannot be expected to agree better with them. "
    "From, to: 95 % of such boards."
)


def votings_notes(found: Iterable[TwoVotings | None]) -> tuple[str, ...]:
    """Return what to say below these columns; nothing where there are none."""
    known = [one for one in found if one]
    doubts = dict.fromkeys(words for one in known for words in one.doubts)
    return (_VOTINGS_WORDS, *doubts) if known else ()


def votings_words(result: RankCorrelation) -> str:
    """Return how far two votings agree, in words that follow a τ; empty where that is not known."""
    found = result.two_votings
    if found is None or not found.pairs:
        return ""
    return f" (two rounds of voting agree at {_with_ends(found)})"


def voting_sentence(found: TwoVotings) -> str:
    """Return the same as a sentence that names its two lines."""
    return f"Two rounds of voting agree at τ = {_with_ends(found)}." + "".join(
        f" {words}" for words in found.doubts
    )


def _with_ends(found: TwoVotings) -> str:
    ends = f", {found.low:.2f} to {found.high:.2f}" if found.pairs > 1 else ""
    truth = (
        f"; a board of the truth with one of them at {found.truth:.2f}, "
        f"{found.truth_low:.2f} to {found.truth_high:.2f}"
    )
    return f"{found.value:.2f}{ends}{truth if math.isfinite(found.truth) else ''}"


def votings_cells(found: TwoVotings | None) -> tuple[Cell, ...]:
    """Return the cells of these columns."""
    if found is None:
        return (None,) * len(TWO_VOTINGS)
    return (
        found.value, found.low, found.high, found.truth, found.truth_low, found.truth_high, found.by,
    )  # fmt: skip
