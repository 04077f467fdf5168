"""The folder that ``reproduce`` writes: a file for each table and figure, and a page that shows them all."""

import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TypeVar

from prefjudge.errors import InputError
from prefjudge.findings.outputs import write_figure, write_table
from prefjudge.pages.page import FirstScreen, Picture, Section, report_page
from prefjudge.reading.files import write_text
from prefjudge.reading.labels import ENDING
from prefjudge.steps.reproduce.exhibits import Exhibit, Made, Paper
from prefjudge.words import json_text

T = TypeVar("T")

INDEX_FILE = "index.html"
_TABLES, _FIGURES = ("csv", "tex", "md"), ("svg", "png")
_FOLD = "Tables and figures"
LIST_FILE = "reproduce.json"
"""Names what an earlier run wrote, so that a later one deletes these files and no others."""


def open_folder(folder: Path) -> Path:
    """Return a folder that is new, empty, or of an earlier run, whose files are removed."""
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder} is a file", "Give a new folder: --out DIR")
    if folder.is_dir() and any(folder.iterdir()):
        for name in _earlier_files(folder):
            (folder / name).unlink(missing_ok=True)
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _earlier_files(folder: Path) -> list[str]:
    try:
        named = json.loads((folder / LIST_FILE).read_text(encoding="utf-8"))["files"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        raise InputError(
            f"{folder} is not empty, and prefjudge reproduce did not write it", "Give a new folder: --out DIR"
        ) from None
    return [name for name in named if isinstance(name, str) and Path(name).name == name]


class Folder:
    """Writes files; each name is listed before its file, so that a killed run can be repeated."""

    def __init__(self, path: Path, stamp: str) -> None:
        self.path, self.stamp = open_folder(path), stamp
        self._names: list[str] = []

    def claim(self, *names: str) -> None:
        """List files that are about to be written, with what goes beside them."""
        self._names += names
        write_text(self.path / LIST_FILE, json_text({"files": self._names}) + "\n")

    def write(self, exhibit: Exhibit, made: Made) -> tuple[str, ...]:
        """Write the tables of an exhibit as CSV, TeX and Markdown, its figures as SVG and PNG."""
        tables = [
            (f"{stem}.{form}", table) for stem, table in _named(exhibit.file, made.tables) for form in _TABLES
        ]
        drawn = [(stem, draw()) for stem, draw in _named(exhibit.file, made.figures)]
        figures = [(f"{stem}.{form}", one) for stem, one in drawn for form in _FIGURES]
        names = [*(name for name, _ in tables), *(name for name, _ in figures)]
        beside = [f"{Path(name).stem}.{ENDING}" for name in names if self.stamp and name.endswith(".csv")]
        self.claim(*names, *beside)
        for name, table in tables:
            write_table(self.path / name, table, stamp=self.stamp)
        for name, figure in figures:
            write_figure(self.path / name, figure, self.stamp)
        return tuple(names)


def _named(stem: str, things: Sequence[T]) -> Iterator[tuple[str, T]]:
    """Name one thing after the exhibit, and further ones with a number."""
    for number, thing in enumerate(things, 1):
        yield (stem if number == 1 else f"{stem}-{number}"), thing


def section_of(
    exhibit: Exhibit, made: Made | None, files: Sequence[str], missing: str, folder: Folder
) -> Section:
    """Return the part of the page that shows an exhibit from its files, or says what it needs."""
    shows = exhibit.shows[:1].upper() + exhibit.shows[1:]
    if made is None:
        return Section(heading=exhibit.name, fold=_FOLD, finding=f"{shows}. Not made: {missing}")
    return Section(
        heading=exhibit.name,
        fold=_FOLD,
        finding=f"{shows}.",
        words=(exhibit.reading, *made.words),
        pictures=tuple(
            Picture(words=f"{exhibit.name}: {exhibit.shows}", svg=(folder.path / name).read_bytes())
            for name in files
            if name.endswith(".svg")
        ),
        tables=tuple(table.stamped(folder.stamp) for table in made.tables),
        files=tuple(files),
        command=exhibit.command,
    )


def write_page(
    paper: Paper, sections: Iterable[Section], folder: Path, *, notices: Iterable[str], stamp: str = ""
) -> Path:
    """Write the page that shows all exhibits in the paper's order."""
    after = f"After: {paper.citation}"
    first = FirstScreen(result=paper.lead, also=f"{stamp}. {after}" if stamp else after)
    title = f"{paper.name}, from your own data"
    path = folder / INDEX_FILE
    write_text(path, report_page(title, first, tuple(sections), tuple(notices)))
    return path
