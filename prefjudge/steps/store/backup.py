"""Copies a store while servers and verbs use it, and reads the copy back."""

import os
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from itertools import groupby
from pathlib import Path

from prefjudge.core.planning.rounds import Duel
from prefjudge.crowd.protocol import Crowd, RefusedError
from prefjudge.crowd.tasks import ListedTask
from prefjudge.database import COPIED, Connection, Database, dialect_of, redacted
from prefjudge.errors import InputError, StudyError, quoted
from prefjudge.field.crowd import is_lost, open_crowd
from prefjudge.field.pay import lock_spending
from prefjudge.field.rounds import find_drive, read_strategy
from prefjudge.reading.files import sync_folder
from prefjudge.reading.labels import read_qrels
from prefjudge.show.results import Shown
from prefjudge.steps.store.check import Store, need_one, open_own, open_store
from prefjudge.steps.store.hits import HitRecovery, Learnt
from prefjudge.study.answers import last_version, load_open_challenge, save_answers, save_conclusion
from prefjudge.study.assignments import close_undecided, load_judgments
from prefjudge.study.hits import close_lost, read_hit_key
from prefjudge.study.pools import (
    clear_votes_wanted,
    is_published,
    load_gold,
    load_inputs,
    load_passages,
    load_queries,
)
from prefjudge.study.progress import count_rows, waiting_pairs
from prefjudge.study.store import (
    BEING_REBUILT,
    BEING_UPDATED,
    LIVE,
    MARKETPLACE_FILE,
    RECOVERING,
    SANDBOX,
    STORE_FILE,
    Study,
    advised,
    command,
    drop_setting,
    drop_settings,
    find_target,
    keep_setting,
    load_deleted,
    load_setting,
    open_study,
    refuse_lost,
)
from prefjudge.words import many


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
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
    _refuse_existing(target)
    part = _new_file(target)
    try:
        result = _copy(found, part, target)
        _name(part, target)
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


def _refuse_existing(target: Path) -> None:
    if target.exists():
        hint = "Name a file in it." if target.is_dir() else "Give another file, or delete this one first."
        raise InputError(f"{target} is there already", hint)


def _new_file(target: Path) -> Path:
    """Make a file beside the target that only its owner may read, from its first byte on."""
    part = target.with_name(f".{target.name}.{os.urandom(6).hex()}.part")
    try:
        os.close(os.open(part, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
    except OSError as error:
        raise InputError(f"{target} cannot be written: {error.strerror}", "Choose another folder.") from error
    return part


def _name(part: Path, target: Path) -> None:
    """Give the finished file its name; it never replaces a file, not even a later one."""
    try:
        os.link(part, target)
    except FileExistsError:
        _refuse_existing(target)
    except OSError:  # a file system without links
        _refuse_existing(target)
        part.replace(target)
    sync_folder(target.parent)


# Rebuilds a study's store from its marketplace: HITs, assignments, decisions and payments.

Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class RecoverResult(Shown):
    """What was recovered from a marketplace, and what remains to be done.

    Of the study's ``hits``, ``rebuilt`` were new to its store, ``given_up`` were recorded now without what
    they ask, and ``unmatched`` show texts that the study does not have. ``assignments``, ``decisions`` and
    ``bonuses`` count what the store learnt now. ``others`` counts HITs at the marketplace that are not the
    study's. Once ``remains`` is empty, the study publishes and pays again.
    """

    study: str
    target: str
    endpoint: str = ""
    hits: int = 0
    rebuilt: int = 0
    given_up: int = 0
    unmatched: int = 0
    assignments: int = 0
    decisions: int = 0
    bonuses: int = 0
    others: int = 0
    remains: tuple[str, ...] = ()
    notices: tuple[str, ...] = ()


def recover(
    study: str | Path | Study,
    *,
    live: bool = False,
    strategy: str | None = None,
    give_up: bool = False,
    progress: Progress | None = None,
) -> RecoverResult:
    """Rebuild a lost, empty or outdated store from the marketplace; nothing is spent."""
    read_strategy(strategy)
    opened = Study(study.folder if isinstance(study, Study) else study, recovering=True)
    target = LIVE if live else SANDBOX
    _refuse_unused(opened, target)
    if give_up and is_lost(opened, target):
        with lock_spending(opened):
            given_up, notices = give_up_marketplace(opened, target)
        return RecoverResult(study=str(opened.folder), target=target, given_up=given_up, notices=notices)
    if give_up and (lacking := _lacking(opened)):
        raise StudyError(
            "nothing was given up: without the pool and the gold pairs, all HITs of the study would be",
            f"{lacking[0][0].upper()}{lacking[0][1:]}. Then run: "
            f"{command('store recover', opened.folder, target)}; it says whether any HIT is left to give up.",
        )
    with lock_spending(opened), open_crowd(opened, target) as crowd:
        with opened.transaction() as db:  # after a kill from here on, the study asks for this verb again
            keep_setting(db, RECOVERING, BEING_UPDATED)
        own, others = _own_hits(opened, crowd)
        learnt, unmatched = _rebuild(HitRecovery(opened, crowd, target, give_up=give_up), own, progress)
        remains = _remains(opened, unmatched, target) if own else _none_found(opened, target, crowd.endpoint)
        remains = remains or _left_live(opened, target)
        _settle(opened, target, strategy, whole=not remains)
        return RecoverResult(
            study=str(opened.folder),
            target=target,
            endpoint=crowd.endpoint,
            hits=len(own),
            rebuilt=sum(one.new and not one.given_up for one in learnt),
            given_up=sum(one.given_up for one in learnt),
            unmatched=len(unmatched),
            assignments=sum(one.assignments for one in learnt),
            decisions=sum(one.decisions for one in learnt),
            bonuses=sum(one.bonuses for one in learnt),
            others=others,
            remains=remains,
            notices=(
                *_repeated(sum(one.repeated for one in learnt)),
                *_approved(sum(one.approved for one in learnt)),
                *(() if remains else _notices(opened, target, own, strategy)),
            ),
        )


def _refuse_unused(study: Study, target: str) -> None:
    """Refuse where neither the store nor the study's own marketplace knows of any work."""
    configured, marketplace = study.config.target(target), study.folder / MARKETPLACE_FILE
    served_elsewhere = configured is not None and not configured.is_own_marketplace
    if served_elsewhere or (marketplace.is_file() and marketplace.stat().st_size):
        return
    with closing(Database(study.store_url)) as database:
        if database.version():
            with study.transaction(write=False) as db:
                if is_published(db) or load_inputs(db) or load_setting(db, RECOVERING):
                    return
        else:
            try:
                refuse_lost(study.folder, database)
            except StudyError:
                raise StudyError(
                    f"the study's store and its marketplace are both lost: {marketplace} is missing or empty",
                    "Restore a backup of either (docs/backup.md), or begin a new study with the same files.",
                ) from None
    raise InputError(
        f"{study.folder} has no work in its store and no marketplace: it was never used, or both are lost",
        f"If it was never used, begin: prefjudge pool {quoted(study.folder)} --runs … Else restore a "
        "backup (docs/backup.md).",
    )


def _own_hits(study: Study, crowd: Crowd) -> tuple[list[ListedTask], int]:
    """Return the study's HITs in the order of publication, deleted ones too; and how many are others'."""
    listed = {task.task_id: task for task in crowd.tasks()}
    for hit_id in load_deleted(study.folder):
        if hit_id not in listed:
            try:
                listed[hit_id] = crowd.look(hit_id)
            except RefusedError:  # a line that was cut off, or a HIT of another target
                continue
    keys = {task.task_id: read_hit_key(task.key) for task in listed.values()}
    own = [
        (key.batch, key.number, listed[hit_id])
        for hit_id, key in keys.items()
        if key is not None and key.mark == study.mark
    ]
    return [hit for *_, hit in sorted(own, key=lambda one: one[:2])], len(listed) - len(own)


def _rebuild(
    recovery: HitRecovery, own: list[ListedTask], progress: Progress | None
) -> tuple[list[Learnt], list[str]]:
    """Record each HIT in a transaction of its own; return what was learnt, and the HITs without a match.

    After a batch with HITs that match nothing, others wait: it is of a challenge that has not begun anew,
    and what that one was made against rests on no later votes.
    """
    learnt: list[Learnt] = []
    unmatched: list[str] = []
    done = 0
    for _, batch in groupby(own, key=_batch):
        found = [(listed, recovery.find(listed)) for listed in batch]
        unmatched += [listed.task_id for listed, hit in found if hit is None]
        if not unmatched:
            recovery.recall_doubt([hit for _, hit in found if hit])
        for listed, hit in found:
            if hit is not None and not (unmatched and hit.hit_key not in recovery.known):
                learnt.append(recovery.take_in(listed, hit))
            done += 1
            if progress:
                progress(done, len(own))
    recovery.recall_doubt([])
    return learnt, unmatched


def _batch(listed: ListedTask) -> int:
    key = read_hit_key(listed.key)
    return key.batch if key else 0


def _none_found(study: Study, target: str, endpoint: str) -> tuple[str, ...]:
    """Return what to do where a study's store is new, and the marketplace has no HIT of the study."""
    if study.setting(RECOVERING) != BEING_REBUILT:
        return ()
    elsewhere = target == SANDBOX and "live" in study.config.targets
    ask = (
        f"run `prefjudge store recover {quoted(study.folder)} --live`" if elsewhere else "restore its backup"
    )
    return (
        f"{target} ({endpoint}) has no HITs of this study, by its id in study.toml. If it was published, "
        f"{ask}; until then nothing is published or paid",
        f"if it was never published, start over: delete {STORE_FILE} and {STORE_FILE}.lock in "
        f"{quoted(study.folder)}",
    )


def _left_live(study: Study, target: str) -> tuple[str, ...]:
    """Return what to do where a study is live, and only its sandbox has been asked."""
    if target == LIVE or find_target(study) != LIVE:
        return ()
    return (
        f"the study is live: run `{advised(study, 'store recover')}`; until then nothing is published or "
        "paid",
    )


def _remains(study: Study, unmatched: list[str], target: str) -> tuple[str, ...]:
    """Return what to do before all HITs can be rebuilt."""
    if not unmatched:
        return ()
    again = command("store recover", study.folder, target)
    if lacking := _lacking(study):
        return (*lacking, f"then run `{again}` again; until then nothing is published or paid")
    shown = many(len(unmatched), "HIT shows", "HITs show")
    return (
        f"{shown} texts that the study does not have, such as {unmatched[0]}",
        "pool the same files with the same options, and accept all gold pairs that were ever hidden",
        f"if new runs came in, repeat each `pool --challenge` in its turn; before each, run `{again} "
        "--strategy NAME` with the strategy by which `run` drove the study",
        f"then run `{again}` again; until then nothing is published or paid",
        f"if those texts are lost for good, `{again} --give-up` closes these HITs: their work is paid, "
        "its judgments are lost, and their pairs are asked for again",
    )


def _lacking(study: Study) -> tuple[str, ...]:
    """Return how to bring back what the marketplace does not know: the pool, and the gold pairs."""
    folder = quoted(study.folder)
    with study.transaction(write=False) as db:
        pooled = count_rows(db, "pairs") and load_queries(db) and load_passages(db)
        gold = load_gold(db) or not study.config.design.gold_per_hit
    lacking = []
    if not pooled:
        lacking.append(
            f"the pool is not at the marketplace: run `prefjudge pool {folder} --runs … --qrels … "
            "--queries … --collection …` with the files and options that the study was made from"
        )
    if not gold:
        lacking.append(
            f"the gold pairs are not at the marketplace: run `prefjudge gold {folder} --accept`, "
            "with the gold.tsv that was accepted"
        )
    return tuple(lacking)


def _settle(study: Study, target: str, strategy: str | None, *, whole: bool) -> None:
    """Record the strategy and the answers so far, and release the study once it is whole.

    The strategy is recorded as soon as there is a pool, even while something remains: the answers that a
    challenge was made against depend on it.
    """
    with study.transaction() as db:
        if strategy is not None and load_setting(db, "strategy") is None and count_rows(db, "pairs"):
            keep_setting(db, "strategy", strategy)
            clear_votes_wanted(db)  # from now on `run` decides what is asked for
        rebuilt = load_setting(db, RECOVERING) == BEING_REBUILT
    if rebuilt:
        keep_answers_so_far(study, target)
    if whole:
        with study.transaction() as db:
            drop_setting(db, RECOVERING)


def _notices(study: Study, target: str, own: list[ListedTask], strategy: str | None) -> tuple[str, ...]:
    if not own:
        found = f"{target} has no HITs of this study"
        elsewhere = target == SANDBOX and "live" in study.config.targets
        return (f"{found}; --live asks the live target" if elsewhere else found,)
    with study.transaction(write=False) as db:
        settled = load_setting(db, "strategy")
        waiting = len(waiting_pairs(db, target))
    if settled or strategy or not waiting:
        return ()
    return (
        f"{many(waiting, 'pair has', 'pairs have')} no HIT, and `publish` will ask for them. If `run` drove "
        f"the study, name its strategy first: {command('store recover', study.folder, target)} --strategy "
        "NAME",
    )


def _repeated(count: int) -> tuple[str, ...]:
    said = f"{many(count, 'decision')} of the study {'was' if count == 1 else 'were'} made again at the"
    return (f"{said} marketplace, which had forgotten {'it' if count == 1 else 'them'}",) * bool(count)


def _approved(count: int) -> tuple[str, ...]:
    said = (
        f"the marketplace has approved {many(count, 'assignment')} in full that the study rejected or paid in"
    )
    return (f"{said} part: what that adds is paid, too",) * bool(count)


FIRST_VERSION = "preference-v1.qrels"


def keep_answers_so_far(study: Study, target: str) -> None:
    """Record the next version of the answers, where the recovered judgments decide it.

    The answers come from the judgments, because `preference.qrels` may hold a later version: a challenge
    repeated against that one finds neither the newcomers that became answers, nor the pairs published for
    them. No file is written: the store may not know yet what the files hold.
    """
    with study.transaction(write=False) as db:
        version, log = last_version(db), load_judgments(db, target=target)
        challenge, driven = load_open_challenge(db), load_setting(db, "strategy")
    first, duels = study.folder / FIRST_VERSION, tuple[Duel, ...]()
    if challenge is None and (version or not len(log)):
        return
    if challenge is None and first.is_file():
        answers = read_qrels(first, name="preference")
    elif challenge is None and driven is None:
        return
    else:
        drive = find_drive(study, None, None, asks=False)
        if challenge is not None and drive.next(log).open.any():
            return
        answers, duels = drive.conclude(log)
    with study.transaction() as db:
        save_answers(db, version + 1, answers)
        if challenge is not None:
            save_conclusion(db, challenge.number, duels, time.time())


def give_up_marketplace(study: Study, target: str) -> tuple[int, tuple[str, ...]]:
    """Close all HITs of a lost marketplace, so that a new one may begin.

    What was collected stays. What the HITs committed still counts against the budget, because nobody can
    tell how much of it was earned. Returns how many HITs were open, and notices.
    """
    restored = study.setting(RECOVERING)
    if restored == BEING_REBUILT:
        raise StudyError(
            "the study's store and its marketplace are both lost: there is nothing to continue from",
            "Restore a backup of either (docs/backup.md), or begin a new study with the same files.",
        )
    with study.transaction() as db:
        still_open = close_lost(db, target)
        unpaid, cents = close_undecided(db, target)
        for key in (f"marketplace:{target}", RECOVERING):
            drop_setting(db, key)
        Path(f"{study.folder / MARKETPLACE_FILE}.admin-token").unlink(missing_ok=True)
        for prefix in ("worker:", "visits:"):  # the accounts of simulated workers there
            drop_settings(db, prefix)
    notices = ["the next verb that needs a marketplace begins a new one: invite your workers again"]
    if unpaid:
        owed = f"{many(unpaid, 'assignment was', 'assignments were')} not decided on, worth at most"
        notices.append(f"{owed} ${Decimal(cents) / 100:.2f}: pay their workers yourself")
    if restored:
        notices.append("what was published and paid after the backup was made does not count in the budget")
    return still_open, tuple(notices)
