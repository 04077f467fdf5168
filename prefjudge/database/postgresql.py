"""What is PostgreSQL's own: connecting, statements, and the lock that one process at a time holds.

Statements go to libpq itself: a page asks for two dozen, and psycopg's cursors take four times as long for
each.
"""

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
        from psycopg.adapt import Transformer
    except ImportError as error:
        raise StudyError(
            "PostgreSQL needs the psycopg package", "Install it with: pip install 'prefjudge[postgres]'"
        ) from error
    try:
        raw = psycopg.connect(url, autocommit=True)
        raw.prepare_threshold = None  # ours are prepared at once
        raw.prepared = {}  # type: ignore[attr-defined]  # by text and types
        raw.reader = Transformer(raw)  # type: ignore[attr-defined]
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
    from psycopg import Error

    try:
        _done(raw.pgconn.exec_(b"BEGIN" if write else b"BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"))
        try:
            yield
            _done(raw.pgconn.exec_(b"COMMIT"))
        except BaseException:
            if raw.pgconn.transaction_status:  # not over, as after a COMMIT that failed
                raw.pgconn.exec_(b"ROLLBACK")
            raise
    except Error as error:
        if not raw.closed:
            raise
        raise PrefjudgeError(
            f"{redacted(url)} ended the connection: {str(error).partition(chr(10))[0]}",
            "Repeat the verb once the server runs: what was not finished is taken up.",
        ) from error


_INT4, _INT8, _FLOAT8, _UNKNOWN = 23, 20, 701, 0
"""PostgreSQL's numbers of types; a text's follows from where it stands."""
_MOST_PREPARED = 500
"""Statements of a connection; a list of another length is another one, and then they are not prepared."""


def execute(raw: Any, sql: str, values: Mapping[str, Value]) -> list[Row]:
    """Run one statement, which is prepared the first time, and return its rows."""
    text, names = _numbered(sql)
    types, given = [], []
    for name in names:
        value = values[name]
        given.append(None if value is None else str(value).encode())
        types.append(_type_of(value))
    prepared, key = raw.prepared, (text, *types)
    statement = prepared.get(key)
    if statement is None and len(prepared) < _MOST_PREPARED:
        statement = b"p%d" % len(prepared)
        _done(raw.pgconn.prepare(statement, text, types))
        prepared[key] = statement
    found = (
        raw.pgconn.exec_prepared(statement, given)
        if statement
        else raw.pgconn.exec_params(text, given, types)
    )
    _done(found)
    if not found.nfields:
        return []
    raw.reader.set_pgresult(found)
    rows: list[Row] = raw.reader.load_rows(0, found.ntuples, tuple)
    return rows


def _type_of(value: Value) -> int:
    if isinstance(value, int):
        return _INT4 if -(2**31) <= value < 2**31 else _INT8
    if isinstance(value, float):
        return _FLOAT8
    if value is not None and "\0" in value:  # libpq would end the text there
        from psycopg import DataError

        raise DataError("PostgreSQL text fields cannot contain NUL (0x00) bytes")
    return _UNKNOWN


@lru_cache(maxsize=1024)
def _numbered(sql: str) -> tuple[bytes, tuple[str, ...]]:
    """Rewrite ``:name`` as libpq's ``$1``, leaving string literals alone; return the names in this order."""
    names: dict[str, int] = {}
    text = NAMED.sub(lambda m: f"${names.setdefault(m[1], len(names) + 1)}" if m[1] else m[0], sql)
    return text.encode(), tuple(names)


def _done(result: Any) -> None:
    """Raise what the server has refused."""
    if result.status not in _GOOD:
        from psycopg.errors import error_from_result

        raise error_from_result(result)


_GOOD = (0, 1, 2)
"""libpq's states of an answer: to an empty statement, without rows, and with rows."""


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
