"""The pages with boards: the first page, those of past versions, and the list of versions."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

from prefjudge.core.planning.challenge import Duel
from prefjudge.counts import many
from prefjudge.evaluation.leaderboards.boards import Board
from prefjudge.evaluation.leaderboards.correlation import correlate
from prefjudge.formats.run_metadata import RunMetadata
from prefjudge.render.pages.site.addresses import version_address
from prefjudge.render.pages.site.page import Fact, Page, Part
from prefjudge.render.tables.history import changes_table, versions_table
from prefjudge.render.tables.leaderboard import leaderboard_table
from prefjudge.render.tables.official import official_table
from prefjudge.render.tables.score import score_tables
from prefjudge.render.text.cells import Cell, Column, Table, bare
from prefjudge.steps.site.answers import NOT_SHOWN
from prefjudge.steps.site.boards import VersionBoards
from prefjudge.steps.site.state import SiteState
from prefjudge.steps.status.history import Version

_DAY = len("2026-11-22")


def first_page(state: SiteState, title: str) -> Page:
    """Return the first page: the board as it is, beside that of the labels, and what is to come."""
    current, board = state.boards.current, state.boards.current.first.leaderboard
    about = state.study.config.release.description
    when = f". They are of version {current.version}, made" if current.version else ", found"
    lead = (
        f"{many(len(board.ranked), 'run')} by {board.measure} under the best-known answers to "
        f"{many(board.queries, 'query')}{f'{when}{_since(current.made)}' if current.made else ''}.",
        *([_sentence(state.answers.confidence.words[0])] if state.answers.confidence else []),
    )
    return Page(
        address="index.html",
        title=title,
        lead=(*([about] if about else []), *lead),
        parts=(
            Part(heading="Leaderboard", tables=_tables(state, current, _ranks_before(state, current))),
            *_beside_labels(state),
            *_official(state),
            *_not_ranked(state),
            Part(
                heading="To follow and to reuse",
                links=(
                    Fact(what="leaderboard.csv", value="", address="leaderboard.csv"),
                    Fact(what="News as Atom", value="", address="feed.xml"),
                    Fact(what="News as JSON Feed", value="", address="feed.json"),
                ),
            ),
        ),
    )


def version_pages(state: SiteState) -> list[Page]:
    """Return the board of each version that is kept, and the answers that it changed."""
    pages = []
    known = {past.version: past for past in state.past.versions}
    for one in state.boards.versions if known else ():
        past = known[one.version]
        changes = changes_table({past.version: (past.changes, _public(state, past))})
        kept = [number for number, column in enumerate(changes.columns) if column.name != "version"]
        parts = [Part(heading="Leaderboard", tables=_tables(state, one, _ranks_before(state, one)))]
        if changes.rows:
            only = _select(changes, kept)
            parts.append(Part(heading="Answers that changed", tables=(only,)))
        pages.append(
            Page(
                address=version_address(one.version),
                title=f"Version {one.version} of the answers",
                lead=(version_words(past, one),),
                parts=tuple(parts),
            )
        )
    return pages


def history_page(state: SiteState) -> Page:
    """Return the list of all versions."""
    moved = {after.version: _moved(before, after) for before, after in pairwise(state.boards.versions)}
    rows: list[Mapping[str, Cell]] = [
        {
            "version": one.version,
            "made": _day(one.made),
            "queries": one.queries,
            "answers": one.answers,
            "challenge": one.challenge,
            "newcomers": sum(not duel.returned for duel in one.duels) if one.challenge else None,
            "changed": len(one.changes) if one.version > 1 else None,
            "moved": moved.get(one.version),
        }
        for one in state.past.versions
    ]
    words = () if rows else ("The study keeps one version of its answers. `prefjudge run` keeps each.",)
    return Page(
        address="history.html",
        title="History",
        parts=(
            Part(
                heading="Versions",
                words=words or ("Each version has the board as it was, with the runs that were there then.",),
                tables=(versions_table(rows),) if rows else (),
            ),
        ),
    )


def version_words(past: Version, one: VersionBoards) -> str:
    """Return what a version is in a sentence, for its page and for the feeds."""
    runs = many(len(one.first.leaderboard.ranked), "run")
    if past.challenge is None:
        first = f"The first best-known answers, to {many(past.queries, 'query')}"
        return f"{first}{_since(one.made)}. They rank {runs}."
    newcomers = many(sum(not duel.returned for duel in past.duels), "newcomer")
    return (
        f"{newcomers} met the best-known answers, and those to {many(len(past.changes), 'query')} "
        f"changed{_since(one.made)}. They rank {runs}."
    )


def board_table(
    board: Board, told: Mapping[str, RunMetadata], before: Mapping[str, int] | None = None
) -> Table:
    """Return a leaderboard as ``score`` has it, with the ranks before, teams and days of submission."""
    plain = leaderboard_table(board.leaderboard, board.standings)
    more: list[tuple[Column, Mapping[str, Cell]]] = []
    if before:
        more.append((Column(name="before", head="rank before", kind="integer"), before))
    more += [
        (Column(name="team"), {name: one.team or None for name, one in told.items()}),
        (
            Column(name="submitted"),
            {name: str(one.submitted) if one.submitted else None for name, one in told.items()},
        ),
    ]
    more = [(column, cells) for column, cells in more if any(cells.values())]
    run = [column.name for column in plain.columns].index("run")
    return Table(
        title=plain.title,
        columns=(*plain.columns, *(column for column, _ in more)),
        rows=tuple((*row, *(cells.get(str(bare(row[run]))) for _, cells in more)) for row in plain.rows),
        notes=plain.notes,
    )


def _tables(state: SiteState, one: VersionBoards, before: Mapping[str, int] | None) -> tuple[Table, ...]:
    told = state.entries.shown
    first, *others = one.boards
    return (board_table(first, told, before), *(board_table(board, told) for board in others))


def _ranks_before(state: SiteState, one: VersionBoards) -> dict[str, int] | None:
    place = state.boards.versions.index(one)
    if not place:
        return None
    earlier = state.boards.versions[place - 1].first.leaderboard
    return {row.run: row.rank for row in earlier.ranked if row.rank is not None}


def _moved(before: VersionBoards, after: VersionBoards) -> int:
    """Return how many runs changed their ranks, among those that were there before."""
    shifts = correlate(before.first.leaderboard, after.first.leaderboard).shifts
    return sum(shift.shift != 0 for shift in shifts)


def _public(state: SiteState, past: Version) -> list[Duel]:
    """Return the duels of a version without the names of runs that are not shown."""
    hidden = state.entries.hidden
    return [
        replace(duel, brought_by=tuple(NOT_SHOWN if run in hidden else run for run in duel.brought_by))
        for duel in past.duels
    ]


def _beside_labels(state: SiteState) -> list[Part]:
    """Return how the same runs stand under the labels that were pooled."""
    boards = [*state.boards.labels, *state.boards.current.boards]
    if not state.boards.labels:
        return []
    return [Part(heading="Under the labels", tables=tuple(score_tables(boards, tau=state.taus)))]


def _official(state: SiteState) -> list[Part]:
    if state.official is None:
        return []
    return [Part(heading="Beside the official leaderboard", tables=(official_table(state.official),))]


def _not_ranked(state: SiteState) -> list[Part]:
    """Return the runs that no board ranks yet: those being judged, and those that the study does not have."""
    waiting = [(name, "being judged") for name in state.waiting]
    rows = [*waiting, *((name, "submitted") for name in state.entries.waiting)]
    if not rows:
        return []
    told = {**state.entries.shown, **state.entries.waiting}
    table = Table(
        title="Runs that are not ranked yet",
        columns=(Column(name="run"), Column(name="team"), Column(name="submitted"), Column(name="state")),
        rows=tuple(
            (name, told[name].team or None, str(told[name].submitted or "") or None, what)
            for name, what in rows
        ),
        notes=("A run is ranked once people have compared its newcomers with the best-known answers.",),
    )
    return [Part(heading="Not ranked yet", tables=(table,))]


def _select(table: Table, kept: Sequence[int]) -> Table:
    return Table(
        title=table.title,
        columns=tuple(table.columns[place] for place in kept),
        rows=tuple(tuple(row[place] for place in kept) for row in table.rows),
        notes=table.notes,
    )


def _since(made: str | None) -> str:
    return f" on {_day(made)}" if made else ""


def _day(made: str | None) -> str | None:
    """Return the day of a moment: a reader needs no more."""
    return made[:_DAY] if made else None


def _sentence(words: str) -> str:
    return f"{words[0].upper()}{words[1:]}."
