"""Scores as SQL, saved by the engine where the runs are: only how many queries have each is returned."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from prefjudge.core.pooling.qrels import Qrels
from prefjudge.engines.files.files import judged_of_run
from prefjudge.engines.files.overlap import check_overlap
from prefjudge.engines.sql.answers import Summary, judged_answer, part_of
from prefjudge.engines.sql.statements import SqlRuns
from prefjudge.engines.sql.tables import NAMES, load_rows, rows_of
from prefjudge.errors import InputError
from prefjudge.evaluation.leaderboards.tallies import Tally
from prefjudge.evaluation.scoring.judged_pairs import union_documents
from prefjudge.evaluation.scoring.measures import Measure
from prefjudge.formats.lines.problems import is_text

LABELS = "prefjudge_labels"
"""The table of all label sets: name, query, doc, grade."""

_ZERO = "CAST(0 AS DOUBLE)"
_FORMULAS = {
    "RR": f"COALESCE(CAST(1 AS DOUBLE) / MIN(CASE WHEN {{hit}} THEN position END), {_ZERO})",
    "Success": "CAST(MAX(CASE WHEN {hit} THEN 1 ELSE 0 END) AS DOUBLE)",
    "P": "CAST(COUNT(CASE WHEN {hit} THEN 1 END) AS DOUBLE) / CAST({cutoff} AS DOUBLE)",
    "R": "COALESCE(CAST(COUNT(CASE WHEN {hit} THEN 1 END) AS DOUBLE)"
    f" / NULLIF(CAST(COUNT(CASE WHEN {{relevant}} THEN 1 END) AS DOUBLE), {_ZERO}), {_ZERO})",
}
"""Measures of one division, which every engine rounds alike; a literal such as 1.0 is a decimal to some."""
_ALL = 2**31 - 1
"""A cut-off below every run."""


def formula(measure: Measure) -> str:
    """Return a measure as SQL: a value for the labels of a query, with the position of each in a run.

    Raises
    ------
    InputError
        The measure is more than one division.
    """
    if measure.family not in _FORMULAS or dict(measure.parameters).get("judged_only"):
        raise InputError(f"{measure} is not computed in SQL", f"there are {', '.join(_FORMULAS)}")
    relevant = f"grade >= CAST('{float(dict(measure.parameters)['rel'])!r}' AS DOUBLE)"
    cutoff = measure.cutoff or _ALL
    return _FORMULAS[measure.family].format(
        hit=f"{relevant} AND position <= {cutoff}", relevant=relevant, cutoff=cutoff
    )


def scores_text(measures: Sequence[Measure], placed: str) -> str:
    """Return the score of each judged query under each label set, measure and run."""
    sums = ", ".join(f"{formula(measure)} AS score_{number}" for number, measure in enumerate(measures))
    chosen = " ".join(f"WHEN '{measure}' THEN score_{number}" for number, measure in enumerate(measures))
    return f"""
        SELECT name AS qrels, measure, run, query AS query_id, CASE measure {chosen} END AS score
        FROM (
            SELECT /*+ BROADCAST(names) */
                labels.name AS name, names.run AS run, labels.query AS query, {sums}
            FROM {LABELS} AS labels
            CROSS JOIN {NAMES} AS names
            LEFT JOIN {placed} AS placed
            ON placed.path = names.path AND placed.query = labels.query AND placed.doc = labels.doc
            GROUP BY labels.name, names.run, labels.query
        ) AS scored
        CROSS JOIN (VALUES {", ".join(f"('{measure}')" for measure in measures)}) AS measures (measure)"""


def tally_scores(
    runs: SqlRuns, sets: Sequence[Qrels], measures: Sequence[Measure], *, path: str | None = None
) -> dict[tuple[str, str], list[Tally]]:
    """Score the runs, and return how many queries have each score.

    Each score has the bits that :meth:`prefjudge.evaluation.scoring.measures.Measure.score` gives it.

    Parameters
    ----------
    runs : SqlRuns
        The runs.
    sets : sequence of Qrels
        The label sets, of different names.
    measures : sequence of Measure
        What to compute: RR, Success, P and R.
    path : str, optional
        Write the score of each query as Parquet, too, where the engine keeps its files: qrels, measure, run,
        query_id, score.

    Returns
    -------
    dict of (str, str) to list of Tally
        For the name of each label set and each measure, a tally of each run.

    Raises
    ------
    InputError
        A measure is not computed in SQL, an id of the labels is not text for SQL, a run has nothing to do
        with the labels, or the scores cannot be written.
    """
    text = scores_text(measures, _placed(runs, sets))
    scores = runs.engine.save(text, path) if path else f"({text})"
    text = f"""
        SELECT qrels, measure, run, score, COUNT(*) AS queries
        FROM {scores} AS scores
        GROUP BY qrels, measure, run, score"""
    counted = rows_of(runs.engine, text)
    found: dict[tuple[str, str, str], list[tuple[float, int]]] = {}
    for name, measure, run, score, queries in sorted(counted):
        found.setdefault((name, measure, run), []).append((score, queries))
    return {
        (labels.name, str(measure)): [
            _tally(run, found.get((labels.name, str(measure), run), [])) for run in runs.tags
        ]
        for labels in sets
        for measure in measures
    }


def _tally(run: str, counted: Sequence[tuple[float, int]]) -> Tally:
    values = np.array([value for value, _ in counted], dtype=np.float64)
    return Tally(run=run, values=values, counts=np.array([count for _, count in counted], dtype=np.int64))


def _placed(runs: SqlRuns, sets: Sequence[Qrels]) -> str:
    """Return as SQL the places of judged documents, and refuse runs that have nothing of the labels."""
    odd = next(
        (name for labels in sets for name in (*labels.queries, *labels.docs) if not is_text(name)), None
    )
    if odd is not None:
        raise InputError(f"the id {odd!r} of the qrels is not UTF-8, and SQL knows no other text")
    rows = [
        (labels.name, labels.queries[query], labels.docs[doc], grade)
        for labels in sets
        for query, doc, grade in zip(
            labels.query.tolist(), labels.doc.tolist(), labels.grade.tolist(), strict=True
        )
    ]
    columns = {"name": "string", "query": "string", "doc": "string", "grade": "float64"}
    load_rows(runs.engine, LABELS, columns, rows)
    union = union_documents(sets)
    parts = tuple(part_of(union, labels) for labels in sets)
    work = judged_of_run(union, runs.how)
    placed, found = runs.keep(partial(judged_answer, work=work, qrels=union, parts=parts))
    _check_overlap(runs, sets, found)
    return placed


def _check_overlap(runs: SqlRuns, sets: Sequence[Qrels], found: Sequence[Summary]) -> None:
    for place, labels in enumerate(sets):
        for one in found:
            shared, hits = one.overlap[place]
            check_overlap(
                one.path, labels, example=one.example, shared=shared, found=hits, notices=runs.notices
            )
