"""The one door to a SQL database."""

import gc
import shutil
import sqlite3
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path
from unittest.mock import Mock

import pytest

from prefjudge.database import Database, redacted
from prefjudge.errors import PrefjudgeError, StudyError
from prefjudge.steps.store.backup import backup


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


def test_a_password_that_the_driver_cannot_read_is_refused_before_it_shows_it(tmp_path: Path) -> None:
    for odd in ("sec ret", "sec%ret", "sec%r", "sec\tret"):
        for use in (Database, lambda url: backup(file=tmp_path / "b", store=url)):
            with pytest.raises(StudyError, match="has a space, or a %") as caught:
                use(f"postgresql://me:{odd}@host/name")
            assert "sec" not in str(caught.value)
    with pytest.raises(StudyError, match="cannot store at"):
        backup(file=tmp_path / "b", store="mysql://host/name")  # not one of PostgreSQL's


def test_a_new_file_is_its_owners_from_the_first_byte(tmp_path: Path) -> None:
    database = Database(f"sqlite:///{tmp_path / 'a.db'}")
    database.migrate(["CREATE TABLE words (word TEXT)"])
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()}
    assert modes == {"a.db": 0o600, "a.db-wal": 0o600, "a.db-shm": 0o600}
    database.close()


def test_each_cause_has_a_hint_of_its_own(tmp_path: Path) -> None:
    bad = tmp_path / "bad.db"
    bad.write_bytes(b"this is a text and not a database, and it is longer than a header\n" * 99)
    with pytest.raises(StudyError, match="not a database") as refused:
        Database(f"sqlite:///{bad}").migrate(["CREATE TABLE words (word TEXT)"])
    assert "Restore a backup" in refused.value.hint
    assert "room" not in refused.value.hint
    with pytest.raises(StudyError, match="cannot open") as refused:
        Database(f"sqlite:///{tmp_path / 'nowhere' / 'a.db'}").migrate([""])
    assert refused.value.hint == "Is the folder there and writable?"


def test_a_page_that_was_overwritten_is_damage_and_not_a_lack_of_room(tmp_path: Path) -> None:
    database = Database(f"sqlite:///{tmp_path / 'a.db'}")
    database.migrate(["CREATE TABLE words (word TEXT)"])
    with database.transaction() as db:
        db.executemany("INSERT INTO words VALUES (:word)", [{"word": "x" * 900}] * 99)
    database.close()
    with (tmp_path / "a.db").open("r+b") as file:
        file.seek(4096)
        file.write(b"\xff" * 40_000)
    database = Database(f"sqlite:///{tmp_path / 'a.db'}")
    with pytest.raises(PrefjudgeError, match="malformed") as refused, database.transaction() as db:
        db.execute("SELECT * FROM words")
    assert "Restore a backup" in refused.value.hint
    database.close()


@pytest.mark.parametrize(
    ("code", "free", "hint"),
    [
        (sqlite3.SQLITE_FULL, 10**9, "Make room"),
        (sqlite3.SQLITE_IOERR_SHMOPEN, 8_000, "Make room"),
        (sqlite3.SQLITE_IOERR_SHMOPEN, 10**9, "The disk failed"),
    ],
)
def test_a_full_disk_is_not_taken_for_another_verb_or_a_broken_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int, free: int, hint: str
) -> None:
    database = Database(f"sqlite:///{tmp_path / 'a.db'}")

    def full(raw: object, path: Path, statement: str, timeout: float = 0) -> None:
        error = sqlite3.OperationalError("disk is full, or an I/O error")
        error.sqlite_errorcode = code
        raise error

    monkeypatch.setattr("prefjudge.database.sqlite.run_waiting", full)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: Mock(free=free))
    for use in (database.exclusive(60), database.transaction()):
        with pytest.raises(PrefjudgeError, match="disk is full") as refused, use:
            pass
        assert hint in refused.value.hint


def test_a_damaged_lock_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "a.db.lock").write_bytes(b"no lock, but a text that is longer than a header\n" * 99)
    with (
        pytest.raises(StudyError, match=r"a\.db\.lock: file is not a database") as refused,
        Database(f"sqlite:///{tmp_path / 'a.db'}").exclusive(60),
    ):
        pass
    assert refused.value.hint == "It holds nothing: delete this one file, and repeat the verb."


HOLDER = """
import sqlite3, sys
raw = sqlite3.connect(sys.argv[1], isolation_level=None)
raw.execute(sys.argv[2])
print("held", flush=True)
sys.stdin.readline()
raw.execute("ROLLBACK")
"""


@pytest.mark.parametrize("lock", ["store", "turn"])
def test_who_waits_says_for_whom_after_a_moment(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, lock: str
) -> None:
    path = tmp_path / "a.db"
    database = Database(f"sqlite:///{path}")
    database.migrate(["CREATE TABLE words (word TEXT)"])
    held = path if lock == "store" else Path(f"{path}.lock")
    begin = "BEGIN IMMEDIATE" if lock == "store" else "BEGIN EXCLUSIVE"
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(held), begin],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as holder:
        assert holder.stdout
        assert holder.stdin
        holder.stdout.readline()
        said: list[float] = []

        def let_go() -> None:
            while not caplog.messages and time.monotonic() - begun < 50:
                time.sleep(0.05)
            said.append(time.monotonic() - begun)
            holder.communicate("\n")

        begun = time.monotonic()
        watcher = threading.Thread(target=let_go)
        watcher.start()
        if lock == "store":
            with database.transaction() as db:
                db.execute("INSERT INTO words VALUES ('late')")
        else:
            with database.exclusive(60) as alone:
                assert alone
        watcher.join()
    assert said[0] >= 1
    (message,) = caplog.messages  # said while it waited: this ends the waiting
    assert str(held) in message
    if Path("/proc/locks").exists():
        assert f"process {holder.pid} (" in message
    database.close()


def test_threads_that_take_turns_do_not_tell_each_other(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    if not Path("/proc/locks").exists():
        pytest.skip("this system does not list its locks")
    database = Database(f"sqlite:///{tmp_path / 'a.db'}")
    database.migrate(["CREATE TABLE words (word TEXT)"])
    with database.transaction() as db:
        other = threading.Thread(target=lambda: database.migrate(["CREATE TABLE words (word TEXT)", ""]))
        other.start()
        time.sleep(2)
        db.execute("INSERT INTO words VALUES ('first')")
    other.join()
    assert caplog.messages == []
    database.close()
