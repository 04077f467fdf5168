"""What a report says of runs and answers: its first screen, the leaderboards, and the best answers."""

from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from math import isfinite

from prefjudge.core.judgments import Judgments
from prefjudge.core.resolving.confidence import resolved_queries
from prefjudge.core.resolving.resolutions import PREFERENCE_NAME, Resolution
from prefjudge.errors import PrefjudgeError
from prefjudge.evaluation.boards import Board, Leaderboard, by_people
from prefjudge.evaluation.correlation import RankCorrelation
from prefjudge.field.crowd import read_prices
from prefjudge.findings.answers import BestAnswers, open_words
from prefjudge.pages.page import Change, Fact, FirstScreen, Passage, Picture, Place, Section, shortened
from prefjudge.show.boards import (
    categories_table,
    leaderboard_table,
    perfect_words,
    preferred_table,
    votings_words,
)
from prefjudge.show.cells import Bold, Column, Table
from prefjudge.show.plots import plot_leaderboard, plot_shares, plot_two_boards
from prefjudge.show.statistics import naive_table, outcomes_table
from prefjudge.steps.compare import compared
from prefjudge.steps.report.material import (
    Answers,
    Material,
    chance_picture,
    drawn,
    rank_picture,
    sentence,
    win_ratio_picture,
)
from prefjudge.steps.score import compared_boards
from prefjudge.steps.status import StatusResult
from prefjudge.steps.winratio import winratio
from prefjudge.study.pools import has_runs, load_inputs
from prefjudge.study.store import Study
from prefjudge.words import many

# The first screen, which a report and a site share.

FIRST_SHOWN = 10
"""Runs on the board of the first screen."""


def report_screen(material: Material) -> FirstScreen:
    """Return the first screen of a report; what the study does not have yet is not there."""
    boards: Sequence[Board] = ()
    tau: Sequence[RankCorrelation] = ()
    statuses: Mapping[str, int] = {}
    changed: tuple[int, int] | None = None
    if _has_boards(material):
        with suppress(PrefjudgeError):  # a section says why
            boards, tau = material.scored.boards, material.scored.tau
    with suppress(PrefjudgeError):
        statuses = material.answers.best.resolutions.counts()
        both, others = _changed(material.answers)
        changed = (len(others), len(both)) if both else None
    return first_screen(material.study, material.state, boards, tau, statuses, changed)


def first_screen(
    study: Study,
    state: StatusResult,
    boards: Sequence[Board],
    tau: Sequence[RankCorrelation],
    statuses: Mapping[str, int],
    changed: tuple[int, int] | None,
) -> FirstScreen:
    """Return what people prefer, how sure that is, and what is next, from what the data hold."""
    # `changed` says in how many queries another passage is preferred to the labelled one, and in how many
    # this is known. Without runs or answers there are no `boards`, nor `tau` of them.
    judges = "simulated workers" if state.rehearsal else "people"
    preferred = ""
    if changed:
        preferred = (
            f"In {changed[0]:,} of {many(changed[1], 'query')} {judges} prefer another passage to the "
            "labelled one."
        )
    decided = sum(statuses.values()) - statuses.get("sparse", 0)
    figures = [Fact(what="queries decided", value=f"{decided:,} of {state.queries:,}")]
    figures.append(Fact(what="votes that count", value=f"{state.judgments:,}"))
    if not boards:
        asked = f"{many(state.pairs, 'pair')} of {many(state.queries, 'query')} wait to be compared."
        result = preferred or (f"{decided:,} queries are decided." if decided else asked)
        return FirstScreen(result=result, figures=tuple(figures), next=_next(study, state, None))
    board = boards[by_people([one.leaderboard for one in boards])]
    one, of_people = board.leaderboard, board.leaderboard.qrels == PREFERENCE_NAME
    pair = next((found for found in tau if found.other == f"{one.measure} {one.qrels}"), None)
    shifts = {shift.run: shift for shift in pair.shifts} if pair and of_people else {}
    if pair and shifts and isfinite(pair.tau):
        figures.append(Fact(what=f"τ with the board of the {pair.qrels[0]} labels", value=f"{pair.tau:.2f}"))
    firm = {standing.run: standing for standing in board.standings}
    places = [
        Place(
            rank=row.rank or 0,
            run=row.run,
            score=row.score,
            low=row.low,
            high=row.high,
            was=shifts[row.run].reference if row.run in shifts else None,
            rises=shifts[row.run].shift if row.run in shifts else None,
            may_lead=row.run in firm and firm[row.run].highest == 1,
            ranks=f"{firm[row.run].highest}–{firm[row.run].lowest}" if row.run in firm else "",
        )
        for row in one.ranked[:FIRST_SHOWN]
    ]
    best = (
        f"The best {FIRST_SHOWN} of {len(one.ranked)} runs" if len(one.ranked) > FIRST_SHOWN else "The runs"
    )
    notes = [f"Bars: the {one.confidence:.0%} interval over queries."]
    if board.firmness:
        notes.append("May rank: the ranks that no test rules out. Runs in blue may be the best.")
        notes.append(board.firmness.words)
    if shifts:
        notes.append(f"Was: the rank under the {pair.qrels[0] if pair else ''} labels.")
    whose = _whose(judges) if of_people else f"the {one.qrels} labels"
    return FirstScreen(
        result=_result(board, judges if of_people else ""),
        also=preferred,
        figures=tuple(figures),
        board=f"{best} by {whose}, {many(one.queries, 'query')}",
        measure=one.measure,
        places=tuple(places),
        notes=tuple(notes),
        next=_next(study, state, board),
    )


def _whose(judges: str) -> str:
    return f"{judges}'s answers" if judges == "people" else f"the answers of {judges}"


def _result(board: Board, judges: str) -> str:
    """Return which run is the best and how sure that is; ``judges`` is empty where labels say so."""
    rows = board.leaderboard.ranked
    leaders = [row.run for row in rows if row.rank == 1]
    names = " and ".join(leaders) if len(leaders) < 3 else f"{len(leaders)} runs alike"
    verb = "lead" if len(leaders) > 1 else "leads"
    by = (
        f"{judges[0].upper()}{judges[1:]} prefer {names}"
        if judges
        else f"{names} {verb} by the {board.leaderboard.qrels} labels"
    )
    if not board.standings:
        return f"{by}."
    rivals = sum(one.highest == 1 for one in board.standings) - len(leaders)
    rest = len(rows) - len(leaders)
    if rivals <= 0:
        others = "no other run may be the best"
    elif rivals == rest:
        others = f"any of the {len(rows):,} runs may be the best"
    else:
        others = f"{rivals:,} of the other {many(rest, 'run')} may be the best"
    if rivals > 0 and judges:  # "prefer" would say more than is known
        by = f"{names} {verb} by {_whose(judges)}"
    return f"{by}, but {others}." if rivals > 0 else f"{by}: {others}."


def _next(study: Study, state: StatusResult, board: Board | None) -> tuple[str, str]:
    """Return what to type next, and what it does, with its price where that is known."""
    if open_ := open_words(state.hits, state.waiting, state.challenge):
        price = read_prices(study.config).submission(study.config.hit.reward, 1) * state.missing
        cost = f", {many(state.missing, 'assignment')} for ${price:,.2f}" if state.missing else ""
        cost += f"; what waits: {_offered(study, state)}" if state.waiting and not state.challenge else ""
        return "prefjudge run", f"goes on with what is open: {open_}{cost}."
    if state.waiting or not state.judgments:
        return "prefjudge plan", f"says how to spend votes on what waits: {_offered(study, state)}."
    if board and sum(one.highest == 1 for one in board.standings) > 1:
        return "prefjudge compare", "says which runs differ; only more queries tell the first ones apart."
    return "prefjudge release", "makes a bundle of it to share."


def _offered(study: Study, state: StatusResult) -> str:
    """Return how many pairs wait, and what they cost as ``publish`` would ask for them."""
    pairs, design, reward = state.waiting or state.pairs, study.config.design, study.config.hit.reward
    hits = -(-pairs // design.pairs_per_hit)
    each = design.judgments_per_pair
    price = read_prices(study.config).submission(reward, each) * hits * each
    votes = "one vote" if each == 1 else f"{each} votes"
    return f"{many(pairs, 'pair')}, about ${price:,.2f} at {votes} each"


def boards_section(material: Material) -> list[Section]:
    """Return the sections on the leaderboards, and on the outcomes that their differences are made of."""
    if not _has_boards(material):
        material.notices.append("the study has no runs, so it has no leaderboards; add runs by --runs")
        return []
    result = material.scored
    pairs = list(zip(result.tau, compared_boards(result), strict=True))
    pictures = [_against(material, a, b, pair) for pair, (a, b) in pairs] or [
        _alone(material, one) for one in result.boards
    ]
    firm = result.boards[by_people(result.leaderboards)]
    if firm.standings:
        pictures.append(rank_picture(material, firm))
    if result.winratio and result.winratio.pairs:
        pictures.append(win_ratio_picture(material, result.winratio))
    tables = [replace(table, provenance={}) for table in result.tables()]
    perfect = [one.leaderboard for one in result.boards if one.leaderboard.perfect]
    finding = " ".join(
        [
            *(f"By {boards[0].measure} {_kendall(pair)}." for pair, boards in pairs if isfinite(pair.tau)),
            *(f"By {one.measure} {perfect_words(one)}." for one in perfect),
        ]
    )
    return [
        Section(heading="Leaderboards", finding=finding, pictures=tuple(pictures), tables=tuple(tables)),
        *outcomes_section(material),
    ]


def _has_boards(material: Material) -> bool:
    with material.study.transaction(write=False) as db:
        return has_runs(db) or bool(material.runs)


def _against(material: Material, a: Leaderboard, b: Leaderboard, pair: RankCorrelation) -> Picture:
    words = " and ".join(f"{one.measure}, {one.qrels} qrels" for one in (a, b))
    # what it draws stands in the table of both boards
    return drawn(material, "old-against-new", words, partial(plot_two_boards, a, b, tau=pair))


def _alone(material: Material, one: Board) -> Picture:
    board = one.leaderboard
    words = f"{board.measure}, {board.qrels} qrels"
    table = leaderboard_table(board, one.standings)
    draw = partial(plot_leaderboard, board, one.standings)
    return drawn(material, "leaderboard", words, draw, table)


def _kendall(pair: RankCorrelation) -> str:
    others = (
        "" if pair.same_queries else f", and {pair.common.tau:.2f} over the {pair.queries:,} common queries"
    )
    if pair.over == "common queries":
        others = f", and {pair.printed.tau:.2f} between the boards as printed"
    return f"Kendall's τ is {pair.tau:.2f}{votings_words(pair)}{others}"


# The report's section on best answers: beside the labels, and where people prefer another passage.

_MOST_CHANGES = 12
"""Changed answers that are shown with their texts."""
_MOST_ROWS = 500
"""Queries that are listed."""
STATUSES = {
    "single": "one best answer",
    "tie": "several that cannot be told apart",
    "cycle": "several that are preferred to each other in a cycle",
    "partial": "the best of those that were compared",
    "sparse": "not enough is judged to say",
}


def answers_section(material: Material) -> list[Section]:
    """Return the section on the best answers."""
    found = material.answers
    best, rows = found.best, list(resolved_queries(found.best.resolutions, found.chances))
    both, changed = _changed(found)
    words: list[str] = []
    finding = ""
    counts = best.resolutions.counts()
    if counts["sparse"]:  # first: what follows speaks of the other queries alone
        finding = (
            f"Not enough is judged to name a best answer to {counts['sparse']:,} of "
            f"{many(len(rows), 'query')}. "
        )
    if counts["partial"]:
        finding += (
            f"{many(counts['partial'], 'query is', 'queries are')} judged in part: the answer is the best of "
            "the passages that were compared. "
        )
    if found.sure is not None:
        first, *others = found.sure.words
        finding += f"{sentence(first)} "
        words += map(sentence, others)
    if both:
        finding += (
            f"Of {many(len(both), 'query')} with a labelled passage and a best answer, another "
            f"passage is preferred in {len(changed):,} ({len(changed) / len(both):.0%})."
        )
    if changed:
        shown = f"the first {_MOST_CHANGES} queries" if len(changed) > _MOST_CHANGES else "the queries"
        words.append(
            f"Shown here are {shown} where another passage is preferred to the labelled one, with the votes "
            "between the two."
        )
    words.append(_how_found(best))
    won = _votes_won(best.votes.log)
    return [
        Section(
            heading="Best answers",
            fold="Queries",
            finding=finding.strip(),
            words=tuple(words),
            pictures=tuple(filter(None, [chance_picture(material, found)])),
            changes=tuple(_change(one, found, won) for one in changed[:_MOST_CHANGES]),
            tables=(_answers_table(rows, found, changed),),
        )
    ]


def _changed(found: Answers) -> tuple[list[Resolution], list[Resolution]]:
    """Return the queries with a label and a best answer, and those of them where the two differ."""
    labelled = found.labelled
    both = [one for one in found.best.resolutions if one.winners and one.query_id in labelled]
    return both, [one for one in both if not {*one.winners} & {*labelled[one.query_id]}]


def _how_found(best: BestAnswers) -> str:
    decided = ", ".join(f"{count:,} {status}" for status, count in best.resolutions.counts().items() if count)
    kept = f", version {best.version} of the answers that run keeps" if best.version else ""
    how = "strategy" if best.version and best.votes.driven_by else "rule"
    options = "" if best.version else best.how.options
    return f"By the {how} {best.resolutions.rule}{options}{kept}: {decided}."


def _votes_won(log: Judgments) -> Counter[tuple[str, str, str]]:
    """Count the votes for one passage of a query over another."""
    decided = log.choice != 0
    columns = (log.query[decided], log.winner[decided], log.loser[decided])
    rows = zip(*(column.tolist() for column in columns), strict=True)
    return Counter((log.queries[query], log.docs[a], log.docs[b]) for query, a, b in rows)


def _change(one: Resolution, found: Answers, won: Mapping[tuple[str, str, str], int]) -> Change:
    query = one.query_id
    pairs = [(old, new) for old in found.labelled[query] for new in one.winners]
    # where there are several, those that were compared most often
    old, new = max(pairs, key=lambda pair: won.get((query, *pair), 0) + won.get((query, *pair[::-1]), 0))

    def passage(doc: str, other: str) -> Passage:
        text = shortened(found.passages.get(doc, ""))
        return Passage(doc=doc, text=text, votes=won.get((query, doc, other), 0))

    text = shortened(found.queries.get(query, ""))
    return Change(query=query, text=text, labelled=passage(old, new), best=passage(new, old))


def _answers_table(rows: list[Resolution], found: Answers, changed: list[Resolution]) -> Table:
    """Return a row for each query; of many, those that need a look."""
    labelled = found.labelled
    others = {one.query_id for one in changed}
    listed = rows
    if len(rows) > _MOST_ROWS:
        listed = [one for one in rows if one.query_id in others or one.status != "single"][:_MOST_ROWS]
    statuses = dict.fromkeys(one.status.value for one in listed)
    notes = [". ".join(f"{status}: {STATUSES[status]}" for status in statuses) + "."] if listed else []
    if labelled:
        notes.append("labelled: the passages that the qrels put into the pool; they may label others, too.")
    if len(listed) < len(rows):
        notes.append(
            f"Listed are {len(listed):,} of {len(rows):,} queries, of those without a single best answer or "
            "with another than the labelled passage."
        )
    columns = (
        Column(name="query"),
        Column(name="question"),
        Column(name="labelled"),
        Column(name="best"),
        Column(name="p_best", head="P(best)"),
        Column(name="among", head="the best is"),
        Column(name="status"),
        Column(name="pool", kind="integer"),
        Column(name="votes", kind="integer"),
        Column(name="missing", kind="integer"),
    )
    cells = [
        (
            one.query_id,
            shortened(found.queries.get(one.query_id, "")),
            " ".join(labelled.get(one.query_id, ())),
            Bold(" ".join(one.winners)) if one.query_id in others else " ".join(one.winners),
            one.sure,
            one.among if len(one.likely) > 1 else "",
            one.status.value,
            one.pool_size,
            one.votes,
            one.missing,
        )
        for one in listed
    ]
    told = [place for place in range(len(columns)) if any(row[place] for row in cells)]
    return Table(
        title="The best answer to each query"
        + (", bold where it is not the labelled passage" if labelled else ""),
        columns=tuple(columns[place] for place in told),
        rows=tuple(tuple(row[place] for place in told) for row in cells),
        notes=tuple(notes),
    )


# The papers' tables for a study: sections of its report.


def top_section(material: Material) -> list[Section]:
    """Return Tables 1 and 2 and Figure 2 of shallow pooling, where a study pooled one run with the qrels."""
    with material.study.transaction(write=False) as db:
        kinds = {kind: [one.name for one in load_inputs(db) if one.kind == kind] for kind in ("run", "qrels")}
    if len(kinds["run"]) != 1 or not kinds["qrels"]:
        return []
    result = winratio(material.study, against_qrel=kinds["run"][0], **material.how)
    found = result.against_qrel
    assert found is not None, "it was asked for"
    finding = ""
    if found.b.qrel + found.b.rival:
        finding = (
            f"Where they differ, people prefer the top passage of {found.run} to the qrel for "
            f"{found.b.rival_ratio:.1%} of {many(found.b.qrel + found.b.rival, 'query')}."
        )
    preferred = preferred_table(found)
    words = f"Who was preferred, {found.run} or the qrels"
    return [
        Section(
            heading="The qrels against one run",
            finding=finding,
            pictures=(drawn(material, "qrels-against-run", words, partial(plot_shares, found), preferred),),
            tables=(categories_table(found.split, found.run), preferred),
        )
    ]


def outcomes_section(material: Material) -> list[Section]:
    """Return Tables 1 and 2 of Lin et al. (SIGIR 2021): every run against the best one."""
    boards, notices = material.scored.leaderboards, material.notices
    first = next((board for board in boards if board.measure.startswith("RR")), None)
    if first is None:
        notices.append("Outcomes need reciprocal ranks: the study's measures have none, such as RR@10.")
    if first is None or len(first.ranked) < 2 or first.queries < 2:
        return []
    best = first.ranked[0].run
    found = compared(material.found, (first.measure,), [("--baseline", best)])
    notices.extend(map(str, material.found.notices))
    rows = [(one.significance, row) for one in found for row in one.outcomes]
    differing = [words for one in found for words in one.outcome_words if "The tests differ" in words]
    return [
        Section(
            heading="Outcomes",
            finding=f"Every run against {best}, the best under the {first.qrels} qrels: who answers more "
            "queries, and who ranks the answers better.",
            words=tuple(differing),
            tables=(naive_table(rows), outcomes_table(rows)),
        )
    ]
