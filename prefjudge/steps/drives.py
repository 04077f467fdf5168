"""What a run drives: the study's pools by a strategy, or an open challenge."""

from typing import TYPE_CHECKING, Protocol

import numpy as np

from prefjudge.core.challenge import Duel, conclude_challenge, next_challenge_round
from prefjudge.core.models import ModelVote, favourites, hopeless
from prefjudge.core.pools import Pools, drop_candidates
from prefjudge.core.qrels import Qrels
from prefjudge.core.rounds import Round, next_round
from prefjudge.core.runs import encode
from prefjudge.core.strategies import LeadStop, Strategy
from prefjudge.core.strategy_names import parse_strategy
from prefjudge.errors import InputError, StudyError, quoted
from prefjudge.steps.challenge import resume_challenge
from prefjudge.study.answers import OpenChallenge, load_open_challenge
from prefjudge.study.models import load_votes
from prefjudge.study.pooling import is_published, load_pools
from prefjudge.study.settings import keep_setting, load_setting
from prefjudge.study.study import Study

if TYPE_CHECKING:
    from prefjudge.core.judgments import Judgments


class Drive(Protocol):
    """What is driven: the study's pools by a strategy, or a challenge."""

    name: str
    challenge: OpenChallenge | None

    def next(self, log: "Judgments") -> Round:
        """Return what to ask for next."""

    def conclude(self, log: "Judgments") -> tuple[Qrels, tuple[Duel, ...]]:
        """Return the best answers by the judgments so far."""


class PoolDrive:
    """A strategy over the study's pools."""

    challenge: OpenChallenge | None = None

    def __init__(self, pools: Pools, strategy: Strategy, name: str, first: Qrels | None) -> None:
        self.name = name
        self._pools = pools
        self._strategy = strategy
        self._first = first

    def next(self, log: "Judgments") -> Round:
        """Return what the strategy asks for next."""
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


class ChallengeDrive:
    """Newcomers against the best-known answers."""

    def __init__(self, study: Study, challenge: OpenChallenge) -> None:
        strategy = parse_strategy(challenge.strategy)
        assert isinstance(strategy, LeadStop)
        self.name = challenge.strategy
        self.challenge: OpenChallenge | None = challenge
        self._strategy = strategy
        self._challenge = resume_challenge(study, challenge)

    def next(self, log: "Judgments") -> Round:
        """Return what the duels need next."""
        return next_challenge_round(self._challenge, log, self._strategy)

    def conclude(self, log: "Judgments") -> tuple[Qrels, tuple[Duel, ...]]:
        """Return the answers after the duels, and how each newcomer fared."""
        return conclude_challenge(self._challenge, log, self._strategy)


def find_drive(study: Study, strategy: str | None, model: str | None) -> Drive:
    """Return what there is to drive: the open challenge, or else the pools by the study's strategy.

    Raises
    ------
    StudyError
        There is no pool, the study is driven in another way, or the model has judged nothing.
    InputError
        There is no such strategy.
    """
    with study.transaction(write=False) as db:
        challenge, pools = load_open_challenge(db), load_pools(db)
    if challenge is not None:
        return ChallengeDrive(study, challenge)
    if not pools.queries:
        raise StudyError("the study has no pool", f"Run: prefjudge pool {quoted(study.folder)} --runs …")
    if model is not None:
        _model_votes(study, model)
    name, settled_model = _settled(study, strategy, model)
    if not settled_model:
        return PoolDrive(pools, parse_strategy(name), name, None)
    votes = _model_votes(study, settled_model)
    pools = drop_candidates(pools, hopeless(votes))
    return PoolDrive(pools, parse_strategy(name), name, _favoured(pools, favourites(votes)))


def _model_votes(study: Study, model: str) -> list[ModelVote]:
    with study.transaction(write=False) as db:
        votes = [vote for _, vote in load_votes(db, model)]
    if not votes:
        raise StudyError(
            f"{model} has judged nothing here",
            f"Run: prefjudge judge {quoted(study.folder)} --model {model} --url …",
        )
    return votes


def _settled(study: Study, strategy: str | None, model: str | None) -> tuple[str, str]:
    """Return the strategy and the model that the study is driven by; the first run settles them."""
    try:
        parse_strategy(strategy or "default")
    except ValueError as error:
        raise InputError(str(error)) from None
    with study.transaction() as db:
        if load_setting(db, "strategy") is None:
            if is_published(db):
                raise StudyError(
                    "the study was published by `publish`, pair by pair",
                    "Go on with collect, resolve and score.",
                )
            db.execute("UPDATE pairs SET votes = 0")
        settled = keep_setting(db, "strategy", strategy or "default")
        settled_model = keep_setting(db, "strategy model", model or "")
    same = strategy is None or parse_strategy(strategy).name == parse_strategy(settled).name
    same_model = model is None or model == settled_model
    if not (same and same_model):
        driver, asked = (settled_model or "no model", model) if same else (settled, strategy)
        raise StudyError(
            f"the study is driven by {driver}, not {asked}", "Make a new study to drive it in another way."
        )
    return settled, settled_model


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
