"""Writes a study's report, as one HTML page or many: leaderboards, changed answers, and how it was judged."""

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Annotated, Unpack

from annotated_types import Interval

from prefjudge.errors import InputError, PrefjudgeError
from prefjudge.findings.outputs import check_outputs, own_file, stamp_of, write_figure, write_table
from prefjudge.pages.page import Section, as_live, report_page
from prefjudge.reading.files import write_text
from prefjudge.reading.given import as_folder, as_path, expand, in_memory
from prefjudge.reading.inputs import LabelSets, Runs, Source, take_qrels
from prefjudge.reading.options import ReadOptions
from prefjudge.show.cells import Bold, Cell, Table, Unsure, bare
from prefjudge.show.results import Shown
from prefjudge.steps.report.boards import answers_section, boards_section, report_screen, top_section
from prefjudge.steps.report.material import Material
from prefjudge.steps.report.methods import (
    challenges_section,
    describe_methods,
    design_section,
    judging_section,
    look_closer,
    methods_section,
    to_bibtex,
    to_latex,
)
from prefjudge.steps.resolve import resolve_imported
from prefjudge.steps.status import status
from prefjudge.study.progress import Stage, lacking, load_mark
from prefjudge.study.store import CONFIG_FILE, QRELS_FILE, Study, open_study
from prefjudge.words import Rehearsal

if TYPE_CHECKING:
    from prefjudge.steps.report.site.site import SiteResult


# Makes the page of a report, and what goes beside it.

# The files that a report leaves beside its page: plots, tables, and what a paper takes.

TABLE_FORMS = ("tex", "md", "csv")
_FIGURES = ("svg", "png")


def folder_for(option: str, path: str | Path, study: Study) -> Path:
    """Return a folder that files can be written into; it is made when they are."""
    folder = Path(path)
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{option} {folder}: this is a file", "Give a folder; a new one is made.")
    if study.folder.exists() and folder.exists() and folder.samefile(study.folder):
        raise InputError(f"{option} {folder}: this is the study's own folder", "Give another one.")
    return folder


def table_form(form: str) -> str:
    """Return the form in which tables are written."""
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


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
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
    study: Study,
    wanted: Wanted,
    noted: Sequence[str],
    runs: tuple[str | Path, ...],
    qrels: tuple[Source, ...],
    how: ReadOptions,
) -> tuple[ReportResult, str]:
    """Write the page and what is wanted beside it, and return the page, too."""
    # A study that is being collected shows one state in all sections, and its runs are read once for them.
    with study.reading(), ExitStack() as open_files:
        state = status(study, confidence=False)
        if not state.queries:
            raise lacking(study, Stage.POOL)
        material = Material(
            open_files=open_files,
            study=study,
            state=state,
            how=how,
            runs=runs,
            qrels=qrels,
            keep_figures=wanted.plots is not None,
            notices=[*noted],
        )
        if runs:
            _ = (
                material.scored
            )  # what is wrong with a file that was given is an error, not a gap of the study
        sections = _sections(material)
        notices = tuple(dict.fromkeys(material.notices))
        first, closer = report_screen(material), look_closer(material)
        title = study.config.release.title or study.config.name
        stamp = stamp_of(state.rehearsal)
        # the stamp is in sight all the time, and the answers' own begins with where they lie on this machine
        told = [notice for notice in notices if not (stamp and notice.endswith(stamp))]
        page = report_page(title, first, sections, told, stamp, closer)
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


# Serves a report on this machine while its study runs: the page is made again when the study has changed.

HOST = "127.0.0.1"


class LivePage:
    """The page as it was when the study last had the mark that it has; one request makes it, others wait."""

    def __init__(self, mark: Callable[[], str], make: Callable[[str], str], first: tuple[str, str]) -> None:
        self.mark, self._make = mark, make
        self._made = first[0], first[1].encode()
        self._lock = Lock()

    def html(self) -> bytes:
        """Return the page, made again if the study has changed."""
        with self._lock:
            now = self.mark()
            if self._made[0] != now:
                self._made = now, self._make(now).encode()
            return self._made[1]


def serve_live(page: LivePage, *, port: int, ready: Callable[[str], None]) -> None:
    """Serve a page to this machine alone until Ctrl-C."""
    try:
        server = ThreadingHTTPServer((HOST, port), _handler(page))
    except OSError as error:
        raise InputError(
            f"port {port} cannot be used: {error.strerror}", "Give another: --port 0 takes a free one."
        ) from None
    with server:
        ready(f"http://{HOST}:{server.server_port}/")
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            return


def _handler(page: LivePage) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        """Answers with the page, or with the study's mark, by which the page knows that it is old."""

        def do_GET(self) -> None:
            """Answer a request."""
            # A page of another site may lead its own name here (DNS rebinding), and would read the study.
            if (self.headers.get("Host") or "").rpartition(":")[0] not in (HOST, "localhost"):
                self._answer(421, "text/plain", b"ask for 127.0.0.1\n")
                return
            try:
                if self.path == "/":
                    self._answer(200, "text/html", page.html())
                elif self.path == "/mark":
                    self._answer(200, "text/plain", page.mark().encode())
                else:
                    self._answer(404, "text/plain", b"there is only the report, at /\n")
            except PrefjudgeError as error:  # such as a study without a pool, which may get one
                self._answer(503, "text/plain", f"{error.message}. {error.hint}\n".encode())
            except ConnectionError:  # the reader has left while the page was made or sent
                self.close_connection = True
            except OSError as error:  # such as a full disk, on which there may be room later
                words = f"the report cannot be written: {error.strerror}\n"
                self._answer(503, "text/plain", words.encode())

        def _answer(self, status: int, kind: str, body: bytes) -> None:
            self.send_response(status)
            self.send_header("Content-Type", f"{kind}; charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
            self.send_header("Cache-Control", "no-store")
            self.send_header("X-Content-Type-Options", "nosniff")
            self.send_header("Cross-Origin-Resource-Policy", "same-origin")
            if status == 503:
                self.send_header("Refresh", "5")
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing: the terminal is the study's."""

    return Handler


REPORT_FILE = "report.html"


def report(
    study: str | Path | Study,
    *,
    runs: Runs = (),
    qrels: LabelSets = (),
    out: str | Path | None = None,
    site: str | Path | None = None,
    leaderboard: str | Path | None = None,
    contact: str = "",
    url: str = "",
    texts: bool = True,
    health: bool = True,
    plots: str | Path | None = None,
    tables: tuple[str, str | Path] | None = None,
    bibtex: bool = False,
    until: str | None = None,
    live: bool = False,
    port: Annotated[int, Interval(ge=0, le=65535)] = 7268,
    ready: Callable[[str], None] | None = None,
    **how: Unpack[ReadOptions],
) -> "ReportResult | SiteResult":
    """Write a study's report: one HTML file that needs nothing else, with no worker's id in it, or a site.

    What the study does not have yet is left out, and a notice says so. Only the page is written, and what you
    ask for; imported votes that were not resolved yet are resolved first.

    ``site`` writes the living leaderboard as static pages instead, for a file system or any web server:
    boards, runs, queries, and a feed of what is new. The same study gives the same bytes; only what changed
    is written, and only pages of the site itself are removed.

    Parameters
    ----------
    study : Path
        The study's folder.
    runs : sequence of paths or patterns
        Runs to score beside the study's own, or for a study of imported votes that has none. With ``site``:
        the runs to show, or folders of them, with what ``ID-metadata.json`` beside a run or ir_metadata at
        its head tell; those of the study by default. Never shown are runs with ``withdrawn`` or, until that
        day, ``embargo_until`` in their metadata.
    qrels : sequence of str
        Label sets to score them under beside the study's own, each a file or ``NAME=FILE``.
    out : Path, optional
        The file; ``report.html`` in the study by default.
    site : Path, optional
        The folder of a site to write instead: new, empty, or this study's site, which is brought up to date.
    leaderboard : Path, optional
        With ``site``: the CSV of the official leaderboard. Its ranks and scores stand beside those of the
        study, and its submissions are audited.
    contact : str
        With ``site``: whom to ask beside the authors of ``[release]``, an address of mail or of a web page.
    url : str
        With ``site``: where it will be on the web, for the addresses in its feed.
    texts : bool
        With ``site``: show the texts of passages.
    health : bool
        With ``site``: say what each run's file holds; this reads every line.
    plots : Path, optional
        A folder: write every plot of the page there, as SVG and PNG.
    tables : (str, Path), optional
        A form (``tex``, ``md`` or ``csv``) and a folder: write every table of the page there.
    bibtex : bool
        Write a paragraph on methods with the study's numbers for a paper, as LaTeX, and what it cites.
    until : str, optional
        Tell what the study had by then, the end of a day in UTC or a time, as in `score`.
    live : bool
        Serve the page to this machine until Ctrl-C, and make it again when the study has changed.
    port : int
        The port that ``live`` listens at; 0 takes a free one.
    ready : callable, optional
        Told the address once it answers.
    **how
        How the runs are read: the words of `ReadOptions`.

    Returns
    -------
    ReportResult or SiteResult
        The page and what was written beside it; with ``site`` what the site has.

    Raises
    ------
    InputError
        The file is not one that HTML can be written to, the folder of a site holds something else, or the
        options do not go together.
    StudyError
        The folder holds no study, or the study has no pool; a site needs best-known answers.
    """
    opened = open_study(study, until)
    page_only = {"qrels": qrels, "out": out, "plots": plots, "tables": tables, "bibtex": bibtex, "live": live}
    site_only = {"leaderboard": leaderboard, "contact": contact, "url": url}
    for name, value in (site_only if site is None else page_only).items():
        if value is not None and value not in (False, "", (), []):
            goes = "goes with --site" if site is None else "is for one page, but --site writes many"
            raise InputError(f"--{name} {goes}", "Leave one of them out." if site else "Add --site DIR.")
    if live and until is not None:
        raise InputError("--live shows what is new, and --until what was", "Leave one of them out.")
    if site is not None:
        from prefjudge.steps.report.site.site import make_site

        return make_site(
            opened,
            as_folder(site),
            runs=_in_files(runs),
            leaderboard=as_path(leaderboard),
            contact=contact,
            url=url,
            texts=texts,
            health=health,
            **how,
        )
    path = as_path(out) or own_file(opened, REPORT_FILE)
    if path is None:
        what = "what was" if until else "the folder"
        raise InputError(
            f"{opened.folder}: {what} may only be read", "Write the page elsewhere: --out FILE.html"
        )
    if path.suffix.lower() not in (".html", ".htm"):
        raise InputError(f"{path}: a report is an HTML page", "Give it a name that ends in .html.")
    files, labels = expand(runs) if runs else (), take_qrels(qrels)
    notices = resolve_imported(opened)
    before = _mark(opened.folder) if live else ""
    with opened.reading():  # what is checked and what is shown are one state
        check_outputs(path, inputs=files, study=opened)
        wanted = Wanted(
            page=path,
            plots=None if plots is None else folder_for("--plots", plots, opened),
            form=table_form(tables[0]) if tables else "",
            tables=folder_for("--tables", tables[1], opened) if tables else None,
            bibtex=bibtex,
        )
        made, first = make_report(opened, wanted, notices, files, labels, how)
    if not live:
        return made
    kept = [made]

    def page(mark: str) -> str:
        # each request has a thread of its own, and a connection is its thread's
        with closing(Study(opened.folder)) as now:
            kept[0], html = make_report(now, wanted, notices, files, labels, how)
        return as_live(html, mark)

    shown = LivePage(lambda: _mark(opened.folder), page, (before, as_live(first, before)))
    serve_live(shown, port=port, ready=ready or (lambda _: None))
    return kept[0]


def _in_files(runs: Runs) -> tuple[str | Path, ...]:
    """Return the runs that a site shows, of which it reads what stands beside the files."""
    given = runs if isinstance(runs, list | tuple) else (runs,)
    found = tuple(one for one in given if isinstance(one, str | Path) and not in_memory(one))
    if len(found) != len(given):
        raise InputError("a site shows runs from files, but these are in memory", "Give --runs FOLDER.")
    return found


def _mark(folder: Path) -> str:
    """Return what changes whenever the page would: what the store holds, the config, and the answers."""
    with closing(Study(folder)) as study, study.transaction(write=False) as db:
        counted = load_mark(db)
    files = [folder / CONFIG_FILE, folder / QRELS_FILE]
    times = [file.stat().st_mtime_ns if file.exists() else 0 for file in files]
    return "-".join(map(str, [*counted, *times]))
