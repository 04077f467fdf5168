"""The cache of copies: a run that was checked once is not parsed again.

Copies are kept by the digest of the file, so a run that moved is known and one that changed is not. The
digest of a file is itself remembered as long as its size and time stay: a second look costs milliseconds.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import shutil
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from prefjudge.core.runs import Order
from prefjudge.engines.copies import Copy, CopyWriter, open_copy
from prefjudge.formats.atomic import atomic_write
from prefjudge.formats.digests import digest
from prefjudge.formats.problems import Notice
from prefjudge.formats.runs import RunChunk

LIMIT = 20 << 30
"""Bytes of copies that are kept; the least recently used go first."""

_UNSETTLED = 2_000_000_000
"""Nanoseconds after a file's time in which it may change again without its time telling."""


def user_cache() -> Path:
    """Return the user's folder for copies: ``PREFJUDGE_CACHE``, or the system's place for caches."""
    if chosen := os.environ.get("PREFJUDGE_CACHE"):
        return Path(chosen)
    if sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    elif sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA", Path.home()))
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return base / "prefjudge"


class RunCache:
    """Copies of runs below one folder. Nothing here fails for want of a cache: the run is read anew."""

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)

    def copy(self, path: str, order: Order, *, look: bool = True) -> Copy | None:
        """Return the copy of a run, if there is one that can serve ``order``.

        Without ``look``, only a file whose size and time are those of the last time is known.
        """
        key = self._key(path, look=look)
        if key is None:
            return None
        copy = open_copy(self.folder / "runs" / key)
        if copy is None or (order is Order.RANK and not copy.contents.ranked):
            return None
        with suppress(OSError):
            os.utime(self.folder / "runs" / key)
        return copy

    @contextmanager
    def writer(self, path: str) -> Iterator[_Kept]:
        """Yield what takes the chunks of a run; its copy is kept once it was closed."""
        kept = _Kept(self, path)
        try:
            yield kept
        finally:
            kept.leave()

    def _key(self, path: str, *, look: bool) -> str | None:
        """Return the digest of a file as letters of a file name, remembered or computed."""
        try:
            state = os.stat(path)  # noqa: PTH116 - a path may be any name
            place = hashlib.sha256(os.fsencode(os.path.abspath(path))).hexdigest()[:32]  # noqa: PTH100
        except OSError:
            return None
        if not os.path.isfile(path):  # noqa: PTH113
            return None
        entry = self.folder / "index" / f"{place}.json"
        now = [state.st_size, state.st_mtime_ns]
        with suppress(OSError, ValueError, KeyError, TypeError):
            known = json.loads(entry.read_text())
            if known["state"] == now and known["settled"]:
                return str(known["digest"])
        if not look:
            return None
        found = digest(path).removeprefix("sha256:")
        settled = time.time_ns() - state.st_mtime_ns > _UNSETTLED
        with suppress(Exception), atomic_write(entry, durable=False) as file:
            file.write(json.dumps({"state": now, "settled": settled, "digest": found}).encode())
        return found

    def _trim(self) -> None:
        """Remove the least recently used copies beyond the limit."""
        copies = []
        for folder in (self.folder / "runs").iterdir():
            with suppress(OSError):
                size = sum(file.stat().st_size for file in folder.iterdir())
                copies.append((folder.stat().st_mtime_ns, size, folder))
        held = 0
        for _, size, folder in sorted(copies, reverse=True):
            held += size
            if held > LIMIT:
                shutil.rmtree(folder, ignore_errors=True)


class _Kept:
    """Writes the copy of one run; where the disk does not let it, the run is simply not copied."""

    def __init__(self, cache: RunCache, path: str) -> None:
        self.cache, self.path = cache, path
        self.key = cache._key(path, look=True)
        self.writer: CopyWriter | None = None
        if self.key is not None:
            with suppress(OSError):
                self.writer = CopyWriter(cache.folder / "runs" / f".{self.key}.{secrets.token_hex(4)}.part")

    def add(self, chunk: RunChunk) -> None:
        """Append a chunk."""
        if self.writer is not None:
            try:
                self.writer.add(chunk)
            except OSError:
                self.leave()

    def clear(self) -> None:
        """Forget the chunks so far."""
        if self.writer is not None:
            try:
                self.writer.clear()
            except OSError:
                self.leave()

    def close(self, notices: list[Notice]) -> None:
        """Keep the copy under its digest."""
        if self.writer is None or self.key is None:
            return
        remarks = [(notice.where.removeprefix(self.path), notice.what) for notice in notices]
        with suppress(OSError):
            if self.writer.close(remarks):
                target = self.cache.folder / "runs" / self.key
                shutil.rmtree(target, ignore_errors=True)
                self.writer.folder.rename(target)
                self.cache._trim()

    def leave(self) -> None:
        """Remove what was not kept."""
        if self.writer is not None:
            self.writer.abandon()
            self.writer = None
