"""Compares runs: significance tests of all pairs or against a baseline, and the outcome breakdown."""

from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from prefjudge.core.runs import Order
from prefjudge.errors import InputError
from prefjudge.steps.inputs import as_path, several
from prefjudge.steps.read_options import ReadOptions

if TYPE_CHECKING:
    from prefjudge.core.qrels import Scores
    from prefjudge.evaluation.outcomes import Outcomes
    from prefjudge.evaluation.significance import Significance
    from prefjudge.formats.problems import Notice
    from prefjudge.steps.provenance import InputDigest


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """The verdicts under one measure and label set; outcomes only for reciprocal ranks and a baseline."""

    significance: "Significance"
    words: tuple[str, ...]
    outcomes: "tuple[Outcomes, ...]"
    outcome_words: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CompareResult:
    """One comparison for each label set and measure."""

    comparisons: tuple[Comparison, ...]
    provenance: dict[str, str]
    inputs: tuple["InputDigest", ...]
    out: tuple[str, ...]
    notices: tuple[str, ...]


def compare(
    a: str | Path | None = None,
    b: str | Path | None = None,
    *,
    study: str | Path | None = None,
    runs: str | Path | Sequence[str | Path] = (),
    baseline: str | None = None,
    qrels: str | Path | Sequence[str | Path] = (),
    measure: str | Sequence[str] = (),
    judgments: str | Path | None = None,
    queries: str | Path | None = None,
    order: Order | None = None,
    test: str | None = None,
    correction: str = "holm",
    alpha: float = 0.05,
    resamples: int | None = None,
    seed: int | None = None,
    out: str | Path | None = None,
    trust: bool = False,
    on_duplicate: str = "error",
    workers: int | Executor | None = 1,
    cache: str | Path | None = None,
    engine: str = "files",
) -> CompareResult:
    """Test whether runs differ, and say so in words.

    Parameters
    ----------
    a, b : Path, optional
        Two run files: the baseline and the contender.
    study : Path, optional
        A study: its runs under its label sets.
    runs : sequence of paths or patterns
        The run files to compare, or folders of them; all pairs of them where there is no baseline.
    baseline : str, optional
        The run to compare the others with: a file, or the name of one of the runs.
    qrels : sequence of str
        The label sets, each a file or ``NAME=FILE``.
    measure : sequence of str
        RR@10 by default. Reciprocal ranks are broken down by outcome too.
    judgments : Path, optional
        Side-by-side judgments, for measures such as ``ppref@10``.
    queries : Path, optional
        Look at the queries of this file only.
    order : Order, optional
        What ranks a document higher.
    test : str, optional
        t, wilcoxon, rank-sum, sign, permutation or bootstrap; the number of queries decides by default.
    correction : str
        none, bonferroni, holm, bh or tukey.
    alpha : float
        The level of the verdicts.
    resamples : int, optional
        For the tests that draw.
    seed : int, optional
        Of what they draw.
    out : Path, optional
        Write the tests: CSV, JSON, Markdown, LaTeX or Parquet by the suffix; the outcomes go beside it.
    trust, on_duplicate, workers, cache, engine
        How the runs are read: see `prefjudge.steps.read_options.ReadOptions`.

    Raises
    ------
    InputError
        A file cannot be read, an option is unknown, or the resamples cannot show significance.
    """
    from prefjudge.evaluation.significance import compare_runs
    from prefjudge.steps.matrices import score_matrices
    from prefjudge.steps.outputs import check_outputs
    from prefjudge.steps.provenance import digesting
    from prefjudge.steps.seeds import generator, seed_words
    from prefjudge.steps.sources import gather, need_files

    a = as_path(a)
    b = as_path(b)
    out = as_path(out)
    if (a is None) != (b is None):
        raise InputError("compare takes two runs", "For many: compare --baseline RUN --runs 'DIR/*'")
    lead = a or (Path(baseline) if baseline and Path(baseline).is_file() else None)
    files = list(dict.fromkeys(str(path) for path in (lead, b, *several(runs)) if path is not None))
    example = "prefjudge compare A.txt B.txt --qrels FILE"
    need_files("compare", example, given=study is not None or bool(files and (qrels or judgments)))
    notices: list[Notice] = []
    found = gather(study, runs=files, qrels=qrels, judgments=judgments, queries=queries, notices=notices)
    outcomes = _outcomes_file(out) if out else None
    check_outputs(out, outcomes, inputs=(path for _, path in found.files), study=study)
    order = found.order(order)
    how = ReadOptions(trust=trust, on_duplicate=on_duplicate, workers=workers, cache=cache, engine=engine)
    with digesting(found.files, trust=trust) as digests, how.read(found.runs, order, notices) as reader:
        matrices = score_matrices(found, measure, reader)
        places = [reader.only_run_of(path) for path in (lead, b) if path is not None]
        place = places[0] if lead is not None else None
        chosen = partial(compare_runs, test=test, correction=correction, alpha=alpha, resamples=resamples)
        comparisons = []
        for scores in matrices:
            name = baseline if place is None else scores.runs[place]
            tested = chosen(scores, baseline=name, rng=generator(found.study, "compare", seed))
            comparisons.append(_with_outcomes(scores, name, tested))
        result = CompareResult(
            comparisons=tuple(comparisons),
            provenance=found.provenance(reader, order, seed=seed_words(found.study, seed)),
            inputs=digests(),
            out=_targets(out, comparisons),
            notices=tuple(dict.fromkeys(map(str, notices))),
        )
    _write(result)
    return result


def _with_outcomes(scores: "Scores", baseline: str | None, tested: "Significance") -> Comparison:
    from prefjudge.evaluation.outcomes import outcomes_against
    from prefjudge.evaluation.sentences import describe_outcomes, describe_pair

    reciprocal = scores.measure.startswith("RR")
    rows = outcomes_against(scores, baseline, alpha=tested.alpha) if reciprocal and baseline else ()
    return Comparison(
        significance=tested,
        words=tuple(describe_pair(tested, pair) for pair in range(len(tested))),
        outcomes=rows,
        outcome_words=tuple(describe_outcomes(row) for row in rows),
    )


def _targets(out: Path | None, comparisons: Sequence[Comparison]) -> tuple[str, ...]:
    """Return the files to write: the tests, and the outcomes beside them."""
    if out is None:
        return ()
    broken_down = any(comparison.outcomes for comparison in comparisons)
    return tuple(map(str, [out, *([_outcomes_file(out)] if broken_down else [])]))


def _outcomes_file(out: Path) -> str | Path:
    from prefjudge.steps.outputs import beside

    return beside(out, f"outcomes{out.suffix}")


def _write(result: CompareResult) -> None:
    from prefjudge.render.comparison_tables import outcomes_table, pairs_table
    from prefjudge.steps.tables import write_table

    tested = [comparison.significance for comparison in result.comparisons]
    rows = [(one.significance, row) for one in result.comparisons for row in one.outcomes]
    tables = [pairs_table(tested, provenance=result.provenance)] if result.out else []
    tables += [outcomes_table(rows, provenance=result.provenance)] if len(result.out) > 1 else []
    for path, table in zip(result.out, tables, strict=True):
        write_table(path, table)
