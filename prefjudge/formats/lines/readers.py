"""Readers: formats of runs, qrels and judgments other than lines of columns, by the file's suffix.

A reader turns a file into lines of columns, and everything else follows: checks, orders, copies,
clusters. So a new format is one file and its registration.
"""

from collections.abc import Callable, Iterator
from pathlib import Path, PurePath

from prefjudge.formats.lines.addresses import bare
from prefjudge.formats.lines.compressions import COMPRESSIONS
from prefjudge.formats.lines.datasets import PREFIX
from prefjudge.registers import Register

Reader = Callable[[str, Iterator[bytes]], Iterator[bytes]]
"""Takes the path, for messages, and the file's unpacked bytes; yields lines of columns, both in pieces."""

READERS: Register[Reader] = Register(
    "reader",
    Callable,
    {
        "json": "prefjudge.formats.runs.json_columns:read_json",
        "jsonl": "prefjudge.formats.runs.json_columns:read_json_lines",
        "parquet": "prefjudge.formats.labels.parquet_qrels:read_parquet",
        "lz4": "prefjudge.formats.runs.json_columns:read_lz4",
        "csv": "prefjudge.formats.runs.csv_columns:read_csv",
    },
)
"""The readers, by the suffix that a file has before that of its compression."""

_COLUMNS = frozenset({"txt", "run", "trec", "tsv", "res", "input", "qrels", "qrel"})
"""Usual suffixes of files that need no reader."""


def stem(path: str | Path) -> str:
    """Return a file's name without what says how it is stored."""
    name = PurePath(bare(path).removeprefix(PREFIX))
    while name.stem and _says_how_it_is_stored(_last_suffix(name)):
        name = PurePath(name.stem)
    return name.name


def _says_how_it_is_stored(suffix: str) -> bool:
    return suffix in _COLUMNS or suffix in COMPRESSIONS or suffix in READERS


def has_reader(path: str | Path) -> bool:
    """Return whether a file has a reader; else it holds lines of columns already, as far as its name says."""
    return suffix_of(path) in READERS


def read_columns(path: str, data: Iterator[bytes]) -> Iterator[bytes]:
    """Yield the lines of columns that a file's reader makes of its bytes."""
    name = suffix_of(path)
    with READERS.using(name):
        yield from READERS[name](path, data)


def suffix_of(path: str | Path) -> str:
    """Return the suffix that a file has before that of its compression, without the dot."""
    name = PurePath(bare(path))
    last = _last_suffix(name)
    if last not in COMPRESSIONS:
        return last
    inner = _last_suffix(PurePath(name.stem))
    return last if last in READERS and inner not in READERS else inner  # ranx keeps CBOR in NAME.lz4


def _last_suffix(name: PurePath) -> str:
    return name.suffix.lower().removeprefix(".")
