"""What a study needs of a crowd, in the study's words: tasks, submissions, prices and groups of workers.

A crowd is a module that :mod:`prefjudge.crowd.crowds` names. What its platform calls these things stays in
it.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Protocol

from prefjudge.crowd.submissions import PaidBonus, SubmissionState
from prefjudge.crowd.tasks import ListedTask, Page, Task, TaskState, WorkerGroup
from prefjudge.errors import CrowdError


class RefusedError(CrowdError):
    """The crowd answered, and did nothing that the call asks for; an unknown id is refused, too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CrowdSettings:
    """What a study's config says of a crowd.

    Attributes
    ----------
    url : str
        Its address; empty for the one that the crowd's module knows.
    live : bool
        Whether the study may spend real money there.
    fees : mapping of str to Decimal
        The config's ``[fees]``; a crowd that tells its own fees does not need them.
    options : mapping of str to str
        What only this crowd asks for, such as the project that pays.
    key : tuple of str, optional
        The key and the secret of the study's own marketplace. Other keys are found by the crowd, in the
        environment for instance, and are never in a config.
    """

    url: str = ""
    live: bool = False
    fees: Mapping[str, Decimal] = field(default_factory=dict)
    options: Mapping[str, str] = field(default_factory=dict)
    key: tuple[str, str] | None = None


class Prices(Protocol):
    """What a crowd charges, fees included, to the cent. Nobody is asked, so that a plan has prices, too."""

    def submission(self, pay: Decimal, workers: int) -> Decimal:
        """Return what one submission of a task costs that ``workers`` workers take."""
        ...

    def bonus(self, amount: Decimal) -> Decimal:
        """Return what a bonus costs."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """Who answers at an address: a name that stays, and whether its money is play money, if it says so."""

    name: str
    play_money: bool | None


class Crowd(Protocol):
    """People, or simulated people, behind one address.

    Every call that creates or spends takes a token and may be repeated with it.

    Raises
    ------
    RefusedError
        The crowd did nothing of what was asked for.
    CrowdError
        The crowd failed or could not be reached: what was asked for may have been done.
    """

    @property
    def endpoint(self) -> str:
        """The address that the calls go to."""
        ...

    @property
    def prices(self) -> Prices:
        """What the crowd charges."""
        ...

    def identity(self) -> Identity:
        """Ask who answers."""
        ...

    def balance(self) -> Decimal:
        """Return what there is to spend."""
        ...

    def fault_of(self, html: str) -> str:
        """Return why the crowd does not take a page as it is; empty where it does.

        It is asked before anything is intended. The study's own web server may show such a page instead.
        """
        ...

    def publish(self, task: Task) -> str:
        """Publish a task and return its id; the same id for a repeat."""
        ...

    def tasks(self) -> Iterator[ListedTask]:
        """Give the tasks of this account, the newest first, but for those that were deleted."""
        ...

    def look(self, task_id: str) -> ListedTask:
        """Return a task, one that was deleted too."""
        ...

    def page(self, task_id: str) -> Page:
        """Return the page that a task shows."""
        ...

    def fetch(self, task_id: str) -> TaskState:
        """Return a task's state and all its submissions."""
        ...

    def extend(self, task_id: str, workers: int, *, token: str) -> None:
        """Ask for more workers, who have not had the task."""
        ...

    def close(self, task_id: str) -> None:
        """Offer a task no more; workers who have it may still submit. A repeat is harmless."""
        ...

    def delete(self, task_id: str) -> None:
        """Give back what a task holds for submissions that never came; a repeat is harmless.

        The task is closed, and all submissions are decided on.
        """
        ...

    def state(self, submission_id: str) -> SubmissionState:
        """Return what was decided on a submission."""
        ...

    def approve(self, submission_id: str) -> None:
        """Pay for a submission; a repeat is harmless."""
        ...

    def reject(self, submission_id: str, reason: str) -> None:
        """Refuse to pay for a submission, with a reason that its worker reads; a repeat is harmless."""
        ...

    def release(self, submission_id: str, reason: str) -> None:
        """Take back the pay that a bonus replaced, which is not a verdict on the work.

        A repeat is harmless.
        """
        ...

    def bonus(self, worker_id: str, submission_id: str, amount: Decimal, reason: str, *, token: str) -> None:
        """Pay a worker a bonus."""
        ...

    def bonuses(self, task_id: str) -> Sequence[PaidBonus]:
        """Return the bonuses that were paid for a task's submissions."""
        ...

    def has_bonus(self, submission_id: str, reason: str) -> bool:
        """Return whether a bonus was paid for a submission with this reason."""
        ...

    def bar(self, worker_id: str, group: WorkerGroup) -> None:
        """Put a worker into a group, without a message; a repeat is harmless.

        What is closed to the group is not offered to the worker any more, even if it is published already.
        """
        ...
