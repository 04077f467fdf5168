"""What the sections of a report are made of: each verb is asked once, whoever needs its answer."""

from collections.abc import Iterable
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict

import numpy as np

from prefjudge.core.pools import Pools
from prefjudge.core.resolving.confidence import Confidence, ConfidenceSummary
from prefjudge.findings.answers import BestAnswers
from prefjudge.findings.boards import Boards
from prefjudge.findings.findings import Findings, gather
from prefjudge.findings.sureness import SURE_QUERIES, assess_answers
from prefjudge.reading.inputs import Source
from prefjudge.reading.options import ReadOptions
from prefjudge.show.cells import Column, Table
from prefjudge.steps.score.score import ScoreResult, scored
from prefjudge.steps.status import StatusResult
from prefjudge.steps.workers.workers import WorkersResult, examine_workers
from prefjudge.study.imports import has_workers
from prefjudge.study.people import Judges, load_judges
from prefjudge.study.pools import load_inputs, load_passages, load_queries
from prefjudge.study.store import Study, generator

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, slots=True, kw_only=True)
class Answers:
    """The best-known answers, how sure they are, and the texts.

    ``labelled`` are the passages of each query that the qrels put into its pool. ``chances`` and ``sure`` are
    None where there are too many queries to compute them.
    """

    best: BestAnswers
    labelled: dict[str, tuple[str, ...]]
    queries: dict[str, str]
    passages: dict[str, str]
    chances: Confidence | None
    sure: ConfidenceSummary | None

    @property
    def chance(self) -> np.ndarray:
        """The probability of each candidate, in the rows of the resolutions; NaN where it is not known."""
        if self.chances is None:
            return np.full(self.best.resolutions.doc.size, np.nan)
        return self.chances.chance


class Given(TypedDict, total=False):
    """The runs and label sets that a report is given beside those of its study."""

    runs: tuple[str | Path, ...]
    qrels: tuple[Source, ...]


@dataclass(frozen=True, kw_only=True)
class Material:
    """A study in one state, with all that its report shows of it.

    ``notices`` and, where they are kept, ``figures`` by their names grow as that is asked for. The runs are
    open until ``open_files`` is closed.
    """

    open_files: ExitStack = field(default_factory=ExitStack)
    study: Study
    state: StatusResult
    how: ReadOptions
    given: Given = field(default_factory=Given)
    keep_figures: bool = False
    notices: list[str] = field(default_factory=list)
    figures: "dict[str, list[Figure]]" = field(default_factory=dict)

    @cached_property
    def best(self) -> BestAnswers:
        """The best answers, and the votes behind them."""
        return BestAnswers(self.study, verb="report")

    @cached_property
    def found(self) -> Findings:
        """The study's runs, opened once for all sections."""
        found = gather(self.study, verb="score", best=self.best, how=self.how, **self.given)
        return self.open_files.enter_context(found.reading(digest=False))

    @cached_property
    def scored(self) -> ScoreResult:
        """The boards of the study's runs."""
        result = scored(Boards(self.found))
        self.notices.extend(result.notices)
        return result

    @cached_property
    def answers(self) -> Answers:
        """The best answers, with how sure they are and their texts."""
        best = self.best
        chances, sure = assess_best(self.study, best)
        self.notices.extend(best.notices)
        with self.study.transaction(write=False) as db:
            names = {one.name for one in load_inputs(db) if one.kind == "qrels"}
            queries, passages = load_queries(db), load_passages(db)
        assert best.votes.pools is not None
        return Answers(
            best=best,
            labelled=_labelled(best.votes.pools, names),
            queries=queries,
            passages=passages,
            chances=chances,
            sure=sure,
        )

    @cached_property
    def judges(self) -> list[Judges]:
        """Who made the judgments that count."""
        with self.study.transaction(write=False) as db:
            return load_judges(db)

    @cached_property
    def people(self) -> WorkersResult | None:
        """What the workers did; None where nobody knows who they are."""
        with self.study.transaction(write=False) as db:
            named = has_workers(db)
        return examine_workers(self.study) if named else None


def assess_best(study: Study, best: BestAnswers) -> tuple[Confidence | None, ConfidenceSummary | None]:
    """Return how sure the best-known answers are, where there are not too many queries.

    The stream of random numbers is that of ``resolve``: both say the same.
    """
    if len(best.resolutions) > SURE_QUERIES:
        return None, None
    return assess_answers(best.votes, best.resolutions, rng=generator(study, "resolve"))


def strategy_words(study: Study) -> str:
    """Return the strategy by which ``run`` drove a study, with its model; empty where it did not."""
    return ", with ".join(filter(None, map(study.setting, ("strategy", "strategy model"))))


def made_from(rows: Iterable[tuple[str, str | None, str | None]]) -> Table:
    """Return the table of what a study was made from: kind, name and digest of each file."""
    columns = (Column(name="kind"), Column(name="name"), Column(name="digest"))
    return Table(title="Made from", columns=columns, rows=tuple(rows))


def sentence(words: str) -> str:
    """Return words as a sentence."""
    return f"{words[0].upper()}{words[1:]}."


def _labelled(pools: Pools, names: set[str]) -> dict[str, tuple[str, ...]]:
    """Return the passages of each query that the qrels put into its pool."""
    found: dict[str, tuple[str, ...]] = {}
    for row, source in zip(pools.source_row.tolist(), pools.source.tolist(), strict=True):
        if pools.sources[source] in names:
            query = pools.queries[pools.query[row]]
            found[query] = (*found.get(query, ()), pools.docs[int(pools.doc[row])])
    return found
