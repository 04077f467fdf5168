"""Run copies: a checked run in columns on disk, so that the next look reads only what it needs."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from mmap import ACCESS_READ, mmap
from pathlib import Path, PurePath
from stat import S_ISDIR, S_ISREG, S_ISVTX
from typing import BinaryIO

import numpy as np
from isal.isal_zlib import crc32
from numpy.typing import NDArray

from prefjudge.core.runs import FRONT, Order, Places, Tokens, Words
from prefjudge.reading.fields import Fields
from prefjudge.reading.files import COMPRESSIONS, Notice, decode
from prefjudge.reading.remote import bare, info_of, is_remote, kept_addresses, without_secrets
from prefjudge.reading.runs.runs import RunChunk, RunForm, is_ranked, layout_of, ranking_key, stretches
from prefjudge.reading.unpacking import FilePart
from prefjudge.version import __version__

VERSION = 4
"""Raised when the columns change; older copies are then not used."""
OFF = "PREFJUDGE_COPIES"
"""The variable of the environment that turns copies off where it is 0."""
WORTH = 200_000_000
"""Bytes of runs from which on copies are made: less is read again in a second."""
LIMIT = 5_000_000_000
"""Bytes of copies that are kept; the least recently used go first."""
_SHARE = 0.1
"""How much of the disk that is free without copies they may take."""
_PACKED = 4
"""About how much larger a compressed run is as text, and so as a copy."""
_UNSETTLED = 2_000_000_000
"""Nanoseconds after a file's time in which it may change again without its time telling."""
_LEFT = 3600
"""Seconds after which what a killed program was writing is removed."""

_OURS = re.compile(r"[0-9a-f]{64}|\.[0-9a-f]{64}\.[0-9a-f]{8}\.part")
"""How copies are called: the folder may hold what is not ours."""
_PADDING = b"\n" * 64
_ROWS = 1 << 16
_NO_LINES = Fields(b"", *(np.zeros((0, 1), np.int64),) * 2, *(np.zeros(0, np.int64),) * 2)


@dataclass(slots=True, kw_only=True)
class Contents:
    """What a copy holds: of a run's first chunk, and then of more."""

    key: str
    """What it is a copy of."""
    columns: int = 0
    tag: str = ""
    rows: int = 0
    width: int = 0
    by_score: bool = True
    by_rank: bool = True
    """Whether the lines of queries are in that order."""
    ranked: bool = True
    """Whether the rank column was read."""
    remarks: list[tuple[str, str]] = field(default_factory=list)
    """What the reader noticed, as (line or nothing, what)."""
    checksums: dict[str, int] = field(default_factory=dict)
    """Those of the files, by name."""


class CopyWriter:
    """Writes the copy of a run chunk by chunk; where the disk does not let it, there is none."""

    def __init__(self, copies: RunCopies, path: str) -> None:
        self.path = path
        self.key = _key(path) if path in copies.names else None
        self.target = copies.folder / str(self.key)
        self.folder = copies.folder / f".{self.key}.{os.urandom(4).hex()}.part"
        self.files: dict[str, BinaryIO] = {}
        self.usable = self.key is not None
        self.clear()

    def clear(self) -> None:
        """Start over."""
        self.leave()
        self.queries: list[bytes] = []
        self.sizes: list[NDArray[np.int64]] = []
        self.contents = Contents(key=str(self.key))
        if self.usable:
            with self._disk():
                self.folder.mkdir(mode=0o700)

    def leave(self) -> None:
        """Remove what was not kept."""
        for file in self.files.values():
            with suppress(OSError):  # a full disk
                file.close()
        self.files = {}
        shutil.rmtree(self.folder, ignore_errors=True)

    @contextmanager
    def _disk(self) -> Iterator[None]:
        """Give the copy up where the disk does not let it be written."""
        try:
            yield
        except OSError:
            self.usable = False
            self.leave()

    def add(self, chunk: RunChunk) -> None:
        """Append whole queries."""
        self.usable = self.usable and b"\0" not in chunk.rows.text  # zero bytes pad the column
        if not self.usable or not len(chunk):
            return
        known = self.contents
        with self._disk():
            words = chunk.docs.width()
            if 8 * words > known.width:
                self._widen(8 * words)
            columns = [chunk.docs.words(index) for index in range(known.width // 8)]
            self._file("docs").write(np.stack(columns, axis=1).tobytes())
            self._file("scores").write(chunk.score.tobytes())
            known.by_score &= is_ranked(chunk, Order.SCORE)
            if chunk.rank is None:
                known.ranked = known.by_rank = False
            else:
                self._file("ranks").write(chunk.rank.tobytes())
                known.by_rank &= is_ranked(chunk, Order.RANK)
        self.queries += chunk.queries
        self.sizes.append(np.diff(chunk.bounds))
        known.tag = known.tag or decode(chunk.tag)
        known.columns = chunk.layout.columns
        known.rows += len(chunk)

    def _file(self, name: str) -> BinaryIO:
        if name not in self.files:
            self.files[name] = _new_file(self.folder / name)
            if name == "docs":
                self.files[name].write(_PADDING[:FRONT])
        return self.files[name]

    def _widen(self, width: int) -> None:
        """Rewrite the documents so far with more bytes for each."""
        old, self.contents.width = self.contents.width, width
        if not self.contents.rows:
            return
        self.files.pop("docs").close()
        before = np.fromfile(self.folder / "docs", dtype=f"S{old}", offset=FRONT)
        self._file("docs").write(before.astype(f"S{width}").tobytes())

    def close(self, notices: list[Notice]) -> None:
        """Keep the copy, unless the file changed while it was read."""
        if self.usable and self.contents.rows and _key(self.path) == self.key:
            with self._disk():
                for notice in notices:
                    self.contents.remarks.append((notice.where.removeprefix(self.path), notice.what))
                self._finish()
                shutil.rmtree(self.target, ignore_errors=True)
                self.folder.rename(self.target)

    def _finish(self) -> None:
        self._file("docs").write(_PADDING)
        bounds = np.concatenate([[0], np.cumsum(np.concatenate(self.sizes))]).astype(np.int64)
        self._file("bounds").write(bounds.tobytes())
        self._file("queries").write(b"\n".join(self.queries))
        names = [*self.files]
        for file in self.files.values():
            file.close()
        self.files = {}
        self.contents.checksums = {name: _checksum(self.folder / name) for name in names}
        words = json.dumps(asdict(self.contents)).encode()
        with _new_file(self.folder / "copy.json") as file:
            file.write(b"%s\n%d" % (words, crc32(words)))


class Copy:
    """A copy opened for reading. Columns are mapped, not read."""

    def __init__(self, folder: Path, key: str) -> None:
        """Open a copy; `OSError`, `ValueError` or `TypeError` where there is none that can be used."""
        if not _is_own(folder):
            raise ValueError("somebody else's copy")
        words, _, checksum = (folder / "copy.json").read_bytes().rpartition(b"\n")
        if crc32(words) != int(checksum):
            raise ValueError("a damaged copy")
        self.contents = Contents(**json.loads(words))
        if self.contents.key != key:
            raise ValueError("a copy of something else")
        if any(_checksum(folder / name) != found for name, found in self.contents.checksums.items()):
            raise ValueError("a damaged copy")
        self.queries = (folder / "queries").read_bytes().split(b"\n")
        self.bounds: Places = np.fromfile(folder / "bounds", np.int64)
        self.score = np.memmap(folder / "scores", np.float64, mode="r")
        self.rank = np.memmap(folder / "ranks", np.int64, mode="r") if self.contents.ranked else None
        with (folder / "docs").open("rb") as file:
            self.docs = mmap(file.fileno(), 0, access=ACCESS_READ)
        whole = self.score.size == self.contents.rows == self.bounds[-1]
        if not whole or len(self.docs) != FRONT + self.contents.rows * self.contents.width + len(_PADDING):
            raise ValueError("a damaged copy")

    def form(self, path: str) -> RunForm:
        """Return what the run, or a part of it, was taken for."""
        layout = layout_of("", self.contents.columns)
        met = tuple(self.queries) if isinstance(path, FilePart) else ()
        return RunForm(layout=layout, lines=self.contents.rows, queries=len(self.queries), met=met)

    @property
    def tag(self) -> bytes:
        """The run tag."""
        return self.contents.tag.encode("utf-8", "surrogateescape")

    def notices(self, path: str) -> list[Notice]:
        """Return what the reader noticed when the copy was made."""
        return [Notice(where=path + line, what=what) for line, what in self.contents.remarks]

    def in_order(self, order: Order) -> bool:
        """Tell whether the lines of every query are ranked as the file lists them, ties aside."""
        if order is Order.RANK:
            return self.contents.by_rank
        return order is Order.FILE or self.contents.by_score

    def chunks(self) -> Iterator[RunChunk]:
        """Yield the whole run."""
        start = 0
        while start < len(self.queries):
            stop = int(np.searchsorted(self.bounds, self.bounds[start] + _ROWS, side="left"))
            stop = min(max(stop, start + 1), len(self.queries))
            yield self.queries_chunk(start, stop)
            start = stop

    def queries_chunk(self, start: int, stop: int) -> RunChunk:
        """Return some queries, all their lines."""
        rows = np.arange(self.bounds[start], self.bounds[stop])
        bounds = self.bounds[start : stop + 1] - self.bounds[start]
        return self._chunk(rows, self.queries[start:stop], bounds)

    def doc_words(self) -> Words:
        """Return the documents as words, a column for each eight bytes."""
        words = np.frombuffer(self.docs, "<u8", self.contents.rows * self.contents.width // 8, FRONT)
        return words.reshape(self.contents.rows, -1)

    def heads(self, k: int, order: Order) -> RunChunk:
        """Return the first ``k`` lines of each query, and those that tie with the last, of a run in order."""
        sizes = np.diff(self.bounds)
        chunk = self._first(np.minimum(sizes, k + 1))
        if order is Order.FILE:
            return chunk
        key = ranking_key(chunk.score, chunk.rank, order)
        last = chunk.bounds[1:] - 1
        kth = np.minimum(chunk.bounds[:-1] + k - 1, last)
        # Line k + 1 shows whether the k-th is tied; the tie may go on, so such a query is taken whole.
        open_ = (np.diff(chunk.bounds) < sizes) & (key[kth] == key[last])
        return self._first(np.where(open_, sizes, np.minimum(sizes, k))) if open_.any() else chunk

    def _first(self, sizes: Places) -> RunChunk:
        bounds = np.concatenate([[0], np.cumsum(sizes)])
        return self._chunk(stretches(self.bounds[:-1], sizes), self.queries, bounds)

    def _chunk(self, rows: Places, queries: list[bytes], bounds: Places) -> RunChunk:
        width = self.contents.width
        starts = FRONT + rows * width
        docs = Tokens(self.docs, starts, starts + width)
        columns = np.stack([docs.words(index) for index in range(width // 8)], axis=1)
        # Zero bytes only pad (`add` refuses ids with one), so counting the others gives the length.
        docs = Tokens(self.docs, starts, starts + (columns.view(np.uint8) != 0).sum(axis=1))
        return RunChunk(
            layout_of("", self.contents.columns),
            _NO_LINES,
            self.tag,
            queries,
            bounds,
            docs,
            docs.codes(),
            np.asarray(self.score[rows]),
            None if self.rank is None else np.asarray(self.rank[rows]),
        )


def _checksum(path: Path) -> int:
    with path.open("rb") as file, mmap(file.fileno(), 0, access=ACCESS_READ) as data:
        return int(crc32(data))


def _new_file(path: Path) -> BinaryIO:
    """Open a file for writing, for its owner alone."""
    return open(path, "wb", opener=lambda name, flags: os.open(name, flags, 0o600))


def _is_own(folder: Path) -> bool:
    """Tell whether a folder is this user's, and nobody else may write in it; a link to one is not."""
    found = folder.lstat()
    return S_ISDIR(found.st_mode) and found.st_uid == os.geteuid() and not found.st_mode & 0o022


@dataclass(frozen=True, slots=True)
class RunCopies:
    """Copies of some runs, below one folder."""

    folder: Path
    """Where they lie."""
    names: frozenset[str]
    """The files that have copies, or get them."""
    room: int
    """Bytes that all copies there may take."""

    def find(self, path: str, order: Order) -> Copy | None:
        """Return the copy of a run or of a part of it, if there is one that can serve ``order``."""
        copy = None
        if path in self.names and (key := _key(path)):
            with suppress(OSError, ValueError, TypeError, KeyError):
                copy = Copy(self.folder / key, key)
                os.utime(self.folder / key)
        return None if copy is None or (order is Order.RANK and not copy.contents.ranked) else copy

    def has(self, path: str) -> bool:
        """Tell whether there is a copy of a run or of a part of it, without a look at what it holds."""
        key = _key(path) if path in self.names else None
        return key is not None and (self.folder / key).is_dir()

    @contextmanager
    def writer(self, path: str) -> Iterator[CopyWriter]:
        """Yield what takes the chunks of a run; its copy is kept once it was closed."""
        writer = CopyWriter(self, path)
        try:
            yield writer
        finally:
            writer.leave()

    def trim(self, units: Iterable[str] = ()) -> None:
        """Remove the least recently used copies beyond the room, and what was left."""
        held = sum(_size(unit) for unit in units if unit in self.names and not self.has(unit))
        now = time.time()
        for used, size, folder in sorted(_all(self.folder), reverse=True):
            held += size
            if held > self.room or (folder.name.startswith(".") and now - used > _LEFT):
                shutil.rmtree(folder, ignore_errors=True)


def _all(folder: Path) -> list[tuple[float, int, Path]]:
    """Return the copies in a folder: when each was last used, and how large it is."""
    copies = []
    for copy in folder.iterdir():
        with suppress(OSError):
            if _OURS.fullmatch(copy.name):
                files = [file.stat() for file in copy.iterdir()]
                used = max([copy.stat().st_mtime, *(file.st_mtime for file in files)])
                copies.append((used, sum(file.st_size for file in files), copy))
    return copies


def copies_of(paths: Iterable[str | Path], notices: list[Notice]) -> RunCopies | None:
    """Return the copies of runs, where these are large and copies can be kept; else None."""
    sizes = {str(path): size for path in paths if (size := _size(str(path)))}
    if os.environ.get(OFF) == "0" or sum(sizes.values()) < WORTH:
        return None
    with suppress(OSError, RuntimeError):
        base = _cache_folder()
        if base is None:
            return None
        folder = base / "prefjudge" / "runs"
        is_new = not folder.exists()
        base.mkdir(mode=0o700, parents=True, exist_ok=True)
        for own in (folder.parent, folder):
            own.mkdir(mode=0o700, exist_ok=True)
            if not _is_own(own):
                return None
        held = sum(size for _, size, _ in _all(folder))
        left = room = min(LIMIT, int(_SHARE * (shutil.disk_usage(folder).free + held)))
        chosen = set()
        for path, size in sizes.items():
            if size <= left:
                chosen.add(path)
                left -= size
        if is_new and chosen:
            what = (
                f"copies of checked runs are kept there from now on, up to {LIMIT // 10**9} GB, so that "
                f"they are read faster next time; {OFF}=0 turns this off"
            )
            home = Path.home()
            where = f"~/{folder.relative_to(home)}" if folder.is_relative_to(home) else str(folder)
            notices.append(Notice(where=where, what=what))
        return RunCopies(folder, frozenset(chosen), room)
    return None


def _cache_folder() -> Path | None:
    """Return the user's folder for what can be made again; None where a copy would not be safe."""
    # On Windows nothing tells a changed file whose time was set back.
    if not hasattr(os, "geteuid"):
        return None
    named = Path(os.environ.get("XDG_CACHE_HOME", ""))
    if named.is_absolute():
        base = named
    else:
        base = Path.home() / ("Library/Caches" if sys.platform == "darwin" else ".cache")
    for folder in (base.resolve(), *base.resolve().parents):
        if folder.exists():
            found = folder.stat()
            is_open = found.st_mode & 0o002 and not found.st_mode & S_ISVTX
            if is_open or found.st_uid not in (0, os.geteuid()):  # its owner could put another in its place
                return None
    return base


def _size(path: str) -> int:
    """Return about how many bytes of text a run has; 0 for what is never copied."""
    packed = PurePath(bare(path)).suffix.lower().removeprefix(".") in COMPRESSIONS
    if isinstance(path, FilePart):
        size = path.end - path.start
    elif is_remote(path):
        size = info_of(path).size or 0
    else:
        try:
            found = os.stat(path)  # noqa: PTH116 - a path may be any name
        except (OSError, ValueError):
            return 0
        size = found.st_size if S_ISREG(found.st_mode) else 0
    return size * (_PACKED if packed else 1)


def _key(path: str) -> str | None:
    """Return what tells a file, or a part of one, from all others, and from itself once it changed."""
    # None where that cannot be told: it is none, or it changed just now, and may again within the same tick.
    if is_remote(path):
        return _object_key(path)
    try:
        found = os.stat(path)  # noqa: PTH116
        place = os.path.abspath(path)  # noqa: PTH100
    except (OSError, ValueError):
        return None
    age = time.time_ns() - max(found.st_mtime_ns, found.st_ctime_ns)
    if not S_ISREG(found.st_mode) or age < _UNSETTLED:
        return None
    state = (found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino, found.st_dev)
    part = (path.start, path.end) if isinstance(path, FilePart) else ()
    return _digest(place, state, part)


def _object_key(path: str) -> str | None:
    """Return the same of an object: its address and the ETag, if that is of no other bytes there."""
    # An address with a signature would leave a trace of it.
    address = without_secrets(path)
    if kept_addresses([address]):
        return None
    found = info_of(path)
    return _digest(address, found.version) if found.is_lasting else None


def _digest(*words: object) -> str:
    from hashlib import sha256  # and with it OpenSSL's digests: 4 MB

    said = repr((VERSION, __version__, sys.byteorder, *words))
    return sha256(said.encode("utf-8", "surrogateescape")).hexdigest()
