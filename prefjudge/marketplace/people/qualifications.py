"""Qualification types, and the workers who were granted one."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from prefjudge.marketplace.errors import invalid, missing, refused, wrong_state
from prefjudge.marketplace.params import Params
from prefjudge.marketplace.people import workers
from prefjudge.marketplace.people.requirements import MASTERS, SIMULATED, SYSTEM, internal
from prefjudge.marketplace.store.ids import new_id
from prefjudge.marketplace.store.marketplace import Transaction

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
    """Make a qualification type.

    Raises
    ------
    RequestError
        ``QualificationTypeAlreadyExists``: the requester has one of that name; or a parameter is wrong.
    """
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
        sets = ", ".join(f"{column} = :{column}" for column in changes)
        tx.run(
            f"UPDATE qualification_types SET {sets} WHERE qualification_type_id = :id",
            {**changes, "id": kind.qualification_type_id},
        )
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
    if "Test" in params:
        from prefjudge.marketplace.questions.kinds import read_question

        if read_question(params["Test"], "Test").kind != "form":
            raise invalid("Test", "must be a QuestionForm")
    if "AnswerKey" in params:
        from prefjudge.marketplace.questions.answer_keys import read_answer_key

        read_answer_key(params["AnswerKey"])


def find_type(tx: Transaction, type_id: str, requester_id: str | None = None) -> QualificationType:
    """Return a qualification type: anybody's, or only the given requester's.

    Raises
    ------
    RequestError
        ``QualificationTypeDoesNotExist``.
    """
    found = get_type(tx, type_id)
    if found is None or requester_id not in (None, found.requester_id):
        if type_id in SYSTEM and requester_id is not None:
            raise refused("PermissionDeniedException", f"{SYSTEM[type_id]} belongs to the marketplace.")
        raise missing("QualificationType", type_id)
    return found


def get_type(tx: Transaction, type_id: str) -> QualificationType | None:
    """Return any requester's qualification type that is in use."""
    return tx.find(
        QualificationType,
        "FROM qualification_types WHERE qualification_type_id = :id AND deleted = 0",
        id=type_id,
    )


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
    return tx.find(
        Grant,
        "FROM qualifications WHERE qualification_type_id = :type AND worker_id = :worker",
        type=type_id,
        worker=worker_id,
    )


def check_readable(tx: Transaction, type_id: str, requester_id: str) -> None:
    """Let only the owner see who has a qualification; anybody may see who is simulated.

    Raises
    ------
    RequestError
        ``QualificationTypeDoesNotExist``, or it is another's.
    """
    if type_id != SIMULATED:
        find_type(tx, type_id, requester_id)


def delete_type(tx: Transaction, requester_id: str, type_id: str) -> None:
    """Take a qualification type out of use; its name is free again."""
    find_type(tx, type_id, requester_id)
    tx.run("UPDATE qualification_types SET deleted = 1 WHERE qualification_type_id = :id", id=type_id)


def grant(tx: Transaction, type_id: str, worker_id: str, value: int) -> None:
    """Give a worker a qualification, or another value of it."""
    tx.insert(
        "qualifications",
        Grant(
            qualification_type_id=type_id,
            worker_id=worker_id,
            value=value,
            granted=tx.now,
            status="Granted",
        ),
        "ON CONFLICT (qualification_type_id, worker_id) DO UPDATE SET value = excluded.value,"
        " granted = excluded.granted, status = 'Granted', reason = NULL",
    )


def associate(tx: Transaction, requester_id: str, params: Params) -> None:
    """Give a worker a qualification, and tell the worker unless the requester says otherwise."""
    kind = find_type(tx, params["QualificationTypeId"], requester_id)
    workers.find(tx, params["WorkerId"])
    grant(tx, params["QualificationTypeId"], params["WorkerId"], params.get("IntegerValue", 1))
    if params.get("SendNotification", True):
        workers.write(
            tx,
            requester_id,
            params["WorkerId"],
            "You have a new qualification",
            f"You have been granted the qualification {kind.name!r}: {kind.description}",
        )


def revoke(tx: Transaction, requester_id: str, params: Params) -> None:
    """Take a qualification from a worker."""
    find_type(tx, params["QualificationTypeId"], requester_id)
    find_grant(tx, params["QualificationTypeId"], params["WorkerId"])
    _revoke(tx, params["QualificationTypeId"], params["WorkerId"], params.get("Reason"))


def make_master(tx: Transaction, worker_id: str, *, wanted: bool) -> None:
    """Make a worker a Master, or no longer one; the admin alone may.

    Raises
    ------
    RequestError
        There is no such worker.
    """
    workers.find(tx, worker_id)
    for type_id in MASTERS:
        if wanted:
            grant(tx, type_id, worker_id, 1)
        else:
            _revoke(tx, type_id, worker_id)


def _revoke(tx: Transaction, type_id: str, worker_id: str, reason: str | None = None) -> None:
    tx.run(
        "UPDATE qualifications SET status = 'Revoked', reason = :reason"
        " WHERE qualification_type_id = :type AND worker_id = :worker",
        reason=reason,
        type=type_id,
        worker=worker_id,
    )


def find_grant(tx: Transaction, type_id: str, worker_id: str) -> Grant:
    """Return a worker's grant.

    Raises
    ------
    RequestError
        ``QualificationDoesNotExist``; ``InvalidQualificationState``: it was revoked.
    """
    found = get_grant(tx, type_id, worker_id)
    if found is None:
        raise refused("QualificationDoesNotExist", f"{worker_id} never had {type_id}.")
    if found.status != "Granted":
        raise wrong_state("InvalidQualificationState", "Granted", f"It is {found.status}.")
    return found
