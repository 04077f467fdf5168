"""Whose pay waits: while the gold pairs leave room for doubt that a worker reads, and the study goes on."""

from collections.abc import Iterable
from math import inf

from prefjudge.fieldwork.hit_requests import climbs
from prefjudge.fieldwork.trust import barring_rule
from prefjudge.study.assignments import load_gold_records
from prefjudge.study.hits import HitStatus
from prefjudge.study.people import UndecidedAssignment
from prefjudge.study.progress import count_hits, waiting_pairs
from prefjudge.study.study import Study


def waits_until(
    study: Study, target: str, undecided: Iterable[UndecidedAssignment], now: float
) -> dict[str, float]:
    """Return which assignments are not paid yet, and when they are at the latest, in seconds since 1970.

    Three gold pairs let a coin pass one HIT in eight, and a bar that is sure takes more than one. What is
    paid before cannot be taken back, so pay waits until the worker's record has left doubt behind. Work in
    good faith is paid in any case: after some days, or when there is no more of the study to do. The crowd
    may pay by itself before: then that is the time to tell.
    """
    days = study.config.pay.doubt_days
    if not (days and climbs(study) and study.config.design.gold_per_hit):
        return {}
    with study.transaction(write=False) as db:
        if not (count_hits(db, target).get(HitStatus.OPEN, 0) or waiting_pairs(db, target)):
            return {}
        records = load_gold_records(db, target)
    rule = barring_rule(study)
    doubted = {worker for worker, record in records.items() if rule.in_doubt(record)}
    until = {
        one.assignment_id: min(one.submitted + 86_400 * days, one.pays_itself or inf)
        for one in undecided
        if one.worker_id in doubted and one.submitted is not None
    }
    return {assignment: when for assignment, when in until.items() if when > now}
