"""Operations on workers' requests for qualifications."""

from dataclasses import dataclass

from prefjudge.marketplace.api.operations.operation import Operation, Params, Result
from prefjudge.marketplace.api.paging import page
from prefjudge.marketplace.errors import Refusal, invalid, refused
from prefjudge.marketplace.hits import own_work
from prefjudge.marketplace.people import qualifications
from prefjudge.marketplace.people.qualifications import DISPUTED
from prefjudge.marketplace.store.store import Transaction


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedRequest(qualifications.QualificationRequest):
    """A request with the test of its qualification type."""

    test: str | None


def _accept(tx: Transaction, requester_id: str, params: Params) -> Result:
    if own_work.find_dispute(tx, requester_id, params["QualificationRequestId"]):
        raise refused(
            "InvalidQualificationState",
            "It is a dispute: to pay after all, call ApproveAssignment with OverrideRejection.",
        )
    request = qualifications.find_request(tx, requester_id, params["QualificationRequestId"])
    qualifications.accept_request(tx, request, params.get("IntegerValue", 1))
    return {}


def _reject(tx: Transaction, requester_id: str, params: Params) -> Result:
    if own_work.find_dispute(tx, requester_id, params["QualificationRequestId"]):
        try:
            own_work.answer(tx, params["QualificationRequestId"], params.get("Reason", ""))
        except Refusal as refusal:
            raise invalid("Reason", f"is the answer to a dispute: {refusal.message}") from refusal
        return {}
    request = qualifications.find_request(tx, requester_id, params["QualificationRequestId"])
    qualifications.reject_request(tx, request, params.get("Reason"))
    return {}


def _list_disputes(tx: Transaction, requester_id: str, params: Params) -> Result:
    found, about = page(
        tx, own_work.OpenDispute, "disputes", params, own_work.OPEN_DISPUTES, requester=requester_id
    )
    shown = [
        {
            "QualificationRequestId": one.assignment_id,
            "QualificationTypeId": DISPUTED,
            "WorkerId": one.worker_id,
            "Answer": one.dispute,
            "SubmitTime": one.disputed_at,
        }
        for one in found
    ]
    return {**about, "QualificationRequests": shown}


def _list(tx: Transaction, requester_id: str, params: Params) -> Result:
    if params.get("QualificationTypeId") == DISPUTED:
        return _list_disputes(tx, requester_id, params)
    where = "r.requester_id = :requester AND r.status = 'Submitted'"
    if "QualificationTypeId" in params:
        qualifications.find_type(tx, params["QualificationTypeId"], requester_id)
        where += " AND r.qualification_type_id = :type"
    found, about = page(
        tx,
        ListedRequest,
        "qualification requests",
        params,
        "FROM qualification_requests r JOIN (SELECT qualification_type_id, test FROM qualification_types) q"
        f" USING (qualification_type_id) WHERE {where}",
        requester=requester_id,
        type=params.get("QualificationTypeId"),
    )
    shown = [
        {
            "QualificationRequestId": one.request_id,
            "QualificationTypeId": one.qualification_type_id,
            "WorkerId": one.worker_id,
            "Test": one.test,
            "Answer": one.answer,
            "SubmitTime": one.submitted_at,
        }
        for one in found
    ]
    return {**about, "QualificationRequests": shown}


OPERATIONS: dict[str, Operation] = {
    "AcceptQualificationRequest": _accept,
    "ListQualificationRequests": _list,
    "RejectQualificationRequest": _reject,
}
