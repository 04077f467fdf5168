"""Operations on money: the balance, and bonuses."""

from prefjudge.marketplace.api.operations.operation import Operation, Params, Result
from prefjudge.marketplace.api.paging import page
from prefjudge.marketplace.errors import RequestError, from_cents
from prefjudge.marketplace.hits import assignments, hits
from prefjudge.marketplace.store import ledger
from prefjudge.marketplace.store.store import Transaction


def _balance(tx: Transaction, requester_id: str, _: Params) -> Result:
    return {
        "AvailableBalance": from_cents(ledger.balance(tx, ledger.free(requester_id))),
        "OnHoldBalance": from_cents(ledger.balance(tx, ledger.hold(requester_id))),
    }


def _send_bonus(tx: Transaction, requester_id: str, params: Params) -> Result:
    assignments.send_bonus(tx, requester_id, params)
    return {}


def _list_bonuses(tx: Transaction, requester_id: str, params: Params) -> Result:
    if ("HITId" in params) == ("AssignmentId" in params):
        raise RequestError("Give a HITId or an AssignmentId, not both.", "AWS.MissingParameters")
    if "HITId" in params:
        ident = hits.find(tx, requester_id, params["HITId"]).hit_id
        column = "hit_id"
    else:
        ident = assignments.find(tx, requester_id, params["AssignmentId"]).assignment_id
        column = "assignment_id"
    found, about = page(
        tx, assignments.Bonus, f"bonuses {ident}", params, f"FROM bonuses WHERE {column} = :id", id=ident
    )
    shown = [
        {
            "WorkerId": one.worker_id,
            "BonusAmount": from_cents(one.cents),
            "AssignmentId": one.assignment_id,
            "Reason": one.reason,
            "GrantTime": one.granted,
        }
        for one in found
    ]
    return {**about, "BonusPayments": shown}


OPERATIONS: dict[str, Operation] = {
    "GetAccountBalance": _balance,
    "ListBonusPayments": _list_bonuses,
    "SendBonus": _send_bonus,
}
