"""The files that a verb writes, which are never those that it reads."""

import os
import re
from collections.abc import Iterable, Mapping
from contextlib import closing
from pathlib import Path, PurePath, PurePosixPath
from typing import TYPE_CHECKING

from prefjudge.errors import InputError
from prefjudge.reading.files import atomic_write, is_text, write_text
from prefjudge.reading.given import is_address
from prefjudge.reading.labels import write_beside
from prefjudge.reading.runs.parquet import is_parquet
from prefjudge.show.cells import Table
from prefjudge.show.figures import FORMS, render_figure
from prefjudge.show.tables import check_table_form, render_table, to_records
from prefjudge.study.pools import load_inputs
from prefjudge.study.store import CONFIG_FILE, MARKETPLACE_FILE, STORE_FILE, Study
from prefjudge.words import Rehearsal, printable

if TYPE_CHECKING:
    import pyarrow as pa
    from matplotlib.figure import Figure


_SCHEME = re.compile("[a-z][a-z0-9+.-]+:/")
"""The start of an address that was read as a path, and so lost a slash."""


def check_outputs(
    *outputs: str | Path | None,
    inputs: Iterable[str | Path | None] = (),
    study: Study | None = None,
    plot: Path | None = None,
    engine: str = "files",
    tables: bool = False,
) -> None:
    """Refuse to overwrite what the verb reads, under any of its names, before any work is done."""
    for output in (*outputs, plot):
        _check_address(output, engine)
    read = [path for path in (*inputs, *(_files_of(study) if study else ())) if path and str(path) != "-"]
    for path in read:
        for output in outputs:
            if output and _holds(path, output):
                raise _refused(output, path)
        if plot and (_holds(path, plot) or _is_named_after(plot, path)):
            raise _refused(plot, path)
    for output in outputs if tables else ():
        if output is not None:
            check_table_form(output)
    if plot and plot.suffix.lower().removeprefix(".") not in FORMS:
        raise InputError(
            f"--plot {plot}: the name does not say the form of the plot", "End it in .svg or .png."
        )


def own_file(study: Study, name: str) -> Path | None:
    """Return the file of this name in a study's folder; None where it, or the folder, may only be read."""
    may_write = study.until is None and os.access(study.folder, os.W_OK)
    return study.folder / name if may_write else None


def left_unwritten(study: Study, *names: str) -> tuple[str, ...]:
    """Say what a verb does not write there because the study's folder may only be read."""
    if study.until is not None or own_file(study, "any") is not None:
        return ()
    return (
        f"{' and '.join(names)} not written: {study.folder} may only be read. --out FILE writes elsewhere",
    )


def beside(path: str | Path, ending: str) -> str | Path:
    """Return the name of a file that goes with another: ``scores.csv`` and ``scores.per-query.csv``."""
    _check_name(path)
    if isinstance(path, Path):
        return path.with_name(f"{path.stem}.{ending}")
    folder, _, name = path.rpartition("/")
    return f"{folder}/{PurePosixPath(name).stem}.{ending}"


def beside_each(out: str | Path | None, *names: str) -> tuple[str | Path, ...]:
    """Return a file and those that go with it: ``wins.csv``, ``wins.examples.csv``; nothing where none is."""
    return (out, *(beside(out, f"{name}{PurePosixPath(out).suffix}") for name in names)) if out else ()


def _check_name(path: str | Path | None) -> None:
    if isinstance(path, Path) and not path.name:
        raise InputError(f"{path} is a folder, not a file", "Give the name of a file.")


def _check_address(path: str | Path | None, engine: str) -> None:
    """Refuse a folder, and an address that the engine cannot write to."""
    _check_name(path)
    if isinstance(path, Path) and _SCHEME.match(str(path)):
        raise InputError(
            f"{path} looks like an address, and this is written to a local file",
            "Give a file's name. Only pool and score write to an address, with --engine spark.",
        )
    if path is None or not is_address(path):
        return
    if not is_parquet(path):
        raise InputError(
            f"{path}: only Parquet is written to an address", "Give it a name that ends in .parquet."
        )
    if engine != "spark":
        raise InputError(f"{path} is an address, which a cluster writes", "Add --engine spark.")


def _files_of(study: Study) -> list[Path]:
    with study.transaction(write=False) as db:
        made_from = [Path(found.path) for found in load_inputs(db)]
    own = (CONFIG_FILE, STORE_FILE, MARKETPLACE_FILE)
    return [*made_from, *(study.folder / name for name in own)]


def _holds(read: str | Path, output: str | Path) -> bool:
    """Tell whether an output is an input, or a part of one that is a folder."""
    if is_address(read) or is_address(output):
        return str(output).rstrip("/") == str(read).rstrip("/")
    try:
        if Path(output).samefile(read):
            return True
        return Path(read).is_dir() and Path(output).resolve().is_relative_to(Path(read).resolve())
    except OSError:  # no such output, so nothing is lost; or no such input, which its reader reports
        return False


def _is_named_after(plot: Path, path: str | Path) -> bool:
    found = Path(path)
    named = found.name.startswith(f"{plot.stem}.") and found.suffix == plot.suffix
    return named and _holds(found, plot.with_name(found.name))


def _refused(output: str | Path, path: str | Path) -> InputError:
    return InputError(f"{output} would replace {path}, which is read", "Give another name.")


# Stamps: every file that rests on simulated judgments says so.


def stamp_of(rehearsal: Rehearsal | None) -> str:
    """Return the words of the stamp; none where nothing is rehearsed."""
    return str(rehearsal or "")


def write_stamp(path: str | Path, stamp: str) -> None:
    """Write a stamp beside a file whose format has no room for it, or remove that of an earlier file."""
    if not is_address(path):  # the provenance of what is at an address is written beside it
        write_beside(Path(path), stamp)


# Writing tables, each in the form that its file's suffix names.

_TYPES = {"text": "string", "money": "string", "integer": "int64", "flag": "bool_"}


def write_table(
    path: str | Path,
    table: Table,
    engine: str = "files",
    *,
    made: Mapping[str, str] | None = None,
    stamp: str = "",
) -> None:
    """Write a table atomically with what it was ``made`` with, and beside CSV and Parquet its stamp."""
    table = table.made_with(made or {}).stamped(stamp)
    if is_parquet(path):
        from prefjudge.reading.opened import tables_of

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


# Figure files: a plot as SVG or PNG.


def write_figure(path: str | Path, figure: "Figure", stamp: str = "") -> None:
    """Write a figure in the form that the file's suffix names, with a stamp below it where there is one."""
    content = render_figure(figure, Path(path).suffix, stamp)
    with atomic_write(path) as file:
        file.write(content)
