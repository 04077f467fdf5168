"""What is said while another process holds a database: silence would look like a program that hangs."""

import os
from contextlib import suppress
from pathlib import Path

from prefjudge.database.urls import redacted

SAY_AFTER = 1.5
"""Seconds of waiting that nobody is told of."""


def say_waiting(who: str, what: str) -> None:
    """Say whom this process waits for: a warning in the log, which a terminal shows on stderr."""
    import logging

    logging.getLogger("prefjudge").warning("waiting for %s, which holds %s", who, what)


def others_holding(path: Path) -> list[str] | None:
    """Return the other processes that hold a lock on a SQLite file, in words.

    None where the system does not say: only Linux lists its locks.
    """
    try:
        lines = [line.split() for line in Path("/proc/locks").read_text(encoding="ascii").splitlines()]
    except OSError:
        return None
    files = set()
    for name in (path, Path(f"{path}-shm"), Path(f"{path}-wal")):
        with suppress(OSError):
            found = name.stat()
            files.add(f"{os.major(found.st_dev):02x}:{os.minor(found.st_dev):02x}:{found.st_ino}")
    # number: class kind mode PID device:inode start end; a waiting one has an arrow before its class
    writers = {
        int(words[4]) for words in lines if len(words) == 8 and words[3] == "WRITE" and words[5] in files
    }
    return [_named(pid) for pid in sorted(writers - {os.getpid()})]


def _named(pid: int) -> str:
    try:
        words = Path(f"/proc/{pid}/cmdline").read_text(encoding="utf-8", errors="replace").split("\0")
    except OSError:
        words = []
    command = " ".join(redacted(word) for word in words if word)[:80]
    return f"process {pid} ({command})" if command else f"process {pid}"
