"""Opens a study's or a marketplace's store alike, for the verbs that check and copy stores."""

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal

from prefjudge.database import Connection, Database, redacted
from prefjudge.errors import InputError, StudyError, quoted
from prefjudge.marketplace import operator as market
from prefjudge.study import progress
from prefjudge.study import store as settings
from prefjudge.study.store import MARKETPLACE_FILE, STEPS, Study, refuse_lost


@dataclass(frozen=True, slots=True, kw_only=True)
class Store:
    """An existing store.

    Attributes
    ----------
    kind : str
        ``study`` or ``marketplace``.
    schema : int
        The newest schema that this prefjudge knows.
    find_impossible, ledger_sums, newest_time : callable
        What the store says of itself, in a transaction.
    load_setting, save_setting : callable
        One of its settings, by name.
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
