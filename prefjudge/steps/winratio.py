"""Compares runs directly by which top passage people prefer."""

from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from prefjudge.core.runs import Order
from prefjudge.errors import InputError
from prefjudge.steps.inputs import as_path
from prefjudge.steps.read_options import ReadOptions

if TYPE_CHECKING:
    from pandas import DataFrame

    from prefjudge.core.qrels import Qrels
    from prefjudge.evaluation.top_against_qrel import TopAgainstQrel
    from prefjudge.evaluation.winratio import WinRatios
    from prefjudge.formats.problems import Notice
    from prefjudge.steps.provenance import InputDigest
    from prefjudge.steps.sources import Sources


@dataclass(frozen=True, slots=True, kw_only=True)
class WinRatioResult:
    """The win ratios of all pairs of runs, and the experiment on one run against the qrels where asked."""

    winratio: "WinRatios"
    against_qrel: "TopAgainstQrel | None"
    provenance: dict[str, str]
    inputs: tuple["InputDigest", ...]
    out: str | None
    notices: tuple[str, ...]

    def to_frame(self) -> "DataFrame":
        """Return the square matrix as a pandas DataFrame: how often the column beats the row."""
        from prefjudge.render.frames import winratio_frame

        return winratio_frame(self.winratio)


def winratio(
    study: str | Path | None = None,
    *,
    runs: Sequence[str | Path] = (),
    judgments: str | Path | None = None,
    qrels: str | Path | None = None,
    queries: str | Path | None = None,
    count: str = "majority",
    against_qrel: str | None = None,
    order: Order | None = None,
    out: str | Path | None = None,
    plot: str | Path | None = None,
    trust: bool = False,
    on_duplicate: str = "error",
    workers: int | Executor | None = 1,
    cache: str | Path | None = None,
    engine: str = "files",
) -> WinRatioResult:
    """Compare all pairs of runs by their top passages: which one do people prefer?

    Parameters
    ----------
    study : Path, optional
        The study: its runs, judgments, qrels and queries.
    runs : sequence of paths or patterns
        The run files, or folders of them; with a study, further ones.
    judgments : Path, optional
        Side-by-side judgments: query, document, document, preferred.
    qrels : Path, optional
        Adds the perfect ranking, which has the qrel on top.
    queries : Path, optional
        Look at the queries of this file only; by default at those with a judgment.
    count : {'majority', 'votes'}
        One outcome a query, the majority of all votes on the two passages; or every vote.
    against_qrel : str, optional
        The tag of a run whose top passages are compared with the qrels, by category.
    order : Order, optional
        What ranks a document higher.
    out : Path, optional
        Write the matrix: CSV, JSON, Markdown, LaTeX or Parquet by the suffix.
    plot : Path, optional
        Draw the matrix: a .svg or .png file.
    trust, on_duplicate, workers, cache, engine
        How the runs are read: see `prefjudge.steps.read_options.ReadOptions`.

    Raises
    ------
    InputError
        A file cannot be read, or something that is needed is missing.
    StudyError
        The study is not resolved yet.
    """
    from prefjudge.evaluation.top_against_qrel import top_against_qrel
    from prefjudge.evaluation.winratio import named_count, win_ratios
    from prefjudge.formats.figures import write_figure
    from prefjudge.render.plots import plot_win_ratios
    from prefjudge.steps.outputs import check_outputs
    from prefjudge.steps.provenance import digesting, made_with
    from prefjudge.steps.sources import gather

    out = as_path(out)
    plot = as_path(plot)
    if study is None and not (runs and judgments):
        raise InputError(
            "winratio takes a study, or --runs and --judgments",
            "For instance: prefjudge winratio --runs 'runs/*' --judgments FILE --qrels FILE",
        )
    counted = named_count(count)
    notices: list[Notice] = []
    named = [str(qrels)] if qrels else []
    found = gather(study, runs=runs, qrels=named, judgments=judgments, queries=queries, notices=notices)
    check_outputs(out, inputs=(path for _, path in found.files), study=study, plot=plot)
    labels = official_qrels(found)
    if against_qrel and labels is None:
        raise InputError(f"comparing {against_qrel} with the qrels needs qrels", "Add --qrels FILE.")
    asked = found.pools.queries if found.pools else None
    order = found.order(order)
    assert found.judgments is not None
    how = ReadOptions(trust=trust, on_duplicate=on_duplicate, workers=workers, cache=cache, engine=engine)
    with digesting(found.files, trust=trust) as digests, how.read(found.runs, order, notices) as reader:
        heads = reader.top(2 if against_qrel else 1)
        result = WinRatioResult(
            winratio=win_ratios(found.judgments, heads, labels, queries=asked, count=counted),
            against_qrel=top_against_qrel(found.judgments, heads, labels, against_qrel, queries=asked)
            if against_qrel and labels
            else None,
            provenance=made_with(reader, order) | {"judgments": str(len(found.judgments))},
            inputs=digests(),
            out=str(out) if out else None,
            notices=tuple(dict.fromkeys(map(str, notices))),
        )
    if out is not None:
        _write(result, out)
    if plot is not None:
        write_figure(plot, plot_win_ratios(result.winratio))
    return result


def official_qrels(found: "Sources") -> "Qrels | None":
    """Return the labels that the perfect ranking follows: the first that are no preference qrels."""
    from prefjudge.steps.resolve import PREFERENCE_NAME

    return next((labels for labels in found.qrels if labels.name != PREFERENCE_NAME or not found.study), None)


def _write(result: WinRatioResult, out: Path) -> None:
    from prefjudge.render.winratio_tables import winratio_matrix
    from prefjudge.steps.tables import write_table

    numbered = False if out.suffix in (".csv", ".json", ".parquet") else None  # data keep the runs' names
    table = winratio_matrix(result.winratio, numbered=numbered, provenance=result.provenance)
    write_table(out, table)
