"""HITs: offered, counted, expired, reviewed, disposed of; their types; and what a worker sees of them.

A HIT keeps four counters, whose sum is its MaxAssignments: available (nobody has them), pending (accepted),
submitted (not decided yet) and completed (decided). Its status follows from them and from the time, so no
status has to be kept up to date.
"""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace

from prefjudge.database import Value, columns_of, in_list, row_of
from prefjudge.marketplace.errors import (
    Params,
    Refusal,
    View,
    from_cents,
    invalid,
    missing,
    refused,
    to_cents,
)
from prefjudge.marketplace.people import qualifications, workers
from prefjudge.marketplace.people.qualifications import Standing
from prefjudge.marketplace.people.workers import HAD
from prefjudge.marketplace.questions import Question, read_question
from prefjudge.marketplace.store import ledger
from prefjudge.marketplace.store.store import Transaction, iso, new_id

# UniqueRequestTokens: a call that is repeated with one within a day does nothing again.


def claim_token(tx: Transaction, requester_id: str, kind: str, token: str | None, result: str) -> str | None:
    """Keep a result under a token for its life; return that of an earlier call with it, if there was one."""
    if token is None:
        return None
    since = tx.now - tx.marketplace.rules.token_life
    kept = tx.insert(
        "request_tokens",
        {"requester_id": requester_id, "kind": kind, "token": token, "result": result, "created": tx.now},
        "ON CONFLICT (requester_id, kind, token) DO UPDATE SET result = excluded.result,"
        " created = excluded.created WHERE request_tokens.created <= :since RETURNING result",
        since=since,
    )
    if kept:
        return None
    return str(tx.pick("result", "request_tokens", requester_id=requester_id, kind=kind, token=token))


# HIT types: the properties that HITs share, and that group them for workers.

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


TERMS = columns_of(Terms)
OF_TYPE = f"(SELECT hit_type_id, {', '.join(TERMS)} FROM hit_types) t"
"""What a HIT is joined with: its terms only, so that each column name occurs once."""


def seconds_between(params: Params, name: str, low: int, high: int, default: int | None = None) -> int:
    """Return a duration, checked."""
    value = params.get(name, default)
    if not isinstance(value, int) or not low <= value <= high:
        raise invalid(name, f"{value} is not between {low} and {high} seconds")
    return value


def ensure_type(tx: Transaction, requester_id: str, params: Params) -> str:
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
    if known := _known_type(tx, requester_id, fingerprint):  # first, as most HITs are of a type that is there
        return known
    # two calls at once with the same terms get one HIT type: the fingerprint is unique
    tx.insert(
        "hit_types",
        {**row, "hit_type_id": new_id(), "fingerprint": fingerprint, "created": tx.now},
        "ON CONFLICT (requester_id, fingerprint) DO NOTHING",
    )
    return _known_type(tx, requester_id, fingerprint)


def _known_type(tx: Transaction, requester_id: str, fingerprint: str) -> str:
    """Return the id of the HIT type with these properties, empty where there is none."""
    found = tx.pick("hit_type_id", "hit_types", requester_id=requester_id, fingerprint=fingerprint)
    return str(found or "")


def find_type(tx: Transaction, requester_id: str, hit_type_id: str) -> Terms:
    """Return what a requester's HIT type offers."""
    found = tx.get(Terms, "hit_types", hit_type_id=hit_type_id, requester_id=requester_id)
    if found is None:
        raise missing("HITType", hit_type_id)
    return found


MAX_ASSIGNMENTS = 1_000_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit(Terms):
    """A HIT, with the terms of its HIT type."""

    hit_id: str
    requester_id: str
    hit_type_id: str
    kind: str
    height: int
    address: str | None
    annotation: str | None
    created: float
    expiration: float
    max_assignments: int
    first_max: int
    available: int
    pending: int = 0
    submitted: int = 0
    completed: int = 0
    held: int
    reviewing: int = 0
    disposed: int = 0
    told_expired: int = 0
    told_reviewable: int = 0


JOINED = f"FROM hits h JOIN {OF_TYPE} USING (hit_type_id)"
WITH_QUESTION = "JOIN questions q USING (hit_id)"
REVIEWABLE = "h.disposed = 0 AND h.pending = 0 AND (h.available = 0 OR h.expiration <= :now)"
OPEN = "h.disposed = 0 AND h.reviewing = 0 AND h.available > 0 AND h.expiration > :now"


def status(hit: Hit, now: float) -> str:
    """Return the HITStatus at a moment."""
    if hit.disposed:
        return "Disposed"
    if hit.reviewing:
        return "Reviewing"
    if hit.available and hit.expiration > now:
        return "Assignable"
    return "Unassignable" if hit.pending else "Reviewable"


def unit_cost(tx: Transaction, reward: int, max_assignments: int) -> int:
    """Return what one approved assignment costs the requester, fee included, in cents."""
    return reward + tx.marketplace.rules.fees.on(reward, max_assignments)


def create(tx: Transaction, requester_id: str, hit_type_id: str, params: Params) -> Hit:
    """Offer a HIT."""
    hit_id = new_id()
    if made := claim_token(tx, requester_id, "hit", params.get("UniqueRequestToken"), hit_id):
        raise refused("HitAlreadyExists", f"The HIT {made} was made with this UniqueRequestToken.")
    hit_type = find_type(tx, requester_id, hit_type_id)
    lifetime = seconds_between(params, "LifetimeInSeconds", 30, YEAR)
    count = params.get("MaxAssignments", 1)
    if not 1 <= count <= MAX_ASSIGNMENTS:
        raise invalid("MaxAssignments", f"{count} is not between 1 and {MAX_ASSIGNMENTS}")
    asked = _question(params)
    cost = unit_cost(tx, hit_type.reward, count) * count
    ledger.spend(tx, requester_id, ledger.hold(requester_id), cost, "hold", hit_id)
    hit = Hit(
        **{name: getattr(hit_type, name) for name in TERMS},
        hit_id=hit_id,
        requester_id=requester_id,
        hit_type_id=hit_type_id,
        kind=asked.kind,
        height=asked.height,
        address=asked.content if asked.kind == "external" else None,
        annotation=params.get("RequesterAnnotation"),
        created=tx.now,
        expiration=tx.now + lifetime,
        max_assignments=count,
        first_max=count,
        available=count,
        held=cost,
    )
    tx.insert("hits", {name: value for name, value in row_of(hit).items() if name not in TERMS})
    # in a table of its own: the counters change often, and their rows are better short
    tx.insert("questions", {"hit_id": hit_id, "content": params["Question"]})
    note(tx, "HITCreated", hit)
    return hit


def note(
    tx: Transaction, event: str, hit: Hit, assignment_id: str | None = None, worker_id: str | None = None
) -> None:
    """Log what happened to a HIT or to an assignment of it, for the admin and for a requester's pulse."""
    happened = {
        "time": tx.now,
        "event": event,
        "requester_id": hit.requester_id,
        "hit_type_id": hit.hit_type_id,
        "hit_id": hit.hit_id,
        "assignment_id": assignment_id,
        "worker_id": worker_id,
    }
    tx.insert("events", happened)


def count_submissions(tx: Transaction, requester_id: str) -> int:
    """Return how often work was submitted to a requester."""
    # Counted: the last event's number would hide one of a smaller number that another process commits later.
    sql = "SELECT count(*) FROM events WHERE requester_id = :id AND event = 'AssignmentSubmitted'"
    return int(tx.value(sql, id=requester_id))


def _question(params: Params) -> Question:
    """Read and check the Question."""
    for name, what in (
        ("HITLayoutId", "HIT layouts were part of Amazon's requester website"),
        ("AssignmentReviewPolicy", "review policies are left to the requester's own program"),
        ("HITReviewPolicy", "review policies are left to the requester's own program"),
    ):
        if params.get(name):
            raise invalid(name, f"{what}; this marketplace does not have them")
    if "Question" not in params:
        raise refused("InvalidParameterValue", "Question: a HIT needs a Question.")
    return read_question(params["Question"])


def find(tx: Transaction, requester_id: str, hit_id: str, *, lock: bool = False) -> Hit:
    """Return a requester's HIT, locked until the transaction ends where ``lock`` is set."""
    hit = get(tx, hit_id, lock=lock)
    if hit is None or hit.requester_id != requester_id:
        raise missing("HIT", hit_id)
    return hit


def get(tx: Transaction, hit_id: str, *, lock: bool = False) -> Hit | None:
    """Return any requester's HIT."""
    clause = f"{tx.locked} OF h" if lock and tx.locked else ""
    return tx.find(Hit, f"{JOINED} WHERE h.hit_id = :hit{clause}", hit=hit_id)


def taken(tx: Transaction, hit_id: str) -> Hit:
    """Return the HIT of an assignment, locked until the transaction ends."""
    hit = get(tx, hit_id, lock=True)
    assert hit is not None, "an assignment has its HIT"
    return hit


def question(tx: Transaction, hit_id: str) -> str:
    """Return a HIT's question as it was given."""
    return str(tx.pick("content", "questions", hit_id=hit_id))


def shift(tx: Transaction, hit: Hit, **changes: int) -> None:
    """Change counters of a HIT, and log when it becomes reviewable."""
    # by difference, so that what another process changed meanwhile stays
    sets = ", ".join(f"{name} = {name} + :{name}" for name in changes)
    tx.execute(f"UPDATE hits SET {sets} WHERE hit_id = :hit", {**changes, "hit": hit.hit_id})
    announce(tx, replace(hit, **{name: getattr(hit, name) + change for name, change in changes.items()}))


def announce(tx: Transaction, hit: Hit) -> None:
    """Log that the HIT expired or became reviewable, once each time."""
    expired = int(hit.expiration <= tx.now)
    reviewable = int(status(hit, tx.now) == "Reviewable")
    if expired and not hit.told_expired:
        note(tx, "HITExpired", hit)
    if reviewable and not hit.told_reviewable:
        note(tx, "HITReviewable", hit)
    if (expired, reviewable) != (hit.told_expired, hit.told_reviewable):
        told = {"told_expired": expired, "told_reviewable": reviewable}
        tx.update("hits", told, hit_id=hit.hit_id)


def expire_at(tx: Transaction, hit: Hit, time: float) -> None:
    """Move the time at which the HIT expires; a past time ends it now."""
    _must_be(tx, hit, "Assignable", "Unassignable", "Reviewable")
    if time > tx.now + YEAR:
        raise invalid("ExpireAt", "is more than a year ahead")
    hit = replace(hit, expiration=max(time, hit.created))
    tx.update("hits", {"expiration": hit.expiration}, hit_id=hit.hit_id)
    if time > tx.now:
        note(tx, "HITExtended", hit)
    announce(tx, hit)


def extend(tx: Transaction, hit: Hit, more: int, token: str | None) -> None:
    """Ask for more assignments."""
    requester_id, hit_id = hit.requester_id, hit.hit_id
    if claim_token(tx, requester_id, "extension", token, hit_id):
        raise refused("DuplicateRequest", f"The HIT {hit_id} was extended with this UniqueRequestToken.")
    _must_be(tx, hit, "Assignable", "Unassignable", "Reviewable", "Reviewing")
    total = hit.max_assignments + more
    if more < 1 or total > MAX_ASSIGNMENTS:
        raise invalid("NumberOfAdditionalAssignments", f"{more} is not between 1 and {MAX_ASSIGNMENTS}")
    if hit.first_max < 10 <= total:
        raise refused(
            "InvalidMaximumAssignmentsIncrease",
            "A HIT made with less than 10 assignments cannot come to 10 or more.",
        )
    cost = unit_cost(tx, hit.reward, hit.first_max) * more
    ledger.spend(tx, requester_id, ledger.hold(requester_id), cost, "hold", hit_id)
    tx.update("hits", {"reviewing": 0}, hit_id=hit_id)
    hit = replace(hit, reviewing=0)
    note(tx, "HITExtended", hit)
    shift(tx, hit, max_assignments=more, available=more, held=cost)


def review(tx: Transaction, hit: Hit, *, revert: bool) -> None:
    """Move a HIT from Reviewable to Reviewing, or back."""
    _must_be(tx, hit, "Reviewing" if revert else "Reviewable")
    tx.update("hits", {"reviewing": int(not revert)}, hit_id=hit.hit_id)


def move(tx: Transaction, hit: Hit, hit_type_id: str) -> None:
    """Move a HIT to another HIT type of the same requester; what it holds follows the new reward."""
    requester_id = hit.requester_id
    hit_type = find_type(tx, requester_id, hit_type_id)
    _must_be(tx, hit, "Assignable", "Unassignable", "Reviewable", "Reviewing")
    if hit.pending or hit.submitted:
        raise refused("InvalidHITState", f"The HIT {hit.hit_id} has assignments under way or in review.")
    cost = unit_cost(tx, hit_type.reward, hit.first_max) * hit.available
    _release(tx, hit, hit.held)
    ledger.spend(tx, requester_id, ledger.hold(requester_id), cost, "hold", hit.hit_id)
    tx.update("hits", {"hit_type_id": hit_type_id, "held": cost}, hit_id=hit.hit_id)


def dispose(tx: Transaction, hit: Hit) -> None:
    """Take a HIT out of all lists and give back what it held."""
    _must_be(tx, hit, "Reviewing", "Reviewable")
    if hit.submitted:
        raise refused("InvalidHITState", f"{hit.hit_id} has assignments to approve or reject.")
    _release(tx, hit, hit.held)
    tx.update("hits", {"disposed": 1, "held": 0}, hit_id=hit.hit_id)
    note(tx, "HITDisposed", hit)


def _release(tx: Transaction, hit: Hit, cents: int) -> None:
    requester_id = hit.requester_id
    ledger.transfer(tx, ledger.hold(requester_id), ledger.free(requester_id), cents, "release", hit.hit_id)


def release_unit(tx: Transaction, hit: Hit) -> int:
    """Give back what one assignment would have cost; return the change to ``held``."""
    cents = unit_cost(tx, hit.reward, hit.first_max)
    _release(tx, hit, cents)
    return -cents


def _must_be(tx: Transaction, hit: Hit, *allowed: str) -> None:
    if (now := status(hit, tx.now)) not in allowed:
        raise refused(
            "InvalidHITState",
            f"This HIT is currently in the state '{now}'.  This operation can be called with a status of:"
            f" {', '.join(allowed)}",
        )


# The HITs on offer, as a worker sees them: groups of one HIT type, and one HIT to look at.

PER_PAGE = 20
_TAKEN = f"a.status IN {HAD}"
UNDONE = (
    "NOT EXISTS (SELECT 1 FROM assignments a WHERE a.hit_id = h.hit_id AND a.worker_id = :worker"
    f" AND {_TAKEN})"
)
_FIRST = (
    f"SELECT h.seq FROM hits h WHERE h.hit_type_id = t.hit_type_id AND {OPEN} AND {UNDONE}"
    " ORDER BY h.seq LIMIT 1"
)
# A subquery, as a database whose statistics are old reads all HITs of the type for a join.
OPEN_TYPE = f"(SELECT h.hit_type_id FROM hits h WHERE h.hit_id = a.hit_id AND {OPEN})"
COUNTED = 1000  # a larger number of HITs is shown as this: counting them all would take long


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer(Terms):
    """The first HIT of a group that a worker has not done, and who offers it."""

    hit_id: str
    hit_type_id: str
    requester_id: str
    name: str
    expiration: float


def groups(tx: Transaction, worker_id: str, number: int = 1) -> View:
    """Return one page of the groups with HITs that the worker has not done, best paid first."""
    worker = qualifications.standing(tx, worker_id)
    found = _open_to(tx, worker)
    pages = max(1, -(-len(found) // PER_PAGE))
    number = min(max(number, 1), pages)
    shown = found[(number - 1) * PER_PAGE : number * PER_PAGE]
    return {"groups": _offered(tx, worker, shown), "page": number, "pages": pages}


def group(tx: Transaction, worker_id: str, group_id: str) -> View | None:
    """Return one group as this worker sees it, or None where nothing is left in it."""
    return _group(tx, qualifications.standing(tx, worker_id), group_id)


def _group(tx: Transaction, worker: Standing, group_id: str) -> View | None:
    return next(iter(_offered(tx, worker, _open_to(tx, worker, group_id)[:1])), None)


def count_open(tx: Transaction, worker_id: str, group_id: str) -> int:
    """Return how many HITs of a group are open and the worker has not done, up to :data:`COUNTED`."""
    done = tx.value(
        "SELECT count(*) FROM assignments a"
        f" WHERE a.worker_id = :worker AND {_TAKEN} AND {OPEN_TYPE} = :type",
        type=group_id,
        worker=worker_id,
        now=tx.now,
    )
    number = tx.value(
        f"SELECT count(*) FROM (SELECT 1 FROM hits h WHERE h.hit_type_id = :type AND {OPEN}"
        f" LIMIT {COUNTED + int(done)}) AS counted",
        type=group_id,
        now=tx.now,
    )
    return int(number) - int(done)


def _open_to(tx: Transaction, worker: Standing, group_id: str = "") -> list[int]:
    """Return the first HIT, by its number, of each group that the worker may see, best paid first.

    A marketplace has thousands of groups, and few ways to require something: each is looked at once, and no
    more is read of a group than its place in the list needs.
    """
    only = " WHERE hit_type_id = :group" if group_id else ""
    rows = tx.execute(
        f"SELECT o.first_seq, o.requirements FROM (SELECT t.reward, t.requirements, ({_FIRST}) AS first_seq"
        f" FROM (SELECT hit_type_id, requester_id, reward, requirements FROM hit_types{only}) t"
        f" WHERE NOT {workers.HIDDEN} AND NOT {workers.BLOCKED}"
        ") o WHERE o.first_seq IS NOT NULL ORDER BY o.reward DESC, o.first_seq",
        worker=worker.worker_id,
        now=tx.now,
        **({"group": group_id} if group_id else {}),
    )
    hidden = {
        asked: bool(qualifications.unmet(asked, worker, "discover")) for asked in {asked for _, asked in rows}
    }
    return [int(seq) for seq, asked in rows if not hidden[asked]]


def _offered(tx: Transaction, worker: Standing, numbers: Sequence[int]) -> list[View]:
    """Return the groups whose first HITs have these numbers, best paid first."""
    listed, named = in_list("seq", numbers)
    return [
        _view(tx, row, worker, count_open(tx, worker.worker_id, row.hit_type_id))
        for row in _offers(tx, f"h.seq IN ({listed})", **named)
    ]


def _offers(tx: Transaction, where: str, **named: Value) -> list[Offer]:
    return tx.select(
        Offer,
        f"FROM hits h JOIN {OF_TYPE} USING (hit_type_id)"
        " JOIN (SELECT requester_id, name FROM requesters) r USING (requester_id)"
        f" WHERE {where} ORDER BY t.reward DESC, h.seq",
        **named,
    )


def _view(tx: Transaction, row: Offer, worker: Standing, available: int) -> View:
    """Show a group of HITs of one type; ``waits`` says why more come only later."""
    asked = row.requirements
    missing = qualifications.unmet(asked, worker)
    full = not missing and qualifications.room(tx, asked, worker) < 1
    return {
        "group_id": row.hit_type_id,
        "hit_id": row.hit_id,
        "title": row.title,
        "description": row.description,
        "keywords": row.keywords or "",
        "requester": row.name,
        "reward": from_cents(row.reward),
        "available": available,
        "duration": row.duration,
        "expires": iso(row.expiration),
        "qualified": not (missing or full),
        "missing": [qualifications.describe(tx, one, worker) for one in missing],
        "waits": qualifications.MANY_BEGAN if full else qualifications.waits(missing, worker),
        "can_preview": not qualifications.unmet(asked, worker, "preview"),
    }


def preview(
    tx: Transaction, worker_id: str, *, hit_id: str | None = None, group_id: str | None = None
) -> tuple[View, Hit, str]:
    """Return a group, one HIT of it to look at, and why it cannot be accepted, if it cannot."""
    if hit_id is None:
        seen = group(tx, worker_id, group_id or "")
        hit_id = seen["hit_id"] if seen else ""
    hit = get(tx, hit_id)
    if hit is None or workers.offers_nothing(tx, hit.requester_id, worker_id):
        raise Refusal("no_hit", "There is no such HIT, or none is left for you.", 404)
    asked = hit.requirements
    worker = qualifications.standing(tx, worker_id)
    if qualifications.unmet(asked, worker, "discover"):
        raise Refusal("no_hit", "There is no such HIT, or none is left for you.", 404)
    offer = _group(tx, worker, hit.hit_type_id)
    if offer is None:
        (closed,) = _offers(tx, "h.hit_id = :hit", hit=hit.hit_id)
        offer = _view(tx, closed, worker, 0)
    is_open = status(hit, tx.now) == "Assignable"
    reason = "" if offer["qualified"] else offer["waits"] or "You do not meet the requirements."
    if not is_open or not offer["available"]:
        reason = "This HIT is no longer open to you."
    return offer, hit, reason
