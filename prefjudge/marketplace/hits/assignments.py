"""Assignments: accepted by a worker, and submitted, returned or abandoned."""

from dataclasses import dataclass, replace

from prefjudge.marketplace.errors import Refusal, missing, wrong_state
from prefjudge.marketplace.hits import hits, visit_work
from prefjudge.marketplace.hits.hits import Hit
from prefjudge.marketplace.people import panels, qualifications, workers
from prefjudge.marketplace.people.workers import HAD
from prefjudge.marketplace.questions.answers import Fields, expected_pay, visible_time, write_answers
from prefjudge.marketplace.store.store import Transaction, new_id

MAX_HELD = 25  # assignments that one worker may hold at once
_TRIES = 3
SUBMITTED = ("Submitted", "Approved", "Rejected")
UNCONFIRMED = "Unconfirmed"
"""By somebody of whom a panel has yet to confirm that it sent them: hidden from requesters until then."""
_DONE_BEFORE = (
    f"SELECT 1 FROM assignments a WHERE a.hit_id = h.hit_id AND a.worker_id = :worker AND a.status IN {HAD}"
)


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
    clause = tx.locked if lock else ""
    return tx.find(Assignment, f"FROM assignments WHERE assignment_id = :id{clause}", id=assignment_id)


def find(
    tx: Transaction,
    requester_id: str,
    assignment_id: str,
    *,
    lock: bool = False,
    needed: str = "Reviewable,Approved,Rejected",
) -> Assignment:
    """Return an assignment that a requester may see: one that was submitted.

    Raises
    ------
    RequestError
        ``AssignmentDoesNotExist``; or ``InvalidAssignmentState``, with the states that the operation needs:
        it is not submitted.
    """
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
    """Give a worker one HIT, or any open HIT of a type that the worker has not done.

    Who gave one back, or let its time run out, gets the same one again as long as it is open, so that nobody
    reads a study by taking and returning its HITs. A panel's participant takes it for a ``visit``.

    Raises
    ------
    Refusal
        ``none_left``, ``done_before``, ``given_back``, ``not_qualified``, ``being_checked``, ``no_more``,
        ``blocked``, ``too_many``, ``visit_over`` or ``no_hit``.
    """
    if visit is not None:
        visit_work.need_room(tx, visit)
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
    """Give the worker the HIT; None where the worker has just taken it through another process."""
    taken = Assignment(
        assignment_id=new_id(),
        hit_id=hit.hit_id,
        requester_id=hit.requester_id,
        worker_id=worker_id,
        status="Accepted",
        accepted_at=tx.now,
        deadline=tx.now + hit.duration,
        reward=hit.reward,
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
    rows = tx.rows(
        f"SELECT h.hit_id FROM assignments b JOIN hits h USING (hit_id) WHERE b.worker_id = :worker"
        f" AND b.status IN ('Returned', 'Abandoned') AND h.hit_type_id = {of_type} AND {hits.OPEN}"
        f" AND NOT EXISTS ({_DONE_BEFORE}) GROUP BY h.hit_id ORDER BY max(b.seq) DESC",
        worker=worker_id,
        id=hit_id or hit_type_id,
        now=tx.now,
    )
    return [str(ident) for (ident,) in rows]


def _open_hit(tx: Transaction, worker_id: str, hit_id: str | None, hit_type_id: str | None) -> Hit | None:
    """Find and lock a HIT that the worker may take.

    Rows that other processes have locked are skipped at first, and waited for only if no other HIT is left.
    """
    column, ident = ("h.hit_id", hit_id) if hit_id else ("h.hit_type_id", hit_type_id)
    locks = ["FOR UPDATE OF h SKIP LOCKED", "FOR UPDATE OF h"] if tx.skip_locked else [""]
    for lock in locks:
        hit = tx.find(
            Hit,
            f"{hits.JOINED} WHERE {column} = :id AND {hits.OPEN} AND NOT EXISTS ({_DONE_BEFORE})"
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
        if not tx.rows("SELECT 1 FROM hit_types WHERE hit_type_id = :id", id=hit_type_id):
            return Refusal("no_hit", "There is no such group of HITs.", 404)
        return Refusal("none_left", "No more HITs of this group are open to you.")
    if hits.get(tx, hit_id) is None:
        return Refusal("no_hit", "There is no such HIT.", 404)
    if tx.rows(
        f"SELECT 1 FROM hits h WHERE h.hit_id = :id AND EXISTS ({_DONE_BEFORE})", id=hit_id, worker=worker_id
    ):
        return Refusal("done_before", "You have already taken this HIT.")
    return Refusal("none_left", "This HIT is no longer open.")


def _refuse_unfit(tx: Transaction, worker_id: str, hit: Hit) -> None:
    if workers.offers_nothing(tx, hit.requester_id, worker_id):
        raise Refusal("blocked", "This requester does not offer you HITs.", 403)
    if qualifications.TAKEN in hit.requirements:
        # until this ends, so that HITs taken at the same moment through other processes are counted, too
        tx.rows(f"SELECT 1 FROM workers WHERE worker_id = :worker{tx.locked}", worker=worker_id)
    worker = qualifications.standing(tx, worker_id)
    unmet = qualifications.unmet(hit.requirements, worker)
    if waits := qualifications.waits(unmet, worker):
        raise Refusal("being_checked" if waits == qualifications.BEING_CHECKED else "no_more", waits, 403)
    if unmet:
        raise Refusal("not_qualified", "You do not meet the requirements of this HIT.", 403)
    (held,) = tx.rows(
        "SELECT count(*) FROM assignments WHERE worker_id = :worker AND status = 'Accepted'", worker=worker_id
    )[0]
    if held >= MAX_HELD:
        raise Refusal("too_many", f"You hold {held} HITs. Submit or return some of them first.")


def submit(tx: Transaction, assignment_id: str, fields: Fields, worker_id: str | None = None) -> Assignment:
    """Take a worker's answers. A repeated submission changes nothing and is acknowledged again.

    Raises
    ------
    Refusal
        ``no_assignment``, ``not_yours``, ``returned``, ``too_late``, or ``incomplete`` answers to a form.
    """
    assignment = _held(tx, assignment_id, worker_id)
    if assignment.status in (*SUBMITTED, UNCONFIRMED):
        return replace(assignment, status="Submitted") if assignment.status == UNCONFIRMED else assignment
    _refuse_ended(tx, assignment)
    visit = panels.find_visit(tx, assignment.visit) if assignment.visit else None
    counts = visit is None or bool(visit.confirmed)
    hit = hits.get(tx, assignment.hit_id, lock=True)
    assert hit is not None, "an assignment has its HIT"
    fields = list(fields)
    visible_ms, visible_pairs = visible_time(fields)
    expected = expected_pay(fields)
    tx.run(
        "UPDATE assignments SET status = :status, submitted_at = :now, ended_at = :now, draft = NULL,"
        " auto_approve_at = :auto, answer = :answer, visible_ms = :ms, visible_pairs = :pairs,"
        " expected = :expected WHERE assignment_id = :id",
        status="Submitted" if counts else UNCONFIRMED,
        now=tx.now,
        auto=tx.now + hit.auto_approval_delay if counts else None,
        answer=_answer(tx, hit, fields),
        ms=visible_ms,
        pairs=visible_pairs,
        expected=None if expected is None else min(expected, assignment.reward),
        id=assignment_id,
    )
    if counts:
        hits.note(tx, "AssignmentSubmitted", hit, assignment_id, assignment.worker_id)
        hits.shift(tx, hit, pending=-1, submitted=1)
    if visit is not None:
        visit_work.end_if_complete(tx, visit)
    return replace(assignment, status="Submitted")


def _answer(tx: Transaction, hit: Hit, fields: Fields) -> str:
    if hit.kind != "form":
        return write_answers(fields)
    from prefjudge.marketplace.questions.form_answers import write_answers_to

    return write_answers_to(hits.question(tx, hit.hit_id), "Question", fields)


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
        raise Refusal("too_late", "The time for this HIT is over.", 410)


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
    tx.run(
        "UPDATE assignments SET answer = NULL, submitted_at = NULL, visible_ms = NULL, visible_pairs = NULL,"
        " expected = NULL WHERE assignment_id = :id",
        id=assignment.assignment_id,
    )
    _end(tx, assignment, "Returned", "AssignmentReturned")


def abandon(tx: Transaction, assignment: Assignment) -> None:
    """End an assignment whose deadline has passed."""
    _end(tx, assignment, "Abandoned", "AssignmentAbandoned")


def _end(tx: Transaction, assignment: Assignment, status: str, event: str) -> None:
    tx.run(
        "UPDATE assignments SET status = :status, ended_at = :now, draft = NULL WHERE assignment_id = :id",
        status=status,
        now=tx.now,
        id=assignment.assignment_id,
    )
    hit = hits.get(tx, assignment.hit_id, lock=True)
    assert hit is not None, "an assignment has its HIT"
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
    """Keep what a worker has answered so far.

    With ``after``, a tab says whose draft it began with: what another tab has written since is not
    overwritten. Without, the draft replaces any other.

    Raises
    ------
    Refusal
        ``other_tab``: another tab has written since; ``submitted``, ``returned`` or ``too_late``.
    """
    assignment = _held(tx, assignment_id, worker_id)
    if assignment.status in (*SUBMITTED, UNCONFIRMED):
        raise Refusal("submitted", "This assignment has been submitted.")
    _refuse_ended(tx, assignment)
    if after is not None and (assignment.draft_tab or "") not in (tab, after):
        raise Refusal("other_tab", "You have worked on this HIT in another tab or on another device.", 412)
    tx.run(
        "UPDATE assignments SET draft = :draft, draft_tab = :tab WHERE assignment_id = :id",
        draft=draft,
        tab=tab,
        id=assignment_id,
    )
