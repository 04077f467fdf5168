"""The study's money: an intent before every call that creates or spends, its outcome after."""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from prefjudge.database import Connection, in_list
from prefjudge.errors import BudgetError
from prefjudge.study.store import current_target

TOKEN_LIFE = 24 * 3600.0
"""How long, in seconds, a marketplace remembers a request token."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Intent:
    """A call that is about to be, or was, made."""

    token: str
    operation: str
    target: str
    subject: str
    cents: int
    intended: float
    outcome: str | None = None


def intend(db: Connection, intent: Intent, *, budget: Decimal | None) -> Intent:
    """Record an intent, or return the one that is already recorded under its token."""
    known, refused = intend_all(db, [intent], budget=budget)
    if refused:
        raise refused
    return known[0]


def intend_all(
    db: Connection, intents: Sequence[Intent], *, budget: Decimal | None
) -> tuple[list[Intent], BudgetError | None]:
    """Record intents of one target, in their order, up to the first that the budget does not allow."""
    if not intents:
        return [], None
    # The token is made of what the call is for, so a repeat finds its intent and commits nothing more.
    wanted, tokens = in_list("t", (intent.token for intent in intents))
    recorded = {
        one.token: one for one in db.select(Intent, f"FROM intents WHERE token IN ({wanted})", **tokens)
    }
    committed = committed_cents(db, intents[0].target)
    known: list[Intent] = []
    refused = None
    for intent in intents:
        found = recorded.get(intent.token)
        if found is None and budget is not None and Decimal(committed + intent.cents) / 100 > budget:
            refused = _beyond_budget(intent, committed, budget)
            break
        committed += 0 if found else intent.cents
        known.append(found or intent)
    db.insert_all("intents", (one for one in known if one.token not in recorded))
    return known, refused


def _beyond_budget(intent: Intent, committed: int, budget: Decimal) -> BudgetError:
    return BudgetError(
        f"{intent.operation} would commit ${Decimal(intent.cents) / 100:.2f} on top of "
        f"${Decimal(committed) / 100:.2f}; the budget is ${budget:.2f}",
        "Raise `budget` in study.toml and repeat the verb: what is published stays published.",
    )


def find_rejection(db: Connection, subject: str, target: str) -> Intent | None:
    """Return the settled call by which the study rejected an assignment; None where it did not."""
    return db.find(
        Intent,
        "FROM intents WHERE subject = :subject AND target = :target AND operation = 'RejectAssignment' "
        "AND outcome = 'rejected'",
        subject=subject,
        target=target,
    )


def load_begun_bonuses(db: Connection) -> frozenset[str]:
    """Return the assignments whose bonus was begun and has no outcome: the call was interrupted."""
    return frozenset(
        db.values("SELECT subject FROM intents WHERE operation = 'SendBonus' AND outcome IS NULL")
    )


def load_begun_rejections(db: Connection, target: str) -> dict[str, str]:
    """Return the tokens of rejections that were begun and have no outcome, by their assignment."""
    return dict(
        db.execute(
            "SELECT subject, token FROM intents "
            "WHERE operation = 'RejectAssignment' AND outcome IS NULL AND target = :target",
            target=target,
        )
    )


def load_rejections(db: Connection, target: str) -> list[str]:
    """Return the assignments that were rejected, or paid by a bonus instead, the latest first."""
    return db.values(
        "SELECT subject FROM intents WHERE operation = 'RejectAssignment' AND outcome IS NOT NULL "
        "AND target = :target ORDER BY settled DESC",
        target=target,
    )


def settle(db: Connection, token: str, outcome: str, when: float) -> None:
    """Record the outcome of an intent."""
    db.update("intents", {"outcome": outcome, "settled": when}, token=token)


def void(db: Connection, token: str) -> None:
    """Delete the intent of a call that was refused, and so did nothing."""
    db.execute("DELETE FROM intents WHERE token = :token AND outcome IS NULL", token=token)


def count_settled(db: Connection, subject: str, operation: str) -> int:
    """Return how many calls of an operation on one subject have an outcome."""
    sql = "SELECT count(outcome) FROM intents WHERE subject = :subject AND operation = :operation"
    return int(db.value(sql, subject=subject, operation=operation))


def committed_cents(db: Connection, target: str | None = None) -> int:
    """Return what the recorded intents commit the study to at a target, in cents."""
    # Spending counts from its intent on, and a refund only once it is settled, so that an interrupted call
    # never makes the budget look larger than it is.
    sql = "SELECT sum(cents) FROM intents WHERE target = :target AND (cents > 0 OR outcome IS NOT NULL)"
    return int(db.value(sql, target=target or current_target(db)) or 0)
