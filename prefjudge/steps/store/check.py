"""Examines a study or a store: is anything damaged, missing, paid twice or readable by others?"""

import os
import platform
import shutil
import stat
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from decimal import Decimal
from enum import StrEnum
from pathlib import Path

from prefjudge.crowd.protocol import Crowd, RefusedError
from prefjudge.crowd.tasks import SubmissionState
from prefjudge.database import COPIED, NEWER, Connection, Database, file_of, redacted
from prefjudge.errors import InputError, PrefjudgeError, StudyError, quoted
from prefjudge.field.crowd import open_crowd, reach_crowd
from prefjudge.field.settle import STOPPED_EARLY
from prefjudge.marketplace import operator as market
from prefjudge.show.results import Shown
from prefjudge.study import progress
from prefjudge.study import store as settings
from prefjudge.study.assignments import load_collected
from prefjudge.study.hits import HitStatus, StudyHit, load_hits, read_hit_key
from prefjudge.study.store import (
    LIVE,
    MARKETPLACE_FILE,
    RECOVERING,
    SANDBOX,
    STEPS,
    Study,
    command,
    load_published_targets,
    open_study,
    refuse_lost,
)
from prefjudge.version import __version__
from prefjudge.words import many

# Opens a study's or a marketplace's store alike, for the verbs that check and copy stores.


@dataclass(frozen=True, slots=True, kw_only=True)
class Store:
    """An existing store, of a ``study`` or a ``marketplace``, and what it says of itself in a transaction.

    ``schema`` is the newest that this prefjudge knows.
    """

    kind: str
    database: Database
    schema: int
    find_impossible: Callable[[Connection], list[str]]
    ledger_sums: Callable[[Connection], dict[str, int]]
    newest_time: Callable[[Connection], float]
    load_setting: Callable[[Connection, str], str | None]
    save_setting: Callable[[Connection, str, str], None]

    def ledger(self, db: Connection) -> dict[str, str]:
        """Return what the store's ledger adds up to, in dollars."""
        return {name: f"{Decimal(cents) / 100:.2f}" for name, cents in self.ledger_sums(db).items()}


def need_one(action: str, study: object, store: str | None) -> None:
    """Refuse to guess which store is meant."""
    if (study is None) == (store is None):
        raise InputError(
            f"store {action} takes either a study or the URL of a store",
            f"Run, for instance: prefjudge store {action} STUDY, or: prefjudge store {action} --store "
            "sqlite:///marketplace.db",
        )


def open_own(study: Study) -> Store:
    """Return a study's store as it is, which no open study has brought up to date."""
    database = Database(study.store_url)
    refuse_lost(study.folder, database)
    folder = quoted(study.folder)
    if not database.version() and (study.folder / MARKETPLACE_FILE).is_file():
        raise StudyError(
            f"{study.folder} has a marketplace and no store: its store is lost",
            f"Restore a backup of the store (docs/backup.md), or run: prefjudge store recover {folder}",
        )
    if not database.version():
        raise StudyError(
            f"{study.folder} has no store yet, and no sign that it was ever used",
            f"Run: prefjudge pool {folder} --runs …",
        )
    found = open_store(study.store_url)
    if found.kind != "study":
        raise StudyError(
            f"{redacted(study.store_url)} is the store of a {found.kind}, and not of the study",
            "Restore the study's own store (docs/backup.md).",
        )
    with found.database.transaction(write=False) as db:
        study.refuse_other(found.load_setting(db, "study"))
    return found


def open_store(url: str) -> Store:
    """Return the store at a URL."""
    database = Database(url)
    if not database.version():
        raise StudyError(f"there is no store at {redacted(url)}", "Check the path or URL.")
    with database.transaction(write=False) as db:
        tables = set(db.tables())
    if "transfers" in tables:
        return Store(
            kind="marketplace",
            database=database,
            schema=market.SCHEMA,
            find_impossible=market.find_impossible,
            ledger_sums=market.ledger_sums,
            newest_time=market.newest_time,
            load_setting=market.load_setting,
            save_setting=market.save_setting,
        )
    if "intents" in tables:
        return Store(
            kind="study",
            database=database,
            schema=len(STEPS),
            find_impossible=progress.find_impossible,
            ledger_sums=progress.ledger_sums,
            newest_time=progress.newest_time,
            load_setting=settings.load_setting,
            save_setting=settings.save_setting,
        )
    raise StudyError(
        f"{redacted(url)} is neither a study's store nor a marketplace's", "Check the path or URL."
    )


_LEAST_ROOM = 100_000_000
"""Free bytes that leave room for a day's work and a backup."""
_CLOCK = 120.0
"""How many seconds two clocks may differ, or a time may be in the future."""
_SET_CLOCK = "Set this machine's clock. If it is right, and was ahead then, nothing need be done."


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


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class StoreCheckResult(Shown):
    """What was examined, and whether all of it is ``well``; ``checks`` says what was found, one by one."""

    examined: str
    well: bool
    checks: tuple[Check, ...]


def examine(study: str | Path | Study | None = None, *, store: str | None = None) -> StoreCheckResult:
    """Examine a study with its marketplaces, or the store at a URL; nothing in them is changed."""
    need_one("check", study, store)
    opened = open_study(study)
    if opened is None:
        found = open_store(str(store))
        checks = [*check_store(found, ""), check_versions()]
        return _result(redacted(found.database.url), checks)
    checks = [_check_config(opened)]
    try:
        own = open_own(opened)
    except PrefjudgeError as error:
        checks += [failed("store", error), *_room_beside(opened.store_url, ""), check_versions()]
        return _result(str(opened.folder), checks, opened)
    checks += check_store(own, "")
    embedded = opened.folder / MARKETPLACE_FILE
    if embedded.is_file():
        checks += _check_embedded(embedded)
    sound = all(check.state != State.WRONG for check in checks if check.name in ("config", "store"))
    checks += _check_targets(opened, own) if sound else []
    return _result(str(opened.folder), [*checks, check_versions()], opened)


def _result(examined: str, checks: list[Check], study: Study | None = None) -> StoreCheckResult:
    if study is not None:  # a store knows no folder
        own = f"store recover {quoted(study.folder)}"
        checks = [replace(one, hint=one.hint.replace("store recover STUDY", own)) for one in checks]
    well = all(check.state != State.WRONG for check in checks)
    return StoreCheckResult(examined=examined, well=well, checks=tuple(checks))


def _check_config(study: Study) -> Check:
    try:
        study.config  # noqa: B018 - read once, and checked
    except PrefjudgeError as error:
        return failed("config", error)
    return Check(name="config", state=State.WELL, found="every key is known and in its bounds")


def _check_embedded(path: Path) -> list[Check]:
    try:
        return check_store(open_store(f"sqlite:///{path}"), "marketplace ")
    except PrefjudgeError as error:
        return [failed("marketplace store", error)]


def _check_targets(study: Study, own: Store) -> list[Check]:
    """Compare the study with each marketplace that it published to."""
    with own.database.transaction(write=False) as db:
        published = load_published_targets(db)
    checks = []
    for target in (SANDBOX, LIVE):
        configured = study.config.target(target)
        elsewhere = configured is not None and bool(configured.url)
        if (
            target in published
            or elsewhere
            or (target == SANDBOX and (study.folder / MARKETPLACE_FILE).is_file())
        ):
            checks.append(compare_hits(study, target))
    return checks


def failed(name: str, error: PrefjudgeError) -> Check:
    """Return a check that ended with an error."""
    return Check(name=name, state=State.WRONG, found=error.message, hint=error.hint)


def check_store(store: Store, whose: str) -> list[Check]:
    """Examine one store; ``whose`` begins the names of its checks."""
    try:
        damage = store.database.damage()
    except PrefjudgeError as error:
        return [failed(f"{whose}store", error), *_room_beside(store.database.url, whose)]
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
        return Check(name=name, state=State.WRONG, found=newer, hint=NEWER)
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
        found = f"the store {why}: what happened since is not in it until `store recover` has run"
        return Check(name=name, state=State.WRONG, found=found, hint="Run: prefjudge store recover STUDY")
    if taken is None:
        return Check(name=name, state=State.WELL, found="the store is not a copy that `store backup` made")
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
    return _judged(f"{whose}clock", wrong, "no row is dated in the future", _SET_CLOCK)


def _check_files(store: Store, whose: str) -> list[Check]:
    path = file_of(store.database.url)
    if path is None:
        return []
    names = [path, *(Path(f"{path}{end}") for end in ("-wal", "-shm", ".lock", ".admin-token"))]
    if store.database.read_only:
        sealed = Check(name=f"{whose}room", state=State.SKIPPED, found=f"{path} may only be read")
    return [_check_modes(names, whose), sealed if store.database.read_only else _check_room(path, whose)]


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


def _room_beside(url: str, whose: str) -> list[Check]:
    """Say whether there is room for a store that cannot be used: perhaps that is why."""
    path = file_of(url)
    return [_check_room(path, whose)] if path is not None and path.is_file() else []


def _check_room(path: Path, whose: str) -> Check:
    free, least = shutil.disk_usage(path.parent).free, max(_LEAST_ROOM, 2 * path.stat().st_size)
    wrong = [f"{free / 1e6:,.0f} MB are free on the disk"] if free < least else []
    hint = f"Free disk space: {least / 1e6:,.0f} MB are needed for work and a backup."
    return _judged(f"{whose}room", wrong, f"{free / 1e9:,.1f} GB are free", hint)


def compare_hits(study: Study, target: str) -> Check:
    """Return which HITs and assignments only one side knows, and which were paid twice."""
    name, market = f"study against {target}", study.folder / MARKETPLACE_FILE
    try:
        own = market.is_file() and reach_crowd(study, target) is None
        if own and open_store(f"sqlite:///{market}").database.read_only:
            sealed = f"{market} may only be read, and a marketplace that runs writes: compare in a copy"
            return Check(name=name, state=State.SKIPPED, found=sealed)
        with open_crowd(study, target) as crowd:
            wrong, hits, assignments = _compare(study, target, crowd)
    except PrefjudgeError as error:
        return failed(name, error)
    if wrong:
        hint = f"Run: {command('store recover', study.folder, target)}; it adds what the store lacks. "
        hint += "What a marketplace lacks after a restore stays lost."
        return Check(name=name, state=State.WRONG, found="; ".join(wrong), hint=hint)
    agreed = f"{many(hits, 'HIT')} and {many(assignments, 'assignment')} are the same in both"
    return Check(name=name, state=State.WELL, found=agreed)


def _compare(study: Study, target: str, crowd: Crowd) -> tuple[list[str], int, int]:
    """Return what is wrong, and how many HITs and assignments were compared."""
    with study.transaction(write=False) as db:
        known = {hit.hit_key: hit for hit in load_hits(db, target) if hit.hit_id}
        collected = load_collected(db, target)
    listed = Counter(task.key for task in crowd.tasks() if _is_own(study, task.key))
    unseen, lost, twice, missed = [], 0, 0, 0
    for key, hit in known.items():
        try:
            there, double = _look(crowd, hit)
        except RefusedError:
            unseen.append(hit.hit_id or "")
            continue
        lost += len(collected.get(key, set()) - there)
        if hit.status is HitStatus.CLOSED:  # `collect` has yet to fetch what came to an open one
            missed += len(there - collected.get(key, set()))
        twice += double
    orphans = sorted(set(listed) - set(known))
    again = sum(count > 1 for count in listed.values())
    findings: tuple[tuple[int, str, str, list[str]], ...] = (
        (len(orphans), "HIT", "there that the study does not know", orphans),
        (len(unseen), "HIT", "that the marketplace does not know", unseen),
        (again, "HIT", "published twice", []),
        (lost, "assignment", "that the marketplace does not know", []),
        (missed, "assignment", "that the study does not know", []),
        (twice, "assignment", "paid twice", []),
    )
    wrong = [
        " ".join([many(count, noun), what, *(f"({name})" for name in names[:1])])
        for count, noun, what, names in findings
        if count
    ]
    return wrong, len(known), sum(map(len, collected.values()))


def _is_own(study: Study, text: str) -> bool:
    key = read_hit_key(text)
    return key is not None and key.mark == study.mark


def _look(crowd: Crowd, hit: StudyHit) -> tuple[set[str], int]:
    """Return the assignments that came to a HIT, and how many were paid more than once."""
    fetched = crowd.fetch(hit.hit_id or "")
    bonuses = Counter(
        paid.submission_id
        for paid in crowd.bonuses(hit.hit_id or "")
        if paid.reason.startswith(STOPPED_EARLY)
    )
    approved = {
        found.submission_id for found in fetched.submissions if found.state is SubmissionState.APPROVED
    }
    double = sum(count > 1 or name in approved for name, count in bonuses.items())
    return {found.submission_id for found in fetched.submissions}, double
