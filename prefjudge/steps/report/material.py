"""What the sections of a report are made of: each verb is asked once, whoever needs its answer."""

from collections.abc import Callable, Iterable
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import cached_property, partial
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from prefjudge.core.pools import Pools
from prefjudge.core.resolving.confidence import Confidence, ConfidenceSummary
from prefjudge.core.resolving.resolutions import Resolutions
from prefjudge.evaluation.boards import Board
from prefjudge.evaluation.winratios import WinRatios
from prefjudge.findings.answers import BestAnswers
from prefjudge.findings.boards import Boards
from prefjudge.findings.findings import Findings, gather
from prefjudge.findings.outputs import stamp_of
from prefjudge.findings.sureness import assess_best
from prefjudge.pages.page import Picture
from prefjudge.reading.inputs import Source
from prefjudge.reading.options import ReadOptions
from prefjudge.show.cells import Column, Table
from prefjudge.show.figures import render_figure
from prefjudge.show.plots import (
    BINS,
    MOST_WRITTEN,
    WorkerPoint,
    count_chances,
    plot_chances,
    plot_pool_sizes,
    plot_rank_intervals,
    plot_win_ratios,
    plot_work,
    plot_workers,
)
from prefjudge.steps.score import ScoreResult, scored
from prefjudge.steps.status import StatusResult
from prefjudge.steps.workers import WorkersResult, examine_workers
from prefjudge.study.imports import has_workers
from prefjudge.study.judgments import load_progress
from prefjudge.study.people import Judges, load_judges
from prefjudge.study.pools import load_inputs, load_passages, load_queries
from prefjudge.study.store import Study

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, slots=True, kw_only=True)
class Answers:
    """The best-known answers, how sure they are (None of too many queries), and the texts."""

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


@dataclass(frozen=True, kw_only=True)
class Material:
    """A study in one state, with all that its report shows of it; ``runs`` and ``qrels`` join its own."""

    open_files: ExitStack = field(default_factory=ExitStack)
    study: Study
    state: StatusResult
    how: ReadOptions
    runs: tuple[str | Path, ...] = ()
    qrels: tuple[Source, ...] = ()
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
        found = gather(
            self.study, verb="score", best=self.best, runs=self.runs, qrels=self.qrels, how=self.how
        )
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


# The report's plots, each with the numbers that it draws.


_POINTS = 60
"""Points of a curve over time: with one for each assignment it could tell who worked when."""


_FEW = 16
"""Of more runs than have room for numbers, the picture of win ratios has the first."""


def drawn(
    material: Material, name: str, words: str, draw: "Callable[[], Figure]", table: Table | None = None
) -> Picture:
    """Draw a plot, and keep it under the name of its files where plots are written as files, too."""
    # `words` say what it shows to those who do not see it, and `table` has what it draws.
    figure = draw()
    if material.keep_figures:
        material.figures.setdefault(name, []).append(figure)
    svg = render_figure(figure, "svg", stamp_of(material.state.rehearsal))
    return Picture(words=words, svg=svg, table=table)


def rank_picture(material: Material, board: Board) -> Picture:
    """Draw the ranks that a board leaves each run."""
    ranks = {row.run: row.rank for row in board.leaderboard.ranked}
    table = Table(
        title="Ranks and tiers",
        columns=(
            Column(name="run"),
            Column(name="rank", kind="integer"),
            Column(name="rank_low", head="from", kind="integer"),
            Column(name="rank_high", head="to", kind="integer"),
            Column(name="tier", kind="integer"),
        ),
        rows=tuple((one.run, ranks[one.run], one.highest, one.lowest, one.tier) for one in board.standings),
    )
    words = (
        f"The ranks that no significant difference rules out for each run: {board.leaderboard.measure}, "
        f"{board.leaderboard.qrels} qrels"
    )
    draw = partial(plot_rank_intervals, board.leaderboard, board.standings)
    return drawn(material, "ranks", words, draw, table)


def win_ratio_picture(material: Material, found: WinRatios) -> Picture:
    """Draw the matrix of win ratios."""
    words = "How often the top passage of each run is preferred to that of each other run"
    most = None if len(found.runs) <= MOST_WRITTEN else _FEW
    return drawn(material, "win-ratios", words, partial(plot_win_ratios, found, most=most))


def pool_picture(material: Material, sizes: dict[int, int]) -> Picture:
    """Draw the sizes of the pools."""
    table = Table(
        title="Sizes of the pools",
        columns=(Column(name="size", kind="integer"), Column(name="queries", kind="integer")),
        rows=tuple(sizes.items()),
    )
    words = "How many queries have a pool of each size"
    return drawn(material, "pool-sizes", words, partial(plot_pool_sizes, sizes), table)


def chance_picture(material: Material, found: Answers) -> Picture | None:
    """Draw how probable it is that the winners are the best; None where that is not known."""
    chances = _of_winners(found.best.resolutions, found.chance)
    if not chances:
        return None
    counts = count_chances(chances)
    expected = [0.0] * BINS
    for chance in chances:
        expected[min(int(BINS * chance), BINS - 1)] += chance
    table = Table(
        title="P(best) of the winners",
        columns=(
            Column(name="low", head="from", kind="number", digits=1),
            Column(name="high", head="to", kind="number", digits=1),
            Column(name="winners", kind="integer"),
            Column(name="expected", head="expected to be the best", kind="number", digits=1),
        ),
        rows=tuple(
            (place / BINS, (place + 1) / BINS, counts[place], expected[place]) for place in range(BINS)
        ),
    )
    words = "How many queries have a winner of each probability of being the best"
    return drawn(material, "p-best", words, partial(plot_chances, chances), table)


def _of_winners(resolutions: Resolutions, chance: np.ndarray) -> list[float]:
    """Return the probability that the winner of each query is the best; of several, that of a random one."""
    rows = np.flatnonzero(resolutions.winner)
    query = resolutions.query[rows]
    count = np.bincount(query, minlength=len(resolutions))
    total = np.bincount(query, weights=chance[rows], minlength=len(resolutions))
    found: list[float] = (total[count > 0] / count[count > 0]).tolist()
    return [value for value in found if isfinite(value)]


def work_picture(material: Material) -> Picture | None:
    """Draw how much was done by when, and for how much; None where nothing was collected over time."""
    with material.study.transaction(write=False) as db:
        progress = load_progress(db)
    if len(progress) < 3 or progress[0].submitted == progress[-1].submitted:
        return None
    seconds = np.array([one.submitted - progress[0].submitted for one in progress])
    unit, length = ("hours", 3600) if seconds[-1] > 7200 else ("minutes", 60)
    times, ends = seconds / length, np.linspace(0, seconds[-1] / length, _POINTS)
    done = np.cumsum([one.answered for one in progress])
    dollars = np.cumsum([one.reward_cents for one in progress]) / 100
    last = np.searchsorted(times, ends, side="right") - 1
    points = [
        (round(end, 4), int(done[row]), round(float(dollars[row]), 2))
        for end, row in zip(ends.tolist(), last.tolist(), strict=True)
    ]
    table = Table(
        title="Time and money",
        columns=(
            Column(name=unit, kind="number", digits=2),
            Column(name="comparisons", kind="integer"),
            Column(name="dollars", head="rewards", kind="number", digits=2),
        ),
        rows=tuple(points),
    )
    words = "How many comparisons had been made, and for what rewards, by the time"
    draw = partial(plot_work, *map(list, zip(*points, strict=True)), unit=unit)
    return drawn(material, "time-and-money", words, draw, table)


def workers_picture(material: Material, found: WorkersResult) -> Picture:
    """Draw how reliable each worker is."""
    points: list[WorkerPoint] = [
        (one.worker, one.reliability, one.gold_low, one.gold_high, bool(one.barred)) for one in found.workers
    ]
    table = Table(
        title="Workers",
        columns=(
            Column(name="worker"),
            Column(name="reliability", head="looks", kind="percent", digits=0),
            Column(name="gold_low", head="gold pairs right, from", kind="percent", digits=0),
            Column(name="gold_high", head="to", kind="percent", digits=0),
            Column(name="barred", kind="flag"),
        ),
        rows=tuple(points),
    )
    words = "How reliable each worker is, and what share of gold pairs they may get right"
    return drawn(material, "workers", words, partial(plot_workers, points), table)
