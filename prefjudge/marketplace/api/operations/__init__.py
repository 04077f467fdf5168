"""The 39 operations of the requester API: one function each, found by name."""

from prefjudge.marketplace.api.operations import (
    assignments,
    balances,
    hits,
    notifications,
    qualifications,
    requests,
    workers,
)
from prefjudge.marketplace.api.operations.operation import Operation

OPERATIONS: dict[str, Operation] = {
    **hits.OPERATIONS,
    **assignments.OPERATIONS,
    **qualifications.OPERATIONS,
    **requests.OPERATIONS,
    **workers.OPERATIONS,
    **notifications.OPERATIONS,
    **balances.OPERATIONS,
}
