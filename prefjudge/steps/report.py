"""Writes one page of what a study found, for people: leaderboards, changed answers, and how it was judged."""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from prefjudge.errors import InputError, PrefjudgeError, StudyError
from prefjudge.steps.inputs import as_path

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from prefjudge.core.judgments import Judgments
    from prefjudge.render.report_page import Change, Picture, Section
    from prefjudge.steps.status import StatusResult
    from prefjudge.study.study import Study

REPORT_FILE = "report.html"
_MOST_CHANGES = 12
"""Changed answers that are shown with their texts."""
_MOST_ROWS = 500
"""Queries that are listed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportResult:
    """What a report holds: the headings of its sections, and how many plots."""

    study: str
    out: str
    sections: tuple[str, ...]
    plots: int
    notices: tuple[str, ...]


def report(study: str | Path, *, out: str | Path | None = None) -> ReportResult:
    """Write a study's report: one HTML file that needs nothing else, with no worker's id in it.

    What the study does not have yet is left out, and said. Plots need the extra ``plot``.

    Parameters
    ----------
    study : Path
        The study.
    out : Path, optional
        The file; ``report.html`` in the study by default.

    Raises
    ------
    InputError
        The file is none that HTML is written to.
    StudyError
        The folder holds no study, or the study has no pool.
    """
    from prefjudge.formats.atomic import write_text
    from prefjudge.render.report_page import report_page
    from prefjudge.steps.outputs import check_outputs
    from prefjudge.steps.status import status
    from prefjudge.study.study import Study

    opened = Study(Path(study))
    path = as_path(out) or opened.folder / REPORT_FILE
    if path.suffix.lower() not in (".html", ".htm"):
        raise InputError(f"{path}: a report is an HTML page", "Let its name end in .html.")
    check_outputs(path, study=opened.folder)
    state = status(opened.folder)
    if not state.queries:
        raise StudyError(f"{opened.folder} has no pool", f"Run: prefjudge pool {opened.folder} --runs …")
    notices: list[str] = []
    sections = []
    for part in (_leaderboards, _answers, _judging, _design):
        try:
            found = part(opened, state, notices)
        except PrefjudgeError as error:  # the study has not come so far, or its files have gone
            notices.append(error.message)
            continue
        sections.append(found)
    write_text(path, report_page(opened.config.name, _lead(state), sections, tuple(dict.fromkeys(notices))))
    return ReportResult(
        study=str(opened.folder),
        out=str(path),
        sections=tuple(section.heading for section in sections),
        plots=sum(len(section.pictures) for section in sections),
        notices=tuple(dict.fromkeys(notices)),
    )


def _lead(state: "StatusResult") -> str:
    from prefjudge.render.counts import many

    counts = (
        many(state.queries, "query", "queries"),
        many(state.pairs, "pair"),
        f"{many(state.judgments, 'judgment')} that count and {state.dropped_judgments:,} that do not",
        *([f"{many(state.waiting, 'pair')} that still wait"] if state.waiting else ()),
    )
    return f"Workers compared the top passages of the runs side by side: {', '.join(counts)}."


def _leaderboards(study: "Study", state: "StatusResult", notices: list[str]) -> "Section":
    from prefjudge.render.plots import plot_leaderboard, plot_two_boards
    from prefjudge.render.report_page import Section
    from prefjudge.render.score_tables import score_tables
    from prefjudge.steps.score import score

    result = score(study.folder)
    boards = [board.leaderboard for board in result.boards]
    measures = list(dict.fromkeys(board.measure for board in boards))
    pictures: list[Picture] = []
    for measure in measures:
        first, *others = (board for board in boards if board.measure == measure)
        words = f"{measure} of each run under {first.qrels}"
        if not others:
            pictures += _drawn(partial(plot_leaderboard, first), words, notices)
        for other in others:
            pictures += _drawn(partial(plot_two_boards, first, other), f"{words} and {other.qrels}", notices)
    tables = score_tables(result.boards, tau=result.tau, winratio=result.winratio)
    notices.extend(result.notices)
    return Section(heading="Leaderboards", pictures=tuple(pictures), tables=tuple(tables))


def _drawn(draw: "Callable[[], Figure]", words: str, notices: list[str]) -> "list[Picture]":
    from prefjudge.render.figures import render_figure
    from prefjudge.render.report_page import Picture

    try:
        return [Picture(words=words, svg=render_figure(draw(), "svg"))]
    except InputError as error:  # matplotlib is not installed
        notices.append(error.message)
        return []


def _answers(study: "Study", state: "StatusResult", notices: list[str]) -> "Section":
    from prefjudge.core.preferences import resolve
    from prefjudge.core.sureness import resolved_queries
    from prefjudge.render.counts import many
    from prefjudge.render.report_page import Section
    from prefjudge.render.resolution_tables import per_query_table
    from prefjudge.steps.votes import fitting_rule, gather_votes

    votes = gather_votes(study.folder, None, verb="report")
    (rule,), said = fitting_rule(votes)
    notices.extend(said)
    found = resolve(votes.log, rule=rule, pools=votes.pools, asked=votes.asked)
    decided = ", ".join(f"{count:,} {status}" for status, count in found.counts().items() if count)
    changes, shared = _changes(study, votes.log, {one.query_id: one.winners for one in found})
    words = [f"By the rule {rule}: {decided}."]
    if shared:
        words.append(
            f"Of {many(shared, 'query', 'queries')} with a labelled passage and a best answer, another "
            f"passage is preferred in {len(changes):,} ({len(changes) / shared:.0%})."
        )
    rows = resolved_queries(found, None)
    if len(rows) > _MOST_ROWS:
        rows = tuple(row for row in rows if row.status != "single")[:_MOST_ROWS]
        words.append(f"Listed are queries without a single best answer, {_MOST_ROWS:,} at most.")
    if changes:
        shown = f"The first {_MOST_CHANGES} of those" if len(changes) > _MOST_CHANGES else "Those"
        words.append(f"{shown} are shown below, with the votes between the two passages.")
    return Section(
        heading="Best answers",
        words=tuple(words),
        tables=(per_query_table(rows),) if rows else (),
        changes=tuple(changes[:_MOST_CHANGES]),
    )


def _changes(
    study: "Study", log: "Judgments", winners: Mapping[str, tuple[str, ...]]
) -> "tuple[list[Change], int]":
    """Return the queries whose labelled passage is not a best one, and how many have both."""
    from prefjudge.render.report_page import Change
    from prefjudge.study.pooling import load_inputs, load_passages, load_pools, load_queries

    with study.transaction(write=False) as db:
        pools, inputs = load_pools(db), load_inputs(db)
        queries, passages = load_queries(db), load_passages(db)
    names = {one.name for one in inputs if one.kind == "qrels"}
    rows = [
        row
        for row, source in zip(pools.source_row.tolist(), pools.source.tolist(), strict=True)
        if pools.sources[source] in names
    ]
    labelled: dict[str, list[str]] = {}
    for row in rows:
        labelled.setdefault(pools.queries[pools.query[row]], []).append(pools.docs[int(pools.doc[row])])
    won: Counter[tuple[str, str, str]] = Counter()
    for query, left, right, choice in zip(log.query, log.left, log.right, log.choice, strict=True):
        if choice:
            a, b = (left, right) if choice > 0 else (right, left)
            won[log.queries[query], log.docs[a], log.docs[b]] += 1
    changes, both = [], 0
    for query, known in labelled.items():
        best = winners.get(query, ())
        both += bool(best)
        if best and not set(best) & set(known):
            changes.append(
                Change(
                    query=queries.get(query, query),
                    labelled=passages.get(known[0], known[0]),
                    best=passages.get(best[0], best[0]),
                    votes_for=won[query, best[0], known[0]],
                    votes_against=won[query, known[0], best[0]],
                )
            )
    return changes, both


def _judging(study: "Study", state: "StatusResult", notices: list[str]) -> "Section":
    from prefjudge.render.counts import many
    from prefjudge.render.plots import plot_pool_sizes
    from prefjudge.render.report_page import Section
    from prefjudge.render.worker_tables import workers_table
    from prefjudge.steps.workers import workers
    from prefjudge.study.pooling import load_pools

    with study.transaction(write=False) as db:
        sizes = load_pools(db).histogram
    pictures = _drawn(partial(plot_pool_sizes, sizes), "How many queries have a pool of each size", notices)
    hits = ", ".join(f"{count:,} {name}" for name, count in state.hits.items()) or "none"
    of_budget = f" of a budget of ${state.budget}" if state.budget else ""
    kept = ", ".join(f"{count:,} {verdict}" for verdict, count in state.verdicts.items())
    words = [
        f"HITs: {hits}. {many(state.assignments, 'assignment')}{f': {kept}' if kept else ''}.",
        f"Committed: ${state.committed}{of_budget}.",
    ]
    tables = []
    if state.assignments:
        found = workers(study.folder)
        tables.append(workers_table([asdict(one) for one in found.workers]))
        if found.repeated:
            words.append(
                f"Krippendorff's alpha over {many(found.repeated, 'repeated pair')}: {found.alpha:.3f}."
            )
        words.append(
            f"The passage on the left won {found.left_rate:.1%} of the comparisons (p = {found.left_p:.3g})."
        )
    return Section(heading="Judging", words=tuple(words), pictures=tuple(pictures), tables=tuple(tables))


def _design(study: "Study", state: "StatusResult", notices: list[str]) -> "Section":
    from prefjudge import __version__
    from prefjudge.render.cells import Column, Table
    from prefjudge.render.report_page import Section
    from prefjudge.study.pooling import load_inputs

    config, pool = study.config, study.config.pool
    with study.transaction(write=False) as db:
        inputs = load_inputs(db)
    design = [
        ("question", config.design.question),
        (
            "pool",
            f"top {pool.depth} of each run, order {pool.order}, qrels {pool.qrels}",
        ),
        ("HIT", f"{config.design.pairs_per_hit} pairs, {config.design.gold_per_hit} hidden gold pairs"),
        ("judgments of a pair", str(config.design.judgments_per_pair)),
        ("screening", str(config.screening.policy)),
        ("reward", f"${config.hit.reward:.2f}"),
        ("rule", config.rule),
        ("seed", str(config.seed)),
        ("prefjudge", __version__),
    ]
    return Section(
        heading="How it was made",
        tables=(
            Table(title="Design", columns=(Column(name="what"), Column(name="value")), rows=tuple(design)),
            Table(
                title="Made from",
                columns=(Column(name="kind"), Column(name="name"), Column(name="digest")),
                rows=tuple((one.kind, one.name, one.digest) for one in inputs),
            ),
        ),
    )
