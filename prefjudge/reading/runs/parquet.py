"""Runs and qrels in columns: Parquet, CSV with a header, and JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from os import fspath
from pathlib import Path
from shutil import copyfileobj
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING
from urllib.parse import unquote

from prefjudge.errors import ConfigError, InputError
from prefjudge.reading.files import compression
from prefjudge.reading.remote import RemoteFile, is_remote, without_secrets
from prefjudge.reading.signatures import PACKED_PARQUET
from prefjudge.reading.unpacking import opened

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq


PART = 1 << 19
"""About how many rows are read at once, or by one task: whole row groups of them."""

_NULL = "__HIVE_DEFAULT_PARTITION__"
"""What the name of a folder says of a row that has no value."""


def is_parquet(path: str | Path) -> bool:
    """Return whether a path names Parquet: a file, or a folder of files as Spark writes it."""
    return str(path).rstrip("/").lower().endswith(".parquet")


def require_arrow(what: str = "") -> None:
    """Refuse to go on without pyarrow; ``what`` says what it is for."""
    try:
        import pyarrow  # noqa: F401
    except ImportError:
        raise ConfigError(
            f"{what}pyarrow is not installed", "Install it with the extra: pip install 'prefjudge[parquet]'"
        ) from None


@contextmanager
def open_parquet(path: str | Path) -> Iterator[pq.ParquetFile]:
    """Open a file of Parquet; an object is fetched whole, since Parquet is read from its end."""
    require_arrow(f"{without_secrets(fspath(path))} is Parquet, and ")
    import pyarrow as pa
    import pyarrow.parquet as pq

    with _seekable(path) as file, opened(file) as raw:
        head = raw.read(8)
        raw.seek(0)
        try:
            yield pq.ParquetFile(raw)
        except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
            name = without_secrets(fspath(path))
            if compression(head):
                raise InputError(*PACKED_PARQUET.words(name)) from None
            said = str(error).splitlines()[0]
            raise InputError(
                f"{name} cannot be read as Parquet: {said}", "It may be cut off: copy it or write it again."
            ) from None


@contextmanager
def _seekable(path: str | Path) -> Iterator[str | Path]:
    """Yield a file's own path, or that of a copy of an object."""
    if not is_remote(path):
        yield path
        return
    with TemporaryDirectory() as folder:
        copy = Path(folder) / "object.parquet"
        with RemoteFile(path) as remote, copy.open("wb") as file:
            copyfileobj(remote, file)
        yield copy


def parquet_files(path: str) -> list[Path]:
    """Return the files of a Parquet: itself, or those in a folder without marks and checksums."""
    folder = Path(path)
    files = [folder]
    if folder.is_dir():
        below = ((file, file.relative_to(folder).parts) for file in folder.rglob("*") if file.is_file())
        found = (file for file, parts in below if not any(name.startswith(("_", ".")) for name in parts))
        files = sorted(found, key=str)
    if not files:
        raise InputError(f"{path} is a folder without Parquet in it", "Check the program that wrote it.")
    kinds: dict[str, tuple[pa.DataType, Path]] = {}
    for file in files:
        for field in _schema(file):
            kind, before = kinds.setdefault(field.name, (field.type, file))
            if kind != field.type:
                raise InputError(
                    f"{path}: the column {field.name} holds {kind} in {before.name} and {field.type} in "
                    f"{file.name}",
                    "Write the files again, with one type for all.",
                )
    return files


def schema_of(path: str) -> pa.Schema:
    """Return the columns of a Parquet, those in the names of its folders too, as they are read."""
    import pyarrow as pa

    fields = {field.name: _plain_type(field.type) for file in parquet_files(path) for field in _schema(file)}
    return pa.schema([*(fields | dict.fromkeys(columns_of_folders(path), pa.string())).items()])


def _schema(file: Path) -> pa.Schema:
    with open_parquet(file) as table:
        return table.schema_arrow


@dataclass(frozen=True, slots=True)
class RowGroups:
    """Some row groups of a file: what one task reads."""

    file: Path
    groups: tuple[int, ...]
    rows: int


def row_groups(files: Sequence[Path], size: int) -> list[RowGroups]:
    """Return files in parts of whole row groups, of ``size`` rows or a little more."""
    parts: list[RowGroups] = []
    for file in files:
        with open_parquet(file) as table:
            sizes = [table.metadata.row_group(group).num_rows for group in range(table.num_row_groups)]
        start = 0
        for end in range(1, len(sizes) + 1):
            rows = sum(sizes[start:end])
            if rows >= size or end == len(sizes):
                parts.append(RowGroups(file, tuple(range(start, end)), rows))
                start = end
    return parts


def read_row_groups(
    part: RowGroups, columns: Sequence[str], given: Mapping[str, str | None] | None = None
) -> Iterator[pa.RecordBatch]:
    """Yield some columns of a part of a file, which may be spelled in other letters, as SQL takes them."""
    import pyarrow as pa

    given = given or {}
    with open_parquet(part.file) as table:
        there = {name.lower(): name for name in table.schema_arrow.names}
        missing = next((name for name in columns if name not in there and name not in given), None)
        if missing is not None:
            raise InputError(f"{part.file} has no column {missing}, but {', '.join(there.values())}")
        names = [there[name] for name in columns if name not in given]
        for batch in table.iter_batches(row_groups=part.groups, columns=names):
            cells = [
                pa.repeat(pa.scalar(given[name], pa.string()), batch.num_rows)
                if name in given
                else _plain(batch[there[name]])
                for name in columns
            ]
            yield pa.RecordBatch.from_arrays(cells, names=[*columns])


def read_columns(path: str, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """Yield some columns of a Parquet, file by file; those in the names of its folders are texts."""
    for part in row_groups(parquet_files(path), PART):
        folders = part.file.relative_to(path).parts[:-1] if part.file != Path(path) else ()
        named = (name.partition("=") for name in folders if "=" in name)
        given = {name.lower(): None if cell == _NULL else unquote(cell) for name, _, cell in named}
        yield from read_row_groups(part, columns, given)


def _plain(cells: pa.Array) -> pa.Array:
    """Return cells in a type whose rows can be taken: neither codes nor views."""
    import pyarrow.types as kinds

    if kinds.is_dictionary(cells.type):
        cells = cells.dictionary_decode()
    plain = _plain_type(cells.type)
    return cells.cast(plain) if plain != cells.type else cells


def _plain_type(kind: pa.DataType) -> pa.DataType:
    import pyarrow as pa

    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    plain = {"string_view": pa.string(), "binary_view": pa.binary(), "null": pa.string()}
    return plain.get(str(kind), kind)


def columns_of_folders(path: str) -> set[str]:
    """Return the columns of a Parquet that are in the names of its folders (``query=q1``)."""
    return {one.name.partition("=")[0].lower() for one in Path(path).rglob("*=*") if one.is_dir()}
