"""The checks of one store: integrity, schema, ledger, file modes, disk space and clock; and the versions."""

import os
import platform
import shutil
import stat
import time
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from prefjudge.database import Connection, file_of
from prefjudge.errors import PrefjudgeError
from prefjudge.gather.stores import Store
from prefjudge.study.settings import COPIED, RECOVERING
from prefjudge.version import __version__

_LEAST_ROOM = 100_000_000
"""Free bytes that leave room for a day's work and a backup."""
_CLOCK = 120.0
"""How many seconds two clocks may differ, or a time may be in the future."""


class State(StrEnum):
    """How a check ended."""

    WELL = "well"
    WRONG = "wrong"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One thing that was examined, what was found, and what to do if it is wrong."""

    name: str
    state: State
    found: str
    hint: str = ""


def failed(name: str, error: PrefjudgeError) -> Check:
    """Return a check that ended with an error."""
    return Check(name=name, state=State.WRONG, found=error.message, hint=error.hint)


def check_store(store: Store, whose: str) -> list[Check]:
    """Examine one store; ``whose`` begins the names of its checks."""
    try:
        damage = store.database.damage()
    except PrefjudgeError as error:
        return [failed(f"{whose}store", error)]
    checks = [
        _judged(
            f"{whose}store",
            damage[:3],
            f"the {store.kind}'s store is sound" if file_of(store.database.url) else "PostgreSQL answers",
            "Restore a backup (docs/backup.md).",
        ),
        _check_schema(store, whose),
    ]
    if checks[-1].state is State.WELL:
        for look in (_check_copy, _check_ledger, _check_clock):
            checks.append(_in_transaction(store, whose, look))
    return [*checks, *_check_files(store, whose)]


def check_versions() -> Check:
    """Say which versions run here."""
    from importlib.metadata import version

    parts = (f"prefjudge {__version__}", f"Python {platform.python_version()}", f"boto3 {version('boto3')}")
    return Check(name="versions", state=State.WELL, found=", ".join(parts))


def _judged(name: str, wrong: list[str], well: str, hint: str) -> Check:
    if wrong:
        return Check(name=name, state=State.WRONG, found="; ".join(wrong), hint=hint)
    return Check(name=name, state=State.WELL, found=well)


def _in_transaction(store: Store, whose: str, look: Callable[[Store, Connection, str], Check]) -> Check:
    with store.database.transaction(write=False) as db:
        return look(store, db, whose)


def _check_schema(store: Store, whose: str) -> Check:
    version, name = store.database.version(), f"{whose}schema"
    if version > store.schema:
        newer = f"schema {version} is newer than this prefjudge, which knows up to {store.schema}"
        return Check(name=name, state=State.WRONG, found=newer, hint="Upgrade prefjudge.")
    if version < store.schema:
        older = f"schema {version}; the next verb that writes brings it to {store.schema}"
        return Check(
            name=name,
            state=State.WRONG,
            found=older,
            hint="Make a backup, then run any verb, such as status.",
        )
    return Check(name=name, state=State.WELL, found=f"schema {version}, the newest")


def _check_copy(store: Store, db: Connection, whose: str) -> Check:
    """Say whether the store was restored from a backup, and may lack what happened since."""
    taken, name = store.load_setting(db, COPIED), f"{whose}backup"
    if store.kind == "study" and (why := store.load_setting(db, RECOVERING)):
        found = f"the store {why}: what happened since is not in it until `prefjudge recover STUDY` has run"
        return Check(name=name, state=State.WRONG, found=found, hint="Run: prefjudge recover STUDY")
    if taken is None:
        return Check(name=name, state=State.WELL, found="the store is not a copy that `backup` made")
    since = f"the store was restored from a backup of {taken}"
    if store.kind == "marketplace":
        since += ": what was published, submitted and paid after that is not in it"
    return Check(name=name, state=State.WELL, found=since)


def _check_ledger(store: Store, db: Connection, whose: str) -> Check:
    sums = ", ".join(f"{name} ${amount}" for name, amount in store.ledger(db).items()) or "nothing was spent"
    hint = "Do not publish or pay. Restore a backup, or report this text as a bug."
    return _judged(f"{whose}ledger", store.find_impossible(db), sums, hint)


def _check_clock(store: Store, db: Connection, whose: str) -> Check:
    ahead = store.newest_time(db) - time.time()
    wrong = (
        [f"the newest row is {ahead / 60:,.0f} minutes ahead of this machine's clock"]
        if ahead > _CLOCK
        else []
    )
    return _judged(f"{whose}clock", wrong, "no row is from the future", "Set the clock of this machine.")


def _check_files(store: Store, whose: str) -> list[Check]:
    path = file_of(store.database.url)
    if path is None:
        return []
    names = [path, *(Path(f"{path}{end}") for end in ("-wal", "-shm", ".lock", ".admin-token"))]
    return [_check_modes(names, whose), _check_room(path, whose)]


def _check_modes(names: list[Path], whose: str) -> Check:
    name = f"{whose}files"
    if os.name == "nt":
        return Check(name=name, state=State.SKIPPED, found="this system has no file modes")
    there = [path for path in names if path.exists()]
    wide = [
        f"{path} may be read by others (mode {stat.S_IMODE(path.stat().st_mode):o})"
        for path in there
        if path.stat().st_mode & 0o077
    ]
    private = ", ".join(path.name for path in there)
    return _judged(name, wide, f"only their owner reads {private}", "Run: chmod 600 on each.")


def _check_room(path: Path, whose: str) -> Check:
    free, least = shutil.disk_usage(path.parent).free, max(_LEAST_ROOM, 2 * path.stat().st_size)
    wrong = [f"{free / 1e6:,.0f} MB are free on the disk"] if free < least else []
    hint = f"Free disk space: {least / 1e6:,.0f} MB are needed for work and a backup."
    return _judged(f"{whose}room", wrong, f"{free / 1e9:,.1f} GB are free", hint)
