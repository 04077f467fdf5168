"""Writes the living leaderboard of a study: static pages for a file system or any web server."""

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Unpack

from prefjudge.errors import InputError
from prefjudge.findings.outputs import check_outputs, stamp_of
from prefjudge.pages.page import (
    SCRIPT_FILE,
    STYLE_FILE,
    Known,
    Page,
    is_web_address,
    render_page,
    script_text,
    style_text,
)
from prefjudge.reading.files import atomic_write
from prefjudge.reading.options import ReadOptions
from prefjudge.show.results import Shown
from prefjudge.steps.report.site.board_pages import (
    about_page,
    atom_feed,
    first_page,
    history_page,
    leaderboard_csv,
    site_feed,
    version_pages,
)
from prefjudge.steps.report.site.runs_and_queries import query_list, query_pages, run_pages
from prefjudge.steps.report.site.state import SiteState, gather_state
from prefjudge.study.store import Study
from prefjudge.words import Rehearsal

CSV_FILE = "leaderboard.csv"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
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


def make_site(
    study: Study,
    folder: Path,
    *,
    runs: Sequence[str | Path],
    leaderboard: Path | None,
    contact: str,
    url: str,
    texts: bool,
    health: bool,
    **how: Unpack[ReadOptions],
) -> SiteResult:
    """Write a study's leaderboard as static pages: boards, runs, queries, and a feed of what is new."""
    # The same study gives the same bytes; only what changed is written, and only pages of the site itself are
    # removed. No worker, no gold pair and no path of this machine is named.
    if url and not is_web_address(url):
        raise InputError(f"--url {url}: not an address of the web", "Write it as https://…")
    check_folder(folder, study.mark)
    today = datetime.now(UTC).date()
    # A study that is being collected shows one state on all pages.
    with study.reading():
        written = (folder / name for name in ("index.html", CSV_FILE))
        check_outputs(*written, inputs=(leaderboard,), study=study)
        state = gather_state(
            study,
            runs,
            leaderboard,
            today,
            contact=contact,
            url=url,
            texts=texts,
            health=health,
            **how,
        )
        done = write_site(folder, study.mark, _files(state))
    return SiteResult(
        study=str(study.folder),
        out=str(folder),
        version=state.boards.current.version,
        versions=len(state.boards.versions),
        runs=len(state.boards.runs),
        queries=len(state.queries),
        files=done.files,
        written=done.written,
        removed=done.removed,
        rehearsal=state.rehearsal,
        notices=tuple(dict.fromkeys((*map(str, state.notices), *state.best.notices))),
    )


def _files(state: SiteState) -> Iterator[tuple[str, str]]:
    """Yield the files of the site, one by one: of thousands of pages only one is in memory."""
    stamp = stamp_of(state.rehearsal)
    known = Known(
        site=state.title,
        mark=state.study.mark,
        stamp=stamp,
        runs=frozenset({*state.entries.shown, *state.entries.waiting}),
        queries=frozenset(one.query_id for one in state.queries),
        versions=frozenset(one.version for one in state.boards.versions if one.version),
    )
    for page in _pages(state):
        yield page.address, render_page(page, known)
    yield STYLE_FILE, style_text()
    yield SCRIPT_FILE, script_text()
    yield "feed.xml", atom_feed(site_feed(state))
    yield CSV_FILE, leaderboard_csv(state)
    if stamp:
        yield "leaderboard.rehearsal.txt", f"{stamp}: see leaderboard.csv\n"
    yield ".nojekyll", ""


def _pages(state: SiteState) -> Iterator[Page]:
    yield first_page(state)
    yield history_page(state)
    yield about_page(state)
    yield from version_pages(state)
    yield from query_list(state)
    yield from run_pages(state)
    yield from query_pages(state)


FOLDERS = ("board", "query", "run")
INDEX = "index.html"
_PAGE = re.compile(rb'<meta name="generator" content="prefjudge site ([0-9a-z]+)">')
_LIST = re.compile(r"queries-\d+\.html")
"""Pages of the list of queries, which grows shorter with the study."""
_HEAD = 4_096


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """How many files a site has, how many of them changed, and how many pages were removed."""

    files: int
    written: int
    removed: int


def check_folder(folder: Path, mark: str) -> None:
    """Refuse a folder that is not a site of this study, nor empty, before any work is done."""
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder} is not a folder", "Name the folder of the site, new or empty.")
    for inner in FOLDERS:
        if (folder / inner).is_symlink():
            raise InputError(f"{folder / inner} is a symbolic link, which may lead anywhere", "Remove it.")
    index = folder / INDEX
    owner = _owner(index)
    if owner not in ("", mark):
        raise InputError(f"{folder} holds the site of another study", "Name a folder of its own: --site DIR.")
    if not owner and (
        index.exists()
        or (folder.is_dir() and any(not entry.name.startswith(".") for entry in folder.iterdir()))
    ):
        raise InputError(
            f"{folder} holds other files, not this study's site",
            "Name a new or empty folder: --site DIR.",
        )


def write_site(folder: Path, mark: str, files: Iterable[tuple[str, str]]) -> Written:
    """Write the files of a site, each an address and a text, and remove the pages that it no longer has."""
    # `index.html` has to be the first: from then on the folder is known as this site's, whenever the program
    # is killed. Where it is known, the first page is written last: until then the old one leads to pages that
    # are all there.
    kept, written = set[str](), 0
    known = _owner(folder / INDEX) == mark
    first: list[tuple[str, str]] = []
    for address, text in files:
        kept.add(address)
        if known and address == INDEX:
            first.append((address, text))
        else:
            written += _write(folder, address, text, mark)
    written += sum(_write(folder, address, text, mark) for address, text in first)
    removed = 0
    for path in _known_pages(folder):
        if path.relative_to(folder).as_posix() not in kept and _owner(path) == mark:
            path.unlink()
            removed += 1
    for inner in FOLDERS:
        with suppress(OSError):  # it is not there, or still holds files
            (folder / inner).rmdir()
    return Written(files=len(kept), written=written, removed=removed)


def _write(folder: Path, address: str, text: str, mark: str) -> bool:
    """Write a file where it is not there with the same bytes."""
    path, data = folder / address, text.encode("utf-8", "backslashreplace")
    with suppress(OSError):
        if not path.is_symlink() and path.stat().st_size == len(data) and path.read_bytes() == data:
            return False
    taken = path.is_symlink() or path.exists()
    if taken and (path.is_symlink() or (path.suffix == ".html" and _owner(path) != mark)):
        raise InputError(f"{path} is not a page of this site, and would be replaced", "Move it elsewhere.")
    # What is cut off by a crash is written again by the next call, which compares it with what it should be.
    with atomic_write(path, durable=False) as file:
        file.write(data)
    return True


def _known_pages(folder: Path) -> Iterator[Path]:
    for inner in FOLDERS:
        yield from sorted((folder / inner).glob("*.html"))
    yield from sorted(path for path in folder.glob("queries-*.html") if _LIST.fullmatch(path.name))


def _owner(path: Path) -> str:
    """Return the mark of the study whose page a file is; empty where it is not a page of a site."""
    if path.is_symlink() or not path.is_file():
        return ""
    try:
        with path.open("rb") as file:
            found = _PAGE.search(file.read(_HEAD))
    except OSError:
        return ""
    return found[1].decode() if found else ""
