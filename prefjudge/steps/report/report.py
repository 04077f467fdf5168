"""Writes a study's report, an HTML page: leaderboards, changed answers, and how it was judged."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

from prefjudge.core.judges.rehearsal import Rehearsal
from prefjudge.counts import many
from prefjudge.errors import InputError, PrefjudgeError, StudyError, quoted
from prefjudge.evaluation.leaderboards.correlation import RankCorrelation
from prefjudge.evaluation.leaderboards.leaderboard import Leaderboard
from prefjudge.formats.lines.atomic import write_text
from prefjudge.gather.inputs import as_path
from prefjudge.gather.once import asking_once
from prefjudge.gather.open_work import what_is_open
from prefjudge.gather.outputs import check_outputs, own_file
from prefjudge.gather.read_options import ReadOptions
from prefjudge.gather.stamps import stamp_of
from prefjudge.render.pages.report import Section, report_page
from prefjudge.render.plots.leaderboards import plot_leaderboard, plot_pool_sizes, plot_two_boards
from prefjudge.render.shown import Shown
from prefjudge.render.tables.history import changes_table
from prefjudge.render.tables.leaderboard import ceiling_words, perfect_words
from prefjudge.render.tables.score import score_tables
from prefjudge.render.tables.worker import remarks_table, workers_table
from prefjudge.render.text.cells import Column, Table
from prefjudge.steps.history import Version, history
from prefjudge.steps.report.changed_answers import answers_section
from prefjudge.steps.report.papers import drawn, outcomes_section, top_section
from prefjudge.steps.score.files import compared_boards
from prefjudge.steps.score.score import score
from prefjudge.steps.status import StatusResult, status
from prefjudge.study.imports import has_workers, load_imports
from prefjudge.study.models import load_votes
from prefjudge.study.pooling import is_published, load_inputs, load_pool_sizes
from prefjudge.study.study import Study, open_study
from prefjudge.version import __version__

if TYPE_CHECKING:
    from matplotlib.figure import Figure

REPORT_FILE = "report.html"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ReportResult(Shown):
    """What a report holds: the headings of its sections, and how many plots."""

    study: str
    out: str
    sections: tuple[str, ...]
    plots: int
    rehearsal: "Rehearsal | None"
    notices: tuple[str, ...]


def report(
    study: str | Path | Study,
    *,
    out: str | Path | None = None,
    **how: Unpack[ReadOptions],
) -> ReportResult:
    """Write a study's report: one HTML file that needs nothing else, with no worker's id in it.

    What the study does not have yet is left out, and a notice says so. Nothing but the page is written. Plots
    need the extra ``plot``.

    Parameters
    ----------
    study : Path
        The study's folder.
    out : Path, optional
        The file; ``report.html`` in the study by default.
    **how
        How the runs are read: the words of `ReadOptions`.

    Raises
    ------
    InputError
        The file is not one that HTML can be written to.
    StudyError
        The folder holds no study, or the study has no pool.
    """
    opened = open_study(study)
    path = as_path(out) or own_file(opened, REPORT_FILE)
    if path is None:
        raise InputError(f"{opened.folder} may only be read", "Write the page elsewhere: --out FILE.html")
    if path.suffix.lower() not in (".html", ".htm"):
        raise InputError(f"{path}: a report is an HTML page", "Give it a name that ends in .html.")
    # A study that is being collected shows one state in all sections, and its runs are read once for them.
    with opened.reading(), asking_once():
        check_outputs(path, study=opened)
        state = status(opened, confidence=False)
        if not state.queries:
            raise StudyError(
                f"{opened.folder} has no pool", f"Run: prefjudge pool {quoted(opened.folder)} --runs …"
            )
        lead = _lead(state, what_is_open(opened))
        sections, said = _sections(opened, state, how)
    write_text(path, report_page(opened.config.name, lead, sections, said, stamp_of(state.rehearsal)))
    return ReportResult(
        study=str(opened.folder),
        out=str(path),
        sections=tuple(section.heading for section in sections),
        plots=sum(len(section.pictures) for section in sections),
        rehearsal=state.rehearsal,
        notices=said,
    )


def _sections(study: Study, state: StatusResult, how: ReadOptions) -> tuple[list[Section], tuple[str, ...]]:
    """Return how far the study is, and what a reader must know."""
    notices: list[str] = []
    sections: list[Section] = []
    for part in (
        partial(_leaderboards, study, how),
        partial(top_section, study, how),
        partial(answers_section, study),
        partial(_challenges, study),
        partial(_judging, study, state),
        partial(_design, study),
    ):
        try:
            sections += part(notices)
        except PrefjudgeError as error:  # the study has no such section yet, or its files are gone
            notices.append(error.message)
    return sections, tuple(dict.fromkeys(notices))


def _lead(state: "StatusResult", under_way: str) -> list[str]:
    pools = f"the pools of {many(state.queries, 'query')} have {many(state.pairs, 'pair')}"
    dropped = f", and {state.dropped_judgments:,} do not" if state.dropped_judgments else ""
    judged = (
        f"{many(state.judgments, 'judgment')} count{dropped}"
        if state.assignments
        else "no pair is judged yet"
    )
    return [
        f"Passages are compared side by side: {pools}; {judged}.",
        *([f"The study is under way: {under_way}."] if under_way else []),
    ]


def _leaderboards(study: "Study", how: ReadOptions, notices: list[str]) -> "list[Section]":
    result = score(study, write=False, **how)
    notices.extend(result.notices)
    shown: list[tuple[Sequence[Leaderboard], RankCorrelation | None, Callable[[], Figure]]] = [
        ((a, b), pair, partial(plot_two_boards, a, b, tau=pair))
        for pair, (a, b) in zip(result.tau, compared_boards(result), strict=True)
    ] or [
        ((one.leaderboard,), None, partial(plot_leaderboard, one.leaderboard, one.standings))
        for one in result.boards
    ]
    pictures = [
        picture
        for boards, _, draw in shown
        for picture in drawn(
            draw,
            " and ".join(f"{one.measure}, {one.qrels} qrels" for one in boards),
            notices,
            result.rehearsal,
        )
    ]
    tables = score_tables(
        result.boards,
        tau=result.tau,
        winratio=result.winratio,
        pair_agreement=result.pair_agreement,
        not_judged=result.not_judged,
        pairings=result.pairings,
        cycles=result.cycles,
    )
    finding = " ".join(_best_runs(boards, pair) for boards, pair, _ in shown)
    return [
        Section(heading="Leaderboards", finding=finding, pictures=tuple(pictures), tables=tuple(tables)),
        *outcomes_section(study, result, how, notices),
    ]


def _best_runs(boards: "Sequence[Leaderboard]", pair: "RankCorrelation | None") -> str:
    """Return sentences on the best run of one leaderboard or of two, and on those better than perfect."""
    ranked = [[row.run for row in board.ranked if row.rank == 1] for board in boards]
    first = [runs[0] if len(runs) == 1 else f"any of {len(runs)} runs" for runs in ranked]
    best = [f"{run} under the {board.qrels} qrels" for run, board in zip(first, boards, strict=True)]
    if len(ranked) > 1 and ranked[0] == ranked[1]:
        best = [f"{first[0]} under both qrels"]
    over = " and ".join(dict.fromkeys(many(board.queries, "query") for board in boards))
    beyond = [f" By {board.measure} {perfect_words(board)}." for board in boards if board.perfect]
    return (
        f"By {boards[0].measure} over {over} the best run is {', and '.join(best)}{_kendall(pair)}."
        + "".join(beyond)
    )


def _kendall(pair: "RankCorrelation | None") -> str:
    if pair is None or not isfinite(pair.tau):
        return ""
    others = (
        "" if pair.same_queries else f", and {pair.common.tau:.2f} over the {pair.queries:,} common queries"
    )
    if pair.over == "common queries":
        others = f", and {pair.printed.tau:.2f} between the boards as printed"
    return f"; Kendall's τ is {pair.tau:.2f}{ceiling_words(pair)}{others}"


def _challenges(study: "Study", notices: list[str]) -> "list[Section]":
    """Return what became of the newcomers of new runs, where there were any."""
    versions = history(study, moves=False).versions
    if len(versions) < 2:
        return []
    findings = [
        f"{many(sum(not duel.returned for duel in one.duels), 'newcomer')} met the best answers, and "
        f"{sum(duel.dethroned and not duel.returned for duel in one.duels):,} took their place"
        f"{_returned(one)}: version {one.version}."
        for one in versions[1:]
    ]
    table = changes_table({one.version: (one.changes, one.duels) for one in versions})
    return [Section(heading="Challenges", finding=" ".join(findings), tables=(table,) if table.rows else ())]


def _returned(version: Version) -> str:
    count = sum(duel.returned for duel in version.duels)
    return f"; in {count:,} an earlier candidate is the best after all" if count else ""


def _judging(study: "Study", state: "StatusResult", notices: list[str]) -> "list[Section]":
    from prefjudge.steps.workers.workers import workers

    with study.transaction(write=False) as db:
        sizes, models = load_pool_sizes(db), Counter(model for model, _ in load_votes(db))
    shown = "How many queries have a pool of each size"
    pictures = drawn(partial(plot_pool_sizes, sizes), shown, notices, state.rehearsal)
    hits = ", ".join(f"{count:,} {name}" for name, count in state.hits.items()) or "none"
    of_budget = f" of a budget of ${state.budget}" if state.budget else ""
    kept = ", ".join(f"{count:,} {verdict}" for verdict, count in state.verdicts.items())
    barred = f" Barred: {many(len(state.barred), 'worker')}." if state.barred else ""
    finding = f"HITs: {hits}. {many(state.assignments, 'assignment')}{f': {kept}' if kept else ''}.{barred}"
    words = [
        f"Committed: ${state.committed}{of_budget}.",
        *(
            f"The model {model} also judged {many(pairs, 'pair')}; its votes are not among the judgments."
            for model, pairs in models.items()
        ),
    ]
    tables = []
    with study.transaction(write=False) as db:
        imports = load_imports(db)
        named = has_workers(db)
    words += [
        f"{many(one.votes, 'vote')} were imported from {one.name}, as {one.form}"
        f"{f' on {one.criterion}' if one.criterion else ''}; nothing was paid for them here."
        for one in imports
        if one.votes
    ]
    if named:
        found = workers(study)
        tables.append(workers_table([asdict(one) for one in found.workers], found.notices))
        if found.remarks:
            tables.append(remarks_table([asdict(one) for one in found.remarks]))
        if found.repeated:
            words.append(
                f"Krippendorff's alpha over {many(found.repeated, 'repeated pair')}: {found.alpha:.3f}."
            )
        if found.kept and all(one.sides for one in imports):
            words.append(
                f"The passage on the left won {found.left_rate:.1%} of the comparisons "
                f"(p = {found.left_p:.3g})."
            )
    return [
        Section(
            heading="Judging",
            finding=finding,
            words=tuple(words),
            pictures=tuple(pictures),
            tables=tuple(tables),
        )
    ]


def _design(study: "Study", notices: list[str]) -> "list[Section]":
    config, design, pool = study.config, study.config.design, study.config.pool
    with study.transaction(write=False) as db:
        inputs, imports = load_inputs(db), load_imports(db)
        published = is_published(db) or not imports
    strategy = ", with ".join(filter(None, map(study.setting, ("strategy", "strategy model"))))
    rows = (
        ("pool", f"top {pool.depth} of each run, order {pool.order}, qrels {pool.qrels}"),
        ("HIT", f"{many(design.pairs_per_hit, 'pair')}, {many(design.gold_per_hit, 'hidden gold pair')}"),
        ("strategy", strategy) if strategy else ("judgments of a pair", str(design.judgments_per_pair)),
        ("screening", str(config.screening.policy)),
        ("reward", f"${config.hit.reward:.2f}"),
        ("rule", config.rule),
        ("seed", str(config.seed)),
        ("prefjudge", __version__),
    )
    made_from = (
        *((one.kind, one.name, one.digest) for one in inputs),
        *(("votes", one.name, one.digest) for one in imports),
    )
    what, value = Column(name="what"), Column(name="value")
    kind, name, digest = Column(name="kind"), Column(name="name"), Column(name="digest")
    return [
        Section(
            heading="How it was made",
            finding=f"Workers were asked: {design.question}"
            if published
            else "The votes were imported; what people were asked is not known here.",
            tables=(
                Table(title="Design", columns=(what, value), rows=rows if published else rows[-3:]),
                Table(title="Made from", columns=(kind, name, digest), rows=made_from),
            ),
        )
    ]
