"""Scores runs under one or more qrels, and compares the leaderboards."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Literal, Unpack

from annotated_types import Ge

from prefjudge.core.runs import OrderLike
from prefjudge.errors import InputError
from prefjudge.evaluation.intervals import Statistic, named_statistic
from prefjudge.findings.inputs import (
    check_order,
    digesting,
    find_teams,
    gather,
    named_measures,
    need_files,
    official_scores,
    run_order,
    stamped,
)
from prefjudge.findings.outputs import check_outputs, left_unwritten
from prefjudge.reading.files import Notice
from prefjudge.reading.input_options import InputOptions, run_options
from prefjudge.reading.inputs import LabelSets, Measures, Pooled, Runs, Texts, Votes, as_path, as_target
from prefjudge.reading.opened import reading
from prefjudge.reading.runs.cluster import Engine
from prefjudge.reading.text_options import text_fields
from prefjudge.steps.score.boards import (
    Votings,
    all_pairings,
    all_win_ratios,
    correlations,
    few_hits,
    near_copies,
    query_samples,
    runs_left_out,
    score_boards,
)
from prefjudge.steps.score.files import (
    LEADERBOARD_FILE,
    WIN_RATIO_FILE,
    score_files,
    write_score,
)
from prefjudge.steps.score.not_judged import count_not_judged, in_words
from prefjudge.steps.score.result import ScoreResult
from prefjudge.study.store import Study, open_study


def score(
    study: str | Path | Study | None = None,
    *,
    runs: Runs = (),
    qrels: LabelSets = (),
    measure: Measures = (),
    judged_only: bool = False,
    judgments: Votes | None = None,
    queries: Texts | None = None,
    common: bool = False,
    order: OrderLike | None = None,
    statistic: Statistic = "mean",
    per_query: bool = False,
    health: bool = False,
    leave_one_out: bool = False,
    teams: str | Path | None = None,
    pool: Pooled | None = None,
    leaderboard: str | Path | None = None,
    order_by: str | Path | None = None,
    sample: Annotated[int, Ge(1)] | None = None,
    seed: Annotated[int, Ge(0)] | None = None,
    engine: Engine | Literal["files", "spark"] = Engine.FILES,
    out: str | Path | None = None,
    plot: str | Path | None = None,
    write: bool = True,
    **how: Unpack[InputOptions],
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
        under the first would score, on the queries that both judge, and which runs are better.
    measure : sequence of str
        The measures; RR@10 by default. ``ppref@10``, ``wpref``, ``PGC`` and their kin need judgments.
    judged_only : bool
        Take documents without a label out of each ranking before it is scored (condensed lists).
    judgments : Path, optional
        Side-by-side judgments: adds win ratios and each run's agreement with the preferences.
    queries : Path, optional
        Score the queries of this file only.
    common : bool
        Score the queries only that every label set judges.
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
    teams : Path, optional
        With ``leave_one_out``: leave out what only a team's runs contributed; alone they hide each other's
        part. On each line of the file a run, a tab, and its team; ``#`` begins a comment line. Or ``audit``:
        the teams as the ``leaderboard`` prints them.
    pool : Path, optional
        The pool that was judged, with who contributed what, as ``pool --out`` writes it; a study knows its
        own. Without either, a run contributed the judged passages that stand on top of it.
    leaderboard : Path, optional
        The CSV of the official leaderboard: adds its ranks and scores beside those of the first measure under
        the first label set (on all its queries, and on those of the second) and under the second.
    order_by : str or Path, optional
        Draw the runs in the order of a board: the name of a label set, or a leaderboard's CSV.
    sample : int, optional
        Draw 1,000 samples of this many queries, and say how far their boards agree with those of all queries.
    seed : int, optional
        The seed of the samples; a study has its own.
    engine : Engine
        What reads the runs: this machine, or a cluster that Spark knows.
    out : Path, optional
        Write every row of every board: CSV, JSON, Markdown, LaTeX or Parquet by the suffix;
        ``leaderboard.csv`` in the study by default.
    plot : Path, optional
        Draw the boards, each two of a measure against each other, and the win ratios: a .svg or .png file,
        and others named after it.
    write : bool
        Write the study's files, too; without, the boards are only shown or returned.
    **how
        How files are read: the words of `ReadOptions` and `TextOptions`.

    Raises
    ------
    InputError
        A file cannot be read, a measure is unknown, or judgments are needed.
    StudyError
        The study is not resolved yet.
    """
    out = as_target(out)
    plot = as_path(plot)
    example = "prefjudge score STUDY, or: prefjudge score --runs 'runs/*' --qrels FILE"
    need_files("score", example, given=study is not None or bool(runs and (qrels or judgments)))
    notices: list[Notice] = []
    read = run_options(how)
    found = gather(
        open_study(study),
        runs=runs,
        qrels=qrels,
        judgments=judgments,
        judged_only=judged_only,
        queries=queries,
        fields=text_fields(how),
        common=common,
        pool=pool,
        notices=notices,
    )
    outputs = score_files(out, found.study)
    check_outputs(
        *outputs,
        inputs=(path for _, path in found.files),
        study=found.study,
        plot=plot,
        engine=engine,
        tables=True,
    )
    by_labels, by_pairs = named_measures(found, measure)
    chosen = named_statistic(statistic)
    check_order(order_by, found)
    if teams is not None and not leave_one_out:
        raise InputError("teams are left out as runs are, one by one", "Add --leave-one-out.")
    for option, asked in (("--leave-one-out", leave_one_out), ("--leaderboard", leaderboard)):
        if asked and not by_labels:
            raise InputError(
                f"{option} scores runs under labels, and {by_pairs[0]} is of the judged pairs",
                "Add a measure of labels, such as --measure RR@10.",
            )
    team_of = find_teams(teams, leaderboard)
    found = stamped(found, leaderboard, order_by)
    order = found.order(order)
    with (
        digesting(found.files) as digests,
        reading(found.runs, order, notices, engine, **read) as reader,
    ):
        votings = None
        boards, agreement, tops, votes = score_boards(found, by_labels, by_pairs, chosen, reader)
        if votes is not None and chosen == "mean":
            votings = Votings(votes, found, by_labels, seed)
        if votes is not None and len(found.qrels) > 1 and not (votings and votings.labels):
            notices.append(_no_votings(chosen))
        tau = tuple(correlations(boards, found, votings, notices))
        notices.extend((*few_hits(boards), *near_copies(boards)))
        pairings, cycles = all_pairings(found, votes)
        apart = count_not_judged(found, read, order, notices)
        result = ScoreResult(
            boards=tuple(boards),
            tau=tau,
            winratio=all_win_ratios(found, reader, votes, notices),
            pair_agreement=agreement,
            left_out=runs_left_out(found, by_labels[0], reader, notices, team_of)
            if leave_one_out and by_labels
            else (),
            left_out_votings=votings.of(str(by_labels[0]), frozenset(votes.labels.queries))
            if leave_one_out and by_labels and votes and votings
            else None,
            samples=query_samples(found, boards, sample, seed) if sample is not None else (),
            health=tuple(reader.health(found.qrels[0] if found.qrels else None)) if health else (),
            provenance=found.provenance(reader, order) | in_words(apart),
            inputs=digests(),
            out=(),
            official=official_scores(leaderboard, found, by_labels[0], boards, reader)
            if leaderboard and by_labels
            else None,
            pairings=pairings,
            cycles=cycles,
            not_judged=apart,
            judged_tops=tops,
            rehearsal=found.rehearsal,
            notices=tuple(dict.fromkeys(map(str, notices))),
        )
    if not write:
        return result
    if found.study:
        names = (WIN_RATIO_FILE,) if out else (LEADERBOARD_FILE, WIN_RATIO_FILE)
        unwritten = left_unwritten(found.study, *names)
        result = replace(result, notices=(*result.notices, *unwritten))
    shown = run_order(order_by, result.boards) if order_by and result.boards else None
    files = write_score(result, found, out=out, per_query=per_query, plot=plot, order=shown, engine=engine)
    return replace(result, out=files)


def _no_votings(statistic: Statistic) -> Notice:
    """Say why it is not told beside a τ how far two votings agree."""
    if statistic != "mean":
        what = "how far two rounds of voting agree is known for means only"
    else:
        what = "how far two rounds of voting agree is not known: the rule makes other answers of these votes"
    return Notice(where="Kendall's τ", what=what)
