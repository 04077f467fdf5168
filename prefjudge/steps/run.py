"""Drives a study by a strategy: publish, collect, prune and go on, until it is through or the budget is."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np

from prefjudge.core.challenge import Duel, conclude_challenge, next_challenge_round
from prefjudge.core.models import ModelVote, favourites, hopeless
from prefjudge.core.pools import Pools, drop_candidates
from prefjudge.core.qrels import Qrels
from prefjudge.core.rounds import Round, next_round
from prefjudge.core.runs import encode
from prefjudge.core.strategies import LeadStop, Strategy, parse_strategy
from prefjudge.errors import BudgetError, InputError, StudyError
from prefjudge.study.answers import (
    OpenChallenge,
    last_version,
    load_open_challenge,
    save_answers,
    save_conclusion,
)
from prefjudge.study.assignments import load_judgments
from prefjudge.study.hits import HitStatus
from prefjudge.study.ledger import committed_cents
from prefjudge.study.models import load_votes
from prefjudge.study.pooling import load_pools, save_wanted
from prefjudge.study.progress import count_hits
from prefjudge.study.study import Study

if TYPE_CHECKING:
    from prefjudge.core.judgments import Judgments
    from prefjudge.steps.publish import PublishResult

_MOST_ROUNDS = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class RunResult:
    """How a study was driven to its end, or how far the budget reached."""

    strategy: str
    rounds: int
    judgments: int
    committed: Decimal
    queries: int
    unfinished: int
    qrels: int
    version: int
    duels: tuple[Duel, ...]
    stopped_by: str
    out: str


def run(
    study: Path,
    *,
    strategy: str | None = None,
    model: str | None = None,
    live: bool = False,
    yes: bool = False,
    workers: int = 0,
    error: float = 0.2,
    careless: int = 0,
    truth: Path | None = None,
    every: float = 60.0,
    confirm: Callable[["PublishResult"], bool] | None = None,
    tell: Callable[[str], None] | None = None,
) -> RunResult:
    """Have a study judged round after round, without a person in between, and write its preference qrels.

    An interrupted run is taken up where it stopped. Where a challenge is open, that is what is judged.

    Parameters
    ----------
    study : Path
        The study, with its pool and gold pairs.
    strategy : str, optional
        What to ask for: ``default``, ``round-robin:VOTES``, ``halving:VOTESxFACTOR``, ``knockout:VOTES`` or
        ``lead:LEAD``. A study keeps the one that it began with.
    model : str, optional
        Let the votes of this model (see ``judge``) say which candidate is tried first, and veto those that
        lose to all others. People settle the rest. A study keeps this, too.
    live : bool
        Publish to the live target.
    yes : bool
        Publish without asking ``confirm``, which is asked once.
    workers, error, careless, truth
        Let so many simulated workers judge, as ``work`` does (sandbox only). Without, people do.
    every : float
        Seconds between looks at the marketplace while people work.
    confirm : callable, optional
        Shown the first round's estimate and the budget.
    tell : callable, optional
        Told each step in a line.

    Raises
    ------
    StudyError
        There is no pool, the strategy is another than the study's, or nobody said yes.
    """
    from prefjudge.formats.qrels import write_qrels
    from prefjudge.steps.collect import collect
    from prefjudge.steps.publish import publish
    from prefjudge.steps.resolve import QRELS_FILE
    from prefjudge.steps.serve import keep_open
    from prefjudge.steps.work import work

    opened, tell = Study(study), tell or (lambda _: None)
    if live and workers:
        raise StudyError("simulated workers do not work for real money", "Leave out --live or --workers.")
    drive = _drive(opened, strategy, model)
    rounds, stopped_by = 0, "nothing left to ask"
    with keep_open(opened.folder):
        try:
            while True:
                while _any_open(opened):
                    if workers:
                        work(study, workers=workers, error=error, careless=careless, truth=truth)
                    state = collect(study, live=live)
                    tell(f"{state.judgments:,} judgments count; {state.open} HITs are open")
                    if not state.finished and not workers:
                        time.sleep(every)
                asked = drive.next(_log(opened))
                if not len(asked.pairs) or rounds >= _MOST_ROUNDS:
                    break
                rounds += 1
                _want(opened, asked)
                votes, waiting = int(asked.votes.sum()), int(asked.open.sum())
                tell(f"round {rounds}: {votes:,} votes on {len(asked.pairs):,} pairs of {waiting:,} queries")
                publish(study, sandbox=not live, live=live, yes=yes or rounds > 1, confirm=confirm)
        except BudgetError as error_:
            stopped_by = f"the budget ({error_.message})"
    log = _log(opened)
    qrels, duels = drive.conclude(log)
    out = opened.folder / QRELS_FILE
    version = _keep_answers(opened, qrels, out, drive, duels)
    write_qrels(out, qrels)
    with opened.transaction(write=False) as db:
        committed = Decimal(committed_cents(db)) / 100
    return RunResult(
        strategy=drive.name,
        rounds=rounds,
        judgments=len(log),
        committed=committed,
        queries=len(drive.next(log).open),
        unfinished=int(drive.next(log).open.sum()),
        qrels=int(qrels.query.size),
        version=version,
        duels=duels,
        stopped_by=stopped_by,
        out=str(out),
    )


class _Drive(Protocol):
    """What is driven: the study's pools by a strategy, or a challenge."""

    name: str

    def next(self, log: "Judgments") -> Round:
        """Return what to ask for next."""

    def conclude(self, log: "Judgments") -> tuple[Qrels, tuple[Duel, ...]]:
        """Return the best answers by the judgments so far."""


class _PoolDrive:
    """A strategy over the study's pools."""

    challenge: OpenChallenge | None = None

    def __init__(self, pools: Pools, strategy: Strategy, name: str, first: Qrels | None) -> None:
        self.name = name
        self._pools = pools
        self._strategy = strategy
        self._first = first

    def next(self, log: "Judgments") -> Round:
        return next_round(log, self._pools, self._strategy, best_known=self._first)

    def conclude(self, log: "Judgments") -> tuple[Qrels, tuple[Duel, ...]]:
        """Return the leaders of the queries that are through; the others get no answer."""
        last = self.next(log)
        rows = np.flatnonzero(last.leaders & ~last.open[self._pools.query])
        return Qrels(
            name="preference",
            queries=self._pools.queries,
            docs=self._pools.docs,
            query=self._pools.query[rows],
            doc=self._pools.doc[rows],
            grade=np.ones(rows.size),
        ), ()


class _ChallengeDrive:
    """Newcomers against the best-known answers."""

    def __init__(self, study: Study, challenge: OpenChallenge) -> None:
        from prefjudge.steps.challenge import resume_challenge

        strategy = parse_strategy(challenge.strategy)
        assert isinstance(strategy, LeadStop)
        self.name = challenge.strategy
        self.challenge = challenge
        self._strategy = strategy
        self._challenge = resume_challenge(study, challenge)

    def next(self, log: "Judgments") -> Round:
        return next_challenge_round(self._challenge, log, self._strategy)

    def conclude(self, log: "Judgments") -> tuple[Qrels, tuple[Duel, ...]]:
        return conclude_challenge(self._challenge, log, self._strategy)


def _drive(study: Study, strategy: str | None, model: str | None) -> "_PoolDrive | _ChallengeDrive":
    with study.transaction(write=False) as db:
        challenge, pools = load_open_challenge(db), load_pools(db)
    if challenge is not None:
        return _ChallengeDrive(study, challenge)
    if not pools.queries:
        raise StudyError("the study has no pool", f"Run: prefjudge pool {study.folder} --runs …")
    if model is not None:
        _model_votes(study, model)
    name, settled_model = _settled(study, strategy, model)
    if not settled_model:
        return _PoolDrive(pools, parse_strategy(name), name, None)
    votes = _model_votes(study, settled_model)
    pools = drop_candidates(pools, hopeless(votes))
    return _PoolDrive(pools, parse_strategy(name), name, _favoured(pools, favourites(votes)))


def _model_votes(study: Study, model: str) -> list[ModelVote]:
    with study.transaction(write=False) as db:
        votes = [vote for _, vote in load_votes(db, model)]
    if not votes:
        raise StudyError(
            f"{model} has judged nothing here", f"Run: prefjudge judge {study.folder} --model {model} --url …"
        )
    return votes


def _settled(study: Study, strategy: str | None, model: str | None) -> tuple[str, str]:
    """Return the strategy and the model that the study is driven by; the first run settles them."""
    try:
        parse_strategy(strategy or "default")
    except ValueError as error:
        raise InputError(str(error)) from None
    with study.transaction() as db:
        known: dict[str, str] = dict(
            db.execute("SELECT key, value FROM settings WHERE key IN ('strategy', 'strategy model')")
        )
        if not known:
            if db.execute("SELECT 1 FROM hits LIMIT 1"):
                raise StudyError(
                    "the study was published by `publish`, pair by pair",
                    "Go on with collect, resolve and score.",
                )
            known = {"strategy": strategy or "default", "strategy model": model or ""}
            db.executemany(
                "INSERT INTO settings VALUES (:key, :value)",
                ({"key": k, "value": v} for k, v in known.items()),
            )
            db.execute("UPDATE pairs SET votes = 0")
    for asked, key in ((strategy, "strategy"), (model, "strategy model")):
        if asked is not None and asked != known[key]:
            raise StudyError(
                f"the study is driven by {known[key] or 'no model'}, not {asked}",
                "Make a new study to drive it in another way.",
            )
    return known["strategy"], known["strategy model"]


def _favoured(pools: Pools, first: dict[str, str]) -> Qrels:
    """Return the candidates to try first as qrels, which is how a round takes them."""
    queries = tuple(query for query in pools.queries if query in first)
    return Qrels(
        name="favourites",
        queries=queries,
        docs=pools.docs,
        query=np.arange(len(queries), dtype=np.int32),
        doc=encode([first[query] for query in queries], pools.docs),
        grade=np.ones(len(queries)),
    )


def _want(study: Study, asked: Round) -> None:
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
        )


def _log(study: Study) -> "Judgments":
    with study.transaction(write=False) as db:
        return load_judgments(db)


def _any_open(study: Study) -> bool:
    with study.transaction(write=False) as db:
        return count_hits(db).get(HitStatus.OPEN, 0) > 0


def _keep_answers(
    study: Study, qrels: Qrels, out: Path, drive: "_PoolDrive | _ChallengeDrive", duels: tuple[Duel, ...]
) -> int:
    """Record the answers as a version; a challenge makes a new one and leaves the old file beside it."""
    with study.transaction() as db:
        version = max(last_version(db), 1)
        if drive.challenge is not None:
            if out.is_file():
                out.replace(out.with_name(f"{out.stem}-v{version}{out.suffix}"))
            version += 1
            save_conclusion(db, drive.challenge.number, duels, time.time())
        save_answers(db, version, qrels)
    return version
