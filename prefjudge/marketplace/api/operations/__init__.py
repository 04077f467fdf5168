"""The 39 operations of the requester API: one function each, found by name."""

from prefjudge.marketplace.api.operations import (
    assignments,
    balances,
    hits,
    qualifications,
    requests,
    workers,
)
from prefjudge.marketplace.api.operations.operation import Operation, Params, Result
from prefjudge.marketplace.errors import refused
from prefjudge.marketplace.store.store import Transaction


def _poll(tx: Transaction, requester_id: str, params: Params) -> Result:
    """Refuse to notify anybody of events."""
    raise refused(
        "InvalidParameterValue",
        "This marketplace sends no notifications: poll instead, by ListReviewableHITs or "
        "ListAssignmentsForHIT.",
    )


OPERATIONS: dict[str, Operation] = {
    **hits.OPERATIONS,
    **assignments.OPERATIONS,
    **qualifications.OPERATIONS,
    **requests.OPERATIONS,
    **workers.OPERATIONS,
    "SendTestEventNotification": _poll,
    "UpdateNotificationSettings": _poll,
    **balances.OPERATIONS,
}
