"""The people that Prolific sends to the worker site: as many as its HITs need, for what a visit costs."""

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from html import escape
from math import ceil, sqrt
from typing import Any
from urllib.parse import urlsplit

from prefjudge.crowd.mturk import MTurkCrowd
from prefjudge.crowd.mturk.crowd import ApiHit
from prefjudge.crowd.prolific.client import (
    Account,
    Client,
    Found,
    Site,
    Studies,
    Visit,
    code_of,
    make_codes,
    way_back,
)
from prefjudge.crowd.prolific.money import CENT, CalculatedPrices, Payments
from prefjudge.crowd.protocol import RefusedError
from prefjudge.crowd.tasks import Task
from prefjudge.words import many

_MARK = "prolific"


@dataclass(frozen=True, slots=True, kw_only=True)
class Annotation:
    """The key that the study gave a HIT, and how many seconds the work usually takes."""

    key: str
    seconds: int


def annotate(task: Task) -> str:
    """Return the annotation of a HIT."""
    return f"{task.key} {_MARK} {task.expected_seconds}"


def read_annotation(text: str) -> Annotation | None:
    """Return what an annotation says; None where the HIT is not for Prolific's participants."""
    key, mark, seconds = [*text.rsplit(" ", 2), "", ""][:3]
    return Annotation(key=key, seconds=int(seconds)) if mark == _MARK and seconds.isdecimal() else None


def count_outstanding(hit: ApiHit) -> int:
    """Return how many assignments of a HIT are on offer or in workers' hands."""
    pending, available = int(hit["NumberOfAssignmentsPending"]), int(hit["NumberOfAssignmentsAvailable"])
    return {"Assignable": pending + available, "Unassignable": pending}.get(hit["HITStatus"], 0)


# What Prolific says of those whom it has sent: whose work counts, and whose HITs are free again.

_LOOKED_UP = 50
"""At most so many visits that Prolific does not list are asked for by one look."""
_GONE = {"RETURNED": "returned", "TIMED-OUT": "timed_out", "SCREENED OUT": "screened_out"}
SYNC_EVERY = 20.0
"""Seconds between two looks at Prolific's submissions, while somebody watches."""


class Submissions:
    """The submissions of one study, which ``find`` returns once there is one."""

    def __init__(self, client: Client, site: Site, find: Callable[[], Found | None]) -> None:
        self._client, self._site, self._find = client, site, find
        self._synced = float("-inf")
        self._people: dict[str, str] = {}

    def statuses(self, study: Found) -> dict[str, str]:
        """Return the status of each submission, by its id."""
        path = "/api/v1/submissions/"
        listed = list(self._client.each(path, study=study.study_id, ordering="started_at"))
        self._people = {str(one["id"]): str(one["participant_id"]) for one in listed}
        return {str(one["id"]): str(one["status"]) for one in listed}

    def sync_at_times(self) -> None:
        """Do what `sync` does, unless it was done a moment ago."""
        if time.monotonic() - self._synced >= SYNC_EVERY:
            self.sync()

    def sync(self) -> dict[str, str]:
        """Tell the site what Prolific says of each submission; return the statuses."""
        study = self._find()
        if study is None or study.status == "UNPUBLISHED":
            return {}
        statuses = self.statuses(study)
        told = [
            {"session": one, "participant": self._people[one], "status": _GONE.get(status, "known")}
            for one, status in statuses.items()
        ]
        visits = self._site.visits()
        strange = [v for v in visits if v.waiting and v.session not in statuses]
        for visit in strange[:_LOOKED_UP]:
            if not self._knows(visit, study):
                told.append({"session": visit.session, "participant": visit.participant, "status": "unknown"})
        self._site.tell(told)
        self._synced = time.monotonic()
        return statuses

    def _knows(self, visit: Visit, study: Found) -> bool:
        """Return whether Prolific knows a visit: the list may be older than it, and a link can be forged."""
        if not visit.session.isalnum():
            return False
        try:
            found = self._client.get(f"/api/v1/submissions/{visit.session}/")
        except RefusedError:  # what somebody typed into a link may not even be an id
            return False
        there = (found.get("study_id"), found.get("participant")) if isinstance(found, dict) else ()
        return there == (study.study_id, visit.participant)


# The people: as many as the HITs need.

GROUPS = "/api/v1/participant-groups/"
_FREED = ("RETURNED", "TIMED-OUT")
"""What gives a place back, which Prolific offers to others by itself."""
_WAITS = ("AWAITING REVIEW", "APPROVED", "SCREENED OUT")
_STUDY = "local"
"""What a study's own marketplace calls the study, as a requester."""
_HERE = ("127.0.0.1", "::1", "localhost")


class Recruitment:
    """The people of one marketplace, whose admin's token is the secret of its ``key``."""

    def __init__(
        self, inner: MTurkCrowd, key: tuple[str, str], client: Client, account: Account, public_url: str
    ) -> None:  # fmt: skip
        self._inner, self._client, self._public_url = inner, client, public_url
        self.account = account
        self.prices = CalculatedPrices(client, account.hits)
        self._secret = key[1]
        self._site = Site(inner.endpoint, key[1])
        self.submissions = Submissions(client, self._site, self.find)

    @property
    def endpoint(self) -> str:
        """The address of Prolific's API."""
        return self._client.url

    @cached_property
    def _name(self) -> str:
        return f"prefjudge {self._inner.identity().name}"

    @property
    def _blocklist(self) -> dict[str, object]:
        """Whom Prolific sends no more: a group of the workspace, which the study's filters name."""
        return {"name": f"{self._name} barred", "workspace_id": self.account.workspace}

    def _find_blocklist(self) -> str:
        """Return the group's id; make it if there is none."""
        wanted = self._blocklist
        for group in self._client.listed(self._client.get(GROUPS, workspace_id=self.account.workspace)):
            if group.get("name") == wanted["name"] and not group.get("is_deleted"):
                return str(group["id"])
        # Not repeated where the reply is lost: the next call finds it by its name.
        return str(self._client.call("POST", GROUPS, wanted, again=False)["id"])

    def bar(self, worker_id: str) -> None:
        """Put a worker on the blocklist, which Prolific heeds at once; a repeat is harmless."""
        self._change_blocklist("POST", worker_id)

    def readmit(self, worker_id: str) -> None:
        """Take a worker off the blocklist; a repeat is harmless."""
        self._change_blocklist("DELETE", worker_id)

    def _change_blocklist(self, method: str, worker_id: str) -> None:
        people = {visit.participant for visit in self._site.visits() if visit.worker_id == worker_id}
        if people:
            path = f"{GROUPS}{self._find_blocklist()}/participants/"
            self._client.call(method, path, {"participant_ids": sorted(people)})

    @cached_property
    def _studies(self) -> Studies:
        return Studies(self._client, self.account.project, self._name)

    def find(self) -> Found | None:
        """Return the study at Prolific; None where there is none yet."""
        return self._studies.find()

    def _list_hits(self) -> list[tuple[ApiHit, Annotation]]:
        """Return the HITs that were published for Prolific, the newest first."""
        listed = ((hit, hit.get("RequesterAnnotation") or "") for hit in self._inner.hits())
        return [(hit, found) for hit, text in listed if (found := read_annotation(text))]

    def balance(self) -> Decimal:
        """Return what there is to spend beside what the HITs cost, if Prolific does not know it yet, too."""
        study = self._studies.find()
        cents = self._client.balance(self.account.workspace)
        spent = Decimal(0)
        if study:
            spent += sum(self._cost_of(visit, study) for visit in self._site.visits())
        for hit, _ in self._list_hits():
            spent += count_outstanding(hit) * self.prices.submission(Decimal(hit["Reward"]), 1)
        return (cents + self._held(study)) * CENT - spent

    def _held(self, study: Found | None) -> int:
        """Return the cents that Prolific keeps for the study's places, and those that it has paid."""
        if study is None or study.status == "UNPUBLISHED":
            return 0
        statuses = list(self.submissions.statuses(study).values())
        there = sum(statuses.count(one) for one in ("ACTIVE", "RESERVED", "AWAITING REVIEW"))
        places = there if study.status == "COMPLETED" else study.places - statuses.count("APPROVED")
        found = self._client.get(f"/api/v1/studies/{study.study_id}/cost/")
        try:
            parts = [part for kind in ("rewards", "bonuses") for part in (found.get(kind) or {}).values()]
            paid = round(sum(float(part["amount"]) for part in parts))
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise self._client.odd("the cost of a study") from error
        return paid + places * self.prices.place(study.reward)

    def _price(self, reward: int) -> Decimal:
        """Return what one HIT costs, where a visit pays so many cents."""
        return self.prices.submission(reward / Decimal(self.account.hits) * CENT, 1)

    def _cost_of(self, visit: Visit, study: Found) -> Decimal:
        return visit.to_review * self._price(study.reward) + self.prices.bonus(visit.earned)

    def reject(self, assignment_id: str, reason: str) -> None:
        """Reject the submission of an assignment that is all of a visit, because a person said so."""
        visit = next((one for one in self._site.visits() if assignment_id in one.assignments), None)
        study = self.find()
        if visit and study and visit.wanted == 1:
            self._payments(study).reject(visit.session, reason)

    def recruit(self) -> tuple[str, ...]:
        """Let as many people come as the HITs on offer need; return what keeps them away."""
        hits = self._list_hits()
        outstanding = sum(count_outstanding(hit) for hit, _ in hits)
        if not outstanding:
            return ()
        study = self._studies.find()
        if study is None:
            self._end_rehearsal()
            offer = self._offer(*hits[0])
            link = self.link(self._make_panel(offer["reward"]))
            places = ceil(outstanding / self.account.hits)
            study = self._studies.draft(self._draft(offer, link, places, self._find_blocklist()))
        if study.status == "UNPUBLISHED":
            self._make_panel(study.reward)
            wanted = ceil(outstanding / self.account.hits)
            if wanted != study.places:
                study = self._studies.resize(study, wanted)
            self._studies.move(study, "PUBLISH")
            return ()
        return self._fit(study, outstanding, self.submissions.sync(), self._site.visits())

    def _end_rehearsal(self) -> None:
        """Stop offering the HITs that are not for Prolific's participants, who would take them, too."""
        for hit in self._inner.hits():
            if read_annotation(hit.get("RequesterAnnotation") or "") is None and count_outstanding(hit):
                self._inner.close(hit["HITId"])

    def settle(self, *, held: bool) -> tuple[str, ...]:
        """Pay at Prolific what was decided here, and fit the number of people to what is still on offer.

        With ``held`` a person has looked at what was rejected at Prolific: it is paid, too. Returns what was
        decided there, and stands.
        """
        study = self._studies.find()
        if study is None or study.status == "UNPUBLISHED":
            return self.recruit()
        statuses, visits = self.submissions.sync(), self._site.visits()
        outstanding = sum(count_outstanding(hit) for hit, _ in self._list_hits())
        kept_away = self._fit(study, outstanding, statuses, visits)
        return (*kept_away, *self._payments(study).settle(visits, statuses, held=held))

    def _payments(self, study: Found) -> Payments:
        workspace = self.account.workspace
        return Payments(client=self._client, site=self._site, study=study, workspace=workspace)

    def _fit(
        self, study: Found, outstanding: int, statuses: Mapping[str, str], visits: Sequence[Visit]
    ) -> tuple[str, ...]:
        """Raise the places where the HITs need more people, and stop the study where they need none.

        Prolific never lowers places, and gives those of returned and timed-out submissions to others itself.
        A study that a person has paused or stopped there is left as it is; returns words that say so.
        """
        if not outstanding:
            if study.status == "ACTIVE":
                self._studies.stop(study)
            return ()
        if study.status == "ACTIVE" and study.stopped_here:
            # a kill before it was stopped, or a person who let it go on: the next stop may be a person's
            study = self._studies.resize(study, study.places)
        used = sum(status not in _FREED for status in statuses.values())
        over = study.status in ("AWAITING REVIEW", "COMPLETED") and not study.stopped_here
        if study.status == "PAUSED" or (over and used < study.places):
            paused = study.status == "PAUSED"
            return (
                f"the study was {'paused' if paused else 'stopped'} on Prolific and stays so: "
                f"{many(outstanding, 'assignment waits', 'assignments wait')} for people; to let them come, "
                f"{'start it' if paused else 'add places to it'} there",
            )
        done = {visit.session for visit in visits if visit.complete}
        settled = sum(
            status in _WAITS or (status in ("ACTIVE", "RESERVED") and session in done)
            for session, status in statuses.items()
        )
        wanted = settled + ceil(outstanding / self.account.hits)
        if study.status == "COMPLETED":  # only more places make it run again
            wanted = max(wanted, study.places + 1)
        if wanted > study.places:
            self._studies.resize(study, wanted)
        return ()

    def plan(self, task: Task, workers: int) -> list[str]:
        """Return the calls by which so many workers more would be recruited; nothing is changed."""
        study = self._studies.find()
        wanted = ceil(workers / self.account.hits)
        publish = 'transition/ {"action": "PUBLISH"}'
        if study is None:
            seconds, allowed = task.expected_seconds, task.work_seconds
            offer = self._offer_of(task.title, task.description, task.pay, seconds, allowed)
            draft = self._draft(offer, self.link("/panel/prolific/…"), wanted, "…")
            return [
                f"POST {GROUPS} {json.dumps(self._blocklist)}",
                f"POST /api/v1/studies/ {json.dumps(draft, ensure_ascii=False)}",
                f"POST /api/v1/studies/…/{publish}",
            ]
        path = f"/api/v1/studies/{study.study_id}/"
        places = f'PATCH {path} {{"total_available_places": {study.places + wanted}}}'
        return [places, *([f"POST {path}{publish}"] if study.status == "UNPUBLISHED" else [])]

    def _offer(self, hit: ApiHit, found: Annotation) -> dict[str, Any]:
        pay, allowed = Decimal(hit["Reward"]), int(hit["AssignmentDurationInSeconds"])
        return self._offer_of(hit["Title"], hit["Description"], pay, found.seconds, allowed)

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
            "completion_codes": [code_of(*one) for one in make_codes(self._secret).items()],
            "total_available_places": places,
            "device_compatibility": [],
            "filters": [*self.account.filters, barred],
            "project": self.account.project,
            "metadata": self._name,
            "submissions_config": {"max_submissions_per_participant": 1},
            **({"is_external_study_url_secure": True} if self.account.secure else {}),
        }

    def _make_panel(self, reward: int) -> str:
        keys = f"{self._client.url}/.well-known/study/jwks.json" if self.account.secure else ""
        ways = {outcome: way_back(code) for outcome, code in make_codes(self._secret).items()}
        panel = {
            "completion": ways,
            "hits": self.account.hits,
            "confirm": True,
            "keys": keys,
            "requester": _STUDY,
        }
        return self._site.make({**panel, "reward": f"{reward * CENT:.2f}"})

    def link(self, path: str) -> str:
        """Return the address of a path of the worker site, for participants."""
        if not self._public_url:
            raise RefusedError(
                "Prolific's participants would not find the worker site: nobody serves it",
                "Run `prefjudge serve STUDY --public-url https://…` beside it, then repeat the verb.",
            )
        here = urlsplit(self._public_url).hostname in _HERE
        if here and urlsplit(self._client.url).hostname not in _HERE:
            raise RefusedError(
                f"participants cannot reach the worker site at {self._public_url}: only this machine can",
                "Serve it behind a web server with TLS (deploy/), with --public-url https://….",
            )
        return f"{self._public_url.rstrip('/')}{path}"
