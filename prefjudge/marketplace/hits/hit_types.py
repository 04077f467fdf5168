"""HIT types: the properties that HITs share, and by which workers see them grouped."""

import hashlib
import json
from typing import Any

from prefjudge.marketplace.errors import invalid, missing
from prefjudge.marketplace.money.amounts import to_cents
from prefjudge.marketplace.people import requirements
from prefjudge.marketplace.store.ids import new_id
from prefjudge.marketplace.store.marketplace import Record, Transaction

MONTH = 30 * 86400
YEAR = 365 * 86400
COLUMNS = (
    "hit_type_id, requester_id, title, description, keywords, reward, duration, auto_approval_delay,"
    " requirements"
)


def seconds_between(
    params: dict[str, Any], name: str, low: int, high: int, default: int | None = None
) -> int:
    """Return a duration, checked."""
    value = params.get(name, default)
    if not isinstance(value, int) or not low <= value <= high:
        raise invalid(name, f"{value} is not between {low} and {high} seconds")
    return value


def ensure(tx: Transaction, requester_id: str, params: dict[str, Any]) -> str:
    """Return the id of the HIT type with these properties, making it where there is none."""
    for name in ("Title", "Description"):
        if not params[name].strip():
            raise invalid(name, "is empty")
    asked = requirements.check(tx, params.get("QualificationRequirements", []), "HITType")
    record: Record = {
        "requester_id": requester_id,
        "title": params["Title"],
        "description": params["Description"],
        "keywords": params.get("Keywords"),
        "reward": to_cents(params["Reward"], "Reward"),
        "duration": seconds_between(params, "AssignmentDurationInSeconds", 30, YEAR),
        "auto_approval_delay": seconds_between(params, "AutoApprovalDelayInSeconds", 0, MONTH, MONTH),
        "requirements": json.dumps(asked, sort_keys=True),
    }
    fingerprint = hashlib.sha256(json.dumps(record, sort_keys=True).encode()).hexdigest()
    tx.insert(
        "hit_types",
        {**record, "hit_type_id": new_id(), "fingerprint": fingerprint, "created": tx.now},
        "ON CONFLICT (requester_id, fingerprint) DO NOTHING",
    )
    rows = tx.rows(
        "SELECT hit_type_id FROM hit_types WHERE requester_id = :requester AND fingerprint = :fingerprint",
        requester=requester_id,
        fingerprint=fingerprint,
    )
    return str(rows[0][0])


def find(tx: Transaction, requester_id: str, hit_type_id: str) -> Record:
    """Return a requester's HIT type.

    Raises
    ------
    RequestError
        ``HITTypeDoesNotExist``.
    """
    found = tx.record(
        COLUMNS,
        "FROM hit_types WHERE hit_type_id = :id AND requester_id = :requester",
        id=hit_type_id,
        requester=requester_id,
    )
    if found is None:
        raise missing("HITType", hit_type_id)
    return found
