"""Assignments that nobody has decided on, and what speaks against paying for them; standard library only."""

from collections.abc import Iterable
from dataclasses import dataclass

from prefjudge.counts import many
from prefjudge.database import Connection

TOO_FAST = "faster than anybody can read"
"""The verdict on an assignment that was submitted too soon after acceptance, by the marketplace's clock."""
AS_GUESSED = "as by guessing"
"""The end of the reason for which a worker is barred whose gold pairs, or the last of them, say so."""
STOPPED = "stopped before every gold pair was answered"
"""The verdict on an assignment that says nothing of its worker: gold pairs were passed over, none missed."""
UNUSABLE = "unusable answer"
"""The start of the verdict on an assignment whose fields the page cannot have sent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UndecidedAssignment:
    """An assignment that was not approved or rejected, and what its HIT offers and asks.

    ``hit_assignments`` is how many assignments the HIT has, ``slots`` how many comparisons; ``counting`` is
    how many of the assignment's judgments were not dropped. ``barred`` says why its worker is barred; empty
    where that is not so. ``pays_itself`` is when the crowd pays for it if nobody decides.
    """

    assignment_id: str
    worker_id: str
    hit_key: str
    accepted: float | None
    submitted: float | None
    answered: int
    verdict: str
    reward_cents: int
    hit_assignments: int
    slots: int
    counting: int
    barred: str
    pays_itself: float | None


def load_undecided(db: Connection, target: str) -> list[UndecidedAssignment]:
    """Return the assignments at a target that nobody has decided on, in the order of collection."""
    return db.select(
        UndecidedAssignment,
        "FROM (SELECT a.*, h.reward_cents, h.assignments AS hit_assignments, h.target, "
        "(SELECT count(*) FROM slots s WHERE s.hit_key = a.hit_key) AS slots, "
        "(SELECT count(*) FROM judgments j LEFT JOIN drops d USING (judgment_id) "
        "WHERE j.assignment_id = a.assignment_id AND d.judgment_id IS NULL) AS counting, "
        "coalesce(b.reason, '') AS barred FROM assignments a JOIN hits h ON h.hit_key = a.hit_key "
        "LEFT JOIN barred b ON b.target = h.target AND b.worker_id = a.worker_id) AS undecided "
        "WHERE decision IS NULL AND target = :target ORDER BY collected, assignment_id",
        target=target,
    )


def paid_unasked(held: Iterable[UndecidedAssignment]) -> float | None:
    """Return when the crowd pays the first of what is held by itself; None where it does not."""
    return min((one.pays_itself for one in held if one.pays_itself is not None), default=None)


def evidence_against(one: UndecidedAssignment) -> str:
    """Return why a person has to look at an assignment before it is paid; empty where nobody has to."""
    if one.verdict.startswith(UNUSABLE):
        return one.verdict
    if one.verdict != TOO_FAST:
        return f"its worker {one.barred}" if one.barred.endswith(AS_GUESSED) else ""
    seconds = (one.submitted or 0.0) - (one.accepted or 0.0)
    made = many(one.answered, "comparison")
    return f"{TOO_FAST}: {made} in {seconds:.1f} seconds by the marketplace's clock"
