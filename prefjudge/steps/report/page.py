"""Makes the page of a report, and what goes beside it."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from prefjudge.errors import PrefjudgeError
from prefjudge.findings.answers import open_words
from prefjudge.findings.outputs import stamp_of
from prefjudge.pages.page import Section, report_page
from prefjudge.reading.files import write_text
from prefjudge.reading.once import asking_once
from prefjudge.reading.run_options import ReadOptions
from prefjudge.show.results import Shown
from prefjudge.steps.report.boards import boards_section
from prefjudge.steps.report.changed_answers import answers_section
from prefjudge.steps.report.closer_look import look_closer
from prefjudge.steps.report.files import write_paper, write_plots, write_tables
from prefjudge.steps.report.judging import challenges_section, design_section, judging_section
from prefjudge.steps.report.material import Given, Material
from prefjudge.steps.report.methods import methods_section, people_of
from prefjudge.steps.report.papers import top_section
from prefjudge.steps.status.status import status
from prefjudge.study.imports import load_votes
from prefjudge.study.progress import Stage, lacking
from prefjudge.study.store import Study
from prefjudge.words import Rehearsal, many


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """The files to write: the page, and folders for plots and for tables in a form; None where not wanted."""

    page: Path
    plots: Path | None
    form: str
    tables: Path | None
    bibtex: bool


def make_report(
    study: Study, wanted: Wanted, given: Given, how: ReadOptions, noted: Sequence[str]
) -> tuple[ReportResult, str]:
    """Write the page and what is wanted beside it, and return the page, too.

    Raises
    ------
    StudyError
        The study has no pool.
    """
    # A study that is being collected shows one state in all sections, and its runs are read once for them.
    with study.reading(), asking_once():
        state = status(study, confidence=False)
        if not state.queries:
            raise lacking(study, Stage.POOL)
        material = Material(
            study=study,
            state=state,
            how=how,
            given=given,
            keep_figures=wanted.plots is not None,
            notices=[*noted],
        )
        if given.get("runs"):
            _ = (
                material.scored
            )  # what is wrong with a file that was given is an error, not a gap of the study
        sections = _sections(material)
        notices = tuple(dict.fromkeys(material.notices))
        lead, closer = _lead(material), look_closer(material)
        stamp = stamp_of(state.rehearsal)
        # the stamp is in sight all the time, and the answers' own begins with where they lie on this machine
        told = [notice for notice in notices if not (stamp and notice.endswith(stamp))]
        page = report_page(study.config.name, lead, sections, told, stamp, closer)
        files = [
            *(write_plots(material, wanted.plots) if wanted.plots else []),
            *(write_tables(material, sections, wanted.form, wanted.tables) if wanted.tables else []),
            *(write_paper(material, wanted.page) if wanted.bibtex else []),
        ]
    write_text(wanted.page, page)
    result = ReportResult(
        study=str(study.folder),
        out=str(wanted.page),
        sections=tuple(section.heading for section in sections),
        plots=sum(len(section.pictures) for section in sections),
        files=tuple(map(str, files)),
        rehearsal=state.rehearsal,
        notices=notices,
    )
    return result, page


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


def _lead(material: Material) -> list[str]:
    """Return what was asked, who judged, and whether more is to come."""
    state = material.state
    under_way = open_words(state.hits, state.waiting, state.challenge)
    not_asked = state.waiting and state.judgments and not state.hits  # votes that were imported
    pools = f"the pools of {many(state.queries, 'query')} have {many(state.pairs, 'pair')}"
    dropped = f", and {state.dropped_judgments:,} do not" if state.dropped_judgments else ""
    judged = (
        f"{many(state.judgments, 'judgment')} {'counts' if state.judgments == 1 else 'count'}{dropped}"
        if state.assignments
        else "no pair is judged yet"
    )
    return [
        f"Passages are compared side by side: {pools}; {judged}.",
        *_who_judged(material),
        *([f"The study is under way: {under_way}."] if under_way else []),
        *([f"{many(state.waiting, 'pair lacks', 'pairs lack')} votes."] if not_asked else []),
    ]


def _who_judged(material: Material) -> list[str]:
    with material.study.transaction(write=False) as db:
        models = Counter(model for model, _ in load_votes(db))
    told = [f"{many(one.judgments, 'judgment')} of {people_of(one)}" for one in material.judges]
    asked = [f"{name} ({many(count, 'pair')})" for name, count in models.items()]
    return [
        *([f"Who judged: {'; '.join(told)}."] if told else []),
        *([f"Models were asked, too, and do not count among these: {', '.join(asked)}."] if asked else []),
    ]
