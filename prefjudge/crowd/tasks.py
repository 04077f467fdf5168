"""A task: its page, who may take it, what it pays, and its progress."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum

from prefjudge.core.hits import Comparison

# A submission: what a worker sent back for a task, the decision on it, and its bonuses.


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


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerGroup:
    """A group of workers, known by its name; its members may read the ``notice``.

    ``bars`` says that the members get no task of the study any more, so that they need not come at all.
    """

    name: str
    notice: str
    bars: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """A question of a test: of its ``options``, in the order shown, the one at ``right`` is right."""

    key: str
    text: str
    options: tuple[str, ...]
    right: int


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryTest:
    """A test that workers take before their first task.

    Attributes
    ----------
    group : WorkerGroup
        Those who took it; it is known by the group's name, and they may read its notice before.
    intro : str
        What stands above the questions.
    choices : tuple of Choice
        The questions.
    min_rate : int
        The least percentage of right answers with which a worker is offered tasks.
    work_seconds, retry_seconds : int
        How long a worker may take, and how long who took it waits before taking it again.
    """

    group: WorkerGroup
    intro: str
    choices: tuple[Choice, ...]
    min_rate: int
    work_seconds: int
    retry_seconds: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Eligibility:
    """Who may take a task.

    Attributes
    ----------
    locales : tuple of str
        Countries, or their parts (``US-CA``), from which workers come; empty: any.
    approved_more_than : int, optional
        A worker has had more submissions approved than this.
    min_approval_rate : int, optional
        The least percentage of a worker's submissions that were approved.
    closed_to : tuple of WorkerGroup
        Nobody in one of these groups is offered the task.
    limited_by : WorkerGroup, optional
        Nobody takes more of the tasks with this group than :meth:`Crowd.allow` has allowed; a worker for whom
        it was never called takes one, or none where the task is not for ``newcomers``.
    tested_by : EntryTest, optional
        Nobody takes the task without having passed; for crowds that are :class:`~.protocol.Testing`.
    """

    locales: tuple[str, ...] = ()
    approved_more_than: int | None = None
    min_approval_rate: int | None = None
    closed_to: tuple[WorkerGroup, ...] = ()
    limited_by: WorkerGroup | None = None
    newcomers: bool = True
    tested_by: EntryTest | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """What a worker sees: a page, or its address at the study's own web server."""

    html: str = ""
    address: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """A task to publish.

    Attributes
    ----------
    token : str
        Makes a repeat of the same call harmless, for a day.
    key : str
        Identifies the task after that; no other task of the study has it.
    page : Page
        The page.
    comparisons : tuple of Comparison
        What the page asks, for a crowd that shows no pages, but hands on tasks in a form of its own. Its
        submissions have the fields that the page's would have: of each comparison the ``name`` with the token
        of the passage chosen, and ``consent`` with ``yes``.
    title, description : str
        How it is offered.
    pay : Decimal
        What each worker is paid.
    workers : int
        How many workers may take it, each once.
    work_seconds, lifetime_seconds, approval_seconds : int
        How long a worker may take, how long it is offered, and after how long an undecided submission is
        approved.
    expected_seconds : int
        How long the work usually takes; 0 where nobody knows.
    eligibility : Eligibility
        Who may take it.
    """

    token: str
    key: str
    page: Page
    title: str
    description: str
    pay: Decimal
    workers: int
    work_seconds: int
    lifetime_seconds: int
    approval_seconds: int
    expected_seconds: int = 0
    eligibility: Eligibility = Eligibility()
    comparisons: tuple[Comparison, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedTask:
    """A task as it was published, and whether it was deleted later."""

    task_id: str
    key: str
    created: float
    pay: Decimal
    deleted: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskState:
    """The progress of a task.

    Attributes
    ----------
    task_id : str
        The crowd's id.
    open : bool
        Whether submissions may still come.
    held : bool
        Whether workers are working on all of those.
    workers : int
        How many workers may take it in all, extensions included.
    room : int
        By how many it can still be extended; 0 once it is no longer offered.
    submissions : sequence of Submission
        All that came, the earliest first.
    """

    task_id: str
    open: bool
    held: bool
    workers: int
    room: int
    submissions: Sequence[Submission]
