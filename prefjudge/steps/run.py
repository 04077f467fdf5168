"""Drives a study by a strategy: it publishes and collects in rounds, until all is settled or paid out."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Annotated, Literal

from annotated_types import Ge, Interval

from prefjudge.core.judgments import Judgments
from prefjudge.core.planning.rounds import Duel, Round, merge_answers
from prefjudge.core.planning.sure import OrderChance, Sure
from prefjudge.errors import BudgetError, InputError, StudyError, quoted
from prefjudge.evaluation.correlation import RankShift
from prefjudge.field.challenge import check_sure
from prefjudge.field.crowd import Watch, keep_marketplace_open, open_crowd
from prefjudge.field.pay import refuse_unknown_hits, refuse_unwhole
from prefjudge.field.rounds import ChallengeDrive, Drive, find_drive, find_moves
from prefjudge.findings.answers import load_versions, write_versions
from prefjudge.show.results import Shown
from prefjudge.steps.collect import collect
from prefjudge.steps.publish import PublishResult, publish
from prefjudge.steps.work import WorkResult
from prefjudge.study.answers import last_version, load_answers, save_answers, save_conclusion
from prefjudge.study.assignments import load_judgments
from prefjudge.study.hits import HitStatus
from prefjudge.study.money import committed_cents
from prefjudge.study.people import load_rehearsal
from prefjudge.study.pools import save_wanted
from prefjudge.study.progress import count_hits, count_judgments
from prefjudge.study.store import LIVE, Study, choose_target, forget_rounds, open_study, refuse_other_target
from prefjudge.words import Rehearsal, many

# The strategy that the options of `run` ask for.


def asked_runs(for_: str, between: Sequence[str], sure: float | None) -> tuple[str, ...] | None:
    """Return the runs to be told apart, none for all neighbours; None where winners are asked for."""
    if for_ != "runs":
        if between:
            raise InputError("--between needs --for runs", "Give both, or neither.")
        return None
    if sure is None:
        raise InputError("--for runs needs --sure", "Add --sure P: how sure the order is to be, such as 0.9.")
    if between and not (len(between) == len({*between}) == 2):
        raise InputError(f"--between {' '.join(between)}: not two runs", "Give it twice, with two run tags.")
    return tuple(sorted(between))


def asked_strategy(strategy: str | None, sure: float | None, runs: tuple[str, ...] | None) -> str | None:
    """Return the name of the strategy that the options ask for."""
    if sure is None:
        return strategy
    check_sure(sure)
    if strategy is not None:
        raise InputError("--sure is a strategy of its own", "Give --strategy or --sure.")
    return Sure(sure, runs=runs).name


# The answers that `run` keeps: recorded version after version, and written as preference qrels.


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptAnswers:
    """What is known after a run: the version, and what a challenge changed."""

    version: int
    qrels: int
    duels: tuple[Duel, ...]
    moved: tuple[RankShift, ...]
    out: Path


def keep_answers(
    study: Study, drive: Drive, log: Judgments, *, through: bool, tell: Callable[[str], None]
) -> KeptAnswers:
    """Record the best answers by the judgments so far, and write them; a repeat changes nothing."""
    # A challenge makes a new version once all its duels are `through`: until then the answers stay as they
    # are. Queries that were settled later than a challenge join the version that it made, whose answers stay.
    with study.transaction(write=False) as db:
        version = last_version(db)
        before = load_answers(db, version, "preference")
    duels: tuple[Duel, ...] = ()
    moved: tuple[RankShift, ...] = ()
    after, found = drive.conclude(log)
    if drive.challenge is None:
        version = max(version, 1)
        after = after if version == 1 else merge_answers(before, after)
    elif through:
        version, duels = version + 1, found
        notices: list[str] = []
        _, moved = find_moves(study, (before, after), notices)
        for notice in notices:
            tell(notice)
    else:
        after = before
    with study.transaction() as db:
        save_answers(db, version, after)
        if drive.challenge is not None and through:
            save_conclusion(db, drive.challenge.number, duels, time.time())
    return KeptAnswers(
        version=version,
        qrels=int(load_versions(study)[version].query.size),
        duels=duels,
        moved=moved,
        out=write_versions(study),
    )


_MOST_ROUNDS = 200


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class RunResult(Shown):
    """How a study was driven to its end, or how far the budget reached.

    ``orders`` says how sure the order of runs is that were to be told apart.
    """

    strategy: str
    rounds: int
    judgments: int
    committed: Decimal
    queries: int
    unfinished: int
    qrels: int
    version: int
    duels: tuple[Duel, ...]
    moved: tuple[RankShift, ...]
    orders: tuple[OrderChance, ...]
    stopped_by: str
    rehearsal: Rehearsal | None
    out: str


def run(
    study: str | Path | Study,
    *,
    strategy: str | None = None,
    sure: Annotated[float, Interval(ge=0, le=1)] | None = None,
    for_: Literal["winners", "runs"] = "winners",
    between: Sequence[str] = (),
    model: str | None = None,
    ungated: bool = False,
    sandbox: bool = True,
    live: bool = False,
    yes: bool = False,
    workers: Annotated[int, Ge(0)] = 0,
    error: Annotated[float, Interval(ge=0, le=0.5)] = 0.2,
    truth: str | Path | None = None,
    confirm: Callable[[PublishResult], bool] | None = None,
    tell: Callable[[str], None] | None = None,
) -> RunResult:
    """Have a study judged round after round, without a person in between, and write its preference qrels.

    An interrupted run is taken up where it stopped. If a challenge is open, the challenge is judged.

    Parameters
    ----------
    study : Path
        The study, with its pool and gold pairs.
    strategy : str, optional
        What to ask for: ``default``, ``round-robin:VOTES``, ``sure:PERCENT``, which is ``sure``, or one for
        each size of pool, ``5=round-robin:3,6=sure:80``. ``sure:80x5`` spends five rounds on a query, not 25;
        more rounds need fewer votes. ``loss:3`` ends a query once the answer is expected to lose no more than
        53 to 47 against the best. A study keeps the one that it began with.
    sure : float, optional
        Instead of a strategy: judge a query until its best answer is the best with this probability,
        such as 0.8. Votes go where they tell most, and of all queries first where they raise the expected
        number of right winners most.
    for_ : str
        What ``sure`` spends votes on: right ``winners``, or the order of ``runs``. For runs they go where
        they tell most which of two neighbours on the board is better, until as large a share of these orders
        is expected to be right on these queries. Queries on which the runs cannot differ are not judged.
    between : sequence of str
        With ``for_`` runs: two runs of the study by their tags, instead of all neighbours on the board.
    model : str, optional
        Let the votes of this model (see ``judge``) say which candidate is tried first, and veto those that
        lose to all others. People settle the rest. A study keeps this, too. People's votes must vouch for
        the model first (see ``judge --worth``).
    ungated : bool
        Use the model even if people's votes do not vouch for it.
    sandbox : bool
        Use the sandbox: play money.
    live : bool
        Use the live target of the config, which pays. It must be asked for, and goes before ``sandbox``.
    yes : bool
        Do not ask. Else ``confirm`` is asked, once.
    workers : int
        Let this many simulated workers judge, as ``work`` does (sandbox only); with 0, people judge.
    error : float
        How often a simulated choice is wrong.
    truth : Path, optional
        A file of utilities for the simulated workers: query_id, doc_id, utility, separated by tabs.
    confirm : callable, optional
        Shown the first round's estimate and the budget.
    tell : callable, optional
        Told each step in a line.

    Raises
    ------
    ConfigError
        Neither target was asked for.
    StudyError
        There is no pool, the strategy differs from the study's, or it was not confirmed.
    """
    from prefjudge.steps.work import work

    target = choose_target(sandbox=sandbox, live=live)
    opened, tell = open_study(study), tell or (lambda _: None)
    if live and workers:
        raise StudyError("simulated workers do not work for real money", "Leave out --live or --workers.")
    refuse_unwhole(opened)
    strategy = asked_strategy(strategy, sure, asked_runs(for_, between, sure))
    drive = find_drive(opened, strategy, model, ungated=ungated, tell=tell)
    with opened.transaction(write=False) as db:
        refuse_other_target(db, target)
    staff = partial(work, opened, workers=workers, error=error, truth=truth)
    crew = _Crew(study=opened, target=target, work=staff if workers else None, tell=tell)
    rounds, stopped_by = 0, ""
    with keep_marketplace_open(opened, target) as unserved:
        with open_crowd(opened, target) as crowd:  # a store that is outdated is refused as it is
            refuse_unknown_hits(opened, crowd, target)
            price = crowd.prices.submission(opened.config.hit.reward, 1)
        with opened.transaction() as db:
            drive.settle(db)
            forget_rounds(db, target)
        if unserved and not workers:
            tell(f"for people to judge, run in another terminal: prefjudge serve {quoted(opened.folder)}")
        while not (stopped_by := crew.judge_all() or stopped_by):
            left = _affordable(opened, target, price)
            asked = drive.next(_log(opened, target), left)
            if not len(asked.pairs) and asked.open.any():
                stopped_by = f"the budget (${opened.config.budget:,.2f} pays for no further HIT)"
                break
            if not len(asked.pairs):
                _want(opened, asked, target)  # nothing, where an interrupted round had asked for more
                stopped_by = "nothing left to ask"
                break
            if rounds >= _MOST_ROUNDS:
                stopped_by = f"its {many(rounds, 'round')}"
                break
            rounds += 1
            _want(opened, asked, target)
            votes, waiting = int(asked.votes.sum()), int(asked.open.sum())
            tell(
                f"round {rounds}: {many(votes, 'vote')} on {many(len(asked.pairs), 'pair')} "
                f"of {many(waiting, 'query')}"
            )
            try:
                sent = publish(opened, sandbox=not live, live=live, yes=yes or rounds > 1, confirm=confirm)
                for warning in sent.warnings if yes and rounds == 1 else ():  # which nobody was shown
                    tell(f"note: {warning}")
            except BudgetError as refused:
                stopped_by = f"the budget ({refused.message})"
    log = _log(opened, target)
    last = drive.next(log)
    unfinished = int(last.open.sum())
    kept = keep_answers(opened, drive, log, through=not unfinished, tell=tell)
    if not unfinished and isinstance(drive, ChallengeDrive) and (doubts := drive.doubts(last)):
        tell(doubts)
    with opened.transaction(write=False) as db:
        committed, rehearsal = Decimal(committed_cents(db, target)) / 100, load_rehearsal(db)
    return RunResult(
        strategy=drive.name,
        rounds=rounds,
        judgments=len(log),
        committed=committed,
        queries=len(last.open),
        unfinished=unfinished,
        qrels=kept.qrels,
        version=kept.version,
        duels=kept.duels,
        moved=kept.moved,
        orders=last.orders,
        stopped_by=stopped_by,
        rehearsal=rehearsal,
        out=str(kept.out),
    )


_SHARE = 4


def _affordable(study: Study, target: str, price: Decimal) -> int | None:
    """Return how many votes a round may ask for; None without a budget."""
    # A quarter of what the budget still pays for: where it does not pay for all, later votes go to better
    # places than earlier ones, since there are more to judge by.
    budget, each = study.config.budget, study.config.design.pairs_per_hit
    if budget is None or not price:
        return None
    with study.transaction(write=False) as db:
        left = budget - Decimal(committed_cents(db, target)) / 100
    return each * -(-max(0, int(left // price)) // _SHARE)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Crew:
    """Those who judge what is published: simulated workers, or people, who are waited for."""

    study: Study
    target: str
    work: Callable[[], WorkResult] | None
    tell: Callable[[str], None]

    def judge_all(self) -> str:
        """Collect until no HIT is open; return what ended it early, if anything did."""
        before, refused, idle = "", "", 0
        watch = None if self.work else Watch(self.study, self.target)
        while _standing(self.study, self.target)[1]:
            submitted = self.work().submitted if self.work else 0
            try:
                collect(self.study, live=self.target == LIVE)
            except BudgetError as error:
                refused = f"the budget ({error.message})"
            judgments, still_open = _standing(self.study, self.target)
            now = f"{judgments:,} judgments count; {many(still_open, 'HIT')} open"
            if now != before:
                self.tell(now)
            before = now
            idle = 0 if submitted else idle + 1  # a collection may allow more to those who found nothing
            if self.work and idle > 1 and still_open:
                return f"a lack of workers: none of them may take the {many(still_open, 'open HIT')}"
            if still_open and watch:
                watch.wait()
        return refused


def _want(study: Study, asked: Round, target: str) -> None:
    pairs = asked.pairs
    with study.transaction() as db:
        save_wanted(
            db,
            [
                (pairs.queries[query], pairs.docs[a], pairs.docs[b], votes)
                for query, a, b, votes in zip(
                    pairs.query.tolist(),
                    pairs.doc_a.tolist(),
                    pairs.doc_b.tolist(),
                    asked.votes.tolist(),
                    strict=True,
                )
            ],
            target,
        )


def _log(study: Study, target: str) -> Judgments:
    with study.transaction(write=False) as db:
        return load_judgments(db, target=target)


def _standing(study: Study, target: str) -> tuple[int, int]:
    """Return how many judgments count, and how many HITs are open."""
    with study.transaction(write=False) as db:
        return count_judgments(db, target)[0], count_hits(db, target).get(HitStatus.OPEN, 0)
