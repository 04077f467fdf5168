"""What an engine of SQL does: it asks tables, and runs our own reader where the run files are.

Runs that a user has as tables (Parquet) are sorted by it, and then read as run files are. What is too large
to return is saved by the engine. Text compares as bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from prefjudge.engines.sql.answers import Answer, Summary
from prefjudge.errors import ConfigError, InputError
from prefjudge.formats.lines.problems import is_text
from prefjudge.render.text.plain_text import printable
from prefjudge.render.text.tables import Table, to_records

if TYPE_CHECKING:
    import pyarrow as pa

NAMES, OUTGOING, FOUND = (f"prefjudge_{noun}" for noun in ("names", "outgoing", "found"))
"""The tables: a session may be somebody's, with tables of their own."""

PLACE = ("prefjudge_file", "prefjudge_row")
"""The columns that an engine adds to a Parquet: the file of a row, and its number there."""

_TYPES = {"text": "string", "money": "string", "integer": "int64", "flag": "bool_"}

GroupWork: TypeAlias = "Callable[[Iterator[pa.RecordBatch]], Iterable[tuple[Any, pa.RecordBatch | None]]]"
"""Makes of a stream of rows summaries, which go home, and rows, which stay."""


class SqlEngine(Protocol):
    """What asks tables, and reads run files."""

    executor: Executor | None
    """Reads run files in parallel, and returns what was found; None where this process reads them."""

    def files(self, path: str) -> list[str]:
        """Return the run files that a path stands for."""
        ...

    def keep(self, table: str, work: Callable[[str], Answer], paths: Sequence[str]) -> Iterable[Summary]:
        """Fill a table with the rows that ``work`` finds in run files; return the summary of each."""
        ...

    def keep_groups(
        self,
        table: str,
        path: str,
        asked: Sequence[str],
        by: Sequence[str],
        work: GroupWork,
        columns: Mapping[str, str],
    ) -> list[Any]:
        """Fill a table with what ``work`` finds in some columns of a Parquet; return what it says of them.

        It gets streams of rows; those that agree in ``by`` come one after the other, in one stream.
        """
        ...

    def table(self, path: str) -> str:
        """Return the name of a Parquet in SQL, where its rows know their place, too."""
        ...

    def load(self, table: str, rows: pa.Table) -> None:
        """Fill a table with rows from home."""
        ...

    def arrow(self, text: str) -> pa.Table:
        """Return the rows of a query in columns."""
        ...

    def save(self, text: str, path: str) -> str:
        """Write the rows of a query as Parquet where the engine keeps its files; return their name in SQL."""
        ...

    def close(self) -> None:
        """Forget the tables."""
        ...


def require_arrow(extra: str) -> None:
    """Refuse to go on without Arrow, in which columns go to an engine and come back."""
    try:
        import pyarrow  # noqa: F401
    except ImportError:
        raise ConfigError(
            "pyarrow is not installed", f"Install it with the extra: pip install 'prefjudge[{extra}]'"
        ) from None


def rows_of(engine: SqlEngine, text: str) -> list[tuple[Any, ...]]:
    """Return the few rows of a query."""
    return list(zip(*(column.to_pylist() for column in engine.arrow(text).columns), strict=True))


def load_rows(
    engine: SqlEngine, table: str, types: Mapping[str, str], rows: Sequence[tuple[Any, ...]]
) -> None:
    """Fill a table with rows from home; columns are of types that Arrow knows by these names."""
    import pyarrow as pa

    columns = zip(*rows, strict=True) if rows else ((),) * len(types)
    arrays = (
        pa.array(column, getattr(pa, kind)()) for column, kind in zip(columns, types.values(), strict=True)
    )
    engine.load(table, pa.table(dict(zip(types, arrays, strict=True))))


def save_table(engine: SqlEngine, table: Table, path: str) -> None:
    """Write a table from home as Parquet."""
    types = {column.name: _TYPES.get(column.kind, "float64") for column in table.columns}
    rows = [tuple(record.values()) for record in to_records(table)]
    odd = next((cell for row in rows for cell in row if isinstance(cell, str) and not is_text(cell)), None)
    if odd is not None:
        raise InputError(
            f"{path}: {printable(odd)!r} is not UTF-8, and Parquet knows no other text", "Write CSV or JSON."
        )
    load_rows(engine, OUTGOING, types, rows)
    engine.save(f"SELECT * FROM {OUTGOING}", path)
