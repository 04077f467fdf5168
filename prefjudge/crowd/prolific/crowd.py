"""The crowd of a study whose people are recruited on Prolific, and work at the study's own marketplace."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from decimal import Decimal

from prefjudge.crowd.mturk.crowd import HitCrowd
from prefjudge.crowd.prolific.money import CENT
from prefjudge.crowd.prolific.recruitment import Recruitment, annotate, read_annotation
from prefjudge.crowd.protocol import Identity, Prices, RefusedError
from prefjudge.crowd.tasks import (
    Eligibility,
    ListedTask,
    SubmissionState,
    Task,
    TaskState,
    WorkerGroup,
)
from prefjudge.words import many


class ProlificCrowd(HitCrowd):
    """Implements :class:`~prefjudge.crowd.protocol.Crowd` and ``Recruiting``.

    HITs are the marketplace's, which keeps in play money what everybody has earned. One Prolific study sends
    the people, each for a visit of so many HITs, and pays what a visit has earned when it is settled.
    """

    def __init__(self, marketplace: str, key: tuple[str, str], recruitment: Recruitment) -> None:
        super().__init__(marketplace, key=key)
        self._recruitment = recruitment
        self._left = Decimal(0)
        self._pay: int | None = None

    @property
    def endpoint(self) -> str:
        """The address of Prolific's API."""
        return self._recruitment.endpoint

    @property
    def prices(self) -> Prices:
        """What Prolific charges."""
        return self._recruitment.prices

    def identity(self) -> Identity:
        """Ask who answers: the workspace, and the marketplace that has the HITs."""
        name = f"prolific {self._recruitment.account.workspace} {super().identity().name}"
        return Identity(name=name, play_money=False)

    def balance(self) -> Decimal:
        """Return what there is to spend beside what the HITs cost, if Prolific does not know it yet, too."""
        return self._recruitment.balance()

    def publish(self, task: Task) -> str:
        """Publish a HIT; the people come when `recruit` is called."""
        _refuse_requirements(task.eligibility)
        self._refuse_unpaid(task.workers * self.prices.submission(task.pay, task.workers))
        self._refuse_another_pay(int(task.pay / CENT))
        return super().publish(replace(task, key=annotate(task)))

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
        return map(_listed, super().tasks())

    def look(self, task_id: str) -> ListedTask:
        """Return a HIT, even a deleted one."""
        return _listed(super().look(task_id))

    def fetch(self, task_id: str) -> TaskState:
        """Return a HIT's state and its assignments, as far as Prolific knows who made them."""
        self._recruitment.submissions.sync()
        return super().fetch(task_id)

    def fetch_each(self, task_ids: Sequence[str]) -> Iterator[TaskState | RefusedError]:
        """Give the states of HITs; as `fetch`."""
        self._recruitment.submissions.sync()
        yield from super().fetch_each(task_ids)

    def extend(self, task_id: str, workers: int, *, token: str) -> None:
        """Ask for more assignments of a HIT."""
        self._refuse_unpaid(workers * self.prices.submission(self.look(task_id).pay, workers))
        super().extend(task_id, workers, token=token)

    def reject(self, submission_id: str, reason: str) -> None:
        """Reject an assignment, and the submission on Prolific where it is all of the visit."""
        if self.state(submission_id) is SubmissionState.SUBMITTED:
            self._recruitment.reject(submission_id, reason)
        super().reject(submission_id, reason)

    def bar(self, worker_id: str, group: WorkerGroup) -> None:
        """Put a worker into a group; one whose members get nothing more is a blocklist on Prolific, too."""
        super().bar(worker_id, group)
        if group.bars:
            self._recruitment.bar(worker_id)

    def readmit(self, worker_id: str, group: WorkerGroup) -> None:
        """Take a worker out of a group, and from the blocklist on Prolific; a repeat is harmless."""
        super().readmit(worker_id, group)
        if group.bars:
            self._recruitment.readmit(worker_id)

    def pulse(self) -> str:
        """Return a mark that is another one when something was submitted."""
        self._recruitment.submissions.sync_at_times()
        return super().pulse()

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
                f"{name} of [workers] is for marketplaces: Prolific itself knows where people come from, "
                "and what they have done",
                f"Delete {name}, and choose people by filters of the Prolific target (docs/prolific.md).",
            )


def _listed(listed: ListedTask) -> ListedTask:
    found = read_annotation(listed.key)
    return replace(listed, key=found.key) if found else listed
