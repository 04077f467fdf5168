"""Trust: who may take how many HITs, whose pay waits, and which models' votes count."""

import json
import time
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from math import inf
from statistics import median, median_high

import numpy as np

from prefjudge.core.judgments import BarringPolicy, BarringRule, Judgments, climb, split_models
from prefjudge.core.resolving.confidence import find_contested
from prefjudge.core.resolving.scales import learn_trust
from prefjudge.core.shortcuts import Shortcut, find_shortcuts, visible
from prefjudge.core.workers import share_interval
from prefjudge.crowd.protocol import Crowd, RefusedError, UnknownError
from prefjudge.database import Connection
from prefjudge.errors import ConfigError, InputError, StudyError, quoted
from prefjudge.evaluation.models import ModelGate, gate_model
from prefjudge.field.publish import barred_group, climbs, trusted_group
from prefjudge.findings.judgments import pseudonymous
from prefjudge.study.assignments import forget_barred, load_gold_records, load_judgments, save_barred
from prefjudge.study.hits import HitStatus
from prefjudge.study.judgments import load_conduct, load_paces
from prefjudge.study.people import (
    AFTER_MISS,
    AS_GUESSED,
    DECIDED,
    DOUBTED,
    FAILED,
    FOLLOWED,
    GUESSED,
    HELD,
    TOO_FAST,
    UNPROVEN,
    UNREAD,
    UndecidedAssignment,
    count_last_dropped,
    count_votes,
    count_workers_verdicts,
    find_first_miss,
    forget_decisions,
    forget_doubt,
    forgive,
    load_active,
    load_allowances,
    load_takers,
    load_voted_pairs,
    load_voters,
    load_workers,
    save_allowance,
    save_exclusion,
)
from prefjudge.study.pools import count_hidden, load_gold_sets, load_passages, load_queries
from prefjudge.study.progress import count_hits, count_judgments, count_rows, load_barred, waiting_pairs
from prefjudge.study.store import IMPORTED, RECOVERING, Study, current_target, load_setting, save_setting
from prefjudge.words import many


@dataclass(frozen=True, slots=True, kw_only=True)
class Decisions:
    """Whose work counts all the same, and whose does not, by worker id, each with the reason."""

    keep: Mapping[str, str]
    drop: Mapping[str, str]


def decisions_on_workers(study: Study) -> Decisions:
    """Return what the config decides on workers, whom it names by pseudonyms as everything does."""
    screening = study.config.screening
    if not (screening.keep or screening.drop):
        return Decisions(keep={}, drop={})
    with study.transaction(write=False) as db:
        workers, partial = load_workers(db), load_setting(db, RECOVERING) is not None
    ids = {study.opaque("worker", worker): worker for worker in workers}
    unknown = [name for name in (*screening.keep, *screening.drop) if name not in ids]
    if unknown and not partial:
        raise ConfigError(
            f"[screening] of study.toml decides on {unknown[0]}, but the study has no worker of this name",
            f"`prefjudge workers {quoted(study.folder)}` names them.",
        )
    return Decisions(
        keep={ids[name]: why for name, why in screening.keep.items() if name in ids},
        drop={ids[name]: why for name, why in screening.drop.items() if name in ids},
    )


# Who may take how many HITs, and who none any more: by the gold pairs that were answered so far.


def hold_workers(study: Study, names: Sequence[str]) -> None:
    """Hold workers, by pseudonym or id, until a person decides; the next `bar_workers` tells the crowd."""
    with study.transaction(write=False) as db:
        workers, target, imported = load_workers(db), current_target(db), _only_imported(db)
    ids = {name: worker for worker in workers for name in (worker, study.opaque("worker", worker))}
    if unknown := [name for name in names if name not in ids]:
        raise InputError(
            f"--hold {unknown[0]}: the study has no worker of this name",
            f"`prefjudge workers {quoted(study.folder)}` names them.",
        )
    held = dict.fromkeys(ids[name] for name in names)
    if votes := [study.opaque("worker", one) for one in held if one in imported]:
        raise InputError(
            f"--hold {votes[0]}: this worker has no HITs to hold, but imported votes alone",
            f"Leave them out: {_left_out(study, votes)}",
        )
    decided = decisions_on_workers(study)
    for verb, those in (("keep", decided.keep), ("drop", decided.drop)):
        if both := held.keys() & those.keys():
            name = study.opaque("worker", min(both))
            raise ConfigError(
                f"[screening] of study.toml {verb}s {name}", f"Delete the line {verb}.{name} first."
            )
    with study.transaction() as db:
        barred = load_barred(db, target)
        for worker in held:
            before = barred.get(worker, "")
            if before.startswith(HELD) and not _held_as_coin(before):
                continue
            forget_barred(db, target, worker)  # the votes of whom a miss barred may have counted till then
            reason = f"{HELD}: by hand" + (f"; {before}" if before else "")
            save_barred(db, target, worker, reason, time.time())
        untold = dict.fromkeys([*_untold(db, target), *held])
        save_setting(db, f"{_UNTOLD}{target}", json.dumps([*untold]))


def _only_imported(db: Connection) -> set[str]:
    """Return the workers of imported votes who have done no HIT."""
    return count_votes(db, IMPORTED).keys() - load_gold_records(db, current_target(db)).keys()


def _left_out(study: Study, names: Iterable[str]) -> str:
    return f"prefjudge resolve {quoted(study.folder)} {' '.join(f'--without {name}' for name in names)}"


def unheeded_drops(study: Study, without: Collection[str] = ()) -> tuple[str, ...]:
    """Say which drops of the config do nothing, as imported votes are not asked for again."""
    if not study.config.screening.drop:
        return ()
    with study.transaction(write=False) as db:
        imported = sorted(_only_imported(db) - {*without})
    names = [name for one in imported if (name := study.opaque("worker", one)) not in without]
    left = [name for name in names if name in study.config.screening.drop]
    if not left:
        return ()
    lines = " and ".join(f"drop.{name}" for name in left)
    return (
        f"{lines} in study.toml does nothing to imported votes; leave them out: {_left_out(study, left)}",
    )


_UNTOLD = "held, and the crowd not told:"
"""The setting that lists whom a target's crowd is still to bar."""


def _untold(db: Connection, target: str) -> list[str]:
    return list(json.loads(load_setting(db, f"{_UNTOLD}{target}") or "[]"))


def barring_rule(study: Study) -> BarringRule:
    """Return the rule of a study's config."""
    screening = study.config.screening
    return BarringRule(
        policy=screening.policy,
        accuracy=screening.accuracy,
        confidence=screening.confidence,
    )


def bar_workers(
    study: Study, crowd: Crowd, target: str, *, again: bool = False, news: bool = True
) -> tuple[str, ...]:
    """Bar whom the policy or a decision bars, hold whom votes make suspect, readmit whom a decision keeps.

    ``again`` tells the crowd of those who are barred already; votes are looked at where there are ``news``.
    Returns what to say where nobody is held, as too many would be.
    """
    rule, decided, group = barring_rule(study), decisions_on_workers(study), barred_group(study)
    _readmit(study, crowd, target, decided)
    with study.transaction(write=False) as db:
        records, barred = load_gold_records(db, target), load_barred(db, target)
        fast, untold = count_workers_verdicts(db, target, TOO_FAST), _untold(db, target)
    votes = _votes_to_look_at(study, target) if news and climbs(study) else 0
    followers, little, words = {}, list[str](), tuple[str, ...]()
    if votes:
        with study.transaction(write=False) as db:
            log, _ = load_conduct(db)
            followers = {log.workers[one.worker]: one.text for one in find_followers(study, db, log)}
            counted = count_votes(db, target)
        coins, little = _find_coins(log, counted)
        if coins is not None:  # else a person has to look, and all stays as it is
            cleared = {one for one, why in barred.items() if _held_as_coin(why) and one not in coins}
            _readmit(study, crowd, target, decided, cleared)
            barred = {one: why for one, why in barred.items() if one not in cleared}
            followers = coins | followers
        elif little:
            share = sum(counted.get(one, 0) for one in little) / max(1, sum(counted.values()))
            words = (
                f"the votes of {many(len(little), 'worker')}, {share:.0%} of all, hardly agree with others'; "
                f"nobody is held, as these are too many: see prefjudge workers {quoted(study.folder)}",
            )
            little = []
    for worker in barred if again else barred.keys() & untold:
        with suppress(RefusedError):  # a marketplace that replaces a lost one does not know its workers
            crowd.bar(worker, group)
    if untold:
        with study.transaction() as db:
            left = [worker for worker in _untold(db, target) if worker not in untold]
            save_setting(db, f"{_UNTOLD}{target}", json.dumps(left))
    for worker, record in sorted(records.items()):
        if worker in barred or worker in decided.keep:
            continue
        if not (worker in decided.drop or worker in fast or worker in followers or rule.bars(record)):
            continue
        with suppress(UnknownError):  # who came after the backup that the marketplace was restored from
            crowd.bar(worker, group)
        met = record.missed + record.right
        reason = f"missed {record.missed} of {many(met, 'gold pair')}"
        if climbs(study) and rule.bars(record):
            reason += f", {AS_GUESSED}" if rule.guesses(record) else f", lately {AS_GUESSED}"
        if worker in fast:
            reason = f"did {many(fast[worker], 'HIT')} of {len(record.hits)} {TOO_FAST}; {reason}"
        if worker in followers and worker not in fast and not rule.bars(record):
            reason = f"{HELD}: {followers[worker]}"
        if worker in decided.drop:
            reason = f"{DECIDED}: {decided.drop[worker]}"
        with study.transaction() as db:
            save_barred(db, target, worker, reason, time.time())
    if votes:
        with study.transaction() as db:  # once they are held: what is interrupted is repeated
            save_setting(db, f"{_LOOKED}{target}", str(votes))
            save_setting(db, f"{_LITTLE}{target}", json.dumps(little))
    return words


_LOOKED, _GROWN = "votes looked at:", 1.02
"""The setting that says how many votes of a target were looked at, and how far they grow until all are
looked at again: of 300,000 it takes ten seconds."""


_LITTLE, _TELLS_LITTLE, _LIKELY, _SURELY, _MANY = "votes that tell little:", 0.7, 0.9, 0.97, 0.25
"""The setting that lists whose votes each count for less than the first share of others', as all votes tell.
Who tosses coins with the greater probability is held, unless a greater share of the votes tells little: then
it is said if somebody does with the lesser."""


_LIKE_COINS = "votes agree with others' no more than coins do"


def _held_as_coin(why: str) -> bool:
    return why.endswith(_LIKE_COINS) and not why.startswith(f"{HELD}: by hand")


def _find_coins(log: Judgments, counted: Mapping[str, int]) -> tuple[dict[str, str] | None, list[str]]:
    """Return whose votes tell no more than coins, with the reason, if that can be told; whose tell little."""
    trust = learn_trust(replace(log, gold=None))  # who knows the gold may be right on it, and it alone
    if trust is None:
        return None, []
    little = [
        one for one, tells in zip(trust.workers, trust.reliability, strict=True) if tells < _TELLS_LITTLE
    ]
    coins = {
        worker: f"{votes} {_LIKE_COINS}"
        for worker, tossing, votes in zip(trust.workers, trust.tossing, trust.cast.tolist(), strict=True)
        if tossing > _SURELY
    }
    # where these are many, perhaps it is the others who do not read: a person has to look
    theirs = sum(counted.get(worker, 0) for worker in little)
    if theirs > _MANY * sum(counted.values()) or (little and find_contested(log)[1] > 0.5):
        return None, little if trust.tossing.max() > _LIKELY else []
    return coins, little


def _votes_to_look_at(study: Study, target: str) -> int:
    """Return how many votes there are, if they have grown, or if none is to come; else 0."""
    with study.transaction(write=False) as db:
        votes, looked = sum(count_judgments(db, target)), int(load_setting(db, f"{_LOOKED}{target}") or 0)
        to_come = count_hits(db, target).get(HitStatus.OPEN, 0)
    return votes if votes >= _GROWN * looked or not to_come else 0


def find_followers(study: Study, db: Connection, log: Judgments) -> tuple[Shortcut, ...]:
    """Return whose votes of a study follow what is seen without reading, far more than others' do.

    What is usual, those say whose votes count or are held: proven people alone, where they cast most votes.
    """
    target = current_target(db)
    signals = visible(log, queries=load_queries(db), passages=load_passages(db))
    cast: Counter[str] = Counter()
    for which in (target, IMPORTED):
        for reason in ("", FOLLOWED):
            cast.update(count_votes(db, which, reason))
    proven = {worker: cast[worker] for worker in cast.keys() & _proven(db, target, barring_rule(study))}
    return find_shortcuts(log, signals, base=proven if 2 * sum(proven.values()) > cast.total() else cast)


def _proven(db: Connection, target: str, rule: BarringRule) -> set[str]:
    """Return whose gold shows that they do not guess, and whose votes do not show that they do."""
    little = json.loads(load_setting(db, f"{_LITTLE}{target}") or "[]")
    records = load_gold_records(db, target)
    return {worker for worker, record in records.items() if rule.proves(record) and worker not in little}


_HASTE, _ENOUGH_PACES = 5.0, 10
"""Who is so many times as fast as the median of proven people does not read; so many HITs tell that one."""


def least_seconds(study: Study, target: str) -> float:
    """Return how long a comparison takes at least, by the pace of proven people; 0 where they are few."""
    with study.transaction(write=False) as db:
        proven, paces = _proven(db, target, barring_rule(study)), load_paces(db)
    of_proven = [pace.seconds / pace.answered for pace in paces if pace.worker_id in proven]
    return median(of_proven) / _HASTE if len(of_proven) >= _ENOUGH_PACES else 0.0


def _readmit(
    study: Study, crowd: Crowd, target: str, decided: Decisions, cleared: Collection[str] = ()
) -> None:
    """Let those in again who are cleared, or whom a decision keeps or bars no longer: first at the crowd."""
    with study.transaction(write=False) as db:
        barred = load_barred(db, target)
    for worker, why in barred.items():
        undone = why.startswith(DECIDED) and worker not in decided.drop
        if undone or worker in decided.keep or worker in cleared:
            crowd.readmit(worker, barred_group(study))
            with study.transaction() as db:
                if worker in cleared:
                    forgive(db, target, worker)
                forget_barred(db, target, worker)


def exclude_barred(study: Study, target: str) -> None:
    """Drop the judgments of barred workers that never count, each with the reason; their pairs wait again."""
    decided = decisions_on_workers(study)
    with study.transaction() as db:
        for worker in decided.keep:
            forgive(db, target, worker)
        forget_decisions(db, target, decided.drop)
        for worker, why in decided.drop.items():
            save_exclusion(db, target, worker, f"{DECIDED}: {why}", time.time())
    rule = barring_rule(study)
    held_only = rule.policy in (BarringPolicy.FIRST_MISS, BarringPolicy.NEVER)
    with study.transaction(write=False) as db:
        records = load_gold_records(db, target)
        fast = count_workers_verdicts(db, target, TOO_FAST)
        barred = {
            worker: why
            for worker, why in load_barred(db, target).items()
            if worker in records and not why.startswith(DECIDED) and (not held_only or why.startswith(HELD))
        }
    with study.transaction() as db:
        forget_doubt(db, target, _proven(db, target, rule))
        for worker, why in barred.items():
            if worker in decided.keep:
                continue
            record = records[worker]
            if why.startswith(HELD):
                save_exclusion(db, target, worker, FOLLOWED, time.time())
            elif rule.policy is BarringPolicy.FIRST_MISS_WHOLE:
                save_exclusion(db, target, worker, FAILED, time.time())
            elif rule.guesses(record):
                save_exclusion(db, target, worker, GUESSED, time.time())
            elif 2 * fast.get(worker, 0) >= len(record.hits):
                save_exclusion(db, target, worker, UNREAD, time.time())
            elif not rule.began_well(record):
                save_exclusion(db, target, worker, UNPROVEN, time.time())
            else:
                since = find_first_miss(db, target, worker, TOO_FAST)
                save_exclusion(db, target, worker, AFTER_MISS, time.time(), since=since)


_ASKED_AGAIN = 0.25
"""The greatest share of the pairs that is asked again because nobody who judged them is proven."""


def ask_again(study: Study, target: str) -> bool:
    """Drop the votes of workers whose gold leaves doubt, where the proven, who made most, can judge again."""
    doubted = _in_doubt(study, target)
    with study.transaction() as db:
        for worker in doubted:
            save_exclusion(db, target, worker, DOUBTED, time.time())
    return bool(doubted)


def recall_doubt(study: Study, target: str, asked: Counter[int]) -> None:
    """Drop again what :func:`ask_again` dropped before a batch that asked for just these pairs."""
    exclude_barred(study, target)
    doubted = _in_doubt(study, target)
    with study.transaction() as db:
        if asked and Counter(load_voted_pairs(db, target, doubted)) == asked:
            for worker in doubted:
                save_exclusion(db, target, worker, DOUBTED, time.time())


def _in_doubt(study: Study, target: str) -> list[str]:
    if not (climbs(study) and study.config.design.gold_per_hit):
        return []
    kept = decisions_on_workers(study).keep
    with study.transaction(write=False) as db:
        records, votes = load_gold_records(db, target), count_votes(db, target)
        room = int(_ASKED_AGAIN * count_rows(db, "pairs")) - sum(count_votes(db, target, DOUBTED).values())
        judged, barred = load_voters(db, target), load_barred(db, target).keys()
        proven = _proven(db, target, barring_rule(study)) | (records.keys() & kept.keys())
    doubted = {worker: count for worker, count in votes.items() if worker not in proven}
    if 2 * sum(doubted.values()) > sum(votes.values()):
        return []
    all_known = {worker for who in judged.values() if not proven - barred - who for worker in who}
    chosen = []
    for worker in sorted(doubted.keys() - all_known, key=lambda one: (len(records[one].hits), one)):
        if (room := room - doubted[worker]) < 0:
            break
        chosen.append(worker)
    return chosen


def has_fresh_gold(study: Study, target: str) -> bool:
    """Return whether gold pairs are left that nobody met, so that what was dropped goes into new HITs."""
    with study.transaction(write=False) as db:
        hidden, active = count_hidden(db, target), load_gold_sets(db, study.config.hit.passages)
    each = study.config.design.gold_per_hit
    return 0 < each <= sum(number not in hidden for number in active)


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
        "until better work comes in, or most_dropped in [screening] of study.toml allows it"
    )


_LEAST_SHARE, _TIMES_FAIR = 0.1, 2.5


def _cap(study: Study, published: int, gold: int, done: Sequence[int]) -> int:
    """Return the most HITs that a worker may take, where the workers have ``done`` so many.

    Unless the config says, it is as many as the gold pairs fill without a repeat, until half of the workers
    have done as many, and at most two and a half times an equal share, or a tenth, of the study.
    """
    workers, each = study.config.workers, study.config.design.gold_per_hit
    share = workers.most_share or 1.0
    if workers.most_hits is not None:
        return min(max(1, int(share * published)), workers.most_hits)
    if workers.most_share is None:
        share = min(share, max(_LEAST_SHARE, _TIMES_FAIR / len(done)))
    of_study = max(1, int(share * published))
    if not each:
        return of_study
    fresh = max(1, gold // each)
    return min(of_study, fresh * (1 + median_high(done) // fresh))


def allow_more(
    study: Study, crowd: Crowd, target: str, *, again: bool = False, stuck: bool = False
) -> tuple[int, bool]:
    """Let each worker take as many HITs as were screened, and as many more as the ladder of trust gives.

    Where the study is ``stuck``, who has done their share goes on; ``again``, as nothing has come, also where
    all others have judged pairs of what is open. Returns how many have done it, and wait for others, and
    whether anybody may take more than before.
    """
    if not climbs(study):
        return 0, False
    kept = decisions_on_workers(study).keep
    with study.transaction(write=False) as db:
        records, barred = load_gold_records(db, target), load_barred(db, target)
        allowed = load_allowances(db, target)
        published = sum(count_hits(db, target).values())
        gold = len(load_gold_sets(db, study.config.hit.passages))
        active, open_hits = load_active(db, target), load_takers(db, target, judged=again)
    climbing = {worker: record for worker, record in sorted(records.items()) if worker not in barred}
    if not climbing:
        return 0, False
    cap = _cap(study, published, gold, [len(record.hits) for record in climbing.values()])
    below = {worker for worker in active & climbing.keys() if len(climbing[worker].hits) < cap}
    if stuck or (not any(below - had for had in open_hits) and (open_hits or not below)):
        # only those are left who have done their share, or what is open already
        cap = max(cap, _cap(study, published, gold, [len(record.hits) for record in climbing.values()][:1]))
    waiting, grown = 0, False
    for worker, record in climbing.items():
        screened = len(record.hits)
        more = max(worker in kept, climb(record.hits, record.passed_over))
        hits = min(screened + more, cap)
        waiting += screened >= cap and cap < published and study.config.workers.most_hits is None
        known = allowed.get(worker) == hits
        grown |= hits > allowed.get(worker, 0)
        if known and not again:
            continue
        crowd.allow(worker, trusted_group(study), hits, submitted=screened)
        if known:
            continue
        with study.transaction() as db:
            save_allowance(db, target, worker, hits)
    return waiting, grown


_LEAST_BEGIN, _SHARE_BEGIN, _GOOD, _FEW = 20, 0.2, 0.8, 3
"""So many people, or for so large a share of the HITs, may begin while the gold of first HITs is not known to
be right so often, at 97.5 %; and more where so few others are there to do the work."""


def admit_newcomers(
    study: Study, crowd: Crowd, target: str, *, more: int = 0, again: bool = True, stuck: bool = False
) -> tuple[bool, tuple[str, ...]]:
    """Limit how many people begin, until the first HITs of those who came are good.

    Else as many accounts as one likes, with one HIT each, are paid before any of them is screened. More begin
    where the study is ``stuck``, or those who have begun are gone. ``more`` HITs are to be published; the
    crowd is told ``again`` what it knows. Returns whether more might work if they could begin, and whom the
    limit keeps out.
    """
    if not (climbs(study) and study.config.design.gold_per_hit):
        return False, ()
    with study.transaction(write=False) as db:
        records, barred = load_gold_records(db, target), load_barred(db, target).keys()
        published, active = sum(count_hits(db, target).values()) + more, load_active(db, target) - barred
        told = load_setting(db, f"{_ADMITTED}{target}") or "0"
    right, missed = np.array([record.hits[0] for record in records.values()]).reshape(-1, 2).sum(0)
    rest = max(_LEAST_BEGIN, int(_SHARE_BEGIN * published))
    most = max(int(told.split()[0]), rest + len(records) * (stuck or len(active) < _FEW))
    good = share_interval(right, missed)[0] >= _GOOD
    now = f"{most} good" if good else str(most)
    if again or told != now:
        crowd.admit(trusted_group(study), None if good else most)
        with study.transaction() as db:
            save_setting(db, f"{_ADMITTED}{target}", now)
    if good or len(records) < most:
        return not good and len(records) >= _LEAST_BEGIN, ()
    words = (
        f"nobody new gets a HIT for now: {len(records)} people got {right / max(1, right + missed):.0%} of "
        f"their first gold pairs right, and {many(len(active), 'was', 'were')} here within the last hour"
    )
    return True, (words,)


_ADMITTED = "people admitted:"
"""The setting that says how many people a target may have, if their first HITs are not known to be good."""


# Whose pay waits: while the gold pairs leave room for doubt that a worker reads, and the study goes on.


def waits_until(
    study: Study, target: str, undecided: Iterable[UndecidedAssignment], now: float
) -> dict[str, float]:
    """Return until when assignments are not paid, as their workers' gold pairs leave doubt."""
    days = study.config.pay.doubt_days
    if not (days and climbs(study) and study.config.design.gold_per_hit):
        return {}
    with study.transaction(write=False) as db:
        goes_on = bool(count_hits(db, target).get(HitStatus.OPEN, 0) or waiting_pairs(db, target))
        records = load_gold_records(db, target)
    if not (goes_on or _in_doubt(study, target)):
        return {}
    rule = barring_rule(study)
    doubted = {worker for worker, record in records.items() if rule.in_doubt(record)}
    until = {
        one.assignment_id: min(one.submitted + 86_400 * days, one.pays_itself or inf)
        for one in undecided
        if one.worker_id in doubted and one.submitted is not None
    }
    return {assignment: when for assignment, when in until.items() if when > now}


# Model gates: which models people's votes vouch for, before one of them orders, vetoes or counts.


def study_votes(study: Study) -> Judgments:
    """Return the votes of models that have judged in a study, and those of people, by their pseudonyms."""
    with study.transaction(write=False) as db:
        log = load_judgments(db, models=True)
    return pseudonymous(study, log)


def study_gates(study: Study) -> tuple[ModelGate, ...]:
    """Test each model that has judged in a study against the votes of its people."""
    people, models = split_models(study_votes(study))
    return tuple(gate_model(people, name, votes) for name, votes in models.items())


def check_gates(study: Study, models: Iterable[str], *, ungated: bool) -> tuple[str, ...]:
    """Refuse models that people's votes do not vouch for; return what to say of those used all the same."""
    wanted = set(models)
    shut = [gate for gate in study_gates(study) if gate.model in wanted and not gate.open] if wanted else []
    if shut and not ungated:
        raise StudyError(
            f"people's votes do not vouch for {shut[0].model}: {why_shut(shut[0])}",
            f"See prefjudge judge {quoted(study.folder)} --worth; --ungated uses the model all the same.",
        )
    return tuple(f"{gate.model} is used, though people's votes do not vouch for it" for gate in shut)


def why_shut(gate: ModelGate) -> str:
    """Return why a gate is shut, in words."""
    if not gate.enough:
        return gate.lacks
    if gate.repeats:
        return f"it votes as {gate.repeats[0]} does on every pair that both judged, as a copy would"
    passes = f"it passes for {gate.won} of {many(gate.people, 'person', 'people')}; at least half are needed"
    return passes if gate.worse else f"{passes}, and more votes of people may tell"
