"""Scores runs under one or more qrels, and says how far the leaderboards agree and what they rest on."""

from collections.abc import Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING

from prefjudge.core.runs import Order
from prefjudge.errors import InputError
from prefjudge.steps.inputs import as_path, as_target, several
from prefjudge.steps.read_options import ReadOptions

if TYPE_CHECKING:
    from pandas import DataFrame

    from prefjudge.core.judgments import Judgments
    from prefjudge.core.pools import Pools
    from prefjudge.core.qrels import Qrels
    from prefjudge.engines.health import RunHealth
    from prefjudge.evaluation.boards import Board
    from prefjudge.evaluation.correlation import RankCorrelation
    from prefjudge.evaluation.intervals import Statistic
    from prefjudge.evaluation.leaderboard import Leaderboard
    from prefjudge.evaluation.leave_one_out import LeftOut
    from prefjudge.evaluation.measures import Measure
    from prefjudge.evaluation.pair_agreement import PairAgreement
    from prefjudge.evaluation.preference_measures import PreferenceMeasure
    from prefjudge.evaluation.query_samples import SampleAgreement
    from prefjudge.evaluation.winratio import WinRatios
    from prefjudge.formats.problems import Notice
    from prefjudge.steps.labels import Sources
    from prefjudge.steps.provenance import InputDigest
    from prefjudge.steps.readers import Reader


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreResult:
    """Leaderboards and what was asked for beside them.

    ``boards`` has one entry for each measure and label set: the leaderboard with tiers, rank intervals, tie
    sensitivity and the scores of every query. ``tau`` compares each two boards of one measure, over the
    queries that both label sets judge. What needs judgments or was not asked for is None or empty.
    """

    boards: tuple["Board", ...]
    tau: tuple["RankCorrelation", ...]
    winratio: "WinRatios | None"
    pair_agreement: tuple["PairAgreement", ...]
    left_out: tuple["LeftOut", ...]
    samples: tuple["SampleAgreement", ...]
    health: tuple["RunHealth", ...]
    provenance: dict[str, str]
    inputs: tuple["InputDigest", ...]
    out: tuple[str, ...]
    notices: tuple[str, ...]

    @property
    def leaderboards(self) -> tuple["Leaderboard", ...]:
        """The leaderboards alone."""
        return tuple(board.leaderboard for board in self.boards)

    def to_frame(self) -> "DataFrame":
        """Return every row of every board as a pandas DataFrame."""
        from prefjudge.render.frames import to_frame
        from prefjudge.render.leaderboard_tables import scores_table

        return to_frame(scores_table(self.leaderboards, provenance=self.provenance))


def score(
    study: str | Path | None = None,
    *,
    runs: str | Path | Sequence[str | Path] = (),
    qrels: str | Path | Sequence[str | Path] = (),
    measure: str | Sequence[str] = (),
    judgments: str | Path | None = None,
    queries: str | Path | None = None,
    order: Order | None = None,
    statistic: str = "mean",
    per_query: bool = False,
    health: bool = False,
    leave_one_out: bool = False,
    sample: int | None = None,
    seed: int | None = None,
    in_sql: bool = False,
    out: str | Path | None = None,
    plot: str | Path | None = None,
    trust: bool = False,
    on_duplicate: str = "error",
    workers: int | Executor | None = 1,
    cache: str | Path | None = None,
    engine: str = "files",
) -> ScoreResult:
    """Score runs under the original and the preference qrels.

    Parameters
    ----------
    study : Path, optional
        The study: its runs, its original qrels and its preference qrels, over the queries that it has judged.
    runs : sequence of paths or patterns
        The run files, or folders of them; with a study, further ones.
    qrels : sequence of str
        The qrels, each a file or ``NAME=FILE``. Each board under the later ones shows what a perfect ranking
        under the first would score.
    measure : sequence of str
        The measures; RR@10 by default. ``ppref@10``, ``wpref``, ``PGC`` and their kin need judgments.
    judgments : Path, optional
        Side-by-side judgments: adds win ratios and each run's agreement with the preferences.
    queries : Path, optional
        Score the queries of this file only.
    order : Order, optional
        What ranks a document higher.
    statistic : {'mean', 'median'}
        What orders the runs.
    per_query : bool
        Write the score of each query under each run as well, beside ``out``.
    health : bool
        Report each run's health.
    leave_one_out : bool
        Rebuild the preference qrels without the passages that only one run contributed, for each run.
    sample : int, optional
        Draw 1,000 samples of so many queries, and say how far their boards agree with those of all queries.
    seed : int, optional
        The seed of the samples; a study has its own.
    in_sql : bool
        Compute the scores in SQL too, and leave them with the engine, which writes those of queries to
        Parquet: only how many queries have each comes home. For RR, Success, P and R; without tiers, tie
        sensitivity and perfect rankings, which need every score.
    out : Path, optional
        Write every row of every board: CSV, JSON, Markdown, LaTeX or Parquet by the suffix;
        ``leaderboard.csv`` in the study by default.
    plot : Path, optional
        Draw the boards, each two of a measure against each other, and the win ratios: a .svg or .png file,
        and others named after it.
    trust, on_duplicate, workers, cache, engine
        How the runs are read: see `prefjudge.steps.read_options.ReadOptions`.

    Raises
    ------
    InputError
        A file cannot be read, a measure is unknown, or judgments are needed.
    StudyError
        The study is not resolved yet.
    """
    from prefjudge.evaluation.intervals import named_statistic
    from prefjudge.formats.parquet import is_parquet
    from prefjudge.steps.labels import gather
    from prefjudge.steps.matrices import chosen_order, describe, need_files
    from prefjudge.steps.outputs import check_outputs
    from prefjudge.steps.provenance import digesting
    from prefjudge.steps.score_files import per_query_file, score_files, write_score
    from prefjudge.steps.score_sql import boards_in_sql, check_in_sql

    study = as_path(study)
    judgments = as_path(judgments)
    queries = as_path(queries)
    out = as_target(out)
    plot = as_path(plot)
    example = "prefjudge score STUDY, or: prefjudge score --runs 'runs/*' --qrels FILE"
    need_files("score", example, given=study is not None or bool(runs and (qrels or judgments)))
    notices: list[Notice] = []
    found = gather(study, runs=runs, qrels=qrels, judgments=judgments, queries=queries, notices=notices)
    outputs = score_files(out, found.study)
    check_outputs(*outputs, inputs=(path for _, path in found.files), study=study, plot=plot, engine=engine)
    by_labels, by_pairs = _measures(several(measure), found)
    chosen = named_statistic(statistic)
    if in_sql:
        check_in_sql(
            engine,
            by_labels,
            {
                "STUDY": study,
                "--judgments": judgments,
                "--health": health,
                "--leave-one-out": leave_one_out,
                "--sample": sample,
                "--per-query without a Parquet file to write": per_query and not (out and is_parquet(out)),
            },
        )
    order = chosen_order(found, order)
    how = ReadOptions(trust=trust, on_duplicate=on_duplicate, workers=workers, cache=cache, engine=engine)
    saved = per_query_file(out) if in_sql and per_query and out else None
    with digesting(found.files, trust=trust) as digests, how.read(found.runs, order, notices) as reader:
        agreement: tuple[PairAgreement, ...] = ()
        if in_sql:
            boards = boards_in_sql(found, by_labels, chosen, reader, saved)
        else:
            boards, agreement = _boards(found, by_labels, by_pairs, chosen, reader)
        result = ScoreResult(
            boards=tuple(boards),
            tau=tuple(_correlations(boards, found, notices)),
            winratio=_win_ratios(found, reader),
            pair_agreement=agreement,
            left_out=_left_out(found, by_labels[0], reader) if leave_one_out and by_labels else (),
            samples=_samples(found, boards, sample, seed) if sample is not None else (),
            health=tuple(reader.health(found.qrels[0] if found.qrels else None)) if health else (),
            provenance=describe(found, reader, order),
            inputs=digests(),
            out=(),
            notices=tuple(dict.fromkeys(map(str, notices))),
        )
    files = write_score(result, found, out=out, per_query=per_query and not saved, plot=plot, engine=engine)
    return replace(result, out=(*files, *([str(saved)] if saved else [])))


def _measures(texts: Sequence[str], found: "Sources") -> tuple[list["Measure"], list["PreferenceMeasure"]]:
    """Return the measures by kind: those that need labels, and those that need judged pairs."""
    from prefjudge.evaluation.measures import Measure
    from prefjudge.evaluation.preference_measures import PreferenceMeasure, is_preference_measure

    texts = texts or (found.study.config.measures if found.study else ("RR@10",))
    by_pairs = [PreferenceMeasure.parse(text) for text in texts if is_preference_measure(text)]
    by_labels = [Measure.parse(text) for text in texts if not is_preference_measure(text)]
    if by_pairs and found.judgments is None:
        raise InputError(f"{by_pairs[0]} is computed from judgments", "Add --judgments FILE.")
    return list(dict.fromkeys(by_labels)), list(dict.fromkeys(by_pairs))


def _boards(
    found: "Sources",
    by_labels: Sequence["Measure"],
    by_pairs: Sequence["PreferenceMeasure"],
    statistic: "Statistic",
    reader: "Reader",
) -> tuple[list["Board"], tuple["PairAgreement", ...]]:
    """Return a board for each label set and measure, and how each run agrees with the preferences.

    Under later label sets a board shows the perfect ranking of the first.
    """
    from prefjudge.evaluation.boards import label_board, make_board
    from prefjudge.evaluation.compared import compared_pairs
    from prefjudge.evaluation.pair_agreement import pair_agreement
    from prefjudge.evaluation.preference_measures import preference_matrix

    labels = found.qrels if by_labels else ()
    votes = found.judgments if found.judgments is not None and len(found.judgments) else None
    pairs = compared_pairs(votes) if votes is not None else None
    ranks = reader.judged_all([*labels, *([pairs.documents] if pairs else [])])
    boards = [
        label_board(placed, one, measure, tops=labels[:1] if number else (), statistic=statistic)
        for number, (placed, one) in enumerate(zip(ranks, labels, strict=False))
        for measure in by_labels
    ]
    if pairs is None:
        return boards, ()
    for measure in by_pairs:
        boards.append(make_board(preference_matrix(ranks[-1], pairs, measure), statistic=statistic))
    return boards, pair_agreement(ranks[-1], pairs)


def _correlations(
    boards: Sequence["Board"], found: "Sources", notices: list["Notice"]
) -> Iterator["RankCorrelation"]:
    """Compare each two boards of one measure, over the queries that both label sets judge."""
    from prefjudge.evaluation.boards import on_common_queries
    from prefjudge.evaluation.correlation import correlate
    from prefjudge.formats.problems import Notice

    judged = {labels.name: set(labels.queries) for labels in found.qrels}
    for a, b in combinations(boards, 2):
        if a.leaderboard.measure != b.leaderboard.measure:
            continue
        names = a.leaderboard.qrels, b.leaderboard.qrels
        one, other = (judged[name] for name in names)
        shared = len(one & other)
        only = "" if one == other else f"{len(one):,} and {len(other):,} queries, {shared:,} of them in both"
        if only and (not a.scores.queries or not shared):
            notices.append(Notice(where=" and ".join(names), what=f"{only}: they are not compared"))
            continue
        if only:
            notices.append(Notice(where=" and ".join(names), what=f"{only}: they are compared on these"))
        yield correlate(*on_common_queries(a, b))


def _win_ratios(found: "Sources", reader: "Reader") -> "WinRatios | None":
    from prefjudge.evaluation.winratio import win_ratios
    from prefjudge.steps.winratio import official_qrels

    official = official_qrels(found)
    if found.judgments is None:
        return None
    heads = reader.top(1)
    if len(heads.runs) + (official is not None) < 2:
        return None
    queries = found.pools.queries if found.pools else None
    return win_ratios(found.judgments, heads, official, queries=queries)


def _left_out(found: "Sources", measure: "Measure", reader: "Reader") -> tuple["LeftOut", ...]:
    from prefjudge.core.pools import build_pools, select_queries
    from prefjudge.core.preferences import resolve, to_qrels
    from prefjudge.evaluation.leave_one_out import leave_one_out, pooled_documents

    if found.judgments is None:
        raise InputError("leaving a run out rebuilds the qrels from judgments", "Add --judgments FILE.")
    rule = found.study.config.rule if found.study else "shallow-pooling"

    def rebuild(votes: "Judgments", pools: "Pools") -> "Qrels":
        return to_qrels(resolve(votes, rule=rule, pools=pools))

    pools = found.pools
    if pools is None:
        first = found.qrels[0] if found.qrels else None
        everything = build_pools(reader.top(1), first)
        pools = select_queries(everything, found.judgments.queries)
    ranks = reader.judged(pooled_documents(pools))
    return leave_one_out(found.judgments, pools, ranks, measure, resolve=rebuild)


def _samples(
    found: "Sources", boards: Sequence["Board"], size: int, seed: int | None
) -> tuple["SampleAgreement", ...]:
    from prefjudge.evaluation.boards import only_runs
    from prefjudge.evaluation.query_samples import sample_agreement
    from prefjudge.steps.matrices import generator

    rng = generator(found, "query samples", seed)
    large = [
        board for board in boards if len(board.scores.queries) >= size
    ]  # judgments may cover fewer queries
    return tuple(
        sample_agreement(
            only_runs(board.scores, [row.run for row in board.leaderboard.ranked]), size=size, rng=rng
        )
        for board in large or boards
    )
