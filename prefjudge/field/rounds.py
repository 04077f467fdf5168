"""What a run drives: the study's pools by a strategy, or an open challenge."""

import time
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np

from prefjudge.core.judgments import Judgments, ModelVote, favourites, hopeless
from prefjudge.core.planning.rounds import (
    DEFAULT,
    Duel,
    Round,
    conclude_challenge,
    next_challenge_round,
    next_round,
    parse_strategy,
    taken_out,
)
from prefjudge.core.planning.sure import RunGains, Sure
from prefjudge.core.pools import Pools, drop_candidates
from prefjudge.core.runs import Qrels, encode, select_labels
from prefjudge.core.strategies import Strategy
from prefjudge.database import Connection
from prefjudge.errors import InputError, StudyError, quoted
from prefjudge.evaluation.boards import leaderboard
from prefjudge.evaluation.correlation import RankShift, correlate
from prefjudge.evaluation.measures.measures import Measure, direction, score_matrix
from prefjudge.evaluation.measures.placings import place_candidates, relabel, union_documents
from prefjudge.field.challenge import resume_challenge, rule_of
from prefjudge.field.trust import check_gates
from prefjudge.reading.runs.heads import Reading, RunFiles
from prefjudge.reading.unpacking import can_reread, digest
from prefjudge.study.answers import OpenChallenge, load_open_challenge
from prefjudge.study.assignments import load_choices
from prefjudge.study.imports import load_votes
from prefjudge.study.pools import clear_votes_wanted, is_published, load_copies, load_inputs, load_pools
from prefjudge.study.progress import Stage, lacking
from prefjudge.study.store import (
    DRIVEN_SINCE,
    Study,
    command,
    current_target,
    keep_setting,
    load_setting,
    save_setting,
)


def find_moves(
    study: Study, versions: Sequence[Qrels], notices: list[str], *, without: Collection[str] = ()
) -> list[tuple[RankShift, ...]]:
    """Return, for each version of the answers, the runs whose rank differs from that under the one before."""
    # The leaderboards are those of the study's runs by its first measure. Runs that are gone or were changed
    # are left out, with a notice: what was judged must not be lost for them. So are the runs whose names are
    # in `without`.
    still: list[tuple[RankShift, ...]] = [() for _ in versions]
    runs = unchanged_runs(study, notices, without) if len(versions) > 1 else []
    if not runs:
        return still
    with study.transaction(write=False) as db:
        copies = load_copies(db)
    versions = [copies.spread(answers) for answers in versions]
    measure, documents = Measure.parse(study.config.measures[0]), union_documents(versions)
    ranks = RunFiles(runs, Reading(order=study.config.pool.order)).judged(documents)
    boards = [
        leaderboard(score_matrix(relabel(ranks, documents, qrels), qrels, measure)) for qrels in versions
    ]
    for place in range(1, len(boards)):
        shifts = correlate(boards[place - 1], boards[place]).shifts
        still[place] = tuple(shift for shift in shifts if shift.shift)
    return still


def _digest(path: Path) -> str:
    """Return the digest of a file, nothing where it is gone."""
    with suppress(InputError):
        return digest(path) if can_reread(path) else ""
    return ""


def unchanged_runs(study: Study, notices: list[str], without: Collection[str]) -> list[str]:
    """Return the study's run files; one that is gone or was changed is left out with a notice."""
    with study.transaction(write=False) as db:
        runs = [found for found in load_inputs(db) if found.kind == "run" and found.name not in without]
    kept = []
    for found in runs:
        path = Path(found.path)
        now = _digest(path)
        if now == found.digest:
            kept.append(found.path)
        else:
            what = "has changed since it was pooled" if now else "is gone"
            notices.append(f"{path} {what}: run {found.name} is left out of the leaderboards")
    return kept


# What each run of a study would score on a query, for each candidate that may be its best answer.


def find_gains(study: Study, pools: Pools, between: Sequence[str], notices: list[str]) -> RunGains:
    """Score the study's runs by its first measure, with each candidate in turn as the only best answer."""
    # Where lower scores are better they are negative: the greater gain is always the better one. Runs that
    # are gone or were changed are left out, with a notice.
    runs = unchanged_runs(study, notices, ())
    documents = Qrels.all_relevant(
        name="candidates",
        queries=pools.queries,
        docs=pools.docs,
        query=pools.query,
        doc=pools.doc,
    )
    with study.transaction(write=False) as db:
        copies = load_copies(db)
    placed = place_candidates(
        documents, copies, RunFiles(runs, Reading(order=study.config.pool.order)).judged
    )
    tags = tuple(one.run for one in placed.ranks)
    if len(tags) < 2:
        raise InputError(
            "there are no two runs to tell apart",
            "Pool two runs or more, and leave their files where they were, unchanged.",
        )
    for name in between:
        if name not in tags:
            raise InputError(f"--between {name}: the study has no such run", f"It has {', '.join(tags)}.")
    measure = Measure.parse(study.config.measures[0])
    gain = np.zeros((pools.query.size, len(tags)))
    number = np.arange(pools.query.size) - np.searchsorted(pools.query, pools.query)
    for place in range(int(pools.sizes.max(initial=0))):
        rows = number == place
        alone = select_labels(documents, rows)
        scores = score_matrix(placed.under(alone), placed.labels(alone), measure)
        gain[rows] = direction(scores.measure) * scores.values[pools.query[rows]]
    return RunGains(runs=tags, gain=gain)


_MODEL = "strategy model"
"""The setting that names the model which orders and vetoes."""


class Drive(Protocol):
    """What ``run`` drives: the study's pools by a strategy, or a challenge."""

    name: str
    challenge: OpenChallenge | None

    def next(self, log: Judgments, most: int | None = None) -> Round:
        """Return what to ask for next, of at most so many votes where the strategy knows their worth."""

    def conclude(self, log: Judgments) -> tuple[Qrels, tuple[Duel, ...]]:
        """Return the best answers by the judgments so far."""

    def settle(self, db: Connection) -> None:
        """Record that this drives the study from now on; a repeat changes nothing."""


@dataclass
class PoolDrive:
    """A strategy over the study's pools; those that a model favours come ``first``."""

    pools: Pools
    strategy: Strategy
    name: str
    model: str
    first: Qrels | None
    gains: RunGains | None
    challenge: OpenChallenge | None = None

    def next(self, log: Judgments, most: int | None = None) -> Round:
        """Return what the strategy asks for next."""
        by_worth = isinstance(self.strategy, Sure)
        return next_round(
            log,
            self.pools,
            self.strategy,
            best_known=self.first,
            most=most if by_worth else None,
            gains=self.gains,
        )

    def conclude(self, log: Judgments) -> tuple[Qrels, tuple[Duel, ...]]:
        """Return the leaders of the finished queries."""
        # The others get no answer, unless the strategy says how probable the best so far is.
        last = self.next(log)
        # `leaders` has a flag for each row of the pools, `open` one for each query: spread it to the rows.
        told = isinstance(self.strategy, Sure)
        rows = np.flatnonzero(last.leaders & (told | ~last.open[self.pools.query]))
        return Qrels.all_relevant(
            name="preference",
            queries=self.pools.queries,
            docs=self.pools.docs,
            query=self.pools.query[rows],
            doc=self.pools.doc[rows],
        ), ()

    def settle(self, db: Connection) -> None:
        """Record the strategy and the model; the votes that `pool` asked for are no longer asked for."""
        # At the first time only: later the votes wanted are those of the round under way.
        settled = load_setting(db, "strategy")
        if settled is None:
            clear_votes_wanted(db)
            keep_setting(db, DRIVEN_SINCE, repr(time.time()))
        if settled is None or taken_out(settled):
            save_setting(db, "strategy", self.name)
        if not load_setting(db, _MODEL):
            save_setting(db, _MODEL, self.model)


class ChallengeDrive:
    """Newcomers against the best-known answers, and those who may return."""

    def __init__(self, study: Study, challenge: OpenChallenge) -> None:
        self._strategy = rule_of(challenge)
        self.name = self._strategy.name
        self.challenge: OpenChallenge | None = challenge
        self._challenge = resume_challenge(study, challenge)

    def next(self, log: Judgments, most: int | None = None) -> Round:
        """Return what the duels need next."""
        return next_challenge_round(self._challenge, log, self._strategy, most=most)

    def conclude(self, log: Judgments) -> tuple[Qrels, tuple[Duel, ...]]:
        """Return the answers after the duels, and how each newcomer fared."""
        return conclude_challenge(self._challenge, log, self._strategy)

    def settle(self, db: Connection) -> None:
        """Do nothing: the challenge was recorded with its strategy when it began."""

    def doubts(self, last: Round) -> str:
        """Say how many answers stay less sure than asked for, and where no newcomer is to blame."""
        pools, rule = self._challenge.pools, self._strategy
        if last.chance is None or last.enough is None:
            return ""
        first = np.searchsorted(pools.query, np.arange(len(pools.queries)))
        order = np.lexsort((-last.chance, pools.query))
        unsure = ~last.enough
        two = [(order[first + place]).tolist() for place in (0, 1)]  # an answer and a newcomer at least
        new = [
            pools.docs[pools.doc[row]] in self._challenge.newcomers[pools.queries[pools.query[row]]]
            for row in two[0] + two[1]
        ]
        old = unsure & ~np.array(new, dtype=bool).reshape(2, -1).any(axis=0)
        if not unsure.any():
            return ""
        return (
            f"answers {rule.short}: {int(unsure.sum()):,} of {len(unsure):,} challenged; in "
            f"{int(old.sum()):,} of them the doubt is between earlier candidates, where the challenge asks "
            "for too few votes"
        )


def read_strategy(name: str | None) -> Strategy:
    """Return the strategy of this name; the default one without a name."""
    try:
        return parse_strategy("default" if name is None else name)
    except ValueError as error:
        raise InputError(str(error)) from None


def find_drive(
    study: Study,
    strategy: str | None,
    model: str | None,
    *,
    ungated: bool = False,
    asks: bool = True,
    tell: Callable[[str], None] = lambda _: None,
) -> Drive:
    """Return what to drive: the open challenge, or else the pools by the study's strategy."""
    # Nothing is recorded: `settle` does that, once the study may spend. Unless it `asks` for votes, the runs
    # that they are to tell apart are not read.
    with study.transaction(write=False) as db:
        challenge, pools = load_open_challenge(db), load_pools(db)
    if challenge is not None:
        _refuse_other_rule(study, challenge, strategy)
        if gone := taken_out(challenge.strategy):
            tell(f"the challenge began with {gone}, which is gone; it goes on as usual, with all its votes")
        return ChallengeDrive(study, challenge)
    if not pools.queries:
        raise lacking(study, Stage.POOL)
    if model is not None:
        _model_votes(study, model)  # first: a model without votes is the clearer error
    driven_by, model = _find_driver(study, strategy, model)
    with study.transaction(write=False) as db:
        settled = load_setting(db, _MODEL)
    if model and not settled:  # one that the study keeps was looked at when it began
        for words in check_gates(study, [model], ungated=ungated):
            tell(words)
    first, chosen = None, parse_strategy(driven_by)
    if model:
        # A model saves votes in two ways: passages that it finds hopeless are not shown to people, and its
        # favourite meets the others first. It never decides: only people's votes are counted.
        votes = _model_votes(study, model)
        pools = drop_candidates(pools, hopeless(votes) - _judged(study))
        first = _favoured(pools, favourites(votes))
    gains = None
    if asks and isinstance(chosen, Sure) and chosen.runs is not None:
        notices: list[str] = []
        gains = find_gains(study, pools, chosen.runs, notices)
        for words in notices:
            tell(words)
    return PoolDrive(pools, chosen, driven_by, model, first, gains)


def _refuse_other_rule(study: Study, challenge: OpenChallenge, strategy: str | None) -> None:
    """Refuse a strategy that is neither the challenge's nor the one that the study keeps."""
    if strategy is None:
        return
    with study.transaction(write=False) as db:
        rule, driven = rule_of(challenge).name, load_setting(db, "strategy") or "default"
    known = {rule} if taken_out(driven) else {rule, parse_strategy(driven).name}
    if read_strategy(strategy).name not in known:
        raise StudyError(
            f"the challenge is under way by {rule}, not {strategy}",
            "Leave out --strategy and --sure; `pool --challenge --sure P` is for the next challenge.",
        )


def _judged(study: Study) -> set[tuple[str, str]]:
    """Return the candidates that people have judged: where a model joins later, it does not undo that."""
    with study.transaction(write=False) as db:
        pairs = load_choices(db)
    return {(query, doc) for query, a, b in pairs for doc in (a, b)}


def _model_votes(study: Study, model: str) -> list[ModelVote]:
    with study.transaction(write=False) as db:
        votes = [vote for _, vote in load_votes(db, model)]
    if not votes:
        judge = f"prefjudge judge {quoted(study.folder)} --model {model} --url …"
        raise lacking(study, Stage.TEXTS, what=f"{model} has judged nothing here", then=judge)
    return votes


def _find_driver(study: Study, strategy: str | None, model: str | None) -> tuple[str, str]:
    """Return the strategy and the model (or "") that drive the study, as recorded, or else as asked for."""
    read_strategy(strategy)
    with study.transaction(write=False) as db:
        settled, settled_model = load_setting(db, "strategy"), load_setting(db, _MODEL)
        if settled is None and is_published(db):
            raise StudyError(
                "the study was published by `publish`, pair by pair",
                f"Run: {command('collect', study.folder, current_target(db))}; then resolve and score.",
            )
    if settled is not None and (gone := taken_out(settled)):
        if strategy is None:
            raise StudyError(
                f"the study is driven by {settled}, but {gone} is gone",
                f"All its votes still count. Run: prefjudge run {quoted(study.folder)} --strategy "
                f"{DEFAULT.name}, or with --sure 0.8 in place of --strategy.",
            )
        settled = None
    if settled is None:
        settled = "default" if strategy is None else strategy
    settled_model = settled_model or model or ""  # a model may join a study that began without one
    # By their names: one strategy may be spelled in several ways.
    same = strategy is None or parse_strategy(strategy).name == parse_strategy(settled).name
    same_model = model is None or model == settled_model
    if not (same and same_model):
        driver, asked = (settled_model or "no model", model) if same else (settled, strategy)
        raise StudyError(
            f"the study is driven by {driver}, not {asked}", "Make a new study to drive it in another way."
        )
    return settled, settled_model


def _favoured(pools: Pools, first: dict[str, str]) -> Qrels:
    """Return the candidates to try first as qrels, the form that a round takes."""
    queries = tuple(query for query in pools.queries if query in first)
    return Qrels.all_relevant(
        name="favourites",
        queries=queries,
        docs=pools.docs,
        query=np.arange(len(queries), dtype=np.int32),
        doc=encode([first[query] for query in queries], pools.docs),
    )
