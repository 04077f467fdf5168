"""The cache of copies: a run that was checked once is not parsed again.

Copies are kept by the digest of the file, so a run that moved is known and one that changed is not; those of
objects by their address and ETag. The digest of a file is itself remembered as long as the file system says
that it is the same file, unchanged: a second look costs milliseconds.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import secrets
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from prefjudge.core.pooling.runs import Order
from prefjudge.engines.files.run_copy import Copy, CopyWriter, open_copy
from prefjudge.formats.lines.addresses import is_remote, kept_addresses, shown
from prefjudge.formats.lines.atomic import atomic_write
from prefjudge.formats.lines.digests import digest
from prefjudge.formats.lines.problems import Notice
from prefjudge.formats.runs.chunks import RunChunk

LIMIT = 20 << 30
"""Bytes of copies that are kept; the least recently used go first."""

_UNSETTLED = 2_000_000_000
"""Nanoseconds after a file's time in which it may change again without its time telling."""

_OURS = re.compile(r"[0-9a-f]{64}|\.[0-9a-f]{64}\.[0-9a-f]{8}\.part")
"""How copies are called: the folder may hold what is not ours."""


@dataclass(frozen=True, slots=True)
class _Known:
    """A file as it was met: what the file system says of it, and the digest of its bytes."""

    state: tuple[int, ...]
    key: str


class RunCache:
    """Copies of runs below one folder. Nothing here fails for want of a cache: the run is then read again."""

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)

    def copy(self, path: str, order: Order, *, look: bool = True) -> Copy | None:
        """Return the copy of a run, if there is one that can serve ``order``.

        Without ``look``, only a file that did not change since the last time is known.
        """
        known = self._known(path, look=look)
        if known is None:
            return None
        folder = self.folder / "runs" / known.key
        copy = open_copy(folder)
        if copy is None or (order is Order.RANK and not copy.contents.ranked):
            return None
        with suppress(OSError):
            os.utime(folder)
        return copy

    @contextmanager
    def writer(self, path: str) -> Iterator[_Kept]:
        """Yield what takes the chunks of a run; its copy is kept once it was closed."""
        kept = _Kept(self, path)
        try:
            yield kept
        finally:
            kept.leave()

    def make(self) -> None:
        """Make the folder, for its owner alone: runs may be nobody else's business."""
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)

    def _known(self, path: str, *, look: bool) -> _Known | None:
        """Return a file's state and digest, remembered or computed.

        The time of the last change to a file's inode counts too: no program can set it back, as those do that
        copy files with their times.
        """
        if is_remote(path):
            return _known_object(path)
        try:
            if not os.path.isfile(path):  # noqa: PTH113 - a path may be any name
                return None
            met = time.time_ns()
            found = os.stat(path)  # noqa: PTH116
            place = hashlib.sha256(os.fsencode(os.path.abspath(path))).hexdigest()[:32]  # noqa: PTH100
        except OSError:
            return None
        entry = self.folder / "index" / f"{place}.json"
        state = (found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino, found.st_dev)
        with suppress(OSError, ValueError, KeyError, TypeError):
            remembered = json.loads(entry.read_text())
            if remembered["state"] == [*state] and remembered["settled"]:
                return _Known(state, str(remembered["digest"]))
        if not look:
            return None
        key = digest(path).removeprefix("sha256:")
        settled = met - max(found.st_mtime_ns, found.st_ctime_ns) > _UNSETTLED
        with suppress(Exception):
            self.make()
            with atomic_write(entry, durable=False) as file:
                file.write(json.dumps({"state": state, "settled": settled, "digest": key}).encode())
        return _Known(state, key)

    def _trim(self) -> None:
        """Remove the least recently used copies beyond the limit."""
        copies = []
        for folder in (self.folder / "runs").iterdir():
            if not _OURS.fullmatch(folder.name):
                continue
            with suppress(OSError):
                size = sum(file.stat().st_size for file in folder.iterdir())
                copies.append((folder.stat().st_mtime_ns, size, folder))
        held = 0
        for _, size, folder in sorted(copies, reverse=True):
            held += size
            if held > LIMIT:
                shutil.rmtree(folder, ignore_errors=True)


def _known_object(path: str) -> _Known | None:
    """Return an object's state: its address and the ETag, where its server gives it to no other bytes there.

    An address with a signature would leave a trace of it in the cache.
    """
    from prefjudge.formats.lines.remote import lasting_version

    address = shown(path)
    if kept_addresses([address]):
        return None
    found = lasting_version(path)
    if found is None:
        return None
    return _Known((), hashlib.sha256(f"{address}\n{found}".encode("utf-8", "surrogateescape")).hexdigest())


class _Kept:
    """Writes the copy of one run; where the disk does not let it, the run is simply not copied."""

    def __init__(self, cache: RunCache, path: str) -> None:
        self.cache, self.path = cache, path
        self.known = cache._known(path, look=True)
        self.writer: CopyWriter | None = None
        if self.known is not None:
            with suppress(OSError):
                cache.make()
                part = f".{self.known.key}.{secrets.token_hex(4)}.part"
                self.writer = CopyWriter(cache.folder / "runs" / part)

    def add(self, chunk: RunChunk) -> None:
        """Append a chunk."""
        self._try(lambda writer: writer.add(chunk))

    def clear(self) -> None:
        """Forget the chunks so far."""
        self._try(CopyWriter.clear)

    def _try(self, act: Callable[[CopyWriter], None]) -> None:
        if self.writer is not None:
            try:
                act(self.writer)
            except OSError:
                self.leave()

    def close(self, notices: list[Notice]) -> None:
        """Keep the copy under its digest, unless the file changed while it was read."""
        if self.writer is None or self.known is None:
            return
        if self.cache._known(self.path, look=True) != self.known:
            self.leave()
            return
        remarks = [(notice.where.removeprefix(self.path), notice.what) for notice in notices]
        with suppress(OSError):
            if self.writer.close(remarks):
                target = self.cache.folder / "runs" / self.known.key
                shutil.rmtree(target, ignore_errors=True)
                self.writer.folder.rename(target)
                self.cache._trim()

    def leave(self) -> None:
        """Remove what was not kept."""
        if self.writer is not None:
            self.writer.abandon()
            self.writer = None
