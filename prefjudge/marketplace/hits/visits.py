"""Visits of a panel's participants: how they end, what was done in them, and what the panel owes for it."""

import csv
import io
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TypedDict

from prefjudge.database import Value
from prefjudge.marketplace.errors import Refusal, View, from_cents, invalid, to_cents
from prefjudge.marketplace.hits import assignments, hits
from prefjudge.marketplace.hits.assignments import DONE, Assignment, work_of
from prefjudge.marketplace.people import panels, qualifications, workers
from prefjudge.marketplace.people.panels import LAST, Panel, Visit
from prefjudge.marketplace.people.qualifications import Requirement, Standing
from prefjudge.marketplace.store import ledger
from prefjudge.marketplace.store.store import Transaction, iso

WORKING = "working"
FINAL = ("submitted", "none_left", "screened_out")
"""Outcomes that stand once their code was shown; who has returned a HIT, or was late, may take another."""


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


def ending(tx: Transaction, number: int | None) -> View | None:
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


def progress(tx: Transaction, number: int | None) -> View | None:
    """Return how far a visit is, for its pages; None for workers of no panel."""
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
    """
    if number is None:
        raise Refusal("no_visit", "You did not come from a panel.", 404)
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
    tx.update("visits", {"confirmed": 1}, visit=visit.visit)
    for waiting in _assignments(tx, visit, assignments.UNCONFIRMED):
        hit = hits.taken(tx, waiting.hit_id)
        counts = {"status": "Submitted", "auto_approve_at": tx.now + hit.auto_approval_delay}
        tx.update("assignments", counts, assignment_id=waiting.assignment_id)
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
    """Return ``"working"`` where a worker may take a HIT, else ``"none_left"``, or ``"screened_out"``."""
    worker = qualifications.standing(tx, worker_id)
    closed: list[Requirement] = []
    barred = False
    for blocked, asked in _open_types(tx, worker_id):
        unmet = qualifications.unmet(asked, worker)
        if not blocked and (not unmet or qualifications.waits(unmet, worker)):
            return WORKING
        barred = barred or blocked
        closed += unmet
    if barred or (closed and _is_barred(tx, worker, closed)):
        return "screened_out"
    return "none_left"


def _open_types(tx: Transaction, worker_id: str) -> list[tuple[bool, str]]:
    """Return whether each requester of open HITs blocks the worker, with the requirements of the HITs."""
    rows = tx.execute(
        f"SELECT DISTINCT {workers.BLOCKED}, t.requirements FROM hit_types t WHERE NOT {workers.HIDDEN}"
        " AND EXISTS (SELECT 1 FROM hits h WHERE h.hit_type_id = t.hit_type_id"
        f" AND {hits.OPEN} AND {hits.UNDONE})",
        worker=worker_id,
        now=tx.now,
    )
    return [(bool(blocked), str(asked)) for blocked, asked in rows]


def _is_barred(tx: Transaction, worker: Standing, closed: list[Requirement]) -> bool:
    """Tell whether HITs are closed to a worker who no longer meets what earlier ones asked for."""
    met = tx.values(
        "SELECT DISTINCT t.requirements FROM assignments a JOIN hits h USING (hit_id)"
        " JOIN hit_types t USING (hit_type_id) WHERE a.worker_id = :worker",
        worker=worker.worker_id,
    )
    if not met:
        return True
    earlier = {one["QualificationTypeId"] for asked in met for one in qualifications.unmet(asked, worker)}
    return any(
        one["QualificationTypeId"] in earlier for one in closed if one["Comparator"] != qualifications.TAKEN
    )


# What a panel's participants did and are owed: the admin's list, the panel's files, and payments.


class VisitView(TypedDict):
    """A visit, as the admin page and JSON show it.

    ``approve`` says that the panel should approve its submission, which pays what the panel promised, and
    ``bonus`` what it owes beyond that. Both are said once all work of the visit is decided on. ``payments``
    are those that were recorded, the first one first; ``by_bonus`` is what bonuses are of them, and
    ``unseen`` what the panel has not shown yet of these. ``by_hand`` says that a person at the panel has
    approved it in part, for an amount that nobody knows here.
    """

    visit: int
    participant: str
    study: str
    session: str
    worker_id: str
    arrived: str | None
    ended: str | None
    confirmed: bool
    outcome: str
    wanted: int
    done: int
    held: int
    to_review: int
    approved: int
    rejected: int
    earned: str
    approve: bool
    bonus: str
    paid: str | None
    payments: list[str]
    by_bonus: str
    unseen: str
    by_hand: bool
    assignments: list[View]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Taken:
    """An assignment of a visit, as it is stored."""

    visit: int
    assignment_id: str
    hit_id: str
    status: str
    reward: int


def visit_list(
    tx: Transaction, panel: Panel, first: int = 0, last: int = LAST, most: int | None = None
) -> list[VisitView]:
    """Return the visits of a panel's participants, the last one first, with what was done and is owed.

    Where given, only those numbered from ``first`` to ``last``, and of these at most ``most``.
    """
    listed = panels.visits_of(tx, panel.panel, first, last, most)
    if not listed:
        return []
    span: dict[str, Value] = {"panel": panel.panel, "first": listed[-1].visit, "last": listed[0].visit}
    taken: dict[int, list[_Taken]] = defaultdict(list)
    for one in tx.select(_Taken, f"FROM assignments WHERE visit IN {panels.SPAN} ORDER BY seq", **span):
        taken[one.visit].append(one)
    bonuses = tx.tally(
        "SELECT a.visit, sum(b.cents) FROM bonuses b JOIN assignments a USING (assignment_id)"
        f" WHERE a.visit IN {panels.SPAN} GROUP BY a.visit",
        **span,
    )
    paid = tx.lists(
        f"SELECT visit, cents, way, seen FROM visit_payments WHERE visit IN {panels.SPAN} ORDER BY payment",
        **span,
    )
    return [
        _view(tx, panel, visit, taken[visit.visit], bonuses.get(visit.visit, 0), paid.get(visit.visit, []))
        for visit in listed
    ]


_Payment = tuple[int, str, int]
"""Cents; by an approval, a part that a person approved, or a bonus; and whether the panel shows it."""


def _view(
    tx: Transaction, panel: Panel, visit: Visit, taken: list[_Taken], bonus: int, paid: list[_Payment]
) -> VisitView:
    outcome = outcome_of(tx, visit)
    counts = {status: sum(one.status == status for one in taken) for status in ("Accepted", *DONE)}
    earned = bonus + sum(one.reward for one in taken if one.status == "Approved")
    decided = bool(visit.confirmed) and outcome != WORKING and not (counts["Submitted"] or counts["Accepted"])
    approve = decided and outcome == "submitted" and counts["Approved"] > 0
    # what was earned after a payment, as by a rejection that was taken back, is owed beyond that payment
    covered = max(panel.reward if approve else 0, sum(cents for cents, *_ in paid))
    beyond = max(0, earned - covered) if decided else 0
    return {
        "visit": visit.visit,
        "participant": visit.participant,
        "study": visit.study,
        "session": visit.session,
        "worker_id": visit.worker_id,
        "arrived": iso(visit.arrived),
        "ended": iso(visit.ended),
        "confirmed": bool(visit.confirmed),
        "outcome": outcome,
        "wanted": panel.hits,
        "done": sum(counts[status] for status in DONE),
        "held": counts["Accepted"],
        "to_review": counts["Submitted"],
        "approved": counts["Approved"],
        "rejected": counts["Rejected"],
        "earned": from_cents(earned),
        "approve": approve,
        "bonus": from_cents(beyond),
        "paid": iso(visit.paid),
        "payments": [from_cents(cents) for cents, *_ in paid],
        "by_bonus": from_cents(sum(cents for cents, way, _ in paid if way == "bonus")),
        "unseen": from_cents(sum(cents for cents, _, seen in paid if not seen)),
        "by_hand": any(way == "by hand" for _, way, _ in paid),
        "assignments": [
            {"assignment_id": one.assignment_id, "hit_id": one.hit_id, "status": one.status} for one in taken
        ],
    }


def approvals(rows: Iterable[VisitView]) -> str:
    """Write whom the panel should approve, a participant a line."""
    due = (row for row in _payable(rows) if row["approve"] and not row["paid"])
    return written((workers.inert(row["participant"]),) for row in due)


def bonuses(rows: Iterable[VisitView]) -> str:
    """Write what the panel owes beyond its approvals: a participant and an amount a line."""
    owed: dict[str, int] = defaultdict(int)
    for row in _payable(rows):
        if cents := to_cents(row["bonus"], "bonus"):
            owed[row["participant"]] += cents
    return written((workers.inert(participant), from_cents(cents)) for participant, cents in owed.items())


def written(rows: Iterable[tuple[str, ...]]) -> str:
    """Write a file of a panel: CSV without a head."""
    written = io.StringIO()
    csv.writer(written, lineterminator="\n").writerows(rows)
    return written.getvalue()


def _payable(rows: Iterable[VisitView]) -> Iterable[VisitView]:
    """Return the visits of participants who are known: who was forgotten cannot be paid."""
    return (row for row in rows if row["participant"])


def record_paid(
    tx: Transaction, panel: Panel, numbers: Iterable[int], by: object = "", most: int | None = None
) -> int:
    """Record that the panel has paid these visits; return for how many that was new.

    What the visits earned here counts as paid out, ``most`` cents each: by the panel, with its approval and
    its bonus. By ``approval``, or a part of it ``by hand``, no more than its reward does; a ``bonus`` is
    still to be seen.
    """
    wanted = sorted(set(numbers))
    if not wanted:
        return 0
    first, last = wanted[0], wanted[-1]
    # locked before they are looked at: of two records of one payment, the second finds the first
    locked = {visit.visit: visit for visit in panels.visits_of(tx, panel.panel, first, last, lock=True)}
    rows = {row["visit"]: row for row in visit_list(tx, panel, first, last)}
    recorded = 0
    for number in wanted:
        row = rows.get(number)
        if row is None:
            raise invalid("visits", f"{number} is not a visit of {panel.panel}")
        visit = locked[number]
        before = sum(to_cents(one, "payments") for one in row["payments"])
        cents = to_cents(row["earned"], "earned") - before
        if by in ("approval", "by hand"):
            cents = min(cents, panel.reward - before + to_cents(row["by_bonus"], "by_bonus"))
        cents = cents if most is None else min(cents, most)
        # a bonus may have replaced the approval that would cover this
        more = visit.paid is not None and cents > 0 and not (row["held"] or row["to_review"])
        if not (_must_pay(row) or more):
            if visit.paid is None:
                raise invalid("visits", f"{number} has work that nobody has decided on, or none that is paid")
            continue
        if cents > 0:
            so_far = f"{from_cents(cents + before)} of {row['earned']}"
            reference = f"panel {visit.panel}, visit {number}: {so_far}"
            workers.record_payout(tx, visit.worker_id, cents, reference)
            kept = {"visit": number, "cents": cents, "time": tx.now, "reference": reference}
            tx.insert("visit_payments", {**kept, "way": str(by or ""), "seen": int(by != "bonus")})
        tx.update("visits", {"paid": tx.now}, visit=number)
        recorded += 1
    return recorded


def take_back_paid(tx: Transaction, panel: Panel, numbers: Iterable[int]) -> int:
    """Take back the records of payments that the panel has refused; return of how many visits."""
    taken = 0
    for number in sorted(set(numbers)):
        visit = panels.find_visit(tx, number, lock=True)
        if visit is None or visit.panel != panel.panel:
            raise invalid("visits", f"{number} is not a visit of {panel.panel}")
        if visit.paid is None:
            continue
        made = tx.execute(
            "SELECT payment, reference, cents, time FROM visit_payments WHERE visit = :visit"
            " ORDER BY payment DESC LIMIT 2",
            visit=number,
        )
        for payment, full, cents, _ in made[:1]:
            account = ledger.earned(visit.worker_id)
            ledger.transfer(tx, ledger.PAID_OUT, account, int(cents), "payout refused", str(full))
            tx.update("transfers", {"kind": "payout refused"}, source=account, kind="payout", reference=full)
            tx.delete("visit_payments", payment=payment)
        tx.update("visits", {"paid": made[1][3] if made[1:] else None}, visit=number)
        taken += 1
    return taken


def record_seen(tx: Transaction, panel: Panel, numbers: Iterable[int], way: str = "bonus") -> int:
    """Record that the panel shows these visits' bonuses, or has paid in another way; return how many."""
    sql = (
        "UPDATE visit_payments SET seen = 1, way = :way WHERE visit = :visit AND seen = 0"
        " AND visit IN (SELECT visit FROM visits WHERE panel = :panel) RETURNING visit"
    )
    return sum(len(tx.execute(sql, visit=number, panel=panel.panel, way=way)) for number in numbers)


def _must_pay(row: VisitView) -> bool:
    return (row["approve"] and not row["paid"]) or row["bonus"] != from_cents(0)


def to_pay(rows: Iterable[VisitView]) -> list[int]:
    """Return the visits that the two files are about."""
    return [row["visit"] for row in _payable(rows) if _must_pay(row)]


KNOWN = "known"
UNKNOWN = "unknown"
REPORTED = (KNOWN, "returned", "timed_out", "screened_out", UNKNOWN)
"""What a panel may say of a submission."""


def report(tx: Transaction, panel: Panel, submissions: Iterable[Mapping[str, object]]) -> dict[str, int]:
    """Take over what the panel's own list says of its submissions; a repeat changes nothing.

    Each has a ``session``, a ``participant`` (one of them may be left out) and a ``status`` of
    :data:`REPORTED`. Visits of a session by another participant than the panel knows are thrown away.
    """
    by_session: dict[str, list[Visit]] = defaultdict(list)
    by_participant: dict[str, list[Visit]] = defaultdict(list)
    for visit in panels.visits_of(tx, panel.panel):
        by_session[visit.session].append(visit)
        by_participant[visit.participant].append(visit)
    counts = dict.fromkeys(("confirmed", "ended", "thrown_away", "not_here"), 0)
    for said in submissions:
        session, participant, status = (
            str(said.get(key) or "") for key in ("session", "participant", "status")
        )
        if status not in REPORTED:
            raise invalid("status", f"{status[:32]!r} is not one of {', '.join(REPORTED)}")
        if not (session or participant):
            raise invalid("submissions", "each needs a session or a participant")
        here = by_session[session] if session else by_participant[participant]
        meant = [visit for visit in here if participant in ("", visit.participant)]
        if not meant:
            counts["not_here"] += 1
        for visit in meant:
            _report_one(tx, visit, status, counts)
        if session and participant:
            for other in here:
                if other.participant != participant:
                    _report_one(tx, other, UNKNOWN, counts)
    return counts


def _report_one(tx: Transaction, seen: Visit, status: str, counts: dict[str, int]) -> None:
    if not _is_news(seen, status):  # of a long list, which is told again and again, most is not
        return
    visit = panels.find_visit(tx, seen.visit, lock=True)
    if not _is_news(visit, status):
        return
    if status == UNKNOWN:
        throw_away(tx, visit)
        counts["thrown_away"] += 1
        return
    if not visit.confirmed:
        confirm(tx, visit)
        counts["confirmed"] += 1
    if status not in (KNOWN, visit.outcome):  # the panel's word counts, whatever was shown here
        end(tx, visit, status, overrule=True)
        counts["ended"] += 1


def _is_news(visit: Visit, status: str) -> bool:
    if status == UNKNOWN:
        return not visit.confirmed and visit.outcome != "returned"
    return not visit.confirmed or status not in (KNOWN, visit.outcome)
