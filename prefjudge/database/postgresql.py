"""What is PostgreSQL's own: connecting, statements, and the lock that one process at a time holds."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

from prefjudge.database.connection import NAMED, SAY_AFTER, Row, Value, redacted, say_waiting
from prefjudge.errors import PrefjudgeError, StudyError

_LOCK = 7266
_WHO = (
    "SELECT a.pid, a.application_name, a.client_addr FROM pg_locks l JOIN pg_stat_activity a USING (pid) "
    f"WHERE l.locktype = 'advisory' AND l.objid = {_LOCK} AND l.granted AND l.database = "
    "(SELECT oid FROM pg_database WHERE datname = current_database())"
)


def connect(url: str) -> Any:
    """Return an open connection."""
    try:
        import psycopg
    except ImportError as error:
        raise StudyError(
            "PostgreSQL needs the psycopg package", "Install it with: pip install 'prefjudge[postgres]'"
        ) from error
    try:
        raw = psycopg.connect(url, autocommit=True)
        raw.prepared_max = _PREPARED
        raw.runs = psycopg.RawCursor(raw)  # type: ignore[attr-defined]  # a page asks for two dozen statements
        return raw
    except psycopg.Error as error:
        # libpq names the address twice, and asks below it what the hint asks
        why = " ".join(str(error).partition("\n")[0].rpartition("failed: ")[2].split())
        raise PrefjudgeError(
            f"cannot connect to {redacted(url)}: {why}",
            "Is the server running, and are the database and the user of the URL right?",
        ) from error


@contextmanager
def transaction(raw: Any, url: str, *, write: bool) -> Iterator[None]:
    """Open a transaction."""
    # One that only reads sees one state of the database throughout, as SQLite's do: at PostgreSQL's default
    # level each statement would see what others have committed before it.
    from psycopg import IsolationLevel, OperationalError

    raw.isolation_level = None if write else IsolationLevel.REPEATABLE_READ
    raw.read_only = None if write else True
    try:
        with raw.transaction():
            yield
    except OperationalError as error:
        if not raw.closed:
            raise
        raise PrefjudgeError(
            f"{redacted(url)} ended the connection: {str(error).partition(chr(10))[0]}",
            "Repeat the verb once the server runs: what was not finished is taken up.",
        ) from error


_PREPARED = 500
"""The most statements that a connection prepares; a list of another length is another one."""


def execute(raw: Any, sql: str, values: Mapping[str, Value]) -> list[Row]:
    """Run one statement, which is prepared the first time, and return its rows."""
    text, names = _numbered(sql)
    raw.runs.execute(text, [values[name] for name in names], prepare=True)
    return raw.runs.fetchall() if raw.runs.description else []


@lru_cache(maxsize=1024)
def _numbered(sql: str) -> tuple[bytes, tuple[str, ...]]:
    """Rewrite ``:name`` as libpq's ``$1``, leaving string literals alone; return the names in this order."""
    names: dict[str, int] = {}
    text = NAMED.sub(lambda m: f"${names.setdefault(m[1], len(names) + 1)}" if m[1] else m[0], sql)
    return text.encode(), tuple(names)


def scrub(raw: Any) -> None:
    """Let the server reuse the room of what was deleted; its own log and backups are its administrator's."""
    raw.execute("VACUUM")


def lock(url: str, timeout: float) -> Any:
    """Return the connection whose session holds the lock, or None where another keeps it for too long."""
    raw = connect(url)
    if _try_lock(raw, min(timeout, SAY_AFTER)):
        return raw
    if timeout > SAY_AFTER:
        who = ", ".join(
            f"session {pid} {name} {host or ''}".rstrip() for pid, name, host in raw.execute(_WHO)
        )
        say_waiting(who or "another session", redacted(url))
        if _try_lock(raw, timeout - SAY_AFTER):
            return raw
    raw.close()
    return None


def _try_lock(raw: Any, seconds: float) -> bool:
    import psycopg

    try:
        raw.execute(f"SET lock_timeout = {max(1, int(1000 * seconds))}")
        raw.execute(f"SELECT pg_advisory_lock({_LOCK})")
    except psycopg.errors.LockNotAvailable:
        return False
    return True
