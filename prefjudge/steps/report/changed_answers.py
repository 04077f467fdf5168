"""The report's section on best answers: beside the labels, and where people prefer another passage."""

from collections import Counter
from collections.abc import Mapping

import numpy as np

from prefjudge.core.judges.judgments import Judgments
from prefjudge.core.pooling.pools import Pools
from prefjudge.core.resolving.confidence import Confidence
from prefjudge.core.resolving.resolutions import Resolution, Resolutions
from prefjudge.counts import many
from prefjudge.gather.best_answers import BestAnswers, explain_best_answers
from prefjudge.gather.seeds import generator
from prefjudge.gather.sureness import SURE_QUERIES, assess_answers
from prefjudge.render.pages.report import Change, Passage, Section
from prefjudge.render.text.cells import Bold, Column, Table
from prefjudge.study.pooling import load_inputs, load_passages, load_queries
from prefjudge.study.study import Study

_MOST_CHANGES = 12
"""Changed answers that are shown with their texts."""
_MOST_ROWS = 500
"""Queries that are listed."""
_STATUSES = {
    "single": "one best answer",
    "tie": "several that cannot be told apart",
    "cycle": "several that are preferred to each other in a cycle",
    "sparse": "not enough is judged to say",
}


def answers_section(study: Study, notices: list[str]) -> list[Section]:
    """Return the section on the best answers; ``notices`` takes what a reader must know.

    Raises
    ------
    StudyError
        There are no judgments, or no answers.
    """
    best = explain_best_answers(study, verb="report")
    notices.extend(best.notices)
    with study.transaction(write=False) as db:
        names = {one.name for one in load_inputs(db) if one.kind == "qrels"}
        queries, passages = load_queries(db), load_passages(db)
    assert best.votes.pools is not None
    labelled, rows = _labelled(best.votes.pools, names), list(best.resolutions)
    both = [one for one in rows if one.winners and one.query_id in labelled]
    changed = [one for one in both if not {*one.winners} & {*labelled[one.query_id]}]
    words: list[str] = []
    finding = ""
    chances = None
    if len(rows) <= SURE_QUERIES:
        # The stream of `resolve`: both say the same.
        chances, sure = assess_answers(best.votes, best.resolutions, rng=generator(study, "resolve"))
        first, *others = sure.words
        finding = f"{_sentence(first)} "
        words += map(_sentence, others)
    p_best = _chances_of(best.resolutions, chances)
    if both:
        finding += (
            f"Of {many(len(both), 'query')} with a labelled passage and a best answer, another "
            f"passage is preferred in {len(changed):,} ({len(changed) / len(both):.0%})."
        )
    if changed:
        shown = f"The first {_MOST_CHANGES} of those" if len(changed) > _MOST_CHANGES else "Those"
        words.append(f"{shown} are shown here, with the votes between the two passages.")
    words.append(_how_found(best))
    won = _votes_won(best.votes.log)
    return [
        Section(
            heading="Best answers",
            finding=finding.strip(),
            words=tuple(words),
            changes=tuple(
                _change(one, labelled[one.query_id], queries, passages, won)
                for one in changed[:_MOST_CHANGES]
            ),
            tables=(_answers_table(rows, labelled, queries, changed, p_best),),
        )
    ]


def _sentence(words: str) -> str:
    return f"{words[0].upper()}{words[1:]}."


def _chances_of(resolutions: Resolutions, confidence: Confidence | None) -> dict[str, str]:
    """Return the probability that each winner of a query is the best."""
    if confidence is None:
        return {}
    found: dict[str, list[str]] = {}
    rows = np.flatnonzero(resolutions.winner)
    for query, chance in zip(resolutions.query[rows].tolist(), confidence.chance[rows].tolist(), strict=True):
        # of the four digits that `resolve` gives: 0.38496 must not be 0.38 here and 0.385 there
        found.setdefault(resolutions.queries[query], []).append(f"{round(chance, 4):.2f}")
    return {query: " ".join(chances) for query, chances in found.items()}


def _how_found(best: BestAnswers) -> str:
    decided = ", ".join(f"{count:,} {status}" for status, count in best.resolutions.counts().items() if count)
    kept = f", version {best.version} of the answers that run keeps" if best.version else ""
    how = "strategy" if best.version and best.votes.driven_by else "rule"
    return f"By the {how} {best.resolutions.rule}{kept}: {decided}."


def _labelled(pools: Pools, names: set[str]) -> dict[str, tuple[str, ...]]:
    """Return the passages of each query that the qrels put into its pool."""
    found: dict[str, tuple[str, ...]] = {}
    for row, source in zip(pools.source_row.tolist(), pools.source.tolist(), strict=True):
        if pools.sources[source] in names:
            query = pools.queries[pools.query[row]]
            found[query] = (*found.get(query, ()), pools.docs[int(pools.doc[row])])
    return found


def _votes_won(log: Judgments) -> Counter[tuple[str, str, str]]:
    """Count the votes for one passage of a query over another."""
    decided = log.choice != 0
    columns = (log.query[decided], log.winner[decided], log.loser[decided])
    rows = zip(*(column.tolist() for column in columns), strict=True)
    return Counter((log.queries[query], log.docs[a], log.docs[b]) for query, a, b in rows)


def _change(
    one: Resolution,
    labelled: tuple[str, ...],
    queries: Mapping[str, str],
    passages: Mapping[str, str],
    won: Mapping[tuple[str, str, str], int],
) -> Change:
    query = one.query_id
    pairs = [(old, new) for old in labelled for new in one.winners]
    # where there are several, those that were compared most often
    old, new = max(pairs, key=lambda pair: won.get((query, *pair), 0) + won.get((query, *pair[::-1]), 0))
    return Change(
        query=query,
        text=queries.get(query, ""),
        labelled=Passage(doc=old, text=passages.get(old, ""), votes=won.get((query, old, new), 0)),
        best=Passage(doc=new, text=passages.get(new, ""), votes=won.get((query, new, old), 0)),
    )


def _answers_table(
    rows: list[Resolution],
    labelled: Mapping[str, tuple[str, ...]],
    queries: Mapping[str, str],
    changed: list[Resolution],
    chances: Mapping[str, str],
) -> Table:
    """Return a row for each query; of many, those that need a look."""
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
            queries.get(one.query_id, ""),
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
        title="The best answer to each query, bold where it is not the labelled passage",
        columns=tuple(columns[place] for place in told),
        rows=tuple(tuple(row[place] for place in told) for row in cells),
        notes=tuple(notes),
    )
