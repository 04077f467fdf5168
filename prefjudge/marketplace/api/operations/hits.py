"""Operations on HITs and HIT types."""

import json
from typing import Any

from prefjudge.marketplace.api.operations.operation import Operation, Params, Result
from prefjudge.marketplace.api.paging import page
from prefjudge.marketplace.errors import missing
from prefjudge.marketplace.hits import hit_types, hits
from prefjudge.marketplace.money.amounts import from_cents
from prefjudge.marketplace.store.marketplace import Record, Turn


def show(turn: Turn, hit: Record) -> Result:
    """Show a HIT as the API does."""
    return _view({**hit, "content": hits.question(turn, hit["hit_id"])}, turn.now)


def _view(hit: Record, now: float) -> Result:
    return {
        "HITId": hit["hit_id"],
        "HITTypeId": hit["hit_type_id"],
        "HITGroupId": hit["hit_type_id"],
        "CreationTime": hit["created"],
        "Title": hit["title"],
        "Description": hit["description"],
        "Question": hit["content"],
        "Keywords": hit["keywords"],
        "HITStatus": hits.status(hit, now),
        "MaxAssignments": hit["max_assignments"],
        "Reward": from_cents(hit["reward"]),
        "AutoApprovalDelayInSeconds": hit["auto_approval_delay"],
        "Expiration": hit["expiration"],
        "AssignmentDurationInSeconds": hit["duration"],
        "RequesterAnnotation": hit["annotation"],
        "QualificationRequirements": json.loads(hit["requirements"]),
        "HITReviewStatus": "NotReviewed",
        "NumberOfAssignmentsPending": hit["pending"],
        "NumberOfAssignmentsAvailable": hit["available"],
        "NumberOfAssignmentsCompleted": hit["completed"],
    }


def _create_hit_type(turn: Turn, requester_id: str, params: Params) -> Result:
    return {"HITTypeId": hit_types.ensure(turn, requester_id, params)}


def _create_hit(turn: Turn, requester_id: str, params: Params) -> Result:
    hit_type_id = hit_types.ensure(turn, requester_id, params)
    return {"HIT": show(turn, hits.create(turn, requester_id, hit_type_id, params))}


def _create_hit_with_hit_type(turn: Turn, requester_id: str, params: Params) -> Result:
    return {"HIT": show(turn, hits.create(turn, requester_id, params["HITTypeId"], params))}


def _get_hit(turn: Turn, requester_id: str, params: Params) -> Result:
    return {"HIT": show(turn, hits.find(turn, requester_id, params["HITId"]))}


def _extend_hit(turn: Turn, requester_id: str, params: Params) -> Result:
    hit = hits.find(turn, requester_id, params["HITId"], lock=True)
    hits.extend(turn, hit, params["NumberOfAdditionalAssignments"], params.get("UniqueRequestToken"))
    return {}


def _update_expiration(turn: Turn, requester_id: str, params: Params) -> Result:
    hits.expire_at(turn, hits.find(turn, requester_id, params["HITId"], lock=True), params["ExpireAt"])
    return {}


def _update_review_status(turn: Turn, requester_id: str, params: Params) -> Result:
    hit = hits.find(turn, requester_id, params["HITId"], lock=True)
    hits.review(turn, hit, revert=params.get("Revert", False))
    return {}


def _update_hit_type(turn: Turn, requester_id: str, params: Params) -> Result:
    hits.move(turn, hits.find(turn, requester_id, params["HITId"], lock=True), params["HITTypeId"])
    return {}


def _delete_hit(turn: Turn, requester_id: str, params: Params) -> Result:
    hits.dispose(turn, hits.find(turn, requester_id, params["HITId"], lock=True))
    return {}


def _list(turn: Turn, name: str, params: Params, where: str, **named: Any) -> Result:
    found, about = page(
        turn,
        name,
        params,
        f"{hits.COLUMNS}, q.content",
        f"{hits.JOINED} {hits.WITH_QUESTION} WHERE h.disposed = 0 AND {where}",
        seq="h.seq",
        newest_first=True,
        **named,
    )
    return {**about, "HITs": [_view(hit, turn.now) for hit in found]}


def _list_hits(turn: Turn, requester_id: str, params: Params) -> Result:
    return _list(turn, "hits", params, "h.requester_id = :requester", requester=requester_id)


def _list_reviewable(turn: Turn, requester_id: str, params: Params) -> Result:
    reviewing = params.get("Status") == "Reviewing"
    where = "h.requester_id = :requester AND " + (
        "h.reviewing = 1" if reviewing else f"h.reviewing = 0 AND {hits.REVIEWABLE}"
    )
    named: Params = {"requester": requester_id, "now": turn.now}
    if "HITTypeId" in params:
        hit_types.find(turn, requester_id, params["HITTypeId"])
        where += " AND h.hit_type_id = :type"
        named["type"] = params["HITTypeId"]
    return _list(turn, "reviewable", params, where, **named)


def _list_for_qualification(turn: Turn, requester_id: str, params: Params) -> Result:
    type_id = params["QualificationTypeId"]
    if not turn.rows(
        "SELECT 1 FROM qualification_types WHERE qualification_type_id = :id"
        " AND requester_id = :requester AND deleted = 0",
        id=type_id,
        requester=requester_id,
    ):
        raise missing("QualificationType", type_id)
    return _list(
        turn,
        "hits for qualification",
        params,
        "h.requester_id = :requester AND t.requirements LIKE :asked",
        requester=requester_id,
        asked=f'%"{type_id}"%',
    )


def _list_policy_results(turn: Turn, requester_id: str, params: Params) -> Result:
    """Say that no review policy ran: a HIT with one is refused when it is made."""
    hits.find(turn, requester_id, params["HITId"])
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
