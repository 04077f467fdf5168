"""Shown results: what a notebook makes of a result, the tables that a terminal shows."""

from typing import TYPE_CHECKING

from prefjudge.render.tables.record import record_tables
from prefjudge.render.text.cells import Table
from prefjudge.render.text.html import to_html

if TYPE_CHECKING:
    from prefjudge.render.frames import DataFrame


class Shown:
    """A result with tables: as text at a terminal, as HTML in a notebook, as DataFrames for further work."""

    __slots__ = ()

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
