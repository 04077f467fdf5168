"""What is SQLite's own: files that may only be read, waiting for others, and what its errors mean."""

import errno
import os
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path

from prefjudge.database.connection import SAY_AFTER, Row, Value, others_holding, say_waiting
from prefjudge.errors import PrefjudgeError, StudyError, quoted

LOCK_TIMEOUT = 60.0
"""Seconds that a statement waits for another process."""

_LEAST = 100_000
"""Free bytes below which a disk is full: the index of a log, which lies beside the store, takes a third."""
_ROOM = "Make room on the disk; what was stored before is kept."
_READ_ONLY = (
    "You may only read it: work on a copy of the folder, or get the right to write the file and its folder."
)
_DAMAGED = (
    "The file is damaged, or is not a store. Restore a backup (docs/backup.md). If it is a study's store and "
    "has no backup, move the file away, and run: prefjudge store recover {folder}"
)
_UNREADABLE = "You may not read this file, or not enter its folder: ask its owner, or use another account."
_HINTS = {
    sqlite3.SQLITE_FULL: _ROOM,
    sqlite3.SQLITE_IOERR: "The disk failed or is gone: see the system's log. What was stored before is kept.",
    sqlite3.SQLITE_READONLY: _READ_ONLY,
    sqlite3.SQLITE_BUSY: "Repeat the verb when that one has ended; nothing is lost.",
    sqlite3.SQLITE_CANTOPEN: "Is the folder there and writable?",
    sqlite3.SQLITE_CORRUPT: _DAMAGED,
    sqlite3.SQLITE_NOTADB: _DAMAGED,
}
"""What to do about what the disk, or another process, does to a statement that is right."""

_SYSTEM_HINTS = {errno.ENOSPC: _ROOM, errno.EDQUOT: _ROOM, errno.EROFS: _READ_ONLY, errno.EACCES: _READ_ONLY}


def refuse_writing(what: str) -> StudyError:
    """Return the error for a write to what may only be read."""
    return StudyError(f"{what} cannot be written", _READ_ONLY)


@contextmanager
def explained(path: Path) -> Iterator[None]:
    """Turn what the disk, or another process, does into an error that names its cause; other errors pass."""
    try:
        yield
    except sqlite3.DatabaseError as error:
        code, words = _cause(error, path)
        if code not in _HINTS:
            raise
        message = f"cannot use {path}: {words}"
        if code == sqlite3.SQLITE_BUSY:
            who = " and ".join(others_holding(path) or ["another process"])
            message = f"cannot use {path}: {who} has held it for {LOCK_TIMEOUT:.0f} seconds"
        raise PrefjudgeError(message, _hint(code, path)) from error


def connect(path: Path) -> tuple[sqlite3.Connection, bool]:
    """Open a file, or make it; return the connection, and whether it may only be read."""
    try:
        read_only = path.exists() and not (os.access(path, os.W_OK) and os.access(path.parent, os.W_OK))
        if read_only:
            return _open_to_read(path), True
        path.touch(mode=0o600)  # it holds secrets; SQLite makes its -wal and -shm as private as the file
        return _open_to_write(path), False
    except (sqlite3.Error, OSError) as error:
        if not _may_read(path):  # of which SQLite says no more than that it cannot open it
            raise StudyError(f"cannot open {path}: Permission denied", _UNREADABLE) from error
        if isinstance(error, OSError):
            hint = _SYSTEM_HINTS.get(error.errno or 0, "Is the folder there and writable?")
            raise StudyError(f"cannot open {path}: {error.strerror}", hint) from error
        code, words = _cause(error, path)
        raise StudyError(f"cannot open {path}: {words}", _hint(code, path)) from error


def _cause(error: sqlite3.Error, path: Path) -> tuple[int, str]:
    """Return an error's code and words; a disk without room for a file beside the store seems to fail."""
    code = _code(error)
    if code == sqlite3.SQLITE_IOERR and path.parent.is_dir() and shutil.disk_usage(path.parent).free < _LEAST:
        return sqlite3.SQLITE_FULL, "database or disk is full"
    return code, str(error)


def _hint(code: int, path: Path) -> str:
    hint = _HINTS.get(code, _HINTS[sqlite3.SQLITE_CANTOPEN])
    return hint.replace("{folder}", quoted(path.parent))


def _may_read(path: Path) -> bool:
    """Return whether a file may be read, or made where there is none."""
    try:
        path.stat()
    except OSError as error:
        return not isinstance(error, PermissionError)
    return os.access(path, os.R_OK)


def execute(raw: sqlite3.Connection, sql: str, values: Mapping[str, Value]) -> list[Row]:
    """Run one statement, and return its rows."""
    return raw.execute(sql, values).fetchall()


def begin(raw: sqlite3.Connection, path: Path, *, write: bool) -> None:
    """Begin a transaction that waits now, if ever: nothing in it meets another's lock."""
    if write:
        run_waiting(raw, path, "BEGIN IMMEDIATE")
        return
    raw.execute("BEGIN")
    try:
        run_waiting(raw, path, "SELECT 1 FROM sqlite_master LIMIT 1")
    except sqlite3.Error:
        raw.execute("ROLLBACK")
        raise


def run_waiting(raw: sqlite3.Connection, path: Path, statement: str, timeout: float = LOCK_TIMEOUT) -> None:
    """Run a statement that another process may keep waiting; say so after a moment."""
    try:
        raw.execute(statement).fetchall()
        return
    except sqlite3.OperationalError as error:
        if _code(error) != sqlite3.SQLITE_BUSY or timeout <= SAY_AFTER:
            raise
    others = others_holding(path)
    if others is None or others:  # threads of this process take turns, too, and need not tell each other
        say_waiting(" and ".join(others or ["another process"]), str(path))
    raw.execute(f"PRAGMA busy_timeout = {int(1000 * (timeout - SAY_AFTER))}")
    try:
        raw.execute(statement).fetchall()
    finally:
        raw.execute(f"PRAGMA busy_timeout = {int(1000 * SAY_AFTER)}")


def lock(path: Path, timeout: float) -> sqlite3.Connection | None:
    """Return the connection that holds a lock file beside the store, which stays free."""
    # None where another process does not let go of it.
    path = Path(f"{path}.lock")
    raw = None
    try:
        path.touch(mode=0o600)
        raw = sqlite3.connect(path, timeout=min(timeout, SAY_AFTER), isolation_level=None)
        run_waiting(raw, path, "BEGIN EXCLUSIVE", timeout)
    except (sqlite3.Error, OSError) as error:
        if raw is not None:
            raw.close()
        if isinstance(error, OSError):
            hint = _SYSTEM_HINTS.get(error.errno or 0, "Is the folder there and writable?")
            raise StudyError(f"cannot open {path}: {error.strerror}", hint) from error
        code, words = _cause(error, path)
        if code == sqlite3.SQLITE_BUSY:
            return None
        hint = _HINTS.get(code, "")
        if hint == _DAMAGED:
            hint = "It holds nothing: delete this one file, and repeat the verb."
        raise StudyError(f"cannot lock {path}: {words}", hint) from error
    return raw


def copy(raw: sqlite3.Connection, file: Path) -> None:
    """Copy a database into an empty file by SQLite's online backup; its writers go on meanwhile."""
    with explained(file), closing(sqlite3.connect(file)) as target:
        raw.backup(target)


def scrub(raw: sqlite3.Connection, path: Path) -> None:
    """Write a database anew, and empty its write-ahead log: both kept the bytes of what was deleted."""
    with explained(path):
        raw.execute("PRAGMA secure_delete = ON")  # zeros the free space of the pages that are written
        run_waiting(raw, path, "VACUUM")
        ((busy, *_),) = raw.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    if busy:
        raise StudyError(
            f"the log of {path} still holds what was deleted: another process is reading it",
            "Repeat the verb when that one has ended; what was to be deleted is deleted.",
        )


def _open_to_write(path: Path) -> sqlite3.Connection:
    raw = sqlite3.connect(path, timeout=SAY_AFTER, isolation_level=None, check_same_thread=False)
    try:
        run_waiting(raw, path, "PRAGMA journal_mode=WAL")
        raw.execute("PRAGMA synchronous=FULL")
        raw.execute("PRAGMA foreign_keys=ON")
    except BaseException:
        raw.close()
        raise
    return raw


def _open_to_read(path: Path) -> sqlite3.Connection:
    """Open a file that may not be written, or whose folder may not."""
    # Readers of a write-ahead log share an index of it, which lies beside the file. Where there is none and
    # none can be made, nobody has the file open. Then it is read as it lies there, or, where a killed program
    # left a log behind, from a copy into which the log is merged: to skip the log would lose its transactions
    # in silence.
    uri = f"{path.absolute().as_uri()}?mode=ro"
    raw = sqlite3.connect(uri, uri=True, timeout=SAY_AFTER, isolation_level=None, check_same_thread=False)
    try:
        run_waiting(raw, path, "SELECT 1 FROM sqlite_master LIMIT 1")
    except sqlite3.OperationalError as error:
        raw.close()
        if _code(error) not in (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY):
            raise
        log = Path(f"{path}-wal")
        if log.exists() and log.stat().st_size:
            return _merged(path, log)
        raw = sqlite3.connect(f"{uri}&immutable=1", uri=True, isolation_level=None, check_same_thread=False)
        raw.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchall()
    return raw


def _merged(path: Path, log: Path) -> sqlite3.Connection:
    """Return a copy in memory of a file and the log beside it."""
    raw = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
    with tempfile.TemporaryDirectory(prefix="prefjudge-") as folder:  # which is its owner's alone
        copy = Path(folder) / "store.db"
        shutil.copyfile(path, copy)
        shutil.copyfile(log, f"{copy}-wal")
        with closing(sqlite3.connect(copy)) as source:
            source.backup(raw)
    return raw


def _code(error: sqlite3.Error) -> int:
    return int(getattr(error, "sqlite_errorcode", 0) or 0) & 0xFF
