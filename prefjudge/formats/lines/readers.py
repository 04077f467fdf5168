"""Readers: formats of runs, qrels and judgments other than lines of columns, by the file's suffix.

A reader turns a file into lines of columns, and everything else follows: checks, orders, ``--trust``, copies,
the engines. So a new format is one file and its registration.
"""

from collections.abc import Callable, Iterator
from os import fspath
from pathlib import Path, PurePath

from prefjudge.registers import Register

Reader = Callable[[str, Iterator[bytes]], Iterator[bytes]]
"""Takes the path, for messages, and the file's unpacked bytes; yields lines of columns, both in pieces."""

READERS: Register[Reader] = Register(
    "reader", Callable, {"json": "prefjudge.formats.runs.json_columns:read_json"}
)
"""The readers, by the suffix that a file has before that of its compression."""

_PACKED = (".gz", ".bz2", ".zst")


def has_reader(path: str | Path) -> bool:
    """Return whether a file has a reader; else it holds lines of columns already, as far as its name says."""
    return _suffix(path) in READERS


def read_columns(path: str, data: Iterator[bytes]) -> Iterator[bytes]:
    """Yield the lines of columns that a file's reader makes of its bytes."""
    name = _suffix(path)
    with READERS.using(name):
        yield from READERS[name](path, data)


def _suffix(path: str | Path) -> str:
    name = PurePath(fspath(path))
    suffix = PurePath(name.stem).suffix if name.suffix.lower() in _PACKED else name.suffix
    return suffix.lower().removeprefix(".")
