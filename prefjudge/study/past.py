"""Tells a lost store from a new study, by the files in the study's folder."""

import os
from pathlib import Path

from prefjudge.database import Database, file_of, redacted
from prefjudge.errors import StudyError, quoted

DELETED_FILE = "deleted-hits.txt"
"""The ids of HITs that were deleted after their judgment: a marketplace no longer lists them."""
_PAST = (
    DELETED_FILE,
    "pages",
    "preference.qrels",
    "leaderboard.csv",
    "winratio.csv",
    "report.html",
    "release",
)


def refuse_lost(folder: Path, database: Database) -> None:
    """Refuse to start over where a study was published: everything would be published and paid again.

    Before anything is published there is nothing to lose: a missing store is made.

    Raises
    ------
    StudyError
        The store is missing or empty, and the study was published.
    """
    if database.version():
        return
    file = file_of(database.url)
    lock = [] if file is None else [Path(f"{file}.lock")]  # made by every verb that spends
    signs = [path.name for path in (*lock, *(folder / name for name in _PAST)) if path.exists()]
    if signs:
        raise StudyError(
            f"the study's store {redacted(database.url)} is missing or empty, but the study was published: "
            f"its folder holds {', '.join(signs)}",
            "Restore a backup of the store (docs/backup.md), or run: "
            f"prefjudge store recover {quoted(folder)}; it asks the marketplace.",
        )


def note_deleted(folder: Path, hit_id: str) -> None:
    """Note the id of a HIT that is about to be deleted, once."""
    path = folder / DELETED_FILE
    if hit_id in load_deleted(folder):
        return
    with path.open("a", encoding="ascii") as file:
        file.write(f"\n{hit_id}\n")  # an earlier line may have been cut off
        file.flush()
        os.fsync(file.fileno())


def load_deleted(folder: Path) -> tuple[str, ...]:
    """Return the ids of the HITs that were, or were about to be, deleted."""
    path = folder / DELETED_FILE
    return tuple(path.read_text(encoding="ascii", errors="replace").split()) if path.exists() else ()
