"""A crowd behind the Mechanical Turk API: prefjudge's marketplace, or another that speaks it."""

import hashlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import ROUND_HALF_UP, Decimal
from functools import cached_property
from typing import Any

from prefjudge.crowd.mturk.client import (
    AlreadyDoneError,
    Client,
    WrongStateError,
    ask_identity,
    knows_comparator,
)
from prefjudge.crowd.mturk.questions import (
    fault_of_page,
    fault_of_test,
    read_answers,
    read_question,
    write_question,
    write_test,
)
from prefjudge.crowd.protocol import Identity, Prices, RefusedError, UnknownError
from prefjudge.crowd.tasks import (
    Dispute,
    Eligibility,
    EntryTest,
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

_CENT = Decimal("0.01")
MANY_ASSIGNMENTS = 10
"""HITs with at least this many assignments have the extra fee; smaller HITs cannot be extended to as many."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fees:
    """Implements :class:`~prefjudge.crowd.protocol.Prices` with shares of rewards and bonuses."""

    rate: Decimal = Decimal("0.20")
    many_rate: Decimal = Decimal("0.20")
    """What is added for HITs with ten assignments or more."""
    minimum: Decimal = _CENT
    """The least fee of one assignment or bonus, where there is one."""

    def submission(self, pay: Decimal, workers: int) -> Decimal:
        """Return what one assignment costs, of a HIT with ``workers`` assignments."""
        many = self.rate > 0 and workers >= MANY_ASSIGNMENTS
        rate = self.rate + (self.many_rate if many else 0)
        return pay + self._fee(pay, rate)

    def bonus(self, amount: Decimal) -> Decimal:
        """Return what one bonus costs."""
        return amount + self._fee(amount, self.rate)

    def _fee(self, amount: Decimal, rate: Decimal) -> Decimal:
        if rate == 0 or amount == 0:
            return Decimal("0.00")
        return max((amount * rate).quantize(_CENT, rounding=ROUND_HALF_UP), self.minimum)


# Who may take a HIT, as the API's qualifications; a group of workers is a qualification of the requester.

LOCALE = "00000000000000000071"
NUMBER_APPROVED = "00000000000000000040"
PERCENT_APPROVED = "000000000000000000L0"
TAKEN = "GreaterThanTaken"
"""The comparator of prefjudge's marketplace: the score is greater than the number of HITs taken."""
SIMULATED = "00000000000000000SIM"
"""The qualification of accounts that were made for simulation, at prefjudge's marketplace.

Mechanical Turk's API has no field for this, but lists who has a system qualification. Other marketplaces
answer that this one does not exist.
"""
DISPUTED = "0000000000000DISPUTE"
"""The qualification whose requests are workers' disputes, at prefjudge's marketplace; unknown elsewhere."""


class Groups:
    """The qualifications of one requester, by name."""

    def __init__(self, client: Client) -> None:
        self._client = client

    @cached_property
    def _known(self) -> dict[str, Mapping[str, object]]:
        """The requester's qualification types, by name."""
        return self._listed()

    def requirements(self, who: Eligibility) -> list[dict[str, Any]]:
        """Return the qualification requirements of a HIT."""
        needs: list[dict[str, Any]] = []
        if who.locales:
            comparator = "EqualTo" if len(who.locales) == 1 else "In"
            locales = [_locale(code) for code in who.locales]
            needs.append({"QualificationTypeId": LOCALE, "Comparator": comparator, "LocaleValues": locales})
        for kind, comparator, value in (
            (NUMBER_APPROVED, "GreaterThan", who.approved_more_than),
            (PERCENT_APPROVED, "GreaterThanOrEqualTo", who.min_approval_rate),
        ):
            if value is not None:
                needs.append(
                    {"QualificationTypeId": kind, "Comparator": comparator, "IntegerValues": [value]}
                )
        for group in who.closed_to:
            needs.append({"QualificationTypeId": self._id(group), "Comparator": "DoesNotExist"})
        needs = [{**need, "ActionsGuarded": "DiscoverPreviewAndAccept"} for need in needs]
        if who.tested_by:
            needs.append(self._passed(who.tested_by))
        return [*needs, self._limit(who.limited_by, int(who.newcomers))] if who.limited_by else needs

    def _passed(self, test: EntryTest) -> dict[str, object]:
        """Return the requirement that a worker passed a test; the test is brought up to date before."""
        wanted = write_test(test)
        found = self._find(test.group.name, wanted)
        type_id = found["QualificationTypeId"]
        if any(found.get(name) != value for name, value in wanted.items()):
            self._client.call("update_qualification_type", QualificationTypeId=type_id, **wanted)
            self._known[test.group.name] = {**found, **wanted}
        return {
            "QualificationTypeId": type_id,
            "Comparator": "GreaterThanOrEqualTo",
            "IntegerValues": [test.min_rate],
            "ActionsGuarded": "PreviewAndAccept",  # listed, so that workers find the test
        }

    def end_tests(self, mark: str) -> None:
        """Take the tests whose names end so off the workers' list, where they still are on it."""
        inactive = {"QualificationTypeStatus": "Inactive"}
        for name, found in self._known.items():
            if name.endswith(mark) and found["QualificationTypeStatus"] == "Active":
                type_id = found["QualificationTypeId"]
                self._client.call("update_qualification_type", QualificationTypeId=type_id, **inactive)
                self._known[name] = {**found, **inactive}

    def _limit(self, group: WorkerGroup, first: int) -> dict[str, object]:
        """Return the requirement by which a score limits a worker's HITs, a newcomer's to ``first``."""
        # It is the marketplace's own comparator, which counts what a worker has taken. Where that is unknown,
        # the score is what the worker may still take, and a worker gets a first one by asking for it.
        comparator, value = (TAKEN, first) if self._counts_taken else ("GreaterThan", 0)
        return {
            "QualificationTypeId": self._id(group, granted=not self._counts_taken),
            "Comparator": comparator,
            "IntegerValues": [value],
            # Listed, so that workers read why they cannot take another one yet; not shown, as it hides gold.
            "ActionsGuarded": "PreviewAndAccept",
        }

    def limit(self, worker_id: str, group: WorkerGroup, tasks: int, submitted: int) -> None:
        """Let a worker take so many HITs that a group limits, of which these were submitted."""
        self._score(worker_id, group, tasks if self._counts_taken else max(0, tasks - submitted))

    def admit(self, group: WorkerGroup, workers: int | None) -> None:
        """Let so many workers in all take HITs that a group limits, where the marketplace counts them."""
        if self._counts_taken:
            most = {"QualificationTypeId": self._id(group), "AutoGrantedValue": workers or 1}
            self._client.call("update_qualification_type", **most)

    @cached_property
    def _counts_taken(self) -> bool:
        """Whether the marketplace counts what a worker has taken."""
        return knows_comparator(self._client.endpoint, TAKEN)

    def add(self, worker_id: str, group: WorkerGroup) -> None:
        """Give a worker the qualification, without a message."""
        self._score(worker_id, group, 1)

    def remove(self, worker_id: str, group: WorkerGroup) -> None:
        """Take the qualification from a worker, who may not have it."""
        whose = {"QualificationTypeId": self._id(group), "WorkerId": worker_id}
        try:
            self._client.call("disassociate_qualification_from_worker", **whose)
        except RefusedError:
            if self._has(**whose):
                raise

    def _has(self, **whose: str) -> bool:
        try:
            self._client.call("get_qualification_score", **whose)
        except RefusedError:
            return False
        return True

    def _score(self, worker_id: str, group: WorkerGroup, score: int) -> None:
        self._client.call(
            "associate_qualification_with_worker",
            QualificationTypeId=self._id(group),
            WorkerId=worker_id,
            IntegerValue=score,
            SendNotification=False,
        )

    def _id(self, group: WorkerGroup, *, granted: bool = False) -> str:
        """Return the id of the group's qualification."""
        wanted = {"Description": group.notice, "QualificationTypeStatus": "Active"}
        more = {"AutoGranted": True, "AutoGrantedValue": 1} if granted else {}
        return str(self._find(group.name, {**wanted, **more})["QualificationTypeId"])

    def _find(self, name: str, wanted: Mapping[str, object]) -> Mapping[str, object]:
        """Return the qualification type of this name; make it as wanted if there is none."""
        if name not in self._known:
            self._known[name] = self._make(name, wanted)
        return self._known[name]

    def _make(self, name: str, wanted: Mapping[str, object]) -> Mapping[str, object]:
        try:
            made = self._client.call("create_qualification_type", Name=name, **wanted)
        except AlreadyDoneError:  # by an earlier attempt of this call, whose reply was lost
            listed = self._listed()
            if name not in listed:
                raise
            return listed[name]
        return {**wanted, **made["QualificationType"]}

    def _listed(self) -> dict[str, Mapping[str, object]]:
        kinds = self._client.each(
            "list_qualification_types",
            "QualificationTypes",
            MustBeRequestable=False,
            MustBeOwnedByCaller=True,
        )
        return {kind["Name"]: kind for kind in kinds}


def _locale(code: str) -> dict[str, str]:
    country, _, subdivision = code.partition("-")
    return {"Country": country, **({"Subdivision": subdivision} if subdivision else {})}


# What the API tells of a HIT, an assignment or a dispute, in the study's words.

STATES = {
    "Submitted": SubmissionState.SUBMITTED,
    "Approved": SubmissionState.APPROVED,
    "Rejected": SubmissionState.REJECTED,
}


ApiHit = Mapping[str, Any]
"""A HIT as the API tells of it."""


def read_task(hit: ApiHit) -> ListedTask:
    """Return a HIT as a task."""
    return ListedTask(
        task_id=hit["HITId"],
        key=hit.get("RequesterAnnotation") or "",
        created=hit["CreationTime"].timestamp(),
        pay=Decimal(hit["Reward"]),
        deleted=hit["HITStatus"] == "Disposed",
    )


def read_submission(found: Mapping[str, Any], simulated: Mapping[str, bool] | None) -> Submission:
    """Return an assignment as a submission; one whose answers are not readable has its fault."""
    raw = found.get("Answer", "")
    try:
        fields, fault = read_answers(raw), ""
    except CrowdError as error:
        fields, fault = {}, error.message
    return Submission(
        submission_id=found["AssignmentId"],
        worker_id=found["WorkerId"],
        state=STATES[found["AssignmentStatus"]],
        accepted=_seconds(found.get("AcceptTime")),
        submitted=_seconds(found.get("SubmitTime")),
        fields=fields,
        fault=fault,
        raw=raw,
        simulated=None if simulated is None else simulated[found["WorkerId"]],
        reason=found.get("RequesterFeedback", ""),
        pays_itself=_seconds(found.get("AutoApprovalTime")),
    )


def _seconds(moment: datetime | None) -> float | None:
    return moment.timestamp() if moment else None


def list_disputes(client: Client) -> list[Dispute]:
    """Return the disputes that wait: requests of a qualification that only prefjudge's marketplace has."""
    try:
        listed = list(
            client.each("list_qualification_requests", "QualificationRequests", QualificationTypeId=DISPUTED)
        )
    except RefusedError as error:
        raise RefusedError(
            f"at {client.endpoint} workers cannot dispute a rejection",
            "They write to you by e-mail there; prefjudge's own marketplace has disputes.",
        ) from error
    return [
        Dispute(
            submission_id=one["QualificationRequestId"],
            worker_id=one["WorkerId"],
            text=one.get("Answer", ""),
            raised=one["SubmitTime"].timestamp(),
        )
        for one in listed
    ]


# Many HITs by the pages of a list, where that takes less than asking for one after the other.

_WORTH_A_PAGE = 15
"""A page of a hundred HITs, with their questions, takes about as long as so many calls for one."""
_KEPT = (
    "HITStatus",
    "MaxAssignments",
    "Expiration",
    "NumberOfAssignmentsPending",
    "NumberOfAssignmentsAvailable",
)


def list_hits(client: Client, wanted: Collection[str]) -> dict[str, ApiHit]:
    """Return what a list says of the HITs wanted, without their questions."""
    # The list has the newest HITs first. It is read as long as its pages hold enough of those wanted; the
    # others are missing in what is returned.
    found: dict[str, ApiHit] = {}
    if len(wanted) < _WORTH_A_PAGE:
        return found
    missing = set(wanted)
    for page in client.pages("list_hits"):
        here = {hit["HITId"]: hit for hit in page.get("HITs", ()) if hit["HITId"] in missing}
        found |= {hit_id: {key: hit.get(key) for key in _KEPT} for hit_id, hit in here.items()}
        missing -= here.keys()
        if len(here) < _WORTH_A_PAGE or not missing:
            break
    return found


def is_untouched(hit: ApiHit) -> bool:
    """Whether no assignment of a listed HIT was submitted: all are on offer, or in workers' hands."""
    counts = (hit.get("NumberOfAssignmentsPending"), hit.get("NumberOfAssignmentsAvailable"))
    return None not in counts and sum(map(int, counts)) == hit["MaxAssignments"]  # type: ignore[arg-type]


# The crowd itself.

PULSE = "x-prefjudge-submissions"
"""A header by which prefjudge's marketplace tells with the balance how many assignments were submitted."""

_KEYWORDS = "search, reading, comparison, relevance"
"""By which workers find HITs."""


def now() -> datetime:
    """Return the current time, which tests replace."""
    return datetime.now(UTC)


class HitCrowd:
    """Implements :class:`~prefjudge.crowd.protocol.Crowd` with boto3's ``mturk`` client.

    A task is a HIT, a submission an assignment, and a group of workers a qualification. Every creating or
    spending call carries its ``UniqueRequestToken``, so the client may retry it.
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
        self._listed: dict[str, ApiHit] = {}

    @property
    def endpoint(self) -> str:
        """The address that the calls go to."""
        return self._client.endpoint

    @property
    def prices(self) -> Prices:
        """What the marketplace charges."""
        return self._fees

    def identity(self) -> Identity:
        """Ask who answers, once."""
        if self._identity is None:
            self._identity = ask_identity(self._client.endpoint)
        return self._identity

    def balance(self) -> Decimal:
        """Return what there is to spend."""
        return Decimal(str(self._client.call("get_account_balance")["AvailableBalance"]))

    def fault_of(self, html: str) -> str:
        """Return why a page does not fit into a HIT's question; empty where it does."""
        return fault_of_page(html)

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
            for hit in self.hits():
                if hit.get("RequesterAnnotation") == task.key:
                    return str(hit["HITId"])
            raise CrowdError(
                f"{self._client.endpoint} says that the HIT {task.key} exists, but does not list it",
                "Repeat the verb in a minute.",
            ) from None
        return str(created["HIT"]["HITId"])

    def tasks(self) -> Iterator[ListedTask]:
        """Yield this requester's HITs, the newest first, except deleted ones."""
        return map(read_task, self.hits())

    def hits(self) -> Iterator[ApiHit]:
        """Yield the same HITs as the API tells of them."""
        return self._client.each("list_hits", "HITs")

    def look(self, task_id: str) -> ListedTask:
        """Return a HIT, even a deleted one."""
        return read_task(self._hit(task_id))

    def page(self, task_id: str) -> Page:
        """Return the page that a HIT shows."""
        return read_question(self._hit(task_id).get("Question", ""))

    def fetch(self, task_id: str) -> TaskState:
        """Return a HIT's state and all its submitted assignments."""
        return self._fetch(task_id)

    def _fetch(self, task_id: str) -> TaskState:
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
                yield self._fetch(task_id)
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
        """Reject an assignment: the API has no other way to take a reward back."""
        # prefjudge's marketplace does not count it against a worker who got a bonus for the assignment.
        self._decide("reject_assignment", submission_id, SubmissionState.REJECTED, RequesterFeedback=reason)

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
        """Set how many HITs a worker may take, by the score in a qualification; one who left needs none."""
        with suppress(UnknownError):  # whoever worked at a marketplace that was lost
            self._groups.limit(worker_id, group, tasks, submitted)

    def admit(self, group: WorkerGroup, workers: int | None) -> None:
        """Set how many workers may take HITs, by the value in a qualification; None lets anybody in."""
        self._groups.admit(group, workers)

    def pulse(self) -> str:
        """Return how much was submitted; or what a list says of all HITs, where the balance does not tell."""
        told = self._client.call("get_account_balance")["ResponseMetadata"]["HTTPHeaders"]
        if PULSE in told:
            return str(told[PULSE])
        counts = ("HITId", "NumberOfAssignmentsPending", "NumberOfAssignmentsAvailable", "MaxAssignments")
        digest = hashlib.sha256()
        for hit in self.hits():
            digest.update(repr([hit.get(name) for name in counts]).encode())
        return digest.hexdigest()

    def _hit(self, task_id: str) -> ApiHit:
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
        """Return which workers' accounts were made for simulation; None where that is unknown."""
        # An account is made before its work is submitted, so a list that is fetched after the work has it.
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


class MTurkCrowd(HitCrowd):
    """Implements ``Testing`` and ``Disputing``, too: the workers are the marketplace's own."""

    def fault_of_test(self, test: EntryTest) -> str:
        """Return why a test does not fit into a qualification type; empty where it does."""
        return fault_of_test(test)

    def end_tests(self, mark: str) -> None:
        """Make the qualification types Inactive whose names end so; a repeat is harmless."""
        self._groups.end_tests(mark)

    def disputes(self) -> Sequence[Dispute]:
        """Return the disputes that wait for an answer: the requests of prefjudge's own qualification."""
        return list_disputes(self._client)

    def uphold(self, submission_id: str, answer: str) -> None:
        """Answer that a rejection stands."""
        self._client.call("reject_qualification_request", QualificationRequestId=submission_id, Reason=answer)
