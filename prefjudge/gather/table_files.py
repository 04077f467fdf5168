"""Writing tables, each in the form that its file's suffix names."""

from contextlib import closing
from pathlib import Path, PurePath

from prefjudge.engines.choice import engine_named
from prefjudge.engines.sql.tables import save_table
from prefjudge.formats.lines.atomic import write_text
from prefjudge.formats.runs.parquet import is_parquet
from prefjudge.gather.stamps import write_stamp
from prefjudge.render.text.tables import Table, check_table_form, render_table


def write_table(path: str | Path, table: Table, engine: str = "files", *, stamp: str = "") -> None:
    """Write a table atomically: CSV, JSON, Markdown, LaTeX or Parquet.

    The engine writes Parquet, DuckDB where there is none, and an address only a cluster can write. A stamp is
    a note of the table; beside CSV and Parquet, which have none, it is a file of its own.

    Raises
    ------
    InputError
        The name's suffix is not one of a table.
    """
    table = table.stamped(stamp)
    if is_parquet(path):
        with closing(engine_named("duckdb" if engine == "files" else engine)) as writer:
            save_table(writer, table, str(path))
    else:
        check_table_form(path)
        write_text(path, render_table(table, PurePath(path).suffix))
    if is_parquet(path) or PurePath(path).suffix.lower() == ".csv":
        write_stamp(path, stamp)
