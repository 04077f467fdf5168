"""Qualifications: what HITs require, the types of them, who was granted one, and who requests one."""

import json
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypedDict

from prefjudge.marketplace.errors import Params, Refusal, View, invalid, missing, refused, wrong_state
from prefjudge.marketplace.people import workers
from prefjudge.marketplace.people.workers import HAD
from prefjudge.marketplace.questions import (
    Fields,
    parse_form,
    read_answer_key,
    read_question,
    write_form_answers,
)
from prefjudge.marketplace.store.store import Transaction, new_id

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

An AutoGrantedValue of more than 1, where AutoGranted is false, is how many people may take such HITs: nobody
new gets one when so many have, but for simulated workers, and people for whom a panel vouches.
"""
BEING_CHECKED = (
    "Your earlier work here is being checked. The next HIT comes when that is done, if there is one for you."
)
NO_MORE = (
    "Your earlier work here has been checked, and no more HITs are open to you."
    " Work that is stopped early does not lead to more."
)
MANY_BEGAN = "Many people have just begun. Come again in a few minutes, when some of them are done."
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """What a worker has: a value for each qualification (None for a grant without one), and a locale.

    ``taken`` is the number of HITs that count against the score of a qualification, and ``undecided`` how
    many of these nobody has approved or rejected yet.
    """

    worker_id: str
    values: dict[str, int | None]
    country: str
    subdivision: str
    taken: Mapping[str, int] = field(default_factory=dict)
    undecided: Mapping[str, int] = field(default_factory=dict)


def check_requirements(tx: Transaction, requirements: list[Requirement], where: str) -> list[Requirement]:
    """Return the requirements in a normal form."""
    return [
        _check_one(tx, one, f"{where}.QualificationRequirements[{i}]") for i, one in enumerate(requirements)
    ]


def _check_one(tx: Transaction, requirement: Requirement, where: str) -> Requirement:
    type_id, comparator = requirement["QualificationTypeId"], requirement["Comparator"]
    if type_id not in SYSTEM and not tx.pick(
        "1", "qualification_types", qualification_type_id=type_id, deleted=0
    ):
        raise missing("QualificationType", type_id)
    excludes = comparator in ("DoesNotExist", "NotEqualTo", "NotIn")
    granted = {"qualification_type_id": type_id, "status": "Granted"}
    if type_id in MASTERS and not excludes and not tx.pick("1", "qualifications", **granted):
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


def standing(tx: Transaction, worker_id: str) -> Standing:
    """Return what the worker has at this moment."""
    (approved, rejected, locale), *_ = tx.execute(
        "SELECT approved, rejected, locale FROM workers WHERE worker_id = :worker", worker=worker_id
    )
    decided = approved + rejected
    # an early rate means little: as at Mechanical Turk, it is 100 until 100 assignments are decided
    rate = 100 if decided < 100 else round(100 * approved / decided)
    values: dict[str, int | None] = {APPROVED: approved, APPROVAL_RATE: rate, ADULT: 1}
    values.update(
        tx.execute(
            "SELECT qualification_type_id, value FROM qualifications"
            " WHERE worker_id = :worker AND status = 'Granted'",
            worker=worker_id,
        )
    )
    country, _, subdivision = locale.partition("-")
    taken, undecided = _count_taken(tx, worker_id)
    return Standing(
        worker_id=worker_id,
        values=values,
        country=country,
        subdivision=subdivision,
        taken=taken,
        undecided=undecided,
    )


def _count_taken(tx: Transaction, worker_id: str) -> tuple[Counter[str], Counter[str]]:
    """Count the HITs that a worker has taken, and those undecided, by the qualifications that limit them."""
    taken: Counter[str] = Counter()
    undecided: Counter[str] = Counter()
    for text, number, decided in tx.execute(
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


def room(tx: Transaction, requirements_json: str, worker: Standing) -> int:
    """Return how many more people may begin, where the worker is new to HITs with such a limit."""
    rooms = [_MANY]
    for type_id in _limits(requirements_json) - {*worker.values, *worker.taken}:
        kind = get_type(tx, type_id)
        if kind is None or kind.auto_granted or kind.auto_value < 2 or _is_known(tx, worker):
            continue
        begun = tx.value(
            "SELECT count(DISTINCT a.worker_id) FROM assignments a JOIN hits h ON h.hit_id = a.hit_id"
            f" JOIN hit_types t ON t.hit_type_id = h.hit_type_id WHERE a.status IN {HAD}"
            " AND (a.status <> 'Accepted' OR a.accepted_at > :since) AND t.requirements LIKE :limited",
            since=tx.now - _LATE,
            limited=f'%"{type_id}"%',
        )
        rooms.append(kind.auto_value - int(begun))
    return min(rooms)


_MANY, _LATE = 1_000_000, 1800.0
"""Room without a limit; and after so many seconds, a HIT in hand keeps nobody out."""


def _is_known(tx: Transaction, worker: Standing) -> bool:
    """Tell whether a worker is simulated, or sent by a panel on more than its link's word."""
    return SIMULATED in worker.values or bool(
        tx.execute(
            "SELECT 1 FROM panel_workers c JOIN panels p ON p.panel = c.panel WHERE c.worker_id = :worker"
            " AND (p.signed = 1 OR p.confirm = 1 OR p.keys <> '')",
            worker=worker.worker_id,
        )
    )


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
        for text in tx.values(
            "SELECT DISTINCT requirements FROM hit_types"
            f" WHERE requirements LIKE '%DoesNotExist%' OR requirements LIKE '%{TAKEN}%'"
        )
        for one in json.loads(text)
        if one["Comparator"] in ("DoesNotExist", TAKEN)
    )


def describe(tx: Transaction, requirement: Requirement, worker: Standing) -> View:
    """Put a requirement in words, for the worker's pages, and say whether there is a page about it."""
    type_id = requirement["QualificationTypeId"]
    if requirement["Comparator"] == TAKEN:
        pending = worker.undecided.get(type_id)
        return {
            "qualification_type_id": type_id,
            "name": "Your earlier work",
            "has_page": False,
            "requirement": "is being checked" if pending else "does not lead to more HITs",
        }
    rows = tx.execute(
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


# Qualification types, and the workers who were granted one.

_FIELDS = {  # request parameter: column
    "Description": "description",
    "QualificationTypeStatus": "status",
    "Test": "test",
    "TestDurationInSeconds": "test_duration",
    "AnswerKey": "answer_key",
    "RetryDelayInSeconds": "retry_delay",
    "AutoGranted": "auto_granted",
    "AutoGrantedValue": "auto_value",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class QualificationType:
    """A qualification that workers can have, and how they get it."""

    qualification_type_id: str
    requester_id: str
    name: str
    description: str
    keywords: str | None
    status: str
    test: str | None = None
    test_duration: int | None = None
    answer_key: str | None = None
    retry_delay: int | None = None
    auto_granted: int = 0
    auto_value: int = 1
    created: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    """A qualification that a worker has, or had."""

    qualification_type_id: str
    worker_id: str
    value: int | None
    granted: float
    status: str
    reason: str | None = None


def create_type(tx: Transaction, requester_id: str, params: Params) -> QualificationType:
    """Make a qualification type."""
    for name in ("Name", "Description"):
        if not params[name].strip():
            raise invalid(name, "is empty")
    kind = QualificationType(
        qualification_type_id=new_id(),
        requester_id=requester_id,
        name=params["Name"],
        keywords=params.get("Keywords"),
        created=tx.now,
        **_columns(params),
    )
    _check_type(kind, params)
    if not tx.insert("qualification_types", kind, "ON CONFLICT DO NOTHING RETURNING seq"):
        raise refused("QualificationTypeAlreadyExists", f"The name is {params['Name']!r}.")
    return kind


def update_type(tx: Transaction, requester_id: str, params: Params) -> QualificationType:
    """Change a qualification type; a new test without an AnswerKey removes the old key."""
    kind = find_type(tx, params["QualificationTypeId"], requester_id)
    changes = dict(_columns(params))
    if "AnswerKey" in params and "Test" not in params:
        raise invalid("AnswerKey", "is changed together with the Test")
    if "Test" in params:
        changes.setdefault("answer_key", None)
    kind = replace(kind, **changes)
    _check_type(kind, params)
    if changes:
        tx.update("qualification_types", changes, qualification_type_id=kind.qualification_type_id)
    return kind


def _columns(params: Params) -> Mapping[str, Any]:
    return {
        column: int(params[name]) if isinstance(params[name], bool) else params[name]
        for name, column in _FIELDS.items()
        if name in params
    }


def _check_type(kind: QualificationType, params: Params) -> None:
    if kind.test is None:
        if kind.answer_key is not None:
            raise invalid("AnswerKey", "needs a Test")
    elif kind.auto_granted:
        raise invalid("AutoGranted", "cannot be true for a type with a Test")
    elif "Test" in params and "TestDurationInSeconds" not in params:
        raise invalid("Test", "needs TestDurationInSeconds")
    for name in ("TestDurationInSeconds", "RetryDelayInSeconds"):
        if params.get(name, 1) < 0:
            raise invalid(name, "is negative")
    if "Test" in params and read_question(params["Test"], "Test").kind != "form":
        raise invalid("Test", "must be a QuestionForm")
    if "AnswerKey" in params:
        read_answer_key(params["AnswerKey"])


def find_type(tx: Transaction, type_id: str, requester_id: str | None = None) -> QualificationType:
    """Return a qualification type: anybody's, or only the given requester's."""
    found = get_type(tx, type_id)
    if found is None or requester_id not in (None, found.requester_id):
        if type_id in SYSTEM and requester_id is not None:
            raise refused("PermissionDeniedException", f"{SYSTEM[type_id]} belongs to the marketplace.")
        raise missing("QualificationType", type_id)
    return found


def get_type(tx: Transaction, type_id: str) -> QualificationType | None:
    """Return any requester's qualification type that is in use."""
    return tx.get(QualificationType, "qualification_types", qualification_type_id=type_id, deleted=0)


def list_types(tx: Transaction, worker_id: str) -> list[QualificationType]:
    """Return the types that can be requested, and those that the worker has, the newest first.

    Left out are marks by which requesters exclude workers from HITs, and scores that limit how many HITs a
    worker takes: requesting one would only do harm.
    """
    marks = internal(tx)
    kinds = tx.select(
        QualificationType,
        "FROM qualification_types WHERE deleted = 0 AND (status = 'Active' OR qualification_type_id IN"
        " (SELECT qualification_type_id FROM qualifications WHERE worker_id = :w AND status = 'Granted'))"
        " ORDER BY seq DESC",
        w=worker_id,
    )
    return [
        kind
        for kind in kinds
        if kind.qualification_type_id not in marks or kind.auto_granted or kind.test is not None
    ]


def get_grant(tx: Transaction, type_id: str, worker_id: str) -> Grant | None:
    """Return what a worker was granted of a type, in any state."""
    return tx.get(Grant, "qualifications", qualification_type_id=type_id, worker_id=worker_id)


def check_readable(tx: Transaction, type_id: str, requester_id: str) -> None:
    """Let only the owner see who has a qualification; anybody may see who is simulated."""
    if type_id != SIMULATED:
        find_type(tx, type_id, requester_id)


def delete_type(tx: Transaction, requester_id: str, type_id: str) -> None:
    """Take a qualification type out of use; its name is free again."""
    find_type(tx, type_id, requester_id)
    tx.update("qualification_types", {"deleted": 1}, qualification_type_id=type_id)


def grant(tx: Transaction, type_id: str, worker_id: str, value: int) -> None:
    """Give a worker a qualification, or another value of it."""
    given = {"qualification_type_id": type_id, "worker_id": worker_id, "value": value}
    tx.insert(
        "qualifications",
        {**given, "granted": tx.now, "status": "Granted"},
        "ON CONFLICT (qualification_type_id, worker_id) DO UPDATE SET value = excluded.value,"
        " granted = excluded.granted, status = 'Granted', reason = NULL",
    )


def associate(tx: Transaction, requester_id: str, params: Params) -> None:
    """Give a worker a qualification, and tell the worker unless the requester says otherwise."""
    kind = find_type(tx, params["QualificationTypeId"], requester_id)
    workers.find(tx, params["WorkerId"])
    grant(tx, params["QualificationTypeId"], params["WorkerId"], params.get("IntegerValue", 1))
    if params.get("SendNotification", True):
        text = f"You have been granted the qualification {kind.name!r}: {kind.description}"
        workers.write(tx, requester_id, params["WorkerId"], "You have a new qualification", text)


def revoke(tx: Transaction, requester_id: str, params: Params) -> None:
    """Take a qualification from a worker."""
    find_type(tx, params["QualificationTypeId"], requester_id)
    find_grant(tx, params["QualificationTypeId"], params["WorkerId"])
    _revoke(tx, params["QualificationTypeId"], params["WorkerId"], params.get("Reason"))


def make_master(tx: Transaction, worker_id: str, *, wanted: bool) -> None:
    """Make a worker a Master, or no longer one; the admin alone may."""
    workers.find(tx, worker_id)
    for type_id in MASTERS:
        if wanted:
            grant(tx, type_id, worker_id, 1)
        else:
            _revoke(tx, type_id, worker_id)


def _revoke(tx: Transaction, type_id: str, worker_id: str, reason: str | None = None) -> None:
    revoked = {"status": "Revoked", "reason": reason}
    tx.update("qualifications", revoked, qualification_type_id=type_id, worker_id=worker_id)


def find_grant(tx: Transaction, type_id: str, worker_id: str) -> Grant:
    """Return a worker's grant."""
    found = get_grant(tx, type_id, worker_id)
    if found is None:
        raise refused("QualificationDoesNotExist", f"{worker_id} never had {type_id}.")
    if found.status != "Granted":
        raise wrong_state("InvalidQualificationState", "Granted", f"It is {found.status}.")
    return found


# Workers' requests for qualifications: granted at once, by a test's score, or by the requester.


@dataclass(frozen=True, slots=True, kw_only=True)
class QualificationRequest:
    """A worker's request for a qualification."""

    request_id: str
    qualification_type_id: str
    requester_id: str
    worker_id: str
    status: str
    answer: str | None = None
    started: float
    submitted_at: float | None = None
    reason: str | None = None


def latest_request(tx: Transaction, kind: QualificationType, worker_id: str) -> QualificationRequest | None:
    """Return the worker's last request of this type; it is Rejected if the time for its test ran out."""
    last = tx.find(
        QualificationRequest,
        "FROM qualification_requests WHERE qualification_type_id = :type AND worker_id = :worker"
        " ORDER BY seq DESC LIMIT 1",
        type=kind.qualification_type_id,
        worker=worker_id,
    )
    tested = last is not None and last.status == "Open" and kind.test is not None
    if last and tested and last.started + (kind.test_duration or 0) <= tx.now:
        return replace(last, status="Rejected")
    return last


def begin_request(tx: Transaction, type_id: str, worker_id: str) -> None:
    """Request a qualification; if it has a test, the worker's time for it starts now."""
    kind = _requestable(tx, type_id)
    last = latest_request(tx, kind, worker_id)
    if last and last.status == "Open" and kind.test is not None:
        return
    if last and last.status == "Submitted":
        raise Refusal("pending", "Your request is waiting for the requester.")
    if last and last.status in ("Granted", "Rejected"):
        _refuse_retry(tx, kind, last)
    request = QualificationRequest(
        request_id=new_id(),
        qualification_type_id=type_id,
        requester_id=kind.requester_id,
        worker_id=worker_id,
        status="Open",
        started=tx.now,
    )
    tx.insert("qualification_requests", request)
    if kind.test is None:
        finish_request(tx, type_id, worker_id, [])


def _requestable(tx: Transaction, type_id: str) -> QualificationType:
    kind = get_type(tx, type_id)
    if kind is None or kind.status != "Active":
        raise _closed()
    return kind


def _closed() -> Refusal:
    return Refusal("closed", "This qualification cannot be requested.", 404)


def _refuse_retry(tx: Transaction, kind: QualificationType, last: QualificationRequest) -> None:
    if kind.retry_delay is None:
        raise Refusal("never", "This qualification can be requested only once.")
    if (last.submitted_at or last.started) + kind.retry_delay > tx.now:
        raise Refusal("retry_later", "You can request it again later.")


def finish_request(tx: Transaction, type_id: str, worker_id: str, fields: Fields) -> None:
    """Submit a request, with the answers to its test, and grant it if no person has to decide.

    Who has begun a test may hand it in, even if it can be requested no more.
    """
    kind = get_type(tx, type_id)
    if kind is None:
        raise _closed()
    request = latest_request(tx, kind, worker_id)
    if request and request.status == "Rejected" and request.submitted_at is None:
        raise Refusal("too_late", "The time for the test is over.", 410)
    if request is None or request.status != "Open":
        raise _no_request()
    fields = list(fields)
    # Of two that hand in at once, in processes that do not see each other, one does.
    handed_in = tx.execute(
        "UPDATE qualification_requests SET status = 'Submitted', submitted_at = :now, answer = :answer"
        " WHERE request_id = :id AND status = 'Open' RETURNING seq",
        now=tx.now,
        answer=None if kind.test is None else write_form_answers(parse_form(kind.test, "Test"), fields),
        id=request.request_id,
    )
    if not handed_in:
        raise _no_request()
    if kind.auto_granted:
        accept_request(tx, request, kind.auto_value)
    elif kind.answer_key is not None:
        accept_request(tx, request, read_answer_key(kind.answer_key).score(fields))


def _no_request() -> Refusal:
    return Refusal("no_request", "You have no open request for this qualification.")


def find_request(tx: Transaction, requester_id: str, request_id: str) -> QualificationRequest:
    """Return a request that waits for its requester."""
    found = tx.get(
        QualificationRequest,
        "qualification_requests",
        lock=True,
        request_id=request_id,
        requester_id=requester_id,
    )
    if found is None or found.status == "Open":
        raise missing("QualificationRequest", request_id)
    if found.status != "Submitted":
        raise refused("InvalidQualificationState", f"The request {request_id} is {found.status}.")
    return found


def accept_request(tx: Transaction, request: QualificationRequest, value: int) -> None:
    """Grant a request."""
    grant(tx, request.qualification_type_id, request.worker_id, value)
    _close_request(tx, request, "Granted", None)


def reject_request(tx: Transaction, request: QualificationRequest, reason: str | None) -> None:
    """Reject a request."""
    _close_request(tx, request, "Rejected", reason)


def _close_request(tx: Transaction, request: QualificationRequest, status: str, reason: str | None) -> None:
    tx.update("qualification_requests", {"status": status, "reason": reason}, request_id=request.request_id)
