"""The page of each run: its ranks, its tests against the others, what it found, and what checks say of it."""

from collections.abc import Iterator

import numpy as np

from prefjudge.evaluation.boards import Board
from prefjudge.evaluation.measures.measures import direction
from prefjudge.evaluation.tests import Significance, compare_runs
from prefjudge.pages.page import Fact, Page, Section, is_web_address, query_address, run_address
from prefjudge.reading.leaderboards import RunMetadata
from prefjudge.reading.opened import run_surprises
from prefjudge.show.cells import Bold, Cell, Column, Table
from prefjudge.steps.report.material import sentence
from prefjudge.steps.report.site.state import SiteState
from prefjudge.words import many

_ANSWERS = 200
"""Queries that are listed of those whose answer a run found."""


def run_pages(state: SiteState) -> Iterator[Page]:
    """Yield a page for each run that is shown: those on the board, and those that wait for it."""
    board = state.boards.current.first
    tests = _tests(board)
    brought = _brought(state)
    ranked = set(state.boards.runs)
    for name, told in {**state.entries.shown, **state.entries.waiting}.items():
        parts = [Section(heading="About the run", facts=_about(told))] if told.told else []
        if name not in ranked:
            parts.append(Section(heading="Ranks", words=(_words_on_waiting(state, name),)))
        else:
            parts += [
                Section(heading="Ranks", tables=(_boards_table(state, name), *_past_table(state, name))),
                *_tested(state, tests, name),
            ]
        parts += [*_found(brought.get(name, [])), *_audited(state, name), *_healthy(state, name)]
        yield Page(address=run_address(name), title=name, parts=tuple(parts))


def _words_on_waiting(state: SiteState, name: str) -> str:
    if name in state.waiting:
        return (
            "People are comparing its new passages with the best-known answers. It will be ranked after that."
        )
    return "It was submitted, but none of its passages is judged yet. It will be ranked after that."


def _about(told: RunMetadata) -> tuple[Fact, ...]:
    facts = (
        ("Team", told.team),
        ("Description", told.description),
        ("Type", told.type),
        ("Submitted", str(told.submitted or "")),
        ("Paper", told.paper),
        ("Code", told.code),
    )
    return tuple(
        Fact(what=what, value=value, address=value if is_web_address(value) else "")
        for what, value in facts
        if value
    )


def _tests(board: Board) -> Significance | None:
    """Return the tests that the tiers rest on: paired t, all pairs, Holm's correction."""
    if not board.standings:
        return None
    return compare_runs(board.scores, test="t", correction="holm", rng=np.random.default_rng(0))


def _row_of(board: Board, name: str) -> tuple[Cell, ...]:
    runs = board.leaderboard.ranked
    row = next(one for one in runs if one.run == name)
    firm = next((one for one in board.standings if one.run == name), None)
    return row.rank, len(runs), row.score, row.low, row.high, firm.tier if firm else None


_PLACES = (
    Column(name="rank", kind="integer"),
    Column(name="of", kind="integer"),
    Column(name="score", kind="number"),
    Column(name="low", head="from", kind="number"),
    Column(name="high", head="to", kind="number"),
    Column(name="tier", kind="integer"),
)


def _boards_table(state: SiteState, name: str) -> Table:
    boards = [*state.boards.current.boards, *state.boards.labels]
    confidence = boards[0].leaderboard.confidence
    return Table(
        title="On the boards of today",
        columns=(Column(name="measure"), Column(name="qrels", head="under"), *_PLACES),
        rows=tuple(
            (board.leaderboard.measure, board.leaderboard.qrels, *_row_of(board, name)) for board in boards
        ),
        notes=(f"From, to: the {confidence:.0%} interval of the score over the queries.",),
    )


def _past_table(state: SiteState, name: str) -> list[Table]:
    rows: list[tuple[Cell, ...]] = [
        (one.version, one.made[:10] if one.made else None, *_row_of(one.first, name))
        for one in state.boards.versions
        if one.version and any(row.run == name for row in one.first.leaderboard.ranked)
    ]
    if not rows:
        return []
    measure = state.boards.current.first.leaderboard.measure
    return [
        Table(
            title=f"By version of the answers, {measure}",
            columns=(Column(name="version", kind="integer"), Column(name="made"), *_PLACES),
            rows=tuple(rows),
            notes=("Among the runs that were there then.",),
        )
    ]


def _tested(state: SiteState, tests: Significance | None, name: str) -> list[Section]:
    """Return the run against each other one, the best first."""
    if tests is None:
        return []
    own = tests.runs.index(name)
    order = {row.run: number for number, row in enumerate(state.boards.current.first.leaderboard.ranked)}
    found: list[tuple[int, tuple[Cell, ...]]] = []
    for pair in np.flatnonzero((tests.a == own) | (tests.b == own)).tolist():
        sign = 1 if tests.b[pair] == own else -1
        other = tests.runs[tests.a[pair] if sign > 0 else tests.b[pair]]
        p, differs = float(tests.p_adjusted[pair]), bool(tests.significant[pair])
        ends = sorted((sign * float(tests.low[pair]), sign * float(tests.high[pair])))
        gain = sign * float(tests.difference[pair])
        better = "better" if gain * direction(tests.measure) > 0 else "worse"
        verdict = better if differs else "not told apart"
        cells = (other, gain, *ends, Bold(p) if differs else p, verdict)
        found.append((order[other], cells))
    table = Table(
        title=f"Against each other run, {tests.measure}",
        columns=(
            Column(name="run", head="other run"),
            Column(name="difference", kind="number"),
            Column(name="low", head="from", kind="number"),
            Column(name="high", head="to", kind="number"),
            Column(name="p_adjusted", head="adjusted p", kind="p"),
            Column(name="verdict", head="this run is"),
        ),
        rows=tuple(cells for _, cells in sorted(found, key=lambda one: one[0])),
        notes=(
            f"{tests.variant}; correction: {tests.correction} over all pairs of runs, level {tests.alpha:g}. "
            f"From, to: the {1 - tests.alpha:.0%} interval of this pair alone. It may leave out 0 where p, "
            "adjusted for all pairs, does not tell the runs apart.",
        ),
    )
    return [Section(heading="Tests", tables=(table,))]


def _brought(state: SiteState) -> dict[str, list[str]]:
    """Return the queries whose best-known answer each run found first, alone or with others."""
    found: dict[str, list[str]] = {}
    for query, steps in state.answers.steps.items():
        sources = (
            source
            for doc in steps[-1].docs
            if (query, doc) in state.stored.findings
            for source in state.stored.findings[query, doc].sources
        )
        for source in dict.fromkeys(sources):
            found.setdefault(source, []).append(query)
    return found


def _found(queries: list[str]) -> list[Section]:
    if not queries:
        return []
    shown = f"; the first {_ANSWERS} of them" if len(queries) > _ANSWERS else ""
    return [
        Section(
            heading="Answers that it found",
            words=(
                f"Of {many(len(queries), 'query')} it found the best-known answer first, alone or with other "
                f"runs of the same round{shown}.",
            ),
            links=tuple(
                Fact(what=query, value="", address=query_address(query)) for query in queries[:_ANSWERS]
            ),
        )
    ]


def _audited(state: SiteState, name: str) -> list[Section]:
    if state.audit is None:
        return []
    words = [one.words for one in state.audit.findings if name in one.submissions]
    said = list(map(sentence, words))
    if not said and state.entries.shown.get(name, RunMetadata(run=name)).submitted is None:
        return []  # the audit did not look at it
    if not said:
        return [Section(heading="Audit", words=("The audit found nothing.",))]
    return [Section(heading="Audit", words=(*said, "A finding is a reason to ask, not a verdict."))]


def _healthy(state: SiteState, name: str) -> list[Section]:
    run = state.health.get(name)
    if run is None:
        return []
    facts = [
        Fact(what="Format", value=run.format),
        Fact(what="Lines", value=f"{run.lines:,}"),
        Fact(what="Queries", value=f"{run.queries:,}"),
        Fact(what="Documents a query", value=f"{run.depth_min:,} to {run.depth_max:,}"),
        Fact(what="Order", value=str(run.order)),
        *([Fact(what=f"Judged@{run.cutoff}", value=f"{run.judged:.1%}")] if run.judged is not None else []),
        Fact(what="SHA-256", value=run.digest.removeprefix("sha256:")),
    ]
    words = list(map(sentence, run_surprises(run)))
    return [Section(heading="The file", facts=tuple(facts), words=tuple(words))]
