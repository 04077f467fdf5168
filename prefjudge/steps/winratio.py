"""Compares runs directly by which top passage people prefer."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Unpack

from annotated_types import Ge

from prefjudge.core.judgments import Judgments
from prefjudge.core.runs import Heads, OrderLike
from prefjudge.errors import InputError
from prefjudge.evaluation.winratios import (
    ALPHA,
    RUNS_SHOWN,
    Count,
    Example,
    TopAgainstQrel,
    WinRatios,
    draw_examples,
    named_count,
    runs_to_show,
    top_against_qrel,
    win_ratios,
)
from prefjudge.findings.findings import InputDigest, gather, made_with
from prefjudge.findings.outputs import beside, beside_each, check_outputs, stamp_of, write_figure, write_table
from prefjudge.reading.files import write_alike
from prefjudge.reading.given import as_path
from prefjudge.reading.inputs import OneLabelSet, Pooled, Runs, Texts, Votes, take_one_qrels
from prefjudge.reading.opened import heads_beside_each_other, pooled_only, tag_of
from prefjudge.reading.options import InputOptions
from prefjudge.show.boards import (
    categories_table,
    examples_table,
    preferred_table,
    winratio_frame,
    winratio_matrix,
)
from prefjudge.show.cells import Column, Table
from prefjudge.show.plots import plot_examples, plot_shares, plot_win_ratios
from prefjudge.show.results import Screen, Shown, plain, plain_fields
from prefjudge.study.pools import load_passages, load_queries
from prefjudge.study.store import Study
from prefjudge.words import Rehearsal, many

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from prefjudge.show.boards import DataFrame


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class WinRatioResult(Shown):
    """The win ratios of all pairs of runs, and the experiment on one run against the qrels where asked.

    ``shown`` are the runs of the matrix that people read; ``files`` are all files written, ``out`` the first.
    """

    winratio: "WinRatios"
    shown: tuple[str, ...]
    against_qrel: "TopAgainstQrel | None"
    examples: "tuple[Example, ...]"
    provenance: dict[str, str]
    inputs: tuple["InputDigest", ...]
    out: str | None
    rehearsal: "Rehearsal | None"
    notices: tuple[str, ...]
    files: tuple[str, ...] = ()

    def plot(self) -> "Figure":
        """Return the matrix of win ratios, drawn: first the run that beats most others."""
        return plot_win_ratios(self.winratio.in_order(list(self._losses())))

    def _losses(self) -> dict[str, int]:
        """Return how many beat each run, first of the run that beats most others."""
        told, wins = [pair for pair in self.winratio.pairs if pair.wins_a != pair.wins_b], self.winratio.wins
        lost = Counter(pair.a if pair.wins_b > pair.wins_a else pair.b for pair in told)
        return {run: lost[run] for run in sorted(wins, key=lambda run: (-wins[run], lost[run], run))}

    def to_frame(self) -> "DataFrame":
        """Return the square matrix as a pandas DataFrame: how often the column beats the row."""
        return winratio_frame(self.winratio, self.provenance)

    def tables(self) -> tuple[Table, ...]:
        """Return the matrix, and the run against the qrels where that was asked for."""
        against = self.against_qrel
        further = (categories_table(against.split, against.run), preferred_table(against)) if against else ()
        return (winratio_matrix(self.winratio, shown=self.shown).made_with(self.provenance), *further)

    def document(self) -> dict[str, Any]:
        """Return its JSON: the win ratios, and what else there is."""
        return {**plain(self.winratio), **plain_fields(self, "winratio", "shown", "notices")}

    def screen(self) -> Screen:
        """Return how many runs each run beats, and the run against the qrels where that was asked for."""
        found, pairs = self.winratio, self.winratio.pairs
        lost = self._losses()
        met = [pair for pair in pairs if pair.wins_a + pair.wins_b + pair.ties]
        order = list(lost)
        told = sum(pair.p_bonferroni <= ALPHA for pair in pairs)
        others = many(len(order) - 1, "other run")
        first = f"{order[0]} beats {found.wins[order[0]]:,} of {others} by its top passages."
        table = Table(
            title="",
            columns=(
                Column(name="run", priority=0),
                Column(name="beats", kind="integer"),
                Column(name="loses_to", head="loses to", kind="integer"),
                Column(name="met", head="compared with", kind="integer"),
            ),
            rows=tuple(
                (run, found.wins[run], lost[run], sum(run in (pair.a, pair.b) for pair in met))
                for run in order
            ),
        )
        sure = (
            f"{told:,} of {many(len(pairs), 'pair')} of runs differ significantly "
            f"({found.test}, Bonferroni, 5 %)"
        )
        never = f"; {len(pairs) - len(met):,} were never compared." if len(met) < len(pairs) else "."
        against = preferred_table(self.against_qrel).notes[1:-1] if self.against_qrel else ()
        return Screen(found=(first, *against), tables=(table,), sure=(sure + never,))


def winratio(
    study: str | Path | Study | None = None,
    *,
    runs: Runs = (),
    judgments: Votes | None = None,
    qrels: OneLabelSet | None = None,
    queries: Texts | None = None,
    count: Count = "majority",
    against_qrel: str | Path | None = None,
    runs_shown: int | str | Sequence[str] = RUNS_SHOWN,
    examples: Annotated[int, Ge(0)] = 0,
    seed: Annotated[int, Ge(0)] | None = None,
    pool: Pooled | None = None,
    order: OrderLike | None = None,
    out: str | Path | None = None,
    plot: str | Path | None = None,
    **how: Unpack[InputOptions],
) -> WinRatioResult:
    """Compare all pairs of runs by their top passages: which one do people prefer?

    Parameters
    ----------
    study : Path, optional
        The study: its runs, judgments, qrels and queries.
    runs : sequence of paths or patterns
        The run files, or folders of them; with a study, further ones. Where it is known which runs were
        pooled, others are left out whose first document is in no pool.
    judgments : Path, optional
        Side-by-side judgments: query, document, document, preferred.
    qrels : Path, optional
        Adds the perfect ranking, which has the qrel on top.
    queries : Path, optional
        Look at the queries of this file only; by default at those with a judgment.
    count : {'majority', 'votes'}
        One outcome a query, the majority of all votes on the two passages, and the binomial test; or every
        vote, and the sign-flip test of each query's net votes, which are not independent.
    against_qrel : str or Path, optional
        A run, by its tag or its file, whose top passages are compared with the qrels, by category.
    runs_shown : int, or sequence of str
        The runs to show in the matrix: this many that beat the most others, or those named.
        CSV, JSON and Parquet have all of them.
    examples : int
        Draw this many of the pairs of ``against_qrel``, from both outcomes; a study has their texts.
    seed : int, optional
        The seed of the examples; a study has its own.
    pool : Path, optional
        The pool that was judged, as ``pool --out`` writes it: the qrel that it holds is the one that is
        compared. A study knows its own.
    order : Order, optional
        What ranks a document higher.
    out : Path, optional
        Write the matrix: CSV, JSON, Markdown, LaTeX or Parquet by the suffix. The tables of ``against_qrel``
        go beside it: ``NAME.categories.csv``, ``NAME.preferred.csv`` and ``NAME.examples.csv``.
    plot : Path, optional
        Draw the matrix: a .svg or .png file; with ``against_qrel`` the shares beside it, and the examples.
    **how
        How files are read: the words of `ReadOptions` and `TextOptions`.

    Raises
    ------
    InputError
        A file cannot be read, or something that is needed is missing.
    StudyError
        The study has no judgments yet.
    """
    out = as_path(out)
    plot = as_path(plot)
    if study is None and not (runs and judgments):
        raise InputError(
            "winratio takes a study, or --runs and --judgments",
            "Run, for instance: prefjudge winratio --runs 'runs/*' --judgments FILE --qrels FILE",
        )
    counted = named_count(count)
    found = gather(
        study,
        verb="winratio",
        runs=runs,
        qrels=[take_one_qrels(qrels)] if qrels else [],
        judgments=judgments,
        queries=queries,
        pool=pool,
        run_names=[against_qrel],
        preference=False,
        order=order,
        seed=seed,
        how=how,
    )
    outputs = beside_each(out, *_TABLES)
    check_outputs(*outputs, inputs=found.paths, study=found.study, plot=plot, tables=True)
    labels, votes = found.official, found.judgments
    if against_qrel and labels is None:
        raise InputError(f"comparing {against_qrel} with the qrels needs qrels", "Add --qrels FILE.")
    asked = found.pools.queries if found.pools else None
    assert votes is not None
    with found.reading():
        reader = found.reader
        heads = found.heads(reader.top(2 if against_qrel else 1))
        _need_common(votes, heads)
        found.notices.extend(heads_beside_each_other(heads, asked or tuple(votes.queries), 1))
        against: TopAgainstQrel | None = None
        drawn: tuple[Example, ...] = ()
        if against_qrel and labels:
            run = tag_of(against_qrel, reader.sources, heads.runs, "--against-qrel")
            against = top_against_qrel(votes, heads, labels, run, queries=asked)
            rng = found.rng("examples")
            drawn = draw_examples(votes, heads, labels, run, queries=asked, count=examples, rng=rng)
        heads = pooled_only(heads, found.pools, found.notices)
        ratios = win_ratios(votes, heads, labels, count=counted)
        if not any(pair.wins_a or pair.wins_b or pair.ties for pair in ratios.pairs):
            what = "no judgment compares the top documents of two runs: there is nothing to count"
            found.note("winratio", what)
        made = found.made_from()
    made["provenance"] = made_with(reader, found.order) | {"judgments": str(len(votes))} | found.stamp
    result = WinRatioResult(
        winratio=ratios,
        shown=runs_to_show(ratios, runs_shown),
        against_qrel=against,
        examples=with_texts(drawn, found.study),
        out=str(out) if out else None,
        **made,
    )
    return replace(result, files=(*_write(result, out), *_draw(result, plot)))


def _need_common(judgments: Judgments, heads: Heads) -> None:
    """Refuse judgments of other queries, or of no document at the top of a run."""
    for what, judged, there in (
        ("query", judgments.queries, heads.queries),
        ("doc", judgments.docs, heads.docs),
    ):
        if len(judgments) and {*judged}.isdisjoint(there):
            of = "in any run" if what == "query" else "at the top of any run"
            raise InputError(
                f"no {what} of the judgments is {of}: they have {judged[0]!r}, the runs have {there[0]!r}",
                write_alike(f"{what}_id", judged, there, "judgments and runs"),
            )


def with_texts(examples: tuple[Example, ...], study: Study | None) -> tuple[Example, ...]:
    """Return examples with the texts that a study has."""
    if study is None:
        return examples
    with study.transaction(write=False) as db:
        queries, passages = load_queries(db), load_passages(db)
    return tuple(
        replace(
            one,
            query_text=queries.get(one.query, ""),
            preferred_text=passages.get(one.preferred, ""),
            other_text=passages.get(one.other, ""),
        )
        for one in examples
    )


_TABLES = ("categories", "preferred", "examples")


def _write(result: WinRatioResult, out: Path | None) -> tuple[str, ...]:
    """Write the matrix, and what there is on one run against the qrels beside it."""
    if out is None:
        return ()
    tables = list(result.tables())
    if out.suffix in (".csv", ".json", ".parquet"):  # data have all runs by their names
        tables[0] = winratio_matrix(result.winratio, numbered=False)
    tables += [examples_table(result.examples)] if result.examples else []
    for path, table in zip(beside_each(out, *_TABLES), tables, strict=False):
        write_table(path, table, made=result.provenance, stamp=stamp_of(result.rehearsal))
    return tuple(map(str, beside_each(out, *_TABLES)[: len(tables)]))


def _draw(result: WinRatioResult, plot: Path | None) -> tuple[str, ...]:
    """Draw the matrix, and what there is on one run against the qrels beside it."""
    if plot is None:
        return ()
    figures = {plot: result.plot()}
    if result.against_qrel:
        figures[Path(beside(plot, f"shares{plot.suffix}"))] = plot_shares(result.against_qrel)
    if result.examples:
        figures[Path(beside(plot, f"examples{plot.suffix}"))] = plot_examples(result.examples)
    for path, figure in figures.items():
        write_figure(path, figure, stamp_of(result.rehearsal))
    return tuple(map(str, figures))
