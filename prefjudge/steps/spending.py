"""The calls that spend: one verb at a time makes them, each after an intent and with its outcome recorded."""

from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal
from typing import TYPE_CHECKING

from prefjudge.errors import StudyError
from prefjudge.study.ledger import Intent, intend, void
from prefjudge.study.study import Study

if TYPE_CHECKING:
    from prefjudge.crowd.protocol import Crowd

PATIENCE = 60.0
"""How many seconds a verb waits for another one to end."""


@contextmanager
def take_turn(study: Study, target: str) -> Iterator["Crowd"]:
    """Give the crowd to one verb of the study at a time, in whichever process.

    Raises
    ------
    StudyError
        Another verb does not end.
    """
    from prefjudge.steps.serve import open_crowd

    with wait_turn(study), open_crowd(study, target) as crowd:
        yield crowd


@contextmanager
def wait_turn(study: Study) -> Iterator[None]:
    """Wait until no other verb of the study spends, and keep others waiting.

    Raises
    ------
    StudyError
        Another verb does not end.
    """
    with study.database.alone(PATIENCE) as alone:
        if not alone:
            raise StudyError(
                "another verb is publishing, collecting or paying in this study",
                "Repeat the verb when that one has ended.",
            )
        yield


@contextmanager
def intended(study: Study, intent: Intent, *, budget: Decimal | None) -> Iterator[Intent]:
    """Record an intent for the call in the block, or find it where an earlier call was interrupted.

    What the marketplace refused did nothing, so its intent is taken back.
    """
    from prefjudge.crowd.protocol import RefusedError

    with study.transaction() as db:
        known = intend(db, intent, budget=budget)
    try:
        yield known
    except RefusedError:
        with study.transaction() as db:
            void(db, intent.token)
        raise
