"""The crowd of a study whose people are recruited on Prolific, and work at the study's own marketplace."""

import json
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from functools import cached_property
from html import escape
from math import ceil, sqrt
from statistics import median
from typing import Any
from urllib.parse import urlsplit

from prefjudge.crowd.mturk.crowd import ApiHit, HitCrowd
from prefjudge.crowd.prolific.client import (
    CLOSED,
    PART,
    Account,
    Client,
    Found,
    Site,
    Studies,
    Submission,
    Visit,
    code_of,
    make_codes,
    read_submission,
    way_back,
    without_shared,
)
from prefjudge.crowd.prolific.money import CENT, CalculatedPrices, Payments, approved_for
from prefjudge.crowd.protocol import CrowdSettings, Identity, Prices, RefusedError
from prefjudge.crowd.tasks import (
    Dispute,
    Eligibility,
    ListedTask,
    SubmissionState,
    Task,
    TaskState,
    WorkerGroup,
)
from prefjudge.errors import CrowdError
from prefjudge.resources import is_inside
from prefjudge.words import many

_MARK = "prolific"


def annotate(task: Task) -> str:
    """Return the annotation of a HIT."""
    return f"{task.key} {_MARK} {task.expected_seconds}"


def read_annotation(text: str) -> tuple[str, int] | None:
    """Return the key that the study gave a HIT, and how many seconds the work usually takes.

    None where the HIT is not for Prolific's participants.
    """
    key, mark, seconds = [*text.rsplit(" ", 2), "", ""][:3]
    return (key, int(seconds)) if mark == _MARK and seconds.isdecimal() else None


def count_outstanding(hit: ApiHit) -> int:
    """Return how many assignments of a HIT are on offer or in workers' hands."""
    pending, available = int(hit["NumberOfAssignmentsPending"]), int(hit["NumberOfAssignmentsAvailable"])
    return {"Assignable": pending + available, "Unassignable": pending}.get(hit["HITStatus"], 0)


# What Prolific says of those whom it has sent: whose work counts, and whose HITs are free again.

_LOOKED_UP = 50
"""At most so many visits that Prolific does not list are asked for by one look."""
_GONE = {"RETURNED": "returned", "TIMED-OUT": "timed_out", "SCREENED OUT": "screened_out"}
_UNDECIDED = ("RESERVED", "ACTIVE", "AWAITING REVIEW")
SYNC_EVERY = 20.0
"""Seconds between two looks at Prolific's submissions, while somebody watches."""


class Submissions:
    """The submissions of one study, which ``find`` returns once there is one."""

    def __init__(self, client: Client, site: Site, find: Callable[[], Found | None]) -> None:
        self._client, self._site, self._find = client, site, find
        self._synced = float("-inf")
        self.elsewhere: dict[str, str] = {}
        """Prolific's submissions by which people came here though they are of other studies, and of which."""

    def read(self, study: Found) -> dict[str, Submission]:
        """Return the submissions, by their ids."""
        listed = self._client.each("/api/v1/submissions/", study=study.study_id, ordering="started_at")
        return dict(read_submission(self._client, one) for one in listed)

    def sync_at_times(self) -> None:
        """Do what `sync` does, unless it was done a moment ago."""
        if time.monotonic() - self._synced >= SYNC_EVERY:
            self.sync()

    def sync(self) -> dict[str, Submission]:
        """Tell the site what Prolific says of each submission, and return them."""
        study = self._find()
        if study is None or study.status == "UNPUBLISHED":
            return {}
        listed = self.read(study)
        told = [
            {"session": session, "participant": one.participant, "status": _GONE.get(one.status, "known")}
            for session, one in listed.items()
        ]
        strange = [v for v in self._site.visits() if v.waiting and v.session not in listed]
        known, self.elsewhere = self.elsewhere, {}
        for visit in sorted(strange, key=lambda one: one.session in known)[:_LOOKED_UP]:
            found = self._ask(visit)
            if (other := found.get("study_id")) == study.study_id:
                continue
            if found.get("status") in (*_UNDECIDED, "UNKNOWN"):
                self.elsewhere[visit.session] = str(other)
            else:  # a forged link, or it is decided there: the work does not count, as nobody is paid here
                told.append({"session": visit.session, "participant": visit.participant, "status": "unknown"})
        self._site.tell(told)
        self._synced = time.monotonic()
        return listed

    def _ask(self, visit: Visit) -> Mapping[str, object]:
        """Return what Prolific knows of a visit: the list may be older than it, and a link can be forged."""
        if not visit.session.isalnum():
            return {}
        try:
            found = self._client.get(f"/api/v1/submissions/{visit.session}/")
        except RefusedError:  # what somebody typed into a link may not even be an id
            return {}
        return found if isinstance(found, dict) and found.get("participant") == visit.participant else {}


# The people: as many as the HITs need.

GROUPS = "/api/v1/participant-groups/"
_FREED = ("RETURNED", "TIMED-OUT", "SCREENED OUT")
"""What gives a place back, which Prolific offers to others by itself."""
_PARTLY = "PARTIALLY APPROVED"
_WAITS = ("AWAITING REVIEW", "APPROVED", _PARTLY)
_STUDY = "local"
"""What a study's own marketplace calls the study, as a requester."""
_FLOORS = {"GBP": Decimal("6.00"), "USD": Decimal("8.00")}
"""The least that Prolific lets an hour pay."""
_NEAR = Decimal("1.1")
"""Up to this multiple of it a warning is due."""


class ProlificCrowd(HitCrowd):
    """Implements :class:`~prefjudge.crowd.protocol.Crowd` and ``Recruiting``.

    HITs are the marketplace's, which keeps in play money what everybody has earned. One Prolific study sends
    the people, each for a visit of so many HITs, and pays what a visit has earned when it is settled.
    """

    def __init__(
        self, settings: CrowdSettings, key: tuple[str, str], client: Client, account: Account
    ) -> None:
        super().__init__(settings.url, key=key)
        self._prolific, self._settings, self._secret = client, settings, key[1]
        self.account = account
        self._prices = CalculatedPrices(client, account.hits)
        self._site = Site(settings.url, key[1])
        self.submissions = Submissions(client, self._site, self.find)
        self._left = Decimal(0)
        self._pay: int | None = None

    @property
    def endpoint(self) -> str:
        """The address of Prolific's API."""
        return self._prolific.url

    @property
    def _hits(self) -> int:
        """HITs that a visit has, as it was published: study.toml may say otherwise since."""
        return self._site.hits or self.account.hits

    @property
    def prices(self) -> Prices:
        """What Prolific charges."""
        return self._prices

    def identity(self) -> Identity:
        """Ask who answers: the workspace, and the marketplace that has the HITs."""
        name = f"prolific {self.account.workspace} {super().identity().name}"
        return Identity(name=name, play_money=False)

    def quote(self, pay: Decimal, workers: int) -> tuple[Decimal, str]:
        """Return what Prolific's calculator says of the places for so many workers, and the currency."""
        hits = self.account.hits
        cents = self._prices.place(int(pay * hits / CENT), ceil(workers / hits)) if workers else 0
        return cents * CENT, self._prolific.balance(self.account.workspace)[1]

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
        hits = self.account.hits
        if self._pay is None:
            study = self.find()
            if study is None:
                self.link("")  # refused before the first HIT is published
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
        self.submissions.sync()
        return super().fetch(task_id)

    def fetch_each(self, task_ids: Sequence[str]) -> Iterator[TaskState | RefusedError]:
        """Give the states of HITs; as `fetch`."""
        self.submissions.sync()
        yield from super().fetch_each(task_ids)

    def extend(self, task_id: str, workers: int, *, token: str) -> None:
        """Ask for more assignments of a HIT."""
        self._refuse_unpaid(workers * self.prices.submission(self.look(task_id).pay, workers))
        super().extend(task_id, workers, token=token)

    def state(self, submission_id: str) -> SubmissionState:
        """Return what was decided on an assignment; a restored worker site is told first who made it."""
        try:
            return super().state(submission_id)
        except RefusedError:
            self.submissions.sync_at_times()
            return super().state(submission_id)

    def pulse(self) -> str:
        """Return a mark that is another one when something was submitted."""
        self.submissions.sync_at_times()
        return super().pulse()

    # ---- who is kept out, and whose work is refused

    def bar(self, worker_id: str, group: WorkerGroup) -> None:
        """Put a worker into a group; one whose members get nothing more is a blocklist on Prolific, too."""
        super().bar(worker_id, group)
        if group.bars:
            self._change_blocklist("POST", worker_id)

    def readmit(self, worker_id: str, group: WorkerGroup) -> None:
        """Take a worker out of a group, and from the blocklist on Prolific; a repeat is harmless."""
        super().readmit(worker_id, group)
        if group.bars:
            self._change_blocklist("DELETE", worker_id)

    def _change_blocklist(self, method: str, worker_id: str) -> None:
        people = {visit.participant for visit in self._site.visits() if visit.worker_id == worker_id}
        if people:
            path = f"{GROUPS}{self._find_blocklist()}/participants/"
            self._prolific.call(method, path, {"participant_ids": sorted(people)})

    @property
    def _blocklist(self) -> dict[str, object]:
        """Whom Prolific sends no more: a group of the workspace, which the study's filters name."""
        return {"name": f"{self._name} barred", "workspace_id": self.account.workspace}

    def _find_blocklist(self) -> str:
        """Return the group's id; make it if there is none."""
        wanted = self._blocklist
        listed = self._prolific.get(GROUPS, workspace_id=self.account.workspace)
        for group in self._prolific.listed(listed):
            if group.get("name") == wanted["name"] and not group.get("is_deleted"):
                return str(group["id"])
        # Not repeated where the reply is lost: the next call finds it by its name.
        return str(self._prolific.call("POST", GROUPS, wanted, again=False)["id"])

    def reject(self, submission_id: str, reason: str) -> None:
        """Reject an assignment, and the submission on Prolific where it is all of the visit."""
        found = self._visit_of(submission_id)
        known = found and found[1].participant  # of who is forgotten Prolific's id is, too
        if (
            found
            and known
            and found[1].wanted == 1
            and self.state(submission_id) is SubmissionState.SUBMITTED
        ):
            found[0].reject(found[1].session, reason)
        super().reject(submission_id, reason)

    def disputes(self) -> Sequence[Dispute]:
        """Refuse: participants dispute a rejection by a message on Prolific."""
        raise RefusedError(
            "participants dispute a rejection by a message on Prolific, which its API does not tell of",
            "Read and answer it there; to take a rejection back: prefjudge reject "
            f'{self._settings.study} ASSIGNMENT --overturn --live --reason "…"',
        )

    def uphold(self, submission_id: str, answer: str) -> None:
        """Refuse: the answer is a message on Prolific."""
        self.disputes()

    def overturn(self, submission_id: str, answer: str) -> None:
        """Pay for a rejected assignment after all, and take the rejection back on Prolific, too."""
        found = self._visit_of(submission_id)
        if found and not found[1].participant:
            raise RefusedError(
                "whose work it was is forgotten, so nobody knows whom to pay",
                "It stays rejected here. If you still know the submission on Prolific, pay a bonus there.",
            )
        super().overturn(submission_id, answer)
        if found and found[1].wanted == 1 and not found[1].payments:  # what a bonus pays stays rejected there
            found[0].unreject(found[1].session)

    def _visit_of(self, assignment: str) -> tuple[Payments, Visit] | None:
        """Return the visit that has an assignment, and who pays it; None where there is none."""
        visit = next((one for one in self._site.visits() if assignment in one.assignments), None)
        study = self.find()
        return (self._payments(study), visit) if visit and study else None

    # ---- the study on Prolific, and its money

    @cached_property
    def _name(self) -> str:
        return f"prefjudge {super().identity().name}"

    @cached_property
    def _studies(self) -> Studies:
        remember = self._settings.remember
        return Studies(self._prolific, self.account.project, self._name, self._come_by, remember)

    def _come_by(self) -> Sequence[str]:
        """Return the studies of the links by which people came, the confirmed first: a link can be forged."""
        visits = sorted(self._site.visits(), key=lambda one: (not one.confirmed, one.study))
        return [*dict.fromkeys(one.study for one in visits if one.study.isalnum())][:_LOOKED_UP]

    def find(self) -> Found | None:
        """Return the study at Prolific; None where there is none yet."""
        return self._studies.find()

    def _list_hits(self) -> list[tuple[ApiHit, tuple[str, int]]]:
        """Return the HITs that were published for Prolific, the newest first."""
        listed = ((hit, hit.get("RequesterAnnotation") or "") for hit in self.hits())
        return [(hit, found) for hit, text in listed if (found := read_annotation(text))]

    def _outstanding(self) -> int:
        return sum(count_outstanding(hit) for hit, _ in self._list_hits())

    def balance(self) -> Decimal:
        """Return what there is to spend beside what the HITs cost, if Prolific does not know it yet, too."""
        study = self.find()
        cents, _ = self._prolific.balance(self.account.workspace)
        spent = Decimal(0)
        if study:
            spent += sum(self._cost_of(visit, study) for visit in self._site.visits())
        for hit, _ in self._list_hits():
            spent += count_outstanding(hit) * self.prices.submission(Decimal(hit["Reward"]), 1)
        return (cents + self._held(study)) * CENT - spent

    def _held(self, study: Found | None, after: int = 0) -> int:
        """Return the cents that Prolific keeps for the study's places, and those that it has paid.

        With ``after``, as if so many places were open.
        """
        if study is None or study.status == "UNPUBLISHED":
            return 0
        statuses = [one.status for one in self.submissions.read(study).values()]
        there = sum(statuses.count(one) for one in _UNDECIDED)
        over = statuses.count("APPROVED") + statuses.count("PARTIALLY APPROVED")
        places = there if study.status == "COMPLETED" and not after else (after or study.places) - over
        return self._prolific.charged(study.study_id)[0] + places * self._prices.place(study.reward)

    def _cost_of(self, visit: Visit, study: Found) -> Decimal:
        """Return what a visit costs: each HIT that waits for a decision, and what it has earned."""
        hit = self.prices.submission(study.reward / Decimal(self._hits) * CENT, 1)
        return visit.to_review * hit + self.prices.bonus(visit.earned)

    def recruit(self) -> tuple[str, ...]:
        """Let as many people come as the HITs on offer need."""
        hits = self._list_hits()
        outstanding = sum(count_outstanding(hit) for hit, _ in hits)
        if not outstanding:
            return ()
        study = self.find()
        if study is None:
            self._end_rehearsal()
            offer = self._offer(hits[0][0], hits[0][1][1])
            link = self.link(self._make_panel(offer["reward"]))
            places = ceil(outstanding / self.account.hits)
            study = self._draft_study(self._draft(offer, link, places, self._find_blocklist()))
        if study.status == "UNPUBLISHED":
            self._make_panel(study.reward)
            self._studies.keep(study)
            wanted = ceil(outstanding / self.account.hits)
            if wanted != study.places:
                study = self._studies.resize(study, wanted)
            self._studies.move(study, "PUBLISH")
            return ()
        return self._fit(study, *self._count_people())

    def _draft_study(self, wanted: dict[str, object]) -> Found:
        """Make the draft with a code for partial approval, or without it where the workspace has none."""
        with_part = [*self._ways_back(), code_of(PART, self._codes[PART])]
        try:
            return self._studies.draft({**wanted, "completion_codes": with_part})
        except RefusedError:
            return self._studies.draft(wanted)

    @cached_property
    def _codes(self) -> dict[str, str]:
        return make_codes(self._secret)

    def _ways_back(self) -> list[dict[str, object]]:
        return [code_of(outcome, code) for outcome, code in self._codes.items() if outcome != PART]

    def _end_rehearsal(self) -> None:
        """Stop offering the HITs that are not for Prolific's participants, who would take them, too."""
        for hit in self.hits():
            if read_annotation(hit.get("RequesterAnnotation") or "") is None and count_outstanding(hit):
                self.close(hit["HITId"])

    def is_paid(self, submission_id: str) -> bool:
        """Return whether Prolific has paid all that the visit of an assignment has earned, as last seen."""
        found = self._visit_of(submission_id)
        return found is None or not (found[1].due or found[1].unseen)

    def settle(
        self, *, held: bool = False, dry_run: bool = False
    ) -> tuple[Decimal, tuple[str, ...], Mapping[str, CrowdError]]:
        """Pay at Prolific what was decided here, and fit the number of people to what is still on offer.

        With ``held`` a person has looked at what was rejected at Prolific: it is paid, too. Returns what was
        paid, without fees; how the study stands there, and what a person did there; and what is not paid.
        """
        study, nothing = self.find(), Decimal("0.00")
        if dry_run:
            if study is None or study.status == "UNPUBLISHED" or not held:
                return nothing, (), {}
            visits, listed = self._site.visits(), self.submissions.read(study)
            return nothing, self._payments(study).foresee(visits, listed), {}
        draft = study is not None and study.status == "UNPUBLISHED"
        if study is None or (draft and not self._studies.is_kept(study)):
            # only who publishes makes one: a person may have deleted it there, or copied it
            outstanding = self._outstanding()
            which = "only a draft" if draft else "no study"
            said = (
                f"{many(outstanding, 'assignment waits', 'assignments wait')} for people, and {which} on "
                f"Prolific is this one's; to {'publish' if draft else 'make'} it: "
                f"prefjudge publish {self._settings.study} --live"
            )
            return nothing, (said,) * bool(outstanding), {}
        if draft:
            return nothing, self.recruit(), {}
        self._studies.keep(study)
        listed, visits, outstanding = self._count_people()
        kept_away = self._fit(study, listed, visits, outstanding)
        paid, happened, unpaid = self._payments(study).settle(visits, listed, held=held)
        return paid, (*self._standing(outstanding), *kept_away, *happened), unpaid

    def steer(self, *, stop: bool | None = None, places: int | None = None) -> tuple[str, ...]:
        """Stop the study or let it go on, as a person says; or set how many people may take part."""
        self._steer_to(*self._steered(stop, places)[:2], stop)
        return self._standing(self._outstanding())

    def plan_steering(
        self, *, stop: bool | None = None, places: int | None = None
    ) -> tuple[Sequence[str], tuple[str, ...], Decimal, Decimal]:
        """Return the calls of `steer`, what to know before, and what more places, and then all, cost."""
        study, after, needed = self._steered(stop, places)
        self._studies.planned = calls = list[str]()
        self._steer_to(study, after, stop)
        self._studies.planned = None
        if stop:
            return calls, (), Decimal("0.00"), Decimal("0.00")
        more = self._prices.place(study.reward, after - study.places) if after > study.places else 0
        said = (_too_many(after, needed),) if after > needed else ()
        return calls, said, more * CENT, self._held(study, after) * CENT

    def _steered(self, stop: bool | None, places: int | None) -> tuple[Found, int, int]:
        """Return the study, how many places it is to have, and how many it needs."""
        study = self.find()
        if study is None or study.status == "UNPUBLISHED":
            raise RefusedError("nothing of this study is published on Prolific", "Publish it first.")
        if stop:
            return study, study.places, study.places
        listed, visits, outstanding = self._count_people()
        if not outstanding:
            raise RefusedError(
                "no HIT waits for people: whoever came would find nothing to do", "Publish HITs first."
            )
        over = study.status in ("AWAITING REVIEW", "COMPLETED")  # only more places make it run again
        wanted, least = self._wanted(listed, visits, outstanding), study.places + over
        if places is not None and places < least:
            raise RefusedError(
                f"the study has {many(study.places, 'place')} on Prolific, which never lowers them"
                f"{', and goes on only with more' if over else ''}",
                f"Give more; to let nobody come any more: prefjudge publish {self._settings.study} --stop",
            )
        return study, places or max(wanted, least), max(_used(listed), wanted)

    def _steer_to(self, study: Found, places: int, stop: bool | None) -> None:
        if stop:
            self._studies.stop(study, by_hand=True)
            return
        if study.status == "PAUSED":
            self._studies.move(study, "START")
        self._studies.resize(study, places)

    def _standing(self, outstanding: int) -> tuple[str, ...]:
        """Return how the study stands on Prolific, what was edited there, and what an hour pays."""
        study = self.find()
        assert study is not None
        listed = self.submissions.read(study)
        visits = without_shared(self._site.visits(), listed)
        statuses = [one.status for one in listed.values()]
        counts = ", ".join(f"{statuses.count(one)} {one.lower()}" for one in dict.fromkeys(statuses))
        used = _used(listed)
        currency = self._prolific.balance(self.account.workspace)[1]
        charged, rewards, bonuses = self._prolific.charged(study.study_id)
        said = [
            f"on Prolific the study is {study.status.lower()}: {used} of {many(study.places, 'place')} taken"
            f"{f' ({counts})' if counts else ''}, {self._compared(charged, currency, visits)}"
        ]
        if currency != "USD":
            said.append(f"the account is in {currency}, and so are all amounts here, even those with a $")
        if others := self._studies.doubles:
            said.append(
                f"{many(others, 'other study has', 'other studies have')} this one's internal name on "
                "Prolific: stop or rename it there, as nobody who comes by it is paid from here"
            )
        if came := self.submissions.elsewhere:
            said.append(
                f"{many(len(came), 'submission')} by which people came here "
                f"{'is' if len(came) == 1 else 'are'} of another study on Prolific "
                f"({', '.join(sorted({*came.values()}))}): the work waits, neither counted nor paid here; "
                "once each is paid, rejected or returned there, its HIT is free for others"
            )
        rewards_here = (int(Decimal(hit["Reward"]) / CENT) for hit, _ in self._list_hits())
        here = next((self._hits * one for one in rewards_here), study.reward)
        if self._hits != self.account.hits:
            said.append(
                f"hits of the target in study.toml is {self.account.hits}, and the study on Prolific was "
                f"published with {self._hits}: set it back"
            )
        elif here != study.reward:
            said.append(
                f"the reward was changed on Prolific: it pays {study.reward * CENT:.2f} for a visit, and the "
                f"HITs say {here * CENT:.2f}"
            )
        elif not any(one.unseen for one in visits):  # else whose part is on top is not known yet
            said += self._parts_differ(study, listed, visits, rewards)
        if (more := bonuses * CENT - sum(one.asked for one in visits)) > 0:
            said.append(
                f"Prolific has paid ${more} more in bonuses than the records here hold: perhaps by hand, "
                "long after it was asked for, or before the worker site was restored from a backup"
            )
        needed = max(used, self._wanted(listed, visits, outstanding))
        if outstanding and study.places > needed:
            said.append(_too_many(study.places, needed))
        paces = [one.seconds for one in listed.values() if one.seconds and one.status in _WAITS]
        if paces:
            hourly = study.reward * CENT * 3600 / Decimal(median(paces))
            floor = _FLOORS.get(currency, Decimal(0))
            least = f", and Prolific asks for {floor} or more" if floor else ""
            advice = ": raise the reward, or show fewer pairs in a HIT" if hourly < floor * _NEAR else ""
            said.append(f"an hour pays {hourly:.2f} at the median time by Prolific's clock{least}{advice}")
        return tuple(said)

    def _compared(self, charged: int, currency: str, visits: Sequence[Visit]) -> str:
        """Return what Prolific has charged, and what the visits come to here where that differs by a cent."""
        there = charged * CENT
        here = sum((self.prices.bonus(one) for visit in visits for one in visit.payments), Decimal(0))
        if there == here:
            return f"{there:.2f} {currency} charged"
        return (
            f"charged {there:.2f} {currency} there, and {here:.2f} by the records here ({there - here:+.2f})"
        )

    def _parts_differ(
        self, study: Found, listed: Mapping[str, Submission], visits: Sequence[Visit], rewards: int
    ) -> Iterator[str]:
        """Yield what submissions approved in part were paid, with bonuses, where they did not earn that."""
        statuses, reward = {session: one.status for session, one in listed.items()}, study.reward * CENT
        parts = [one for one in visits if one.decided and statuses.get(one.session) == _PARTLY]
        counts = Counter(statuses.values())
        paid = rewards * CENT - counts["APPROVED"] * reward
        more = paid - sum(approved_for(_PARTLY, one, reward) for one in parts)
        # where more got some of the rewards, nobody knows whose is what
        if parts and more and len(parts) == counts[_PARTLY] + counts["SCREENED OUT"]:
            read = self._payments(study).read
            beside = sum(max(Decimal(0), read(one.session)[1] - one.asked) for one in parts)
            got = f"${paid:.2f}{f', and ${beside:.2f} by bonuses' if beside else ''}"
            if more := more + beside:
                yield (
                    f"{many(len(parts), 'submission')} approved in part on Prolific got {got}, which is "
                    f"${abs(more):.2f} {'more' if more > 0 else 'less'} than was owed"
                )

    def _payments(self, study: Found) -> Payments:
        return Payments(
            client=self._prolific,
            site=self._site,
            study=study,
            workspace=self.account.workspace,
            part_code=self._codes[PART],
            settings=self._settings,
        )

    def _count_people(self) -> tuple[dict[str, Submission], tuple[Visit, ...], int]:
        """Return who has come, and how many assignments wait for people, counted last.

        Whoever submits meanwhile is in neither number. In both, a place more would be offered for no work.
        """
        listed = self.submissions.sync()
        return listed, without_shared(self._site.visits(), listed), self._outstanding()

    def _wanted(self, listed: Mapping[str, Submission], visits: Sequence[Visit], outstanding: int) -> int:
        """Return how many places the HITs need, with those that are used up."""
        done = {visit.session for visit in visits if visit.complete}
        settled = sum(
            one.status in _WAITS or (one.status in ("ACTIVE", "RESERVED") and session in done)
            for session, one in listed.items()
        )
        return settled + ceil(outstanding / self._hits)

    def _fit(
        self, study: Found, listed: Mapping[str, Submission], visits: Sequence[Visit], outstanding: int
    ) -> tuple[str, ...]:
        """Raise the places where the HITs need more people, and stop the study where they need none.

        Prolific never lowers places, and gives those of returned and timed-out submissions to others itself.
        A study that a person has paused or stopped is left as it is; returns words that say so.
        """
        if not outstanding:
            if study.status == "ACTIVE":
                self._studies.stop(study)
            return ()
        if study.status == "ACTIVE" and study.stopped:
            # a kill before it was stopped, or a person who let it go on: the next stop may be a person's
            study = self._studies.resize(study, study.places)
        statuses = [one.status for one in listed.values()]
        over = study.status in ("AWAITING REVIEW", "COMPLETED") and not study.stopped
        early = _used(listed) < study.places or (
            study.status == "COMPLETED" and any(one in _UNDECIDED for one in statuses)
        )
        by_hand = study.stopped not in ("", CLOSED)
        if study.status == "PAUSED" or by_hand or (over and early):
            how = "paused on Prolific" if study.status == "PAUSED" else "stopped on Prolific"
            return (
                f"the study was {'stopped from here' if by_hand else how} and stays so: "
                f"{many(outstanding, 'assignment waits', 'assignments wait')} for people; to let them come: "
                f"prefjudge publish {self._settings.study} --resume",
            )
        wanted = self._wanted(listed, visits, outstanding)
        if study.status == "COMPLETED":  # only more places make it run again
            wanted = max(wanted, study.places + 1)
        if wanted > study.places:
            self._studies.resize(study, wanted)
        return ()

    def plan(self, task: Task, workers: int) -> Sequence[str]:
        """Return the calls by which people would be recruited for tasks like this one; nothing is changed."""
        _refuse_requirements(task.eligibility)
        study = self.find()
        wanted = ceil(workers / self.account.hits)
        publish = 'transition/ {"action": "PUBLISH"}'
        if study is None:
            seconds, allowed = task.expected_seconds, task.work_seconds
            offer = self._offer_of(task.title, task.description, task.pay, seconds, allowed)
            link = f"{self._settings.public_url.rstrip('/') or 'https://the-worker-site'}/panel/prolific/…"
            draft = self._draft(offer, link, wanted, "…")
            return [
                f"POST {GROUPS} {json.dumps(self._blocklist)}",
                f"POST /api/v1/studies/ {json.dumps(draft, ensure_ascii=False)}",
                f"POST /api/v1/studies/…/{publish}",
            ]
        path = f"/api/v1/studies/{study.study_id}/"
        places = f'PATCH {path} {{"total_available_places": {study.places + wanted}}}'
        return [places, *([f"POST {path}{publish}"] if study.status == "UNPUBLISHED" else [])]

    def _offer(self, hit: ApiHit, seconds: int) -> dict[str, Any]:
        pay, allowed = Decimal(hit["Reward"]), int(hit["AssignmentDurationInSeconds"])
        return self._offer_of(hit["Title"], hit["Description"], pay, seconds, allowed)

    def _offer_of(self, title: str, text: str, pay: Decimal, seconds: int, allowed: int) -> dict[str, Any]:
        """Return what a study offers whose HITs take so many seconds, and may take ``allowed``."""
        hits = self.account.hits
        minutes = max(1, ceil(hits * seconds / 60))
        least = 2 + 2 * minutes + 2 * sqrt(minutes)  # which Prolific wants
        return {
            "name": title,
            "description": f"<p>{escape(text, quote=False)}</p>",
            "reward": hits * int(pay / CENT),
            "estimated_completion_time": minutes,
            "maximum_allowed_time": ceil(max(hits * allowed / 60, least)),
        }

    def _draft(self, offer: Mapping[str, Any], link: str, places: int, blocklist: str) -> dict[str, object]:
        """Return the draft of a study, as Prolific's API takes it."""
        parameters = "PROLIFIC_PID={{%PROLIFIC_PID%}}&STUDY_ID={{%STUDY_ID%}}&SESSION_ID={{%SESSION_ID%}}"
        barred = {"filter_id": "participant_group_blocklist", "selected_values": [blocklist]}
        return {
            **offer,
            "internal_name": self._name,
            "external_study_url": f"{link}?{parameters}",
            "prolific_id_option": "url_parameters",
            "completion_codes": self._ways_back(),
            "total_available_places": places,
            "device_compatibility": [],
            "filters": [*self.account.filters, barred],
            "project": self.account.project,
            "metadata": self._name,
            "submissions_config": {"max_submissions_per_participant": 1},
            **({"is_external_study_url_secure": True} if self.account.secure else {}),
        }

    def _make_panel(self, reward: int) -> str:
        keys = f"{self._prolific.url}/.well-known/study/jwks.json" if self.account.secure else ""
        ways = {outcome: way_back(code) for outcome, code in self._codes.items() if outcome != PART}
        panel = {"completion": ways, "hits": self.account.hits, "confirm": True, "keys": keys}
        return self._site.make({**panel, "requester": _STUDY, "reward": f"{reward * CENT:.2f}"})

    def link(self, path: str) -> str:
        """Return the address of a path of the worker site, for participants."""
        if not self._settings.public_url:
            raise RefusedError(
                "Prolific's participants would not find the worker site: nobody serves it",
                f"Run `prefjudge serve {self._settings.study} --public-url https://…` beside it, then repeat "
                "the verb.",
            )
        inside = is_inside(urlsplit(self._settings.public_url).hostname or "")
        if inside and not is_inside(urlsplit(self._prolific.url).hostname or ""):
            raise RefusedError(
                f"participants cannot reach the worker site at {self._settings.public_url}: that is not a "
                "public address",
                "Serve it behind a web server with TLS (deploy/), with --public-url https://….",
            )
        return f"{self._settings.public_url.rstrip('/')}{path}"


def _used(listed: Mapping[str, Submission]) -> int:
    """Return how many places are taken."""
    return sum(one.status not in _FREED for one in listed.values())


def _too_many(places: int, needed: int) -> str:
    return (
        f"the study has {many(places, 'place')} on Prolific, and the HITs need {needed}: who takes one of "
        "the others finds nothing to do"
    )


def _refuse_requirements(who: Eligibility) -> None:
    """Refuse what only Prolific knows of people: the worker site would let nobody in."""
    for name in ("locales", "approved_more_than", "min_approval_rate"):
        if getattr(who, name) not in ((), None):
            raise RefusedError(
                f"{name} of [workers] is for marketplaces: Prolific itself knows where people come from, "
                "and what they have done",
                f"Delete {name}, and choose people by filters of the Prolific target (docs/prolific.md).",
            )


def _listed(listed: ListedTask) -> ListedTask:
    found = read_annotation(listed.key)
    return replace(listed, key=found[0]) if found else listed
