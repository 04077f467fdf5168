"""Writing tables, each in the form that its file's suffix names."""

from contextlib import closing
from pathlib import Path, PurePath, PurePosixPath
from typing import TYPE_CHECKING

from prefjudge.errors import InputError
from prefjudge.formats.parquet import is_parquet
from prefjudge.steps.inputs import is_address

if TYPE_CHECKING:
    from prefjudge.render.tables import Table


def write_table(path: str | Path, table: "Table", engine: str = "files") -> None:
    """Write a table atomically: CSV, JSON, Markdown, LaTeX or Parquet.

    The engine writes Parquet, DuckDB where there is none, and an address only a cluster can write.

    Raises
    ------
    InputError
        No table is written in a file of that name.
    """
    check_target(path, engine)
    from prefjudge.engines.choice import engine_named
    from prefjudge.formats.atomic import write_text
    from prefjudge.render.tables import render_table

    if is_parquet(path):
        from prefjudge.engines.sql import save_table

        with closing(engine_named("duckdb" if engine == "files" else engine)) as writer:
            save_table(writer, table, str(path))
    else:
        write_text(path, render_table(table, PurePath(path).suffix))


def check_target(path: str | Path | None, engine: str) -> None:
    """Refuse an address that the engine cannot write to."""
    if path is None or not is_address(path):
        return
    if not is_parquet(path):
        raise InputError(f"{path}: only Parquet is written to an address", "Let its name end in .parquet.")
    if engine != "spark":
        raise InputError(f"{path} is an address, which a cluster writes", "Add --engine spark.")


def beside(path: str | Path, ending: str) -> str | Path:
    """Return the name of a file that goes with another: ``scores.csv`` and ``scores.per-query.csv``."""
    if isinstance(path, Path):
        return path.with_name(f"{path.stem}.{ending}")
    folder, _, name = path.rpartition("/")
    return f"{folder}/{PurePosixPath(name).stem}.{ending}"
