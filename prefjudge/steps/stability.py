"""Asks how stable a leaderboard is: under other queries, under held-out ones, and in a second voting."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, count, repeat
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Unpack

import numpy as np
from annotated_types import Ge

from prefjudge.core.runs import OrderLike, Scores
from prefjudge.errors import InputError
from prefjudge.evaluation.correlation import TwoVotings
from prefjudge.evaluation.intervals import Column
from prefjudge.evaluation.measures.measures import Measure
from prefjudge.evaluation.models import Assessor, Assessors, SetsCompared
from prefjudge.evaluation.stability import (
    SHARES_FROM,
    RankStability,
    bootstrap_ranks,
    compare_votings,
    split_queries,
)
from prefjudge.findings.boards import VoteSet, vote_sets
from prefjudge.findings.findings import Findings, InputDigest, gather, need_files
from prefjudge.findings.outputs import check_outputs, stamp_of, write_figure, write_table
from prefjudge.reading.given import as_path, several
from prefjudge.reading.inputs import LabelSets, Measures, Runs, Texts, Votes, take_judgments
from prefjudge.reading.labels import rehearsal_in
from prefjudge.reading.lines import read_text
from prefjudge.reading.opened import tag_of
from prefjudge.reading.options import InputOptions
from prefjudge.reading.runs.heads import Reader
from prefjudge.show.boards import voting_sentence
from prefjudge.show.cells import Table
from prefjudge.show.plots import plot_conditions, plot_ranks
from prefjudge.show.results import Screen, Shown, first_few, plain, plain_fields
from prefjudge.show.statistics import conditions_table, label, rank_table, shares_table
from prefjudge.study.store import Study
from prefjudge.words import Rehearsal, many

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """The runs' ranks under one measure, label set and part of the queries: all, public, or held out."""

    part: str
    stability: "RankStability"

    def document(self) -> dict[str, Any]:
        """Return its JSON: the ranks of each run."""
        ranks = self.stability
        expected = repeat(None) if ranks.expected is None else ranks.expected.tolist()
        share = repeat(None) if ranks.share is None else ranks.share.tolist()
        columns = (ranks.runs, count(1), ranks.mean.tolist(), ranks.low.tolist(), ranks.high.tolist())
        names = ("run", "rank", "mean", "low", "high", "expected", "share")
        rows = zip(*columns, expected, share, strict=False)
        return {
            "measure": ranks.measure,
            "qrels": ranks.qrels,
            "part": self.part,
            **{name: getattr(ranks, name) for name in ("queries", "trials", "confidence")},
            "runs": [dict(zip(names, row, strict=True)) for row in rows],
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Voted:
    """How far boards under a measure agree that rest on other votes like those behind ``qrels``.

    Or, where several sets of judgments were given, those that rest on one of these and on another.
    """

    qrels: str
    measure: str
    two_votings: TwoVotings


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class StabilityResult(Shown):
    """One condition for each label set, measure and part of the queries; ``shown`` are the runs to draw."""

    conditions: tuple[Condition, ...]
    shown: tuple[str, ...]
    voted: tuple[Voted, ...]
    sets: tuple[SetsCompared, ...]
    provenance: dict[str, str]
    inputs: tuple["InputDigest", ...]
    out: tuple[str, ...]
    rehearsal: "Rehearsal | None"
    notices: tuple[str, ...]

    def tables(self) -> tuple[Table, ...]:
        """Return the ranks under each condition, and all conditions side by side where there are several."""
        named = [(one.part, one.stability) for one in self.conditions]
        ranks = [rank_table(part, found) for part, found in named]
        return (*ranks, conditions_table(named)) if len(named) > 1 else tuple(ranks)

    def document(self) -> dict[str, Any]:
        """Return its JSON: the conditions, and how far two votings agree."""
        votings = [
            {"qrels": one.qrels, "measure": one.measure, **plain(one.two_votings)} for one in self.voted
        ]
        told = plain_fields(self, "conditions", "shown", "voted", "notices")
        return {"conditions": plain(self.conditions), "two_votings": votings, **told}

    def plot(self) -> "Figure":
        """Return the ranks under the last condition, drawn."""
        return plot_ranks(self.conditions[-1].stability)

    def sentences(self) -> tuple[str, ...]:
        """Return how far sets of judgments agree, and boards that rest on other votes."""
        sets = [
            f"{one.a} and {one.b} decide {one.agree:,} of {many(one.pairs, 'pair')} alike. Of "
            f"{many(one.queries, 'query')} they share no best answer in {len(one.parted):,}"
            f"{': ' * bool(one.parted)}{', '.join(one.parted[:5])}{' …' * (len(one.parted) > 5)}."
            for one in self.sets
        ]
        voted = [one for one in self.voted if one.two_votings.pairs]
        boards = (f"{one.measure} under {one.qrels}: {voting_sentence(one.two_votings)}" for one in voted)
        return (*sets, *boards)

    def screen(self) -> Screen:
        """Return which runs may be first under each condition, and the ranks under the last one."""
        found = [
            f"{label(one.part, one.stability)}: {one.stability.runs[0]} is first; "
            f"{int((one.stability.low == 1).sum()):,} of {many(len(one.stability.runs), 'run')} may be."
            for one in self.conditions
        ]
        last = [rank_table(one.part, one.stability, top=3) for one in self.conditions[-1:]]
        return Screen(found=first_few(found, 4), tables=tuple(last), sure=first_few(self.sentences(), 3))


def stability(
    study: str | Path | Study | None = None,
    *,
    runs: Runs = (),
    qrels: LabelSets = (),
    measure: Measures = (),
    judged_only: bool = False,
    judgments: Votes | Sequence[str | Path] = (),
    held_out: str | Path | None = None,
    queries: Texts | None = None,
    order: OrderLike | None = None,
    draw: str | Path | Sequence[str | Path] = (),
    trials: Annotated[int, Ge(1)] = 1000,
    seed: Annotated[int, Ge(0)] | None = None,
    plot: str | Path | None = None,
    out: str | Path | None = None,
    **how: Unpack[InputOptions],
) -> StabilityResult:
    """Say which ranks runs may have, and how often they take them on query sets drawn with replacement.

    Parameters
    ----------
    study : Path, optional
        A study: its runs under its label sets, and how far a second voting would agree.
    runs : sequence of paths or patterns
        The run files, or folders of them.
    qrels : sequence of str
        The label sets, each a file or ``NAME=FILE``.
    measure : sequence of str
        The measures, such as RR@10 (the default) or AP(rel=2)@100.
    judged_only : bool
        Take documents without a label out of each ranking before it is scored (condensed lists).
    judgments : sequence of Path
        Side-by-side judgments: adds the preference qrels made of them, and how far a second voting would
        agree. Of several independent sets, as of two crowds, or of people and a model, the pairs, the best
        answers and the leaderboards are compared.
    held_out : Path, optional
        A file of query ids, one a line, or of queries: they are ranked apart from the others, the public ones
        that the leaderboard scores (the private leaderboard of Craswell et al., SIGIR 2021, section 3.2).
    queries : Path, optional
        Look at the queries of this file only.
    order : Order, optional
        What ranks a document higher.
    draw : sequence of str
        The runs to draw side by side, by tag or file; the first, middle and last by default.
    trials : int
        How many query sets to draw for the shares of ranks; none of fewer than 30 queries.
    seed : int, optional
        The seed of what is drawn.
    plot : Path, optional
        Draw the ranks as a heat map, SVG or PNG by the suffix; of several conditions, one file each, and a
        panel for each with the runs to draw.
    out : Path, optional
        Write the ranks of every run and its share of trials at each: CSV, JSON, Markdown, LaTeX or Parquet
        by the suffix.
    **how
        How files are read: the words of `ReadOptions` and `TextOptions`.

    Raises
    ------
    InputError
        A file cannot be read or an option makes no sense.
    """
    held_out = as_path(held_out)
    votes_files = _votes_files(judgments)
    plot = as_path(plot)
    out = as_path(out)
    example = "prefjudge stability --runs 'runs/*' --qrels FILE"
    need_files("stability", example, given=study is not None or bool(runs and (qrels or judgments)))
    one = votes_files[0] if len(votes_files) == 1 else None
    found = gather(
        study,
        verb="stability",
        runs=runs,
        qrels=qrels,
        judgments=one,
        judged_only=judged_only,
        queries=queries,
        order=order,
        seed=seed,
        how=how,
    )
    found.files += tuple(("judgments", path) for path in votes_files if path != one)
    found.files += (("held out", held_out),) if held_out else ()
    check_outputs(out, inputs=found.paths, study=found.study, plot=plot, tables=True)
    by_labels, _ = found.measures(measure)
    with found.reading():
        conditions = []

        def rank(part: str, scores: Scores, rng: np.random.Generator) -> None:
            ranks = bootstrap_ranks(scores, trials=trials, rng=rng)
            conditions.append(Condition(part=part, stability=ranks))

        matrices = found.matrices(measure)
        for part, scores in _parts(found, matrices, _query_ids(held_out) if held_out else None):
            rank(part, scores, found.rng("stability"))
        sets = vote_sets(found, votes_files) if by_labels else []
        voted: list[Voted] = []
        for votes in sets:
            if votes.name not in (labels.name for labels in found.qrels):
                stream = found.rng("stability")
                for measured in by_labels:
                    rank("all", votes.scores(measured), stream)
            voted += _redrawn(votes, by_labels, found.rng("votes"))
        voted += _cast_twice(sets, by_labels)
        for condition in conditions:
            if condition.stability.share is None:
                what = f"with fewer than {SHARES_FROM} queries, no shares of ranks are given"
                found.note(label(condition.part, condition.stability), what)
        found.rehearsal = found.rehearsal or rehearsal_in(found.notices)
        crowds = [
            Assessor(name=one.name, kind="people", labels=one.labels, votes=one.judgments) for one in sets
        ]
        result = StabilityResult(
            conditions=tuple(conditions),
            shown=_shown(several(draw), (matrices or sets)[0].runs, conditions[0].stability, found.reader),
            voted=tuple(voted),
            sets=tuple(Assessors(two).beside(1) for two in combinations(crowds, 2)),
            out=tuple(map(str, [*([out] if out else []), *_plots(plot, len(conditions))])),
            **found.made_from(seed=found.seed_words),
        )
    _write(result, out, _plots(plot, len(conditions)))
    return result


def _query_ids(path: Path) -> set[str]:
    """Return the query ids of a file: alone on a line, or before a tab and a text."""
    return {line.partition("\t")[0].strip() for line in read_text(path).splitlines() if line.strip()}


def _parts(
    found: Findings, matrices: "Sequence[Scores]", held_out: "Collection[str] | None"
) -> list[tuple[str, "Scores"]]:
    """Split the queries of each score matrix; a part that its labels do not judge is left out, and told."""
    if held_out is None:
        return [("all", scores) for scores in matrices]
    sides = [side for scores in matrices for side in zip(PARTS, split_queries(scores, held_out), strict=True)]
    kept = [(part, scores) for part, scores in sides if len(scores.queries) >= _LEAST]
    if PARTS[1] not in (part for part, _ in kept):
        raise InputError(
            f"fewer than two judged queries are among the {len(held_out):,} held out",
            "Check that the ids are those of the qrels.",
        )
    for part, scores in sides:
        if len(scores.queries) < _LEAST:
            what = f"{len(scores.queries)} {part} queries are judged: no ranks under {scores.measure} there"
            found.note(f"{scores.qrels} qrels", what)
    return kept


PARTS = ("public", "held out")
_LEAST = 2
"""Of one query no other sample can be drawn."""


def _shown(
    asked: Sequence[str | Path], tags: Sequence[str], ranks: "RankStability", reader: "Reader"
) -> tuple[str, ...]:
    """Return the tags of the runs asked for, or the first, middle and last by rank."""
    chosen = [tag_of(one, reader.sources, tags, "--draw") for one in asked]
    middle = len(ranks.runs) // 2
    return tuple(dict.fromkeys(chosen or (ranks.runs[0], ranks.runs[middle], ranks.runs[-1])))


def _redrawn(votes: VoteSet, measures: Sequence[Measure], rng: "np.random.Generator") -> Iterator[Voted]:
    """Say how far the leaderboards of other votings like these agree."""
    for measure, agreed in zip(measures, votes.agreement(measures, rng), strict=True):
        yield Voted(qrels=votes.name, measure=str(measure), two_votings=agreed)


def _cast_twice(sets: Sequence[VoteSet], measures: Sequence[Measure]) -> Iterator[Voted]:
    """Say how far the leaderboards of each two sets of judgments agree, where there are several."""
    for measure in measures if len(sets) > 1 else ():
        boards: list[Column] = [votes.scores(measure).values.mean(axis=0) for votes in sets]
        agreed = compare_votings(list(combinations(boards, 2)))
        yield Voted(qrels=", ".join(votes.name for votes in sets), measure=str(measure), two_votings=agreed)


def _plots(plot: Path | None, conditions: int) -> list[Path]:
    """Return a file for each condition, ``ranks.svg``, ``ranks.2.svg`` and so on, and one for all."""
    if plot is None:
        return []
    rest = [str(number) for number in range(2, conditions + 1)]
    rest += ["side-by-side"] if conditions > 1 else []
    return [plot, *(plot.with_name(f"{plot.stem}.{part}{plot.suffix}") for part in rest)]


def _write(result: StabilityResult, out: Path | None, plots: Sequence[Path]) -> None:
    stamp = stamp_of(result.rehearsal)
    named = [(condition.part, condition.stability) for condition in result.conditions]
    if out:
        write_table(out, shares_table(named), made=result.provenance, stamp=stamp)
    for path, (_, ranks) in zip(plots, named, strict=False):
        write_figure(path, plot_ranks(ranks), stamp)
    if len(plots) > 1:
        write_figure(plots[-1], plot_conditions(named, result.shown), stamp)


def _votes_files(given: Votes | Sequence[str | Path]) -> tuple[str | Path, ...]:
    """Return the files of several sets of judgments, or the one set that is in memory."""
    if isinstance(given, Sequence) and all(isinstance(one, str | Path) for one in given):
        return several(given)
    return (take_judgments(given),)
