"""The pages of queries: a list of all, and one for each with its best-known answers and how they came."""

import re
from collections.abc import Collection, Iterator, Sequence

from prefjudge.core.resolving.resolutions import Resolution
from prefjudge.pages.page import Fact, Page, Passage, Section, list_address, query_address
from prefjudge.show.cells import Cell, Column, Table
from prefjudge.steps.report.boards import STATUSES
from prefjudge.steps.report.site.state import SiteState, Step, found_by
from prefjudge.words import chance_text, many

_A_PAGE = 500
"""Queries on a page of the list: more take a phone long to lay out."""
_OTHERS = 10
_TITLE = 120
_NAMED = 5


def query_list(state: SiteState) -> list[Page]:
    """Return the list of all queries, in pages."""
    rows = sorted(state.answers.queries, key=lambda one: in_order(one.query_id))
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


def query_pages(state: SiteState, *, texts: bool) -> Iterator[Page]:
    """Yield a page for each query."""
    for one in state.answers.queries:
        yield _query_page(state, one, texts=texts)


def _query_page(state: SiteState, one: Resolution, *, texts: bool) -> Page:
    query, question = one.query_id, state.stored.queries.get(one.query_id, "")
    steps = state.answers.steps.get(query, ())
    best = steps[-1].docs if steps else ()
    return Page(
        address=query_address(query),
        title=_cut(question) or f"Query {query}",
        lead=(*([question] if len(question) > _TITLE else []), *([f"Query {query}"] if question else [])),
        parts=(
            Section(
                heading="Best-known answer" if len(best) == 1 else "Best-known answers",
                words=() if best else ("Not enough is judged yet to say which passage is the best.",),
                passages=tuple(_passage(state, one, steps, doc, texts=texts) for doc in best),
                facts=_facts(state, one),
            ),
            *([Section(heading="How it came", tables=(_steps_table(state, query, steps),))] if steps else []),
            *_others(state, one, best),
        ),
    )


def _passage(state: SiteState, one: Resolution, steps: Sequence[Step], doc: str, *, texts: bool) -> Passage:
    chance = one.p_best.get(doc)
    since = next((step.version for step in reversed(steps) if doc not in step.before), steps[0].version)
    names = found_by(state.stored.findings, one.query_id, doc, state.entries.hidden)
    words = [
        *([f"Found first by {_listed(names)}"] if names else []),
        *([f"the best since version {since}"] if since else []),
        *([f"P(best) {chance_text(chance)}"] if chance is not None else []),
    ]
    sentence = "; ".join(words)
    return Passage(
        role="Passage",
        doc=doc,
        text=state.stored.passages.get(doc, "") if texts else "",
        words=(f"{sentence[:1].upper()}{sentence[1:]}.",) if words else (),
    )


def _facts(state: SiteState, one: Resolution) -> tuple[Fact, ...]:
    runs = len(state.boards.runs)
    first, ten = (found.get(one.query_id, 0) for found in (state.boards.top, state.boards.top_ten))
    return (
        Fact(what="Decided", value=STATUSES[one.status]),
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
            for name in found_by(state.stored.findings, query, doc, state.entries.hidden)
        )
        duel = step.duel
        rows.append(
            (
                *((step.version,) if kept else ()),
                " ".join(step.docs) or None,
                _listed(names) or None,
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
    findings, hidden = state.stored.findings, state.entries.hidden
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
            (doc, chance, _listed(found_by(findings, one.query_id, doc, hidden)) or None)
            for doc, chance in likely
        ),
    )
    return [Section(heading="Other candidates", tables=(table,))]


def _list_table(state: SiteState, part: Sequence[Resolution]) -> Table:
    kept = state.boards.current.version > 0
    rows: list[tuple[Cell, ...]] = []
    for one in part:
        steps = state.answers.steps.get(one.query_id, ())
        best = steps[-1].docs if steps else ()
        names = dict.fromkeys(
            name
            for doc in best
            for name in found_by(state.stored.findings, one.query_id, doc, state.entries.hidden)
        )
        rows.append(
            (
                one.query_id,
                _cut(state.stored.queries.get(one.query_id, "")) or None,
                " ".join(best) or None,
                " ".join(chance_text(one.p_best[doc]) for doc in best if doc in one.p_best) or None,
                _listed(names) or None,
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
            Column(name="found_by", head="found first by"),
            *((Column(name="version", head="since version", kind="integer"),) if kept else ()),
        ),
        rows=tuple(rows),
        notes=("P(best): how probable it is, by all votes, that the answer is the best of the candidates.",),
    )


def _listed(names: Collection[str]) -> str:
    """Return the first of some names, and how many more there are."""
    first = ", ".join(list(names)[:_NAMED])
    return f"{first} and {len(names) - _NAMED:,} more" if len(names) > _NAMED else first


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
