"""Results: what every verb returns, and how it shows itself."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from datetime import date
from decimal import Decimal
from enum import Enum
from math import isfinite
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from prefjudge.show.cells import LONGEST, Column, Kind, Table, Value, fit, shorten_words
from prefjudge.show.tables import render_terminal, to_frame, to_html
from prefjudge.words import printable, told

if TYPE_CHECKING:
    from pandas import DataFrame


def record_tables(record: object) -> tuple[Table, ...]:
    """Return a table of a record's plain values, then one for each of its lists of records and mappings.

    What a record leaves out of its ``repr`` is bulk, and left out here; so are notices, which come first.
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
    names = [field.name for field in fields(record) if field.repr and field.name != "notices"]
    return [(name, getattr(record, name)) for name in names]


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


def plain(value: object) -> Any:
    """Return what JSON can say of a value: money and dates as text, numbers that are not finite as null.

    Of a record these are its fields and what is `told` beside them, or its own ``document``. What it leaves
    out of its ``repr`` is bulk, and left out here.
    """
    if is_dataclass(value):
        return value.document() if isinstance(value, Documented) else plain_fields(value)
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, tuple | list):
        return [plain(item) for item in value]
    if isinstance(value, float):
        return value if isfinite(value) else None
    if isinstance(value, Enum):
        return value.value
    return str(value) if isinstance(value, Decimal | Path | date) else value


def plain_fields(record: Any, *without: str) -> dict[str, Any]:
    """Return the fields of a record, and what is `told` beside them, but for those named."""
    beside = [name for name, one in vars(type(record)).items() if isinstance(one, told)]
    names = [*(field.name for field in fields(record) if field.repr), *beside]
    return {name: plain(getattr(record, name)) for name in names if name not in without}


@runtime_checkable
class Documented(Protocol):
    """A record whose JSON has another form than its fields."""

    def document(self) -> Any:
        """Return the JSON that is documented."""
        ...


# One screen: what a result says first, at a terminal and as its ``repr``.

MOST_ROWS = 10
"""A screen shows so many rows of a table."""


_LONGEST_NAME = 400


@dataclass(frozen=True, slots=True, kw_only=True)
class Screen:
    """What a result says first: what was found, the table that shows it, and how sure that is.

    ``found`` and ``sure`` are sentences. Of the ``tables`` a screen has
    the first rows, `MOST_ROWS` together.
    """

    found: tuple[str, ...] = ()
    tables: tuple[Table, ...] = ()
    sure: tuple[str, ...] = ()

    def text(self, width: int | None = None, *, stamp: str = "") -> str:
        """Return it as lines of at most ``width`` places; tables are as wide as they need without one."""
        parts = [broken(printable(words), width) for words in (stamp, *self.found) if words]
        most = max(3, MOST_ROWS // max(1, len(self.tables)))
        for table in self.tables:
            rest = len(table.rows) - most
            shown = replace(table, rows=table.rows[:most], notes=(), provenance={})
            drawn = render_terminal(shown, width=width, aside=False).rstrip("\n")
            more = f"\n… and {rest:,} more: --details" if rest > 0 else ""
            parts.append(f"{drawn}{more}")
            if left_out := fit(shown, width).left_out:
                parts.append(broken(f"… a wider window also shows: {', '.join(left_out)}", width))
        return "\n".join([*parts, *(broken(printable(words), width) for words in self.sure)])


def first_few(sentences: Sequence[str], most: int) -> tuple[str, ...]:
    """Return the first sentences, and how many there are beyond them."""
    left = len(sentences) - most
    return (*sentences[:most], f"… and {left:,} more: --details") if left > 0 else tuple(sentences)


def broken(text: str, width: int | None) -> str:
    """Return a sentence broken at blanks where a screen ends; an error stays whole, as it names a place."""
    if width is None or text.startswith("  error:"):
        return shorten_words(text, LONGEST if width is None else _LONGEST_NAME)
    indent = " " * (len(text) - len(text.lstrip()))
    words = shorten_words(text.lstrip(), max(1, min(LONGEST, width - len(indent))))
    return fill(
        words,
        width,
        initial_indent=indent,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )


# Shown results: what a notebook makes of a result, the tables that a terminal shows.


class Shown:
    """A result with tables: as text at a terminal, as HTML in a notebook, as DataFrames for further work.

    Two are equal where all that they hold is, arrays and NaN included; a dataclass gets ``eq=False`` for it.
    """

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        """Return whether another result holds the same."""
        return _same(self, other) if isinstance(other, Shown) else NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def tables(self) -> tuple[Table, ...]:
        """Return all tables, as ``--details`` prints them; by default, what the record holds."""
        return record_tables(self)

    def sentences(self) -> tuple[str, ...]:
        """Return what ``--details`` says after the tables; by default nothing."""
        return ()

    def screen(self) -> Screen:
        """Return what the result says first; by default, its first table."""
        return Screen(tables=self.tables()[:1])

    def __repr__(self) -> str:
        """Return the first screen as text."""
        return self.screen().text(LONGEST, stamp=str(getattr(self, "rehearsal", None) or ""))

    def frames(self) -> "dict[str, DataFrame]":
        """Return every table by its title as a pandas DataFrame, values at full precision.

        The second of one title is ``TITLE #2``.
        A frame's title and what it was made from are in ``frame.attrs``.
        """
        found: dict[str, DataFrame] = {}
        for table in self.tables():
            again = sum(title.partition(" #")[0] == table.title for title in found)
            found[f"{table.title} #{again + 1}" if again else table.title] = to_frame(table)
        return found

    def to_frame(self) -> "DataFrame":
        """Return the first table, which is the result's own, as a pandas DataFrame; see `frames`."""
        return to_frame(self.tables()[0])

    def _repr_html_(self) -> str:
        """Return the tables as HTML, which notebooks show."""
        stamp = str(getattr(self, "rehearsal", None) or "")
        return "\n".join(to_html(table.stamped(stamp)) for table in self.tables())


def _same(one: Any, other: Any) -> bool:
    """Return whether two values are the same, however deep their arrays stand."""
    if is_dataclass(one):
        compared = [field.name for field in fields(one) if field.compare]
        return type(one) is type(other) and all(
            _same(getattr(one, name), getattr(other, name)) for name in compared
        )
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(_same(value, other[key]) for key, value in one.items())
    if isinstance(one, tuple | list) and isinstance(other, tuple | list):
        return len(one) == len(other) and all(map(_same, one, other))
    if hasattr(one, "dtype"):
        import numpy as np

        return np.array_equal(one, other, equal_nan=one.dtype.kind == "f")
    return bool(one == other or (one != one and other != other))
