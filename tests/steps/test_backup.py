"""Backups taken at work, what they hold, and what a check finds."""

import json
import os
import re
import shutil
import sqlite3
import stat
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from typer.testing import CliRunner

from prefjudge import collect, init, pay, publish, status, work
from prefjudge.cli.app import app
from prefjudge.database import Database
from prefjudge.errors import InputError, PrefjudgeError, StudyError
from prefjudge.field.crowd import keep_marketplace_open
from prefjudge.marketplace.server import start
from prefjudge.steps.store.backup import backup, recover
from prefjudge.steps.store.check import State, StoreCheckResult, examine
from prefjudge.study.store import Study
from tests.steps.conftest import few_pooled, made_once
from tests.steps.test_recover import judged as lately  # noqa: F401 - a fixture


def wrong(found: StoreCheckResult) -> dict[str, str]:
    assert found.well == all(check.state != State.WRONG for check in found.checks)
    return {check.name: check.found for check in found.checks if check.state == State.WRONG}


def market(study: Path) -> str:
    return f"sqlite:///{study / 'marketplace.db'}"


def submitted(path: Path) -> int:
    """How many assignments a marketplace's store holds that were handed in."""
    with closing(sqlite3.connect(path)) as raw, raw:
        (found,) = raw.execute("SELECT count(*) FROM assignments WHERE submitted_at IS NOT NULL").fetchone()
    return int(found)


def small(study: Path) -> None:
    config = study / "study.toml"
    text = config.read_text().replace("pairs_per_hit = 10", "pairs_per_hit = 1")
    config.write_text(text.replace("budget = 100.00", "budget = 900.00"))


@made_once
def once_judged(study: Path) -> None:
    few_pooled(study)
    with keep_marketplace_open(Study(study)):
        publish(study, yes=True)
        work(study, workers=8, error=0.1, slip=0.0)
        collect(study)


@pytest.fixture
def judged(tmp_path: Path) -> Iterator[Path]:
    study = once_judged(tmp_path / "study")
    with keep_marketplace_open(Study(study)):
        yield study


def put_back(study: Path, name: str, copy: Path) -> None:
    for end in ("", "-wal", "-shm"):
        (study / f"{name}{end}").unlink(missing_ok=True)
    shutil.copyfile(copy, study / name)
    (study / name).chmod(0o600)


def test_a_backup_is_private_whole_and_never_over_a_file_unasked(judged: Path, tmp_path: Path) -> None:
    target = tmp_path / "backup.db"
    done = backup(judged, target)
    assert (done.kind, done.bytes, done.file) == ("study", target.stat().st_size, str(target))
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    assert done.rows["judgments"] == status(judged).judgments
    assert done.ledger == {"sandbox": status(judged).committed}
    first = target.read_bytes()
    with pytest.raises(InputError, match="is there already"):
        backup(judged, target)
    assert target.read_bytes() == first
    assert sorted(path.name for path in tmp_path.iterdir()) == ["backup.db", "study"]
    held = backup(file=tmp_path / "market.db", store=market(judged))
    assert (held.kind, held.ledger["all accounts"]) == ("marketplace", "0.00")


def test_a_backup_that_is_not_what_the_store_is_gets_no_name(
    judged: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = Database.copy_to

    def lossy(database: Database, file: Path) -> None:
        copy(database, file)
        with closing(sqlite3.connect(file)) as raw, raw:
            raw.execute("DELETE FROM drops")
            raw.execute("DELETE FROM judgments WHERE judgment_id = 1")

    monkeypatch.setattr(Database, "copy_to", lossy)
    with pytest.raises(StudyError, match="its rows or its ledger"):
        backup(judged, tmp_path / "backup.db")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["study"]


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        ({"file": "x.db"}, "either a study or the URL"),
        ({"study": "study"}, "needs a file"),
        ({"file": "x.db", "store": "sqlite:///nowhere.db"}, "there is no store"),
        ({"file": "nowhere/x.db", "store": "sqlite:///other.db"}, "neither a study's store nor"),
    ],
)
def test_what_cannot_be_backed_up_is_refused(
    pooled: Path, monkeypatch: pytest.MonkeyPatch, asked: dict[str, str], says: str
) -> None:
    monkeypatch.chdir(pooled.parent)
    Database("sqlite:///other.db").migrate(["CREATE TABLE words (word TEXT)"])
    with pytest.raises(PrefjudgeError, match=says):
        backup(**asked)  # type: ignore[arg-type]
    assert not Path("x.db").exists()
    assert not Path("nowhere.db").exists()


def test_postgresql_is_told_what_to_run_and_the_exit_code_says_that_nothing_was_copied() -> None:
    done = CliRunner().invoke(
        app, ["store", "backup", "--store", "postgresql://me:secret@nowhere/x", "x.dump"]
    )
    assert isinstance(done.exception, StudyError)
    assert done.exception.exit_code == 1
    assert "pg_dump --format=custom --no-owner --file='x.dump' 'postgresql://me@nowhere/x'" in str(
        done.exception
    )
    assert "secret" not in str(done.exception)


def test_a_store_restored_under_load_is_consistent_and_says_what_it_lacks(
    pooled: Path, tmp_path: Path
) -> None:
    """Workers submit while backups of their marketplace are made; an early and a late one are restored."""
    small(pooled)
    with keep_marketplace_open(Study(pooled)):
        publish(pooled, yes=True)
        backup(pooled, tmp_path / "study.db")
        crowd = threading.Thread(target=work, args=(pooled,), kwargs={"workers": 8, "error": 0.1})
        crowd.start()
        taken = []
        while crowd.is_alive():
            taken.append(tmp_path / f"market-{len(taken)}.db")
            backup(file=taken[-1], store=market(pooled))
            time.sleep(0.05 * len(taken))
        crowd.join()
        backup(file=tmp_path / "last.db", store=market(pooled))
        collect(pooled)
        done = status(pooled)
    seen = [submitted(copy) for copy in taken]
    at_work = [copy for copy, count in zip(taken, seen, strict=True) if 0 < count < done.assignments]
    assert at_work, f"none was made while work came in: {seen}"
    for copy in taken:
        assert wrong(examine(store=f"sqlite:///{copy}")) == {}

    put_back(pooled, "marketplace.db", at_work[0])
    found = examine(pooled)
    lacking = done.assignments - submitted(at_work[0])
    assert f"{lacking} assignment" in wrong(found)["study against sandbox"]
    said = {check.name: check.found for check in found.checks}["marketplace backup"]
    assert "what was published, submitted and paid after that is not in it" in said

    put_back(pooled, "marketplace.db", tmp_path / "last.db")
    put_back(pooled, "study.db", tmp_path / "study.db")
    assert status(pooled).judgments == 0
    for spend in (lambda: publish(pooled, yes=True), lambda: collect(pooled), lambda: pay(pooled)):
        with pytest.raises(StudyError, match="was restored from a backup of 20"):
            spend()
    (behind,) = (check for check in examine(pooled).checks if check.name == "backup")
    assert behind.hint == f"Run: prefjudge store recover {pooled}"
    learnt = recover(pooled)
    assert (learnt.assignments, learnt.remains) == (done.assignments, ())
    assert status(pooled).judgments == done.judgments
    collect(pooled)
    assert wrong(examine(pooled)) == {}


def test_doctor_says_whether_there_is_room_for_a_store_that_cannot_be_used(pooled: Path) -> None:
    (pooled / "study.db").write_bytes(b"no store, but a text that is longer than a header\n" * 99)
    damaged, room = (one for one in examine(pooled).checks if one.name in ("store", "room"))
    assert "has no backup, move the file away, and run: prefjudge store recover" in damaged.hint
    assert "are free" in room.found


def test_doctor_changes_nothing_and_finds_a_sound_study_well(judged: Path) -> None:
    found = examine(judged)
    assert wrong(found) == {}
    names = {check.name for check in found.checks}
    assert names >= {"config", "store", "schema", "backup", "ledger", "clock", "files", "room", "versions"}
    assert {"marketplace ledger", "study against sandbox"} <= names


def change(path: Path, *statements: str) -> None:
    with closing(sqlite3.connect(path)) as raw, raw:
        for statement in statements:
            raw.execute(statement)
    raw.close()


@pytest.mark.parametrize(
    ("file", "statement", "check", "says"),
    [
        ("study.db", "DELETE FROM intents WHERE operation = 'CreateHIT'", "ledger", "without an intent"),
        (
            "study.db",
            "INSERT INTO intents SELECT token || 'x', operation, target, subject, cents, intended, outcome, "
            "settled FROM intents WHERE operation = 'CreateHIT'",
            "ledger",
            "made twice",
        ),
        ("study.db", "UPDATE assignments SET collected = collected + 9030", "clock", "150 minutes ahead"),
        ("study.db", "INSERT INTO schema_version VALUES (999)", "schema", "newer than this prefjudge"),
        ("study.db", "DELETE FROM gold", "store", "a row of slots belongs to one of gold"),
        ("marketplace.db", "UPDATE accounts SET cents = cents + 1 WHERE account LIKE 'worker:%'",
         "marketplace ledger", "is not the sum of its transfers"),
        ("marketplace.db", "UPDATE hits SET held = held + 5", "marketplace ledger", "other amounts on hold"),
        ("marketplace.db", "DELETE FROM assignments WHERE seq = 1", "study against sandbox",
         "1 assignment that the marketplace does not know"),
        ("marketplace.db", "UPDATE hits SET annotation = replace(annotation, '-1-1-1-', '-2-1-1-')",
         "study against sandbox", "that the study does not know"),
    ],
)  # fmt: skip
def test_doctor_finds_what_is_wrong(judged: Path, file: str, statement: str, check: str, says: str) -> None:
    change(judged / file, statement)
    found = examine(judged)
    assert says in wrong(found)[check]
    ahead = [one.hint for one in found.checks if one.name == "clock"]
    assert check != "clock" or "If it is right, and was ahead then, nothing need be done." in ahead[0]
    done = CliRunner().invoke(app, ["store", "check", str(judged), "--json"])
    assert done.exit_code == 1
    assert json.loads(done.stdout)["well"] is False


@pytest.mark.parametrize(
    ("table", "rows", "check", "says"),
    [
        ("intents", "operation = 'SendBonus'", "ledger", "without the intents of both"),
        ("intents", "operation = 'RejectAssignment'", "ledger", "without the intents of both"),
        ("intents", "operation LIKE 'CreateAdditional%'", "ledger", "commit less than their rewards"),
        ("judgments", "judgment_id NOT IN (SELECT judgment_id FROM drops)", "ledger", "fewer judgments"),
    ],
)
def test_doctor_finds_rows_that_are_lost(lately: Path, table: str, rows: str, check: str, says: str) -> None:  # noqa: F811
    assert wrong(examine(lately)) == {}
    change(lately / "study.db", f"DELETE FROM {table} WHERE {rows}")
    assert says in wrong(examine(lately))[check]


def test_doctor_finds_work_that_is_lost(lately: Path) -> None:  # noqa: F811
    """To an open HIT work may yet come; what a closed one got, the study has."""
    closed = "SELECT assignment_id FROM assignments JOIN hits USING (hit_key) WHERE status = 'closed'"
    judged = f"SELECT judgment_id FROM judgments WHERE assignment_id IN ({closed})"
    change(lately / "study.db", f"DELETE FROM drops WHERE judgment_id IN ({judged})")
    change(lately / "study.db", f"DELETE FROM judgments WHERE judgment_id IN ({judged})")
    change(lately / "study.db", f"DELETE FROM assignments WHERE assignment_id IN ({closed})")
    assert "that the study does not know" in wrong(examine(lately))["study against sandbox"]


@pytest.mark.skipif(os.name == "nt", reason="file modes are POSIX")
def test_a_new_study_is_told_how_to_begin(tmp_path: Path) -> None:
    study = tmp_path / "new study"
    init(study)
    said = f"no store yet[\\s\\S]*prefjudge pool '{re.escape(str(study))}' --runs"
    (found,) = (check for check in examine(study).checks if check.name == "store")
    assert re.search(said, f"{found.found} {found.hint}")
    with pytest.raises(StudyError, match=said):
        backup(study, tmp_path / "copy.db")


def test_doctor_finds_a_store_that_others_may_read(judged: Path) -> None:
    (judged / "study.db").chmod(0o644)
    assert "study.db may be read by others (mode 644)" in wrong(examine(judged))["files"]


def test_doctor_finds_damage_and_goes_on(judged: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy.db"
    backup(judged, copy)
    with copy.open("r+b") as raw:
        raw.seek(8192)
        raw.write(b"\xff" * 60_000)
    found = wrong(examine(store=f"sqlite:///{copy}"))
    assert "store" in found


def test_a_lost_marketplace_is_not_taken_for_a_new_one(judged: Path, tmp_path: Path) -> None:
    copy = tmp_path / "live.db"
    backup(file=copy, store=market(judged))
    with start(f"sqlite:///{copy}"):
        pass
    copy.unlink()
    for _ in range(2):
        with pytest.raises(PrefjudgeError, match="missing or empty, but a marketplace was served") as refused:
            start(f"sqlite:///{copy}")
        assert "docs/backup.md" in refused.value.hint
        assert not copy.exists()
    Path(f"{copy}.admin-token").unlink()
    with start(f"sqlite:///{copy}"):
        pass
