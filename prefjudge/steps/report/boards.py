"""The report's sections on runs: the leaderboards, and how they agree."""

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from math import isfinite

import numpy as np

from prefjudge.core.judgments import Judgments
from prefjudge.core.resolving.confidence import Confidence
from prefjudge.core.resolving.resolutions import Resolution, Resolutions
from prefjudge.evaluation.boards import Board, Leaderboard
from prefjudge.evaluation.correlation import RankCorrelation
from prefjudge.findings.answers import BestAnswers
from prefjudge.pages.page import Change, Passage, Picture, Section, shortened
from prefjudge.show.boards import (
    leaderboard_table,
    perfect_words,
    score_tables,
    side_by_side_table,
    votings_words,
)
from prefjudge.show.cells import Bold, Column, Table
from prefjudge.show.plots import plot_leaderboard, plot_two_boards
from prefjudge.steps.report.material import Answers, Material, sentence
from prefjudge.steps.report.methods import outcomes_section
from prefjudge.steps.report.pictures import chance_picture, drawn, rank_picture, win_ratio_picture
from prefjudge.steps.score.score import compared_boards
from prefjudge.study.pools import has_runs
from prefjudge.words import chance_text, many


def boards_section(material: Material) -> list[Section]:
    """Return the sections on the leaderboards, and on the outcomes that their differences are made of."""
    with material.study.transaction(write=False) as db:
        scored = has_runs(db)
    if not scored and not material.given.get("runs"):
        material.notices.append("the study has no runs, and so no leaderboards; --runs gives it some")
        return []
    result = material.scored
    pairs = list(zip(result.tau, compared_boards(result), strict=True))
    pictures = [_against(material, a, b, pair) for pair, (a, b) in pairs] or [
        _alone(material, one) for one in result.boards
    ]
    firm = next((one for one in reversed(result.boards) if one.standings), None)
    if firm:
        pictures.append(rank_picture(material, firm))
    if result.winratio and result.winratio.pairs:
        pictures.append(win_ratio_picture(material, result.winratio))
    tables = score_tables(
        result.boards,
        tau=result.tau,
        winratio=result.winratio,
        pair_agreement=result.pair_agreement,
        not_judged=result.not_judged,
        pairings=result.pairings,
        cycles=result.cycles,
    )
    finding = " ".join(
        [_best_runs(boards, pair) for pair, boards in pairs]
        or [_best_runs((one.leaderboard,), None) for one in result.boards]
    )
    if firm:
        finding += f" {_how_firm(firm)}"
    return [
        Section(heading="Leaderboards", finding=finding, pictures=tuple(pictures), tables=tuple(tables)),
        *outcomes_section(material),
    ]


def _against(material: Material, a: Leaderboard, b: Leaderboard, pair: RankCorrelation) -> Picture:
    words = " and ".join(f"{one.measure}, {one.qrels} qrels" for one in (a, b))
    table = side_by_side_table((a, b), same_queries=a.queries == b.queries)
    return drawn(material, "old-against-new", words, partial(plot_two_boards, a, b, tau=pair), table)


def _alone(material: Material, one: Board) -> Picture:
    board = one.leaderboard
    words = f"{board.measure}, {board.qrels} qrels"
    table = leaderboard_table(board, one.standings)
    draw = partial(plot_leaderboard, board, one.standings)
    return drawn(material, "leaderboard", words, draw, table)


def _how_firm(board: Board) -> str:
    """Return how sure it is which run is the best on a board, over the queries and the votes behind them."""
    first, shown = board.standings[0], board.leaderboard
    row = next(row for row in shown.ranked if row.run == first.run)
    level = f"{shown.confidence:.0%} interval over queries"
    interval = f" ({row.low:.4f} to {row.high:.4f}, {level})" if isfinite(row.low) else ""
    rivals = sum(one.highest == 1 for one in board.standings) - 1
    others = f"{many(rivals, 'other run')} may be the best, too" if rivals else "no other run may be the best"
    best = (
        f" and is the best over many such queries with a probability of {chance_text(first.first)}"
        if isfinite(first.first)
        else ""
    )
    return (
        f"Under the {shown.qrels} qrels {first.run} has {shown.measure} {row.score:.4f}{interval}{best}; by "
        f"the tests of all pairs {others}."
    )


def _best_runs(boards: Sequence[Leaderboard], pair: RankCorrelation | None) -> str:
    """Return sentences on the best run of one leaderboard or of two, and on those better than perfect."""
    ranked = [[row.run for row in board.ranked if row.rank == 1] for board in boards]
    first = [runs[0] if len(runs) == 1 else f"any of {len(runs)} runs" for runs in ranked]
    best = [f"{run} under the {board.qrels} qrels" for run, board in zip(first, boards, strict=True)]
    if len(ranked) > 1 and ranked[0] == ranked[1]:
        best = [f"{first[0]} under both qrels"]
    over = " and ".join(dict.fromkeys(many(board.queries, "query") for board in boards))
    beyond = [f" By {board.measure} {perfect_words(board)}." for board in boards if board.perfect]
    return (
        f"By {boards[0].measure} over {over} the best run is {', and '.join(best)}{_kendall(pair)}."
        + "".join(beyond)
    )


def _kendall(pair: RankCorrelation | None) -> str:
    if pair is None or not isfinite(pair.tau):
        return ""
    others = (
        "" if pair.same_queries else f", and {pair.common.tau:.2f} over the {pair.queries:,} common queries"
    )
    if pair.over == "common queries":
        others = f", and {pair.printed.tau:.2f} between the boards as printed"
    return f"; Kendall's τ is {pair.tau:.2f}{votings_words(pair)}{others}"


# The report's section on best answers: beside the labels, and where people prefer another passage.

_MOST_CHANGES = 12
"""Changed answers that are shown with their texts."""
_MOST_ROWS = 500
"""Queries that are listed."""
_STATUSES = {
    "single": "one best answer",
    "tie": "several that cannot be told apart",
    "cycle": "several that are preferred to each other in a cycle",
    "partial": "the best of those that were compared",
    "sparse": "not enough is judged to say",
}


def answers_section(material: Material) -> list[Section]:
    """Return the section on the best answers."""
    found = material.answers
    best, labelled, rows = found.best, found.labelled, list(found.best.resolutions)
    both = [one for one in rows if one.winners and one.query_id in labelled]
    changed = [one for one in both if not {*one.winners} & {*labelled[one.query_id]}]
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
            finding=finding.strip(),
            words=tuple(words),
            pictures=tuple(filter(None, [chance_picture(material, found)])),
            changes=tuple(_change(one, found, won) for one in changed[:_MOST_CHANGES]),
            tables=(_answers_table(rows, found, changed),),
        )
    ]


def _chances_of(resolutions: Resolutions, confidence: Confidence | None) -> dict[str, str]:
    """Return the probability that each winner of a query is the best."""
    if confidence is None:
        return {}
    found: dict[str, list[str]] = {}
    rows = np.flatnonzero(resolutions.winner)
    for query, chance in zip(resolutions.query[rows].tolist(), confidence.chance[rows].tolist(), strict=True):
        # of the four digits that `resolve` gives: 0.38496 must not be 0.38 here and 0.385 there
        found.setdefault(resolutions.queries[query], []).append(chance_text(round(chance, 4)))
    return {query: " ".join(chances) for query, chances in found.items()}


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
    labelled, chances = found.labelled, _chances_of(found.best.resolutions, found.chances)
    others = {one.query_id for one in changed}
    listed = rows
    if len(rows) > _MOST_ROWS:
        listed = [one for one in rows if one.query_id in others or one.status != "single"][:_MOST_ROWS]
    statuses = dict.fromkeys(one.status.value for one in listed)
    notes = [". ".join(f"{status}: {_STATUSES[status]}" for status in statuses) + "."] if listed else []
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
            chances.get(one.query_id, ""),
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
