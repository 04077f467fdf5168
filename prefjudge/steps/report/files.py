"""The files that a report leaves beside its page: plots, tables, and what a paper takes."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from prefjudge.errors import InputError
from prefjudge.findings.outputs import check_outputs, stamp_of, write_figure, write_table
from prefjudge.pages.methods import to_bibtex, to_latex
from prefjudge.pages.page import Section
from prefjudge.reading.files import write_text
from prefjudge.show.cells import Bold, Cell, Table, Unsure, bare
from prefjudge.steps.report.material import Material
from prefjudge.steps.report.methods import describe_methods
from prefjudge.study.store import Study

TABLE_FORMS = ("tex", "md", "csv")
_FIGURES = ("svg", "png")


def folder_for(option: str, path: str | Path, study: Study) -> Path:
    """Return a folder that files can be written into; it is made when they are.

    Raises
    ------
    InputError
        It is a file, or what the study was made from is in it.
    """
    folder = Path(path)
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{option} {folder}: this is a file", "Give a folder; a new one is made.")
    if study.folder.exists() and folder.exists() and folder.samefile(study.folder):
        raise InputError(f"{option} {folder}: this is the study's own folder", "Give another one.")
    return folder


def table_form(form: str) -> str:
    """Return the form in which tables are written.

    Raises
    ------
    InputError
        There is no such form.
    """
    if form not in TABLE_FORMS:
        raise InputError(
            f"--tables {form}: tables are not written so",
            f"Give one of {', '.join(TABLE_FORMS)}, and a folder: --tables tex DIR",
        )
    return form


def write_plots(material: Material, folder: Path) -> list[Path]:
    """Write every plot of the page as SVG and PNG."""
    files = [
        (folder / f"{stem}.{form}", figure)
        for name, figures in material.figures.items()
        for stem, figure in zip(_numbered(name, len(figures)), figures, strict=True)
        for form in _FIGURES
    ]
    _ready(material, folder, [path for path, _ in files])
    for path, figure in files:
        write_figure(path, figure, stamp_of(material.state.rehearsal))
    return [path for path, _ in files]


def write_tables(material: Material, sections: Sequence[Section], form: str, folder: Path) -> list[Path]:
    """Write every table of the page, numbered in its order."""
    files = [(folder / f"{stem}.{form}", table) for stem, table in _named(sections)]
    _ready(material, folder, [path for path, _ in files])
    for path, table in files:
        write_table(path, _inert(table) if form == "csv" else table, stamp=stamp_of(material.state.rehearsal))
    return [path for path, _ in files]


def write_paper(material: Material, page: Path) -> list[Path]:
    """Write the paragraph on methods as LaTeX, and what it cites as BibTeX, beside the page."""
    text, stamp = describe_methods(material), stamp_of(material.state.rehearsal)
    files = {
        page.with_suffix(".bib"): to_bibtex(text),
        page.with_name(f"{page.stem}.methods.tex"): to_latex(text),
    }
    check_outputs(*files, study=material.study)
    for path, content in files.items():
        write_text(path, f"% {stamp}\n{content}" if stamp else content)
    return [*files]


def _ready(material: Material, folder: Path, files: Sequence[Path]) -> None:
    check_outputs(*files, study=material.study)
    folder.mkdir(parents=True, exist_ok=True)


def _numbered(name: str, count: int) -> list[str]:
    return [name if number == 1 else f"{name}-{number}" for number in range(1, count + 1)]


def _named(sections: Sequence[Section]) -> Iterator[tuple[str, Table]]:
    """Yield each table with a name that says where it stands: ``best-answers-1``."""
    for section in sections:
        slug = re.sub("[^a-z0-9]+", "-", section.heading.lower()).strip("-")
        for number, table in enumerate(section.tables, 1):
            yield f"{slug}-{number}", table


def _inert(table: Table) -> Table:
    """Return a table in which no spreadsheet sees a formula: workers write comments, teams name runs."""
    taken = {column.name for column in table.columns}
    columns = []
    for column in table.columns:
        name = column.name
        while _is_formula(name) or (name != column.name and name in taken):  # a run may be called '=x, too
            name = f"'{name}"
        columns.append(replace(column, name=name))
        taken.add(name)
    rows = tuple(tuple(map(_harmless, row)) for row in table.rows)
    return replace(table, columns=tuple(columns), rows=rows)


def _is_formula(text: str) -> bool:
    return text.startswith(("=", "+", "-", "@", "\t", "\r"))


def _harmless(cell: Cell) -> Cell:
    text = bare(cell)
    if not isinstance(text, str) or not _is_formula(text):
        return cell
    marked = f"'{text}"
    match cell:
        case Bold():
            return Bold(marked)
        case Unsure():
            return Unsure(marked)
    return marked
