"""The tables of a record that has none of its own: its values, and each list of records in it."""

from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from decimal import Decimal
from enum import Enum
from pathlib import Path
from typing import Any

from prefjudge.render.text.cells import Column, Kind, Table, Value


def record_tables(record: object) -> tuple[Table, ...]:
    """Return a table of a record's plain values, then one for each of its lists of records and mappings.

    What a record leaves out of its ``repr`` is bulk, and left out here.
    """
    assert is_dataclass(record)
    plain: list[tuple[Value, Value]] = []
    further: list[Table] = []
    for name, value in _values(record):
        if _is_plain(value):
            plain.append((_words(name), _said(value)))
        elif isinstance(value, Mapping):
            pairs = [(str(key), one) for key, one in value.items() if _is_plain(one)]
            further += [_pairs(_words(name), pairs)] if pairs else []
        elif isinstance(value, tuple | list) and all(map(is_dataclass, value)):
            further.append(_rows(_words(name), value))
        elif is_dataclass(value):
            further.append(replace(record_tables(value)[0], title=_words(name)))
    return (_pairs(_title(record), plain), *further)


def _values(record: Any) -> list[tuple[str, Any]]:
    return [(field.name, getattr(record, field.name)) for field in fields(record) if field.repr]


def _is_plain(value: object) -> bool:
    if isinstance(value, tuple | list):
        return all(_is_plain(item) for item in value)
    return value is None or isinstance(value, str | int | float | Decimal | Path | Enum)


def _said(value: Any) -> Value:
    """Return a value as a cell holds it: lists as words, paths and members of enumerations as text."""
    if isinstance(value, tuple | list):
        return ", ".join(str(_said(item)) for item in value) or None
    if isinstance(value, Enum):
        return str(value.value)
    return str(value) if isinstance(value, Path) else value


def _pairs(title: str, pairs: list[tuple[Value, Value]] | list[tuple[str, Any]]) -> Table:
    rows = tuple((name, _said(value)) for name, value in pairs)
    return Table(title=title, columns=(Column(name="name", head=""), Column(name="value")), rows=rows)


def _rows(title: str, records: Sequence[Any]) -> Table:
    """Return a row for each record, a column for each of its plain values."""
    found = [dict(_values(record)) for record in records]
    names = [name for name in found[0] if all(_is_plain(one.get(name)) for one in found)]
    rows = tuple(tuple(_said(one.get(name)) for name in names) for one in found)
    columns = (
        Column(name=name, head=_words(name), kind=_kind([one.get(name) for one in found])) for name in names
    )
    return Table(title=title, columns=tuple(columns), rows=rows)


def _kind(values: list[Any]) -> Kind:
    kinds = {type(value) for value in values if value is not None}
    known: dict[type, Kind] = {bool: "flag", int: "integer", float: "number", Decimal: "money"}
    return known[kinds.pop()] if len(kinds) == 1 and kinds <= set(known) else "text"


def _words(name: str) -> str:
    return name.replace("_", " ")


def _title(record: object) -> str:
    return type(record).__name__.removesuffix("Result").lower()
