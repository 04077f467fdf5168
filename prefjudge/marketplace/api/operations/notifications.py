"""Operations on notifications of events."""

import json

from prefjudge.marketplace.api.operations.operation import Operation, Params, Result
from prefjudge.marketplace.errors import invalid, refused
from prefjudge.marketplace.hits import hit_types
from prefjudge.marketplace.notifications import events, topics, webhooks
from prefjudge.marketplace.store.marketplace import Transaction

VERSIONS = ("2006-05-05", "2014-08-15")


def _check(tx: Transaction, requester_id: str, notification: Params) -> None:
    """Refuse a notification that cannot be sent: mail and AWS queues are not reachable from here."""
    if notification["Transport"] == "Email":
        raise invalid(
            "Notification.Transport", "this marketplace sends no mail: it posts to an https address"
        )
    destination = notification["Destination"]
    mine = notification["Transport"] == "SNS" and topics.exists(tx, requester_id, destination)
    problem = "" if mine else webhooks.refusal(destination, inside=tx.marketplace.rules.private_webhooks)
    if problem:
        raise invalid("Notification.Destination", f"{destination[:64]!r} {problem}")
    if notification["Version"] not in VERSIONS:
        raise invalid("Notification.Version", f"must be {' or '.join(VERSIONS)}")


def _update(tx: Transaction, requester_id: str, params: Params) -> Result:
    hit_types.find(tx, requester_id, params["HITTypeId"])
    notification, active = params.get("Notification"), params.get("Active")
    if notification is None and active is None:
        raise invalid("UpdateNotificationSettings", "give a Notification, or Active, or both")
    if notification is not None:
        _check(tx, requester_id, notification)
        tx.insert(
            "notifications",
            {
                "hit_type_id": params["HITTypeId"],
                "destination": notification["Destination"],
                "transport": notification["Transport"],
                "version": notification["Version"],
                "event_types": json.dumps(notification["EventTypes"]),
                "active": 1,
            },
            "ON CONFLICT (hit_type_id) DO UPDATE SET destination = excluded.destination,"
            " transport = excluded.transport, version = excluded.version, event_types = excluded.event_types",
        )
    if active is not None and not tx.rows(
        "UPDATE notifications SET active = :active WHERE hit_type_id = :type RETURNING hit_type_id",
        active=int(active),
        type=params["HITTypeId"],
    ):
        raise refused("InvalidParameterValue", "Active: the HIT type has no notification to switch.")
    return {}


def _send_test(tx: Transaction, requester_id: str, params: Params) -> Result:
    _check(tx, requester_id, params["Notification"])
    event = events.Event(time=tx.now, event=params["TestEventType"], requester_id=requester_id)
    events.queue(tx, params["Notification"]["Destination"], params["Notification"]["Version"], event)
    return {}


OPERATIONS: dict[str, Operation] = {
    "SendTestEventNotification": _send_test,
    "UpdateNotificationSettings": _update,
}
