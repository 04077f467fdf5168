"""Qualification requirements: checked when a HIT type is made, and against workers who look or accept."""

import json
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypedDict

from prefjudge.marketplace.errors import invalid, missing
from prefjudge.marketplace.people.workers import HAD
from prefjudge.marketplace.store.marketplace import Transaction

LOCALE = "00000000000000000071"
APPROVED = "00000000000000000040"
APPROVAL_RATE = "000000000000000000L0"
ADULT = "00000000000000000060"
SIMULATED = "00000000000000000SIM"
"""This marketplace's own: whether an account was made for simulation. The admin gives it with the account,
for good. Any requester may read it, and nobody may grant or revoke it."""
DISPUTED = "0000000000000DISPUTE"
"""This marketplace's own: its requests are the disputes that wait for the requester's answer. To list and to
reject requests is all that a requester needs, so that any client of the API can answer."""
MASTERS = ("2F1QJWKUDD8XADTFD2Q0G6UTO95ALH", "2ARFPLSP75KLA8M8DH1HTEQVJT3SY6")
"""Of Mechanical Turk's live site and of its sandbox. The admin makes a worker a Master of both."""
SYSTEM = {
    LOCALE: "Location",
    APPROVED: "Number of HITs approved",
    APPROVAL_RATE: "HIT approval rate (%)",
    ADULT: "Adult content",
    SIMULATED: "Simulated worker",
    DISPUTED: "Disputed rejection",
    MASTERS[0]: "Masters",
    MASTERS[1]: "Masters",
}

TAKEN = "GreaterThanTaken"
"""This marketplace's own comparator: the score is greater than the number of HITs that the worker has taken.

Counted are the worker's assignments of HITs that require the same qualification by this comparator, except
those returned or abandoned. Who has no score has the requirement's one value. A requester who sets the score
to the whole number that a worker may have taken by now loses nothing if the worker takes a HIT meanwhile.
"""
BEING_CHECKED = (
    "Your earlier work here is being checked. The next HIT comes when that is done, if there is one for you."
)
NO_MORE = (
    "Your earlier work here has been checked, and no more HITs are open to you."
    " Work that is stopped early does not lead to more."
)
_GUARDS = {  # what an unqualified worker may not do
    "Accept": frozenset({"accept"}),
    "PreviewAndAccept": frozenset({"accept", "preview"}),
    "DiscoverPreviewAndAccept": frozenset({"accept", "preview", "discover"}),
}
_WORDS = {
    "LessThan": "is less than",
    "LessThanOrEqualTo": "is at most",
    "GreaterThan": "is more than",
    "GreaterThanOrEqualTo": "is at least",
    "EqualTo": "is",
    "NotEqualTo": "is not",
    "Exists": "has been granted",
    "DoesNotExist": "has not been granted",
    "In": "is one of",
    "NotIn": "is none of",
}
_COMPARED: dict[str, Callable[[int, list[int]], bool]] = {
    "LessThan": lambda value, wanted: value < wanted[0],
    "LessThanOrEqualTo": lambda value, wanted: value <= wanted[0],
    "GreaterThan": lambda value, wanted: value > wanted[0],
    "GreaterThanOrEqualTo": lambda value, wanted: value >= wanted[0],
    "EqualTo": lambda value, wanted: value == wanted[0],
    "In": lambda value, wanted: value in wanted,
}
_SETS = ("In", "NotIn")
_PRESENCE = ("Exists", "DoesNotExist")


class Locale(TypedDict, total=False):
    """A country, or a subdivision of one."""

    Country: str
    Subdivision: str


class Requirement(TypedDict, total=False):
    """A QualificationRequirement, as the API has it."""

    QualificationTypeId: str
    Comparator: str
    IntegerValues: list[int]
    LocaleValues: list[Locale]
    ActionsGuarded: str
    RequiredToPreview: bool


class Need(TypedDict):
    """A requirement in words, and whether there is a page about it."""

    qualification_type_id: str
    name: str
    has_page: bool
    requirement: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """What a worker has: a value for each qualification (None for a grant without one), and a locale.

    ``taken`` is the number of HITs that count against the score of a qualification, and ``undecided`` how
    many of these nobody has approved or rejected yet.
    """

    values: dict[str, int | None]
    country: str
    subdivision: str
    taken: Mapping[str, int] = field(default_factory=dict)
    undecided: Mapping[str, int] = field(default_factory=dict)


def check(tx: Transaction, requirements: list[Requirement], where: str) -> list[Requirement]:
    """Return the requirements in a normal form.

    Raises
    ------
    RequestError
        A requirement's qualification type does not exist, or its values do not fit its comparator.
    """
    return [
        _check_one(tx, one, f"{where}.QualificationRequirements[{i}]") for i, one in enumerate(requirements)
    ]


def _check_one(tx: Transaction, requirement: Requirement, where: str) -> Requirement:
    type_id, comparator = requirement["QualificationTypeId"], requirement["Comparator"]
    if type_id not in SYSTEM and not tx.rows(
        "SELECT 1 FROM qualification_types WHERE qualification_type_id = :id AND deleted = 0", id=type_id
    ):
        raise missing("QualificationType", type_id)
    excludes = comparator in ("DoesNotExist", "NotEqualTo", "NotIn")
    if type_id in MASTERS and not excludes and not _anybody_has(tx, type_id):
        raise invalid(
            where,
            "this marketplace has no Masters, so nobody could take the HIT. Let its admin make somebody a"
            " Master, leave the requirement out, or ask for a qualification of your own",
        )
    integers, locales = requirement.get("IntegerValues", []), requirement.get("LocaleValues", [])
    if integers and locales:
        raise invalid(where, "give IntegerValues or LocaleValues, not both")
    values = locales if type_id == LOCALE else integers
    if comparator in _PRESENCE:
        if integers or locales:
            raise invalid(where, f"{comparator} does not take a value")
    elif not values:
        name = "LocaleValues" if type_id == LOCALE else "IntegerValues"
        raise invalid(where, f"{comparator} needs {name}")
    elif comparator in _SETS:
        most = 30 if type_id == LOCALE else 15
        if len(values) > most:
            raise invalid(where, f"{len(values)} values are more than the maximum of {most}")
    elif len(values) > 1:
        raise invalid(where, f"{comparator} takes one value")
    if comparator == TAKEN and type_id in SYSTEM:
        raise invalid(where, f"{comparator} needs a qualification whose score a requester sets")
    if type_id == LOCALE and comparator not in ("EqualTo", "NotEqualTo", *_SETS, *_PRESENCE):
        raise invalid(where, f"{comparator} cannot compare locales")
    guarded = requirement.get("ActionsGuarded")
    preview = requirement.get("RequiredToPreview")
    if guarded and preview is not None and preview != (guarded != "Accept"):
        raise invalid(where, "ActionsGuarded and RequiredToPreview contradict each other")
    guarded = guarded or ("PreviewAndAccept" if preview else "Accept")
    return {**requirement, "ActionsGuarded": guarded, "RequiredToPreview": guarded != "Accept"}


def _anybody_has(tx: Transaction, type_id: str) -> bool:
    return bool(
        tx.rows(
            "SELECT 1 FROM qualifications WHERE qualification_type_id = :type AND status = 'Granted' LIMIT 1",
            type=type_id,
        )
    )


def standing(tx: Transaction, worker_id: str) -> Standing:
    """Return what the worker has at this moment."""
    (approved, rejected, locale), *_ = tx.rows(
        "SELECT approved, rejected, locale FROM workers WHERE worker_id = :worker", worker=worker_id
    )
    decided = approved + rejected
    # an early rate means little: as at Mechanical Turk, it is 100 until 100 assignments are decided
    rate = 100 if decided < 100 else round(100 * approved / decided)
    values: dict[str, int | None] = {APPROVED: approved, APPROVAL_RATE: rate, ADULT: 1}
    values.update(
        (str(type_id), value)
        for type_id, value in tx.rows(
            "SELECT qualification_type_id, value FROM qualifications"
            " WHERE worker_id = :worker AND status = 'Granted'",
            worker=worker_id,
        )
    )
    country, _, subdivision = locale.partition("-")
    taken, undecided = _count_taken(tx, worker_id)
    return Standing(values=values, country=country, subdivision=subdivision, taken=taken, undecided=undecided)


def _count_taken(tx: Transaction, worker_id: str) -> tuple[Counter[str], Counter[str]]:
    """Count the HITs that a worker has taken, and those undecided, by the qualifications that limit them."""
    taken: Counter[str] = Counter()
    undecided: Counter[str] = Counter()
    for text, number, decided in tx.rows(
        "SELECT t.requirements, count(*), sum(CASE WHEN a.status IN ('Approved', 'Rejected') THEN 1 ELSE 0"
        " END) FROM assignments a JOIN hits h ON h.hit_id = a.hit_id"
        " JOIN hit_types t ON t.hit_type_id = h.hit_type_id WHERE a.worker_id = :worker"
        f" AND a.status IN {HAD} AND t.requirements LIKE :limited"
        " GROUP BY t.requirements",
        worker=worker_id,
        limited=f'%"{TAKEN}"%',
    ):
        for type_id in _limits(str(text)):
            taken[type_id] += int(number)
            undecided[type_id] += int(number) - int(decided)
    return taken, undecided


def _limits(requirements_json: str) -> set[str]:
    """Return the qualifications whose scores limit how many HITs a worker takes."""
    return {one["QualificationTypeId"] for one in json.loads(requirements_json) if one["Comparator"] == TAKEN}


def unmet(requirements_json: str, worker: Standing, action: str = "accept") -> list[Requirement]:
    """Return the requirements that keep the worker from ``"discover"``, ``"preview"`` or ``"accept"``."""
    return [
        one
        for one in json.loads(requirements_json)
        if action in _GUARDS[one["ActionsGuarded"]] and not meets(one, worker)
    ]


def meets(requirement: Requirement, worker: Standing) -> bool:
    """Tell whether the worker meets one requirement."""
    type_id, comparator = requirement["QualificationTypeId"], requirement["Comparator"]
    if type_id == LOCALE:
        return _locale_meets(comparator, requirement.get("LocaleValues", []), worker)
    has = type_id in worker.values
    if comparator in _PRESENCE:
        return bool(has == (comparator == "Exists"))
    value = worker.values.get(type_id)
    wanted = requirement["IntegerValues"]
    if comparator in ("NotEqualTo", "NotIn"):
        return value not in wanted
    if comparator == TAKEN:
        return (wanted[0] if value is None else value) > worker.taken.get(type_id, 0)
    if value is None:
        return False
    return bool(_COMPARED[comparator](value, wanted))


def waits(unmet_ones: list[Requirement], worker: Standing) -> str:
    """Say how earlier HITs keep a worker from more, where nothing else does; else nothing."""
    if not unmet_ones or any(one["Comparator"] != TAKEN for one in unmet_ones):
        return ""
    pending = all(worker.undecided.get(one["QualificationTypeId"]) for one in unmet_ones)
    return BEING_CHECKED if pending else NO_MORE


def _locale_meets(comparator: str, locales: list[Locale], worker: Standing) -> bool:
    if comparator in _PRESENCE:
        return bool(worker.country) == (comparator == "Exists")
    inside = any(
        one["Country"] == worker.country and one.get("Subdivision", worker.subdivision) == worker.subdivision
        for one in locales
    )
    return inside == (comparator in ("EqualTo", "In"))


def internal(tx: Transaction) -> frozenset[str]:
    """Return the qualification types that no worker has a reason to request.

    HITs require workers not to have them, or they limit how many HITs a worker takes.
    """
    return frozenset(
        one["QualificationTypeId"]
        for (text,) in tx.rows(
            "SELECT DISTINCT requirements FROM hit_types"
            f" WHERE requirements LIKE '%DoesNotExist%' OR requirements LIKE '%{TAKEN}%'"
        )
        for one in json.loads(text)
        if one["Comparator"] in ("DoesNotExist", TAKEN)
    )


def describe(tx: Transaction, requirement: Requirement, worker: Standing) -> Need:
    """Put a requirement in words, for the worker's pages."""
    type_id = requirement["QualificationTypeId"]
    if requirement["Comparator"] == TAKEN:
        pending = worker.undecided.get(type_id)
        return {
            "qualification_type_id": type_id,
            "name": "Your earlier work",
            "has_page": False,
            "requirement": "is being checked" if pending else "does not lead to more HITs",
        }
    rows = tx.rows(
        "SELECT name, deleted FROM qualification_types WHERE qualification_type_id = :id", id=type_id
    )
    values = [str(value) for value in requirement.get("IntegerValues", [])] or [
        "-".join(filter(None, (one["Country"], one.get("Subdivision"))))
        for one in requirement.get("LocaleValues", [])
    ]
    return {
        "qualification_type_id": type_id,
        "name": SYSTEM.get(type_id) or (str(rows[0][0]) if rows else type_id),
        "has_page": bool(rows) and not rows[0][1],
        "requirement": f"{_WORDS[requirement['Comparator']]} {', '.join(values)}".strip(),
    }
