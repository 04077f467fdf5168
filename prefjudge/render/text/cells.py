"""A table as a record: columns, rows and cells, and the words for a cell."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Literal

from prefjudge.chances import chance_text

Kind = Literal["text", "integer", "number", "percent", "p", "chance", "money", "flag"]
Value = str | int | float | Decimal | bool | None

MISSING = "–"


@dataclass(frozen=True, slots=True)
class Bold:
    """A cell that stands out: significant, or the best of its column."""

    value: Value


@dataclass(frozen=True, slots=True)
class Unsure:
    """A cell with a ring beside it, whatever the form: it would stand out, but chance may have made it."""

    value: Value


Cell = Value | Bold | Unsure

RING = "°"


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """One column: its key in data files, its heading on screen and how its values are written.

    Where a screen is too narrow, the columns with the greatest ``priority`` are left out first. Those of
    priority 1 are always shown, if need be below the others, where those of priority 0 are repeated: a row is
    known by them.
    """

    name: str
    head: str = ""
    kind: Kind = "text"
    digits: int = 4
    priority: int = 1

    @property
    def heading(self) -> str:
        """What the reader sees above the column."""
        return self.head or self.name

    @property
    def right_aligned(self) -> bool:
        """Whether the column holds quantities, which line up on the right."""
        return self.kind not in ("text", "flag")


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A result as rows and columns.

    ``notes`` are sentences for the reader; ``provenance`` says what the result was made from.
    """

    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    notes: tuple[str, ...] = ()
    provenance: Mapping[str, str] = field(default_factory=dict)

    def stamped(self, stamp: str) -> "Table":
        """Return the table with a stamp above its notes; unchanged where there is none."""
        return replace(self, notes=(stamp, *self.notes)) if stamp else self

    def __post_init__(self) -> None:
        names = [column.name for column in self.columns]
        if len(set(names)) != len(names):
            raise ValueError(f"two columns of {self.title!r} share a name: {names}")
        for number, row in enumerate(self.rows, 1):
            if len(row) != len(self.columns):
                raise ValueError(
                    f"row {number} of {self.title!r} has {len(row)} cells for {len(self.columns)} columns"
                )


def bare(cell: Cell) -> Value:
    """Return the value of a cell without its mark."""
    return cell.value if isinstance(cell, Bold | Unsure) else cell


def write_cell(cell: Cell, column: Column) -> str:
    """Return the words for a cell, as every rendering for people shows it."""
    return _write(bare(cell), column) + (RING if isinstance(cell, Unsure) else "")


def _write(value: Value, column: Column) -> str:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return MISSING
    if isinstance(value, str):
        return value
    match column.kind:
        case "flag":
            return "yes" if value else "no"
        case "integer":
            return f"{value:,.0f}" if isinstance(value, float) else f"{value:,}"
        case "money":
            return f"-${-value:,.2f}" if value < 0 else f"${value:,.2f}"
        case "percent":
            return _unsigned_zero(f"{100 * float(value):.{column.digits}f}") + "%"
        case "p":
            floor = 10.0**-column.digits
            return f"<{floor:.{column.digits}f}" if 0 <= value < floor else f"{value:.{column.digits}f}"
        case "chance":
            return chance_text(float(value))
        case "number":
            return _unsigned_zero(f"{value:.{column.digits}f}")
        case _:
            return str(value)


def _unsigned_zero(text: str) -> str:
    """Turn a ``-0.00`` that rounding made into ``0.00``."""
    return text[1:] if text.startswith("-") and not text.strip("-0.") else text
