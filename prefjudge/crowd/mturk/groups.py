"""Who may take a HIT, as the API's qualifications; a group of workers is a qualification of the requester."""

from collections.abc import Mapping
from functools import cached_property
from typing import Any

from prefjudge.crowd.mturk.client import AlreadyDoneError, Client
from prefjudge.crowd.mturk.entry_tests import write_test
from prefjudge.crowd.mturk.identity import knows_comparator
from prefjudge.crowd.protocol import RefusedError
from prefjudge.crowd.tasks import Eligibility, EntryTest, WorkerGroup

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
        return [*needs, self._limit(who.limited_by)] if who.limited_by else needs

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

    def _limit(self, group: WorkerGroup) -> dict[str, object]:
        """Return the requirement by which a score limits how many HITs a worker takes.

        It is the marketplace's own comparator, which counts what a worker has taken. Where that is unknown,
        the score is what the worker may still take, and a worker gets a first one by asking for it.
        """
        comparator, value = (TAKEN, 1) if self._counts_taken else ("GreaterThan", 0)
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
