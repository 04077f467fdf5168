"""Operations on assignments."""

from prefjudge.marketplace.api.operations.hits import show as show_hit
from prefjudge.marketplace.api.operations.operation import Operation, Params, Result
from prefjudge.marketplace.api.paging import page
from prefjudge.marketplace.errors import invalid
from prefjudge.marketplace.hits import assignments, hits, own_work
from prefjudge.marketplace.store.store import Transaction

UNKNOWN = "null"  # Mechanical Turk's word for the needed state, where an assignment is not submitted


def view(assignment: assignments.Assignment) -> Result:
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


def _approve(tx: Transaction, requester_id: str, params: Params) -> Result:
    assignment_id, feedback = params["AssignmentId"], params.get("RequesterFeedback")
    disputed = own_work.find_dispute(tx, requester_id, assignment_id)
    assignments.approve(
        tx,
        assignments.find(tx, requester_id, assignment_id, lock=True, needed=UNKNOWN),
        feedback=feedback,
        overturn=params.get("OverrideRejection", False),
    )
    if disputed and feedback and feedback.strip():
        own_work.answer(tx, assignment_id, feedback[: own_work.LONGEST_DISPUTE])
    return {}


def _reject(tx: Transaction, requester_id: str, params: Params) -> Result:
    assignment = assignments.find(tx, requester_id, params["AssignmentId"], lock=True, needed=UNKNOWN)
    assignments.reject(tx, assignment, params["RequesterFeedback"])
    return {}


def _get(tx: Transaction, requester_id: str, params: Params) -> Result:
    assignment = assignments.find(tx, requester_id, params["AssignmentId"])
    hit = hits.find(tx, requester_id, assignment.hit_id)
    return {"Assignment": view(assignment), "HIT": show_hit(tx, hit)}


def _list(tx: Transaction, requester_id: str, params: Params) -> Result:
    hits.find(tx, requester_id, params["HITId"])
    wanted = params.get("AssignmentStatuses") or assignments.SUBMITTED
    names = {f"s{i}": status for i, status in enumerate(sorted(set(wanted)))}
    statuses = ", ".join(f":{name}" for name in names)
    found, about = page(
        tx,
        assignments.Assignment,
        f"assignments {params['HITId']}",
        params,
        f"FROM assignments WHERE hit_id = :hit AND status IN ({statuses})",
        hit=params["HITId"],
        **names,
    )
    return {**about, "Assignments": [view(assignment) for assignment in found]}


def _file_url(tx: Transaction, requester_id: str, params: Params) -> Result:
    assignments.find(tx, requester_id, params["AssignmentId"])
    raise invalid("QuestionIdentifier", "this marketplace does not accept files from workers")


OPERATIONS: dict[str, Operation] = {
    "ApproveAssignment": _approve,
    "GetAssignment": _get,
    "GetFileUploadURL": _file_url,
    "ListAssignmentsForHIT": _list,
    "RejectAssignment": _reject,
}
