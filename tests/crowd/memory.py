"""A crowd in memory: an honest state machine of tasks, submissions and money, with rules of its own.

It has no XML, no qualifications and other fees; a study that goes through it knows only the protocol. A
platform is found by the address in study.toml, as a crowd elsewhere would be.
"""

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import ROUND_UP, Decimal

from prefjudge.crowd.protocol import CrowdSettings, Identity, RefusedError
from prefjudge.crowd.tasks import (
    Eligibility,
    ListedTask,
    Page,
    PaidBonus,
    Submission,
    SubmissionState,
    Task,
    TaskState,
    WorkerGroup,
)
from prefjudge.errors import CrowdError

CENT = Decimal("0.01")
TOKEN_LIFE = 86_400.0
MOST_WORKERS = 50
LONGEST_PAGE = 500_000
DECIDED = (SubmissionState.APPROVED, SubmissionState.REJECTED)


@dataclass(frozen=True)
class Prices:
    """A third on top, rounded up: unlike the fees of any config."""

    def submission(self, pay: Decimal, workers: int) -> Decimal:
        return self.bonus(pay)

    def bonus(self, amount: Decimal) -> Decimal:
        return (amount * 4 / 3).quantize(CENT, rounding=ROUND_UP)


@dataclass
class Person:
    """A worker."""

    locale: str = "US"
    approved: int = 1000
    approval_rate: int = 99
    simulated: bool = False


@dataclass
class Work:
    """What a worker took, and perhaps sent back."""

    worker_id: str
    accepted: float
    sent: Submission | None = None


@dataclass
class Published:
    """A task with all that became of it."""

    task_id: str
    task: Task
    created: float
    workers: int
    ends: float
    deleted: bool = False
    works: dict[str, Work] = field(default_factory=dict)


@dataclass
class Platform:
    """The people, the tasks and the account; the clock is a test's."""

    name: str
    play_money: bool = True
    balance: Decimal = Decimal("10000.00")
    prices: Prices = Prices()
    people: dict[str, Person] = field(default_factory=dict)
    groups: dict[str, set[str]] = field(default_factory=dict)
    limits: dict[tuple[str, str], int] = field(default_factory=dict)
    tasks: dict[str, Published] = field(default_factory=dict)
    bonuses: list[PaidBonus] = field(default_factory=list)
    tokens: dict[str, tuple[float, str]] = field(default_factory=dict)
    ahead: float = 0.0
    lose_replies: bool = False
    _count: int = 0

    def now(self) -> float:
        return time.time() + self.ahead

    def number(self, kind: str) -> str:
        self._count += 1
        return f"{kind}{self._count}"

    def join(self, person: Person) -> str:
        worker_id = self.number("worker")
        self.people[worker_id] = person
        return worker_id

    def offers(self, worker_id: str, task_id: str) -> bool:
        """Whether a task is offered to a worker."""
        found, person = self.tasks[task_id], self.people[worker_id]
        who = found.task.eligibility
        return (
            self.now() < found.ends
            and self.room(found) > 0
            and all(work.worker_id != worker_id for work in found.works.values())
            and (not who.locales or person.locale in who.locales)
            and (who.approved_more_than is None or person.approved > who.approved_more_than)
            and (who.min_approval_rate is None or person.approval_rate >= who.min_approval_rate)
            and not any(worker_id in self.groups.get(group.name, ()) for group in who.closed_to)
            and (who.limited_by is None or self.taken(worker_id, who.limited_by) < self.limit(worker_id, who))
        )

    def limit(self, worker_id: str, who: Eligibility) -> int:
        return self.limits.get((who.limited_by.name, worker_id), 1) if who.limited_by else 0

    def taken(self, worker_id: str, group: WorkerGroup) -> int:
        """How many tasks of a group a worker has, or has sent back."""
        return sum(
            work.worker_id == worker_id and (work.sent is not None or work in self.held(found))
            for found in self.tasks.values()
            if found.task.eligibility.limited_by == group
            for work in found.works.values()
        )

    def room(self, found: Published) -> int:
        """How many more workers may take a task: those whose time is over have given it back."""
        return found.workers - len(self.submissions(found)) - len(self.held(found))

    def held(self, found: Published) -> list[Work]:
        limit = found.task.work_seconds
        return [w for w in found.works.values() if w.sent is None and self.now() < w.accepted + limit]

    def take(self, worker_id: str, task_id: str) -> str:
        assert self.offers(worker_id, task_id), "not offered"
        submission_id = self.number("submission")
        self.tasks[task_id].works[submission_id] = Work(worker_id=worker_id, accepted=self.now())
        return submission_id

    def submit(self, submission_id: str, fields: Mapping[str, str]) -> None:
        found = next(found for found in self.tasks.values() if submission_id in found.works)
        work = found.works[submission_id]
        assert work in self.held(found), "too late, or submitted before"
        work.sent = Submission(
            submission_id=submission_id,
            worker_id=work.worker_id,
            state=SubmissionState.SUBMITTED,
            accepted=work.accepted,
            submitted=self.now(),
            fields=dict(fields),
            fault="",
            raw=json.dumps(dict(fields)),
            simulated=self.people[work.worker_id].simulated,
            reason="",
        )

    def submissions(self, found: Published) -> list[Submission]:
        """What came; what nobody decided on in time is approved."""
        for work in found.works.values():
            sent = work.sent
            if sent and sent.state is SubmissionState.SUBMITTED:
                due = (sent.submitted or 0.0) + found.task.approval_seconds
                if self.now() >= due:
                    work.sent = replace(sent, state=SubmissionState.APPROVED)
        came = [work.sent for work in found.works.values() if work.sent]
        return sorted(came, key=lambda sent: sent.submitted or 0.0)


PLATFORMS: dict[str, Platform] = {}


class MemoryCrowd:
    """An account at a platform."""

    def __init__(self, platform: Platform) -> None:
        self._at = platform

    @property
    def endpoint(self) -> str:
        return self._at.name

    @property
    def prices(self) -> Prices:
        return self._at.prices

    def identity(self) -> Identity:
        return Identity(name=self._at.name, play_money=self._at.play_money)

    def balance(self) -> Decimal:
        return self._at.balance

    def fault_of(self, html: str) -> str:
        return "" if len(html) < LONGEST_PAGE else "a page has at most 500,000 characters"

    def publish(self, task: Task) -> str:
        if known := self._known(task.token):
            return known
        self._charge(task.workers * self._at.prices.submission(task.pay, task.workers))
        task_id, now = self._at.number("task"), self._at.now()
        self._at.tasks[task_id] = Published(
            task_id=task_id, task=task, created=now, workers=task.workers, ends=now + task.lifetime_seconds
        )
        return self._done(task.token, task_id)

    def tasks(self) -> Iterator[ListedTask]:
        for found in reversed(list(self._at.tasks.values())):
            if not found.deleted:
                yield self.look(found.task_id)

    def look(self, task_id: str) -> ListedTask:
        found = self._task(task_id)
        return ListedTask(
            task_id=task_id,
            key=found.task.key,
            created=found.created,
            pay=found.task.pay,
            deleted=found.deleted,
        )

    def page(self, task_id: str) -> Page:
        return self._task(task_id).task.page

    def fetch_each(self, task_ids: Sequence[str]) -> Iterator[TaskState | RefusedError]:
        for task_id in task_ids:
            try:
                yield self.fetch(task_id)
            except RefusedError as error:
                yield error

    def fetch(self, task_id: str) -> TaskState:
        found = self._task(task_id)
        held, room, over = self._at.held(found), self._at.room(found), self._at.now() >= found.ends
        return TaskState(
            task_id=task_id,
            open=bool(held) or (room > 0 and not over),
            held=bool(held) and (room == 0 or over),
            workers=found.workers,
            room=0 if over else MOST_WORKERS - found.workers,
            submissions=tuple(self._at.submissions(found)),
        )

    def extend(self, task_id: str, workers: int, *, token: str) -> None:
        found = self._task(task_id)
        if self._known(token):
            return
        if found.workers + workers > MOST_WORKERS:
            raise RefusedError(f"{task_id} cannot have more than {MOST_WORKERS} workers")
        self._charge(workers * self._at.prices.submission(found.task.pay, found.workers))
        found.workers += workers
        self._done(token, task_id)

    def close(self, task_id: str) -> None:
        found = self._task(task_id)
        found.ends = min(found.ends, self._at.now())

    def delete(self, task_id: str) -> None:
        found, state = self._task(task_id), self.fetch(task_id)
        if found.deleted:
            return
        if state.open or any(sent.state not in DECIDED for sent in state.submissions):
            raise RefusedError(f"{task_id} is open, or its submissions wait for a decision")
        unused = found.workers - len(state.submissions)
        self._at.balance += unused * self._at.prices.submission(found.task.pay, found.workers)
        found.deleted = True

    def state(self, submission_id: str) -> SubmissionState:
        return self._sent(submission_id)[1].state

    def approve(self, submission_id: str, message: str = "") -> None:
        self._decide(submission_id, SubmissionState.APPROVED, message)

    def reject(self, submission_id: str, reason: str) -> None:
        self._decide(submission_id, SubmissionState.REJECTED, reason)

    def release(self, submission_id: str, reason: str) -> None:
        self._decide(submission_id, SubmissionState.REJECTED, reason)

    def bonus(self, worker_id: str, submission_id: str, amount: Decimal, reason: str, *, token: str) -> None:
        _, sent = self._sent(submission_id)
        if sent.worker_id != worker_id:
            raise RefusedError(f"{submission_id} is not {worker_id}'s")
        if self._known(token):
            return
        self._charge(self._at.prices.bonus(amount))
        self._at.bonuses.append(PaidBonus(submission_id=submission_id, amount=amount, reason=reason))
        self._done(token, submission_id)

    def bonuses(self, task_id: str) -> tuple[PaidBonus, ...]:
        works = self._task(task_id).works
        return tuple(paid for paid in self._at.bonuses if paid.submission_id in works)

    def has_bonus(self, submission_id: str, reason: str) -> bool:
        self._sent(submission_id)
        return any((paid.submission_id, paid.reason) == (submission_id, reason) for paid in self._at.bonuses)

    def bar(self, worker_id: str, group: WorkerGroup) -> None:
        if worker_id not in self._at.people:
            raise RefusedError(f"nobody is {worker_id}")
        self._at.groups.setdefault(group.name, set()).add(worker_id)

    def readmit(self, worker_id: str, group: WorkerGroup) -> None:
        if worker_id not in self._at.people:
            raise RefusedError(f"nobody is {worker_id}")
        self._at.groups.setdefault(group.name, set()).discard(worker_id)

    def allow(self, worker_id: str, group: WorkerGroup, tasks: int, *, submitted: int) -> None:
        if worker_id not in self._at.people:
            raise RefusedError(f"nobody is {worker_id}")
        self._at.limits[group.name, worker_id] = tasks

    def admit(self, group: WorkerGroup, workers: int | None) -> None:
        """Let anybody in."""

    def pulse(self) -> str:
        return str(sum(len(self._at.submissions(found)) for found in self._at.tasks.values()))

    def _task(self, task_id: str) -> Published:
        if task_id not in self._at.tasks:
            raise RefusedError(f"there is no task {task_id}")
        return self._at.tasks[task_id]

    def _sent(self, submission_id: str) -> tuple[Published, Submission]:
        for found in self._at.tasks.values():
            for sent in self._at.submissions(found):
                if sent.submission_id == submission_id:
                    return found, sent
        raise RefusedError(f"there is no submission {submission_id}")

    def _decide(self, submission_id: str, state: SubmissionState, reason: str = "") -> None:
        found, sent = self._sent(submission_id)
        if sent.state not in (state, SubmissionState.SUBMITTED):
            raise RefusedError(f"{submission_id} is {sent.state}, so it cannot become {state}")
        if sent.state is SubmissionState.SUBMITTED:
            found.works[submission_id].sent = replace(sent, state=state, reason=reason)
            if state is SubmissionState.REJECTED:
                self._at.balance += self._at.prices.submission(found.task.pay, found.workers)

    def _charge(self, amount: Decimal) -> None:
        if amount > self._at.balance:
            raise RefusedError(f"the account holds ${self._at.balance}, and this costs ${amount}")
        self._at.balance -= amount

    def _known(self, token: str) -> str:
        made, what = self._at.tokens.get(token, (0.0, ""))
        return what if self._at.now() < made + TOKEN_LIFE else ""

    def _done(self, token: str, what: str) -> str:
        self._at.tokens[token] = (self._at.now(), what)
        if self._at.lose_replies:
            raise CrowdError("the line is dead")
        return what


def open_crowd(settings: CrowdSettings) -> MemoryCrowd:
    """Open an account at the platform of this address, as a crowd's module does."""
    if settings.url not in PLATFORMS:
        raise CrowdError(f"no platform answers at {settings.url}")
    return MemoryCrowd(PLATFORMS[settings.url])


def read_prices(settings: CrowdSettings) -> Prices:
    return Prices()
