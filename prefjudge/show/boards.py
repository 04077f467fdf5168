"""The tables of boards: leaderboards, win ratios, official places; and DataFrames of them."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from math import isnan, nan
from typing import TYPE_CHECKING, Any

import numpy as np

from prefjudge.core.planning.plans import Power
from prefjudge.core.pools import TopSplit
from prefjudge.core.runs import Scores
from prefjudge.evaluation.boards import (
    Board,
    Leaderboard,
    LeaderboardRow,
    NotJudged,
    TieSensitivity,
    by_people,
)
from prefjudge.evaluation.correlation import (
    Over,
    RankCorrelation,
    Tau,
    TwoVotings,
    kendall_tau,
)
from prefjudge.evaluation.firmness import Firmness, Standing
from prefjudge.evaluation.intervals import T_NEEDS
from prefjudge.evaluation.measures.preferences import PairAgreement, Pairings
from prefjudge.evaluation.outcomes import write_p
from prefjudge.evaluation.stability import LeftOut
from prefjudge.evaluation.submissions import OfficialBoard
from prefjudge.evaluation.winratios import ALPHA, Example, TopAgainstQrel, WinRatios
from prefjudge.show.cells import RING, Bold, Cell, Column, Table, Unsure, table
from prefjudge.show.results import Screen, plain, plain_fields
from prefjudge.show.tables import to_records
from prefjudge.words import many

if TYPE_CHECKING:
    from pandas import DataFrame as DataFrame


def leaderboard_table(
    board: Leaderboard, standings: Sequence[Standing] = (), ties: Sequence[TieSensitivity] = ()
) -> Table:
    """Return one leaderboard; with tiers and rank intervals, and the ends of tie sensitivity, where given."""
    # Runs that are better than perfect are bold; those above it by chance, perhaps, have a ring.
    firm, loose = ({one.run: one for one in given} for given in (standings, ties))

    def of(known: Mapping[str, object], name: str, column: Column) -> Column | None:
        """Return a column of what is known of each run; None where nothing is."""
        value = lambda row: getattr(known.get(row.run), name, None)  # noqa: E731
        return replace(column, value=value) if known else None

    return table(
        f"{board.measure} under {board.qrels}, {many(board.queries, 'query')}",
        board.rows,
        {
            "rank": Column("integer", priority=0),
            "run": Column(priority=0, value=lambda row: _mark(row, row.run)),
            "score": Column("number", board.measure, value=lambda row: _mark(row, row.score)),
            "low": Column("number", priority=3),
            "high": Column("number", priority=3),
            "tier": of(firm, "tier", Column("integer", priority=2)),
            "rank_low": of(firm, "highest", Column("integer", "rank from", priority=4)),
            "rank_high": of(firm, "lowest", Column("integer", "to", priority=4)),
            "ties_low": of(loose, "lowest", Column("number", "ties from", priority=5)),
            "ties_high": of(loose, "highest", Column("number", "to", priority=5)),
        },
        notes=_board_notes(board, standings, bool(ties)),
    )


def board_document(board: Board) -> dict[str, Any]:
    """Return one leaderboard for JSON, with all that is known of each of its rows."""
    found, perfect = board.leaderboard, board.leaderboard.perfect
    shown = leaderboard_table(found, board.standings, board.ties)
    rows = zip(to_records(shown), to_records(table("", found.rows, _DETAILS)), strict=True)
    return {
        "measure": found.measure,
        "qrels": found.qrels,
        "statistic": "mean",
        **plain_fields(found, "rows"),
        "interval": found.interval,
        "perfect": perfect and {"name": perfect.run, "score": perfect.score, "queries": perfect.queries},
        "firmness": plain(board.firmness),
        "rows": [one | more for one, more in rows],
    }


def correlation_document(pair: RankCorrelation) -> dict[str, Any]:
    """Return the agreement of two boards of one measure for JSON."""
    (a, b), (measure, _) = pair.qrels, pair.measures
    compared = ("tau", "tau_ap", "two_votings")
    return {
        "a": a,
        "b": b,
        "measure": measure,
        **plain_fields(pair, "reference", "other", "measures", "qrels"),
        **{name: plain(getattr(pair, name)) for name in compared},
    }


def _if_compared(name: str) -> Callable[..., Cell]:
    return lambda *found: None if found[-1].above_perfect is None else getattr(found[-1], name)


_DETAILS = {
    "interval": Column(),
    "hit": Column("integer"),
    "queries": Column("integer"),
    "above_perfect": Column("flag"),
    "above_perfect_by": Column("number", value=_if_compared("above_perfect_by")),
    "p_above_perfect": Column("p", value=_if_compared("p_above_perfect")),
}


def _mark(row: LeaderboardRow, value: str | float) -> Cell:
    if row.above_perfect:
        return Bold(value)
    return Unsure(value) if row.above_perfect_by > 0 else value


def _board_notes(board: Leaderboard, standings: Sequence[Standing], ties: bool) -> tuple[str, ...]:
    notes = [
        f"Mean over the judged queries with its {board.confidence:.0%} interval "
        f"({_interval_words([board])}); documents ordered by {board.order}.",
        *_perfect_notes([board]),
    ]
    if standings:
        notes.append(
            "Runs of a tier are not significantly worse than its leader; the ranks from and to are those "
            "that no significant difference rules out (paired t tests of all pairs, Holm's correction, 5 %). "
            "All of this allows for the chance in the queries and, under labels "
            "from votes, in the votes."
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
        notes.append(
            "Marked: better than perfect on these queries (paired t tests, Holm's correction over the runs, "
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


def side_by_side_table(boards: Sequence[Leaderboard], *, same_queries: bool = True) -> Table:
    """Return several leaderboards in one table, a row for each run in the order of people's answers."""
    # Each board gives a score, half its interval's width and a rank; where not all have the ``same_queries``,
    # its heading says how many it has.
    place = by_people(boards)
    first = (boards[place], *boards[:place], *boards[place + 1 :])
    runs = dict.fromkeys(row.run for board in first for row in board.rows if not row.perfect)
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
            cells += [None] * 3 if row is None else [_mark(row, row.score), _half_width(row), row.rank]
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
    )


def _bar_name(run: str, boards: Sequence[Leaderboard]) -> str:
    """Return the name of a perfect ranking with the number of its queries on each board."""
    counts = dict.fromkeys(
        f"{board.perfect.queries:,}" for board in boards if board.perfect and board.perfect.run == run
    )
    plural = "query" if [*counts] == ["1"] else "queries"
    return f"{run}, {' and '.join(counts)} {plural}"


def scores_table(boards: Sequence[Leaderboard]) -> Table:
    """Return every row of every board in long form, for CSV."""
    return table(
        "Scores",
        [(board, row) for board in boards for row in board.rows],
        {
            "qrels": Column(),
            "measure": Column(),
            "rank": Column("integer"),
            "run": Column(),
            "score": Column("number"),
            "low": Column("number"),
            "high": Column("number"),
            "perfect": Column("flag"),
            "order": Column(value=lambda board, row: str(board.order)),
            **_DETAILS,
        },
    )


def per_query_table(matrices: Sequence[Scores]) -> Table:
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
    )


def correlation_table(results: Sequence[RankCorrelation]) -> Table:
    """Return Kendall's tau and tau_AP of pairs of leaderboards, with the run that moves most."""
    # Boards over different queries have a row for what is printed and one for the queries that both have.
    apart = not all(result.same_queries for result in results)
    votings = [one.two_votings for result in results for one in (result.printed, result.common)]
    rows: list[tuple[RankCorrelation, Over, Tau]] = []
    for result in results:
        rows.append((result, "boards as printed", result.printed))
        if not result.same_queries:
            rows.append((result, "common queries", result.common))

    def queries(result: RankCorrelation, _over: Over, found: Tau) -> Cell:
        both = " and ".join(f"{count:,}" for count in dict.fromkeys(found.queries))
        return both if apart else result.queries

    def largest_shift(result: RankCorrelation, over: Over, _found: Tau) -> Cell:
        moved = max(result.shifts, key=lambda shift: abs(shift.shift))
        told = moved.shift and over == result.over
        return f"{moved.run} {moved.reference} to {moved.other}" if told else None

    return table(
        "Kendall's τ and τ_AP between the leaderboards",
        rows,
        {
            "reference": Column(priority=0),
            "other": Column(priority=0),
            "runs": Column("integer", priority=4),
            "over": Column(priority=0, value=lambda _, over, found: over) if apart else None,
            "queries": Column("text" if apart else "integer", priority=2, value=queries),
            "tau": Column("number", "τ"),
            "tau_ap": Column("number", "τ_AP", priority=2),
            **(two_votings_columns(lambda *found: found[-1].two_votings) if any(votings) else {}),
            "largest_shift": Column(head="largest shift", priority=3, value=largest_shift),
        },
        notes=votings_notes(votings),
    )


def two_votings_columns(found: Callable[..., TwoVotings | None]) -> dict[str, Column]:
    """Return the columns that stand beside a tau of a board that rests on votes."""

    def part(name: str) -> Callable[..., Cell]:
        return lambda *record: getattr(found(*record), name, None)

    return {
        "two_votings": Column("number", "two votings", priority=1, value=part("value")),
        "two_votings_low": Column("number", "from", priority=5, value=part("low")),
        "two_votings_high": Column("number", "to", priority=5, value=part("high")),
        "truth": Column("number", priority=1, value=part("truth")),
        "truth_low": Column("number", "from", priority=5, value=part("truth_low")),
        "truth_high": Column("number", "to", priority=5, value=part("truth_high")),
        "two_votings_by": Column(head="by", priority=5, value=part("by")),
    }


_VOTINGS_WORDS = (
    "Two votings: the τ between two boards from rounds of voting like this one; labels nearer to the "
    "truth may exceed it. Truth: the τ between the board from these votes and the true board, as the "
    "votes tell it; labels that know nothing of the votes cannot be expected to do better. From, to: 95 "
    "% of such boards."
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
        f"; the true board agrees with one of them at {found.truth:.2f}, "
        f"{found.truth_low:.2f} to {found.truth_high:.2f}"
    )
    return f"{found.value:.2f}{ends}{truth if math.isfinite(found.truth) else ''}"


def winratio_frame(result: WinRatios, provenance: Mapping[str, str] | None = None) -> "DataFrame":
    """Return the square matrix of win ratios: how often the column beats the row."""
    # What it was made from is in ``frame.attrs["provenance"]``.
    from pandas import DataFrame, Index

    runs = Index(result.runs)
    frame = DataFrame(result.matrix().ratio, index=runs, columns=runs)
    frame.attrs["provenance"] = dict(provenance or {})
    return frame


# Runs beside their places on an official leaderboard, as tables.


def official_table(board: OfficialBoard) -> Table:
    """Return the runs in the official order with their scores (shallow pooling, Table 3)."""
    unlisted = sum(row.rank is None and not row.perfect for row in board.rows)
    notes = [
        f"{board.measure}: {many(board.queries, 'query')}, all of the {board.original} qrels, and the "
        f"{board.selected:,} selected ones, under the {board.original} qrels"
        + (f" and under the {board.preference} qrels." if board.preference else "."),
        "Rank and evaluation score are the leaderboard's own.",
    ]
    if unlisted:
        runs = many(unlisted, "run")
        notes.append(
            f"{runs} not found: the run tag is not the id of an entry, nor the description of just one."
        )
    return table(
        "The runs on the leaderboard",
        board.rows,
        {
            "run": Column(priority=0),
            "rank": Column("integer", "leaderboard rank"),
            "evaluation": Column("number", "evaluation set"),
            "all_queries": Column("number", "all queries"),
            "selected": Column("number", "selected queries"),
            "preference": Column("number", "preference qrels"),
            "reference": Column(priority=5, value=lambda row: row.reference or None),
        },
        notes=notes,
    )


# Win ratios as tables: the matrix of the paper's Table 4, and a list of pairs.

_NAMED_HEADINGS = 80
"""Names stand above the columns where they take no more places than these; else numbers do."""


def winratio_matrix(
    result: WinRatios,
    *,
    shown: Sequence[str] | None = None,
    numbered: bool | None = None,
) -> Table:
    """Return the matrix in which the column beats the row, bold where significant, with the wins below."""
    # ``shown`` are the runs that it has, all by default. ``numbered`` headings are numbers, which stand
    # before the runs' names in the rows; so it is by default where names would take too much room.
    runs = result.runs if shown is None else tuple(shown)
    if numbered is None:
        numbered = sum(len(run) + 2 for run in runs) > _NAMED_HEADINGS
    found = result.matrix()

    def cell(row: int, column: int) -> Cell:
        ratio = float(found.ratio[row, column])
        if row == column:
            return None
        return Bold(ratio) if found.significant[row, column] else ratio

    places = [result.runs.index(run) for run in runs]
    # the wins of the last row are counts in a column of percentages, so they are written out
    rows = [(result.runs[row], *(cell(row, column) for column in places)) for row in places]
    rows.append(("wins", *(str(result.wins[run]) for run in runs)))
    columns = [Column(name="run beaten", head="beaten", priority=0)]
    for number, run in enumerate(runs, 1):
        columns.append(Column(name=run, head=str(number) if numbered else run, kind="percent", digits=1))
    if numbered:
        columns.insert(0, Column(name="number of the run", head="#", priority=0))
        rows = [(str(number) if number <= len(runs) else "", *row) for number, row in enumerate(rows, 1)]
    return Table(title="Win ratios", columns=tuple(columns), rows=tuple(rows), notes=_win_notes(result, runs))


def _win_notes(result: WinRatios, shown: Sequence[str]) -> tuple[str, ...]:
    unit = f"{many(result.queries, 'query')}, by the majority of their votes"
    decided = [pair.wins_a + pair.wins_b for pair in result.pairs]
    between = " to ".join(dict.fromkeys(f"{end(decided, default=0):,}" for end in (min, max)))
    notes = (
        "How often the top passage of the column was preferred to that of the row, over "
        f"{unit if result.count == 'majority' else 'votes'}; {between} of them compare a pair.",
        f"Marked: significant at {ALPHA:g} after a Bonferroni correction for "
        f"{many(len(result.pairs), 'pair')} ({result.test}).",
        "The last row counts the runs that each column beats.",
    )
    if len(shown) == len(result.runs):
        return notes
    return (*notes, f"{len(shown)} of {many(len(result.runs), 'run')}: winratio --runs-shown chooses.")


def winratio_list(result: WinRatios) -> Table:
    """Return one row for each pair of runs."""
    return table(
        "Win ratios",
        result.pairs,
        {
            "a": Column(),
            "b": Column(),
            "wins_a": Column("integer", "wins a"),
            "wins_b": Column("integer", "wins b"),
            "ties": Column("integer"),
            "same": Column("integer", "same top", priority=2),
            "unjudged": Column("integer", priority=3),
            "ratio": Column(
                "percent",
                "a wins",
                digits=1,
                value=lambda pair: Bold(pair.ratio) if pair.p_bonferroni <= ALPHA else pair.ratio,
            ),
            "p": Column("p"),
            "p_bonferroni": Column("p", "p (Bonferroni)"),
        },
    )


# What boards say together.


def boards_tables(
    boards: Sequence[Board],
    tau: Sequence[RankCorrelation] = (),
    not_judged: Sequence[NotJudged] = (),
    made: Mapping[str, str] | None = None,
) -> list[Table]:
    """Return the boards of each measure, the runs that they do not rank yet, and how the boards agree."""
    # A measure under one label set gives a full leaderboard; under several, the boards side by side.
    tables = []
    for measure in dict.fromkeys(board.leaderboard.measure for board in boards):
        same = [board for board in boards if board.leaderboard.measure == measure]
        if len(same) == 1:
            only = same[0]
            tables.append(leaderboard_table(only.leaderboard, only.standings, only.ties))
        else:
            queries = {(board.leaderboard.queries, frozenset(board.scores.queries)) for board in same}
            shown = [board.leaderboard for board in same]
            tables.append(side_by_side_table(shown, same_queries=len(queries) == 1))
    tables = [one.made_with(made or {}) for one in tables]
    tables += [not_judged_table(not_judged)] if not_judged else []
    return [*tables, correlation_table(tau)] if tau else tables


def first_words(board: Board) -> tuple[str, ...]:
    """Say which run is first, by how much, and whether another may be; nothing of a board without runs."""
    found = board.leaderboard
    if not found.ranked:
        return ()
    lead = [row for row in found.ranked if row.rank == 1]
    names = lead[0].run + (f" and {many(len(lead) - 1, 'other')}" if len(lead) > 1 else "")
    first = (
        f"{names} {'is first' if len(lead) == 1 else 'share the first place'} by {found.measure} under "
        f"{found.qrels}: {lead[0].score:.3f} ({lead[0].low:.3f} to {lead[0].high:.3f}) over "
        f"{many(found.queries, 'query')}."
    )
    return (first, board.firmness.words) if board.firmness else (first,)


def firmness_table(
    boards: Sequence[Board], votes: float | None = None, dollars: float | None = None
) -> Table:
    """Return what was asked of the order of each board, and how it fared.

    A query has taken so many ``votes`` and ``dollars``, where that is known.
    """
    firm = [(one.leaderboard, one.firmness) for one in boards if one.firmness]
    several = len(firm) > 1
    return table(
        "Does the order stand?",
        [(board, found, check) for board, found in firm for check in found.checks],
        {
            "measure": Column(priority=1) if several else None,
            "qrels": Column(priority=1) if several else None,
            "check": Column(priority=0),
            "holds": Column(priority=0, value=lambda *row: _HOLDS[row[-1].holds]),
            "words": Column(head="found"),
        },
        notes=[_settled_words(board, found, votes, dollars) for board, found in firm],
    )


_HOLDS = {True: "yes", False: "no", None: "skipped"}


def _settled_words(board: Leaderboard, found: Firmness, votes: float | None, dollars: float | None) -> str:
    """Say what difference a board sees, and what would settle its first place."""
    apart = "do not vary" if isnan(found.sees) else f"are told apart from a difference of {found.sees:.4f} on"
    sees = f"{board.measure} under {board.qrels}: two usual neighbours {apart}"
    if found.may_lead == 1:
        return f"{sees}; the first place is settled."
    if math.isinf(found.settles):
        return f"{sees}; {found.rival} has the same mean as the first run: no number of queries is enough."
    more = max(found.settles - found.queries, 0.0)
    return (
        f"{sees}; to settle the first place, against {found.rival} too, takes at least "
        f"{found.settles:,.0f} queries like these{_cost_words(more, votes, dollars)} (t tests of the first "
        "run against all others, Holm's correction, 5 %, found four times in five)."
    )


def _cost_words(queries: float, votes: float | None, dollars: float | None) -> str:
    """Say what so many more queries take."""
    if votes is None:
        return f", {queries:,.0f} more"
    money = "" if dollars is None else f" and ${queries * dollars:,.0f}"
    return f": {queries:,.0f} more, about {queries * votes:,.0f} votes{money}"


FEWEST = 10
"""Fewer queries say nothing about which run is better."""


def too_few_words(board: Leaderboard, votes: float | None, dollars: float | None) -> str:
    """Say what a board of too few queries lacks; empty where there are enough."""
    if board.queries >= FEWEST or len(board.ranked) < 2:
        return ""
    lacks = _cost_words(FEWEST - board.queries, votes, dollars)
    have = many(board.queries, "query says", "queries say")
    return f"{have} nothing about which run is better: have at least {FEWEST} judged{lacks}."


def main_boards(boards: Sequence[Board]) -> tuple[Board, Board | None]:
    """Return the board of the first measure by people's answers, and the first other one, if any."""
    measured = [one for one in boards if one.leaderboard.measure == boards[0].leaderboard.measure]
    main = measured[by_people([one.leaderboard for one in measured])]
    return main, next((one for one in measured if one is not main), None)


def boards_screen(
    boards: Sequence[Board], tau: Sequence[RankCorrelation] = (), asked: Sequence[Table] = ()
) -> Screen:
    """Return what boards say first: the order of the runs by people's answers, and how sure it is."""
    # ``asked`` are further tables that were asked for.
    if not boards:
        return Screen(tables=tuple(asked))
    by_measure: dict[str, list[Board]] = {}
    for board in boards:
        by_measure.setdefault(board.leaderboard.measure, []).append(board)
    main, before = main_boards(boards)
    found, *sure = first_words(main) or ("No run is ranked.",)
    for measure, others in [*by_measure.items()][1:4]:
        lead = next((row.run for row in main_boards(others)[0].leaderboard.ranked), None)
        sure += [f"By {measure}, {lead} is first."] if lead else []
    same = {main.leaderboard.qrels, *([before.leaderboard.qrels] if before else [])}
    for pair in [one for one in tau if {*one.qrels} == same and one.measures[0] == main.leaderboard.measure][
        :1
    ]:
        again = pair.two_votings
        votings = f"; two rounds of voting agree at {again.value:.2f}" if again and again.pairs else ""
        sure.append(
            f"The boards under {pair.qrels[0]} and {pair.qrels[1]} agree at τ = {pair.tau:.2f}{votings}."
        )
    tables = [_screen_table(main, before), *asked]
    return Screen(found=(found,), tables=tuple(tables), sure=tuple(sure))


def _screen_table(board: Board, before: Board | None) -> Table:
    """Return a board's runs with the ranks that they may have, and their ranks on the one ``before``."""
    found = board.leaderboard
    may = {one.run: f"{one.highest} to {one.lowest}" for one in board.standings}
    was = {row.run: row.rank for row in before.leaderboard.ranked} if before else {}
    under = f"under {before.leaderboard.qrels}" if before else ""
    return table(
        "",
        found.ranked,
        {
            "rank": Column("integer", priority=0),
            "run": Column(priority=0),
            "score": Column("number", found.measure),
            "half_width": Column("number", "±", priority=2, value=_half_width),
            "may": Column(head="may rank", priority=2, value=lambda row: may.get(row.run)) if may else None,
            "was": Column("integer", under, value=lambda row: was.get(row.run)) if before else None,
        },
    )


def _half_width(row: LeaderboardRow) -> float:
    return max(row.high - row.score, row.score - row.low)


def not_judged_table(rows: Sequence[NotJudged]) -> Table:
    """Return the runs that no board ranks yet, in the order of their tags."""
    return table(
        "Not judged yet",
        sorted(rows, key=lambda row: (row.run, row.judged, row.queries)),
        {
            "run": Column(),
            "judged": Column("integer"),
            "queries": Column("integer"),
            "share": Column("percent", digits=0),
        },
        notes=(
            "These runs' passages are being compared with the best answers; the runs are ranked after that. "
            "judged: how many of their top passages were compared.",
        ),
    )


def pair_agreement_table(rows: Sequence[PairAgreement]) -> Table:
    """Return how often each run orders a judged pair near its top as people do, the best first."""
    return table(
        "Agreement with the preferences",
        sorted(rows, key=lambda row: (-row.ratio if row.agree + row.disagree else 1.0, row.run)),
        {
            "run": Column(priority=0),
            "agree": Column("integer", priority=2),
            "disagree": Column("integer", priority=2),
            "ratio": Column("percent", "agreement", digits=2),
        },
        notes=("Decided pairs with both passages in the run's top 10.",),
    )


def pairings_table(rows: Sequence[Pairings], cycles: int | None = None) -> Table:
    """Return how often the passages of each label set win (shallow pooling, section 5.1)."""
    notes = ["Judged pairs with a relevant passage of the label set, by the majority of their votes."]
    if cycles is not None:
        notes.append(f"Queries that end in a cycle, with several best passages: {cycles:,}.")
    return table(
        "Pairings that the passages of each label set win",
        rows,
        {
            "qrels": Column(priority=0),
            "passages": Column("integer"),
            "won": Column("integer"),
            "lost": Column("integer"),
            "tied": Column("integer"),
            "share": Column("percent", "% won", digits=1),
        },
        notes=notes,
    )


def left_out_table(rows: Sequence[LeftOut], two_votings: TwoVotings | None = None) -> Table:
    """Return each run's score and rank without the passages that only it, or its team, contributed."""
    # ``two_votings`` says what other votes like these do to the ranks.
    whose = "team" if any(row.team != row.run for row in rows) else "run"
    return table(
        f"Leaving out the passages that only one {whose} contributed",
        rows,
        {
            "run": Column(priority=0),
            "team": Column(priority=2) if whose == "team" else None,
            "passages": Column("integer", priority=3),
            "changed": Column("integer", "queries changed", priority=2),
            "score": Column("number"),
            "rank": Column("integer"),
            "score_without": Column("number", "without"),
            "rank_without": Column("integer", "rank", value=lambda row: row.rank_without or None),
            "queries_without": Column("integer", "on queries") if _other_queries(rows) else None,
        },
        notes=_left_out_notes(rows, two_votings, whose),
    )


def left_out_tau(rows: Sequence[LeftOut]) -> float:
    """Return Kendall's tau between the runs' scores and those without; NaN where queries differ."""
    if _other_queries(rows):
        return nan
    return kendall_tau(np.array([row.score for row in rows]), np.array([row.score_without for row in rows]))


def _other_queries(rows: Sequence[LeftOut]) -> bool:
    return any(row.queries_without != row.queries for row in rows)


def _left_out_notes(rows: Sequence[LeftOut], two_votings: TwoVotings | None, whose: str) -> Iterator[str]:
    if _other_queries(rows):
        yield (
            f"{many(rows[0].queries, 'query has', 'queries have')} an answer. Where other queries have "
            "one without these passages, compare ranks, not scores."
        )
    tau = left_out_tau(rows)
    if not isnan(tau):
        yield f"The scores with and without what each {whose} alone contributed agree at τ = {tau:.2f}."
    if two_votings and two_votings.pairs:
        yield f"Other votes move ranks, too. {voting_sentence(two_votings)}"


# One run's top passages against the qrels, as tables (shallow pooling, section 3).


def categories_table(split: TopSplit, run: str) -> Table:
    """Return how often run and qrels agree on the top passage, of all labelled queries (Table 1)."""
    total = split.queries
    rows = (
        ("Category A: qrel at first rank", split.a),
        ("Category B: another passage at first rank", split.b),
        ("not retrieved: the run does not answer", split.not_retrieved),
        ("total", total),
    )
    return Table(
        title=f"Agreement between the qrels and the top results of {run}",
        columns=(
            Column(name="category", priority=0),
            Column(name="queries", kind="integer"),
            Column(name="share", head="% queries", kind="percent", digits=2),
        ),
        rows=tuple((name, count, count / total if total else None) for name, count in rows),
        notes=("A hypothetical perfect ranking always has the qrel at first rank.",),
    )


def preferred_table(result: TopAgainstQrel) -> Table:
    """Return which passage people preferred, by category (Table 2)."""
    parts = (result.a, result.b)
    rows = (
        ("qrel preferred", [part.qrel for part in parts]),
        ("comparison passage preferred", [part.rival for part in parts]),
        ("tied", [part.tied for part in parts]),
        ("unjudged", [part.unjudged for part in parts]),
        ("no rival: the run returned the qrel alone", [part.no_rival for part in parts]),
        ("total", [part.queries for part in parts]),
    )
    notes = ["In category A the comparison passage is the run's second, in category B its first."]
    notes += [
        f"Category {name}: the comparison passage won {part.rival_ratio:.1%} of {part.qrel + part.rival:,} "
        f"decided pairs (two-sided binomial test, p {write_p(part.p)})."
        for name, part in zip("AB", parts, strict=True)
        if part.qrel + part.rival
    ]
    notes.append("Above 50 % in category B the run is better than the labels that it is scored by.")
    return Table(
        title=f"The qrel against the top results of {result.run}",
        columns=(
            Column(name="preferred", priority=0),
            Column(name="a", head="category A", kind="integer"),
            Column(name="b", head="category B", kind="integer"),
        ),
        rows=tuple((name, *counts) for name, counts in rows),
        notes=tuple(notes),
    )


def examples_table(rows: Sequence[Example], *, parted: bool = False) -> Table:
    """Return pairs with their texts, the preferred passage first (Figure 1); or those of ``parted`` ones."""
    return table(
        "Examples, drawn at random from both outcomes",
        rows,
        {
            "query": Column(),
            "question": Column(value=lambda one: one.query_text or one.query),
            ("assessor" if parted else "category"): Column(value=lambda one: one.category),
            "preferred": Column(),
            "preferred_text": Column(
                head="preferred text", value=lambda one: one.preferred_text or one.preferred
            ),
            "other": Column(),
            "other_text": Column(head="other text", value=lambda one: one.other_text or one.other),
            "qrel_preferred": None if parted else Column("flag", "qrel preferred"),
            "votes_for": Column("integer", "votes for"),
            "votes_against": Column("integer", "against"),
        },
    )


def power_table(rows: Sequence[Power]) -> Table:
    """Return what this many pairs of category B can show."""
    return table(
        "What judged pairs of category B can show",
        rows,
        {
            "pairs": Column("integer", priority=0),
            "sample": Column("integer", "queries to judge"),
            "wins": Column("integer", "significant from", priority=2),
            "ratio": Column("percent", "of the pairs", digits=1),
            "detectable": Column("percent", "found 4 times in 5", digits=1),
        },
        notes=(
            "Two-sided binomial test at 5 %, one decided outcome a pair. A run whose top passage is "
            "preferred as often as the last column says is found better four times in five.",
            "--sample draws this many queries.",
        ),
    )
