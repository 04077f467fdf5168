"""Files: how they are written whole or not at all, and what is wrong in them."""

from __future__ import annotations

import csv
import os
import re
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache
from os import fspath
from pathlib import Path
from shutil import rmtree
from typing import TYPE_CHECKING, BinaryIO, TypeVar

from prefjudge.errors import InputError
from prefjudge.words import Rehearsal, many

if TYPE_CHECKING:
    from prefjudge.reading.fields import Fields

T = TypeVar("T")

# Reading ahead: the next block is made ready while the last one is looked at.


def ahead(items: Iterator[T]) -> Iterator[T]:
    """Yield what an iterator yields; from the third item on, a thread makes the next one meanwhile."""
    end = object()
    for _ in range(2):  # what is small needs no thread
        if (item := next(items, end)) is end:
            return
        yield item  # type: ignore[misc]
    with ThreadPoolExecutor(1) as thread:
        coming = thread.submit(next, items, end)
        while (item := coming.result()) is not end:
            coming = thread.submit(next, items, end)
            yield item  # type: ignore[misc]


# Atomic writing: a file is there whole, or as it was before.

_LEFT = 86_400.0
"""Seconds after which what nobody has written in is what a killed program left."""
_DEVICES = ("/dev", "/dev/fd")
"""Where a name such as ``stdout`` or ``null`` is everybody's: a superuser's file would take its place."""


@contextmanager
def atomic_write(path: str | Path, *, durable: bool = True) -> Iterator[BinaryIO]:
    """Open a file for writing bytes; it takes the place of ``path`` when the block ends without an error."""
    # The bytes go to a temporary file in the same folder, which is made where it is missing, and are on disk
    # (`durable`) before the file gets its name. What a killed program left is removed a day later. A name
    # that ends in `.gz` is compressed, without a time stamp, so that the same content gives the same bytes.
    target = Path(path)
    if target.name == "-" or str(target.absolute().parent) in _DEVICES:
        raise InputError(f"{path}: the output must be a file, not the standard output", "Give a file's name.")
    try:
        if target.is_dir():
            raise InputError(f"{path} is a folder", "Give the name of a file in it.")
        if target.exists() and not target.is_file():
            raise InputError(
                f"{path} is a pipe or a device, not a file that can be replaced", "Give a file's name."
            )
        target.parent.mkdir(parents=True, exist_ok=True)
        _remove_left(target)
        name = _part_of(target)
        opened = open(name, "xb")  # noqa: PTH123, SIM115 - closed below
    except OSError as error:
        raise InputError(f"{target} cannot be written: {error.strerror}", "choose another folder") from error
    try:
        with opened as file:
            if target.suffix == ".gz":
                from gzip import GzipFile

                with GzipFile(filename="", mode="wb", fileobj=file, mtime=0) as packed:
                    yield packed  # type: ignore[misc]
            else:
                yield file
            file.flush()
            if durable:
                os.fsync(file.fileno())
        try:
            os.replace(name, target)  # noqa: PTH105
        except OSError as error:
            raise InputError(f"{target} cannot be written: {error.strerror}", "Give another name.") from error
        if durable:
            sync_folder(target.parent)
    except BaseException:
        _remove(name)
        raise


def _part_of(target: Path) -> str:
    """Return a temporary name beside a file or a folder."""
    return str(target.parent / f".{target.name}.{os.urandom(6).hex()}.part")


def _remove_left(target: Path) -> None:
    """Remove what killed programs left beside a target, and put back what one of them had set aside."""
    pattern = re.compile(rf"\.{re.escape(target.name)}\.[0-9a-f]{{12}}\.(part|old)")
    for name, changed in _parts_in(target.absolute().parent):
        if time.time() - changed > _LEFT and pattern.fullmatch(os.path.basename(name)):  # noqa: PTH119
            with suppress(OSError):
                _put_back(name, target)
            _remove(name)


@cache
def _parts_in(folder: Path) -> tuple[tuple[str, float], ...]:
    """Return the temporary files of a folder, as this program first met it: it may write thousands there."""
    with suppress(OSError), os.scandir(folder) as entries:  # one may be written in, and not listed
        found = [entry for entry in entries if entry.name.endswith((".part", ".old"))]
        return tuple((entry.path, entry.stat(follow_symlinks=False).st_mtime) for entry in found)
    return ()


def _put_back(aside: str, target: Path) -> None:
    if aside.endswith(".old") and os.path.lexists(aside) and not os.path.lexists(target):
        os.rename(aside, target)  # noqa: PTH104


def _remove(name: str) -> None:
    """Remove a folder, or what is a file; or nothing."""
    with suppress(OSError):
        os.unlink(name)  # noqa: PTH108
    rmtree(name, ignore_errors=True)


def write_text(path: str | Path, text: str) -> None:
    """Write a whole text file atomically; surrogates from odd bytes become those bytes again."""
    with atomic_write(path) as file:
        file.write(text.encode("utf-8", "surrogateescape"))


def sync_folder(folder: Path) -> None:
    """Have a folder's names on disk."""
    with suppress(OSError):  # a file system without folders to sync
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


# Atomic folders: for programs that write many files where one path is given, as Spark does.


@contextmanager
def atomic_folder(path: str | Path) -> Iterator[Path]:
    """Make an empty folder to fill; it takes the place of ``path`` when the block ends without an error."""
    # A folder cannot be replaced in one step: what was there is set aside for a moment.
    target = Path(path)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        _remove_left(target)
        name = _part_of(target)
        os.mkdir(name)  # noqa: PTH102
    except OSError as error:
        raise InputError(f"{target} cannot be written: {error.strerror}", "choose another folder") from error
    aside = f"{name.removesuffix('.part')}.old"
    try:
        yield Path(name)
        try:
            with suppress(FileNotFoundError):
                os.rename(target, aside)  # noqa: PTH104
            os.rename(name, target)  # noqa: PTH104
        except OSError as error:
            raise InputError(f"{target} cannot be written: {error.strerror}", "Give another name.") from error
    finally:
        _put_back(aside, target)
        _remove(name)
        _remove(aside)


# How files may be compressed.

COMPRESSIONS = {
    "gz": b"\x1f\x8b",
    "bz2": b"BZh",
    "zst": b"\x28\xb5\x2f\xfd",
    "lz4": b"\x04\x22\x4d\x18",
}
"""The usual suffix of each form of compression, and the bytes with which such a file starts."""

_SKIPPED = 0x184D2A5
"""The upper bits of the magic number of a frame of zstd that holds no text: pzstd starts with one."""


def compression(head: bytes) -> str:
    """Return what the first bytes say: ``gz``, ``bz2``, ``zst``, ``lz4`` or nothing."""
    if len(head) >= 4 and int.from_bytes(head[:4], "little") >> 4 == _SKIPPED:
        return "zst"
    return next((kind for kind, start in COMPRESSIONS.items() if head.startswith(start)), "")


# Problems: what is wrong with a file, and where; notices: what is odd but can be read.

LIMIT = 20
"""How many problems of one file are collected before reading stops."""

_SHOWN = 120
_HEADER = {b"score", b"rank", b"sim", b"grade", b"rel", b"relevance", b"label", b"preferred"}
"""What stands over a column in which something else is expected."""
_SURROGATES = re.compile("[\ud800-\udfff]")
"""What `decode` makes of bytes that are not UTF-8."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    """Something odd that a reader met and dealt with: ``where`` is ``file`` or ``file:line``."""

    where: str
    what: str
    rehearsal: Rehearsal | None = None
    """How much of the file is simulated, as it says of itself."""

    def __str__(self) -> str:
        return f"{self.where}: {self.what}"


def decode(raw: bytes) -> str:
    """Return the bytes of an id as text; bytes that are not UTF-8 survive a round trip."""
    return raw.decode("utf-8", "surrogateescape")


def encode(text: str) -> bytes:
    """Return the bytes that `decode` made ``text`` of."""
    return text.encode("utf-8", "surrogateescape")


def is_text(name: str) -> bool:
    """Return whether an id was UTF-8: SQL and Parquet take no other."""
    return not _SURROGATES.search(name)


def column(text: str) -> bytes:
    """Return an id as a column of a file holds it; an id with a blank would break the columns."""
    raw = encode(text)
    if not raw or raw.split() != [raw]:
        raise InputError(
            f"the id {text!r} holds a blank", "Replace the blanks: ids in these files are single words."
        )
    return raw


def need_words(where: str, names: Iterable[object], hint: str) -> None:
    """Refuse an id that would be no column of a file, or two."""
    for name in names:
        if not isinstance(name, str) or name.split() != [name]:
            raise InputError(f"{where}the id {name!r} is empty or holds a blank", hint)


def shown(raw: bytes) -> str:
    """Return offending text as an error shows it: quoted, printable, not too long."""
    text = repr(raw[: _SHOWN + 1].decode("utf-8", "backslashreplace"))
    return text if len(raw) <= _SHOWN else text[:_SHOWN] + "…'"


_ALIKE: dict[str, Callable[[str], str]] = {
    "leading zeros": lambda name: name.lstrip("0") or "0",
    "a decimal point, as tables write whole numbers": lambda name: name.removesuffix(".0"),
    "capital letters": str.casefold,
    "quotation marks": lambda name: name.strip("\"'"),
    "a comma or semicolon at the end": lambda name: name.rstrip(",;"),
}
"""How ids of one thing may differ in two files, and what makes them the same."""


def way_of_writing(names: Iterable[str], others: Collection[str]) -> str:
    """Return in what ids differ that never meet those of another file; empty where nothing tells."""
    names = list(names)
    for what, plain in _ALIKE.items():
        if not {*map(plain, names)}.isdisjoint(map(plain, others)):
            return what
    return ""


def write_alike(kind: str, names: Iterable[str], others: Collection[str], files: str) -> str:
    """Return what to do where no id of one file is in another: a ``query_id``, of ``files`` such as runs."""
    if what := way_of_writing(names, others):
        return f"Write the {kind}s alike: they differ in {what}."
    return f"Give {files} of the same collection, which write the {kind} alike."


_GLANCE, _FEW = 1000, 3
"""So many lines say what a file is, and of fewer lines nobody can tell what they have in common."""


@dataclass(slots=True)
class Problems:
    """Collects the problems of one file, and raises them together where its ``with`` block ends."""

    path: str
    """The file, as the user named it."""
    kind: str
    """What the file should be: ``run``, ``qrels``."""
    limit: int = LIMIT
    """After this many problems `add` raises them."""
    found: list[tuple[int, int, str]] = field(default_factory=list)
    hints: dict[str, None] = field(default_factory=dict)

    def add(self, line: int, column: int, what: str, raw: bytes, hint: str) -> None:
        """Record one problem at ``line`` and ``column``, both from 1."""
        self.found.append((line, column, f"{self.path}:{line}:{column}: {what}: {shown(raw)}"))
        self.hints["Line 1 names the columns: take it out." if line == 1 and raw in _HEADER else hint] = None
        if len(self.found) >= self.limit:
            raise self.error()

    def at(self, rows: Fields, row: int, column: int | None, what: str, hint: str) -> None:
        """Record a problem of a field, or of a line as a whole."""
        line = int(rows.lines[row])
        if column is None:
            self.add(line, 1, what, rows.line_of(row), hint)
        else:
            self.add(line, rows.column_of(row, column), what, rows.raw(row, column), hint)

    def refuse_other(self, rows: Fields, width: int, widths: Collection[int], hint: str) -> None:
        """Refuse in one sentence a file whose lines have nothing in common, or not with its first one."""
        counts = Counter(rows.counts[:_GLANCE].tolist())
        (usual, often), size = counts.most_common(1)[0], counts.total()
        if size < _FEW or 2 * counts[width] >= size:
            return
        first, second = (f"line {rows.lines[row]} is {shown(rows.line_of(row))}" for row in (0, 1))
        what = f"{self.path} is not a {self.kind}: its lines differ in their number of columns"
        if 2 * often > size and usual not in widths:
            what = f"{self.path} is not a {self.kind}: most of its lines have {many(usual, 'column')}"
        elif 2 * often > size:
            what = f"{self.path}: its first line has {many(width, 'column')}, and the others have {usual}"
        raise InputError(f"{what}; {first}, and {second}", hint)

    def error(self) -> InputError:
        """Return the problems in the order of the lines."""
        lines = [text for _, _, text in sorted(self.found)]
        count = len(lines)
        first = "the first " if count >= self.limit else ""
        return InputError(
            f"{self.path} is not a readable {self.kind} ({first}{many(count, 'problem')}):",
            "\n".join(self.hints),
            lines,
        )

    def __enter__(self) -> Problems:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Raise what was found, unless something else was raised."""
        if self.found and kind is None:
            raise self.error()


def paths_of(paths: str | Path | Iterable[str | Path]) -> tuple[str, ...]:
    """Return one path or several as a tuple of strings."""
    if isinstance(paths, str | Path):
        return (fspath(paths),)
    return tuple(fspath(path) for path in paths)


# CSV: rows with the lines on which they begin.

LONGEST = 64 << 20
"""Bytes of the longest line, and of a text that is read whole: what is longer is not what it seems."""


def csv_rows(path: str, lines: Iterator[str], mark: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the rows of CSV, the header first and without empty ones, and on which line each begins."""
    csv.field_size_limit(max(csv.field_size_limit(), LONGEST))  # the module's own is 128 KB
    rows, line = csv.reader(lines, delimiter=mark, strict=True), 1
    try:
        for row in rows:
            if row:
                yield line, row
            line = rows.line_num + 1
    except csv.Error as error:
        raise InputError(
            f"{path}:{rows.line_num}: not CSV: {error}",
            "Close each quotation mark, and double those in cells.",
        ) from None
