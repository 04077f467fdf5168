"""Sets of votes, whose preference qrels score the runs: as they were cast, and as they might have been."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

from prefjudge.core.judgments import Judgments
from prefjudge.core.planning.plans import prepare_replay
from prefjudge.core.pools import Pairs, Pools
from prefjudge.core.resolving.confidence import DrawnPools, LikelyPools
from prefjudge.core.resolving.resolutions import PREFERENCE_NAME, HowResolved, resolved, to_qrels
from prefjudge.core.resolving.rules import RULES, UNEVEN_RULE
from prefjudge.core.runs import Heads, Qrels, Scores, heads_of_judged, select_labels
from prefjudge.errors import InputError
from prefjudge.evaluation.measures.measures import Measure, score_matrix
from prefjudge.evaluation.measures.placings import Placed, compared_pairs, place_candidates, positions
from prefjudge.evaluation.stability import VoteNoise, cast_again, measure_noise, pooled_documents
from prefjudge.findings.answers import KeptAnswers, find_winners
from prefjudge.findings.inputs import ScoreInputs
from prefjudge.reading.files import Notice
from prefjudge.reading.labels import read_judgments
from prefjudge.reading.lines import stem
from prefjudge.reading.opened import Reader


class VoteSet:
    """One set of judgments, and the scores of the runs under the preference qrels that its votes make.

    ``placed`` is where the runs placed all that the votes may prefer. The qrels are those that resolving
    finds, or else those ``kept`` by the strategy that asked for the votes.
    """

    def __init__(
        self,
        name: str,
        judgments: Judgments,
        placed: Placed,
        *,
        how: HowResolved,
        pools: Pools | None,
        asked: Pairs | None = None,
        kept: KeptAnswers | None = None,
    ) -> None:
        self.name, self.judgments = name, judgments
        self._pools, self._how, self._asked = pools, how, asked
        self._placed, self._kept = placed, kept
        self.resolutions = find_winners(judgments, how, pools=pools, asked=asked)
        self.labels = placed.labels(kept.answers if kept else to_qrels(self.resolutions, name=name))

    @property
    def runs(self) -> tuple[str, ...]:
        """The tags of the runs."""
        return tuple(placed.run for placed in self._placed.ranks)

    @property
    def heads(self) -> Heads | None:
        """The top document of each run and query, where the votes may prefer all of these."""
        return heads_of_judged(self._placed.ranks, self._placed.documents)

    def made(self, labels: Qrels) -> bool:
        """Whether preference qrels rest on these votes: they say the same of every query that they judge."""
        best = _best(labels)
        wanted = set(labels.queries)
        return bool(best) and best == {pair for pair in _best(self.labels) if pair[0] in wanted}

    def scores(self, measure: Measure) -> Scores:
        """Return the scores of the runs under the votes as they were cast."""
        return self._scores(measure, self.labels)

    def noise(
        self,
        measures: Sequence[Measure],
        rng: np.random.Generator,
        queries: Collection[str] | None = None,
    ) -> list[VoteNoise]:
        """Return, for each measure, what the mean scores owe to the chance of the votes."""
        likely = LikelyPools(
            self.judgments,
            self._placed.documents,
            np.array([positions(one, self._placed.documents) for one in self._placed.ranks]),
            rng=rng,
            pools=self._pools,
        )
        vote = self._voting(likely)
        observed = [self.scores(measure) for measure in measures]
        if queries is not None:
            kept = set(queries)
            keep = np.array([query in kept for query in observed[0].queries], dtype=np.bool_)
            observed = [scores.where(keep) for scores in observed]

        def twice(
            stream: np.random.Generator, some: Sequence[str]
        ) -> tuple[list[Scores], list[Scores], list[Scores]]:
            drawn = likely.draw(stream, observed[0].queries)
            asked = likely.among(drawn, some)
            truth, one, other = (
                [self._scores(measure, labels) for measure in measures]
                for labels in (self._best(drawn), vote(asked, stream), vote(asked, stream))
            )
            return truth, one, other

        return measure_noise(twice, observed, rng=rng, told=likely.scales.told)

    def _voting(self, likely: LikelyPools) -> Callable[[DrawnPools, np.random.Generator], Qrels]:
        """Return what finds the answers of one more voting on drawn pools."""
        if self._kept and self._pools is not None:
            replay = prepare_replay(self.judgments, self._pools, self._kept.strategy)
            return partial(replay.play, name=self.name)
        # The votes drawn are nobody's: there is no worker to weigh.
        blind = self._how
        if RULES[blind.rule].weighs_workers:
            blind = replace(blind, rule=UNEVEN_RULE)

        def vote(drawn: DrawnPools, rng: np.random.Generator) -> Qrels:
            again = cast_again(self.judgments, likely.left, likely.right, drawn, rng)
            return to_qrels(resolved(again, blind, pools=self._pools, asked=self._asked), name=self.name)

        return vote

    def _best(self, drawn: DrawnPools) -> Qrels:
        """Return the answers that would be right if drawn pools were the truth."""
        best = np.zeros(self._placed.documents.query.size, dtype=np.bool_)
        best[drawn.best] = True
        right = select_labels(self._placed.documents, best)
        return replace(right, name=self.name, grade=np.ones(right.grade.size))

    def _scores(self, measure: Measure, labels: Qrels) -> Scores:
        return score_matrix(self._placed.under(labels), self._placed.labels(labels), measure)


def _best(labels: Qrels) -> set[tuple[str, str]]:
    rows = np.flatnonzero(labels.grade > 0).tolist()
    return {(labels.queries[labels.query[row]], labels.docs[labels.doc[row]]) for row in rows}


def vote_sets(
    found: ScoreInputs,
    paths: Sequence[str | Path],
    reader: Reader,
    notices: list[Notice],
) -> list[VoteSet]:
    """Return the judgments of the files, or else a study's, by the name of the qrels that they make."""
    named = [(stem(path), read_judgments(path, notices=notices)) for path in paths]
    if not named and found.judgments is not None and len(found.judgments):
        named = [(PREFERENCE_NAME, found.judgments)]
    sets = []
    for name, judgments in named:
        documents = (
            compared_pairs(judgments).documents if found.pools is None else pooled_documents(found.pools)
        )
        votes = VoteSet(
            name,
            judgments,
            place_candidates(documents, found.copies, reader.judged),
            how=found.how,
            pools=found.pools,
            asked=found.asked if judgments is found.judgments else None,
            kept=found.kept if judgments is found.judgments else None,
        )
        if not votes.labels.queries:
            raise InputError(
                f"{name} decides no query: in every query some pair lacks a judgment",
                "See which: prefjudge resolve --judgments FILE",
            )
        sets.append(votes)
    return sets
