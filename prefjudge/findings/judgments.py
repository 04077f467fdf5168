"""Reads the judgments that a verb works on, from a study or from a file."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from prefjudge.core.copies import NO_COPIES, Copies
from prefjudge.core.judgments import Judgments, select_judgments
from prefjudge.core.planning.rounds import votes_are_even
from prefjudge.core.pools import Pairs, Pools
from prefjudge.core.resolving.rules import PAPER_RULE, RULES, UNEVEN_RULE, WEIGHING_RULE
from prefjudge.core.resolving.scales import can_tell
from prefjudge.core.runs import encode
from prefjudge.errors import InputError, quoted
from prefjudge.reading.files import Notice
from prefjudge.reading.inputs import Votes, take_judgments
from prefjudge.reading.labels import read_judgments, rehearsal_in
from prefjudge.reading.pools import read_pool
from prefjudge.study.assignments import load_judgments
from prefjudge.study.people import load_rehearsal
from prefjudge.study.pools import load_copies, load_pairs, load_pools
from prefjudge.study.progress import Stage, count_rows, lacking, load_barred
from prefjudge.study.store import Study, load_setting
from prefjudge.words import Rehearsal


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgmentInput:
    """The judgments to resolve: of a study, with its pools and its rule, or of a file.

    ``asked`` are the pairs that a strategy or a challenge asks for, where it is not all of them.
    ``driven_by`` is the strategy that ``run`` drives the pools by, and ``rule`` the one of the config.
    ``rehearsal`` says how many judgments are simulated, where the study or the file knows of any.
    ``copies`` are documents of the same text: one of them is the candidate.
    """

    study: Study | None
    log: Judgments
    pools: Pools | None
    asked: Pairs | None
    rule: str
    driven_by: str
    notices: list[Notice]
    rehearsal: Rehearsal | None = None
    copies: Copies = NO_COPIES


def gather_judgments(
    study: Study | None,
    judgments: Votes | None,
    without: Sequence[str] = (),
    *,
    with_models: bool = False,
    counted: Sequence[str] = (),
    pool: str | Path | None = None,
    verb: str,
) -> JudgmentInput:
    """Read the judgments, less those of the workers in ``without``; models' votes where they are asked for.

    ``counted`` names barred workers whose judgments count all the same. ``pool`` goes with a file.
    """
    if (study is None) == (judgments is None):
        raise InputError(
            f"{verb} takes either a study or a file of judgments",
            f"Run, for instance: prefjudge {verb} STUDY, or: prefjudge {verb} --judgments FILE",
        )
    if study is not None and pool is not None:
        raise InputError(f"{study.folder} has its own pool", "Leave out --pool.")
    notices: list[Notice] = []
    if judgments is not None:
        log = read_judgments(take_judgments(judgments), notices=notices)
        found = JudgmentInput(
            study=None,
            log=log,
            pools=None if pool is None else read_pool(pool, notices=notices),
            asked=None,
            rule=PAPER_RULE,
            driven_by="",
            notices=notices,
            rehearsal=rehearsal_in(notices),
        )
    else:
        assert study is not None
        found = replace(_of_study(study, with_models, counted), notices=notices)
    if study is None:
        return replace(found, log=_leave_out(found.log, without))
    return replace(
        found, log=pseudonymous(study, _leave_out(found.log, _worker_ids(study, found.log, without)))
    )


def fitting_rule(votes: JudgmentInput) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the config's rule, or, with a notice, one that fits the judgments where that does not."""
    rule, notices = votes.rule, []
    if RULES[rule].weighs_workers and not can_tell(votes.log):
        notices.append(
            f"{rule}, the rule in study.toml, weighs workers, and these judgments do not tell any two apart: "
            f"{PAPER_RULE} is used; --rule {rule} insists"
        )
        rule = PAPER_RULE
    chosen = votes.log.click is not None
    uneven = (votes.asked is not None or chosen) and votes.pools is not None and RULES[rule].counts_votes
    if uneven and votes.pools is not None and not votes_are_even(votes.log, votes.pools):
        others = "questions of several passages" if votes.asked is None else "a challenge"
        what = f"the strategy {votes.driven_by}" if votes.driven_by else others
        whose = ", the rule in study.toml," if rule == votes.rule else ""
        notices.append(
            f"{what} gave some pairs more votes than others, and {rule}{whose} would count them: "
            f"{UNEVEN_RULE} is used; --rule {rule} insists"
        )
        rule = UNEVEN_RULE
    return (rule,), tuple(notices)


def rival_rule(votes: JudgmentInput, rule: str) -> str | None:
    """Return the rule that a fitting one is held against: one that weighs workers, or else one that does not.

    None where workers cannot be told apart.
    """
    if not can_tell(votes.log):
        return None
    if RULES[rule].weighs_workers:
        (rival,), _ = fitting_rule(replace(votes, rule=PAPER_RULE))
        return rival
    return WEIGHING_RULE if rule in (PAPER_RULE, UNEVEN_RULE) else None


def _of_study(study: Study, with_models: bool, counted: Sequence[str]) -> JudgmentInput:
    barred = _barred_ids(study, counted) if counted else ()
    with study.transaction(write=False) as db:
        log = load_judgments(db, models=with_models, barred=barred)
        rehearsal = load_rehearsal(db)
        pools, strategy = load_pools(db, newcomers=True), load_setting(db, "strategy")
        uneven = strategy is not None or count_rows(db, "challenges") > 0
        pairs, copies = load_pairs(db) if uneven else [], load_copies(db)
    if not len(log):
        raise lacking(study, Stage.JUDGED)
    return JudgmentInput(
        study=study,
        log=log,
        pools=pools,
        asked=_asked(pairs, pools) if uneven else None,
        rule=study.config.rule,
        driven_by=strategy or "",
        notices=[],
        rehearsal=rehearsal,
        copies=copies,
    )


def _barred_ids(study: Study, names: Sequence[str]) -> list[str]:
    """Return the ids of barred workers who are named by id or by pseudonym."""
    with study.transaction(write=False) as db:
        barred = load_barred(db)
    ids = {study.opaque("worker", worker): worker for worker in barred}
    found = [ids.get(name, name) for name in names]
    unknown = [name for name, worker in zip(names, found, strict=True) if worker not in barred]
    if unknown:
        raise InputError(
            f"--with {unknown[0]}: no worker of this name is barred",
            f"`prefjudge status {quoted(study.folder)}` names those who are.",
        )
    return found


def _asked(pairs: list[tuple[int, str, str, str, int]], pools: Pools) -> Pairs:
    """Return the pairs that were asked for; a document that is in no pool has the code -1."""
    wanted = [(query, a, b) for _, query, a, b, votes in pairs if votes]
    query = encode([row[0] for row in wanted], pools.queries)
    a, b = (encode([row[side] for row in wanted], pools.docs) for side in (1, 2))
    return Pairs(queries=pools.queries, docs=pools.docs, query=query, doc_a=a, doc_b=b)


def _worker_ids(study: Study, log: Judgments, names: Sequence[str]) -> list[str]:
    """Return the ids of workers who are named by id or by pseudonym, as ``workers`` shows it."""
    ids = dict(zip(pseudonymous(study, log).workers, log.workers, strict=True))
    return [ids.get(name, name) for name in names]


def pseudonymous(study: Study, log: Judgments) -> Judgments:
    """Return the judgments with pseudonyms for people, which only the study's secret links to their ids."""
    names = (name if name.startswith("model:") else study.opaque("worker", name) for name in log.workers)
    return replace(log, workers=tuple(names))


def _leave_out(log: Judgments, without: Sequence[str]) -> Judgments:
    unknown = [worker for worker in without if worker not in log.workers]
    if unknown:
        raise InputError(
            f"no judgment that counts is by worker {unknown[0]!r}",
            "Give names from the fifth column of the judgments; of a study, those that `workers` lists.",
        )
    dropped = [code for code, worker in enumerate(log.workers) if worker in set(without)]
    return select_judgments(log, ~np.isin(log.worker, dropped)) if dropped else log
