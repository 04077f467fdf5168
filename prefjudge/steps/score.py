"""Scores runs under one or more qrels, and says how far the leaderboards agree."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING

from prefjudge.core.runs import Order
from prefjudge.errors import InputError, StudyError

if TYPE_CHECKING:
    from prefjudge.core.qrels import JudgedRanks, Qrels
    from prefjudge.evaluation.correlation import RankCorrelation
    from prefjudge.evaluation.leaderboard import Leaderboard
    from prefjudge.evaluation.measures import Measure
    from prefjudge.evaluation.winratio import WinRatios
    from prefjudge.formats.problems import Notice
    from prefjudge.study.study import Study

LEADERBOARD_FILE = "leaderboard.csv"
WIN_RATIO_FILE = "winratio.csv"


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreResult:
    """The leaderboards, a correlation for each two of the same measure, and the win ratios of a study."""

    leaderboards: tuple["Leaderboard", ...]
    tau: tuple["RankCorrelation", ...]
    winratio: "WinRatios | None"
    provenance: dict[str, str]
    out: str | None
    notices: tuple[str, ...]


def score(
    study: Path | None = None,
    *,
    runs: Sequence[str | Path] = (),
    qrels: Sequence[str] = (),
    measure: Sequence[str] = (),
    order: Order | None = None,
    out: Path | None = None,
) -> ScoreResult:
    """Score runs under the original and the preference qrels.

    Parameters
    ----------
    study : Path, optional
        The study: its runs, its original qrels and its preference qrels, over the queries that it has judged.
    runs : sequence of paths or patterns
        The run files (without a study).
    qrels : sequence of str
        The qrels, each a file or ``NAME=FILE``. Given two or more, each run board of the later ones shows
        what a perfect ranking under the first would score.
    measure : sequence of str
        The measures; RR@10 by default.
    order : Order, optional
        What ranks a document higher.
    out : Path, optional
        Write every row of every board as CSV; ``leaderboard.csv`` in the study by default.

    Raises
    ------
    InputError
        A file cannot be read, or a measure is unknown.
    StudyError
        The study is not resolved yet.
    """
    from prefjudge.engines.files import judged
    from prefjudge.evaluation.correlation import correlate
    from prefjudge.evaluation.measures import Measure
    from prefjudge.formats.problems import Notice

    notices: list[Notice] = []
    opened, sets, paths = _sources(study, runs, qrels, notices)
    wanted = [Measure.parse(text) for text in measure or (opened.config.measures if opened else ("RR@10",))]
    order = order or (opened.config.pool.order if opened else Order.SCORE)
    boards = tuple(
        board
        for labels in sets
        for board in _boards(judged(paths, labels, order=order, notices=notices), labels, sets[0], wanted)
    )
    winratio = _win_ratios(opened, paths, sets[0], order, notices) if opened else None
    result = ScoreResult(
        leaderboards=boards,
        tau=tuple(correlate(a, b) for a, b in combinations(boards, 2) if a.measure == b.measure),
        winratio=winratio,
        provenance=_provenance(paths, sets, order),
        out=str(out or (opened.folder / LEADERBOARD_FILE if opened else "")) or None,
        notices=tuple(dict.fromkeys(map(str, notices))),
    )
    _write(result, opened)
    return result


def _sources(
    study: Path | None, runs: Sequence[str | Path], qrels: Sequence[str], notices: list["Notice"]
) -> tuple["Study | None", list["Qrels"], tuple[Path, ...]]:
    """Return the study, the label sets and the run files."""
    from prefjudge.formats.qrels import read_qrels
    from prefjudge.steps.pool import expand

    if study is None:
        if not runs or not qrels:
            raise InputError(
                "score takes a study, or --runs and --qrels",
                "For instance: prefjudge score STUDY, or: prefjudge score --runs 'runs/*' --qrels FILE",
            )
        named = [_named(text) for text in qrels]
        return None, [read_qrels(path, name=name, notices=notices) for name, path in named], expand(runs)
    from prefjudge.study.study import Study

    opened = Study(study)
    sets, files = _of_study(opened, notices)
    sets += [read_qrels(path, name=name, notices=notices) for name, path in map(_named, qrels)]
    return opened, sets, (*files, *(expand(runs) if runs else ()))


def _named(text: str) -> tuple[str | None, Path]:
    """Split ``NAME=FILE``; a file whose own name has a ``=`` is given as it is."""
    name, separator, path = text.partition("=")
    return (name, Path(path)) if separator and not Path(text).exists() else (None, Path(text))


def _of_study(study: "Study", notices: list["Notice"]) -> tuple[list["Qrels"], list[Path]]:
    """Return a study's label sets, restricted to the queries that it judges, and its runs."""
    from prefjudge.core.qrels import restrict
    from prefjudge.formats.qrels import read_qrels
    from prefjudge.steps.resolve import PREFERENCE_NAME, QRELS_FILE
    from prefjudge.study.pooling import load_inputs, load_pools

    with study.transaction(write=False) as db:
        inputs, pools = load_inputs(db), load_pools(db)
    path = study.folder / QRELS_FILE
    if not path.is_file():
        raise StudyError("the study has no preference qrels yet", f"Run: prefjudge resolve {study.folder}")
    original = [
        restrict(read_qrels(found.path, name=found.name, notices=notices), pools.queries)
        for found in inputs
        if found.kind == "qrels"
    ]
    preference = read_qrels(path, name=PREFERENCE_NAME, notices=notices)
    return [*original, preference], [Path(found.path) for found in inputs if found.kind == "run"]


def _boards(
    ranks: Sequence["JudgedRanks"], labels: "Qrels", first: "Qrels", measures: Sequence["Measure"]
) -> list["Leaderboard"]:
    """Return a board for each measure; under later labels it shows the perfect ranking under the first."""
    from prefjudge.evaluation.leaderboard import leaderboard, perfect_ranks
    from prefjudge.evaluation.measures import score_matrix

    bar = [] if labels is first else [perfect_ranks(first, labels, order=ranks[0].order)]
    return [
        leaderboard(score_matrix([*ranks, *bar], labels, measure), perfect=[found.run for found in bar])
        for measure in measures
    ]


def _win_ratios(
    study: "Study", paths: Sequence[Path], qrels: "Qrels", order: Order, notices: list["Notice"]
) -> "WinRatios":
    from prefjudge.engines.files import top
    from prefjudge.evaluation.winratio import win_ratios
    from prefjudge.study.assignments import load_judgments
    from prefjudge.study.pooling import load_pools

    with study.transaction(write=False) as db:
        log, queries = load_judgments(db), load_pools(db).queries
    return win_ratios(log, top(paths, k=1, order=order, notices=notices), qrels, queries=queries)


def _provenance(paths: Sequence[Path], qrels: Sequence["Qrels"], order: Order) -> dict[str, str]:
    from prefjudge import __version__

    return {
        "prefjudge": __version__,
        "order": str(order),
        "runs": str(len(paths)),
        **{f"queries under {labels.name}": str(len(labels.queries)) for labels in qrels},
    }


def _write(result: ScoreResult, study: "Study | None") -> None:
    from prefjudge.formats.atomic import atomic_write
    from prefjudge.render.leaderboard_tables import scores_table
    from prefjudge.render.tables import to_csv
    from prefjudge.render.winratio_tables import winratio_matrix

    if result.out:
        with atomic_write(Path(result.out)) as file:
            file.write(to_csv(scores_table(result.leaderboards)).encode())
    if study and result.winratio:
        with atomic_write(study.folder / WIN_RATIO_FILE) as file:
            file.write(to_csv(winratio_matrix(result.winratio)).encode())
