"""Verbs that only look work on a study that one may only read, and say what they leave unwritten there."""

import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from prefjudge import status
from prefjudge.field.crowd import keep_marketplace_open
from prefjudge.study.store import Study
from tests.unprivileged import run_bound


@pytest.fixture
def sealed(few_judged: Path) -> Iterator[Path]:
    """A judged study, of which every file and the folder may be read and not written."""
    copy = few_judged.with_name("sealed")
    with keep_marketplace_open(Study(few_judged)):
        shutil.copytree(few_judged, copy)
        seal(copy)
        yield copy
        unseal(copy)


def seal(folder: Path) -> None:
    for path in folder.iterdir():
        path.chmod(0o400)
    folder.chmod(0o500)


def unseal(folder: Path) -> None:
    folder.chmod(0o700)
    for path in folder.iterdir():
        path.chmod(0o600)


def held(folder: Path) -> dict[str, tuple[int, int]]:
    return {path.name: (path.stat().st_size, path.stat().st_mtime_ns) for path in folder.iterdir()}


LOOKING = ["status", "resolve", "score", "workers", "winratio", "plan"]


def test_what_only_looks_looks_and_leaves_everything_as_it_is(sealed: Path) -> None:
    before = held(sealed)
    for verb in LOOKING:
        done = run_bound(sealed.parent, verb, sealed, "--json")
        assert done.returncode == 0, (verb, done.stderr)
        notices = json.loads(done.stdout)["notices"]
        wanted = {"resolve": ["preference.qrels"], "score": ["leaderboard.csv", "winratio.csv"]}.get(verb, [])
        assert [name for name in wanted if any(f"{name}" in text for text in notices)] == wanted
        assert any("may only be read" in text for text in notices) == bool(wanted)
    for verb, out in (("report", "page.html"), ("release", "bundle"), ("score", "x.csv")):
        rehearsal = ["--rehearsal"] if verb == "release" else []
        done = run_bound(sealed.parent, verb, sealed, "--out", sealed.parent / out, *rehearsal)
        assert done.returncode == 0, done.stderr
        assert (sealed.parent / out).exists()
    assert held(sealed) == before


def test_a_whole_study_that_may_only_be_read_is_not_called_broken(sealed: Path) -> None:
    for skipped in (2, 3):  # its marketplace runs, and then it does not
        done = run_bound(sealed.parent, "store", "check", sealed)
        assert done.returncode == 0, done.stdout
        assert done.stdout.count("skipped") == done.stdout.count("may only be read") == skipped
        unseal(sealed)
        (sealed / "marketplace.db.serving").unlink(missing_ok=True)
        seal(sealed)


@pytest.mark.parametrize("verb", ["report", "release"])
def test_a_verb_whose_whole_work_is_a_file_asks_for_another_place(sealed: Path, verb: str) -> None:
    rehearsal = ["--rehearsal"] if verb == "release" else []
    done = run_bound(sealed.parent, verb, sealed, *rehearsal)
    assert (done.returncode, done.stderr.count("may only be read"), done.stderr.count("--out")) == (1, 1, 1)


def test_a_verb_that_writes_says_that_it_may_not(sealed: Path) -> None:
    done = run_bound(sealed.parent, "collect", sealed)
    assert done.returncode == 1
    assert "You may only read it" in done.stderr
    assert "another verb" not in done.stderr


def test_a_file_that_may_not_be_written_is_the_one_that_was_asked_for(sealed: Path) -> None:
    done = run_bound(sealed.parent, "resolve", sealed, "--out", sealed / "mine.qrels")
    assert done.returncode == 1
    assert "mine.qrels cannot be written: Permission denied" in done.stderr


@pytest.mark.parametrize("closed", ["store", "folder"])
def test_a_store_that_may_not_be_read_is_called_so(pooled: Path, closed: str) -> None:
    store = pooled / "study.db"
    (store if closed == "store" else pooled).chmod(0o000)
    try:
        done = run_bound(pooled.parent, "status", pooled)
    finally:
        pooled.chmod(0o700)
        store.chmod(0o600)
    assert done.returncode == 1 + (closed == "folder")  # the command line itself refuses a closed folder
    assert ("study.db: Permission denied" if closed == "store" else "is not readable") in done.stderr


def test_the_log_that_a_killed_program_left_is_read_too(pooled: Path) -> None:
    """The last transactions are in study.db-wal; a reader that skips it would show an older study."""
    opened = Study(pooled)
    with opened.transaction() as db:
        db.execute("DELETE FROM gold")
    copy = pooled.with_name("killed")
    shutil.copytree(pooled, copy)  # while the store is open, as a kill leaves it
    (copy / "study.db-shm").unlink()
    assert (copy / "study.db-wal").stat().st_size
    opened.close()
    seal(copy)
    done = run_bound(copy.parent, "status", copy, "--json")
    unseal(copy)
    assert json.loads(done.stdout)["gold"] == 0, done.stderr


def test_a_look_waits_for_no_writer(pooled: Path) -> None:
    opened = Study(pooled)
    with opened.transaction() as db:
        db.execute("DELETE FROM gold")
        assert status(pooled).gold == 6  # at once, and as it was before
    opened.close()
    assert os.access(pooled, os.W_OK)
