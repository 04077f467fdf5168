"""The page of each query and of each run, and the list of queries."""

import re
from collections.abc import Iterator, Sequence

import numpy as np

from prefjudge.core.resolving.resolutions import Resolution
from prefjudge.evaluation.boards import Board
from prefjudge.evaluation.measures.measures import direction
from prefjudge.evaluation.tests import Significance, compare_runs
from prefjudge.pages.page import (
    Fact,
    Page,
    Passage,
    Section,
    is_web_address,
    list_address,
    query_address,
    run_address,
)
from prefjudge.reading.leaderboards import RunMetadata
from prefjudge.reading.opened import run_surprises
from prefjudge.show.cells import Bold, Cell, Column, Table
from prefjudge.steps.report.boards import STATUSES
from prefjudge.steps.report.material import sentence
from prefjudge.steps.report.site.state import SiteState, Step, found_by
from prefjudge.words import chance_text, many, some

_A_PAGE = 500
"""Queries on a page of the list: more take a phone long to lay out."""
_OTHERS = 10
_TITLE = 120


def query_list(state: SiteState) -> list[Page]:
    """Return the list of all queries, in pages."""
    rows = sorted(state.queries, key=lambda one: in_order(one.query_id))
    parts = [rows[start : start + _A_PAGE] for start in range(0, len(rows), _A_PAGE)] or [[]]
    several = tuple(
        Fact(what=f"{part[0].query_id} to {part[-1].query_id}", value="", address=list_address(number))
        for number, part in enumerate(parts, 1)
        if part
    )
    return [
        Page(
            address=list_address(number),
            title="Queries" if number == 1 else f"Queries, page {number}",
            lead=(f"{many(len(rows), 'query')}, each with its best-known answer.",),
            parts=(
                *([Section(heading="Pages", links=several)] if len(parts) > 1 else []),
                Section(heading="Best-known answers", tables=(_list_table(state, part),)),
            ),
        )
        for number, part in enumerate(parts, 1)
    ]


def query_pages(state: SiteState) -> Iterator[Page]:
    """Yield a page for each query."""
    for one in state.queries:
        yield _query_page(state, one)


def _query_page(state: SiteState, one: Resolution) -> Page:
    query, question = one.query_id, state.texts.get(one.query_id, "")
    steps = state.steps.get(query, ())
    best = steps[-1].docs if steps else ()
    return Page(
        address=query_address(query),
        title=_cut(question) or f"Query {query}",
        lead=(*([question] if len(question) > _TITLE else []), *([f"Query {query}"] if question else [])),
        parts=(
            Section(
                heading="Best-known answer" if len(best) == 1 else "Best-known answers",
                words=() if best else ("Not enough is judged yet to say which passage is the best.",),
                passages=tuple(_passage(state, one, steps, doc) for doc in best),
                facts=_facts(state, one),
            ),
            *([Section(heading="How it came", tables=(_steps_table(state, query, steps),))] if steps else []),
            *_others(state, one, best),
        ),
    )


def _passage(state: SiteState, one: Resolution, steps: Sequence[Step], doc: str) -> Passage:
    chance = one.p_best.get(doc)
    since = next((step.version for step in reversed(steps) if doc not in step.before), steps[0].version)
    names = found_by(state.findings, one.query_id, doc, state.entries.hidden)
    words = [
        *([f"Found first by {some(names)}"] if names else []),
        *([f"the best since version {since}"] if since else []),
        *([f"P(best) {chance_text(chance)}"] if chance is not None else []),
    ]
    sentence = "; ".join(words)
    return Passage(
        role="Passage",
        doc=doc,
        text=state.passages.get(doc, ""),
        words=(f"{sentence[:1].upper()}{sentence[1:]}.",) if words else (),
    )


def _facts(state: SiteState, one: Resolution) -> tuple[Fact, ...]:
    runs = len(state.boards.runs)
    first, ten = (found.get(one.query_id, 0) for found in (state.boards.top, state.boards.top_ten))
    return (
        Fact(what="Decided", value=STATUSES[one.status]),
        *([Fact(what="The best is", value=one.among)] if one.among else []),
        Fact(what="Judged", value=f"{many(one.votes, 'vote')} on {many(one.pool_size, 'candidate')}"),
        *(
            [Fact(what="Missing", value=many(one.missing, "pair lacks a vote", "pairs lack a vote"))]
            if one.missing
            else []
        ),
        Fact(
            what="Runs",
            value=f"{first:,} of {runs:,} have a best-known answer first, {ten:,} among their first ten",
        ),
    )


def _steps_table(state: SiteState, query: str, steps: Sequence[Step]) -> Table:
    kept = state.boards.current.version > 0
    rows: list[tuple[Cell, ...]] = []
    for step in steps:
        names = dict.fromkeys(
            name
            for doc in step.docs
            if doc not in step.before
            for name in found_by(state.findings, query, doc, state.entries.hidden)
        )
        duel = step.duel
        rows.append(
            (
                *((step.version,) if kept else ()),
                " ".join(step.docs) or None,
                some(names) or None,
                " ".join(step.before) or None,
                duel.votes_for if duel else None,
                duel.votes_against if duel else None,
                duel.chance if duel else None,
            )
        )
    return Table(
        title="Best-known answers, the first ones first",
        columns=(
            *((Column(name="version", kind="integer"),) if kept else ()),
            Column(name="answer"),
            Column(name="found_by", head="found first by"),
            Column(name="replaced"),
            Column(name="votes_for", head="votes for", kind="number", digits=1),
            Column(name="votes_against", head="against", kind="number", digits=1),
            Column(name="chance", head="P(best) then", kind="chance"),
        ),
        rows=tuple(rows),
        notes=("A tie is half a vote for each side. The labels are those that the study began with.",),
    )


def _others(state: SiteState, one: Resolution, best: Sequence[str]) -> list[Section]:
    """Return the other candidates, the most probable ones."""
    rest = [(doc, chance) for doc, chance in one.p_best.items() if doc not in best]
    if not rest:
        return []
    likely = sorted(rest, key=lambda pair: (-pair[1], pair[0]))[:_OTHERS]
    findings, hidden = state.findings, state.entries.hidden
    table = Table(
        title="Candidates that lost"
        if len(rest) == len(likely)
        else f"The {_OTHERS} most probable of the others",
        columns=(
            Column(name="candidate"),
            Column(name="p_best", head="P(best)", kind="chance"),
            Column(name="found_by", head="found first by"),
        ),
        rows=tuple(
            (doc, chance, some(found_by(findings, one.query_id, doc, hidden)) or None)
            for doc, chance in likely
        ),
    )
    return [Section(heading="Other candidates", tables=(table,))]


def _list_table(state: SiteState, part: Sequence[Resolution]) -> Table:
    kept = state.boards.current.version > 0
    rows: list[tuple[Cell, ...]] = []
    for one in part:
        steps = state.steps.get(one.query_id, ())
        best = steps[-1].docs if steps else ()
        names = dict.fromkeys(
            name for doc in best for name in found_by(state.findings, one.query_id, doc, state.entries.hidden)
        )
        rows.append(
            (
                one.query_id,
                _cut(state.texts.get(one.query_id, "")) or None,
                " ".join(best) or None,
                " ".join(chance_text(one.p_best[doc]) for doc in best if doc in one.p_best) or None,
                one.among if len(one.likely) > 1 else None,
                some(names) or None,
                *((steps[-1].version if steps else None,) if kept else ()),
            )
        )
    return Table(
        title="Queries",
        columns=(
            Column(name="query"),
            Column(name="question"),
            Column(name="best", head="best-known answer"),
            Column(name="p_best", head="P(best)"),
            Column(name="among", head="the best is"),
            Column(name="found_by", head="found first by"),
            *((Column(name="version", head="since version", kind="integer"),) if kept else ()),
        ),
        rows=tuple(rows),
        notes=("P(best): how probable it is, by all votes, that the answer is the best of the candidates.",),
    )


def in_order(name: str) -> tuple[tuple[int, int, str], ...]:
    """Return what puts names into the order of the numbers in them: q2 before q10."""
    parts = re.findall(r"[0-9]+|[^0-9]+", name)
    digits = (part.lstrip("0") if part.isascii() and part.isdigit() else None for part in parts)
    # as long as it likes: a number of more than 4,300 digits is none that Python reads
    return tuple(
        (1, 0, part) if number is None else (0, len(number), number)
        for part, number in zip(parts, digits, strict=True)
    )


def _cut(text: str) -> str:
    return text if len(text) <= _TITLE else f"{text[: _TITLE - 1]}…"


# The page of each run: its ranks, its tests against the others, what it found, and what checks say of it.


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
    for query, steps in state.steps.items():
        sources = (
            source
            for doc in steps[-1].docs
            if (query, doc) in state.findings
            for source in state.findings[query, doc].sources
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
