"""The people that Prolific sends to the worker site: how many, whose work counts, and who is kept away."""

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from math import ceil
from typing import Any
from urllib.parse import urlsplit

from prefjudge.crowd.mturk import MTurkCrowd
from prefjudge.crowd.mturk import client as marketplace
from prefjudge.crowd.mturk.fees import Fees
from prefjudge.crowd.prolific.annotations import CENT, Annotation, count_outstanding, read_annotation
from prefjudge.crowd.prolific.client import Client
from prefjudge.crowd.prolific.payments import Payments
from prefjudge.crowd.prolific.prices import CheckedPrices
from prefjudge.crowd.prolific.site import Site, Visit
from prefjudge.crowd.prolific.studies import (
    STOPPABLE,
    Found,
    Offer,
    Studies,
    draft_of,
    make_codes,
    most_minutes,
    way_back,
)
from prefjudge.crowd.protocol import RefusedError
from prefjudge.crowd.tasks import Task

_LOOKED_UP = 50
"""At most so many visits that Prolific does not list are asked for by one look."""
_GONE = {"RETURNED": "returned", "TIMED-OUT": "timed_out", "SCREENED OUT": "screened_out"}
_WAITS = ("AWAITING REVIEW", "APPROVED", "SCREENED OUT")
_GROUPS = "/api/v1/participant-groups/"
SYNC_EVERY = 20.0
"""Seconds between two looks at Prolific's submissions, while somebody watches."""
_STUDY = "local"
"""What a study's own marketplace calls the study, as a requester."""
_HERE = ("127.0.0.1", "::1", "localhost")


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """What a target's settings say of Prolific.

    Attributes
    ----------
    workspace, project : str
        Their ids.
    hits : int
        HITs of one participant, for one payment.
    secure : bool
        Whether the workspace has secured study links, which say who comes.
    filters : list
        Who may take part, in the form of Prolific's API.
    """

    workspace: str
    project: str
    hits: int
    secure: bool
    filters: list[Any]


class Recruitment:
    """The people of one marketplace.

    Parameters
    ----------
    inner : MTurkCrowd
        The marketplace.
    key : tuple of str
        Its key; the secret is the admin's token.
    client : Client
        Prolific.
    account : Account
        Whose workspace and project.
    fees : Fees
        What Prolific charges, by the config.
    public_url : str
        The address at which participants reach the worker site; empty where it is not known.
    """

    def __init__(
        self, inner: MTurkCrowd, key: tuple[str, str], client: Client, account: Account, fees: Fees,
        public_url: str,
    ) -> None:  # fmt: skip
        self._inner, self._client, self._public_url = inner, client, public_url
        self.account = account
        self.prices = CheckedPrices(client, fees, account.hits)
        self._secret = key[1]
        self._hits = marketplace.Client(inner.endpoint, signed=None, key=key)
        self._site = Site(inner.endpoint, key[1])
        self._synced = float("-inf")
        self._people: dict[str, str] = {}

    @property
    def endpoint(self) -> str:
        """The address of Prolific's API."""
        return self._client.url

    @cached_property
    def _name(self) -> str:
        return f"prefjudge {self._inner.identity().name}"

    @cached_property
    def _studies(self) -> Studies:
        return Studies(self._client, self.account.project, self._name)

    def find(self) -> Found | None:
        """Return the study at Prolific; None where there is none yet."""
        return self._studies.find()

    def _list_hits(self) -> list[tuple[Mapping[str, Any], Annotation]]:
        """Return the HITs that were published for Prolific, the newest first."""
        listed = ((hit, hit.get("RequesterAnnotation") or "") for hit in self._hits.each("list_hits", "HITs"))
        return [(hit, found) for hit, text in listed if (found := read_annotation(text))]

    def balance(self) -> Decimal:
        """Return what there is to spend beside what the HITs cost, if Prolific does not know it yet, too."""
        study = self._studies.find()
        cents = self._client.balance(self.account.workspace)
        spent = Decimal(0)
        if study:
            spent += sum(self._cost_of(visit, study) for visit in self._site.visits())
        for hit, _ in self._list_hits():
            spent += count_outstanding(hit) * self.prices.fees.submission(Decimal(hit["Reward"]), 1)
        return (cents + self._held(study)) * CENT - spent

    def _held(self, study: Found | None) -> int:
        """Return the cents that Prolific keeps for the study's places, and those that it has paid."""
        if study is None or study.status == "UNPUBLISHED":
            return 0
        statuses = list(self._statuses(study).values())
        there = sum(statuses.count(one) for one in ("ACTIVE", "RESERVED", "AWAITING REVIEW"))
        places = there if study.status == "COMPLETED" else study.places - statuses.count("APPROVED")
        found = self._client.get(f"/api/v1/studies/{study.study_id}/cost/")
        try:
            parts = [part for kind in ("rewards", "bonuses") for part in (found.get(kind) or {}).values()]
            paid = round(sum(float(part["amount"]) for part in parts))
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise self._client.odd("the cost of a study") from error
        return paid + places * int(self.account.hits * self._price(study.reward) / CENT)

    def _price(self, reward: int) -> Decimal:
        """Return what one HIT costs, where a visit pays so many cents."""
        return self.prices.fees.submission(reward / Decimal(self.account.hits) * CENT, 1)

    def _cost_of(self, visit: Visit, study: Found) -> Decimal:
        return visit.to_review * self._price(study.reward) + self.prices.bonus(visit.earned)

    def reject(self, assignment_id: str, reason: str) -> None:
        """Reject the submission of an assignment that is all of a visit, because a person said so."""
        visit = next((one for one in self._site.visits() if assignment_id in one.assignments), None)
        study = self.find()
        if visit and study and visit.wanted == 1:
            self._payments(study).reject(visit.session, reason)

    def block(self, worker_id: str) -> None:
        """Put a worker into the blocklist, which Prolific heeds at once; a repeat is harmless."""
        self._change_blocklist("POST", worker_id)

    def unblock(self, worker_id: str) -> None:
        """Take a worker from the blocklist; a repeat is harmless."""
        self._change_blocklist("DELETE", worker_id)

    def _change_blocklist(self, method: str, worker_id: str) -> None:
        people = {visit.participant for visit in self._site.visits() if visit.worker_id == worker_id}
        if people:
            path = f"{_GROUPS}{self._blocklist()}/participants/"
            self._client.call(method, path, {"participant_ids": sorted(people)})

    def sync_at_times(self) -> None:
        """Do what `sync` does, unless it was done a moment ago."""
        if time.monotonic() - self._synced >= SYNC_EVERY:
            self.sync()

    def recruit(self) -> None:
        """Let as many people come as the HITs on offer need."""
        hits = self._list_hits()
        outstanding = sum(count_outstanding(hit) for hit, _ in hits)
        if not outstanding:
            return
        study = self._studies.find()
        if study is None:
            self._end_rehearsal()
            offer = self._offer(*hits[0])
            link = self.link(self._make_panel(offer.reward))
            places = ceil(outstanding / self.account.hits)
            study = self._studies.draft(self._draft(offer, link, places, self._blocklist()))
        if study.status == "UNPUBLISHED":
            self._make_panel(study.reward)
            wanted = ceil(outstanding / self.account.hits)
            if wanted != study.places:
                study = self._studies.resize(study, wanted)
            self._studies.move(study, "PUBLISH")
            return
        self._fit(study, outstanding, self.sync(), self._site.visits())

    def _end_rehearsal(self) -> None:
        """Stop offering the HITs that are not for Prolific's participants, who would take them, too."""
        for hit in self._hits.each("list_hits", "HITs"):
            if read_annotation(hit.get("RequesterAnnotation") or "") is None and count_outstanding(hit):
                self._inner.close(hit["HITId"])

    def settle(self) -> None:
        """Pay at Prolific what was decided here, and fit the number of people to what is still on offer."""
        study = self._studies.find()
        if study is None or study.status == "UNPUBLISHED":
            self.recruit()
            return
        statuses, visits = self.sync(), self._site.visits()
        outstanding = sum(count_outstanding(hit) for hit, _ in self._list_hits())
        self._fit(study, outstanding, statuses, visits)
        self._payments(study).settle(visits, statuses)

    def _payments(self, study: Found) -> Payments:
        workspace = self.account.workspace
        return Payments(client=self._client, site=self._site, study=study, workspace=workspace)

    def _fit(
        self, study: Found, outstanding: int, statuses: Mapping[str, str], visits: Sequence[Visit]
    ) -> None:
        """Raise the places where the HITs need more people, and stop the study where they need none.

        Prolific never lowers places, and gives those of returned and timed-out submissions to others itself.
        """
        if not outstanding:
            if study.status in STOPPABLE:
                self._studies.move(study, "STOP")
            return
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

    def plan(self, task: Task, workers: int) -> list[str]:
        """Return the calls by which so many workers more would be recruited; nothing is changed."""
        study = self._studies.find()
        wanted = ceil(workers / self.account.hits)
        publish = 'transition/ {"action": "PUBLISH"}'
        if study is None:
            offer = self._offer_of(
                task.title, task.description, task.pay, task.expected_seconds, task.work_seconds
            )
            draft = self._draft(offer, self.link("/panel/prolific/…"), wanted, "…")
            group = {"name": f"{self._name} barred", "workspace_id": self.account.workspace}
            return [
                f"POST {_GROUPS} {json.dumps(group)}",
                f"POST /api/v1/studies/ {json.dumps(draft, ensure_ascii=False)}",
                f"POST /api/v1/studies/…/{publish}",
            ]
        path = f"/api/v1/studies/{study.study_id}/"
        places = f'PATCH {path} {{"total_available_places": {study.places + wanted}}}'
        return [places, *([f"POST {path}{publish}"] if study.status == "UNPUBLISHED" else [])]

    def _offer(self, hit: Mapping[str, Any], found: Annotation) -> Offer:
        pay, allowed = Decimal(hit["Reward"]), int(hit["AssignmentDurationInSeconds"])
        return self._offer_of(hit["Title"], hit["Description"], pay, found.seconds, allowed)

    def _offer_of(self, title: str, description: str, pay: Decimal, seconds: int, allowed: int) -> Offer:
        """Return what a study offers whose HITs take so many seconds, and may take ``allowed``."""
        hits = self.account.hits
        minutes = max(1, ceil(hits * seconds / 60))
        return Offer(
            title=title,
            description=description,
            reward=hits * int(pay / CENT),
            minutes=minutes,
            most_minutes=most_minutes(minutes, ceil(hits * allowed / 60)),
        )

    def _draft(self, offer: Offer, link: str, places: int, blocklist: str) -> dict[str, object]:
        barred = {"filter_id": "participant_group_blocklist", "selected_values": [blocklist]}
        return draft_of(
            offer,
            name=self._name,
            project=self.account.project,
            link=link,
            places=places,
            codes=make_codes(self._secret),
            secure=self.account.secure,
            filters=[*self.account.filters, barred],
        )

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
        """Return the address of a path of the worker site, for participants.

        Raises
        ------
        RefusedError
            They could not reach it.
        """
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

    def _blocklist(self) -> str:
        """Return the id of the group of barred participants; make it if there is none."""
        name, workspace = f"{self._name} barred", self.account.workspace
        for group in self._client.listed(self._client.get(_GROUPS, workspace_id=workspace)):
            if group.get("name") == name and not group.get("is_deleted"):
                return str(group["id"])
        # Not repeated where the reply is lost: the next call finds it by its name.
        made = self._client.call("POST", _GROUPS, {"name": name, "workspace_id": workspace}, again=False)
        return str(made["id"])

    def _statuses(self, study: Found) -> dict[str, str]:
        """Return the status of each submission, by its id."""
        path = "/api/v1/submissions/"
        listed = list(self._client.each(path, study=study.study_id, ordering="started_at"))
        self._people = {str(one["id"]): str(one["participant_id"]) for one in listed}
        return {str(one["id"]): str(one["status"]) for one in listed}

    def sync(self) -> dict[str, str]:
        """Tell the site what Prolific says of each submission: whose work counts, and whose HITs are free."""
        study = self._studies.find()
        if study is None or study.status == "UNPUBLISHED":
            return {}
        statuses = self._statuses(study)
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
