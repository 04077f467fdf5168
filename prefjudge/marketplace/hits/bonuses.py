"""Bonuses: money for an assignment on top of its reward."""

from dataclasses import dataclass

from prefjudge.marketplace.errors import Params, RequestError, invalid, refused, to_cents
from prefjudge.marketplace.hits import assignments, request_tokens
from prefjudge.marketplace.store import ledger
from prefjudge.marketplace.store.store import Transaction


@dataclass(frozen=True, slots=True, kw_only=True)
class Bonus:
    """A bonus that was paid."""

    requester_id: str
    hit_id: str
    assignment_id: str
    worker_id: str
    cents: int
    reason: str
    granted: float


def send(tx: Transaction, requester_id: str, params: Params) -> None:
    """Pay a worker a bonus.

    Raises
    ------
    RequestError
        ``DuplicateRequest`` for a token of the last 24 hours; ``InsufficientFunds``; the worker did not do
        the assignment.
    """
    token = params.get("UniqueRequestToken")
    if request_tokens.earlier_result(tx, requester_id, "bonus", token) is not None:
        raise _repeated(token)
    assignment = assignments.find(tx, requester_id, params["AssignmentId"])
    worker_id, reference = params["WorkerId"], params["AssignmentId"]
    if assignment.worker_id != worker_id:
        raise invalid("WorkerId", f"{worker_id} did not do the assignment {reference}")
    if not params["Reason"].strip():
        raise invalid("Reason", "is empty")
    cents = to_cents(params["BonusAmount"], "BonusAmount")
    if cents < 1:
        raise invalid("BonusAmount", "is less than a cent")
    if not request_tokens.remember(tx, requester_id, "bonus", token, reference):
        raise _repeated(token)
    fee = tx.marketplace.rules.fees.on(cents)
    account = ledger.hold(requester_id)
    ledger.spend(tx, requester_id, account, cents + fee, "bonus", reference)
    ledger.transfer(tx, account, ledger.FEES, fee, "fee", reference)
    ledger.transfer(tx, account, ledger.earned(worker_id), cents, "bonus", reference)
    tx.insert(
        "bonuses",
        Bonus(
            requester_id=requester_id,
            hit_id=assignment.hit_id,
            assignment_id=reference,
            worker_id=worker_id,
            cents=cents,
            reason=params["Reason"],
            granted=tx.now,
        ),
    )


def _repeated(token: str | None) -> RequestError:
    return refused("DuplicateRequest", f"A bonus was paid with the UniqueRequestToken {token}.")
