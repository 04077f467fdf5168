"""One open transaction: statements with ``:name`` parameters, and records as rows."""

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from itertools import chain
from typing import TYPE_CHECKING, Any

from prefjudge.database.records import T, columns_of, insertion, reader, row_of

if TYPE_CHECKING:
    from prefjudge.database.records import Record

Value = str | int | float | None
Row = tuple[Any, ...]
_ROWS = 10_000
"""Of a part of a query's answer."""

_NAMED = re.compile(r"'[^']*'|(?<!:):([a-z_][a-z0-9_]*)")


@lru_cache(maxsize=1024)
def _pyformat(sql: str) -> str:
    """Rewrite ``:name`` as psycopg's ``%(name)s``, leaving string literals alone."""
    return _NAMED.sub(lambda m: f"%({m[1]})s" if m[1] else m[0].replace("%", "%%"), sql)


def in_list(name: str, values: Iterable[Value]) -> tuple[str, dict[str, Value]]:
    """Return what stands between the brackets of ``IN (…)``, and its parameters; nothing is in an empty list.

    ``name`` tells them from the statement's other parameters.
    """
    params = {f"{name}{number}": value for number, value in enumerate(values)}
    return ", ".join(f":{one}" for one in params) or "NULL", params


class Connection:
    """Runs statements inside one open transaction."""

    def __init__(self, dialect: str, raw: Any) -> None:
        self.dialect = dialect
        self._raw = raw

    def execute(self, sql: str, params: Mapping[str, Value] | None = None, /, **named: Value) -> list[Row]:
        """Run one statement and return its rows (none for a statement that returns none)."""
        values = {**(params or {}), **named}
        if self.dialect == "sqlite":
            return self._raw.execute(sql, values).fetchall()  # type: ignore[no-any-return]
        cursor = self._raw.execute(_pyformat(sql), values)
        return cursor.fetchall() if cursor.description else []

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

    def insert(self, table: str, record: "Record", rest: str = "", /, **named: Value) -> list[Row]:
        """Add one row; its columns are a dataclass's fields, or a mapping's keys.

        ``rest`` is what the statement ends with, such as ``ON CONFLICT DO NOTHING`` or ``RETURNING seq``.
        """
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
        """Select the columns that a dataclass names, and return a record for each row.

        ``rest`` is the statement from its ``FROM`` on, in which each of these columns occurs once.
        """
        columns = columns_of(kind)
        rows = self.execute(f"SELECT {', '.join(columns)} {rest}", named)
        return [kind(**dict(zip(columns, row, strict=True))) for row in rows]

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
