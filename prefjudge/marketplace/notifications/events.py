"""Events in their order, and the notifications of them that requesters asked for."""

import json
import uuid
from dataclasses import dataclass

from prefjudge.marketplace.notifications import topics
from prefjudge.marketplace.store.marketplace import Transaction
from prefjudge.marketplace.store.times import iso


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """Something that happened to a HIT, or to an assignment of it."""

    time: float
    event: str
    requester_id: str
    hit_type_id: str = ""
    hit_id: str = ""
    assignment_id: str | None = None
    worker_id: str | None = None


def record_event(tx: Transaction, event: Event) -> None:
    """Log an event, and queue its notification where the HIT type has one."""
    tx.insert("events", event)
    for destination, version, event_types in tx.rows(
        "SELECT destination, version, event_types FROM notifications"
        " WHERE hit_type_id = :hit_type AND active = 1",
        hit_type=event.hit_type_id,
    ):
        if event.event in json.loads(event_types):
            queue(tx, destination, version, event)


def queue(tx: Transaction, destination: str, version: str, event: Event) -> None:
    """Queue one notification, in the JSON that Mechanical Turk sent to its queues."""
    told = {
        "EventType": event.event,
        "EventTimestamp": iso(event.time),
        "HITTypeId": event.hit_type_id,
        "HITGroupId": event.hit_type_id,
        "HITId": event.hit_id,
        "AssignmentId": event.assignment_id,
    }
    body = {
        "CustomerId": event.requester_id,
        "EventDocId": str(uuid.uuid4()),
        "EventDocVersion": version,
        "Events": [{key: value for key, value in told.items() if value}],
    }
    if topics.is_topic(destination):
        topics.publish(tx, event.requester_id, destination, json.dumps(body))
        return
    (secret,) = tx.rows("SELECT hook_secret FROM requesters WHERE requester_id = :id", id=event.requester_id)[
        0
    ]
    tx.insert(
        "deliveries",
        {"destination": destination, "secret": secret, "body": json.dumps(body), "due": tx.now},
    )


def count_submissions(tx: Transaction, requester_id: str) -> int:
    """Return how often work was submitted to a requester."""
    # Counted: the last event's number would hide one of a smaller number that another process commits later.
    (count,) = tx.rows(
        "SELECT count(*) FROM events WHERE requester_id = :id AND event = 'AssignmentSubmitted'",
        id=requester_id,
    )[0]
    return int(count)
