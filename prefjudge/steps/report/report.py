"""Writes a study's report, an HTML page: leaderboards, changed answers, and how it was judged."""

from collections import Counter
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
from prefjudge.steps.report.files import folder_for, table_form, write_paper, write_plots, write_tables
from prefjudge.steps.report.judging import challenges_section, design_section, judging_section
from prefjudge.steps.report.material import Material
from prefjudge.steps.report.methods import methods_section, people_of
from prefjudge.steps.report.papers import top_section
from prefjudge.steps.status import StatusResult, status
from prefjudge.study.models import load_votes
from prefjudge.study.rehearsal import load_judges
from prefjudge.study.study import Study, open_study

REPORT_FILE = "report.html"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ReportResult(Shown):
    """What a report holds: the headings of its sections, how many plots, and the files written beside it."""

    study: str
    out: str
    sections: tuple[str, ...]
    plots: int
    files: tuple[str, ...]
    rehearsal: "Rehearsal | None"
    notices: tuple[str, ...]


def report(
    study: str | Path | Study,
    *,
    out: str | Path | None = None,
    plots: str | Path | None = None,
    tables: tuple[str, str | Path] | None = None,
    bibtex: bool = False,
    **how: Unpack[ReadOptions],
) -> ReportResult:
    """Write a study's report: one HTML file that needs nothing else, with no worker's id in it.

    What the study does not have yet is left out, and a notice says so. Nothing but the page is written, and
    what else is asked for.

    Parameters
    ----------
    study : Path
        The study's folder.
    out : Path, optional
        The file; ``report.html`` in the study by default.
    plots : Path, optional
        A folder: write every plot of the page there, as SVG and PNG.
    tables : (str, Path), optional
        A form (``tex``, ``md`` or ``csv``) and a folder: write every table of the page there.
    bibtex : bool
        Write a paragraph on methods with the study's numbers for a paper, as LaTeX, and what it cites.
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
        draw_into = None if plots is None else folder_for("--plots", plots, opened)
        form = table_form(tables[0]) if tables else ""
        into = folder_for("--tables", tables[1], opened) if tables else None
        state = status(opened, confidence=False)
        if not state.queries:
            raise StudyError(
                f"{opened.folder} has no pool", f"Run: prefjudge pool {quoted(opened.folder)} --runs …"
            )
        material = Material(study=opened, state=state, how=how, keep_figures=draw_into is not None)
        sections = _sections(material)
        page = report_page(
            opened.config.name,
            _lead(opened, state, what_is_open(opened)),
            sections,
            (said := tuple(dict.fromkeys(material.notices))),
            stamp_of(state.rehearsal),
            look_closer(material),
        )
        files = [
            *(write_plots(material, draw_into) if draw_into else []),
            *(write_tables(material, sections, form, into) if into else []),
            *(write_paper(material, path) if bibtex else []),
        ]
    write_text(path, page)
    return ReportResult(
        study=str(opened.folder),
        out=str(path),
        sections=tuple(section.heading for section in sections),
        plots=sum(len(section.pictures) for section in sections),
        files=tuple(map(str, files)),
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
        methods_section,
        design_section,
    ):
        try:
            sections += part(material)
        except PrefjudgeError as error:  # the study has no such section yet, or its files are gone
            material.notices.append(error.message)
    return sections


def _lead(study: Study, state: StatusResult, under_way: str) -> list[str]:
    """Return what was asked, who judged, and whether more is to come."""
    pools = f"the pools of {many(state.queries, 'query')} have {many(state.pairs, 'pair')}"
    dropped = f", and {state.dropped_judgments:,} do not" if state.dropped_judgments else ""
    judged = (
        f"{many(state.judgments, 'judgment')} count{dropped}"
        if state.assignments
        else "no pair is judged yet"
    )
    return [
        f"Passages are compared side by side: {pools}; {judged}.",
        *_who_judged(study),
        *([f"The study is under way: {under_way}."] if under_way else []),
    ]


def _who_judged(study: Study) -> list[str]:
    with study.transaction(write=False) as db:
        judges, models = load_judges(db), Counter(model for model, _ in load_votes(db))
    told = [f"{many(one.judgments, 'judgment')} of {people_of(one)}" for one in judges]
    asked = [f"{name} ({many(count, 'pair')})" for name, count in models.items()]
    return [
        *([f"Who judged: {'; '.join(told)}."] if told else []),
        *([f"Models were asked, too, and do not count among these: {', '.join(asked)}."] if asked else []),
    ]
