"""Assignments: accepted by a worker, submitted, returned or abandoned; approved and paid for, or rejected."""

from dataclasses import dataclass, replace
from itertools import takewhile

from prefjudge.database import Value
from prefjudge.marketplace.errors import (
    Params,
    Refusal,
    invalid,
    missing,
    refused,
    to_cents,
    wrong_state,
)
from prefjudge.marketplace.hits import hits
from prefjudge.marketplace.hits.hits import Hit
from prefjudge.marketplace.people import panels, qualifications, workers
from prefjudge.marketplace.people.panels import Visit
from prefjudge.marketplace.people.qualifications import Standing
from prefjudge.marketplace.people.workers import HAD
from prefjudge.marketplace.questions import (
    Fields,
    expected_pay,
    parse_form,
    visible_time,
    write_answers,
    write_form_answers,
)
from prefjudge.marketplace.store import ledger
from prefjudge.marketplace.store.store import Transaction, new_id

# The HITs of a visit: how many a panel's participant has had, and when that is enough.

DONE = ("Unconfirmed", "Submitted", "Approved", "Rejected")


@dataclass(frozen=True, slots=True, kw_only=True)
class VisitWork:
    """How many HITs a visit has (``wanted``; 0: as many as there are), and what became of those taken.

    ``last`` is the state of the one that ended last, empty where none has.
    """

    wanted: int
    held: int
    done: int
    last: str

    @property
    def is_complete(self) -> bool:
        """Tell whether all is done."""
        return 0 < self.wanted <= self.done


def work_of(tx: Transaction, visit: Visit) -> VisitWork:
    """Return what was done in a visit."""
    counts = tx.tally(
        "SELECT status, count(*) FROM assignments WHERE visit = :v GROUP BY status", v=visit.visit
    )
    last = tx.value(
        "SELECT status FROM assignments WHERE visit = :v AND ended_at IS NOT NULL"
        " ORDER BY ended_at DESC, seq DESC LIMIT 1",
        v=visit.visit,
    )
    return VisitWork(
        wanted=panels.find(tx, visit.panel).hits,
        held=counts.get("Accepted", 0),
        done=sum(counts.get(status, 0) for status in DONE),
        last=last or "",
    )


def need_room(tx: Transaction, number: int) -> None:
    """Lock a visit, to which its worker's next HIT belongs."""
    visit = panels.find_visit(tx, number, lock=True)
    if visit.outcome:
        raise Refusal(
            "visit_over", "Your visit has ended. Your way back to your panel is on the page of all HITs."
        )
    wanted = panels.find(tx, visit.panel).hits
    taken = tx.value(f"SELECT count(*) FROM assignments WHERE visit = :v AND status IN {HAD}", v=visit.visit)
    if 0 < wanted <= taken:
        raise Refusal("visit_over", "You have the last HIT of your visit. Submit it to get your code.")


def end_if_complete(tx: Transaction, visit: Visit) -> None:
    """End a visit whose HITs are all submitted."""
    if work_of(tx, visit).is_complete:
        panels.record_outcome(tx, visit.visit, "submitted")


# Assignments: accepted by a worker, and submitted, returned or abandoned.

_IN_A_ROW, _PAUSE = 2, 1800.0
"""After so many HITs that came to nothing a worker waits for so many seconds."""
MAX_HELD = 25  # assignments that one worker may hold at once
_TRIES = 3
SUBMITTED = ("Submitted", "Approved", "Rejected")
UNCONFIRMED = "Unconfirmed"
"""By somebody of whom a panel has yet to confirm that it sent them: hidden from requesters until then."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Assignment:
    """One worker's work on one HIT; ``reward`` is what the worker accepted it for."""

    assignment_id: str
    hit_id: str
    requester_id: str
    worker_id: str
    status: str
    accepted_at: float
    deadline: float
    reward: int
    submitted_at: float | None = None
    auto_approve_at: float | None = None
    approved_at: float | None = None
    rejected_at: float | None = None
    ended_at: float | None = None
    answer: str | None = None
    feedback: str | None = None
    draft: str | None = None
    draft_tab: str | None = None
    visit: int | None = None


def get(tx: Transaction, assignment_id: str, *, lock: bool = False) -> Assignment | None:
    """Return an assignment in any state."""
    return tx.get(Assignment, "assignments", lock=lock, assignment_id=assignment_id)


def find(
    tx: Transaction,
    requester_id: str,
    assignment_id: str,
    *,
    lock: bool = False,
    needed: str = "Reviewable,Approved,Rejected",
) -> Assignment:
    """Return an assignment that a requester may see: one that was submitted."""
    found = get(tx, assignment_id, lock=lock)
    if found is None or found.requester_id != requester_id:
        raise missing("Assignment", assignment_id)
    if found.status not in SUBMITTED:
        raise wrong_state("InvalidAssignmentState", needed, f"{assignment_id} is not submitted.")
    return found


def accept(
    tx: Transaction,
    worker_id: str,
    *,
    hit_id: str | None = None,
    hit_type_id: str | None = None,
    visit: int | None = None,
) -> Assignment:
    """Give a worker a HIT, or one of a type: what was given back again, else one that is new to them."""
    if visit is not None:
        need_room(tx, visit)
    for _ in range(_TRIES):
        again = _given_back(tx, worker_id, hit_id, hit_type_id)
        if hit_id and again and hit_id not in again:
            raise Refusal("given_back", "You gave back another HIT of this group. Take that one again first.")
        hit = _open_hit(tx, worker_id, hit_id or (again[0] if again else None), hit_type_id)
        if hit is None and again:
            continue  # others have just taken it
        if hit is None:
            raise _why_none(tx, worker_id, hit_id, hit_type_id)
        _refuse_unfit(tx, worker_id, hit)
        if not set(_given_back(tx, worker_id, hit_id, hit_type_id)) <= {*again, hit.hit_id}:
            continue  # another one was given back meanwhile, through another process
        taken = _take(tx, worker_id, hit, visit)
        if taken is not None:
            return taken
    raise Refusal("done_before", "You have already taken this HIT.")


def _take(tx: Transaction, worker_id: str, hit: Hit, visit: int | None) -> Assignment | None:
    """Give the worker the HIT, with the draft of an earlier try; None where another process just did."""
    earlier = tx.execute(
        "SELECT draft, draft_tab FROM assignments WHERE worker_id = :worker AND hit_id = :hit"
        " AND draft IS NOT NULL ORDER BY seq DESC LIMIT 1",
        worker=worker_id,
        hit=hit.hit_id,
    )
    draft, tab = earlier[0] if earlier else (None, None)
    taken = Assignment(
        assignment_id=new_id(),
        hit_id=hit.hit_id,
        requester_id=hit.requester_id,
        worker_id=worker_id,
        status="Accepted",
        accepted_at=tx.now,
        deadline=tx.now + hit.duration,
        reward=hit.reward,
        draft=draft,
        draft_tab=tab,
        visit=visit,
    )
    if not tx.insert("assignments", taken, "ON CONFLICT DO NOTHING RETURNING assignment_id"):
        return None
    hits.note(tx, "AssignmentAccepted", hit, taken.assignment_id, worker_id)
    hits.shift(tx, hit, available=-1, pending=1)
    return taken


def _given_back(tx: Transaction, worker_id: str, hit_id: str | None, hit_type_id: str | None) -> list[str]:
    """Return the open HITs of a type, or of a HIT's type, that the worker gave back, the last one first."""
    of_type = "(SELECT hit_type_id FROM hits WHERE hit_id = :id)" if hit_id else ":id"
    return tx.values(
        "SELECT a.hit_id FROM assignments a WHERE a.worker_id = :worker"
        f" AND a.status IN ('Returned', 'Abandoned') AND {hits.OPEN_TYPE} = {of_type} AND a.hit_id NOT IN"
        f" (SELECT hit_id FROM assignments WHERE worker_id = :worker AND status IN {HAD})"
        " GROUP BY a.hit_id ORDER BY max(a.seq) DESC",
        worker=worker_id,
        id=hit_id or hit_type_id,
        now=tx.now,
    )


def _open_hit(tx: Transaction, worker_id: str, hit_id: str | None, hit_type_id: str | None) -> Hit | None:
    """Find and lock a HIT that the worker may take; what other processes have locked is waited for last."""
    column, ident = ("h.hit_id", hit_id) if hit_id else ("h.hit_type_id", hit_type_id)
    locks = ["FOR UPDATE OF h SKIP LOCKED", "FOR UPDATE OF h"] if tx.skip_locked else [""]
    for lock in locks:
        hit = tx.find(
            Hit,
            f"{hits.JOINED} WHERE {column} = :id AND {hits.OPEN} AND {hits.UNDONE}"
            f" ORDER BY h.seq LIMIT 1 {lock}",
            id=ident,
            now=tx.now,
            worker=worker_id,
        )
        if hit is not None:
            return hit
    return None


def _why_none(tx: Transaction, worker_id: str, hit_id: str | None, hit_type_id: str | None) -> Refusal:
    if hit_id is None:
        if not tx.pick("1", "hit_types", hit_type_id=hit_type_id):
            return Refusal("no_hit", "There is no such group of HITs.", 404)
        return Refusal("none_left", "No more HITs of this group are open to you.")
    if hits.get(tx, hit_id) is None:
        return Refusal("no_hit", "There is no such HIT.", 404)
    if tx.execute(
        f"SELECT 1 FROM hits h WHERE h.hit_id = :id AND NOT {hits.UNDONE}", id=hit_id, worker=worker_id
    ):
        return Refusal("done_before", "You have already taken this HIT.")
    return Refusal("none_left", "This HIT is no longer open.")


def _refuse_unfit(tx: Transaction, worker_id: str, hit: Hit) -> None:
    if workers.offers_nothing(tx, hit.requester_id, worker_id):
        raise Refusal("blocked", "This requester does not offer you HITs.", 403)
    if qualifications.TAKEN in hit.requirements:
        # until this ends, so that HITs taken at the same moment through other processes are counted, too
        tx.execute(f"SELECT 1 FROM workers WHERE worker_id = :worker{tx.locked}", worker=worker_id)
    worker = qualifications.standing(tx, worker_id)
    unmet = qualifications.unmet(hit.requirements, worker)
    if waits := qualifications.waits(unmet, worker):
        raise Refusal("being_checked" if waits == qualifications.BEING_CHECKED else "no_more", waits, 403)
    _refuse_pause(tx, worker_id, hit)
    _refuse_newcomers(tx, worker, hit)
    if unmet:
        raise Refusal("not_qualified", "You do not meet the requirements of this HIT.", 403)
    held = tx.pick("count(*)", "assignments", worker_id=worker_id, status="Accepted")
    if held >= MAX_HELD:
        raise Refusal("too_many", f"You hold {held} HITs. Submit or return some of them first.")


def _refuse_pause(tx: Transaction, worker_id: str, hit: Hit) -> None:
    """Let who has given two HITs back in a row, or let their time run out, wait before a new one.

    Else somebody could read HIT after HIT without working, or keep HITs from others.
    """
    last = tx.execute(
        "SELECT hit_id, status, ended_at FROM assignments WHERE worker_id = :worker AND status <> 'Accepted'"
        " ORDER BY seq DESC LIMIT 20",
        worker=worker_id,
    )
    unworked = takewhile(lambda row: row[1] in ("Returned", "Abandoned"), last)
    read = {str(hit_id): float(ended or 0.0) for hit_id, _, ended in reversed(list(unworked))}
    left = max(read.values(), default=0.0) + _PAUSE - tx.now
    if len(read) >= _IN_A_ROW and hit.hit_id not in read and left > 0:
        raise Refusal(
            "pause",
            "You have given back two HITs in a row, or let their time run out."
            f" You can take the next one in {-int(-left // 60)} minutes.",
            403,
        )


_UNKNOWN = (
    "(SELECT c.worker_id FROM panel_workers c JOIN panels p ON p.panel = c.panel WHERE p.signed = 0"
    " AND p.confirm = 0 AND p.keys = '' AND NOT EXISTS (SELECT 1 FROM assignments d"
    " WHERE d.worker_id = c.worker_id AND d.submitted_at IS NOT NULL))"
)
"""Who has typed a name into a panel's link, and not submitted anything yet."""


def many_newcomers() -> Refusal:
    """Return the refusal of somebody of whom nothing is known, while many such are here."""
    return Refusal("many_newcomers", qualifications.MANY_BEGAN, 429)


def _refuse_newcomers(tx: Transaction, worker: Standing, hit: Hit) -> None:
    """Let no more people begin than a limit says, and leave two thirds of the HITs to who is not unknown."""
    worker_id, room = worker.worker_id, qualifications.room(tx, hit.requirements, worker)
    if room < 1:
        raise many_newcomers()
    if not tx.execute(f"SELECT 1 FROM {_UNKNOWN} u WHERE u.worker_id = :worker", worker=worker_id):
        return
    held = tx.value(
        "SELECT count(DISTINCT a.worker_id) FROM assignments a JOIN hits h USING (hit_id)"
        " WHERE a.status = 'Accepted' AND h.hit_type_id = :type"
        f" AND a.worker_id <> :worker AND a.worker_id IN {_UNKNOWN}",
        type=hit.hit_type_id,
        worker=worker_id,
    )
    if held >= min(room, max(3, (held + hits.count_open(tx, worker_id, hit.hit_type_id)) // 3)):
        raise many_newcomers()


def submit(tx: Transaction, assignment_id: str, fields: Fields, worker_id: str | None = None) -> Assignment:
    """Take a worker's answers. A repeated submission changes nothing and is acknowledged again."""
    assignment = _held(tx, assignment_id, worker_id)
    if assignment.status in (*SUBMITTED, UNCONFIRMED):
        return replace(assignment, status="Submitted") if assignment.status == UNCONFIRMED else assignment
    _refuse_ended(tx, assignment)
    visit = panels.find_visit(tx, assignment.visit) if assignment.visit else None
    counts = visit is None or bool(visit.confirmed)
    hit = hits.taken(tx, assignment.hit_id)
    fields = list(fields)
    visible_ms, visible_pairs = visible_time(fields)
    expected = expected_pay(fields)
    work = {
        "status": "Submitted" if counts else UNCONFIRMED,
        "submitted_at": tx.now,
        "ended_at": tx.now,
        "draft": None,
        "auto_approve_at": tx.now + hit.auto_approval_delay if counts else None,
        "answer": _answer(tx, hit, fields),
        "visible_ms": visible_ms,
        "visible_pairs": visible_pairs,
        "expected": None if expected is None else min(expected, assignment.reward),
    }
    tx.update("assignments", work, assignment_id=assignment_id)
    if counts:
        hits.note(tx, "AssignmentSubmitted", hit, assignment_id, assignment.worker_id)
        hits.shift(tx, hit, pending=-1, submitted=1)
    if visit is not None:
        end_if_complete(tx, visit)
    return replace(assignment, status="Submitted")


def _answer(tx: Transaction, hit: Hit, fields: Fields) -> str:
    if hit.kind != "form":
        return write_answers(fields)
    return write_form_answers(parse_form(hits.question(tx, hit.hit_id), "Question"), fields)


def _held(tx: Transaction, assignment_id: str, worker_id: str | None) -> Assignment:
    if tx.locked and (seen := get(tx, assignment_id)) is not None and seen.visit:
        panels.find_visit(tx, seen.visit, lock=True)  # a visit is locked before its assignments, everywhere
    assignment = get(tx, assignment_id, lock=True)
    if assignment is None:
        raise Refusal("no_assignment", "There is no such assignment.", 404)
    if worker_id is not None and assignment.worker_id != worker_id:
        raise Refusal("not_yours", "This assignment belongs to another worker.", 403)
    return assignment


def _refuse_ended(tx: Transaction, assignment: Assignment) -> None:
    if assignment.status == "Returned":
        raise Refusal("returned", "You have returned this HIT.", 410)
    if assignment.status == "Abandoned" or assignment.deadline <= tx.now:
        raise Refusal(
            "too_late",
            "The time for this HIT is over. If nobody else has taken it, take it again:"
            " your answers are kept.",
            410,
        )


def give_back(tx: Transaction, assignment_id: str, worker_id: str) -> None:
    """Return a HIT without answers: others can take it again, and the requester's lists do not show it."""
    assignment = _held(tx, assignment_id, worker_id)
    if assignment.status == "Returned":
        return
    if assignment.status != "Accepted":
        raise Refusal("submitted", "This assignment is no longer yours to return.")
    _end(tx, assignment, "Returned", "AssignmentReturned")


def take_back(tx: Transaction, assignment: Assignment) -> None:
    """End an assignment that its worker has no part in any more; answers that do not count go with it."""
    work = ("answer", "submitted_at", "visible_ms", "visible_pairs", "expected")
    tx.update("assignments", dict.fromkeys(work), assignment_id=assignment.assignment_id)
    _end(tx, assignment, "Returned", "AssignmentReturned")


def abandon(tx: Transaction, assignment: Assignment) -> None:
    """End an assignment whose deadline has passed."""
    _end(tx, assignment, "Abandoned", "AssignmentAbandoned")


def _end(tx: Transaction, assignment: Assignment, status: str, event: str) -> None:
    # the draft stays: who takes the HIT again goes on with it
    ended = {"status": status, "ended_at": tx.now}
    tx.update("assignments", ended, assignment_id=assignment.assignment_id)
    hit = hits.taken(tx, assignment.hit_id)
    hits.note(tx, event, hit, assignment.assignment_id, assignment.worker_id)
    hits.shift(tx, hit, pending=-1, available=1)


def save_draft(
    tx: Transaction,
    assignment_id: str,
    worker_id: str,
    draft: str,
    *,
    tab: str = "",
    after: str | None = None,
) -> None:
    """Keep what a worker has answered, unless another ``tab`` wrote since the draft it began ``after``."""
    assignment = _held(tx, assignment_id, worker_id)
    if assignment.status in (*SUBMITTED, UNCONFIRMED):
        raise Refusal("submitted", "This assignment has been submitted.")
    _refuse_ended(tx, assignment)
    if after is not None and (assignment.draft_tab or "") not in (tab, after):
        raise Refusal("other_tab", "You have worked on this HIT in another tab or on another device.", 412)
    tx.update("assignments", {"draft": draft, "draft_tab": tab}, assignment_id=assignment_id)


# Decisions: a submitted assignment is approved, and paid for, or rejected.

OVERTURN_WITHIN = 30 * 86400


def approve(
    tx: Transaction, assignment: Assignment, *, feedback: str | None = None, overturn: bool = False
) -> None:
    """Pay for an assignment."""
    # everywhere the assignment is locked before its HIT, so that no two transactions wait for each other
    hit = hits.taken(tx, assignment.hit_id)
    was = assignment.status
    if was == "Rejected" and overturn:
        _refuse_overturning(tx, assignment, hit)
    elif was != "Submitted":
        raise _decided(assignment)
    requester_id, worker_id = assignment.requester_id, assignment.worker_id
    reward, reference = assignment.reward, assignment.assignment_id
    cost = hits.unit_cost(tx, reward, hit.first_max)
    account = ledger.hold(requester_id)
    if was == "Rejected":  # what was held for it went back when it was rejected
        ledger.spend(tx, requester_id, account, cost, "hold", hit.hit_id)
    ledger.transfer(tx, account, ledger.FEES, cost - reward, "fee", reference)
    ledger.transfer(tx, account, ledger.earned(worker_id), reward, "reward", reference)
    counted = was == "Rejected" and not is_paid_in_part(tx, reference, assignment.rejected_at)
    _decide(tx, assignment, "Approved", feedback)
    _count_decision(tx, worker_id, approved=1, rejected=-1 if counted else 0)
    hits.note(tx, "AssignmentApproved", hit, assignment.assignment_id, assignment.worker_id)
    if was == "Submitted":
        hits.shift(tx, hit, submitted=-1, completed=1, held=-cost)


def _refuse_overturning(tx: Transaction, assignment: Assignment, hit: Hit) -> None:
    if (assignment.submitted_at or 0) < tx.now - OVERTURN_WITHIN:
        raise refused(
            "InvalidAssignmentState", "A rejection can be overturned within 30 days of the submission."
        )
    if hit.disposed:
        raise refused("InvalidHITState", f"The HIT {hit.hit_id} is Disposed.")


def reject(tx: Transaction, assignment: Assignment, feedback: str) -> None:
    """Refuse to pay for an assignment; where a bonus was paid for a part, the approval rate does not fall."""
    if assignment.status != "Submitted":
        raise _decided(assignment)
    hit = hits.taken(tx, assignment.hit_id)
    _decide(tx, assignment, "Rejected", feedback)
    if not is_paid_in_part(tx, assignment.assignment_id, tx.now):
        _count_decision(tx, assignment.worker_id, rejected=1)
    hits.note(tx, "AssignmentRejected", hit, assignment.assignment_id, assignment.worker_id)
    hits.shift(tx, hit, submitted=-1, completed=1, held=hits.release_unit(tx, hit))


def is_paid_in_part(tx: Transaction, assignment_id: str, rejected_at: float | None) -> bool:
    """Tell whether a rejected assignment was paid a bonus before, instead of its reward."""
    return bool(
        tx.execute(
            "SELECT 1 FROM bonuses WHERE assignment_id = :id AND granted <= :rejected LIMIT 1",
            id=assignment_id,
            rejected=rejected_at,
        )
    )


def _decided(assignment: Assignment) -> Exception:
    return wrong_state(
        "InvalidAssignmentState",
        "Submitted",
        f"The assignment {assignment.assignment_id} is {assignment.status}.",
    )


def _decide(tx: Transaction, assignment: Assignment, status: str, feedback: str | None) -> None:
    column = "approved_at" if status == "Approved" else "rejected_at"
    decided: dict[str, Value] = {
        "status": status,
        column: tx.now,
        **({} if feedback is None else {"feedback": feedback}),
    }
    tx.update("assignments", decided, assignment_id=assignment.assignment_id)


def _count_decision(tx: Transaction, worker_id: str, *, approved: int = 0, rejected: int = 0) -> None:
    tx.execute(
        "UPDATE workers SET approved = approved + :approved, rejected = rejected + :rejected"
        " WHERE worker_id = :worker",
        approved=approved,
        rejected=rejected,
        worker=worker_id,
    )


# Bonuses: money for an assignment on top of its reward.


@dataclass(frozen=True, slots=True, kw_only=True)
class Bonus:
    """A bonus that was paid."""

    requester_id: str
    hit_id: str
    assignment_id: str
    worker_id: str
    cents: int
    reason: str
    granted: float


def send_bonus(tx: Transaction, requester_id: str, params: Params) -> None:
    """Pay a worker a bonus."""
    token = params.get("UniqueRequestToken")
    if hits.claim_token(tx, requester_id, "bonus", token, params["AssignmentId"]):
        raise refused("DuplicateRequest", f"A bonus was paid with the UniqueRequestToken {token}.")
    assignment = find(tx, requester_id, params["AssignmentId"])
    worker_id, reference = params["WorkerId"], params["AssignmentId"]
    if assignment.worker_id != worker_id:
        raise invalid("WorkerId", f"{worker_id} did not do the assignment {reference}")
    if not params["Reason"].strip():
        raise invalid("Reason", "is empty")
    cents = to_cents(params["BonusAmount"], "BonusAmount")
    if cents < 1:
        raise invalid("BonusAmount", "is less than a cent")
    fee = tx.marketplace.rules.fees.on(cents)
    account = ledger.hold(requester_id)
    ledger.spend(tx, requester_id, account, cents + fee, "bonus", reference)
    ledger.transfer(tx, account, ledger.FEES, fee, "fee", reference)
    ledger.transfer(tx, account, ledger.earned(worker_id), cents, "bonus", reference)
    bonus = Bonus(
        requester_id=requester_id,
        hit_id=assignment.hit_id,
        assignment_id=reference,
        worker_id=worker_id,
        cents=cents,
        reason=params["Reason"],
        granted=tx.now,
    )
    tx.insert("bonuses", bonus)
