"""The one door to a SQL database."""

import gc
import sqlite3
from pathlib import Path

import pytest

from prefjudge.database import Database, redacted


def test_a_door_that_is_dropped_leaves_nothing_open(tmp_path: Path) -> None:
    database = Database(f"sqlite:///{tmp_path / 'a.db'}")
    with database.transaction() as db:
        assert db.execute("SELECT 1") == [(1,)]
    (raw,) = database._open
    del database, db
    gc.collect()
    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        raw.execute("SELECT 1")


def test_a_transaction_that_raises_leaves_no_trace(tmp_path: Path) -> None:
    database = Database(f"sqlite:///{tmp_path / 'a.db'}")
    database.migrate(["CREATE TABLE words (word TEXT)"])

    def half() -> None:
        with database.transaction() as db:
            db.execute("INSERT INTO words VALUES (:word)", word="lost")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        half()
    with database.transaction(write=False) as db:
        assert db.execute("SELECT count(*) FROM words") == [(0,)]
    database.close()


def test_a_password_is_not_shown() -> None:
    assert redacted("postgresql://me:secret@host/name") == "postgresql://me:…@host/name"
