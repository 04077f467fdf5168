"""Writes the living leaderboard of a study: static pages for a file system or any web server."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Unpack

from prefjudge.core.judges.rehearsal import Rehearsal
from prefjudge.errors import InputError
from prefjudge.formats.lines.problems import Notice
from prefjudge.gather.inputs import as_folder, as_path, several
from prefjudge.gather.once import asking_once
from prefjudge.gather.outputs import check_outputs
from prefjudge.gather.read_options import ReadOptions
from prefjudge.gather.stamps import stamp_of
from prefjudge.render.pages.site.feeds import atom_feed, json_feed
from prefjudge.render.pages.site.page import STYLE_FILE, Known, Page, is_web_address, render_page, style_text
from prefjudge.render.shown import Shown
from prefjudge.steps.site.about_page import about_page
from prefjudge.steps.site.board_pages import first_page, history_page, version_pages
from prefjudge.steps.site.folder import check_folder, write_site
from prefjudge.steps.site.news import leaderboard_csv, site_feed
from prefjudge.steps.site.query_pages import query_list, query_pages
from prefjudge.steps.site.run_pages import run_pages
from prefjudge.steps.site.state import SiteState, gather_state
from prefjudge.study.study import Study, open_study

CSV_FILE = "leaderboard.csv"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SiteResult(Shown):
    """What a site has: how many runs, queries and versions of the answers, and how many files.

    ``written`` are the files that changed, and ``removed`` the pages that the site no longer has. ``version``
    is that of the answers on the first page, 0 where ``resolve`` found them.
    """

    study: str
    out: str
    version: int
    versions: int
    runs: int
    queries: int
    files: int
    written: int
    removed: int
    rehearsal: Rehearsal | None
    notices: tuple[str, ...]


def site(
    study: str | Path | Study,
    *,
    out: str | Path,
    runs: Sequence[str | Path] = (),
    leaderboard: str | Path | None = None,
    contact: str = "",
    url: str = "",
    texts: bool = True,
    health: bool = True,
    **how: Unpack[ReadOptions],
) -> SiteResult:
    """Write a study's leaderboard as static pages: boards, runs, queries, and feeds of what is new.

    The same study gives the same bytes; only what changed is written, and only pages of the site itself are
    removed. No worker, no gold pair and no path of this machine is named.

    Parameters
    ----------
    study : Path
        The study's folder.
    out : Path
        The folder of the site: new, empty, or this study's site, which is brought up to date.
    runs : sequence of paths or patterns
        The runs to show, or folders of them: what ``ID-metadata.json`` beside a run or ir_metadata at its
        head tell stands on its page. Those of the study by default. Never shown are runs with ``withdrawn``
        or, until that day, ``embargo_until`` in their metadata.
    leaderboard : Path, optional
        The CSV of the official leaderboard: its ranks and scores stand beside those of the study, and its
        submissions are audited.
    contact : str
        Whom to ask: an address of mail or of a web page. The authors of ``[release]`` are named, too.
    url : str
        Where the site will be on the web, for the addresses in its feeds.
    texts : bool
        Show the texts of passages.
    health : bool
        Say of each run what its file holds, which reads every line of it.
    **how
        How the runs are read: the words of `ReadOptions`.

    Raises
    ------
    InputError
        The folder holds something else, or a file cannot be read.
    StudyError
        The study has no best-known answers yet.
    """
    opened, folder, official = open_study(study), as_folder(out), as_path(leaderboard)
    assert folder is not None
    if url and not is_web_address(url):
        raise InputError(f"--url {url}: not an address of the web", "Write it as https://…")
    check_folder(folder, opened.mark)
    notices: list[Notice] = []
    today = datetime.now(UTC).date()
    # A study that is being collected shows one state on all pages.
    with opened.reading(), asking_once():
        written = (folder / name for name in ("index.html", CSV_FILE))
        check_outputs(*written, inputs=(official,), study=opened)
        state = gather_state(opened, several(runs), official, today, notices, health=health, **how)
        done = write_site(folder, opened.mark, _files(state, contact=contact, url=url, texts=texts))
    return SiteResult(
        study=str(opened.folder),
        out=str(folder),
        version=state.boards.current.version,
        versions=len(state.boards.versions),
        runs=len(state.boards.runs),
        queries=len(state.answers.queries),
        files=done.files,
        written=done.written,
        removed=done.removed,
        rehearsal=state.rehearsal,
        notices=tuple(dict.fromkeys((*map(str, notices), *state.answers.notices))),
    )


def _files(state: SiteState, *, contact: str, url: str, texts: bool) -> Iterator[tuple[str, str]]:
    """Yield the files of the site, one by one: of thousands of pages only one is in memory."""
    title = state.study.config.release.title or state.study.config.name
    stamp = stamp_of(state.rehearsal)
    known = Known(
        site=title,
        mark=state.study.mark,
        stamp=stamp,
        runs=frozenset({*state.entries.shown, *state.entries.waiting}),
        queries=frozenset(one.query_id for one in state.answers.queries),
        versions=frozenset(one.version for one in state.boards.versions if one.version),
    )
    for page in _pages(state, title, contact=contact, texts=texts):
        yield page.address, render_page(page, known)
    feed = site_feed(state, title, url)
    yield STYLE_FILE, style_text()
    yield "feed.xml", atom_feed(feed)
    yield "feed.json", json_feed(feed)
    yield CSV_FILE, leaderboard_csv(state)
    if stamp:
        yield "leaderboard.rehearsal.txt", f"{stamp}: see leaderboard.csv\n"
    yield ".nojekyll", ""


def _pages(state: SiteState, title: str, *, contact: str, texts: bool) -> Iterator[Page]:
    yield first_page(state, title)
    yield history_page(state)
    yield about_page(state, contact)
    yield from version_pages(state)
    yield from query_list(state)
    yield from run_pages(state)
    yield from query_pages(state, texts=texts)
