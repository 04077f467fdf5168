"""The 39 operations of the requester API: checked parameters in, a result out, in one transaction."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from prefjudge.database import Value
from prefjudge.marketplace.api.wire import page
from prefjudge.marketplace.errors import Params, Refusal, RequestError, from_cents, invalid, missing, refused
from prefjudge.marketplace.hits import assignments, hits, own_work
from prefjudge.marketplace.hits.assignments import Assignment, Bonus
from prefjudge.marketplace.hits.hits import Hit
from prefjudge.marketplace.people import qualifications, workers
from prefjudge.marketplace.people.qualifications import (
    DISPUTED,
    Grant,
    QualificationRequest,
    QualificationType,
)
from prefjudge.marketplace.people.workers import Block
from prefjudge.marketplace.store import ledger
from prefjudge.marketplace.store.store import Transaction

Result = Mapping[str, Any]
"""A response by Mechanical Turk's names; what is None is left out."""
Act = Callable[[Transaction, str, Params], Result | None]
"""``act(tx, requester_id, params)``; None is an empty response."""
OPERATIONS: dict[str, Act] = {}
"""By name, what answers."""


def operation(name: str) -> Callable[[Act], Act]:
    """Let a function answer to a name."""

    def answers(act: Act) -> Act:
        OPERATIONS[name] = act
        return act

    return answers


# HITs and HIT types


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedHit(Hit):
    """A HIT with its question."""

    content: str


def _show_hit(tx: Transaction, hit: Hit) -> Result:
    """Show a HIT as the API does."""
    return _view_hit(hit, hits.question(tx, hit.hit_id), tx.now)


def _view_hit(hit: Hit, question: str, now: float) -> Result:
    return {
        "HITId": hit.hit_id,
        "HITTypeId": hit.hit_type_id,
        "HITGroupId": hit.hit_type_id,
        "CreationTime": hit.created,
        "Title": hit.title,
        "Description": hit.description,
        "Question": question,
        "Keywords": hit.keywords,
        "HITStatus": hits.status(hit, now),
        "MaxAssignments": hit.max_assignments,
        "Reward": from_cents(hit.reward),
        "AutoApprovalDelayInSeconds": hit.auto_approval_delay,
        "Expiration": hit.expiration,
        "AssignmentDurationInSeconds": hit.duration,
        "RequesterAnnotation": hit.annotation,
        "QualificationRequirements": json.loads(hit.requirements),
        "HITReviewStatus": "NotReviewed",
        "NumberOfAssignmentsPending": hit.pending,
        "NumberOfAssignmentsAvailable": hit.available,
        "NumberOfAssignmentsCompleted": hit.completed,
    }


@operation("CreateHITType")
def _create_hit_type(tx: Transaction, requester_id: str, params: Params) -> Result:
    return {"HITTypeId": hits.ensure_type(tx, requester_id, params)}


@operation("CreateHIT")
def _create_hit(tx: Transaction, requester_id: str, params: Params) -> Result:
    hit_type_id = hits.ensure_type(tx, requester_id, params)
    return {"HIT": _view_hit(hits.create(tx, requester_id, hit_type_id, params), params["Question"], tx.now)}


@operation("CreateHITWithHITType")
def _create_hit_with_hit_type(tx: Transaction, requester_id: str, params: Params) -> Result:
    return {
        "HIT": _view_hit(
            hits.create(tx, requester_id, params["HITTypeId"], params), params["Question"], tx.now
        )
    }


@operation("GetHIT")
def _get_hit(tx: Transaction, requester_id: str, params: Params) -> Result:
    return {"HIT": _show_hit(tx, hits.find(tx, requester_id, params["HITId"]))}


@operation("CreateAdditionalAssignmentsForHIT")
def _create_additional_assignments_for_hit(tx: Transaction, requester_id: str, params: Params) -> None:
    hit = hits.find(tx, requester_id, params["HITId"], lock=True)
    hits.extend(tx, hit, params["NumberOfAdditionalAssignments"], params.get("UniqueRequestToken"))


@operation("UpdateExpirationForHIT")
def _update_expiration_for_hit(tx: Transaction, requester_id: str, params: Params) -> None:
    hits.expire_at(tx, hits.find(tx, requester_id, params["HITId"], lock=True), params["ExpireAt"])


@operation("UpdateHITReviewStatus")
def _update_hit_review_status(tx: Transaction, requester_id: str, params: Params) -> None:
    hit = hits.find(tx, requester_id, params["HITId"], lock=True)
    hits.review(tx, hit, revert=params.get("Revert", False))


@operation("UpdateHITTypeOfHIT")
def _update_hit_type_of_hit(tx: Transaction, requester_id: str, params: Params) -> None:
    hits.move(tx, hits.find(tx, requester_id, params["HITId"], lock=True), params["HITTypeId"])


@operation("DeleteHIT")
def _delete_hit(tx: Transaction, requester_id: str, params: Params) -> None:
    hits.dispose(tx, hits.find(tx, requester_id, params["HITId"], lock=True))


def _page_of_hits(tx: Transaction, name: str, params: Params, where: str, **named: Value) -> Result:
    found, about = page(
        tx,
        ListedHit,
        name,
        params,
        f"{hits.JOINED} {hits.WITH_QUESTION} WHERE h.disposed = 0 AND {where}",
        newest_first=True,
        **named,
    )
    return {**about, "HITs": [_view_hit(hit, hit.content, tx.now) for hit in found]}


@operation("ListHITs")
def _list_hits(tx: Transaction, requester_id: str, params: Params) -> Result:
    return _page_of_hits(tx, "hits", params, "h.requester_id = :requester", requester=requester_id)


@operation("ListReviewableHITs")
def _list_reviewable_hits(tx: Transaction, requester_id: str, params: Params) -> Result:
    reviewing = params.get("Status") == "Reviewing"
    where = "h.requester_id = :requester AND " + (
        "h.reviewing = 1" if reviewing else f"h.reviewing = 0 AND {hits.REVIEWABLE}"
    )
    if "HITTypeId" in params:
        hits.find_type(tx, requester_id, params["HITTypeId"])
        where += " AND h.hit_type_id = :type"
    named = {"requester": requester_id, "now": tx.now, "type": params.get("HITTypeId")}
    return _page_of_hits(tx, "reviewable", params, where, **named)


@operation("ListHITsForQualificationType")
def _list_hits_for_qualification_type(tx: Transaction, requester_id: str, params: Params) -> Result:
    type_id = params["QualificationTypeId"]
    if not tx.rows(
        "SELECT 1 FROM qualification_types WHERE qualification_type_id = :id"
        " AND requester_id = :requester AND deleted = 0",
        id=type_id,
        requester=requester_id,
    ):
        raise missing("QualificationType", type_id)
    return _page_of_hits(
        tx,
        "hits for qualification",
        params,
        "h.requester_id = :requester AND t.requirements LIKE :asked",
        requester=requester_id,
        asked=f'%"{type_id}"%',
    )


@operation("ListReviewPolicyResultsForHIT")
def _list_review_policy_results_for_hit(tx: Transaction, requester_id: str, params: Params) -> Result:
    """Say that no review policy ran: a HIT with one is refused when it is made."""
    hits.find(tx, requester_id, params["HITId"])
    return {"HITId": params["HITId"]}


# Assignments and bonuses

_UNKNOWN = "null"  # Mechanical Turk's word for the needed state, where an assignment is not submitted


def _view_assignment(assignment: Assignment) -> Result:
    """Show an assignment as the API does."""
    return {
        "AssignmentId": assignment.assignment_id,
        "WorkerId": assignment.worker_id,
        "HITId": assignment.hit_id,
        "AssignmentStatus": assignment.status,
        "AutoApprovalTime": assignment.auto_approve_at,
        "AcceptTime": assignment.accepted_at,
        "SubmitTime": assignment.submitted_at,
        "ApprovalTime": assignment.approved_at,
        "RejectionTime": assignment.rejected_at,
        "Deadline": assignment.deadline,
        "Answer": assignment.answer,
        "RequesterFeedback": assignment.feedback,
    }


@operation("ApproveAssignment")
def _approve_assignment(tx: Transaction, requester_id: str, params: Params) -> None:
    assignment_id, feedback = params["AssignmentId"], params.get("RequesterFeedback")
    disputed = own_work.find_dispute(tx, requester_id, assignment_id)
    assignments.approve(
        tx,
        assignments.find(tx, requester_id, assignment_id, lock=True, needed=_UNKNOWN),
        feedback=feedback,
        overturn=params.get("OverrideRejection", False),
    )
    if disputed and feedback and feedback.strip():
        own_work.answer(tx, assignment_id, feedback[: own_work.LONGEST_DISPUTE])


@operation("RejectAssignment")
def _reject_assignment(tx: Transaction, requester_id: str, params: Params) -> None:
    assignment = assignments.find(tx, requester_id, params["AssignmentId"], lock=True, needed=_UNKNOWN)
    assignments.reject(tx, assignment, params["RequesterFeedback"])


@operation("GetAssignment")
def _get_assignment(tx: Transaction, requester_id: str, params: Params) -> Result:
    assignment = assignments.find(tx, requester_id, params["AssignmentId"])
    hit = hits.find(tx, requester_id, assignment.hit_id)
    return {"Assignment": _view_assignment(assignment), "HIT": _show_hit(tx, hit)}


@operation("ListAssignmentsForHIT")
def _list_assignments_for_hit(tx: Transaction, requester_id: str, params: Params) -> Result:
    hits.find(tx, requester_id, params["HITId"])
    wanted = params.get("AssignmentStatuses") or assignments.SUBMITTED
    names = {f"s{i}": status for i, status in enumerate(sorted(set(wanted)))}
    statuses = ", ".join(f":{name}" for name in names)
    found, about = page(
        tx,
        Assignment,
        f"assignments {params['HITId']}",
        params,
        f"FROM assignments WHERE hit_id = :hit AND status IN ({statuses})",
        hit=params["HITId"],
        **names,
    )
    return {**about, "Assignments": [_view_assignment(assignment) for assignment in found]}


@operation("GetFileUploadURL")
def _get_file_upload_url(tx: Transaction, requester_id: str, params: Params) -> Result:
    assignments.find(tx, requester_id, params["AssignmentId"])
    raise invalid("QuestionIdentifier", "this marketplace does not accept files from workers")


@operation("GetAccountBalance")
def _get_account_balance(tx: Transaction, requester_id: str, _: Params) -> Result:
    return {
        "AvailableBalance": from_cents(ledger.balance(tx, ledger.free(requester_id))),
        "OnHoldBalance": from_cents(ledger.balance(tx, ledger.hold(requester_id))),
    }


operation("SendBonus")(assignments.send_bonus)


@operation("ListBonusPayments")
def _list_bonus_payments(tx: Transaction, requester_id: str, params: Params) -> Result:
    if ("HITId" in params) == ("AssignmentId" in params):
        raise RequestError("Give a HITId or an AssignmentId, not both.", "AWS.MissingParameters")
    if "HITId" in params:
        ident = hits.find(tx, requester_id, params["HITId"]).hit_id
        column = "hit_id"
    else:
        ident = assignments.find(tx, requester_id, params["AssignmentId"]).assignment_id
        column = "assignment_id"
    found, about = page(tx, Bonus, f"bonuses {ident}", params, f"FROM bonuses WHERE {column} = :id", id=ident)
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


# Qualification types, and who has one


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


@operation("CreateQualificationType")
def _create_qualification_type(tx: Transaction, requester_id: str, params: Params) -> Result:
    return {"QualificationType": _view_type(qualifications.create_type(tx, requester_id, params))}


@operation("UpdateQualificationType")
def _update_qualification_type(tx: Transaction, requester_id: str, params: Params) -> Result:
    return {"QualificationType": _view_type(qualifications.update_type(tx, requester_id, params))}


@operation("DeleteQualificationType")
def _delete_qualification_type(tx: Transaction, requester_id: str, params: Params) -> None:
    qualifications.delete_type(tx, requester_id, params["QualificationTypeId"])


@operation("GetQualificationType")
def _get_qualification_type(tx: Transaction, requester_id: str, params: Params) -> Result:
    """Show a type to anybody, but its answer key to its owner only."""
    kind = qualifications.find_type(tx, params["QualificationTypeId"])
    if kind.requester_id != requester_id:
        kind = replace(kind, answer_key=None)
    return {"QualificationType": _view_type(kind)}


@operation("ListQualificationTypes")
def _list_qualification_types(tx: Transaction, requester_id: str, params: Params) -> Result:
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


operation("AssociateQualificationWithWorker")(qualifications.associate)
operation("DisassociateQualificationFromWorker")(qualifications.revoke)


@operation("GetQualificationScore")
def _get_qualification_score(tx: Transaction, requester_id: str, params: Params) -> Result:
    qualifications.check_readable(tx, params["QualificationTypeId"], requester_id)
    grant = qualifications.find_grant(tx, params["QualificationTypeId"], params["WorkerId"])
    return {"Qualification": _view_grant(grant)}


@operation("ListWorkersWithQualificationType")
def _list_workers_with_qualification_type(tx: Transaction, requester_id: str, params: Params) -> Result:
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


# Workers' requests for qualifications, and disputes, which are listed as requests


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedRequest(QualificationRequest):
    """A request with the test of its qualification type."""

    test: str | None


@operation("AcceptQualificationRequest")
def _accept_qualification_request(tx: Transaction, requester_id: str, params: Params) -> None:
    if own_work.find_dispute(tx, requester_id, params["QualificationRequestId"]):
        raise refused(
            "InvalidQualificationState",
            "It is a dispute: to pay after all, call ApproveAssignment with OverrideRejection.",
        )
    request = qualifications.find_request(tx, requester_id, params["QualificationRequestId"])
    qualifications.accept_request(tx, request, params.get("IntegerValue", 1))


@operation("RejectQualificationRequest")
def _reject_qualification_request(tx: Transaction, requester_id: str, params: Params) -> None:
    request_id = params["QualificationRequestId"]
    if not own_work.find_dispute(tx, requester_id, request_id):
        request = qualifications.find_request(tx, requester_id, request_id)
        qualifications.reject_request(tx, request, params.get("Reason"))
        return
    try:
        own_work.answer(tx, request_id, params.get("Reason", ""))
    except Refusal as refusal:
        raise invalid("Reason", f"is the answer to a dispute: {refusal.message}") from refusal


def _page_of_disputes(tx: Transaction, requester_id: str, params: Params) -> Result:
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


@operation("ListQualificationRequests")
def _list_qualification_requests(tx: Transaction, requester_id: str, params: Params) -> Result:
    if params.get("QualificationTypeId") == DISPUTED:
        return _page_of_disputes(tx, requester_id, params)
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


# Workers: blocks and messages


@operation("CreateWorkerBlock")
def _create_worker_block(tx: Transaction, requester_id: str, params: Params) -> None:
    workers.find(tx, params["WorkerId"])
    workers.block(tx, requester_id, params["WorkerId"], params["Reason"])


@operation("DeleteWorkerBlock")
def _delete_worker_block(tx: Transaction, requester_id: str, params: Params) -> None:
    workers.find(tx, params["WorkerId"])
    workers.unblock(tx, requester_id, params["WorkerId"])


@operation("ListWorkerBlocks")
def _list_worker_blocks(tx: Transaction, requester_id: str, params: Params) -> Result:
    found, about = page(
        tx,
        Block,
        "blocks",
        params,
        "FROM blocks WHERE requester_id = :requester",
        requester=requester_id,
    )
    return {
        **about,
        "WorkerBlocks": [{"WorkerId": one.worker_id, "Reason": one.reason} for one in found],
    }


@operation("NotifyWorkers")
def _notify_workers(tx: Transaction, requester_id: str, params: Params) -> Result:
    failures = []
    for worker_id in params["WorkerIds"]:
        problem = workers.tell(tx, requester_id, worker_id, params["Subject"], params["MessageText"])
        if problem:
            failures.append(
                {
                    "NotifyWorkersFailureCode": "HardFailure",
                    "NotifyWorkersFailureMessage": problem,
                    "WorkerId": worker_id,
                }
            )
    return {"NotifyWorkersFailureStatuses": failures}


# Nobody is notified of events


@operation("SendTestEventNotification")
@operation("UpdateNotificationSettings")
def _poll(tx: Transaction, requester_id: str, params: Params) -> Result:
    raise refused(
        "InvalidParameterValue",
        "This marketplace sends no notifications: poll instead, by ListReviewableHITs or "
        "ListAssignmentsForHIT.",
    )
