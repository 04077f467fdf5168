"""What happened, in order; and who asked to be told."""

import json
import uuid

from prefjudge.marketplace.store.marketplace import Record, Transaction
from prefjudge.marketplace.store.times import iso


def note(tx: Transaction, event: str, hit: Record, assignment: Record | None = None) -> None:
    """Log an event, and queue its notification where the HIT type has one."""
    happened: Record = {
        "time": tx.now,
        "event": event,
        "requester_id": hit["requester_id"],
        "hit_type_id": hit["hit_type_id"],
        "hit_id": hit["hit_id"],
        "assignment_id": assignment["assignment_id"] if assignment else None,
        "worker_id": assignment["worker_id"] if assignment else None,
    }
    tx.insert("events", happened)
    wanted = tx.record(
        "destination, version, event_types",
        "FROM notifications WHERE hit_type_id = :hit_type AND active = 1",
        hit_type=hit["hit_type_id"],
    )
    if wanted and event in json.loads(wanted["event_types"]):
        queue(tx, wanted["destination"], wanted["version"], happened)


def queue(tx: Transaction, destination: str, version: str, happened: Record) -> None:
    """Queue one notification, in the JSON that Mechanical Turk sent to its queues."""
    told = {
        "EventType": happened["event"],
        "EventTimestamp": iso(happened["time"]),
        "HITTypeId": happened.get("hit_type_id"),
        "HITGroupId": happened.get("hit_type_id"),
        "HITId": happened.get("hit_id"),
        "AssignmentId": happened.get("assignment_id"),
    }
    body = {
        "CustomerId": happened["requester_id"],
        "EventDocId": str(uuid.uuid4()),
        "EventDocVersion": version,
        "Events": [{key: value for key, value in told.items() if value}],
    }
    (secret,) = tx.rows(
        "SELECT hook_secret FROM requesters WHERE requester_id = :id", id=happened["requester_id"]
    )[0]
    tx.insert(
        "deliveries",
        {"destination": destination, "secret": secret, "body": json.dumps(body), "due": tx.now},
    )
