"""Operations on HITs and HIT types."""

import json
from dataclasses import dataclass

from prefjudge.database import Value
from prefjudge.marketplace.api.operations.operation import Operation, Params, Result
from prefjudge.marketplace.api.paging import page
from prefjudge.marketplace.errors import from_cents, missing
from prefjudge.marketplace.hits import hits
from prefjudge.marketplace.store.store import Transaction


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedHit(hits.Hit):
    """A HIT with its question."""

    content: str


def show(tx: Transaction, hit: hits.Hit) -> Result:
    """Show a HIT as the API does."""
    return _view(hit, hits.question(tx, hit.hit_id), tx.now)


def _view(hit: hits.Hit, question: str, now: float) -> Result:
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


def _create_hit_type(tx: Transaction, requester_id: str, params: Params) -> Result:
    return {"HITTypeId": hits.ensure_type(tx, requester_id, params)}


def _create_hit(tx: Transaction, requester_id: str, params: Params) -> Result:
    hit_type_id = hits.ensure_type(tx, requester_id, params)
    return {"HIT": _view(hits.create(tx, requester_id, hit_type_id, params), params["Question"], tx.now)}


def _create_hit_with_hit_type(tx: Transaction, requester_id: str, params: Params) -> Result:
    return {
        "HIT": _view(hits.create(tx, requester_id, params["HITTypeId"], params), params["Question"], tx.now)
    }


def _get_hit(tx: Transaction, requester_id: str, params: Params) -> Result:
    return {"HIT": show(tx, hits.find(tx, requester_id, params["HITId"]))}


def _extend_hit(tx: Transaction, requester_id: str, params: Params) -> Result:
    hit = hits.find(tx, requester_id, params["HITId"], lock=True)
    hits.extend(tx, hit, params["NumberOfAdditionalAssignments"], params.get("UniqueRequestToken"))
    return {}


def _update_expiration(tx: Transaction, requester_id: str, params: Params) -> Result:
    hits.expire_at(tx, hits.find(tx, requester_id, params["HITId"], lock=True), params["ExpireAt"])
    return {}


def _update_review_status(tx: Transaction, requester_id: str, params: Params) -> Result:
    hit = hits.find(tx, requester_id, params["HITId"], lock=True)
    hits.review(tx, hit, revert=params.get("Revert", False))
    return {}


def _update_hit_type(tx: Transaction, requester_id: str, params: Params) -> Result:
    hits.move(tx, hits.find(tx, requester_id, params["HITId"], lock=True), params["HITTypeId"])
    return {}


def _delete_hit(tx: Transaction, requester_id: str, params: Params) -> Result:
    hits.dispose(tx, hits.find(tx, requester_id, params["HITId"], lock=True))
    return {}


def _list(tx: Transaction, name: str, params: Params, where: str, **named: Value) -> Result:
    found, about = page(
        tx,
        ListedHit,
        name,
        params,
        f"{hits.JOINED} {hits.WITH_QUESTION} WHERE h.disposed = 0 AND {where}",
        newest_first=True,
        **named,
    )
    return {**about, "HITs": [_view(hit, hit.content, tx.now) for hit in found]}


def _list_hits(tx: Transaction, requester_id: str, params: Params) -> Result:
    return _list(tx, "hits", params, "h.requester_id = :requester", requester=requester_id)


def _list_reviewable(tx: Transaction, requester_id: str, params: Params) -> Result:
    reviewing = params.get("Status") == "Reviewing"
    where = "h.requester_id = :requester AND " + (
        "h.reviewing = 1" if reviewing else f"h.reviewing = 0 AND {hits.REVIEWABLE}"
    )
    if "HITTypeId" in params:
        hits.find_type(tx, requester_id, params["HITTypeId"])
        where += " AND h.hit_type_id = :type"
    named = {"requester": requester_id, "now": tx.now, "type": params.get("HITTypeId")}
    return _list(tx, "reviewable", params, where, **named)


def _list_for_qualification(tx: Transaction, requester_id: str, params: Params) -> Result:
    type_id = params["QualificationTypeId"]
    if not tx.rows(
        "SELECT 1 FROM qualification_types WHERE qualification_type_id = :id"
        " AND requester_id = :requester AND deleted = 0",
        id=type_id,
        requester=requester_id,
    ):
        raise missing("QualificationType", type_id)
    return _list(
        tx,
        "hits for qualification",
        params,
        "h.requester_id = :requester AND t.requirements LIKE :asked",
        requester=requester_id,
        asked=f'%"{type_id}"%',
    )


def _list_policy_results(tx: Transaction, requester_id: str, params: Params) -> Result:
    """Say that no review policy ran: a HIT with one is refused when it is made."""
    hits.find(tx, requester_id, params["HITId"])
    return {"HITId": params["HITId"]}


OPERATIONS: dict[str, Operation] = {
    "CreateHIT": _create_hit,
    "CreateHITType": _create_hit_type,
    "CreateHITWithHITType": _create_hit_with_hit_type,
    "CreateAdditionalAssignmentsForHIT": _extend_hit,
    "DeleteHIT": _delete_hit,
    "GetHIT": _get_hit,
    "ListHITs": _list_hits,
    "ListHITsForQualificationType": _list_for_qualification,
    "ListReviewableHITs": _list_reviewable,
    "ListReviewPolicyResultsForHIT": _list_policy_results,
    "UpdateExpirationForHIT": _update_expiration,
    "UpdateHITReviewStatus": _update_review_status,
    "UpdateHITTypeOfHIT": _update_hit_type,
}
