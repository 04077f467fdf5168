"""The calls that spend or give back, as intents: the same call always has the same token."""

import time
from decimal import Decimal

from prefjudge.core.asking.costs import CENT
from prefjudge.crowd.protocol import Prices
from prefjudge.study.hits import StudyHit
from prefjudge.study.ledger import Intent
from prefjudge.study.study import Study

EXTEND = "CreateAdditionalAssignmentsForHIT"
"""The ledger names calls as Mechanical Turk does, whatever the crowd."""


def creation(study: Study, prices: Prices, hit: StudyHit) -> Intent:
    """Return the intent to publish a HIT."""
    cents = hit.assignments * _cents(prices.submission(hit.reward_cents * CENT, hit.assignments))
    return _intent(study, "create", "CreateHIT", hit.target, hit.hit_key, cents)


def extension(study: Study, prices: Prices, hit: StudyHit, number: int) -> Intent:
    """Return the intent to ask for one more assignment of a HIT, the ``number``-th."""
    cents = _cents(prices.submission(hit.reward_cents * CENT, hit.assignments))
    return _intent(study, "extend", EXTEND, hit.target, hit.hit_key, cents, number)


def bonus(study: Study, prices: Prices, target: str, assignment_id: str, amount: Decimal) -> Intent:
    """Return the intent to pay a bonus in place of an assignment's reward."""
    return _intent(study, "bonus", "SendBonus", target, assignment_id, _cents(prices.bonus(amount)))


def release(
    study: Study, prices: Prices, target: str, assignment_id: str, reward: Decimal, hit_assignments: int
) -> Intent:
    """Return the intent not to pay for an assignment, which gives its reward and fee back."""
    cents = -_cents(prices.submission(reward, hit_assignments))
    return _intent(study, "release", "RejectAssignment", target, assignment_id, cents)


def overturning(study: Study, rejected: Intent) -> Intent:
    """Return the intent to pay after all for an assignment that was rejected."""
    return _intent(study, "overturn", "OverrideRejection", rejected.target, rejected.subject, -rejected.cents)


def deletion(study: Study, target: str, hit_key: str, cents: int) -> Intent:
    """Return the intent to delete a HIT, which gives back what it holds for answers that never came."""
    return _intent(study, "delete", "DeleteHIT", target, hit_key, cents)


def _intent(
    study: Study, kind: str, operation: str, target: str, subject: str, cents: int, *number: int
) -> Intent:
    return Intent(
        token=study.opaque(kind, subject, *number, length=48),
        operation=operation,
        target=target,
        subject=subject,
        cents=cents,
        intended=time.time(),
    )


def _cents(amount: Decimal) -> int:
    return int(amount / CENT)
