"""Qrels and judgments in memory: columns of a table as what a file of them would be read into."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from prefjudge.core.judges.judgments import Judgments
from prefjudge.core.pooling.qrels import Qrels
from prefjudge.core.pooling.tokens import same_token
from prefjudge.errors import InputError
from prefjudge.formats.labels.judgments import TIES
from prefjudge.formats.lines.held import DOC, QUERY, Held, row_problems
from prefjudge.formats.lines.numbering import Numbering
from prefjudge.formats.lines.problems import decode, encode
from prefjudge.formats.lines.repeats import repeated_rows
from prefjudge.formats.lines.tables import Columns, id_tokens, nested_columns, numbers, pick

GRADE = ("relevance", "label", "rel", "grade", "score")
LEFT = ("doc_1", "left", "doc_a", "doc_id_a")
RIGHT = ("doc_2", "right", "doc_b", "doc_id_b")
PREFERRED = ("preferred", "winner")
WORKER = ("worker", "worker_id")


def held_qrels(given: Columns | Mapping[Any, Mapping[Any, Any]], name: str) -> Held[Qrels]:
    """Return qrels in memory, from the columns of a table or a dictionary of dictionaries.

    Raises
    ------
    InputError
        They have no rows, lack a column, hold what is not an id or a grade, or grade a document twice.
    """
    where = f"qrels {name}"
    if all(isinstance(docs, Mapping) for docs in given.values()):
        columns = nested_columns(given, "relevance")
    else:
        columns = given  # type: ignore[assignment]
    query, doc = pick(columns, QUERY, where, "queries"), pick(columns, DOC, where, "documents")
    grade = pick(columns, GRADE, where, "grades")
    if grade == "score" and "rank" in columns:
        raise InputError(
            f"{where} are not qrels: they have a score and a rank, as a run has",
            f"If runs and qrels were swapped, swap them back. Grades are in a column {GRADE[0]}.",
        )
    if not len(columns[query]):
        raise InputError(
            f"{where} are empty: qrels need at least one row", "Check the program that made them."
        )
    grades = numbers(columns[grade], where, grade)
    if np.isinf(grades).any():
        odd = [(row, f"the {grade} is infinite") for row in np.flatnonzero(np.isinf(grades)).tolist()]
        raise row_problems(where, "qrels", odd, "Grades are numbers such as 0, 1, 2.")
    queries, docs = Numbering(), Numbering()
    tokens = id_tokens(columns[doc], where, doc)
    query_code, doc_code = queries.add_runs(id_tokens(columns[query], where, query)), docs.add(tokens)
    again, first = repeated_rows(query_code.astype(np.int64), doc_code.astype(np.uint64), tokens)
    twice = [
        (row, f"document {decode(tokens.raw(row))!r} has another grade in row {before}")
        for row, before in zip(again.tolist(), first.tolist(), strict=True)
        if grades[row] != grades[before]
    ]
    if twice:
        raise row_problems(where, "qrels", twice, "Keep the row with the right grade.")
    keep = np.ones(len(tokens), bool)
    keep[again] = False
    return Held(
        name,
        Qrels(
            name=name,
            queries=tuple(queries.vocabulary()),
            docs=tuple(docs.vocabulary()),
            query=query_code[keep],
            doc=doc_code[keep],
            grade=grades[keep],
        ),
    )


def qrels_of(held: Held[Any], name: str | None, *, fractions: bool) -> Qrels:
    """Return qrels that are in memory, by the name that a leaderboard gives them.

    Raises
    ------
    InputError
        They are something else, or some grades are fractions where none are allowed.
    """
    qrels = held.content
    if not isinstance(qrels, Qrels):
        raise InputError(f"{held} does not hold qrels", "Give a table of queries, documents and grades.")
    odd = np.flatnonzero(qrels.grade % 1)
    if odd.size and not fractions:
        raise InputError(
            f"{held}: grade {qrels.grade[odd[0]]:g} is a fraction, and a pool takes whole grades",
            "Use whole grades.",
        )
    return replace(qrels, name=held.name if name is None else name)


def held_judgments(columns: Columns, name: str) -> Held[Judgments]:
    """Return side-by-side judgments in memory; ``preferred`` repeats a document, or is ``tie``.

    Raises
    ------
    InputError
        They have no rows, lack a column, or a preferred document is neither of the two.
    """
    named = {
        "queries": QUERY,
        "first documents": LEFT,
        "second documents": RIGHT,
        "preferred documents": PREFERRED,
    }
    places = [pick(columns, accepted, name, what) for what, accepted in named.items()]
    worker = next((one for one in WORKER if one in columns), None)
    if not len(columns[places[0]]):
        raise InputError(f"{name} are empty: at least one row is needed", "Check the program that made them.")
    query, left, right, preferred = (id_tokens(columns[place], name, place) for place in places)
    choice = same_token(preferred, left).astype(np.int8) - same_token(preferred, right)
    odd = []
    for row in np.flatnonzero(choice == 0).tolist():
        one, other, chosen = (decode(tokens.raw(row)) for tokens in (left, right, preferred))
        if one == other:
            odd.append((row, f"document {one!r} is compared with itself"))
        elif encode(chosen) not in TIES:
            odd.append((row, f"the preferred document {chosen!r} is neither {one!r} nor {other!r}"))
    if odd:
        raise row_problems(
            name, "table of judgments", odd, "preferred repeats a document of its row, or is: tie"
        )
    queries, docs, workers = Numbering(), Numbering(), Numbering()
    query_code, left_code, right_code = queries.add(query), docs.add(left), docs.add(right)
    by = (
        workers.add(id_tokens(columns[worker], name, worker)) if worker else np.full(len(query), -1, np.int32)
    )
    return Held(
        name,
        Judgments(
            queries=tuple(queries.vocabulary()),
            docs=tuple(docs.vocabulary()),
            workers=tuple(workers.vocabulary()),
            query=query_code,
            left=left_code,
            right=right_code,
            choice=choice,
            strength=np.ones(choice.size, np.int8),
            worker=by,
            sides=False,
        ),
    )
