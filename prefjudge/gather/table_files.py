"""Writing tables, each in the form that its file's suffix names."""

from contextlib import closing
from pathlib import Path, PurePath
from typing import TYPE_CHECKING

from prefjudge.engines.choice import tables_of
from prefjudge.errors import InputError
from prefjudge.formats.lines.atomic import write_text
from prefjudge.formats.lines.problems import is_text
from prefjudge.formats.runs.parquet import is_parquet
from prefjudge.gather.stamps import write_stamp
from prefjudge.render.text.plain_text import printable
from prefjudge.render.text.tables import Table, check_table_form, render_table, to_records

if TYPE_CHECKING:
    import pyarrow as pa

_TYPES = {"text": "string", "money": "string", "integer": "int64", "flag": "bool_"}


def write_table(path: str | Path, table: Table, engine: str = "files", *, stamp: str = "") -> None:
    """Write a table atomically: CSV, JSON, Markdown, LaTeX or Parquet.

    An address only a cluster can write. A stamp is a note of the table; beside CSV and Parquet, which have
    none, it is a file of its own.

    Raises
    ------
    InputError
        The name's suffix is not one of a table.
    """
    table = table.stamped(stamp)
    if is_parquet(path):
        with closing(tables_of(engine)) as writer:
            writer.save(to_arrow(table, path), str(path))
    else:
        check_table_form(path)
        write_text(path, render_table(table, PurePath(path).suffix))
    if is_parquet(path) or PurePath(path).suffix.lower() == ".csv":
        write_stamp(path, stamp)


def to_arrow(table: Table, path: str | Path) -> "pa.Table":
    """Return a table as Parquet has it."""
    import pyarrow as pa

    rows = [tuple(record.values()) for record in to_records(table)]
    odd = next((cell for row in rows for cell in row if isinstance(cell, str) and not is_text(cell)), None)
    if odd is not None:
        raise InputError(
            f"{path}: {printable(odd)!r} is not UTF-8, and Parquet knows no other text", "Write CSV or JSON."
        )
    cells = zip(*rows, strict=True) if rows else ((),) * len(table.columns)
    types = [getattr(pa, _TYPES.get(column.kind, "float64"))() for column in table.columns]
    arrays = [pa.array(column, kind) for column, kind in zip(cells, types, strict=True)]
    return pa.table(dict(zip([column.name for column in table.columns], arrays, strict=True)))
