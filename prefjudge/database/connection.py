"""One open transaction: statements with ``:name`` parameters, and records as rows."""

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import fields
from functools import lru_cache
from itertools import chain
from operator import attrgetter, itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from prefjudge.errors import StudyError

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

    Record: TypeAlias = Mapping[str, Any] | DataclassInstance


# Rows as records: a table's columns are the names of a dataclass's fields, or of a mapping's keys.
#
# So a column that is added to a table is named where its noun is, and no statement depends on the order in
# which columns were added.

T = TypeVar("T", bound="DataclassInstance")


@lru_cache(maxsize=256)
def columns_of(kind: "type[DataclassInstance]") -> tuple[str, ...]:
    """Return the columns that a dataclass stands for."""
    return tuple(field.name for field in fields(kind))


def row_of(record: "Record") -> dict[str, Any]:
    """Return a record's values by column."""
    if isinstance(record, Mapping):
        return dict(record)
    return {column: getattr(record, column) for column in columns_of(type(record))}


def reader(example: Any) -> tuple[tuple[str, ...], Callable[[Any], tuple[Any, ...]]]:
    """Return the columns of a record, and what takes their values out of any record like it."""
    # That raises ValueError for a record with other columns, of which some would be lost.
    kind, columns = type(example), tuple(row_of(example))
    keys = example.keys() if isinstance(example, Mapping) else None
    pick: Callable[[Any], Any] = (attrgetter if keys is None else itemgetter)(*columns)

    def read(record: Any) -> tuple[Any, ...]:
        if type(record) is not kind or (keys is not None and record.keys() != keys):
            raise ValueError(f"{record!r} has other columns than {', '.join(columns)}")
        return pick(record) if len(columns) > 1 else (pick(record),)

    return columns, read


@lru_cache(maxsize=1024)
def insertion(table: str, columns: tuple[str, ...], mark: str, rest: str) -> str:
    """Return the statement that adds a row of these columns; ``mark`` stands for one value."""
    marks = ", ".join(mark.format(column) for column in columns)
    return f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({marks}) {rest}"


Value = str | int | float | None
Row = tuple[Any, ...]
_ROWS = 10_000
"""Of a part of a query's answer."""

NAMED = re.compile(r"'[^']*'|(?<!:):([a-z_][a-z0-9_]*)")


@lru_cache(maxsize=1024)
def _pyformat(sql: str) -> str:
    """Rewrite ``:name`` as psycopg's ``%(name)s``, leaving string literals alone."""
    return NAMED.sub(lambda m: f"%({m[1]})s" if m[1] else m[0].replace("%", "%%"), sql)


def in_list(name: str, values: Iterable[Value]) -> tuple[str, dict[str, Value]]:
    """Return what ``IN (…)`` has in its brackets, and its parameters; nothing is in an empty list."""
    # `name` tells them from the statement's other parameters.
    params = {f"{name}{number}": value for number, value in enumerate(values)}
    return ", ".join(f":{one}" for one in params) or "NULL", params


def having(where: Iterable[str]) -> str:
    """Return the condition that these columns have the values of parameters of their names."""
    return " AND ".join(f"{column} = :{column}" for column in where)


class Connection:
    """Runs statements inside one open transaction."""

    def __init__(self, dialect: str, raw: Any, run: "Callable[[Any, str, Mapping[str, Value]], list[Row]]"):
        self.dialect = dialect
        self._raw, self._run = raw, run

    def execute(self, sql: str, params: Mapping[str, Value] | None = None, /, **named: Value) -> list[Row]:
        """Run one statement and return its rows (none for a statement that returns none)."""
        return self._run(self._raw, sql, {**(params or {}), **named})

    def parts(
        self, sql: str, params: Mapping[str, Value] | None = None, /, **named: Value
    ) -> Iterator[list[Row]]:
        """Run a query and yield its rows, some thousands at a time: the others are no objects meanwhile."""
        values = {**(params or {}), **named}
        cursor = self._raw.execute(sql if self.dialect == "sqlite" else _pyformat(sql), values)
        while rows := cursor.fetchmany(_ROWS):
            yield rows

    def columns(
        self, sql: str, params: Mapping[str, Value] | None = None, /, **named: Value
    ) -> Iterator[list[tuple[Any, ...]]]:
        """Yield the columns of the same parts."""
        for rows in self.parts(sql, params, **named):
            yield [*zip(*rows, strict=True)]

    def value(self, sql: str, /, **named: Value) -> Any:
        """Return the one value that a statement selects; None where it finds nothing."""
        rows = self.execute(sql, named)
        return rows[0][0] if rows else None

    def values(self, sql: str, params: Mapping[str, Value] | None = None, /, **named: Value) -> list[Any]:
        """Return the only column that a statement selects."""
        return [value for (value,) in self.execute(sql, params, **named)]

    def tally(self, sql: str, params: Mapping[str, Value] | None = None, /, **named: Value) -> dict[Any, int]:
        """Run a statement of two columns, a name and a number, and return the numbers by name."""
        return {name: int(number or 0) for name, number in self.execute(sql, params, **named)}

    def dicts(self, columns: str, rest: str, /, **named: Value) -> list[dict[str, Value]]:
        """Return a dictionary for each row, by the columns' names: of ``a.name AS who`` the last word."""
        names = [re.split(r"[\s.]", column.strip())[-1] for column in columns.split(",")]
        rows = self.execute(f"SELECT {columns} {rest}", named)
        return [dict(zip(names, row, strict=True)) for row in rows]

    def lists(
        self, sql: str, params: Mapping[str, Value] | None = None, /, **named: Value
    ) -> dict[Any, list[Any]]:
        """Return lists by what a statement selects first: of the second column, or of the rest of the row."""
        found: dict[Any, list[Any]] = {}
        for name, *rest in self.execute(sql, params, **named):
            found.setdefault(name, []).append(tuple(rest) if len(rest) > 1 else rest[0])
        return found

    def insert(self, table: str, record: "Record", rest: str = "", /, **named: Value) -> list[Row]:
        """Add one row; its columns are a dataclass's fields, or a mapping's keys."""
        # `rest` is what the statement ends with, such as `ON CONFLICT DO NOTHING` or `RETURNING seq`.
        row = row_of(record)
        return self.execute(insertion(table, tuple(row), ":{}", rest), row, **named)

    def insert_all(self, table: str, records: "Iterable[Record]", rest: str = "") -> None:
        """Add a row for each record, fast; all have the columns of the first one."""
        rows = iter(records)
        for first in rows:
            columns, read = reader(first)
            # values by place: by name, a driver looks each of them up for each row
            statement = insertion(table, columns, "?" if self.dialect == "sqlite" else "%s", rest)
            self._many(statement, map(read, chain([first], rows)))

    def select(self, kind: type[T], rest: str, /, **named: Value) -> list[T]:
        """Select the columns that a dataclass names, and return a record for each row."""
        # `rest` is the statement from its `FROM` on, in which each of these columns occurs once.
        return self.records(kind, f"SELECT {', '.join(columns_of(kind))} {rest}", **named)

    def records(self, kind: type[T], sql: str, /, **named: Value) -> list[T]:
        """Return a record for each row of a statement that selects a dataclass's fields, in their order."""
        columns = columns_of(kind)
        return [kind(**dict(zip(columns, row, strict=True))) for row in self.execute(sql, named)]

    def find(self, kind: type[T], rest: str, /, **named: Value) -> T | None:
        """Return the record of the first row, or None."""
        return next(iter(self.select(kind, rest, **named)), None)

    def update(self, table: str, changes: "Record", **where: Value) -> None:
        """Change columns of the rows with these values."""
        new = row_of(changes)
        sets = ", ".join(f"{column} = :new_{column}" for column in new)
        named = {f"new_{column}": value for column, value in new.items()}
        self.execute(f"UPDATE {table} SET {sets} WHERE {having(where)}", named, **where)

    def pick(self, column: str, table: str, **where: Value) -> Any:
        """Return a column of the row with these values; None where there is none."""
        return self.value(f"SELECT {column} FROM {table} WHERE {having(where)} LIMIT 1", **where)

    def delete(self, table: str, **where: Value) -> None:
        """Delete the rows with these values."""
        self.execute(f"DELETE FROM {table} WHERE {having(where)}", where)

    @property
    def ended(self) -> bool:
        """Whether the database has ended the transaction by itself, as SQLite does where it finds no room."""
        return self.dialect == "sqlite" and not self._raw.in_transaction

    def tables(self) -> tuple[str, ...]:
        """Return the names of the tables, but for the database's own."""
        where = (
            "sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%'"
            if self.dialect == "sqlite"
            else "(SELECT tablename AS name FROM pg_tables WHERE schemaname = current_schema()) AS own"
        )
        return tuple(str(name) for (name,) in self.execute(f"SELECT name FROM {where} ORDER BY name"))

    def executemany(self, sql: str, rows: Iterable[Mapping[str, Value]]) -> None:
        """Run one statement for each row."""
        self._many(sql if self.dialect == "sqlite" else _pyformat(sql), rows)

    def _many(self, statement: str, rows: Iterable[Any]) -> None:
        if self.dialect == "sqlite":
            self._raw.executemany(statement, rows)
            return
        with self._raw.cursor() as cursor:
            cursor.executemany(statement, rows)


# Where a database is, as a URL, and how a URL may be shown.

_SQLITE = "sqlite:///"


def dialect_of(url: str) -> str:
    """Return which kind of database a URL names."""
    scheme, separator, rest = url.partition("://")
    dialect = "postgresql" if scheme == "postgres" else scheme
    path = rest.removeprefix("/")
    is_file = dialect == "sqlite" and rest.startswith("/") and path not in ("", ":memory:")
    if not separator or not (is_file or dialect == "postgresql"):
        raise StudyError(f"cannot store at {redacted(url)}", "Give sqlite:///PATH or postgresql://HOST/NAME.")
    if not is_file and rest.partition("?")[0].count("@") > 1:  # libpq would show half of the password
        raise StudyError(f"{redacted(url)} has more than one @", "Write an @ of the password as %40.")
    if not is_file and re.search(r"\s|%(?![0-9A-Fa-f]{2})", rest):  # libpq would show all of it
        raise StudyError(
            f"{redacted(url)} has a space, or a % that begins no code", "Write them as %20 and %25."
        )
    return dialect


def file_of(url: str) -> Path | None:
    """Return the file of a SQLite database, None for a database of another kind."""
    return Path(url.removeprefix(_SQLITE)) if url.startswith(_SQLITE) else None


def redacted(url: str) -> str:
    """Return the URL without its passwords, fit for a message or a log."""
    url = re.sub(r"^((?:[a-z]+:/+)?[^:/@]*):(?!//).*@", r"\1:…@", url)
    return re.sub(r"([?&][^=&]*password)=[^&]*", r"\1=…", url, flags=re.IGNORECASE)


# What is said while another process holds a database: silence would look like a program that hangs.

SAY_AFTER = 1.5
"""Seconds of waiting that nobody is told of."""


def say_waiting(who: str, what: str) -> None:
    """Say whom this process waits for: a warning in the log, which a terminal shows on stderr."""
    import logging

    logging.getLogger("prefjudge").warning("waiting for %s, which holds %s", who, what)


def others_holding(path: Path) -> list[str] | None:
    """Return the other processes that hold a lock on a SQLite file, in words."""
    # None where the system does not say: only Linux lists its locks.
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
