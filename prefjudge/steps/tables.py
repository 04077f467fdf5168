"""Writing tables, each in the form that its file's suffix names."""

from contextlib import closing
from pathlib import Path, PurePath
from typing import TYPE_CHECKING

from prefjudge.formats.parquet import is_parquet

if TYPE_CHECKING:
    from prefjudge.render.tables import Table


def write_table(path: str | Path, table: "Table", engine: str = "files", *, stamp: str = "") -> None:
    """Write a table atomically: CSV, JSON, Markdown, LaTeX or Parquet.

    The engine writes Parquet, DuckDB where there is none, and an address only a cluster can write. A stamp is
    a note of the table; beside CSV and Parquet, which have none, it is a file of its own.

    Raises
    ------
    InputError
        No table is written in a file of that name.
    """
    from prefjudge.engines.choice import engine_named
    from prefjudge.formats.atomic import write_text
    from prefjudge.render.tables import render_table
    from prefjudge.steps.stamps import write_stamp

    table = table.stamped(stamp)
    if is_parquet(path):
        from prefjudge.engines.sql_tables import save_table

        with closing(engine_named("duckdb" if engine == "files" else engine)) as writer:
            save_table(writer, table, str(path))
    else:
        write_text(path, render_table(table, PurePath(path).suffix))
    if is_parquet(path) or PurePath(path).suffix.lower() == ".csv":
        write_stamp(path, stamp)
