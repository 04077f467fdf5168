"""Lets a study continue after its own marketplace was lost without a backup."""

from decimal import Decimal

from prefjudge.counts import many
from prefjudge.errors import StudyError
from prefjudge.study.assignments import close_undecided
from prefjudge.study.hits import close_lost
from prefjudge.study.settings import BEING_REBUILT, RECOVERING, drop_setting, drop_settings
from prefjudge.study.study import Study


def give_up_marketplace(study: Study, target: str) -> tuple[int, tuple[str, ...]]:
    """Close all HITs of a lost marketplace, so that a new one may begin.

    What was collected stays. What the HITs committed still counts against the budget, because nobody can
    tell how much of it was earned. Returns how many HITs were open, and notices.

    Raises
    ------
    StudyError
        The study's store is lost as well.
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
        for prefix in ("worker:", "visits:"):  # the accounts of simulated workers there
            drop_settings(db, prefix)
    notices = ["the next verb that needs a marketplace begins a new one: invite your workers again"]
    if unpaid:
        owed = f"{many(unpaid, 'assignment was', 'assignments were')} not decided on, worth at most"
        notices.append(f"{owed} ${Decimal(cents) / 100:.2f}: pay their workers yourself")
    if restored:
        notices.append("what was published and paid after the backup was made does not count in the budget")
    return still_open, tuple(notices)
