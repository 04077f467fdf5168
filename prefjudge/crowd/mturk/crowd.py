"""A crowd behind the Mechanical Turk API: prefjudge's marketplace, or another that speaks it."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from prefjudge.crowd.mturk.client import AlreadyDoneError, Client, WrongStateError
from prefjudge.crowd.mturk.entry_tests import fault_of_test
from prefjudge.crowd.mturk.fees import MANY_ASSIGNMENTS, Fees
from prefjudge.crowd.mturk.groups import SIMULATED, Groups
from prefjudge.crowd.mturk.identity import ask_identity
from prefjudge.crowd.mturk.listed import is_untouched, list_hits
from prefjudge.crowd.mturk.questions import fault_of_page, read_question, write_question
from prefjudge.crowd.mturk.shapes import STATES, list_disputes, read_submission, read_task
from prefjudge.crowd.protocol import Identity, RefusedError
from prefjudge.crowd.submissions import Dispute, PaidBonus, SubmissionState
from prefjudge.crowd.tasks import EntryTest, ListedTask, Page, Task, TaskState, WorkerGroup
from prefjudge.errors import CrowdError

PULSE = "x-prefjudge-submissions"
"""A header by which prefjudge's marketplace tells with the balance how many assignments were submitted."""

_KEYWORDS = "search, reading, comparison, relevance"
"""By which workers find HITs."""


def now() -> datetime:
    """Return the current time, which tests replace."""
    return datetime.now(UTC)


class MTurkCrowd:
    """Implements :class:`~prefjudge.crowd.protocol.Crowd` with boto3's ``mturk`` client.

    A task is a HIT, a submission an assignment, and a group of workers a qualification.

    Parameters
    ----------
    endpoint : str
        The marketplace's address.
    signed, key
        How calls are signed: see :class:`~prefjudge.crowd.mturk.client.Client`.
    fees : Fees, optional
        What the marketplace charges; Mechanical Turk's fees by default.

    Notes
    -----
    Every creating or spending call carries its ``UniqueRequestToken``, so the client may retry it.
    """

    def __init__(
        self,
        endpoint: str,
        *,
        signed: bool | None = False,
        key: tuple[str, str] | None = None,
        fees: Fees | None = None,
    ) -> None:
        self._client = Client(endpoint, signed=signed, key=key)
        self._groups = Groups(self._client)
        self._fees = fees or Fees()
        self._identity: Identity | None = None
        self._simulated: dict[str, bool] | None = {}
        self._listed: dict[str, Mapping[str, Any]] = {}

    @property
    def endpoint(self) -> str:
        """The address that the calls go to."""
        return self._client.endpoint

    @property
    def prices(self) -> Fees:
        """What the marketplace charges."""
        return self._fees

    def identity(self) -> Identity:
        """Ask who answers, once."""
        if self._identity is None:
            self._identity = ask_identity(self.endpoint)
        return self._identity

    def balance(self) -> Decimal:
        """Return what there is to spend."""
        return Decimal(str(self._client.call("get_account_balance")["AvailableBalance"]))

    def fault_of(self, html: str) -> str:
        """Return why a page does not fit into a HIT's question; empty where it does."""
        return fault_of_page(html)

    def fault_of_test(self, test: EntryTest) -> str:
        """Return why a test does not fit into a qualification type; empty where it does."""
        return fault_of_test(test)

    def end_tests(self, mark: str) -> None:
        """Make the qualification types Inactive whose names end so; a repeat is harmless."""
        self._groups.end_tests(mark)

    def publish(self, task: Task) -> str:
        """Publish a HIT and return its id; the same id for a repeat."""
        try:
            created = self._client.call(
                "create_hit",
                UniqueRequestToken=task.token,
                RequesterAnnotation=task.key,
                Question=write_question(task.page),
                Title=task.title,
                Description=task.description,
                Keywords=_KEYWORDS,
                Reward=str(task.pay),
                MaxAssignments=task.workers,
                AssignmentDurationInSeconds=task.work_seconds,
                LifetimeInSeconds=task.lifetime_seconds,
                AutoApprovalDelayInSeconds=task.approval_seconds,
                QualificationRequirements=self._groups.requirements(task.eligibility),
            )
        except AlreadyDoneError:
            for listed in self.tasks():
                if listed.key == task.key:
                    return listed.task_id
            raise CrowdError(
                f"{self.endpoint} says that the HIT {task.key} exists, but does not list it",
                "Repeat the verb in a minute.",
            ) from None
        return str(created["HIT"]["HITId"])

    def tasks(self) -> Iterator[ListedTask]:
        """Yield this requester's HITs, the newest first, except deleted ones."""
        for hit in self._client.each("list_hits", "HITs"):
            yield read_task(hit)

    def look(self, task_id: str) -> ListedTask:
        """Return a HIT, even a deleted one."""
        return read_task(self._hit(task_id))

    def page(self, task_id: str) -> Page:
        """Return the page that a HIT shows."""
        return read_question(self._hit(task_id).get("Question", ""))

    def fetch(self, task_id: str) -> TaskState:
        """Return a HIT's state and all its submitted assignments."""
        hit = self._listed.pop(task_id, None)
        untouched = hit is not None and is_untouched(hit)
        hit = hit or self._hit(task_id)
        every = self._client.each("list_assignments_for_hit", "Assignments", HITId=task_id)
        listed = [] if untouched else list(every)
        listed.sort(key=lambda found: found["SubmitTime"])  # the API promises no order
        simulated = self._tell_simulated({found["WorkerId"] for found in listed})
        most = int(hit["MaxAssignments"])
        expired = hit["Expiration"] <= now()
        return TaskState(
            task_id=task_id,
            open=hit["HITStatus"] in ("Assignable", "Unassignable"),
            held=hit["HITStatus"] == "Unassignable",
            workers=most,
            # A HIT of fewer than ten cannot be extended to ten, and each assignment of a larger one costs
            # more than in a small HIT that is published again.
            room=0 if expired else max(0, MANY_ASSIGNMENTS - 1 - most),
            submissions=tuple(read_submission(found, simulated) for found in listed),
        )

    def fetch_each(self, task_ids: Sequence[str]) -> Iterator[TaskState | RefusedError]:
        """Give the states of HITs; one that was submitted while they are read may be told the next time."""
        self._listed = list_hits(self._client, task_ids)
        for task_id in task_ids:
            try:
                yield self.fetch(task_id)
            except RefusedError as error:
                yield error
        self._listed = {}

    def extend(self, task_id: str, workers: int, *, token: str) -> None:
        """Ask for more assignments of a HIT, from workers who have not had it."""
        try:
            self._client.call(
                "create_additional_assignments_for_hit",
                HITId=task_id,
                NumberOfAdditionalAssignments=workers,
                UniqueRequestToken=token,
            )
        except AlreadyDoneError:
            return

    def close(self, task_id: str) -> None:
        """Let a HIT expire now; assignments that are held may still be submitted."""
        past = datetime(2015, 1, 1, tzinfo=UTC)
        self._client.call("update_expiration_for_hit", HITId=task_id, ExpireAt=past)

    def delete(self, task_id: str) -> None:
        """Take back the money that a closed HIT holds for answers that never came; a repeat is harmless."""
        try:
            self._client.call("delete_hit", HITId=task_id)
        except WrongStateError:
            if self._hit(task_id)["HITStatus"] != "Disposed":
                raise

    def state(self, submission_id: str) -> SubmissionState:
        """Return what was decided on an assignment."""
        found = self._client.call("get_assignment", AssignmentId=submission_id)["Assignment"]
        return STATES[found["AssignmentStatus"]]

    def approve(self, submission_id: str, message: str = "") -> None:
        """Approve an assignment; a repeat is harmless."""
        told = {"RequesterFeedback": message} if message else {}
        self._decide("approve_assignment", submission_id, SubmissionState.APPROVED, **told)

    def reject(self, submission_id: str, reason: str) -> None:
        """Reject an assignment; a repeat is harmless."""
        self._decide("reject_assignment", submission_id, SubmissionState.REJECTED, RequesterFeedback=reason)

    def disputes(self) -> Sequence[Dispute]:
        """Return the disputes that wait for an answer: the requests of prefjudge's own qualification."""
        return list_disputes(self._client)

    def uphold(self, submission_id: str, answer: str) -> None:
        """Answer that a rejection stands."""
        self._client.call("reject_qualification_request", QualificationRequestId=submission_id, Reason=answer)

    def overturn(self, submission_id: str, answer: str) -> None:
        """Approve a rejected assignment, which every marketplace can; a repeat is harmless."""
        wanted = SubmissionState.APPROVED
        try:
            self._decide(
                "approve_assignment", submission_id, wanted, RequesterFeedback=answer, OverrideRejection=True
            )
        except RefusedError as error:
            raise RefusedError(
                error.message,
                "A rejection can be taken back for 30 days, as long as its HIT is not deleted. After that a "
                "bonus (the API's SendBonus) can make up for it.",
            ) from error

    def release(self, submission_id: str, reason: str) -> None:
        """Reject an assignment: the API has no other way to take a reward back.

        prefjudge's marketplace does not count it against a worker who got a bonus for the assignment.
        """
        self.reject(submission_id, reason)

    def bonus(self, worker_id: str, submission_id: str, amount: Decimal, reason: str, *, token: str) -> None:
        """Pay a worker a bonus."""
        try:
            self._client.call(
                "send_bonus",
                WorkerId=worker_id,
                AssignmentId=submission_id,
                BonusAmount=str(amount),
                Reason=reason,
                UniqueRequestToken=token,
            )
        except AlreadyDoneError:
            return

    def bonuses(self, task_id: str) -> Sequence[PaidBonus]:
        """Return the bonuses that were paid for a HIT's assignments."""
        return tuple(
            PaidBonus(
                submission_id=paid["AssignmentId"],
                amount=Decimal(paid["BonusAmount"]),
                reason=paid["Reason"],
            )
            for paid in self._client.each("list_bonus_payments", "BonusPayments", HITId=task_id)
        )

    def has_bonus(self, submission_id: str, reason: str) -> bool:
        """Return whether a bonus was paid for an assignment with this reason."""
        paid = self._client.each("list_bonus_payments", "BonusPayments", AssignmentId=submission_id)
        return any(bonus["Reason"] == reason for bonus in paid)

    def bar(self, worker_id: str, group: WorkerGroup) -> None:
        """Mark a worker, without a message, so that HITs that forbid the mark are not offered."""
        self._groups.add(worker_id, group)

    def readmit(self, worker_id: str, group: WorkerGroup) -> None:
        """Take the mark from a worker."""
        self._groups.remove(worker_id, group)

    def allow(self, worker_id: str, group: WorkerGroup, tasks: int, *, submitted: int) -> None:
        """Set how many HITs a worker may take, by the score in a qualification."""
        self._groups.limit(worker_id, group, tasks, submitted)

    def pulse(self) -> str:
        """Return how much was submitted; or what a list says of all HITs, where the balance does not tell."""
        told = self._client.call("get_account_balance")["ResponseMetadata"]["HTTPHeaders"]
        if PULSE in told:
            return str(told[PULSE])
        counts = ("HITId", "NumberOfAssignmentsPending", "NumberOfAssignmentsAvailable", "MaxAssignments")
        digest = hashlib.sha256()
        for hit in self._client.each("list_hits", "HITs"):
            digest.update(repr([hit.get(name) for name in counts]).encode())
        return digest.hexdigest()

    def _hit(self, task_id: str) -> dict[str, Any]:
        return self._client.call("get_hit", HITId=task_id)["HIT"]  # type: ignore[no-any-return]

    def _decide(
        self, operation: str, submission_id: str, wanted: SubmissionState, **told: str | bool
    ) -> None:
        try:
            self._client.call(operation, AssignmentId=submission_id, **told)
        except WrongStateError as error:
            found = self.state(submission_id)
            if found is not wanted:
                raise RefusedError(
                    f"assignment {submission_id} is {found}, so it cannot become {wanted}"
                ) from error

    def _tell_simulated(self, workers: set[str]) -> Mapping[str, bool] | None:
        """Return which workers' accounts were made for simulation; None where that is unknown.

        An account is made before its work is submitted, so a list that is fetched after the work has it.
        """
        if self._simulated is not None and not workers <= self._simulated.keys():
            try:
                grants = self._client.each(
                    "list_workers_with_qualification_type",
                    "Qualifications",
                    QualificationTypeId=SIMULATED,
                    Status="Granted",
                )
                known = {str(grant["WorkerId"]) for grant in grants}
            except RefusedError:
                self._simulated = None
            else:
                self._simulated |= {worker: worker in known for worker in workers}
        return self._simulated
