"""The calls that spend money: one verb at a time makes them, and each is recorded before and after."""

from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal

from prefjudge.crowd.protocol import Crowd, RefusedError
from prefjudge.errors import StudyError
from prefjudge.fieldwork.crowds import open_crowd
from prefjudge.study.hits import has_hit, read_hit_key
from prefjudge.study.ledger import Intent, intend, void
from prefjudge.study.settings import RECOVERING
from prefjudge.study.study import Study
from prefjudge.study.targets import advised, command

LOCK_TIMEOUT = 60.0
"""How many seconds a verb waits for another one to end."""


@contextmanager
def lock_crowd(study: Study, target: str) -> Iterator[Crowd]:
    """Yield the crowd to one verb of the study at a time, across all processes.

    Raises
    ------
    StudyError
        Another verb does not end, or the study's store is not whole.
    """
    # The lock comes first: what another verb has just published must be in the store that is compared.
    with lock_spending(study), open_crowd(study, target) as crowd:
        refuse_unknown_hits(study, crowd, target)
        yield crowd


@contextmanager
def lock_spending(study: Study) -> Iterator[None]:
    """Wait until no other verb of the study spends, and keep others waiting.

    Raises
    ------
    StudyError
        Another verb does not end.
    """
    with study.database.exclusive(LOCK_TIMEOUT) as alone:
        if not alone:
            raise StudyError(
                "another verb is publishing, collecting or paying in this study",
                "Wait until it has ended, then repeat the verb.",
            )
        yield


def refuse_unknown_hits(study: Study, crowd: Crowd, target: str) -> None:
    """Refuse to spend with a store that is older than the study's work at the marketplace.

    Looking at the study's newest HIT is enough: each HIT is recorded before it is published, so a store that
    knows the newest one knows all earlier ones.

    Raises
    ------
    StudyError
        The marketplace has HITs of the study that the store does not know.
    """
    refuse_unwhole(study)
    for listed in crowd.tasks():
        key = read_hit_key(listed.key)
        if key is None or key.mark != study.mark:
            continue
        with study.transaction(write=False) as db:
            known = has_hit(db, listed.key)
        if not known:
            raise StudyError(
                "the marketplace has HITs of this study that its store does not know, such as "
                f"{listed.task_id}",
                f"Run: {command('store recover', study.folder, target)}; it asks the marketplace.",
            )
        return


def refuse_unwhole(study: Study) -> None:
    """Refuse to continue with a store that is being rebuilt, or was restored from a backup.

    Raises
    ------
    StudyError
        It may not know all that happened at the marketplace.
    """
    if why := study.setting(RECOVERING):
        raise StudyError(
            f"the study's store {why}, and may lack what happened since",
            f"Run: {advised(study, 'store recover')}; it asks the marketplace.",
        )


@contextmanager
def intended(study: Study, intent: Intent, *, budget: Decimal | None) -> Iterator[Intent]:
    """Record an intent for the call in the block, or find it where an earlier call was interrupted.

    What the marketplace refused did nothing, so its intent is taken back.
    """
    # Committed before the call: a process that is killed during it leaves a record that money may be spent.
    with study.transaction() as db:
        known = intend(db, intent, budget=budget)
    try:
        yield known
    except RefusedError:  # any other error leaves the outcome unknown, and the intent counts as spent
        with study.transaction() as db:
            void(db, intent.token)
        raise
