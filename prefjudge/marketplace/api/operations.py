"""The 39 operations of the requester API: checked parameters in, a result out, in one transaction."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from prefjudge.database import Value, in_list
from prefjudge.database.connection import T
from prefjudge.marketplace.api import wire
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
_UNKNOWN = "null"  # Mechanical Turk's word for the needed state, where an assignment is not submitted


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedHit(Hit):
    """A HIT with its question."""

    content: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedRequest(QualificationRequest):
    """A request with the test of its qualification type."""

    test: str | None


class Call:
    """One call by a requester; each operation is the method of its name, and None an empty response."""

    def __init__(self, tx: Transaction, requester_id: str, params: Params) -> None:
        self.tx = tx
        self.requester_id = requester_id
        self.params = params
        self.get = params.get

    def page(self, kind: type[T], name: str, rest: str, **named: Any) -> tuple[list[T], Params]:
        """Select one page of a list; see :func:`wire.page`."""
        return wire.page(self.tx, kind, name, self.params, rest, **named)

    # HITs and HIT types

    def hit(self, *, lock: bool = False) -> Hit:
        """Return the HIT that the call names."""
        return hits.find(self.tx, self.requester_id, self.params["HITId"], lock=lock)

    def _show(self, hit: Hit) -> Result:
        return _view_hit(hit, hits.question(self.tx, hit.hit_id), self.tx.now)

    def _make(self, hit_type_id: str) -> Result:
        made = hits.create(self.tx, self.requester_id, hit_type_id, self.params)
        return {"HIT": _view_hit(made, self.params["Question"], self.tx.now)}

    def CreateHITType(self) -> Result:
        return {"HITTypeId": hits.ensure_type(self.tx, self.requester_id, self.params)}

    def CreateHIT(self) -> Result:
        return self._make(hits.ensure_type(self.tx, self.requester_id, self.params))

    def CreateHITWithHITType(self) -> Result:
        return self._make(self.params["HITTypeId"])

    def GetHIT(self) -> Result:
        return {"HIT": self._show(self.hit())}

    def CreateAdditionalAssignmentsForHIT(self) -> None:
        more, token = self.params["NumberOfAdditionalAssignments"], self.get("UniqueRequestToken")
        hits.extend(self.tx, self.hit(lock=True), more, token)

    def UpdateExpirationForHIT(self) -> None:
        hits.expire_at(self.tx, self.hit(lock=True), self.params["ExpireAt"])

    def UpdateHITReviewStatus(self) -> None:
        hits.review(self.tx, self.hit(lock=True), revert=self.get("Revert", False))

    def UpdateHITTypeOfHIT(self) -> None:
        hits.move(self.tx, self.hit(lock=True), self.params["HITTypeId"])

    def DeleteHIT(self) -> None:
        hits.dispose(self.tx, self.hit(lock=True))

    def _page_of_hits(self, name: str, where: str = "", **named: Value) -> Result:
        rest = (
            f"{hits.JOINED} {hits.WITH_QUESTION} WHERE h.disposed = 0 AND h.requester_id = :requester{where}"
        )
        found, about = self.page(
            ListedHit, name, rest, newest_first=True, requester=self.requester_id, **named
        )
        return {**about, "HITs": [_view_hit(hit, hit.content, self.tx.now) for hit in found]}

    def ListHITs(self) -> Result:
        return self._page_of_hits("hits")

    def ListReviewableHITs(self) -> Result:
        where = f" AND h.reviewing = 0 AND {hits.REVIEWABLE}"
        if self.get("Status") == "Reviewing":
            where = " AND h.reviewing = 1"
        if "HITTypeId" in self.params:
            hits.find_type(self.tx, self.requester_id, self.params["HITTypeId"])
            where += " AND h.hit_type_id = :type"
        return self._page_of_hits("reviewable", where, now=self.tx.now, type=self.get("HITTypeId"))

    def ListHITsForQualificationType(self) -> Result:
        type_id = self.params["QualificationTypeId"]
        kind = qualifications.get_type(self.tx, type_id)
        if kind is None or kind.requester_id != self.requester_id:
            raise missing("QualificationType", type_id)
        asked = f'%"{type_id}"%'
        return self._page_of_hits("hits for qualification", " AND t.requirements LIKE :asked", asked=asked)

    def ListReviewPolicyResultsForHIT(self) -> Result:
        return {"HITId": self.hit().hit_id}  # no policy ran: a HIT with one is refused when it is made

    # Assignments and bonuses

    def assignment(self, *, lock: bool = False) -> Assignment:
        """Return the assignment that the call names."""
        needed = {"needed": _UNKNOWN} if lock else {}
        return assignments.find(self.tx, self.requester_id, self.params["AssignmentId"], lock=lock, **needed)

    def ApproveAssignment(self) -> None:
        assignment_id, feedback = self.params["AssignmentId"], self.get("RequesterFeedback")
        disputed = own_work.find_dispute(self.tx, self.requester_id, assignment_id)
        overturn = self.get("OverrideRejection", False)
        assignments.approve(self.tx, self.assignment(lock=True), feedback=feedback, overturn=overturn)
        if disputed and feedback and feedback.strip():
            own_work.answer(self.tx, assignment_id, feedback[: own_work.LONGEST_DISPUTE])

    def RejectAssignment(self) -> None:
        assignments.reject(self.tx, self.assignment(lock=True), self.params["RequesterFeedback"])

    def GetAssignment(self) -> Result:
        assignment = self.assignment()
        hit = hits.find(self.tx, self.requester_id, assignment.hit_id)
        return {"Assignment": _view_assignment(assignment), "HIT": self._show(hit)}

    def ListAssignmentsForHIT(self) -> Result:
        hit_id = self.hit().hit_id
        statuses, named = in_list("s", sorted(set(self.get("AssignmentStatuses") or assignments.SUBMITTED)))
        rest = f"FROM assignments WHERE hit_id = :hit AND status IN ({statuses})"
        found, about = self.page(Assignment, f"assignments {hit_id}", rest, hit=hit_id, **named)
        return {**about, "Assignments": [_view_assignment(assignment) for assignment in found]}

    def GetFileUploadURL(self) -> Result:
        self.assignment()
        raise invalid("QuestionIdentifier", "this marketplace does not accept files from workers")

    def GetAccountBalance(self) -> Result:
        return {
            "AvailableBalance": from_cents(ledger.balance(self.tx, ledger.free(self.requester_id))),
            "OnHoldBalance": from_cents(ledger.balance(self.tx, ledger.hold(self.requester_id))),
        }

    def SendBonus(self) -> None:
        assignments.send_bonus(self.tx, self.requester_id, self.params)

    def ListBonusPayments(self) -> Result:
        if ("HITId" in self.params) == ("AssignmentId" in self.params):
            raise RequestError("Give a HITId or an AssignmentId, not both.", "AWS.MissingParameters")
        if "HITId" in self.params:
            column, ident = "hit_id", self.hit().hit_id
        else:
            column, ident = "assignment_id", self.assignment().assignment_id
        found, about = self.page(Bonus, f"bonuses {ident}", f"FROM bonuses WHERE {column} = :id", id=ident)
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

    def CreateQualificationType(self) -> Result:
        made = qualifications.create_type(self.tx, self.requester_id, self.params)
        return {"QualificationType": self._view_type(made)}

    def UpdateQualificationType(self) -> Result:
        changed = qualifications.update_type(self.tx, self.requester_id, self.params)
        return {"QualificationType": self._view_type(changed)}

    def DeleteQualificationType(self) -> None:
        qualifications.delete_type(self.tx, self.requester_id, self.params["QualificationTypeId"])

    def GetQualificationType(self) -> Result:
        kind = qualifications.find_type(self.tx, self.params["QualificationTypeId"])
        return {"QualificationType": self._view_type(kind)}

    def ListQualificationTypes(self) -> Result:
        where = "deleted = 0"
        if self.params["MustBeRequestable"]:
            where += " AND status = 'Active'"
        if self.get("MustBeOwnedByCaller", False):
            where += " AND requester_id = :requester"
        if self.get("Query"):
            where += " AND (lower(name) LIKE :query ESCAPE '!' OR lower(description) LIKE :query ESCAPE '!')"
        query = f"%{_literal(self.get('Query', '').lower())}%"
        rest = f"FROM qualification_types WHERE {where}"
        found, about = self.page(
            QualificationType, "qualification types", rest, requester=self.requester_id, query=query
        )
        return {**about, "QualificationTypes": [self._view_type(kind) for kind in found]}

    def _view_type(self, kind: QualificationType) -> Result:
        # anybody may see a type, but its answer key only its owner
        own = kind.requester_id == self.requester_id
        return {
            "QualificationTypeId": kind.qualification_type_id,
            "CreationTime": kind.created,
            "Name": kind.name,
            "Description": kind.description,
            "Keywords": kind.keywords,
            "QualificationTypeStatus": kind.status,
            "Test": kind.test,
            "TestDurationInSeconds": kind.test_duration,
            "AnswerKey": kind.answer_key if own else None,
            "RetryDelayInSeconds": kind.retry_delay,
            "IsRequestable": kind.status == "Active",
            "AutoGranted": bool(kind.auto_granted),
            "AutoGrantedValue": kind.auto_value if kind.auto_granted else None,
        }

    def AssociateQualificationWithWorker(self) -> None:
        qualifications.associate(self.tx, self.requester_id, self.params)

    def DisassociateQualificationFromWorker(self) -> None:
        qualifications.revoke(self.tx, self.requester_id, self.params)

    def GetQualificationScore(self) -> Result:
        type_id = self.params["QualificationTypeId"]
        qualifications.check_readable(self.tx, type_id, self.requester_id)
        grant = qualifications.find_grant(self.tx, type_id, self.params["WorkerId"])
        return {"Qualification": _view_grant(grant)}

    def ListWorkersWithQualificationType(self) -> Result:
        type_id = self.params["QualificationTypeId"]
        qualifications.check_readable(self.tx, type_id, self.requester_id)
        rest = "FROM qualifications WHERE qualification_type_id = :type AND status = :status"
        status = self.get("Status", "Granted")
        found, about = self.page(Grant, f"workers with {type_id}", rest, type=type_id, status=status)
        return {**about, "Qualifications": [_view_grant(grant) for grant in found]}

    # Workers' requests for qualifications, and disputes, which are listed as requests

    def _request(self) -> QualificationRequest:
        return qualifications.find_request(self.tx, self.requester_id, self.params["QualificationRequestId"])

    def _disputed(self) -> bool:
        request_id = self.params["QualificationRequestId"]
        return own_work.find_dispute(self.tx, self.requester_id, request_id) is not None

    def AcceptQualificationRequest(self) -> None:
        if self._disputed():
            raise refused(
                "InvalidQualificationState",
                "It is a dispute: to pay after all, call ApproveAssignment with OverrideRejection.",
            )
        qualifications.accept_request(self.tx, self._request(), self.get("IntegerValue", 1))

    def RejectQualificationRequest(self) -> None:
        if not self._disputed():
            qualifications.reject_request(self.tx, self._request(), self.get("Reason"))
            return
        try:
            own_work.answer(self.tx, self.params["QualificationRequestId"], self.get("Reason", ""))
        except Refusal as refusal:
            raise invalid("Reason", f"is the answer to a dispute: {refusal.message}") from refusal

    def ListQualificationRequests(self) -> Result:
        if self.get("QualificationTypeId") == DISPUTED:
            return self._page_of_disputes()
        where = "r.requester_id = :requester AND r.status = 'Submitted'"
        if "QualificationTypeId" in self.params:
            qualifications.find_type(self.tx, self.params["QualificationTypeId"], self.requester_id)
            where += " AND r.qualification_type_id = :type"
        found, about = self.page(
            ListedRequest,
            "qualification requests",
            "FROM qualification_requests r JOIN (SELECT qualification_type_id, test FROM qualification_types)"
            f" q USING (qualification_type_id) WHERE {where}",
            requester=self.requester_id,
            type=self.get("QualificationTypeId"),
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

    def _page_of_disputes(self) -> Result:
        found, about = self.page(
            own_work.OpenDispute, "disputes", own_work.OPEN_DISPUTES, requester=self.requester_id
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

    # Workers: blocks and messages

    def CreateWorkerBlock(self) -> None:
        workers.block(self.tx, self.requester_id, self.params["WorkerId"], self.params["Reason"])

    def DeleteWorkerBlock(self) -> None:
        workers.unblock(self.tx, self.requester_id, self.params["WorkerId"])

    def ListWorkerBlocks(self) -> Result:
        rest = "FROM blocks WHERE requester_id = :requester"
        found, about = self.page(Block, "blocks", rest, requester=self.requester_id)
        shown = [{"WorkerId": one.worker_id, "Reason": one.reason} for one in found]
        return {**about, "WorkerBlocks": shown}

    def NotifyWorkers(self) -> Result:
        subject, text = self.params["Subject"], self.params["MessageText"]
        failures = [
            {
                "NotifyWorkersFailureCode": "HardFailure",
                "NotifyWorkersFailureMessage": problem,
                "WorkerId": worker_id,
            }
            for worker_id in self.params["WorkerIds"]
            if (problem := workers.tell(self.tx, self.requester_id, worker_id, subject, text))
        ]
        return {"NotifyWorkersFailureStatuses": failures}

    # Nobody is notified of events

    def SendTestEventNotification(self) -> Result:
        raise refused(
            "InvalidParameterValue",
            "This marketplace sends no notifications: poll instead, by ListReviewableHITs or "
            "ListAssignmentsForHIT.",
        )

    UpdateNotificationSettings = SendTestEventNotification


OPERATIONS: dict[str, Callable[[Call], Result | None]] = {
    name: act for name, act in vars(Call).items() if name[0].isupper()
}
"""By name, what answers."""


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


def _view_assignment(assignment: Assignment) -> Result:
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


def _view_grant(grant: Grant) -> Result:
    return {
        "QualificationTypeId": grant.qualification_type_id,
        "WorkerId": grant.worker_id,
        "GrantTime": grant.granted,
        "IntegerValue": grant.value,
        "Status": grant.status,
    }


def _literal(text: str) -> str:
    """Return a pattern of LIKE that matches this text and no other."""
    for special in "!%_":
        text = text.replace(special, "!" + special)
    return text
