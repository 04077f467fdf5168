"""A submission: what a worker sent back for a task, the decision on it, and its bonuses."""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum


class SubmissionState(StrEnum):
    """The decision on a submission; a study stores these values."""

    SUBMITTED = "submitted"
    APPROVED = "approved"
    REJECTED = "rejected"
    """Its pay was given back, by a rejection or by a release."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Submission:
    """What a worker sent back; nothing in it has been checked.

    Attributes
    ----------
    submission_id, worker_id : str
        The crowd's ids.
    state : SubmissionState
        What was decided on it.
    accepted, submitted : float or None
        When the worker began and ended, in seconds since 1970.
    fields : mapping of str to str
        The submitted fields by name.
    fault : str
        Why the fields cannot be read; empty where they can.
    raw : str
        What was sent, in the crowd's own form, for the log.
    simulated : bool or None
        Whether the worker's account was made for simulation; None where the crowd cannot tell.
    reason : str
        The message to the worker with the decision.
    pays_itself : float or None
        When the crowd pays for it if nobody decides, in seconds since 1970; None where it never does.
    """

    submission_id: str
    worker_id: str
    state: SubmissionState
    accepted: float | None
    submitted: float | None
    fields: Mapping[str, str]
    fault: str
    raw: str
    simulated: bool | None
    reason: str
    pays_itself: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Dispute:
    """What a worker says against the rejection of a submission, and when."""

    submission_id: str
    worker_id: str
    text: str
    raised: float


@dataclass(frozen=True, slots=True, kw_only=True)
class PaidBonus:
    """A bonus that was paid for a submission."""

    submission_id: str
    amount: Decimal
    reason: str
