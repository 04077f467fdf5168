"""What the API tells of a HIT, an assignment or a dispute, in the study's words."""

from collections.abc import Mapping
from datetime import datetime
from decimal import Decimal
from typing import Any

from prefjudge.crowd.mturk.answers import read_answers
from prefjudge.crowd.mturk.client import Client
from prefjudge.crowd.mturk.groups import DISPUTED
from prefjudge.crowd.protocol import RefusedError
from prefjudge.crowd.submissions import Dispute, Submission, SubmissionState
from prefjudge.crowd.tasks import ListedTask
from prefjudge.errors import CrowdError

STATES = {
    "Submitted": SubmissionState.SUBMITTED,
    "Approved": SubmissionState.APPROVED,
    "Rejected": SubmissionState.REJECTED,
}


def read_task(hit: Mapping[str, Any]) -> ListedTask:
    """Return a HIT as a task."""
    return ListedTask(
        task_id=hit["HITId"],
        key=hit.get("RequesterAnnotation") or "",
        created=hit["CreationTime"].timestamp(),
        pay=Decimal(hit["Reward"]),
        deleted=hit["HITStatus"] == "Disposed",
    )


def read_submission(found: Mapping[str, Any], simulated: Mapping[str, bool] | None) -> Submission:
    """Return an assignment as a submission; one whose answers are not readable has its fault."""
    raw = found.get("Answer", "")
    try:
        fields, fault = read_answers(raw), ""
    except CrowdError as error:
        fields, fault = {}, error.message
    return Submission(
        submission_id=found["AssignmentId"],
        worker_id=found["WorkerId"],
        state=STATES[found["AssignmentStatus"]],
        accepted=_epoch(found.get("AcceptTime")),
        submitted=_epoch(found.get("SubmitTime")),
        fields=fields,
        fault=fault,
        raw=raw,
        simulated=None if simulated is None else simulated[found["WorkerId"]],
        reason=found.get("RequesterFeedback", ""),
        pays_itself=_epoch(found.get("AutoApprovalTime")),
    )


def _epoch(moment: datetime | None) -> float | None:
    return moment.timestamp() if moment else None


def list_disputes(client: Client) -> list[Dispute]:
    """Return the disputes that wait: the requests of a qualification that only prefjudge's marketplace has.

    Raises
    ------
    RefusedError
        It is another marketplace.
    """
    try:
        listed = list(
            client.each("list_qualification_requests", "QualificationRequests", QualificationTypeId=DISPUTED)
        )
    except RefusedError as error:
        raise RefusedError(
            f"at {client.endpoint} workers cannot dispute a rejection",
            "They write to you by e-mail there; prefjudge's own marketplace has disputes.",
        ) from error
    return [
        Dispute(
            submission_id=one["QualificationRequestId"],
            worker_id=one["WorkerId"],
            text=one.get("Answer", ""),
            raised=one["SubmitTime"].timestamp(),
        )
        for one in listed
    ]
