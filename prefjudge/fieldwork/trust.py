"""Who may take how many HITs, and who none any more: by the gold pairs that were answered so far."""

import time

from prefjudge.core.judges.screening import BarringRule, climb
from prefjudge.counts import many
from prefjudge.crowd.protocol import Crowd
from prefjudge.fieldwork.hit_requests import barred_group, climbs, trusted_group
from prefjudge.study.assignments import load_gold_records, save_barred
from prefjudge.study.progress import count_hits, load_barred
from prefjudge.study.study import Study
from prefjudge.study.trust import (
    AFTER_MISS,
    GUESSED,
    UNPROVEN,
    UNREAD,
    count_last_dropped,
    count_workers_verdicts,
    find_first_miss,
    load_allowances,
    save_allowance,
    save_exclusion,
)
from prefjudge.study.undecided import TOO_FAST


def barring_rule(study: Study) -> BarringRule:
    """Return the rule of a study's config."""
    screening = study.config.screening
    return BarringRule(
        policy=screening.policy,
        accuracy=screening.accuracy,
        careless=screening.careless,
        confidence=screening.confidence,
    )


def bar_workers(study: Study, crowd: Crowd, target: str) -> None:
    """Bar the workers whom the policy bars, first at the crowd and then in the store."""
    rule = barring_rule(study)
    with study.transaction(write=False) as db:
        records, barred = load_gold_records(db, target), load_barred(db, target)
        fast = count_workers_verdicts(db, target, TOO_FAST)
    group = barred_group(study)
    for worker, record in sorted(records.items()):
        if worker in barred or not (worker in fast or rule.bars(record)):
            continue
        crowd.bar(worker, group)
        met = record.missed + record.right
        reason = f"missed {record.missed} of {many(met, 'gold pair')}"
        if worker in fast:
            reason = f"{many(fast[worker], 'HIT')} of {len(record.hits)} done {TOO_FAST}; {reason}"
        with study.transaction() as db:
            save_barred(db, target, worker, reason, time.time())


def exclude_barred(study: Study, target: str) -> None:
    """Drop the judgments of barred workers that never count, each with the reason; their pairs wait again.

    These are all judgments of who guesses or does not read, and of who never showed anything else. Of others
    it is what they did from the first HIT on in which they missed a gold pair or did not read. It is derived
    from the log each time, so that work which comes after the worker was barred is found, and a repeat drops
    nothing more.
    """
    if not climbs(study):
        return
    rule = barring_rule(study)
    with study.transaction(write=False) as db:
        records = load_gold_records(db, target)
        fast = count_workers_verdicts(db, target, TOO_FAST)
        barred = [worker for worker in load_barred(db, target) if worker in records]
    with study.transaction() as db:
        for worker in barred:
            record = records[worker]
            if rule.guesses(record):
                save_exclusion(db, target, worker, GUESSED, time.time())
            elif 2 * fast.get(worker, 0) >= len(record.hits):
                save_exclusion(db, target, worker, UNREAD, time.time())
            elif not rule.began_well(record):
                save_exclusion(db, target, worker, UNPROVEN, time.time())
            else:
                since = find_first_miss(db, target, worker, TOO_FAST)
                save_exclusion(db, target, worker, AFTER_MISS, time.time(), since=since)


_LOOKED_AT, _ENOUGH = 50, 20
"""How many of the last assignments tell the share that is dropped, and how many there must be."""


def why_stopped(study: Study, target: str) -> str:
    """Return why nothing should be published for now, as too much of what comes is dropped; else nothing."""
    limit = study.config.screening.most_dropped
    with study.transaction(write=False) as db:
        came, dropped = count_last_dropped(db, target, _LOOKED_AT)
    if came < _ENOUGH or dropped <= limit * came:
        return ""
    return (
        f"{dropped} of the last {came} assignments were dropped, more than {limit:.0%}: nothing is published "
        "until others come, or most_dropped in [screening] of study.toml allows it"
    )


def _cap(study: Study, published: int) -> int:
    """Return the most HITs that a worker may take."""
    workers = study.config.workers
    of_study = max(1, int(workers.most_share * published))
    return of_study if workers.most_hits is None else min(of_study, workers.most_hits)


def allow_more(study: Study, crowd: Crowd, target: str) -> None:
    """Let each worker take as many HITs as were screened, and as many more as the ladder of trust gives.

    The number is the whole one, so nothing is lost where the worker takes a HIT at the same moment. It is
    recorded after the call: a call whose record is missing is repeated, and a repeat is harmless.
    """
    if not climbs(study):
        return
    with study.transaction(write=False) as db:
        records, barred = load_gold_records(db, target), load_barred(db, target)
        allowed = load_allowances(db, target)
        cap = _cap(study, sum(count_hits(db, target).values()))
    for worker, record in sorted(records.items()):
        screened = len(record.hits)
        hits = min(screened + climb(record.hits), cap)
        if worker in barred or allowed.get(worker) == hits:
            continue
        crowd.allow(worker, trusted_group(study), hits, submitted=screened)
        with study.transaction() as db:
            save_allowance(db, target, worker, hits)
