"""Shown results: what a notebook makes of a result, the tables that a terminal shows."""

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING, Any

from prefjudge.render.tables.record import record_tables
from prefjudge.render.text.cells import Table
from prefjudge.render.text.html import to_html

if TYPE_CHECKING:
    from prefjudge.render.frames import DataFrame


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
        """Return the tables that a terminal shows; by default, what the record holds."""
        return record_tables(self)

    def frames(self) -> "tuple[DataFrame, ...]":
        """Return every table as a pandas DataFrame, values at full precision.

        A frame's title and what it was made from are in ``frame.attrs``.
        """
        from prefjudge.render.frames import to_frame  # only those who ask for frames pay for it

        return tuple(map(to_frame, self.tables()))

    def to_frame(self) -> "DataFrame":
        """Return the first table, which is the result's own, as a pandas DataFrame; see `frames`."""
        from prefjudge.render.frames import to_frame

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
