"""What a study needs of a crowd: publish, fetch, review, exclude, close and the balance."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Protocol

from prefjudge.errors import CrowdError


class RefusedError(CrowdError):
    """The marketplace answered, and did nothing of what the call asks for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Requirement:
    """Who may take a HIT: a qualification, a comparison and the values to compare with."""

    qualification_type_id: str
    comparator: str
    integers: tuple[int, ...] = ()
    locales: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class HitRequest:
    """A HIT to publish.

    ``token`` makes a repeat of the same request harmless; ``annotation`` finds the HIT again after the token
    has expired.
    """

    token: str
    annotation: str
    question: str
    title: str
    description: str
    keywords: str
    reward: Decimal
    assignments: int
    duration_seconds: int
    lifetime_seconds: int
    auto_approval_seconds: int
    requirements: Sequence[Requirement]


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchedAssignment:
    """A worker's answer as the crowd returns it; nothing in it has been checked.

    ``simulated`` says whether the worker's account was made for simulation; None where the marketplace does
    not know of such accounts.
    ``feedback`` is what the worker was told with the decision.
    """

    assignment_id: str
    worker_id: str
    status: str
    accepted: float | None
    submitted: float | None
    answer: str
    simulated: bool | None
    feedback: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedHit:
    """A HIT as it was published: its ``annotation``, its ``question`` as XML, and how it is offered."""

    hit_id: str
    annotation: str
    question: str
    created: float
    reward: Decimal
    deleted: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class PaidBonus:
    """A bonus that was paid for an assignment."""

    assignment_id: str
    amount: Decimal
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchedHit:
    """A HIT as the crowd sees it.

    It is ``open`` while an answer may still come, and ``held`` where all that may come is in workers' hands;
    it has ``maximum`` assignments in all.
    """

    hit_id: str
    open: bool
    held: bool
    expired: bool
    maximum: int
    assignments: Sequence[FetchedAssignment]


class Crowd(Protocol):
    """People, or simulated people, behind one marketplace.

    Every call that creates or spends takes a token and may be repeated with it.

    Raises
    ------
    CrowdError
        The marketplace refused, failed or could not be reached.
    """

    @property
    def endpoint(self) -> str:
        """The address that the calls go to."""
        ...

    def balance(self) -> Decimal:
        """Return what there is to spend."""
        ...

    def publish(self, hit: HitRequest) -> str:
        """Publish a HIT and return its id; the same id for a repeat."""
        ...

    def find(self, annotations: Sequence[str]) -> dict[str, str]:
        """Return the ids of this requester's HITs that carry one of the annotations."""
        ...

    def listed(self) -> Iterator[ListedHit]:
        """Give this requester's HITs, the newest first, but for those that were deleted."""
        ...

    def look(self, hit_id: str) -> ListedHit:
        """Return a HIT, one that was deleted too."""
        ...

    def bonuses(self, hit_id: str) -> Sequence[PaidBonus]:
        """Return the bonuses that were paid for a HIT's assignments."""
        ...

    def extend(self, hit_id: str, assignments: int, *, token: str) -> None:
        """Ask for more assignments of a HIT, from workers who have not had it."""
        ...

    def fetch(self, hit_id: str) -> FetchedHit:
        """Return a HIT's state and all its submitted assignments."""
        ...

    def review(self, assignment_id: str, *, approve: bool, feedback: str = "") -> None:
        """Approve or reject an assignment; a repeat is harmless."""
        ...

    def bonus(self, worker_id: str, assignment_id: str, amount: Decimal, reason: str, *, token: str) -> None:
        """Pay a worker a bonus."""
        ...

    def decision(self, assignment_id: str) -> str | None:
        """Return what was decided on an assignment, ``approved`` or ``rejected``; None where nothing was."""
        ...

    def has_bonus(self, assignment_id: str, reason: str) -> bool:
        """Return whether a bonus was paid for an assignment with this reason."""
        ...

    def qualification(self, name: str, description: str) -> str:
        """Return the id of the requester's qualification of this name, made where there is none."""
        ...

    def exclude(self, worker_id: str, qualification_type_id: str) -> None:
        """Mark a worker, without a message, so that the HITs that forbid the mark are not offered."""
        ...

    def close(self, hit_id: str) -> None:
        """Let a HIT expire now; assignments that are held may still be submitted."""
        ...

    def delete(self, hit_id: str) -> None:
        """Give back what a closed HIT still holds, for answers that never came; a repeat is harmless."""
        ...
