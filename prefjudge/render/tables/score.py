"""All the tables of a scoring, and those that are neither leaderboards nor win ratios."""

from collections.abc import Iterator, Mapping, Sequence
from math import isnan, nan

import numpy as np

from prefjudge.counts import many
from prefjudge.evaluation.comparing.winratio import RUNS_SHOWN, WinRatios, best_runs
from prefjudge.evaluation.leaderboards.boards import Board
from prefjudge.evaluation.leaderboards.correlation import RankCorrelation, TwoVotings, kendall_tau
from prefjudge.evaluation.leaderboards.not_judged import NotJudged
from prefjudge.evaluation.leaderboards.query_samples import SampleAgreement
from prefjudge.evaluation.scoring.leave_one_out import LeftOut
from prefjudge.evaluation.scoring.pair_agreement import PairAgreement
from prefjudge.evaluation.scoring.pairings import Pairings
from prefjudge.render.tables.leaderboard import (
    correlation_table,
    leaderboard_table,
    scores_table,
    side_by_side_table,
    voting_sentence,
)
from prefjudge.render.tables.winratio import winratio_matrix
from prefjudge.render.text.cells import Column, Table


def score_tables(
    boards: Sequence[Board],
    *,
    tau: Sequence[RankCorrelation] = (),
    winratio: WinRatios | None = None,
    pair_agreement: Sequence[PairAgreement] = (),
    pairings: Sequence[Pairings] = (),
    cycles: int | None = None,
    not_judged: Sequence[NotJudged] = (),
    left_out: Sequence[LeftOut] = (),
    left_out_votings: TwoVotings | None = None,
    samples: Sequence[SampleAgreement] = (),
    long: bool = False,
    provenance: Mapping[str, str] | None = None,
) -> list[Table]:
    """Return what a reader wants of a scoring: the boards of each measure, how they agree, and the rest.

    A measure under one label set gives a full leaderboard; under several, the boards side by side. ``long``
    gives one table with every row of every board instead.
    """
    if long:
        return [scores_table([board.leaderboard for board in boards], provenance=provenance)]
    tables = []
    for measure in dict.fromkeys(board.leaderboard.measure for board in boards):
        same = [board for board in boards if board.leaderboard.measure == measure]
        if len(same) == 1:
            only = same[0]
            tables.append(
                leaderboard_table(only.leaderboard, only.standings, only.ties, provenance=provenance)
            )
        else:
            queries = {(board.leaderboard.queries, frozenset(board.scores.queries)) for board in same}
            shown = [board.leaderboard for board in same]
            tables.append(side_by_side_table(shown, same_queries=len(queries) == 1, provenance=provenance))
    if not_judged:
        tables.append(not_judged_table(not_judged))
    if tau:
        tables.append(correlation_table(tau))
    if winratio:
        tables.append(winratio_matrix(winratio, shown=best_runs(winratio, RUNS_SHOWN)))
    if any(row.agree + row.disagree for row in pair_agreement):  # none in runs of one document a query
        tables.append(pair_agreement_table(pair_agreement))
    if pairings:
        tables.append(pairings_table(pairings, cycles))
    if left_out:
        tables.append(left_out_table(left_out, left_out_votings))
    if samples:
        tables.append(samples_table(samples))
    return tables


def not_judged_table(rows: Sequence[NotJudged]) -> Table:
    """Return the runs that no board ranks yet, in the order of their tags."""
    return Table(
        title="Not judged yet",
        columns=(
            Column(name="run"),
            Column(name="judged", kind="integer"),
            Column(name="queries", kind="integer"),
            Column(name="share", kind="percent", digits=0),
        ),
        rows=tuple(sorted((row.run, row.judged, row.queries, row.share) for row in rows)),
        notes=(
            "These runs' passages are being compared with the best answers; the runs are ranked after that. "
            "judged: how many of their top passages were compared.",
        ),
    )


def pair_agreement_table(rows: Sequence[PairAgreement]) -> Table:
    """Return how often each run orders a judged pair near its top as people do, the best first."""
    ordered = sorted(rows, key=lambda row: (-row.ratio if row.agree + row.disagree else 1.0, row.run))
    return Table(
        title="Agreement with the preferences",
        columns=(
            Column(name="run", priority=0),
            Column(name="agree", kind="integer", priority=2),
            Column(name="disagree", kind="integer", priority=2),
            Column(name="ratio", head="agreement", kind="percent", digits=2),
        ),
        rows=tuple((row.run, row.agree, row.disagree, row.ratio) for row in ordered),
        notes=("Decided pairs with both passages in the run's top 10.",),
    )


def pairings_table(rows: Sequence[Pairings], cycles: int | None = None) -> Table:
    """Return how often the passages of each label set win (shallow pooling, section 5.1)."""
    notes = ["Judged pairs with a relevant passage of the label set, by the majority of their votes."]
    if cycles is not None:
        notes.append(f"Queries that end in a cycle, with several best passages: {cycles:,}.")
    return Table(
        title="Pairings that the passages of each label set win",
        columns=(
            Column(name="qrels", priority=0),
            Column(name="passages", kind="integer"),
            Column(name="won", kind="integer"),
            Column(name="lost", kind="integer"),
            Column(name="tied", kind="integer"),
            Column(name="share", head="% won", kind="percent", digits=1),
        ),
        rows=tuple((row.qrels, row.passages, row.won, row.lost, row.tied, row.share) for row in rows),
        notes=tuple(notes),
    )


def left_out_table(rows: Sequence[LeftOut], two_votings: TwoVotings | None = None) -> Table:
    """Return each run's score and rank without the passages that only it, or its team, contributed.

    ``two_votings`` says what other votes like these do to the ranks.
    """
    teams = any(row.team != row.run for row in rows)
    other = _other_queries(rows)
    return Table(
        title=f"Leaving out the passages that only one {'team' if teams else 'run'} contributed",
        columns=(
            Column(name="run", priority=0),
            *((Column(name="team", priority=2),) if teams else ()),
            Column(name="passages", kind="integer", priority=3),
            Column(name="changed", head="queries changed", kind="integer", priority=2),
            Column(name="score", kind="number"),
            Column(name="rank", kind="integer"),
            Column(name="score_without", head="without", kind="number"),
            Column(name="rank_without", head="rank", kind="integer"),
            *(
                (Column(name="queries_without", head="on queries", kind="integer", priority=1),)
                if other
                else ()
            ),
        ),
        rows=tuple(
            (
                row.run,
                *((row.team,) if teams else ()),
                row.passages,
                row.changed,
                row.score,
                row.rank,
                row.score_without,
                row.rank_without or None,
                *((row.queries_without,) if other else ()),
            )
            for row in rows
        ),
        notes=tuple(_left_out_notes(rows, two_votings, "team" if teams else "run")),
    )


def left_out_tau(rows: Sequence[LeftOut]) -> float:
    """Return Kendall's tau between the runs' scores and those without; NaN where queries differ."""
    if _other_queries(rows):
        return nan
    return kendall_tau(np.array([row.score for row in rows]), np.array([row.score_without for row in rows]))


def _other_queries(rows: Sequence[LeftOut]) -> bool:
    return any(row.queries_without != row.queries for row in rows)


def _left_out_notes(rows: Sequence[LeftOut], two_votings: TwoVotings | None, whose: str) -> Iterator[str]:
    if _other_queries(rows):
        yield (
            f"{many(rows[0].queries, 'query has', 'queries have')} an answer. Where other queries have one "
            "without the passages, compare ranks and not scores."
        )
    tau = left_out_tau(rows)
    if not isnan(tau):
        yield f"The scores with and without what each {whose} alone contributed agree at τ = {tau:.2f}."
    if two_votings and two_votings.pairs:
        yield f"Other votes move ranks, too. {voting_sentence(two_votings)}"


def samples_table(rows: Sequence[SampleAgreement]) -> Table:
    """Return how far samples of the queries rank the runs as all of them do."""
    return Table(
        title="Samples of the queries against all",
        columns=(
            Column(name="measure", priority=0),
            Column(name="qrels", priority=0),
            Column(name="queries", kind="integer", priority=3),
            Column(name="size", head="in a sample", kind="integer"),
            Column(name="samples", kind="integer", priority=4),
            Column(name="tau", head="mean τ", kind="number"),
            Column(name="tau_low", head="τ from", kind="number", priority=2),
            Column(name="tau_high", head="to", kind="number", priority=2),
            Column(name="tau_ap", head="mean τ_AP", kind="number", priority=3),
            Column(name="identical", head="same order", kind="percent", digits=1, priority=2),
        ),
        rows=tuple(
            (
                row.measure,
                row.qrels,
                row.queries,
                row.size,
                row.samples,
                float(row.tau.mean()),
                float(np.quantile(row.tau, 0.025)),
                float(np.quantile(row.tau, 0.975)),
                float(row.tau_ap.mean()),
                row.identical,
            )
            for row in rows
        ),
        notes=("From and to: the middle 95 % of the samples.",),
    )
