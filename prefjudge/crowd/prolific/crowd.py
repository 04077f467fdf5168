"""The crowd of a study whose people are recruited on Prolific, and work at the study's own marketplace."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from decimal import Decimal

from prefjudge.crowd.mturk import MTurkCrowd
from prefjudge.crowd.prolific.money import CENT, CalculatedPrices
from prefjudge.crowd.prolific.recruitment import Recruitment, annotate, read_annotation
from prefjudge.crowd.protocol import Identity, RefusedError
from prefjudge.crowd.tasks import (
    Eligibility,
    ListedTask,
    Page,
    PaidBonus,
    SubmissionState,
    Task,
    TaskState,
    WorkerGroup,
)
from prefjudge.words import many


class ProlificCrowd:
    """Implements :class:`~prefjudge.crowd.protocol.Crowd` and ``Recruiting``.

    HITs are the marketplace's, which keeps in play money what everybody has earned. One Prolific study sends
    the people, each for a visit of so many HITs, and pays what a visit has earned when it is settled.

    Parameters
    ----------
    inner : MTurkCrowd
        The marketplace.
    recruitment : Recruitment
        The people that Prolific sends there.
    """

    def __init__(self, inner: MTurkCrowd, recruitment: Recruitment) -> None:
        self._inner, self._recruitment = inner, recruitment
        self._left = Decimal(0)
        self._pay: int | None = None

    @property
    def endpoint(self) -> str:
        """The address of Prolific's API."""
        return self._recruitment.endpoint

    @property
    def prices(self) -> CalculatedPrices:
        """What Prolific charges."""
        return self._recruitment.prices

    def identity(self) -> Identity:
        """Ask who answers: the workspace, and the marketplace that has the HITs."""
        inner = self._inner.identity()
        return Identity(name=f"prolific {self._recruitment.account.workspace} {inner.name}", play_money=False)

    def balance(self) -> Decimal:
        """Return what there is to spend beside what the HITs cost, if Prolific does not know it yet, too."""
        return self._recruitment.balance()

    def fault_of(self, html: str) -> str:
        """Return why a page does not fit into a HIT; empty where it does."""
        return self._inner.fault_of(html)

    def publish(self, task: Task) -> str:
        """Publish a HIT; the people come when `recruit` is called."""
        _refuse_requirements(task.eligibility)
        self._refuse_unpaid(task.workers * self.prices.submission(task.pay, task.workers))
        self._refuse_another_pay(int(task.pay / CENT))
        return self._inner.publish(replace(task, key=annotate(task)))

    def _refuse_unpaid(self, cost: Decimal) -> None:
        """Refuse what the account cannot pay for; it is asked again only where its last answer is less."""
        if self._left < cost:
            self._left = self.balance()
        if self._left < cost:
            raise RefusedError(
                f"the workspace holds ${self._left:.2f} beside what the HITs cost, and this costs ${cost}",
                "Add money to the workspace, then repeat the verb.",
            )
        self._left -= cost

    def _refuse_another_pay(self, cents: int) -> None:
        hits = self._recruitment.account.hits
        if self._pay is None:
            study = self._recruitment.find()
            if study is None:
                self._recruitment.link("")  # refused before the first HIT is published
            self._pay = study.reward if study else cents * hits
        if self._pay != cents * hits:
            raise RefusedError(
                f"the study on Prolific pays {self._pay} cents for a visit, and {many(hits, 'HIT')} of "
                f"{cents} cents make {cents * hits}",
                "Set reward, and hits of the target, back: a study on Prolific keeps its reward.",
            )

    def tasks(self) -> Iterator[ListedTask]:
        """Yield the HITs that were published for Prolific, the newest first, except deleted ones."""
        for listed in self._inner.tasks():
            yield _listed(listed)

    def look(self, task_id: str) -> ListedTask:
        """Return a HIT, even a deleted one."""
        return _listed(self._inner.look(task_id))

    def page(self, task_id: str) -> Page:
        """Return the page that a HIT shows."""
        return self._inner.page(task_id)

    def fetch(self, task_id: str) -> TaskState:
        """Return a HIT's state and its assignments, as far as Prolific knows who made them."""
        self._recruitment.submissions.sync()
        return self._inner.fetch(task_id)

    def fetch_each(self, task_ids: Sequence[str]) -> Iterator[TaskState | RefusedError]:
        """Give the states of HITs; as `fetch`."""
        self._recruitment.submissions.sync()
        yield from self._inner.fetch_each(task_ids)

    def extend(self, task_id: str, workers: int, *, token: str) -> None:
        """Ask for more assignments of a HIT."""
        self._refuse_unpaid(workers * self.prices.submission(self.look(task_id).pay, workers))
        self._inner.extend(task_id, workers, token=token)

    def close(self, task_id: str) -> None:
        """Stop offering a HIT."""
        self._inner.close(task_id)

    def delete(self, task_id: str) -> None:
        """Delete a HIT."""
        self._inner.delete(task_id)

    def state(self, submission_id: str) -> SubmissionState:
        """Return what was decided on an assignment."""
        return self._inner.state(submission_id)

    def approve(self, submission_id: str, message: str = "") -> None:
        """Approve an assignment; Prolific pays when its visit is settled."""
        self._inner.approve(submission_id, message)

    def reject(self, submission_id: str, reason: str) -> None:
        """Reject an assignment, and the submission on Prolific where it is all of the visit."""
        if self.state(submission_id) is SubmissionState.SUBMITTED:
            self._recruitment.reject(submission_id, reason)
        self._inner.reject(submission_id, reason)

    def release(self, submission_id: str, reason: str) -> None:
        """Take back the pay that a bonus replaced."""
        self._inner.release(submission_id, reason)

    def bonus(self, worker_id: str, submission_id: str, amount: Decimal, reason: str, *, token: str) -> None:
        """Record a bonus, once; Prolific pays it when the visit is settled."""
        self._inner.bonus(worker_id, submission_id, amount, reason, token=token)

    def bonuses(self, task_id: str) -> Sequence[PaidBonus]:
        """Return the bonuses for a HIT's assignments."""
        return self._inner.bonuses(task_id)

    def has_bonus(self, submission_id: str, reason: str) -> bool:
        """Return whether a bonus was given for an assignment with this reason."""
        return self._inner.has_bonus(submission_id, reason)

    def bar(self, worker_id: str, group: WorkerGroup) -> None:
        """Put a worker into a group; one whose members get nothing more is a blocklist on Prolific, too."""
        self._inner.bar(worker_id, group)
        if group.bars:
            self._recruitment.blocklist.add(worker_id)

    def readmit(self, worker_id: str, group: WorkerGroup) -> None:
        """Take a worker out of a group, and from the blocklist on Prolific; a repeat is harmless."""
        self._inner.readmit(worker_id, group)
        if group.bars:
            self._recruitment.blocklist.remove(worker_id)

    def allow(self, worker_id: str, group: WorkerGroup, tasks: int, *, submitted: int) -> None:
        """Let a worker take so many HITs."""
        self._inner.allow(worker_id, group, tasks, submitted=submitted)

    def pulse(self) -> str:
        """Return a mark that is another one when something was submitted."""
        self._recruitment.submissions.sync_at_times()
        return self._inner.pulse()

    def recruit(self) -> tuple[str, ...]:
        """Let as many people come as the HITs on offer need."""
        return self._recruitment.recruit()

    def plan(self, task: Task, workers: int) -> Sequence[str]:
        """Return the calls by which people would be recruited for tasks like this one."""
        _refuse_requirements(task.eligibility)
        return self._recruitment.plan(task, workers)

    def settle(self, *, held: bool = False) -> tuple[str, ...]:
        """Pay at Prolific what was decided here, and fit the number of people to what is still on offer."""
        return self._recruitment.settle(held=held)


def _refuse_requirements(who: Eligibility) -> None:
    """Refuse what only Prolific knows of people: the worker site would let nobody in."""
    known = {
        "locales": who.locales,
        "approved_more_than": who.approved_more_than,
        "min_approval_rate": who.min_approval_rate,
    }
    for name, value in known.items():
        if value not in ((), None):
            raise RefusedError(
                f"{name} of [workers] is for marketplaces: Prolific knows whence people come, and what they "
                "have done",
                f"Delete {name}, and choose people by filters of the Prolific target (docs/prolific.md).",
            )


def _listed(listed: ListedTask) -> ListedTask:
    found = read_annotation(listed.key)
    return replace(listed, key=found.key) if found else listed
