"""HIT types: the properties that HITs share, and that group them for workers."""

import hashlib
import json
from dataclasses import dataclass

from prefjudge.database import columns_of, row_of
from prefjudge.marketplace.errors import Params, invalid, missing, to_cents
from prefjudge.marketplace.people import qualifications
from prefjudge.marketplace.store.store import Transaction, new_id

MONTH = 30 * 86400
YEAR = 365 * 86400


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """What workers are offered, and on which conditions; ``requirements`` are JSON."""

    title: str
    description: str
    keywords: str | None
    reward: int
    duration: int
    auto_approval_delay: int
    requirements: str


@dataclass(frozen=True, slots=True, kw_only=True)
class HitType(Terms):
    """A requester's HIT type."""

    hit_type_id: str
    requester_id: str


TERMS = columns_of(Terms)
OF_TYPE = f"(SELECT hit_type_id, {', '.join(TERMS)} FROM hit_types) t"
"""What a HIT is joined with: its terms only, so that each column name occurs once."""


def seconds_between(params: Params, name: str, low: int, high: int, default: int | None = None) -> int:
    """Return a duration, checked."""
    value = params.get(name, default)
    if not isinstance(value, int) or not low <= value <= high:
        raise invalid(name, f"{value} is not between {low} and {high} seconds")
    return value


def ensure(tx: Transaction, requester_id: str, params: Params) -> str:
    """Return the id of the HIT type with these properties; make it if there is none."""
    for name in ("Title", "Description"):
        if not params[name].strip():
            raise invalid(name, "is empty")
    asked = qualifications.check_requirements(tx, params.get("QualificationRequirements", []), "HITType")
    terms = Terms(
        title=params["Title"],
        description=params["Description"],
        keywords=params.get("Keywords"),
        reward=to_cents(params["Reward"], "Reward"),
        duration=seconds_between(params, "AssignmentDurationInSeconds", 30, YEAR),
        auto_approval_delay=seconds_between(params, "AutoApprovalDelayInSeconds", 0, MONTH, MONTH),
        requirements=json.dumps(asked, sort_keys=True),
    )
    row = {"requester_id": requester_id, **row_of(terms)}
    fingerprint = hashlib.sha256(json.dumps(row, sort_keys=True).encode()).hexdigest()
    if known := _find(tx, requester_id, fingerprint):  # first, as most HITs are of a type that is there
        return known
    # two calls at once with the same terms get one HIT type: the fingerprint is unique
    tx.insert(
        "hit_types",
        {**row, "hit_type_id": new_id(), "fingerprint": fingerprint, "created": tx.now},
        "ON CONFLICT (requester_id, fingerprint) DO NOTHING",
    )
    return _find(tx, requester_id, fingerprint)


def _find(tx: Transaction, requester_id: str, fingerprint: str) -> str:
    """Return the id of the HIT type with these properties, empty where there is none."""
    rows = tx.rows(
        "SELECT hit_type_id FROM hit_types WHERE requester_id = :requester AND fingerprint = :fingerprint",
        requester=requester_id,
        fingerprint=fingerprint,
    )
    return str(rows[0][0]) if rows else ""


def find(tx: Transaction, requester_id: str, hit_type_id: str) -> HitType:
    """Return a requester's HIT type.

    Raises
    ------
    RequestError
        ``HITTypeDoesNotExist``.
    """
    found = tx.find(
        HitType,
        "FROM hit_types WHERE hit_type_id = :id AND requester_id = :requester",
        id=hit_type_id,
        requester=requester_id,
    )
    if found is None:
        raise missing("HITType", hit_type_id)
    return found
