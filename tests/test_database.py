"""The one door to a SQL database."""

import gc
import sqlite3
import stat
from pathlib import Path

import pytest

from prefjudge.database import Database, redacted
from prefjudge.errors import PrefjudgeError, StudyError


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


def test_a_full_disk_is_told_and_what_comes_when_there_is_room_is_stored(tmp_path: Path) -> None:
    database = Database(f"sqlite:///{tmp_path / 'a.db'}")
    database.migrate(["CREATE TABLE words (word TEXT)"])

    def write(size: int) -> None:
        with database.transaction() as db:
            db.execute("INSERT INTO words VALUES (:word)", word="x" * size)

    raw = database._connection()
    pages = raw.execute("PRAGMA page_count").fetchone()[0]
    raw.execute(f"PRAGMA max_page_count = {pages + 2}")
    with pytest.raises(PrefjudgeError, match="database or disk is full") as refused:
        write(1_000_000)
    assert "Make room" in refused.value.hint
    raw.execute("PRAGMA max_page_count = 100000")
    write(1_000_000)
    with database.transaction(write=False) as db:
        assert db.execute("SELECT count(*) FROM words") == [(1,)]
    with pytest.raises(sqlite3.OperationalError, match="no such table"), database.transaction() as db:
        db.execute("SELECT * FROM nowhere")
    database.close()


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("postgresql://me:secret@host/name", "postgresql://me:…@host/name"),
        ("postgresql://me:sec@ret@host/name", "postgresql://me:…@host/name"),
        ("postgresql://me:sec?ret@host/name", "postgresql://me:…@host/name"),
        (
            "postgresql://h/db?user=me&password=secret&sslpassword=secret&a=b",
            "postgresql://h/db?user=me&password=…&sslpassword=…&a=b",
        ),
        ("me:secret@host/name", "me:…@host/name"),
        ("postgresql://me@host:5432/name", "postgresql://me@host:5432/name"),
    ],
)
def test_a_password_is_not_shown(url: str, shown: str) -> None:
    assert redacted(url) == shown


@pytest.mark.parametrize(
    "url",
    ["sqlite:///", "sqlite:///:memory:", "sqlite:x.db", "sqlite://x.db", "x.db", "postgresql:h", "mysql://h"],
)
def test_what_is_no_store_is_refused(url: str) -> None:
    with pytest.raises(StudyError, match="cannot store at") as caught:
        Database(url)
    assert caught.value.hint == "Give sqlite:///PATH or postgresql://HOST/NAME."


def test_a_password_with_an_at_is_refused_before_the_driver_shows_it() -> None:
    with pytest.raises(StudyError, match="more than one @") as caught:
        Database("postgresql://me:sec@ret@host/name")
    assert "ret" not in str(caught.value)


def test_a_new_file_is_its_owners_from_the_first_byte(tmp_path: Path) -> None:
    database = Database(f"sqlite:///{tmp_path / 'a.db'}")
    database.migrate(["CREATE TABLE words (word TEXT)"])
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()}
    assert modes == {"a.db": 0o600, "a.db-wal": 0o600, "a.db-shm": 0o600}
    database.close()
