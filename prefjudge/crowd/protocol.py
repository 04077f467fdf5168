"""What a study needs of a crowd, in the study's words: tasks, submissions, prices and groups of workers.

A crowd is a module that :mod:`prefjudge.crowd.crowds` names. Its platform's own terms stay inside it.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Protocol, runtime_checkable

from prefjudge.crowd.tasks import (
    Dispute,
    EntryTest,
    ListedTask,
    Page,
    PaidBonus,
    SubmissionState,
    Task,
    TaskState,
    WorkerGroup,
)
from prefjudge.errors import CrowdError


class RefusedError(CrowdError):
    """The crowd answered, and did nothing of what the call asks for; an unknown id is also refused."""


class UnknownError(RefusedError):
    """The crowd does not know what the call names, as after a restore from a backup."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CrowdSettings:
    """What a study's config says about a crowd.

    Attributes
    ----------
    url : str
        Its address; empty for the one that the crowd's module knows.
    live : bool
        Whether the study may spend real money there.
    rate : Decimal
        The ``rate`` of the config's ``[fees]``; a crowd that tells its own fees does not need it.
    options : mapping of str to str
        What only this crowd asks for, such as the project that pays.
    key : tuple of str, optional
        The key and the secret of the study's own marketplace. A crowd finds other keys itself, for instance
        in the environment; they are never in a config.
    public_url : str
        Where the people of the study's own marketplace reach it; empty where nobody serves it.
    study : str
        The study's folder as a shell takes it, for the commands that messages advise.
    pseudonym : callable
        Gives what stands for a worker's id in messages.
    remember : callable
        Keeps a text in the study, unless it is empty; gives the one that is kept, such as the id of what the
        crowd has made elsewhere.
    """

    url: str = ""
    live: bool = False
    rate: Decimal = Decimal("0.20")
    options: Mapping[str, str] = field(default_factory=dict)
    key: tuple[str, str] | None = None
    public_url: str = ""
    study: str = "STUDY"
    pseudonym: Callable[[str], str] = str
    remember: Callable[[str], str] = str


class Prices(Protocol):
    """What a crowd charges, fees included, to the cent. Nothing is sent, so that a plan has prices, too."""

    def submission(self, pay: Decimal, workers: int) -> Decimal:
        """Return what one submission costs, of a task for this many ``workers``."""
        ...

    def bonus(self, amount: Decimal) -> Decimal:
        """Return what a bonus costs."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """Who answers at an address: a lasting name, and whether its money is play money (None: unknown)."""

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
        """Return why the crowd refuses a page; empty where it accepts it.

        Called before any intent is recorded. The study's own web server may show such a page instead.
        """
        ...

    def publish(self, task: Task) -> str:
        """Publish a task and return its id; the same id for a repeat."""
        ...

    def tasks(self) -> Iterator[ListedTask]:
        """Yield the tasks of this account, the newest first, except deleted ones."""
        ...

    def look(self, task_id: str) -> ListedTask:
        """Return a task, even a deleted one."""
        ...

    def page(self, task_id: str) -> Page:
        """Return the page that a task shows."""
        ...

    def fetch(self, task_id: str) -> TaskState:
        """Return a task's state and all its submissions."""
        ...

    def fetch_each(self, task_ids: Sequence[str]) -> Iterator[TaskState | RefusedError]:
        """Give the state of each task, or why it is refused, in their order; many in few calls."""
        ...

    def extend(self, task_id: str, workers: int, *, token: str) -> None:
        """Ask for more workers, who have not had the task."""
        ...

    def close(self, task_id: str) -> None:
        """Stop offering a task; workers who have it may still submit. A repeat is harmless."""
        ...

    def delete(self, task_id: str) -> None:
        """Take back the money that a task holds for submissions that never came; a repeat is harmless.

        Before this, the task was closed and all its submissions were decided on.
        """
        ...

    def state(self, submission_id: str) -> SubmissionState:
        """Return what was decided on a submission."""
        ...

    def approve(self, submission_id: str, message: str = "") -> None:
        """Pay for a submission, with a message that its worker reads; a repeat is harmless."""
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

        Tasks that are closed to the group are no longer offered to the worker, even if already published.
        """
        ...

    def readmit(self, worker_id: str, group: WorkerGroup) -> None:
        """Take a worker out of a group, without a message; a repeat is harmless."""
        ...

    def allow(self, worker_id: str, group: WorkerGroup, tasks: int, *, submitted: int) -> None:
        """Let a worker take so many of the tasks that are limited by a group, in all; a repeat is harmless.

        What the worker gave back does not count. ``submitted`` says how many of the tasks the caller has
        received: where a crowd cannot count what a worker takes, the worker may take the difference until the
        next call, and perhaps more.
        """
        ...

    def admit(self, group: WorkerGroup, workers: int | None) -> None:
        """Let so many people in all take tasks that are limited by a group, two at least; None: anybody.

        A crowd that does not count them, or whose people are vouched for elsewhere, lets anybody in.
        """
        ...

    def pulse(self) -> str:
        """Return a mark that is another one when something was submitted since; it is cheap to ask often."""
        ...


@runtime_checkable
class Recruiting(Protocol):
    """What a crowd has besides whose people come from elsewhere, and are paid there."""

    def recruit(self) -> tuple[str, ...]:
        """Let as many people come as the tasks on offer need; a repeat lets no more come.

        Returns what a person did there that keeps people away, in sentences.
        """
        ...

    def plan(self, task: Task, workers: int) -> Sequence[str]:
        """Return the calls by which ``recruit`` would let so many workers come for tasks like this one."""
        ...

    def settle(
        self, *, held: bool = False, dry_run: bool = False
    ) -> tuple[Decimal, tuple[str, ...], Mapping[str, CrowdError]]:
        """Pay what was decided, each once, and let as many people come as the tasks still need.

        What a person decided there stands. Returns what was paid; sentences: how it stands there, and what
        happened there; and why submissions are not paid whose pay failed, by their ids.
        ``held`` pays what was rejected; with ``dry_run`` nothing is done, and they say what that would be.
        """
        ...

    def is_paid(self, submission_id: str) -> bool:
        """Return whether all is paid there that whoever made a submission has earned."""
        ...

    def steer(self, *, stop: bool | None = None, places: int | None = None) -> tuple[str, ...]:
        """Let nobody come any more, let people come again, or set how many may; return how it stands."""
        ...

    def plan_steering(
        self, *, stop: bool | None = None, places: int | None = None
    ) -> tuple[Sequence[str], tuple[str, ...], Decimal, Decimal]:
        """Return what ``steer`` would call and what to know before; nothing is changed.

        Returns, too, what the people cost who may come besides, and what all cost with what was charged.
        """
        ...

    def quote(self, pay: Decimal, workers: int) -> tuple[Decimal, str]:
        """Return what so many workers cost together for this ``pay``, and the currency of all amounts."""
        ...


@runtime_checkable
class Testing(Protocol):
    """What a crowd has besides that can test workers before their first task (``Eligibility.tested_by``)."""

    def fault_of_test(self, test: EntryTest) -> str:
        """Return why the crowd refuses a test; empty where it accepts it. Called as ``fault_of`` is."""
        ...

    def end_tests(self, mark: str) -> None:
        """Offer the tests no more whose names end with this mark; a repeat is harmless.

        The results stay, and who has begun may hand in. The next task that asks for a test offers it again.
        """
        ...


@runtime_checkable
class Disputing(Protocol):
    """What a crowd has besides whose workers may dispute a rejection."""

    def disputes(self) -> Sequence[Dispute]:
        """Return the disputes that wait for an answer; refused where workers have no way to dispute."""
        ...

    def uphold(self, submission_id: str, answer: str) -> None:
        """Answer that a rejection stands; refused where no dispute waits."""
        ...

    def overturn(self, submission_id: str, answer: str) -> None:
        """Pay for a rejected submission after all, which answers its dispute; a repeat is harmless."""
        ...
