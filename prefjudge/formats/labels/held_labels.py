"""Qrels and judgments in memory: columns of a table as what a file of them would be read into."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prefjudge.core.judges.judgments import Judgments
from prefjudge.core.pooling.pools import Pools, pools_of
from prefjudge.core.pooling.qrels import MOST_SUBTOPICS, Qrels, number_subtopics, with_subtopics
from prefjudge.core.pooling.runs import Codes
from prefjudge.core.pooling.tokens import same_token
from prefjudge.errors import InputError
from prefjudge.formats.labels.judgments import TIES
from prefjudge.formats.lines.held import DOC, QUERY, Held, row_problems
from prefjudge.formats.lines.numbering import Numbering
from prefjudge.formats.lines.problems import decode, encode
from prefjudge.formats.lines.repeats import repeated_rows
from prefjudge.formats.lines.tables import Columns, id_tokens, nested_columns, numbers, pick

SUBTOPIC = ("subtopic", "iteration")
"""In qrels of subtopics; ir_measures has it among the fields of all qrels."""
GRADE = ("relevance", "label", "rel", "grade", "score")
LEFT = ("doc_1", "left", "doc_a", "doc_id_a")
RIGHT = ("doc_2", "right", "doc_b", "doc_id_b")
PREFERRED = ("preferred", "winner")
WORKER = ("worker", "worker_id")
SOURCES = ("contributors", "sources", "runs", "source", "run")
"""What pooled a document: run names joined by commas, or a list of them."""


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
    group, subtopic = query_code.astype(np.int64), _subtopics(columns, query_code, where)
    if subtopic is not None:  # a document may come once for each subtopic
        group = group * MOST_SUBTOPICS + subtopic
    again, first = repeated_rows(group, doc_code.astype(np.uint64), tokens)
    twice = [
        (row, f"document {decode(tokens.raw(row))!r} has another grade in row {before}")
        for row, before in zip(again.tolist(), first.tolist(), strict=True)
        if grades[row] != grades[before]
    ]
    if twice:
        raise row_problems(where, "qrels", twice, "Keep the row with the right grade.")
    keep = np.ones(len(tokens), bool)
    keep[again] = False
    found = Qrels(
        name=name,
        queries=tuple(queries.vocabulary()),
        docs=tuple(docs.vocabulary()),
        query=query_code[keep],
        doc=doc_code[keep],
        grade=grades[keep],
    )
    return Held(name, found if subtopic is None else with_subtopics(found, subtopic[keep]))


def _subtopics(columns: Columns, query: Codes, where: str) -> NDArray[np.int64] | None:
    """Return each row's subtopic, numbered within its query; None where no column tells them apart."""
    named = next((name for name in SUBTOPIC if name in columns), None)
    if named is None:
        return None
    tokens = id_tokens(columns[named], where, named)
    return number_subtopics(query, Numbering().add_runs(tokens)) if tokens.changes().size else None


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
    sides, names = _as_they_come(np.stack([left_code, right_code], 1), docs.vocabulary())
    by = (
        workers.add(id_tokens(columns[worker], name, worker)) if worker else np.full(len(query), -1, np.int32)
    )
    return Held(
        name,
        Judgments(
            queries=tuple(queries.vocabulary()),
            docs=names,
            workers=tuple(workers.vocabulary()),
            query=query_code,
            left=sides[:, 0],
            right=sides[:, 1],
            choice=choice,
            strength=np.ones(choice.size, np.int8),
            worker=by,
            sides=False,
        ),
    )


def _as_they_come(codes: Codes, names: Sequence[str]) -> tuple[Codes, tuple[str, ...]]:
    """Return codes, and what they stand for, in the order in which they come row by row.

    A file is numbered so, and what is drawn at random follows the numbers.
    """
    found, first = np.unique(codes, return_index=True)
    order = found[np.argsort(first)]
    places = np.empty(len(names), codes.dtype)
    places[order] = np.arange(order.size)
    return places[codes], tuple(names[code] for code in order.tolist())


def held_pool(given: Columns | Mapping[Any, Any], name: str) -> Held[Pools]:
    """Return a pool in memory: the columns of a table, or each query's documents, perhaps with their runs.

    Raises
    ------
    InputError
        It has no rows, lacks a column, or lists a document twice.
    """
    columns = given if all(isinstance(cells, np.ndarray) for cells in given.values()) else _listed(given)
    query, doc = pick(columns, QUERY, name, "queries"), pick(columns, DOC, name, "documents")
    if not len(columns[query]):
        raise InputError(f"{name} is empty: a pool needs at least one row", "Check the program that made it.")
    source = next((one for one in SOURCES if one in columns), None)
    tags = columns[source].tolist() if source else [""] * len(columns[query])
    ids = (id_tokens(columns[one], name, one).to_bytes() for one in (query, doc))
    members = [(decode(a), decode(b)) for a, b in zip(*ids, strict=True)]
    first: dict[tuple[str, str], int] = {}
    twice = [
        (row, f"document {member[1]!r} is in the pool of query {member[0]!r} already, in row {first[member]}")
        for row, member in enumerate(members)
        if first.setdefault(member, row) != row
    ]
    if twice:
        raise row_problems(name, "pool", twice, "Give each document of a query one row.")
    rows = [
        (*member, tag.strip())
        for member, said in zip(members, tags, strict=True)
        for tag in (said.split(",") if isinstance(said, str) else map(str, said) if _is_list(said) else [""])
    ]
    return Held(name, pools_of(sorted(rows)))


def _is_list(value: object) -> bool:
    return isinstance(value, list | tuple | set | frozenset | np.ndarray) and len(value) > 0


def _listed(given: Mapping[Any, Any]) -> Columns:
    """Return the columns of ``{query: documents}``, which are listed, or have the runs that pooled them."""
    rows = [
        (query, doc, docs[doc] if isinstance(docs, Mapping) else "")
        for query, docs in given.items()
        for doc in docs
    ]
    columns = {}
    for place, column in enumerate(("query_id", "doc_id", "contributors")):
        columns[column] = np.empty(len(rows), object)
        columns[column][:] = [row[place] for row in rows]
    return columns


def pool_of(held: Held[Any]) -> Pools:
    """Return the pool that is in memory.

    Raises
    ------
    InputError
        Something else is.
    """
    if not isinstance(held.content, Pools):
        raise InputError(
            f"{held} does not hold a pool", "Give a table of queries, documents and contributors."
        )
    return held.content
