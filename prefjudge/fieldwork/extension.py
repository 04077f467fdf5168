"""Extensions: a HIT is asked of one more worker for each assignment that was dropped whole."""

import time
from collections.abc import Sequence
from dataclasses import dataclass

from prefjudge.crowd.protocol import Crowd, RefusedError
from prefjudge.errors import BudgetError, CrowdError
from prefjudge.fieldwork import intents
from prefjudge.study.hits import StudyHit, save_extension
from prefjudge.study.ledger import Intent, intend_all, settle, void
from prefjudge.study.study import Study


@dataclass(frozen=True, slots=True, kw_only=True)
class Extension:
    """The ``number``-th additional assignment of a HIT; without a ``call`` the crowd has it already."""

    hit: StudyHit
    number: int
    call: bool


def extend_hits(
    study: Study, crowd: Crowd, wanted: Sequence[Extension]
) -> tuple[Sequence[Extension], BudgetError | None]:
    """Extend HITs as far as the budget allows; return what was extended, and why not all of it.

    All are recorded together before their calls, and again after them: a commit waits for the disk. What a
    killed process leaves has its intent, and the crowd tells how many assignments a HIT has.

    Raises
    ------
    CrowdError
        The crowd refused one, failed or cannot be reached; what came of those before is recorded.
    """
    if not wanted:
        return (), None
    wanted = sorted(wanted, key=lambda one: one.call)  # what the crowd has is recorded, whatever the budget
    asked = [intents.extension(study, crowd.prices, one.hit, one.number) for one in wanted]
    with study.transaction() as db:
        known, refused = intend_all(db, asked, budget=study.config.budget)
    new = {found.token for intent, found in zip(asked, known, strict=False) if found is intent}
    made = 0
    try:
        for one, intent in zip(wanted, known, strict=False):
            if one.call:
                crowd.extend(one.hit.hit_id or "", 1, token=intent.token)
            made += 1
    except CrowdError as error:
        # What was refused, or not reached, is not to be. What came of a call that failed nobody knows.
        unmade = [one for one in known[made + 1 :] if one.token in new]
        if isinstance(error, RefusedError):
            unmade.append(known[made])
        _record(study, wanted[:made], known, unmade)
        raise
    _record(study, wanted[:made], known, ())
    return wanted[:made], refused


def _record(
    study: Study, made: Sequence[Extension], known: Sequence[Intent], unmade: Sequence[Intent]
) -> None:
    now = time.time()
    with study.transaction() as db:
        for one, intent in zip(made, known, strict=False):
            settle(db, intent.token, "extended", now)
            save_extension(db, one.hit.hit_key)
        for intent in unmade:
            void(db, intent.token)
