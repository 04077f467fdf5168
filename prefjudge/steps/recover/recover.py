"""Rebuilds a study's store from its marketplace: HITs, assignments, decisions and payments."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from prefjudge.counts import many
from prefjudge.crowd.protocol import Crowd, RefusedError
from prefjudge.crowd.tasks import ListedTask
from prefjudge.errors import InputError, StudyError, quoted
from prefjudge.fieldwork.crowds import open_crowd
from prefjudge.fieldwork.own_marketplace import is_lost
from prefjudge.steps.recover.lost_marketplace import give_up_marketplace
from prefjudge.study.past import load_deleted
from prefjudge.study.progress import count_rows, waiting_pairs
from prefjudge.study.settings import (
    BEING_REBUILT,
    BEING_UPDATED,
    RECOVERING,
    drop_setting,
    keep_setting,
    load_setting,
)
from prefjudge.study.study import STORE_FILE, Study
from prefjudge.study.targets import LIVE, SANDBOX, advised, command, find_target

if TYPE_CHECKING:
    from prefjudge.steps.recover.hits import HitRecovery

Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class RecoverResult:
    """What a marketplace told of a study, and what it cannot tell.

    Of the ``hits`` that are the study's, ``rebuilt`` were new to its store, ``given_up`` were recorded now
    without what they ask, and ``unmatched`` show texts that the study does not have. ``assignments``,
    ``decisions`` and ``bonuses`` count what the store learnt now. ``others`` are HITs at the marketplace that
    are not the study's. ``remains`` says what is still to be done; the study publishes and pays again once it
    is empty.
    """

    study: str
    target: str
    endpoint: str = ""
    hits: int = 0
    rebuilt: int = 0
    given_up: int = 0
    unmatched: int = 0
    assignments: int = 0
    decisions: int = 0
    bonuses: int = 0
    others: int = 0
    remains: tuple[str, ...] = ()
    notices: tuple[str, ...] = ()


@dataclass(slots=True, kw_only=True)
class _Tally:
    rebuilt: int = 0
    given_up: int = 0
    assignments: int = 0
    decisions: int = 0
    bonuses: int = 0
    unmatched: list[str] = field(default_factory=list)


def recover(
    study: str | Path,
    *,
    live: bool = False,
    strategy: str | None = None,
    give_up: bool = False,
    progress: Progress | None = None,
) -> RecoverResult:
    """Rebuild what a lost, empty or outdated store does not know, from the marketplace; nothing is spent.

    The marketplace tells the HITs of the study, their assignments, decisions and payments, by the key that
    each HIT carries. It knows neither ids nor gold: pool again with the same files and accept the gold pairs
    again, and repeat this verb until it says that nothing remains. Until then the study does not publish or
    pay. A repeat changes nothing.

    Where the texts of some HITs are lost for good, ``give_up`` ends that. These HITs are closed, and what
    they may cost still counts against the budget. Their work is paid whole and never rejected, its
    judgments are lost, and `publish` and `collect` ask for their pairs again. Where the study's own
    marketplace is lost without a backup, ``give_up`` closes its HITs, keeps what was collected, and lets a
    new one begin.

    Parameters
    ----------
    study : Path
        The study's folder, with its ``study.toml``.
    live : bool
        Ask the live target.
    strategy : str, optional
        Where ``run`` drove the study: the strategy that it was driven by.
    give_up : bool
        Close the HITs whose texts or whose marketplace are lost for good; their pairs are asked for again.
    progress : callable, optional
        Told how many HITs of how many have been looked at.

    Raises
    ------
    StudyError
        The folder holds no study, or its store is another study's; or HITs are to be given up before there
        is a pool to find their texts in.
    InputError
        There is no such strategy.
    CrowdError
        The marketplace failed or cannot be reached.
    """
    from prefjudge.fieldwork.spending import lock_spending
    from prefjudge.steps.recover.hits import HitRecovery

    _check_strategy(strategy)
    opened = Study(study, recovering=True)
    target = LIVE if live else SANDBOX
    if give_up and is_lost(opened, target):
        with lock_spending(opened):
            given_up, notices = give_up_marketplace(opened, target)
        return RecoverResult(study=str(study), target=target, given_up=given_up, notices=notices)
    if give_up and (lacking := _lacking(opened)):
        raise StudyError(
            "nothing was given up: without its pool and gold pairs all HITs of the study would be",
            f"{lacking[0][0].upper()}{lacking[0][1:]}. Then see whether any HIT is left to give up: "
            f"{command('recover', opened.folder, target)}",
        )
    with lock_spending(opened), open_crowd(opened, target) as crowd:
        with opened.transaction() as db:  # a kill from here on leaves a study that asks for this verb again
            keep_setting(db, RECOVERING, BEING_UPDATED)
        own, others = _own_hits(opened, crowd)
        tally = _rebuild(HitRecovery(opened, crowd, target, give_up=give_up), own, progress)
        remains = _remains(opened, tally, target) if own else _none_found(opened, target, crowd.endpoint)
        remains = remains or _left_live(opened, target)
        _settle(opened, target, strategy, whole=not remains)
        return RecoverResult(
            study=str(study),
            target=target,
            endpoint=crowd.endpoint,
            hits=len(own),
            rebuilt=tally.rebuilt,
            given_up=tally.given_up,
            unmatched=len(tally.unmatched),
            assignments=tally.assignments,
            decisions=tally.decisions,
            bonuses=tally.bonuses,
            others=others,
            remains=remains,
            notices=() if remains else _notices(opened, target, own, strategy),
        )


def _check_strategy(strategy: str | None) -> None:
    from prefjudge.core.asking.strategy_names import parse_strategy

    try:
        parse_strategy(strategy or "default")
    except ValueError as error:
        raise InputError(str(error)) from None


def _own_hits(study: Study, crowd: Crowd) -> tuple[list[ListedTask], int]:
    """Return the study's HITs in the order of publication, deleted ones too; and how many are others'."""
    from prefjudge.study.hits import read_hit_key

    listed = {task.task_id: task for task in crowd.tasks()}
    for hit_id in load_deleted(study.folder):
        if hit_id not in listed:
            try:
                listed[hit_id] = crowd.look(hit_id)
            except RefusedError:  # a line that was cut off, or a HIT of another target
                continue
    keys = {task.task_id: read_hit_key(task.key) for task in listed.values()}
    own = [
        (key.batch, key.number, listed[hit_id])
        for hit_id, key in keys.items()
        if key is not None and key.mark == study.mark
    ]
    return [hit for *_, hit in sorted(own, key=lambda one: one[:2])], len(listed) - len(own)


def _rebuild(recovery: "HitRecovery", own: list[ListedTask], progress: Progress | None) -> _Tally:
    """Take in each HIT in a transaction of its own: a kill between two leaves the rest to a repeat."""
    tally = _Tally()
    for number, hit in enumerate(own, start=1):
        learnt = recovery.take_in(hit)
        if learnt is None:
            tally.unmatched.append(hit.task_id)
        else:
            tally.rebuilt += learnt.new and not learnt.given_up
            tally.given_up += learnt.given_up
            tally.assignments += learnt.assignments
            tally.decisions += learnt.decisions
            tally.bonuses += learnt.bonuses
        if progress:
            progress(number, len(own))
    return tally


def _none_found(study: Study, target: str, endpoint: str) -> tuple[str, ...]:
    """Return what is to be done where a marketplace has no HIT of a study whose store was made again."""
    if study.setting(RECOVERING) != BEING_REBUILT:
        return ()
    elsewhere = target == SANDBOX and "live" in study.config.targets
    ask = f"run `prefjudge recover {quoted(study.folder)} --live`" if elsewhere else "restore its backup"
    return (
        f"{target} ({endpoint}) has no HITs of this study, by its id in study.toml. Where it was published "
        f"there or elsewhere, {ask}; until then nothing is published or paid",
        f"where it was never published, start over: delete {STORE_FILE} and {STORE_FILE}.lock in "
        f"{quoted(study.folder)}",
    )


def _left_live(study: Study, target: str) -> tuple[str, ...]:
    """Return what is to be done where a study is live, and only its rehearsal has told what happened."""
    if target == LIVE or find_target(study) != LIVE:
        return ()
    return (f"the study is live: run `{advised(study, 'recover')}`; until then nothing is published or paid",)


def _remains(study: Study, tally: _Tally, target: str) -> tuple[str, ...]:
    """Return what is to be done before all HITs can be rebuilt."""
    if not tally.unmatched:
        return ()
    again = command("recover", study.folder, target)
    if lacking := _lacking(study):
        return (*lacking, f"then run `{again}` again; until then nothing is published or paid")
    shown = many(len(tally.unmatched), "HIT shows", "HITs show")
    return (
        f"{shown} texts that the study does not have, such as {tally.unmatched[0]}: pool the same files with "
        "the same options, accept all gold pairs that were ever hidden, and where new runs came in, repeat "
        "`pool --challenge`, one challenge after the other, each after a `recover` that names the strategy "
        "by which `run` drove the study",
        f"then run `{again}` again; until then nothing is published or paid",
        f"where those texts are lost for good, `{again} --give-up` closes these HITs: their work is paid, "
        "its judgments are lost, and their pairs are asked for again",
    )


def _lacking(study: Study) -> tuple[str, ...]:
    """Return how to bring back what a marketplace does not know: the pool, and the gold pairs."""
    from prefjudge.study.gold import load_gold
    from prefjudge.study.pooling import load_passages, load_queries

    folder = quoted(study.folder)
    with study.transaction(write=False) as db:
        pooled = count_rows(db, "pairs") and load_queries(db) and load_passages(db)
        gold = load_gold(db) or not study.config.design.gold_per_hit
    lacking = []
    if not pooled:
        lacking.append(
            f"the pool is not at the marketplace: run `prefjudge pool {folder} --runs … --qrels … "
            "--queries … --collection …` with the files and options that the study was made from"
        )
    if not gold:
        lacking.append(
            f"the gold pairs are not at the marketplace: run `prefjudge gold {folder} --accept`, "
            "with the gold.tsv that was accepted"
        )
    return tuple(lacking)


def _settle(study: Study, target: str, strategy: str | None, *, whole: bool) -> None:
    """Settle the strategy, the answers so far, and whether the study continues.

    The strategy is settled as soon as there is a pool, also while something remains: the answers that a
    challenge was made against depend on it.
    """
    from prefjudge.steps.recover.answers import keep_answers_so_far
    from prefjudge.study.pooling import clear_votes_wanted

    with study.transaction() as db:
        if strategy is not None and load_setting(db, "strategy") is None and count_rows(db, "pairs"):
            keep_setting(db, "strategy", strategy)
            clear_votes_wanted(db)  # `run` says again what is asked for
        rebuilt = load_setting(db, RECOVERING) == BEING_REBUILT
    if rebuilt:
        keep_answers_so_far(study, target)
    if whole:
        with study.transaction() as db:
            drop_setting(db, RECOVERING)


def _notices(study: Study, target: str, own: list[ListedTask], strategy: str | None) -> tuple[str, ...]:
    if not own:
        found = f"{target} has no HITs of this study"
        elsewhere = target == SANDBOX and "live" in study.config.targets
        return (f"{found}; --live asks the live target" if elsewhere else found,)
    with study.transaction(write=False) as db:
        settled = load_setting(db, "strategy")
        waiting = len(waiting_pairs(db, target))
    if settled or strategy or not waiting:
        return ()
    return (
        f"{many(waiting, 'pair has', 'pairs have')} no HIT, and `publish` asks for them. Where "
        f"`run` drove the study, say first "
        f"by what strategy: {command('recover', study.folder, target)} --strategy NAME",
    )
