"""Compares runs: significance tests of all pairs or against a baseline, and the outcome breakdown."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Annotated, Any, Literal, Unpack

import numpy as np
from annotated_types import Ge, Interval

from prefjudge.core.runs import OrderLike, Scores
from prefjudge.errors import InputError
from prefjudge.evaluation.outcomes import (
    Outcomes,
    describe_outcomes,
    describe_pair,
    level_of_arrival,
    outcomes_of_arrivals,
    outcomes_of_pairs,
)
from prefjudge.evaluation.tests import Correction, Significance, SignificanceTest, compare_runs
from prefjudge.findings.findings import Findings, InputDigest, gather, need_files
from prefjudge.findings.outputs import beside_each, check_outputs, stamp_of, write_table
from prefjudge.reading.given import as_path, several
from prefjudge.reading.held import Held
from prefjudge.reading.inputs import (
    LabelSets,
    Measures,
    OneRun,
    Runs,
    Source,
    Texts,
    Votes,
    maybe,
    take_one_run,
    take_runs,
)
from prefjudge.reading.leaderboards import read_run_metadata
from prefjudge.reading.opened import tag_of
from prefjudge.reading.options import InputOptions
from prefjudge.reading.runs.runs import renamed
from prefjudge.show.cells import Table
from prefjudge.show.results import Screen, Shown, first_few, plain, plain_fields
from prefjudge.show.statistics import naive_table, outcomes_table, pairs_table
from prefjudge.study.store import Study
from prefjudge.words import Rehearsal, many


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """The verdicts under one measure and label set; outcomes of reciprocal ranks, or why there are none.

    With ``arrivals``, ``state_of_the_art`` are the runs that were it, one after another.
    """

    significance: "Significance"
    words: tuple[str, ...]
    outcomes: "tuple[Outcomes, ...]"
    outcome_words: tuple[str, ...]
    no_outcomes: str = ""
    state_of_the_art: tuple[str, ...] = ()

    @property
    def next_level(self) -> float | None:
        """The level of a gain of the next run that comes in; None unless the runs came one after another."""
        arrived = len(self.significance.runs)
        return level_of_arrival(arrived, self.significance.alpha) if self.state_of_the_art else None

    def document(self) -> dict[str, Any]:
        """Return its JSON: the tests of all pairs, each with its sentence, and the outcomes."""
        tested = self.significance
        of_pairs = ("difference", "low", "high", "effect", "wins_a", "wins_b", "p", "p_adjusted", "identical")
        columns = {name: getattr(tested, name) for name in (*of_pairs, "significant")}
        return {
            **plain_fields(tested, "runs", "a", "b", *of_pairs),
            "pairs": [
                {
                    "a": tested.runs[tested.a[pair]],
                    "b": tested.runs[tested.b[pair]],
                    **{name: column[pair].item() for name, column in columns.items()},
                    "words": words,
                }
                for pair, words in enumerate(self.words)
            ],
            "outcomes": [
                {**plain(row), "words": words}
                for row, words in zip(self.outcomes, self.outcome_words, strict=True)
            ],
            "no_outcomes": self.no_outcomes or None,
            "state_of_the_art": list(self.state_of_the_art),
            "next_level": self.next_level,
        }


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class CompareResult(Shown):
    """One comparison for each label set and measure."""

    comparisons: tuple[Comparison, ...]
    provenance: dict[str, str]
    inputs: tuple["InputDigest", ...]
    out: tuple[str, ...]
    rehearsal: "Rehearsal | None"
    notices: tuple[str, ...]

    def tables(self) -> tuple[Table, ...]:
        """Return the tests of each comparison, and the outcomes of reciprocal ranks."""
        found: list[Table] = []
        for one in self.comparisons:
            rows = [(one.significance, row) for row in one.outcomes]
            found.append(pairs_table([one.significance]).made_with(self.provenance))
            arrived = bool(one.state_of_the_art)
            found += [naive_table(rows), outcomes_table(rows, arrivals=arrived)] if rows else []
        return tuple(found)

    def sentences(self) -> tuple[str, ...]:
        """Return a sentence for each of the first pairs, on the tests and on the outcomes."""
        said = [
            (*one.words[:_SENTENCES], *one.outcome_words[:_SENTENCES], one.no_outcomes)
            for one in self.comparisons
        ]
        return tuple(filter(None, chain(*said)))

    def screen(self) -> Screen:
        """Return which runs differ: of two runs the sentences, of more the pairs that differ most surely."""
        found: list[str] = []
        tables: list[Table] = []
        for one in self.comparisons:
            tested, pairs = one.significance, len(one.significance)
            if one.state_of_the_art:
                line = ", then ".join(one.state_of_the_art)
                found.append(
                    f"State of the art by {tested.measure} under {tested.qrels}, the runs as they came in: "
                    f"{line}. The next run gains at p ≤ {one.next_level:.2g}."
                )
                arrived = [(tested, row) for row in one.outcomes]
                tables.append(outcomes_table(arrived, arrivals=True).only(_ARRIVAL))
                continue
            if pairs == 1:
                found += [*one.words, *(one.outcome_words or filter(None, [one.no_outcomes]))]
                continue
            of = f"{int(tested.significant.sum()):,} of {many(pairs, 'pair')} of runs differ significantly by"
            named = {"holm": "Holm's correction", "bonferroni": "Bonferroni's correction"}
            of_many = named.get(tested.correction, "no correction")
            rule = f"{tested.test} tests, {of_many}, {tested.alpha:.0%}"
            found.append(f"{of} {tested.measure} under {tested.qrels} ({rule}).")
            order = np.argsort(tested.p_adjusted, kind="stable")
            table = pairs_table([tested]).only(("a", "b", "difference", "low", "high", "p_adjusted"))
            rows = tuple(table.rows[row] for row in order.tolist())
            tables.append(replace(table, title=f"{tested.measure} under {tested.qrels}", rows=rows))
        return Screen(found=first_few(found, 6), tables=tuple(tables[-1:]))


_SENTENCES = 12
_ARRIVAL = ("a", "b", "only_a", "only_b", "p_binomial", "esl_a", "esl_b", "p_esl_t", "alpha", "verdict")


def compare(
    a: OneRun | None = None,
    b: OneRun | None = None,
    *,
    study: str | Path | Study | None = None,
    runs: Runs = (),
    baseline: str | Path | Sequence[str | Path] = (),
    qrels: LabelSets = (),
    measure: Measures = (),
    judged_only: bool = False,
    judgments: Votes | None = None,
    queries: Texts | None = None,
    order: OrderLike | None = None,
    test: SignificanceTest
    | Literal["t", "wilcoxon", "rank-sum", "sign", "permutation", "sequential"]
    | None = None,
    sequential: bool = False,
    arrivals: bool = False,
    correction: Correction | Literal["none", "bonferroni", "holm"] = Correction.HOLM,
    alpha: Annotated[float, Interval(ge=0, le=1)] = 0.05,
    seed: Annotated[int, Ge(0)] | None = None,
    out: str | Path | None = None,
    **how: Unpack[InputOptions],
) -> CompareResult:
    """Test whether runs differ, and say so in words.

    Parameters
    ----------
    a : Path, optional
        The run file to compare with, the baseline.
    b : Path, optional
        The contender's run file.
    study : Path, optional
        A study: its runs under its label sets.
    runs : sequence of paths or patterns
        The run files to compare, or folders of them; all pairs of them where there is no baseline.
    baseline : str or Path, or several, optional
        The runs to compare the others with, each by its tag or its file.
    qrels : sequence of str
        The label sets, each a file or ``NAME=FILE``.
    measure : sequence of str
        The measures, such as RR@10 (the default) or AP(rel=2)@100. Reciprocal ranks are broken down by
        outcome too, for the same pairs.
    judged_only : bool
        Take documents without a label out of each ranking before it is scored (condensed lists).
    judgments : Path, optional
        Side-by-side judgments, for measures such as ``ppref@10``.
    queries : Path, optional
        Look at the queries of this file only.
    order : Order, optional
        What ranks a document higher.
    test : SignificanceTest, optional
        The test of each pair; the number of queries decides by default.
    sequential : bool
        Test so that you may look every day, and stop at any time: the sequential test, whose p-values and
        intervals hold at all looks together.
    arrivals : bool
        The runs came in one after another, in this order or as the study met them: break down each by outcome
        against the state of the art before it, "do no harm". After n runs each of the two tests has the level
        alpha / (2 n (n + 1)): under one set of labels alpha holds for all claims, whatever comes. Runs whose
        metadata says that they were withdrawn are passed over.
    correction : Correction
        How the p-values of several pairs are adjusted.
    alpha : float
        The level of the verdicts.
    seed : int, optional
        The seed of the resamples; a study has its own.
    out : Path, optional
        Write the tests: CSV, JSON, Markdown, LaTeX or Parquet by the suffix. The tests of reciprocal ranks
        over all queries and the outcomes go beside it: ``NAME.reciprocal-ranks.csv``, ``NAME.outcomes.csv``.
    **how
        How files are read: the words of `ReadOptions` and `TextOptions`.

    Raises
    ------
    InputError
        A file cannot be read, an option is unknown, or the resamples cannot show significance.
    """
    if sequential and test not in (None, SignificanceTest.SEQUENTIAL):
        raise InputError(f"--sequential is a test of its own, beside --test {test}", "Leave one of them out.")
    beside = {
        "--baseline": several(baseline),
        "--sequential": sequential,
        "--test": test,
        "--correction": Correction(correction) is not Correction.HOLM,
    }
    if arrivals and (other := next((name for name, given in beside.items() if given), None)):
        raise InputError(
            f"{other} changes nothing beside --arrivals, which has its own tests of each run against the "
            "state of the art",
            f"Leave out {other}.",
        )
    a, b = (_called(maybe(take_one_run, run), name) for run, name in ((a, "a"), (b, "b")))
    out = as_path(out)
    if (a is None) != (b is None):
        raise InputError(
            "compare takes two runs",
            "Run: prefjudge compare A.txt B.txt --qrels FILE; or, for one against all in a folder: "
            "prefjudge compare --baseline RUN --runs 'DIR/*' --qrels FILE; or a study's: "
            "prefjudge compare --study STUDY",
        )
    leads = [("--baseline", name) for name in several(baseline)]
    leads = [("A", a), *leads] if a else leads
    files = [*(path for path in (a, b) if path is not None), *take_runs(runs)]
    example = "prefjudge compare A.txt B.txt --qrels FILE"
    given = study is not None or bool((files or leads) and (qrels or judgments))
    need_files("compare", example, given=given)
    found = gather(
        study,
        verb="compare",
        runs=list(dict.fromkeys(files)),
        qrels=qrels,
        judgments=judgments,
        judged_only=judged_only,
        queries=queries,
        run_names=[name for _, name in leads],
        order=order,
        seed=seed,
        how=how,
    )
    targets = beside_each(out, "reciprocal-ranks", "outcomes")
    check_outputs(*targets, inputs=found.paths, study=found.study, tables=True)
    with found.reading():
        chosen = partial(
            compare_runs,
            test=SignificanceTest.SEQUENTIAL if sequential else test and SignificanceTest(test),
            correction=Correction(correction),
            alpha=alpha,
        )
        if arrivals and study is None and len(found.runs) > len(files):
            found.note(
                "compare",
                "a pattern or folder gives runs in the order of their names: taken as that of arrival",
            )
        comparisons = compared(found, measure, leads, chosen, b, arrivals=arrivals)
        made = found.made_from(seed=found.seed_words)
    broken_down = any(comparison.outcomes for comparison in comparisons)
    written = tuple(map(str, targets if broken_down else targets[:1]))
    result = CompareResult(comparisons=comparisons, out=written, **made)
    _write(result)
    return result


def compared(
    found: Findings,
    measure: Measures,
    leads: Sequence[tuple[str, str | Path | Source]],
    chosen: Callable[..., Significance] = compare_runs,
    b: Source | None = None,
    *,
    arrivals: bool = False,
) -> tuple[Comparison, ...]:
    """Return runs that are open, compared with the leads, each an option and the run that it names."""
    comparisons = []
    for scores in found.matrices(measure):
        sources = found.reader.sources
        names = [tag_of(name, sources, scores.runs, option) for option, name in leads]
        if b is not None:
            tag_of(b, sources, scores.runs, "B")
        tested = chosen(scores, baseline=names, rng=found.rng("compare"))
        withdrawn = _withdrawn(found, scores.runs) if arrivals else None
        comparisons.append(_with_outcomes(scores, tested, withdrawn))
    _note_several_answers(found, comparisons)
    if comparisons[0].significance.test is SignificanceTest.SEQUENTIAL:
        what = "only the sequential test is valid however often you look; all else is for one look"
        found.note("compare", what)
    return tuple(comparisons)


def _called(run: Source | None, name: str) -> Source | None:
    """Return a run in memory under the name of its argument; a file has a tag of its own."""
    return renamed(run, name) if isinstance(run, Held) else run


def _withdrawn(found: Findings, runs: Sequence[str]) -> frozenset[str]:
    """Return the runs whose metadata says that they were withdrawn."""
    files = [(Path(source), run) for source, run in zip(found.reader.sources, runs, strict=True)]
    gone = [run for at, run in files if at.is_file() and read_run_metadata(at, found.notices).withdrawn]
    if gone:
        found.note("compare", f"withdrawn, and so passed over: {', '.join(gone)}")
    return frozenset(gone)


def _with_outcomes(scores: "Scores", tested: "Significance", withdrawn: frozenset[str] | None) -> Comparison:
    """Return a comparison with its outcomes; with those ``withdrawn`` where the runs are arrivals."""
    reciprocal = scores.measure.startswith("RR")
    names = [(tested.runs[a], tested.runs[b]) for a, b in zip(tested.a, tested.b, strict=True)]
    divided = tested.correction is not Correction.NONE
    rows, line = tuple[Outcomes, ...](), tuple[str, ...]()
    if withdrawn is not None and not reciprocal:
        raise InputError(f"--arrivals takes reciprocal ranks, not {scores.measure}", "Add --measure RR@100.")
    if withdrawn is not None:
        rows, line = outcomes_of_arrivals(scores, scores.runs, alpha=tested.alpha, withdrawn=withdrawn)
    elif reciprocal:
        rows = outcomes_of_pairs(scores, names, alpha=tested.alpha, divided=divided)
    without = f"Outcomes are of reciprocal ranks, and {scores.measure} is not one: add --measure RR@100."
    return Comparison(
        significance=tested,
        words=tuple(describe_pair(tested, pair) for pair in range(len(tested))),
        outcomes=rows,
        outcome_words=tuple(describe_outcomes(row) for row in rows),
        no_outcomes="" if reciprocal else without,
        state_of_the_art=line,
    )


def _note_several_answers(found: Findings, comparisons: Sequence[Comparison]) -> None:
    """Warn of label sets whose queries have several relevant documents: outcomes assume one."""
    broken_down = {one.significance.qrels for one in comparisons if one.outcomes}
    for labels in found.qrels:
        count = int((np.bincount(labels.query[labels.grade >= 1]) > 1).sum())
        if count and labels.name in broken_down:
            of = many(len(labels.queries), "query")
            what = (
                f"{count:,} of {of} have several relevant documents: the outcomes take the first that a run "
                "finds, and the method assumes one per query (Lin et al. 2021, section 6)"
            )
            found.note(labels.name, what)


def _write(result: CompareResult) -> None:
    tested = [comparison.significance for comparison in result.comparisons]
    rows = [(one.significance, row) for one in result.comparisons for row in one.outcomes]
    arrived = any(one.state_of_the_art for one in result.comparisons)
    tables = (pairs_table(tested), naive_table(rows), outcomes_table(rows, arrivals=arrived))
    for path, table in zip(result.out, tables, strict=False):
        write_table(path, table, made=result.provenance, stamp=stamp_of(result.rehearsal))
