"""HITs: offered, counted, expired, reviewed, disposed of.

A HIT keeps four counters, whose sum is its MaxAssignments: available (nobody has them), pending (accepted),
submitted (not decided yet) and completed (decided). Its status follows from them and from the time, so no
status has to be kept up to date.
"""

from dataclasses import dataclass, replace

from prefjudge.database import row_of
from prefjudge.marketplace.errors import Params, invalid, missing, refused
from prefjudge.marketplace.hits import hit_types, request_tokens
from prefjudge.marketplace.questions.kinds import Question, read_question
from prefjudge.marketplace.store import ledger
from prefjudge.marketplace.store.store import Transaction, new_id

MAX_ASSIGNMENTS = 1_000_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit(hit_types.Terms):
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


JOINED = f"FROM hits h JOIN {hit_types.OF_TYPE} USING (hit_type_id)"
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
    """Offer a HIT.

    Raises
    ------
    RequestError
        ``HitAlreadyExists`` for a token of the last 24 hours; ``InsufficientFunds``; a parameter is wrong.
    """
    token = params.get("UniqueRequestToken")
    _refuse_repeat(request_tokens.earlier_result(tx, requester_id, "hit", token))
    hit_type = hit_types.find(tx, requester_id, hit_type_id)
    lifetime = hit_types.seconds_between(params, "LifetimeInSeconds", 30, hit_types.YEAR)
    count = params.get("MaxAssignments", 1)
    if not 1 <= count <= MAX_ASSIGNMENTS:
        raise invalid("MaxAssignments", f"{count} is not between 1 and {MAX_ASSIGNMENTS}")
    asked = _question(params)
    hit_id, cost = new_id(), unit_cost(tx, hit_type.reward, count) * count
    ledger.spend(tx, requester_id, ledger.hold(requester_id), cost, "hold", hit_id)
    # another process may have used the token since: its HIT stands, and all of this is rolled back
    if not request_tokens.remember(tx, requester_id, "hit", token, hit_id):
        _refuse_repeat(request_tokens.earlier_result(tx, requester_id, "hit", token))
    hit = Hit(
        **{name: getattr(hit_type, name) for name in hit_types.TERMS},
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
    tx.insert("hits", {name: value for name, value in row_of(hit).items() if name not in hit_types.TERMS})
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
    (count,) = tx.rows(
        "SELECT count(*) FROM events WHERE requester_id = :id AND event = 'AssignmentSubmitted'",
        id=requester_id,
    )[0]
    return int(count)


def _refuse_repeat(hit_id: str | None) -> None:
    if hit_id is not None:
        raise refused("HitAlreadyExists", f"The HIT {hit_id} was made with this UniqueRequestToken.")


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
    """Return a requester's HIT, locked until the transaction ends where ``lock`` is set.

    Raises
    ------
    RequestError
        ``HITDoesNotExist``.
    """
    hit = get(tx, hit_id, lock=lock)
    if hit is None or hit.requester_id != requester_id:
        raise missing("HIT", hit_id)
    return hit


def get(tx: Transaction, hit_id: str, *, lock: bool = False) -> Hit | None:
    """Return any requester's HIT."""
    clause = f"{tx.locked} OF h" if lock and tx.locked else ""
    return tx.find(Hit, f"{JOINED} WHERE h.hit_id = :hit{clause}", hit=hit_id)


def question(tx: Transaction, hit_id: str) -> str:
    """Return a HIT's question as it was given."""
    return str(tx.rows("SELECT content FROM questions WHERE hit_id = :hit", hit=hit_id)[0][0])


def shift(tx: Transaction, hit: Hit, **changes: int) -> None:
    """Change counters of a HIT, and log when it becomes reviewable."""
    # by difference, so that what another process changed meanwhile stays
    sets = ", ".join(f"{name} = {name} + :{name}" for name in changes)
    tx.run(f"UPDATE hits SET {sets} WHERE hit_id = :hit", {**changes, "hit": hit.hit_id})
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
        tx.run(
            "UPDATE hits SET told_expired = :expired, told_reviewable = :reviewable WHERE hit_id = :hit",
            expired=expired,
            reviewable=reviewable,
            hit=hit.hit_id,
        )


def expire_at(tx: Transaction, hit: Hit, time: float) -> None:
    """Move the time at which the HIT expires; a past time ends it now."""
    _must_be(tx, hit, "Assignable", "Unassignable", "Reviewable")
    if time > tx.now + hit_types.YEAR:
        raise invalid("ExpireAt", "is more than a year ahead")
    hit = replace(hit, expiration=max(time, hit.created))
    tx.run("UPDATE hits SET expiration = :time WHERE hit_id = :hit", time=hit.expiration, hit=hit.hit_id)
    if time > tx.now:
        note(tx, "HITExtended", hit)
    announce(tx, hit)


def extend(tx: Transaction, hit: Hit, more: int, token: str | None) -> None:
    """Ask for more assignments.

    Raises
    ------
    RequestError
        ``InvalidMaximumAssignmentsIncrease``: a HIT made with fewer than ten would get ten or more.
    """
    requester_id, hit_id = hit.requester_id, hit.hit_id
    if request_tokens.earlier_result(tx, requester_id, "extension", token) is not None:
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
    if not request_tokens.remember(tx, requester_id, "extension", token, hit_id):
        raise refused("DuplicateRequest", f"The HIT {hit_id} was extended with this UniqueRequestToken.")
    tx.run("UPDATE hits SET reviewing = 0 WHERE hit_id = :hit", hit=hit_id)
    hit = replace(hit, reviewing=0)
    note(tx, "HITExtended", hit)
    shift(tx, hit, max_assignments=more, available=more, held=cost)


def review(tx: Transaction, hit: Hit, *, revert: bool) -> None:
    """Move a HIT from Reviewable to Reviewing, or back."""
    _must_be(tx, hit, "Reviewing" if revert else "Reviewable")
    tx.run("UPDATE hits SET reviewing = :on WHERE hit_id = :hit", on=int(not revert), hit=hit.hit_id)


def move(tx: Transaction, hit: Hit, hit_type_id: str) -> None:
    """Move a HIT to another HIT type of the same requester; what it holds follows the new reward."""
    requester_id = hit.requester_id
    hit_type = hit_types.find(tx, requester_id, hit_type_id)
    _must_be(tx, hit, "Assignable", "Unassignable", "Reviewable", "Reviewing")
    if hit.pending or hit.submitted:
        raise refused("InvalidHITState", f"The HIT {hit.hit_id} has assignments under way or in review.")
    cost = unit_cost(tx, hit_type.reward, hit.first_max) * hit.available
    _release(tx, hit, hit.held)
    ledger.spend(tx, requester_id, ledger.hold(requester_id), cost, "hold", hit.hit_id)
    tx.run(
        "UPDATE hits SET hit_type_id = :type, held = :held WHERE hit_id = :hit",
        type=hit_type_id,
        held=cost,
        hit=hit.hit_id,
    )


def dispose(tx: Transaction, hit: Hit) -> None:
    """Take a HIT out of all lists and give back what it held.

    Raises
    ------
    RequestError
        ``InvalidHITState``: it is not reviewable, or an assignment is not decided.
    """
    _must_be(tx, hit, "Reviewing", "Reviewable")
    if hit.submitted:
        raise refused("InvalidHITState", f"{hit.hit_id} has assignments to approve or reject.")
    _release(tx, hit, hit.held)
    tx.run("UPDATE hits SET disposed = 1, held = 0 WHERE hit_id = :hit", hit=hit.hit_id)
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
