"""Manifests: the files of a collection as its makers list them, and whether a folder holds them unharmed."""

import hashlib
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal

from prefjudge.errors import InputError
from prefjudge.reading.unpacking import pieces
from prefjudge.resources import resource_dir
from prefjudge.words import many

_BLOCK = 4096

FileStatus = Literal["ok", "wrong", "absent"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedFile:
    """One file of a manifest; what its makers did not list is None."""

    # ``size`` in bytes: where it is a multiple of 4096, the space on disk, in whose last block the file ends.
    # ``record`` is the line that starts a record; empty where each line is one.

    name: str
    size: int | None
    md5: str | None
    records: int | None
    record: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundFile:
    """What a folder holds of a listed file."""

    # ``path`` is empty where it holds nothing. A listed file that was unpacked, or packed with gzip, is known
    # by its name and compared by its content as far as that goes. ``problems`` says what is wrong; ``size``,
    # ``md5`` and ``records`` are those of what was compared.

    name: str
    status: FileStatus
    path: str
    size: int | None
    md5: str | None
    records: int | None
    problems: tuple[str, ...]


def read_manifest(name: str) -> tuple[ListedFile, ...]:
    """Read a manifest that ships with prefjudge, by its name, or a TOML file of the same form."""
    folder = resource_dir("configs") / "manifests"
    shipped = folder / f"{name}.toml"
    path = shipped if shipped.is_file() else Path(name)
    if not path.is_file():
        known = ", ".join(sorted(found.stem for found in folder.glob("*.toml")))
        raise InputError(f"there is no manifest {name!r}", f"Give a TOML file, or one of: {known}.")
    try:
        rows = tomllib.loads(path.read_text(encoding="utf-8"))["file"]
        return tuple(
            ListedFile(
                name=str(row["name"]),
                size=row.get("bytes"),
                md5=row.get("md5"),
                records=row.get("records"),
                record=row.get("record", ""),
            )
            for row in rows
        )
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise InputError(
            f"{path} is not a manifest: {error}", "Write [[file]] tables with name, bytes, md5, records."
        ) from None


def find_listed(folder: Path, listed: ListedFile) -> FoundFile:
    """Look for a listed file in a folder, and compare its size, MD5 and number of records with the list."""
    path, alike = _look_up(folder, listed.name)
    if path is None:
        return FoundFile(
            name=listed.name, status="absent", path="", size=None, md5=None, records=None, problems=()
        )
    packed, unpacked = path.name.endswith(".gz"), listed.name.removesuffix(".gz")
    # a file listed unpacked and found packed is compared by its content
    comparable = alike or packed
    problems = []
    try:
        md5, size = _digest(pieces(path)) if not alike and packed else _stored(path)
        records = None if unpacked.endswith(".tar") else _count_records(path, listed.record)
    except InputError as error:
        md5, size = _stored(path)
        records = None
        problems.append(error.message)
    if comparable and listed.size is not None and not _fits(size, listed.size):
        problems.append(f"{many(size, 'byte')}, listed with {listed.size:,}")
    if comparable and listed.md5 is not None and md5 != listed.md5:
        problems.append(f"MD5 {md5}, listed with {listed.md5}")
    if listed.records is not None and records is not None and records != listed.records:
        problems.append(f"{many(records, 'record')}, listed with {listed.records:,}")
    return FoundFile(
        name=listed.name,
        status="wrong" if problems else "ok",
        path=str(path),
        size=size,
        md5=md5,
        records=records,
        problems=tuple(problems),
    )


def _look_up(folder: Path, name: str) -> tuple[Path | None, bool]:
    """Return the file of this name, else its packed or unpacked twin; and whether it is the very file."""
    twin = name.removesuffix(".gz") if name.endswith(".gz") else f"{name}.gz"
    for candidate in (name, twin):
        if (folder / candidate).is_file():
            return folder / candidate, candidate == name
    return None, False


def _fits(size: int, listed: int) -> bool:
    return listed - _BLOCK < size <= listed if listed % _BLOCK == 0 else size == listed


def _stored(path: Path) -> tuple[str, int]:
    """Return the MD5 and the size of a file as it is."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, partial(hashlib.md5, usedforsecurity=False)).hexdigest(), file.tell()


def _digest(parts: Iterator[bytes]) -> tuple[str, int]:
    """Return the MD5 and the number of bytes."""
    state, size = hashlib.md5(usedforsecurity=False), 0
    for part in parts:
        state.update(part)
        size += len(part)
    return state.hexdigest(), size


def _count_records(path: Path, record: str) -> int:
    """Count the lines, or those that are ``record``, of the unpacked content."""
    count, rest = 0, b""
    for part in pieces(path):
        if not record:
            count += part.count(b"\n")
            rest = part[-1:]
            continue
        *lines, rest = (rest + part).split(b"\n")
        count += sum(line.rstrip(b"\r") == record.encode() for line in lines)
    if record:
        return count + (rest.rstrip(b"\r") == record.encode())
    return count + (rest not in (b"", b"\n"))
