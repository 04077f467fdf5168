"""Tables in memory: DataFrames and dictionaries, read as files would be."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from prefjudge.core.runs import BACK, FRONT, Tokens, line_tokens
from prefjudge.errors import InputError
from prefjudge.reading.held import DOC, QUERY, Arrow, Frame

T = TypeVar("T")


_SHOWN = 20


def row_problems(name: str, kind: str, found: list[tuple[int, str]], hint: str) -> InputError:
    """Return what is wrong with rows of a table, counted from 0, as one error."""
    lines = [f"row {row}: {what}" for row, what in found[:_SHOWN]]
    more = f" (the first {_SHOWN})" if len(found) > _SHOWN else ""
    return InputError(f"{name} is not a readable {kind}; rows count from 0{more}:", hint, lines)


# Tables in memory: the columns of DataFrames, Arrow tables and records, without an object for each row.
#
# Nothing is imported for it: a table is known by what it can do.

Columns = Mapping[str, NDArray[Any]]
"""The columns of a table, by name."""


def columns_of(given: Frame | Arrow | Sequence[Any], name: str) -> Columns:
    """Return the columns of a table, or of a list of records."""
    if isinstance(given, Sequence):
        return _of_records(given, name)
    if isinstance(given, Frame):
        names = [str(column) for column in given.columns]
        doubled = next((column for column in names if names.count(column) > 1), None)
        if doubled is not None:
            raise InputError(
                f"{name}: two columns are called {doubled!r}", "Give each column a name of its own."
            )
        return {str(column): np.asarray(given[column]) for column in given.columns}
    if find_spec("pyarrow") is None:
        raise InputError(f"{name}: Arrow tables are read by pyarrow", "Run: pip install pyarrow")
    import pyarrow  # type: ignore[import-not-found,unused-ignore]

    table = pyarrow.table(given)
    return {column: table[column].to_numpy() for column in table.column_names}


def _of_records(records: Sequence[Any], name: str) -> Columns:
    fields = list(records[0]) if isinstance(records[0], Mapping) else list(records[0]._fields)
    try:
        rows = [
            [row[field] for field in fields]
            if isinstance(row, Mapping)
            else [getattr(row, field) for field in fields]
            for row in records
        ]
    except (KeyError, AttributeError, TypeError) as error:
        raise InputError(
            f"{name}: its records do not have the same fields: {error}",
            f"The first has: {', '.join(map(str, fields))}.",
        ) from None
    columns: dict[str, NDArray[Any]] = {}
    for place, field in enumerate(fields):
        values = np.empty(len(rows), object)  # numpy would make one text of ids and numbers
        values[:] = [row[place] for row in rows]
        columns[str(field)] = values
    return columns


def pick(columns: Columns, accepted: Sequence[str], name: str, what: str) -> str:
    """Return which of the names that are accepted for a column is there."""
    found = next((one for one in accepted if one in columns), None)
    if found is None:
        raise InputError(
            f"{name} has no column of {what}: its columns are {', '.join(columns) or 'none'}",
            f"Name one: {' or '.join(accepted)}. An index is not a column: frame.reset_index().",
        )
    return found


def id_tokens(values: NDArray[Any], name: str, column: str) -> Tokens:
    """Return a column of ids: texts, or whole numbers throughout, which become their digits."""
    if values.dtype.kind in "iu":
        return _digits(values)
    if values.dtype.kind not in "OUT":
        raise InputError(
            f"{name}: column {column} holds {values.dtype.name}, not ids",
            "Ids are texts, or whole numbers throughout; read files with dtype=str.",
        )
    listed = values.tolist()
    try:
        text = "\n".join(listed)
    except TypeError:
        listed = _whole_numbers(listed, name, column)
        text = "\n".join(listed)
    try:
        data = text.encode("utf-8", "surrogateescape") + b"\n" * bool(listed)
    except UnicodeEncodeError:
        halves = [
            (row, f"the id {one!r} in column {column} holds half a character")
            for row, one in enumerate(listed)
            if not _encodes(one)
        ]
        raise row_problems(name, "table", halves, "Give ids that UTF-8 can write.") from None
    tokens = line_tokens(data)
    # One look at the bytes: blanks, and the ends of lines inside ids, are below 33 as the separators are.
    blanks = np.count_nonzero(np.frombuffer(data, np.uint8) <= 32)
    if blanks != len(listed) or len(tokens) != len(listed) or bool((tokens.ends == tokens.starts).any()):
        wrong = [
            (row, f"the id {text!r} in column {column} is empty or holds a blank")
            for row, text in enumerate(listed)
            if text.split() != [text]
        ]
        if wrong:
            raise row_problems(name, "table", wrong, "Ids are single words: replace the blanks.")
    return tokens


def _encodes(text: str) -> bool:
    try:
        text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return False
    return True


def _digits(numbers: NDArray[Any]) -> Tokens:
    """Return the digits of whole numbers, each in a cell as wide as the longest may be."""
    cells = numbers.astype("S20")
    starts = FRONT + np.arange(cells.size, dtype=np.int64) * cells.itemsize
    text = b"\n" * FRONT + cells.tobytes() + b"\n" * BACK
    return Tokens(text, starts, starts + np.char.str_len(cells))


def _whole_numbers(values: list[Any], name: str, column: str) -> list[str]:
    """Return the digits of whole numbers in a column of objects."""
    kinds = {type(value) for value in values}
    if kinds <= {int, np.int64, np.int32}:
        return list(map(str, values))
    is_text = [isinstance(value, str) for value in values]
    odd = [row for row, text in enumerate(is_text) if not text]
    found = [(row, f"column {column} holds {values[row]!r}, a {type(values[row]).__name__}") for row in odd]
    hint = "Ids are texts, or whole numbers throughout: convert the column with .astype(str)."
    if any(values[row] != values[row] or values[row] is None for row in odd):
        hint = "An id is missing: leave out such rows, and read files with dtype=str, keep_default_na=False."
    raise row_problems(name, "table", found, hint)


def numbers(values: NDArray[Any], name: str, column: str) -> NDArray[np.float64]:
    """Return a column of numbers."""
    hint = f"Give each row a {column}, or leave the row out."
    kind = values.dtype.kind
    if kind in "OUT" and any(isinstance(value, str) for value in values.tolist()):
        odd = [(row, value) for row, value in enumerate(values.tolist()) if isinstance(value, str)]
        found = [(row, f"column {column} holds the text {value!r}") for row, value in odd]
        raise row_problems(name, "table", found, f"Convert the column: .astype(float). {hint}")
    try:
        if kind in "bcMmSV":
            raise TypeError(values.dtype.name)
        if kind == "O" and any(isinstance(value, bool | np.bool_) for value in values.tolist()):
            raise TypeError("some are True or False")
        found_numbers = values.astype(np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(f"{name}: column {column} does not hold numbers: {error}", hint) from None
    missing = np.flatnonzero(np.isnan(found_numbers)).tolist()
    if missing:
        raise row_problems(name, "table", [(row, f"the {column} is NaN") for row in missing], hint)
    return found_numbers


def nested_columns(given: Mapping[Any, Any], value: str) -> Columns:
    """Return the columns of a dictionary of dictionaries: ``{query: {document: score}}``."""
    query = np.empty(len(given), object)
    query[:] = list(given)
    sizes = [len(docs) for docs in given.values()]
    docs = np.empty(sum(sizes), object)
    values = np.empty(sum(sizes), object)
    for (start, end), found in zip(pairwise(np.cumsum([0, *sizes]).tolist()), given.values(), strict=True):
        docs[start:end] = list(found)
        values[start:end] = list(found.values())
    return {"query_id": np.repeat(query, sizes), "doc_id": docs, value: values}


def with_ids(given: Columns | Mapping[Any, Any], where: str, value: str = "") -> tuple[Columns, str, str]:
    """Return the columns of a table with rows, and which of them hold the queries and the documents."""
    nested = value and all(isinstance(docs, Mapping) for docs in given.values())
    columns = nested_columns(given, value) if nested else given
    query, doc = pick(columns, QUERY, where, "queries"), pick(columns, DOC, where, "documents")
    if not len(columns[query]):
        raise InputError(f"{where} is empty: at least one row is needed", "Check the program that made it.")
    return columns, query, doc
