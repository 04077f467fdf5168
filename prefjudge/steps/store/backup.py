"""Copies a store while servers and verbs use it, and reads the copy back."""

import os
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from prefjudge.database import Connection, Database, dialect_of, redacted
from prefjudge.errors import InputError, StudyError
from prefjudge.findings.stores import Store, need_one, open_own, open_store
from prefjudge.reading.files import sync_folder
from prefjudge.show.results import Shown
from prefjudge.study.progress import count_rows
from prefjudge.study.store import COPIED, RECOVERING, Study, open_study


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BackupResult(Shown):
    """A backup that was read back: its rows by table, and what its ledger adds up to, in dollars.

    ``kind`` is ``study`` or ``marketplace``, and ``taken`` the moment of the backup in UTC.
    """

    store: str
    kind: str
    file: str
    bytes: int
    taken: str
    rows: dict[str, int]
    ledger: dict[str, str]


def backup(
    study: str | Path | Study | None = None,
    file: str | Path | None = None,
    *,
    store: str | None = None,
    replace: bool = False,
) -> BackupResult:
    """Copy a study's store, or the one at a URL, into one file, while servers and verbs use it."""
    if file is None:
        raise InputError(
            "store backup needs a file to write", "Run, for instance: prefjudge store backup STUDY backup.db"
        )
    need_one("backup", study, store)
    opened, target = open_study(study), Path(file)
    url = opened.store_url if opened else str(store)
    if dialect_of(url) == "postgresql":
        raise StudyError(
            f"nothing was copied: {redacted(url)} is in PostgreSQL, which has its own backups",
            f"Run: pg_dump --format=custom --no-owner --file='{target}' '{_nameless(url)}' (docs/backup.md)",
        )
    found = open_own(opened) if opened else open_store(url)
    _refuse_existing(target, replace=replace)
    part = _new_file(target)
    try:
        result = _copy(found, part, target)
        _name(part, target, replace=replace)
    finally:
        for name in (part, Path(f"{part}-wal"), Path(f"{part}-shm"), Path(f"{part}-journal")):
            name.unlink(missing_ok=True)
    return result


def _copy(found: Store, part: Path, target: Path) -> BackupResult:
    """Copy the store, and compare the copy with what it was copied from."""
    source = found.database
    with source.transaction(write=False) as db:  # one moment for the copy and what it is compared with
        taken = datetime.now(UTC).isoformat(timespec="seconds")
        before = _rows(db), found.ledger(db)
        source.copy_to(part)
    copy = Database(f"sqlite:///{part}")
    try:
        damage = copy.damage()
        with copy.transaction(write=False) as db:
            after = _rows(db), found.ledger(db)
        if damage or after != before:
            what = damage[0] if damage else "its rows or its ledger differ from the store's"
            raise StudyError(
                f"no backup was written, as the copy is not sound: {what}",
                "Examine the store itself: prefjudge store check",
            )
        _mark(copy, found, taken)
    finally:
        copy.close()
    with part.open("rb") as written:
        os.fsync(written.fileno())
    return BackupResult(
        store=redacted(source.url),
        kind=found.kind,
        file=str(target),
        bytes=part.stat().st_size,
        taken=taken,
        rows=before[0],
        ledger=before[1],
    )


def _rows(db: Connection) -> dict[str, int]:
    return {table: count_rows(db, table) for table in db.tables()}


def _nameless(url: str) -> str:
    """Return a URL without its password, which pg_dump asks for or finds in ~/.pgpass."""
    return redacted(url).replace(":…@", "@")


def _mark(copy: Database, found: Store, taken: str) -> None:
    """Mark the copy as a backup: a study restored from it first asks what happened since."""
    marks = {COPIED: taken}
    if found.kind == "study":
        marks[RECOVERING] = f"was restored from a backup of {taken}"
    with copy.transaction() as db:
        for name, value in marks.items():
            found.save_setting(db, name, value)


def _refuse_existing(target: Path, *, replace: bool) -> None:
    if target.is_dir() or (target.exists() and not replace):
        hint = "Name a file in it." if target.is_dir() else "Give another file, or add --replace."
        raise InputError(f"{target} is there already", hint)


def _new_file(target: Path) -> Path:
    """Make a file beside the target that only its owner may read, from its first byte on."""
    part = target.with_name(f".{target.name}.{os.urandom(6).hex()}.part")
    try:
        os.close(os.open(part, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
    except OSError as error:
        raise InputError(f"{target} cannot be written: {error.strerror}", "Choose another folder.") from error
    return part


def _name(part: Path, target: Path, *, replace: bool) -> None:
    """Give the finished file its name; without ``replace`` it never replaces a file, not even a later one."""
    if replace:
        part.replace(target)
    else:
        try:
            os.link(part, target)
        except FileExistsError:
            _refuse_existing(target, replace=False)
        except OSError:  # a file system without links
            _refuse_existing(target, replace=False)
            part.replace(target)
    sync_folder(target.parent)
