"""Operations on qualification types and grants."""

from dataclasses import replace

from prefjudge.marketplace.api.operations.operation import Operation, Params, Result
from prefjudge.marketplace.api.paging import page
from prefjudge.marketplace.people import qualifications
from prefjudge.marketplace.people.qualifications import Grant, QualificationType
from prefjudge.marketplace.store.store import Transaction


def _view_type(kind: QualificationType) -> Result:
    return {
        "QualificationTypeId": kind.qualification_type_id,
        "CreationTime": kind.created,
        "Name": kind.name,
        "Description": kind.description,
        "Keywords": kind.keywords,
        "QualificationTypeStatus": kind.status,
        "Test": kind.test,
        "TestDurationInSeconds": kind.test_duration,
        "AnswerKey": kind.answer_key,
        "RetryDelayInSeconds": kind.retry_delay,
        "IsRequestable": kind.status == "Active",
        "AutoGranted": bool(kind.auto_granted),
        "AutoGrantedValue": kind.auto_value if kind.auto_granted else None,
    }


def _view_grant(grant: Grant) -> Result:
    return {
        "QualificationTypeId": grant.qualification_type_id,
        "WorkerId": grant.worker_id,
        "GrantTime": grant.granted,
        "IntegerValue": grant.value,
        "Status": grant.status,
    }


def _create(tx: Transaction, requester_id: str, params: Params) -> Result:
    return {"QualificationType": _view_type(qualifications.create_type(tx, requester_id, params))}


def _update(tx: Transaction, requester_id: str, params: Params) -> Result:
    return {"QualificationType": _view_type(qualifications.update_type(tx, requester_id, params))}


def _delete(tx: Transaction, requester_id: str, params: Params) -> Result:
    qualifications.delete_type(tx, requester_id, params["QualificationTypeId"])
    return {}


def _get(tx: Transaction, requester_id: str, params: Params) -> Result:
    """Show a type to anybody, but its answer key to its owner only."""
    kind = qualifications.find_type(tx, params["QualificationTypeId"])
    if kind.requester_id != requester_id:
        kind = replace(kind, answer_key=None)
    return {"QualificationType": _view_type(kind)}


def _list(tx: Transaction, requester_id: str, params: Params) -> Result:
    where = "deleted = 0"
    if params["MustBeRequestable"]:
        where += " AND status = 'Active'"
    if params.get("MustBeOwnedByCaller", False):
        where += " AND requester_id = :requester"
    if params.get("Query"):
        where += " AND (lower(name) LIKE :query ESCAPE '!' OR lower(description) LIKE :query ESCAPE '!')"
    found, about = page(
        tx,
        QualificationType,
        "qualification types",
        params,
        f"FROM qualification_types WHERE {where}",
        requester=requester_id,
        query=f"%{_literal(params.get('Query', '').lower())}%",
    )
    own = [kind if kind.requester_id == requester_id else replace(kind, answer_key=None) for kind in found]
    return {**about, "QualificationTypes": [_view_type(kind) for kind in own]}


def _literal(text: str) -> str:
    """Return a pattern of LIKE that matches this text and no other."""
    for special in "!%_":
        text = text.replace(special, "!" + special)
    return text


def _associate(tx: Transaction, requester_id: str, params: Params) -> Result:
    qualifications.associate(tx, requester_id, params)
    return {}


def _disassociate(tx: Transaction, requester_id: str, params: Params) -> Result:
    qualifications.revoke(tx, requester_id, params)
    return {}


def _score(tx: Transaction, requester_id: str, params: Params) -> Result:
    qualifications.check_readable(tx, params["QualificationTypeId"], requester_id)
    grant = qualifications.find_grant(tx, params["QualificationTypeId"], params["WorkerId"])
    return {"Qualification": _view_grant(grant)}


def _list_workers(tx: Transaction, requester_id: str, params: Params) -> Result:
    qualifications.check_readable(tx, params["QualificationTypeId"], requester_id)
    found, about = page(
        tx,
        Grant,
        f"workers with {params['QualificationTypeId']}",
        params,
        "FROM qualifications WHERE qualification_type_id = :type AND status = :status",
        type=params["QualificationTypeId"],
        status=params.get("Status", "Granted"),
    )
    return {**about, "Qualifications": [_view_grant(grant) for grant in found]}


OPERATIONS: dict[str, Operation] = {
    "AssociateQualificationWithWorker": _associate,
    "CreateQualificationType": _create,
    "DeleteQualificationType": _delete,
    "DisassociateQualificationFromWorker": _disassociate,
    "GetQualificationScore": _score,
    "GetQualificationType": _get,
    "ListQualificationTypes": _list,
    "ListWorkersWithQualificationType": _list_workers,
    "UpdateQualificationType": _update,
}
