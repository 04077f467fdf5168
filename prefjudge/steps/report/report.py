"""Writes a study's report, as one HTML page or many: leaderboards, changed answers, and how it was judged."""

from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Unpack

from annotated_types import Interval

from prefjudge.errors import InputError
from prefjudge.findings.outputs import check_outputs, own_file
from prefjudge.pages.page import as_live
from prefjudge.reading.given import as_folder, as_path, expand, in_memory
from prefjudge.reading.inputs import LabelSets, Runs, take_qrels
from prefjudge.reading.run_options import ReadOptions
from prefjudge.steps.report.material import Given
from prefjudge.steps.report.page import (
    LivePage,
    ReportResult,
    Wanted,
    folder_for,
    make_report,
    serve_live,
    table_form,
)
from prefjudge.steps.resolve.resolve import resolve
from prefjudge.study.answers import last_version
from prefjudge.study.imports import count_imported
from prefjudge.study.pools import is_published
from prefjudge.study.progress import load_mark
from prefjudge.study.store import CONFIG_FILE, QRELS_FILE, Study, open_study

if TYPE_CHECKING:
    from prefjudge.steps.report.site.site import SiteResult

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
    live: bool = False,
    port: Annotated[int, Interval(ge=0, le=65535)] = 7268,
    ready: Callable[[str], None] | None = None,
    **how: Unpack[ReadOptions],
) -> "ReportResult | SiteResult":
    """Write a study's report: one HTML file that needs nothing else, with no worker's id in it, or a site.

    What the study does not have yet is left out, and a notice says so. Nothing but the page is written, and
    what else is asked for; but imported votes that were not resolved yet are resolved first.

    ``site`` writes the living leaderboard as static pages instead, for a file system or any web server:
    boards, runs, queries, and feeds of what is new. The same study gives the same bytes; only what changed is
    written, and only pages of the site itself are removed.

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
        With ``site``: whom to ask, an address of mail or of a web page. The authors of ``[release]`` are
        named, too.
    url : str
        With ``site``: where it will be on the web, for the addresses in its feeds.
    texts : bool
        With ``site``: show the texts of passages.
    health : bool
        With ``site``: say of each run what its file holds, which reads every line of it.
    plots : Path, optional
        A folder: write every plot of the page there, as SVG and PNG.
    tables : (str, Path), optional
        A form (``tex``, ``md`` or ``csv``) and a folder: write every table of the page there.
    bibtex : bool
        Write a paragraph on methods with the study's numbers for a paper, as LaTeX, and what it cites.
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
    opened = open_study(study)
    page_only = {"qrels": qrels, "out": out, "plots": plots, "tables": tables, "bibtex": bibtex, "live": live}
    site_only = {"leaderboard": leaderboard, "contact": contact, "url": url}
    for name, value in (site_only if site is None else page_only).items():
        if value is not None and value not in (False, "", (), []):
            goes = "goes with --site" if site is None else "goes with one page, and --site writes many"
            raise InputError(f"--{name} {goes}", "Leave one of them out." if site else "Add --site DIR.")
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
        raise InputError(f"{opened.folder} may only be read", "Write the page elsewhere: --out FILE.html")
    if path.suffix.lower() not in (".html", ".htm"):
        raise InputError(f"{path}: a report is an HTML page", "Give it a name that ends in .html.")
    given = Given(runs=expand(runs) if runs else (), qrels=take_qrels(qrels))
    notices = _resolved(opened)
    before = _mark(opened.folder) if live else ""
    with opened.reading():  # what is checked and what is shown are one state
        check_outputs(path, inputs=given["runs"], study=opened)
        wanted = Wanted(
            page=path,
            plots=None if plots is None else folder_for("--plots", plots, opened),
            form=table_form(tables[0]) if tables else "",
            tables=folder_for("--tables", tables[1], opened) if tables else None,
            bibtex=bibtex,
        )
        made, first = make_report(opened, wanted, given, how, notices)
    if not live:
        return made
    kept = [made]

    def page(mark: str) -> str:
        # each request has a thread of its own, and a connection is its thread's
        with closing(Study(opened.folder)) as now:
            kept[0], html = make_report(now, wanted, given, how, notices)
        return as_live(html, mark)

    shown = LivePage(lambda: _mark(opened.folder), page, (before, as_live(first, before)))
    serve_live(shown, port=port, ready=ready or (lambda _: None))
    return kept[0]


def _resolved(study: Study) -> tuple[str, ...]:
    """Resolve imported votes that nobody has resolved yet, and return what there is to know of it.

    Where votes are collected here, that is done when the work is.
    """
    path = own_file(study, QRELS_FILE)
    if path is None or path.is_file():
        return ()
    with study.transaction(write=False) as db:
        if is_published(db) or last_version(db) or not count_imported(db):
            return ()
    return (*resolve(study, confidence=False).notices, f"the votes were resolved into {path}")


def _in_files(runs: Runs) -> tuple[str | Path, ...]:
    """Return the runs that a site shows, of which it reads what stands beside the files."""
    given = runs if isinstance(runs, list | tuple) else (runs,)
    found = tuple(one for one in given if isinstance(one, str | Path) and not in_memory(one))
    if len(found) != len(given):
        raise InputError("a site shows runs of files, and these are in memory", "Give --runs FOLDER.")
    return found


def _mark(folder: Path) -> str:
    """Return what changes whenever the page would: what the store holds, the config, and the answers."""
    with closing(Study(folder)) as study, study.transaction(write=False) as db:
        counted = load_mark(db)
    files = [folder / CONFIG_FILE, folder / QRELS_FILE]
    times = [file.stat().st_mtime_ns if file.exists() else 0 for file in files]
    return "-".join(map(str, [*counted, *times]))
