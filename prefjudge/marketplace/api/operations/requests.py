"""Operations on workers' requests for qualifications."""

from typing import Any

from prefjudge.marketplace.api.operations.operation import Operation, Params, Result
from prefjudge.marketplace.api.paging import page
from prefjudge.marketplace.people import qualification_requests, qualifications
from prefjudge.marketplace.store.marketplace import Transaction


def _accept(tx: Transaction, requester_id: str, params: Params) -> Result:
    request = qualification_requests.find(tx, requester_id, params["QualificationRequestId"])
    qualification_requests.accept(tx, request, params.get("IntegerValue", 1))
    return {}


def _reject(tx: Transaction, requester_id: str, params: Params) -> Result:
    request = qualification_requests.find(tx, requester_id, params["QualificationRequestId"])
    qualification_requests.reject(tx, request, params.get("Reason"))
    return {}


def _list(tx: Transaction, requester_id: str, params: Params) -> Result:
    named: Params = {"requester": requester_id}
    where = "r.requester_id = :requester AND r.status = 'Submitted'"
    if "QualificationTypeId" in params:
        qualifications.find_type(tx, params["QualificationTypeId"], requester_id)
        where += " AND r.qualification_type_id = :type"
        named["type"] = params["QualificationTypeId"]
    found, about = page(
        tx,
        "qualification requests",
        params,
        "r.seq, r.request_id, r.qualification_type_id, r.worker_id, q.test, r.answer, r.submitted_at",
        "FROM qualification_requests r JOIN qualification_types q"
        f" ON q.qualification_type_id = r.qualification_type_id WHERE {where}",
        seq="r.seq",
        **named,
    )
    shown: list[dict[str, Any]] = [
        {
            "QualificationRequestId": one["request_id"],
            "QualificationTypeId": one["qualification_type_id"],
            "WorkerId": one["worker_id"],
            "Test": one["test"],
            "Answer": one["answer"],
            "SubmitTime": one["submitted_at"],
        }
        for one in found
    ]
    return {**about, "QualificationRequests": shown}


OPERATIONS: dict[str, Operation] = {
    "AcceptQualificationRequest": _accept,
    "ListQualificationRequests": _list,
    "RejectQualificationRequest": _reject,
}
