"""Scores runs under one or more qrels, and compares the leaderboards."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Annotated, Any, Literal, Unpack

from annotated_types import Ge

from prefjudge.core.runs import OrderLike, Scores
from prefjudge.errors import InputError
from prefjudge.evaluation.boards import Board, Leaderboard, NotJudged, count_judged, on_common_queries
from prefjudge.evaluation.correlation import RankCorrelation, TwoVotings
from prefjudge.evaluation.measures.preferences import PairAgreement, Pairings
from prefjudge.evaluation.stability import LeftOut
from prefjudge.evaluation.submissions import OfficialBoard
from prefjudge.evaluation.winratios import RUNS_SHOWN, WinRatios, best_runs
from prefjudge.findings.boards import (
    Boards,
    RunOrder,
    TeamsOf,
    add_stamps,
    check_order,
    find_teams,
    official_scores,
    run_order,
)
from prefjudge.findings.findings import Findings, InputDigest, gather, need_files
from prefjudge.findings.outputs import (
    beside,
    check_outputs,
    left_unwritten,
    own_file,
    stamp_of,
    write_figure,
    write_table,
)
from prefjudge.reading.files import write_text
from prefjudge.reading.given import as_path, as_target
from prefjudge.reading.inputs import LabelSets, Measures, Pooled, Runs, Texts, Votes
from prefjudge.reading.opened import Engine, reading
from prefjudge.reading.options import InputOptions
from prefjudge.reading.runs.health import RunHealth, health_of
from prefjudge.show.boards import (
    board_document,
    boards_screen,
    boards_tables,
    correlation_document,
    firmness_table,
    left_out_table,
    left_out_tau,
    main_boards,
    official_table,
    pair_agreement_table,
    pairings_table,
    per_query_table,
    scores_table,
    too_few_words,
    winratio_matrix,
)
from prefjudge.show.cells import Column, Table
from prefjudge.show.cells import Table as ShownTable
from prefjudge.show.plots import plot_leaderboard, plot_official, plot_two_boards, plot_win_ratios
from prefjudge.show.results import Screen, Shown, plain
from prefjudge.show.tables import to_frame, to_records
from prefjudge.steps.resolve import resolve_imported
from prefjudge.study.store import Study, open_study
from prefjudge.words import Rehearsal, json_text, many

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from prefjudge.show.boards import DataFrame


# What scoring runs comes to.


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class ScoreResult(Shown):
    """Leaderboards and what was asked for beside them.

    ``boards`` has one entry for each measure and label set: the leaderboard with tiers, rank intervals, tie
    sensitivity and the scores of every query. ``tau`` compares each two boards of one measure, as printed and
    over the queries that both label sets judge. ``not_judged`` are runs that no board ranks yet, as their
    challenge is under way; ``judged_tops`` says how many of the top passages of the others people compared.
    ``left_out_votings`` is how far the orders of runs agree that other votes like these give, beside the
    ranks of ``left_out``. What needs judgments or was not asked for is None or empty.
    """

    boards: tuple[Board, ...]
    tau: tuple[RankCorrelation, ...]
    winratio: WinRatios | None
    pair_agreement: tuple[PairAgreement, ...]
    left_out: tuple[LeftOut, ...]
    health: tuple[RunHealth, ...]
    provenance: dict[str, str]
    inputs: tuple[InputDigest, ...]
    out: tuple[str, ...]
    rehearsal: Rehearsal | None
    notices: tuple[str, ...]
    official: OfficialBoard | None = None
    pairings: tuple[Pairings, ...] = ()
    cycles: int | None = None
    not_judged: tuple[NotJudged, ...] = ()
    judged_tops: tuple[NotJudged, ...] = ()
    left_out_votings: TwoVotings | None = None
    votes_per_query: float | None = None
    dollars_per_query: float | None = None
    per_query: bool = False

    def document(self) -> dict[str, Any]:
        """Return its JSON, with the score of each query where that was asked for."""
        beside = ("winratio", "pair_agreement", "pairings", "cycles", "official", "not_judged", "judged_tops")
        made = ("health", "provenance", "inputs", "rehearsal")
        return {
            "leaderboards": [board_document(board) for board in self.boards],
            "tau": [correlation_document(pair) for pair in self.tau],
            **{name: plain(getattr(self, name)) for name in (*beside, *made)},
            "leave_one_out": plain(self.left_out),
            "leave_one_out_tau": plain(self.left_out_tau),
            "leave_one_out_two_votings": plain(self.left_out_votings),
            "votes_per_query": self.votes_per_query,
            "dollars_per_query": self.dollars_per_query,
            "out": self.out[0] if self.out else None,
            "files": list(self.out),
            **({"per_query": to_records(per_query_table(self.matrices))} if self.per_query else {}),
        }

    @property
    def matrices(self) -> tuple[Scores, ...]:
        """The scores of every query, for each board and its perfect ranking."""
        return tuple(scores for board in self.boards for scores in board.matrices)

    def screen(self) -> Screen:
        """Return the runs in their order by people's answers, and how sure that order is."""
        asked = [
            *([left_out_table(self.left_out, self.left_out_votings)] if self.left_out else []),
            *([official_table(self.official)] if self.official else []),
        ]
        shown = boards_screen(self.boards, self.tau, asked)
        if self.boards:
            main, _ = main_boards(self.boards)
            lacks = too_few_words(main.leaderboard, self.votes_per_query, self.dollars_per_query)
            shown = replace(shown, sure=(*([lacks] if lacks else []), *shown.sure))
        if not self.not_judged:
            return shown
        waits = many(len(self.not_judged), "run waits", "runs wait")
        return replace(shown, sure=(*shown.sure, f"{waits} for a challenge to end, and is not ranked yet."))

    @property
    def left_out_tau(self) -> float:
        """Kendall's tau between the runs' scores and those without their own passages; NaN without either."""
        return left_out_tau(self.left_out)

    @property
    def leaderboards(self) -> tuple[Leaderboard, ...]:
        """The leaderboards alone."""
        return tuple(board.leaderboard for board in self.boards)

    def plot(self) -> "Figure":
        """Return the board by people's answers, drawn; the first one where there is none."""
        board, _ = main_boards(self.boards)
        return plot_leaderboard(board.leaderboard, board.standings)

    def to_frame(self) -> "DataFrame":
        """Return every row of every board as a pandas DataFrame."""
        return to_frame(scores_table(self.leaderboards).made_with(self.provenance))

    def tables(self) -> tuple[ShownTable, ...]:
        """Return the boards, and what was asked for beside them."""
        ratios, firm = self.winratio, (self.boards, self.votes_per_query, self.dollars_per_query)
        judged = any(row.agree + row.disagree for row in self.pair_agreement)  # not of one document a query
        return (
            *boards_tables(self.boards, self.tau, self.not_judged, made=self.provenance),
            *([firmness_table(*firm)] if any(one.firmness for one in self.boards) else []),
            *([winratio_matrix(ratios, shown=best_runs(ratios, RUNS_SHOWN))] if ratios else []),
            *([pair_agreement_table(self.pair_agreement)] if judged else []),
            *([pairings_table(self.pairings, self.cycles)] if self.pairings else []),
            *([left_out_table(self.left_out, self.left_out_votings)] if self.left_out else []),
            *([official_table(self.official)] if self.official else []),
        )


# The files that ``score`` leaves behind.

LEADERBOARD_FILE = "leaderboard.csv"
WIN_RATIO_FILE = "winratio.csv"


def write_score(
    result: ScoreResult,
    found: Findings,
    *,
    out: str | Path | None,
    per_query: bool,
    plot: Path | None,
    order: RunOrder | None = None,
    engine: str = "files",
) -> tuple[str, ...]:
    """Write the boards, the scores of each query, what they were made from, plots, and a study's win ratios.

    Returns the files written, the boards first.
    """
    target = board_file(out, found.study)
    tables: dict[str | Path, Table] = {}
    if target:
        tables[target] = scores_table(result.leaderboards)
    if target and per_query:
        tables[per_query_file(target)] = per_query_table(result.matrices)
    if target and result.official:
        tables[official_file(target)] = official_table(result.official)
    own = own_file(found.study, WIN_RATIO_FILE) if found.study else None
    if own and result.winratio:
        tables[own] = winratio_matrix(result.winratio, numbered=False)
    for path, table in tables.items():
        write_table(path, table, engine, made=result.provenance, stamp=stamp_of(result.rehearsal))
    written = [*tables, *([_sidecar(result, target, engine)] if target else [])]
    plots = _draw(result, plot, order) if plot else []
    return tuple(map(str, [*written, *plots]))


def board_file(out: str | Path | None, study: Study | None) -> str | Path | None:
    """Return the file of the boards: what was asked for, or the study's."""
    return out or (own_file(study, LEADERBOARD_FILE) if study else None)


def score_files(out: str | Path | None, study: Study | None) -> list[str | Path]:
    """Return every file that may be written, but for plots."""
    target = board_file(out, study)
    boards = (
        [target, per_query_file(target), official_file(target), provenance_file(target)] if target else []
    )
    return [*boards, *([study.folder / WIN_RATIO_FILE] if study else [])]


def per_query_file(target: str | Path) -> str | Path:
    """Return the file of the scores of each query, beside that of the boards."""
    return beside(target, f"per-query{PurePath(target).suffix}")


def official_file(target: str | Path) -> str | Path:
    """Return the file of the runs on the official leaderboard, beside that of the boards."""
    return beside(target, f"official{PurePath(target).suffix}")


def provenance_file(target: str | Path) -> str | Path:
    """Return the file of what the boards were made from, beside them."""
    return beside(target, "provenance.json" if isinstance(target, Path) else "provenance.parquet")


def _sidecar(result: ScoreResult, target: str | Path, engine: str) -> str | Path:
    """Write what the tables were made from, beside them: a CSV file has no room for it."""
    path = provenance_file(target)
    if isinstance(target, Path):
        whole = {"provenance": result.provenance, "inputs": [asdict(found) for found in result.inputs]}
        write_text(path, json_text(whole) + "\n")
        return path
    rows = [*result.provenance.items(), *((f"{one.kind} {one.path}", one.digest) for one in result.inputs)]
    columns = (Column(name="name"), Column(name="value"))
    write_table(path, Table(title="Provenance", columns=columns, rows=tuple(rows)), engine)
    return path


def _draw(result: ScoreResult, plot: Path, order: RunOrder | None) -> list[Path]:
    """Draw each board, each two boards of a measure against each other, and the win ratios."""
    ordered = {"order": order.runs, "order_name": order.name} if order else {}
    board_plot = partial(plot_leaderboard, **ordered)  # type: ignore[arg-type]
    figures = [
        *(("", partial(board_plot, board.leaderboard, board.standings)) for board in result.boards),
        *(
            (".against", partial(plot_two_boards, a, b, tau=pair))
            for pair, (a, b) in zip(result.tau, compared_boards(result), strict=True)
        ),
        *([(".winratio", partial(plot_win_ratios, result.winratio))] if result.winratio else []),
        *([(".official", partial(plot_official, result.official))] if result.official else []),
    ]
    drawn: list[Path] = []
    for number, (kind, draw) in enumerate(figures):
        count = 1 + sum(other == kind for other, _ in figures[:number])
        numeral = f".{count}" if count > 1 else ""
        drawn.append(plot.with_name(f"{plot.stem}{kind}{numeral}{plot.suffix}"))
        write_figure(drawn[-1], draw(), stamp_of(result.rehearsal))
    return drawn


def compared_boards(result: ScoreResult) -> list[tuple[Leaderboard, Leaderboard]]:
    """Return the boards that each correlation compares."""
    found = {(board.leaderboard.measure, board.leaderboard.qrels): board for board in result.boards}
    boards = [[found[key] for key in zip(pair.measures, pair.qrels, strict=True)] for pair in result.tau]
    return [
        on_common_queries(a, b) if pair.over == "common queries" else (a.leaderboard, b.leaderboard)
        for pair, (a, b) in zip(result.tau, boards, strict=True)
    ]


def _price(study: Study) -> float:
    """Return what a vote costs as the study pays."""
    from prefjudge.field.crowd import read_prices  # and with it what crowds need

    hit = read_prices(study.config).submission(study.config.hit.reward, 1)
    return float(hit) / study.config.design.pairs_per_hit


# How much of the runs that wait for a challenge to end is judged already.


def count_not_judged(found: Findings) -> tuple[NotJudged, ...]:
    """Return how much of each waiting run's top is judged: earlier candidates, and what has a vote."""
    waiting, pools, votes = found.waiting, found.pools, found.judgments
    if waiting is None or pools is None or votes is None:
        return ()
    known = {
        (pools.queries[query], pools.docs[doc])
        for query, doc in zip(pools.query.tolist(), pools.doc.tolist(), strict=True)
    }
    voted = {
        (votes.queries[query], votes.docs[doc])
        for side in (votes.left, votes.right)
        for query, doc in zip(votes.query.tolist(), side.tolist(), strict=True)
    }
    with reading(waiting.files, found.order, found.notices, **found.read) as reader:
        return count_judged(found.heads(reader.top(1, set(pools.queries))), known - waiting.newcomers | voted)


def in_words(runs: Sequence[NotJudged]) -> dict[str, str]:
    """Return the provenance of runs that are not ranked yet; empty where there are none."""
    if not runs:
        return {}
    return {"not judged yet": ", ".join(f"{one.run} ({one.judged} of {one.queries})" for one in runs)}


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
    per_query: bool = False,
    health: bool = False,
    leave_one_out: bool = False,
    teams: str | Path | None = None,
    pool: Pooled | None = None,
    leaderboard: str | Path | None = None,
    order_by: str | Path | None = None,
    seed: Annotated[int, Ge(0)] | None = None,
    until: str | None = None,
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
        Imported votes that were not resolved yet are resolved first, as ``report`` does.
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
        Score only the queries that every label set judges.
    order : Order, optional
        What ranks a document higher.
    per_query : bool
        Write the score of each query under each run as well, beside ``out``.
    health : bool
        Report each run's health.
    leave_one_out : bool
        Rebuild the preference qrels without the passages that only one run contributed, for each run.
    teams : Path, optional
        With ``leave_one_out``: leave out what only the runs of a team contributed; left out one by one, they
        hide each other's part. On each line of the file a run, a tab, and its team; ``#`` begins a comment
        line. Or ``audit``: the teams as the ``leaderboard`` prints them.
    pool : Path, optional
        The pool that was judged, with who contributed what, as ``pool --out`` writes it; a study knows its
        own. Without either, a run contributed the judged passages that stand on top of it.
    leaderboard : Path, optional
        The CSV of the official leaderboard: adds its ranks and scores beside those of the first measure under
        the first label set (on all its queries, and on those of the second) and under the second.
    order_by : str or Path, optional
        Draw the runs in the order of a board: the name of a label set, or a leaderboard's CSV.
    seed : int, optional
        The seed of what is drawn; a study has its own.
    until : str, optional
        Make the board again that a study had at the end of this day in UTC, or at a time: yyyy-mm-dd or
        yyyy-mm-ddThh:mm. Runs, votes and answers are those of then; study.toml, files and texts are today's.
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
    opened = open_study(study, until)
    resolved = resolve_imported(opened) if opened and write else ()
    found = gather(
        opened,
        verb="score",
        runs=runs,
        qrels=qrels,
        judgments=judgments,
        judged_only=judged_only,
        queries=queries,
        common=common,
        pool=pool,
        order=order,
        seed=seed,
        how=how,
    )
    outputs = score_files(out, found.study)
    check_outputs(*outputs, inputs=found.paths, study=found.study, plot=plot, engine=engine, tables=True)
    by_labels, by_pairs = found.measures(measure)
    check_order(order_by, found)
    if teams is not None and not leave_one_out:
        raise InputError("--teams says whose passages --leave-one-out leaves out", "Add --leave-one-out.")
    for option, asked in (("--leave-one-out", leave_one_out), ("--leaderboard", leaderboard)):
        if asked and not by_labels:
            raise InputError(
                f"{option} scores runs under labels, but {by_pairs[0]} is computed from judged pairs",
                "Add a measure of labels, such as --measure RR@10.",
            )
    team_of = find_teams(teams, leaderboard)
    add_stamps(found, leaderboard, order_by)
    with found.reading(engine):
        result = scored(
            Boards(found, measure),
            leave_one_out=leave_one_out,
            team_of=team_of,
            health=health,
            leaderboard=leaderboard,
        )
    notices = tuple(dict.fromkeys((*resolved, *result.notices)))
    result = replace(result, notices=notices, per_query=per_query)
    if not write:
        return result
    if found.study:
        names = (WIN_RATIO_FILE,) if out else (LEADERBOARD_FILE, WIN_RATIO_FILE)
        unwritten = left_unwritten(found.study, *names)
        result = replace(result, notices=(*result.notices, *unwritten))
    shown = run_order(order_by, result.boards) if order_by and result.boards else None
    files = write_score(result, found, out=out, per_query=per_query, plot=plot, order=shown, engine=engine)
    return replace(result, out=files)


def scored(
    boards: Boards,
    *,
    leave_one_out: bool = False,
    team_of: TeamsOf | None = None,
    health: bool = False,
    leaderboard: str | Path | None = None,
) -> ScoreResult:
    """Return the result of scoring runs that are open, with what was asked for beside the boards."""
    found, votes, tau = boards.found, boards.votes, boards.tau
    apart, ratios = count_not_judged(found), boards.win_ratios
    left_out, left_out_votings = boards.left_out(team_of) if leave_one_out else ((), None)
    labels = found.qrels[0] if found.qrels else None
    each = len(found.judgments) / len(votes.labels.queries) if votes and found.judgments else None
    result = ScoreResult(
        boards=tuple(boards.all),
        tau=tau,
        winratio=ratios,
        pair_agreement=boards.agreement,
        left_out=left_out,
        left_out_votings=left_out_votings,
        health=tuple(health_of(found.reader, labels)) if health else (),
        out=(),
        official=official_scores(leaderboard, found, boards.by_labels[0], boards.all)
        if leaderboard
        else None,
        pairings=boards.pairings,
        cycles=votes.resolutions.counts()["cycle"] if votes else None,
        not_judged=apart,
        judged_tops=boards.tops,
        votes_per_query=each,
        dollars_per_query=_price(found.study) * each if found.study and each else None,
        **found.made_from(),
    )
    return replace(result, provenance=result.provenance | in_words(apart))
