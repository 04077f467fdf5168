"""Writes a study's report, an HTML page: leaderboards, changed answers, and how it was judged."""

from dataclasses import dataclass
from pathlib import Path
from typing import Unpack

from prefjudge.core.judges.rehearsal import Rehearsal
from prefjudge.counts import many
from prefjudge.errors import InputError, PrefjudgeError, StudyError, quoted
from prefjudge.formats.lines.atomic import write_text
from prefjudge.gather.inputs import as_path
from prefjudge.gather.once import asking_once
from prefjudge.gather.open_work import what_is_open
from prefjudge.gather.outputs import check_outputs, own_file
from prefjudge.gather.read_options import ReadOptions
from prefjudge.gather.stamps import stamp_of
from prefjudge.render.pages.report import Section, report_page
from prefjudge.render.shown import Shown
from prefjudge.steps.report.boards import boards_section
from prefjudge.steps.report.changed_answers import answers_section
from prefjudge.steps.report.closer_look import look_closer
from prefjudge.steps.report.judging import challenges_section, design_section, judging_section
from prefjudge.steps.report.material import Material
from prefjudge.steps.report.papers import top_section
from prefjudge.steps.status import StatusResult, status
from prefjudge.study.study import Study, open_study

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
        material = Material(study=opened, state=state, how=how)
        sections = _sections(material)
        page = report_page(
            opened.config.name,
            _lead(state, what_is_open(opened)),
            sections,
            (said := tuple(dict.fromkeys(material.notices))),
            stamp_of(state.rehearsal),
            look_closer(material),
        )
    write_text(path, page)
    return ReportResult(
        study=str(opened.folder),
        out=str(path),
        sections=tuple(section.heading for section in sections),
        plots=sum(len(section.pictures) for section in sections),
        rehearsal=state.rehearsal,
        notices=said,
    )


def _sections(material: Material) -> list[Section]:
    """Return how far the study is; the material's notices grow by what a reader must know."""
    sections: list[Section] = []
    for part in (
        boards_section,
        top_section,
        answers_section,
        challenges_section,
        judging_section,
        design_section,
    ):
        try:
            sections += part(material)
        except PrefjudgeError as error:  # the study has no such section yet, or its files are gone
            material.notices.append(error.message)
    return sections


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
