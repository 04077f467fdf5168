"""Rows as records: a table's columns are the names of a dataclass's fields, or of a mapping's keys.

So a column that is added to a table is named where its noun is, and no statement depends on the order in
which columns were added.
"""

from collections.abc import Callable, Mapping
from dataclasses import fields
from functools import lru_cache
from operator import attrgetter, itemgetter
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

    Record: TypeAlias = Mapping[str, Any] | DataclassInstance

T = TypeVar("T", bound="DataclassInstance")


@lru_cache(maxsize=256)
def columns_of(kind: "type[DataclassInstance]") -> tuple[str, ...]:
    """Return the columns that a dataclass stands for."""
    return tuple(field.name for field in fields(kind))


def row_of(record: "Record") -> dict[str, Any]:
    """Return a record's values by column."""
    if isinstance(record, Mapping):
        return dict(record)
    return {column: getattr(record, column) for column in columns_of(type(record))}


def reader(example: Any) -> tuple[tuple[str, ...], Callable[[Any], tuple[Any, ...]]]:
    """Return the columns of a record, and what takes their values out of any record like it.

    That raises ValueError for a record with other columns, of which some would be lost.
    """
    kind, columns = type(example), tuple(row_of(example))
    keys = example.keys() if isinstance(example, Mapping) else None
    pick: Callable[[Any], Any] = (attrgetter if keys is None else itemgetter)(*columns)

    def read(record: Any) -> tuple[Any, ...]:
        if type(record) is not kind or (keys is not None and record.keys() != keys):
            raise ValueError(f"{record!r} has other columns than {', '.join(columns)}")
        return pick(record) if len(columns) > 1 else (pick(record),)

    return columns, read


@lru_cache(maxsize=1024)
def insertion(table: str, columns: tuple[str, ...], mark: str, rest: str) -> str:
    """Return the statement that adds a row of these columns; ``mark`` stands for one value."""
    marks = ", ".join(mark.format(column) for column in columns)
    return f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({marks}) {rest}"
