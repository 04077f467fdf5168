"""What happened, in order; and who asked to be told."""

import json

from prefjudge.marketplace.market import Record, Turn


def note(
    turn: Turn,
    event: str,
    *,
    requester_id: str,
    hit_type_id: str,
    hit_id: str,
    assignment_id: str | None = None,
    worker_id: str | None = None,
) -> None:
    """Log an event, and queue its notification where the HIT type has one."""
    record: Record = {
        "time": turn.now,
        "event": event,
        "requester_id": requester_id,
        "hit_type_id": hit_type_id,
        "hit_id": hit_id,
        "assignment_id": assignment_id,
        "worker_id": worker_id,
    }
    turn.insert("events", record)
    wanted = turn.record(
        "n.destination, n.event_types, r.hook_secret",
        "FROM notifications n JOIN requesters r ON r.requester_id = :requester"
        " WHERE n.hit_type_id = :hit_type AND n.active = 1",
        requester=requester_id,
        hit_type=hit_type_id,
    )
    if wanted and event in json.loads(str(wanted["event_types"])):
        queue(turn, str(wanted["destination"]), str(wanted["hook_secret"]), requester_id, event, hit_type_id,
              hit_id, assignment_id)  # fmt: skip


def queue(
    turn: Turn,
    destination: str,
    secret: str,
    requester_id: str,
    event: str,
    hit_type_id: str,
    hit_id: str,
    assignment_id: str | None,
) -> None:
    """Queue one notification, in the JSON that Mechanical Turk sent to its queues."""
    told = {"EventType": event, "EventTimestamp": turn.now, "HITTypeId": hit_type_id, "HITId": hit_id}
    if assignment_id:
        told["AssignmentId"] = assignment_id
    body = {
        "CustomerId": requester_id,
        "EventDocVersion": "2006-05-05",
        "Events": [{key: value for key, value in told.items() if value}],
    }
    turn.insert(
        "deliveries",
        {"destination": destination, "secret": secret, "body": json.dumps(body), "due": turn.now},
    )
