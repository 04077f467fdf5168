"""Measures how far two halves of the queries agree about which run is better."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Unpack

from annotated_types import Ge

from prefjudge.core.runs import OrderLike
from prefjudge.evaluation.agreement import Agreement, split_half
from prefjudge.evaluation.tests import SignificanceTest
from prefjudge.findings.findings import InputDigest, gather, need_files
from prefjudge.findings.outputs import check_outputs, stamp_of, write_table
from prefjudge.reading.given import as_path
from prefjudge.reading.inputs import LabelSets, Measures, Runs, Texts, Votes
from prefjudge.reading.options import InputOptions
from prefjudge.show.cells import Table
from prefjudge.show.results import Screen, Shown, first_few
from prefjudge.show.statistics import agreement_table
from prefjudge.study.store import Study
from prefjudge.words import Rehearsal, many


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class AgreementResult(Shown):
    """The agreement rates under each label set and measure."""

    agreements: tuple["Agreement", ...]
    provenance: dict[str, str]
    inputs: tuple["InputDigest", ...]
    out: str | None
    rehearsal: "Rehearsal | None"
    notices: tuple[str, ...]

    def tables(self) -> tuple[Table]:
        """Return the agreement rates."""
        return (agreement_table(self.agreements),)

    def screen(self) -> Screen:
        """Return how often halves of the queries say the same of two runs, by each test of the means."""
        found = []
        for one in self.agreements:
            rates = {row.test: row for row in one.rows if row.aggregate == "mean"}
            row = rates.get(SignificanceTest.T, one.rows[0])
            found.append(
                f"Random halves of the {many(one.queries, 'query')} under {one.qrels} say the same of two "
                f"runs in {row.agree:.0%} of cases, and the opposite in {row.disagree:.1%} ({one.measure}, "
                f"{row.test} test)."
            )
        table = agreement_table(self.agreements)
        place = [column.name for column in table.columns].index("aggregate")
        of_means = replace(table, rows=tuple(row for row in table.rows if row[place] == "mean"))
        return Screen(found=first_few(found, 4), tables=(of_means,))


def agreement(
    study: str | Path | Study | None = None,
    *,
    runs: Runs = (),
    qrels: LabelSets = (),
    measure: Measures = (),
    judged_only: bool = False,
    judgments: Votes | None = None,
    queries: Texts | None = None,
    order: OrderLike | None = None,
    trials: Annotated[int, Ge(1)] = 100,
    seed: Annotated[int, Ge(0)] | None = None,
    out: str | Path | None = None,
    **how: Unpack[InputOptions],
) -> AgreementResult:
    """Split the queries at random into halves, and compare what they say about every pair of runs.

    Parameters
    ----------
    study : Path, optional
        A study: its runs under its label sets.
    runs : sequence of paths or patterns
        The run files, or folders of them.
    qrels : sequence of str
        The label sets, each a file or ``NAME=FILE``.
    measure : sequence of str
        The measures, such as RR@10 (the default) or AP(rel=2)@100.
    judged_only : bool
        Take documents without a label out of each ranking before it is scored (condensed lists).
    judgments : Path, optional
        Side-by-side judgments, for measures such as ``ppref@10``.
    queries : Path, optional
        Look at the queries of this file only.
    order : Order, optional
        What ranks a document higher.
    trials : int
        How many times to split.
    seed : int, optional
        The seed of the splits; a study has its own.
    out : Path, optional
        Write the rates: CSV, JSON, Markdown, LaTeX or Parquet by the suffix.
    **how
        How files are read: the words of `ReadOptions` and `TextOptions`.

    Raises
    ------
    InputError
        A file cannot be read, or there is too little to split.
    """
    out = as_path(out)
    example = "prefjudge agreement --runs 'runs/*' --qrels FILE"
    need_files("agreement", example, given=study is not None or bool(runs and (qrels or judgments)))
    found = gather(
        study,
        verb="agreement",
        runs=runs,
        qrels=qrels,
        judgments=judgments,
        judged_only=judged_only,
        queries=queries,
        order=order,
        seed=seed,
        how=how,
    )
    check_outputs(out, inputs=found.paths, study=found.study, tables=True)
    with found.reading():
        agreements = tuple(
            split_half(scores, splits=trials, rng=found.rng("agreement"))
            for scores in found.matrices(measure)
        )
        made = found.made_from(seed=found.seed_words)
    result = AgreementResult(agreements=agreements, out=str(out) if out else None, **made)
    if out:
        (table,) = result.tables()
        write_table(out, table, made=result.provenance, stamp=stamp_of(result.rehearsal))
    return result
