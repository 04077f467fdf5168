"""How a visit of a panel's participant ends, and which way back that opens."""

from typing import TypedDict

from prefjudge.marketplace.errors import Refusal
from prefjudge.marketplace.hits import assignments, hits
from prefjudge.marketplace.hits.assignments import Assignment
from prefjudge.marketplace.hits.offers import UNDONE
from prefjudge.marketplace.hits.visit_work import work_of
from prefjudge.marketplace.people import panels, qualifications, workers
from prefjudge.marketplace.people.panels import Visit
from prefjudge.marketplace.people.qualifications import Requirement, Standing
from prefjudge.marketplace.store.store import Transaction

WORKING = "working"
FINAL = ("submitted", "none_left", "screened_out")
"""Outcomes that stand once their code was shown; who has returned a HIT, or was late, may take another."""


class Ending(TypedDict):
    """The way back that a participant is shown; ``outcome`` says why."""

    outcome: str
    code: str
    url: str


class Progress(TypedDict):
    """How far a participant's visit is, as its pages show it; ``wanted`` is 0 where all HITs are."""

    wanted: int
    done: int
    held: int
    over: bool


def outcome_of(tx: Transaction, visit: Visit) -> str:
    """Return how a visit has ended, or ``"working"``."""
    if visit.outcome:
        return visit.outcome
    work = work_of(tx, visit)
    if work.is_complete:
        return "submitted"
    if work.held:
        return WORKING
    prospect = _prospect(tx, visit.worker_id)
    if prospect == "screened_out":
        return prospect
    if work.last in ("Returned", "Abandoned"):
        return "returned" if work.last == "Returned" else "timed_out"
    if prospect == WORKING:
        return WORKING
    return "submitted" if work.done else "none_left"


def ending(tx: Transaction, number: int | None) -> Ending | None:
    """Return the way back from a visit that has ended; None for others, and for workers of no panel."""
    if number is None:
        return None
    visit = panels.find_visit(tx, number)
    outcome = outcome_of(tx, visit)
    if outcome == WORKING:
        return None
    way = panels.way_back(
        panels.find(tx, visit.panel),
        outcome,
        participant=visit.participant,
        study=visit.study,
        session=visit.session,
    )
    return {"outcome": outcome, **way}


def progress(tx: Transaction, number: int | None) -> Progress | None:
    """Return how far a visit is; None for workers of no panel."""
    if number is None:
        return None
    visit = panels.find_visit(tx, number)
    work = work_of(tx, visit)
    over = bool(visit.outcome) or work.is_complete
    return {"wanted": work.wanted, "done": work.done, "held": work.held, "over": over}


def keep_shown(tx: Transaction, number: int) -> None:
    """Keep how a visit has ended, as its code is being shown: it must not change any more."""
    outcome = outcome_of(tx, panels.find_visit(tx, number, lock=True))
    if outcome in FINAL:
        panels.record_outcome(tx, number, outcome)


def leave(tx: Transaction, number: int | None, *, refused: bool = False) -> None:
    """End the visit of a participant who wants to stop: what was done counts, the rest goes to others.

    With ``refused`` they do not agree to what a page asks consent to.

    Raises
    ------
    Refusal
        ``no_visit``: no panel has sent the worker.
    """
    if number is None:
        raise Refusal("no_visit", "No panel has sent you.", 404)
    visit = panels.find_visit(tx, number, lock=True)
    work = work_of(tx, visit)
    enough = work.done and not work.wanted
    end(tx, visit, "no_consent" if refused else "submitted" if enough else "returned")


def end(tx: Transaction, visit: Visit, outcome: str, *, overrule: bool = False) -> None:
    """End a visit, which is locked; what is in hand is free for others at once. A repeat changes nothing."""
    for held in _assignments(tx, visit, "Accepted"):
        if outcome == "timed_out":
            assignments.abandon(tx, held)
        else:
            assignments.take_back(tx, held)
    panels.record_outcome(tx, visit.visit, outcome, overrule=overrule)


def confirm(tx: Transaction, visit: Visit) -> None:
    """Let a visit, which is locked, count: its panel has sent the participant. A repeat changes nothing."""
    if visit.confirmed:
        return
    tx.run("UPDATE visits SET confirmed = 1 WHERE visit = :visit", visit=visit.visit)
    for waiting in _assignments(tx, visit, assignments.UNCONFIRMED):
        hit = hits.get(tx, waiting.hit_id, lock=True)
        assert hit is not None, "an assignment has its HIT"
        tx.run(
            "UPDATE assignments SET status = 'Submitted', auto_approve_at = :auto WHERE assignment_id = :id",
            auto=tx.now + hit.auto_approval_delay,
            id=waiting.assignment_id,
        )
        hits.note(tx, "AssignmentSubmitted", hit, waiting.assignment_id, waiting.worker_id)
        hits.shift(tx, hit, pending=-1, submitted=1)


def throw_away(tx: Transaction, visit: Visit) -> None:
    """End a visit, which is locked, that its panel does not know: its HITs are free again."""
    for taken in (*_assignments(tx, visit, assignments.UNCONFIRMED), *_assignments(tx, visit, "Accepted")):
        assignments.take_back(tx, taken)
    panels.record_outcome(tx, visit.visit, "returned", overrule=True)


def _assignments(tx: Transaction, visit: Visit, status: str) -> list[Assignment]:
    return tx.select(
        Assignment,
        f"FROM assignments WHERE visit = :visit AND status = :status ORDER BY seq{tx.locked}",
        visit=visit.visit,
        status=status,
    )


def _prospect(tx: Transaction, worker_id: str) -> str:
    """Return ``"working"`` where a worker may take a HIT, now or once earlier ones are checked.

    Else ``"none_left"``, or ``"screened_out"`` where HITs are open, but not to this worker.
    """
    worker = qualifications.standing(tx, worker_id)
    closed: list[Requirement] = []
    barred = False
    for blocked, asked in _open_types(tx, worker_id):
        unmet = qualifications.unmet(asked, worker)
        if not blocked and (not unmet or qualifications.waits(unmet, worker)):
            return WORKING
        barred = barred or blocked
        closed += unmet
    if barred or (closed and _is_barred(tx, worker_id, worker, closed)):
        return "screened_out"
    return "none_left"


def _open_types(tx: Transaction, worker_id: str) -> list[tuple[bool, str]]:
    """Return whether each requester of open HITs blocks the worker, with the requirements of the HITs."""
    rows = tx.rows(
        f"SELECT DISTINCT {workers.BLOCKED}, t.requirements FROM hit_types t WHERE NOT {workers.HIDDEN} AND EXISTS"
        f" (SELECT 1 FROM hits h WHERE h.hit_type_id = t.hit_type_id AND {hits.OPEN} AND {UNDONE})",
        worker=worker_id,
        now=tx.now,
    )
    return [(bool(blocked), str(asked)) for blocked, asked in rows]


def _is_barred(tx: Transaction, worker_id: str, worker: Standing, closed: list[Requirement]) -> bool:
    """Tell whether what is closed to a worker is so because of the worker, and not of a single HIT.

    A study may close one HIT to those who have judged its pairs before, which is no verdict on them: it asks
    for what no HIT that the worker took has asked for. Who is barred no longer meets what those asked for.
    """
    rows = tx.rows(
        "SELECT DISTINCT t.requirements FROM assignments a JOIN hits h USING (hit_id)"
        " JOIN hit_types t USING (hit_type_id) WHERE a.worker_id = :worker",
        worker=worker_id,
    )
    if not rows:
        return True
    earlier = {
        one["QualificationTypeId"] for (asked,) in rows for one in qualifications.unmet(str(asked), worker)
    }
    return any(
        one["QualificationTypeId"] in earlier for one in closed if one["Comparator"] != qualifications.TAKEN
    )
