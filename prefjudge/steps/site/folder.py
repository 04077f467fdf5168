"""The folder of a site: only what changed is written, only old pages of the site itself are removed.

Each page says in its head which study's site it belongs to. That alone makes a file ours: no list of files is
kept that somebody could put other names into, or that a killed program would leave behind untrue.
"""

import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from prefjudge.errors import InputError
from prefjudge.formats.lines.atomic import atomic_write

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
    """Refuse a folder that is not a site of this study, nor empty, before any work is done.

    Raises
    ------
    InputError
        It holds something else, another study's site, or links that lead out of it.
    """
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder} is not a folder", "Name the folder of the site, new or empty.")
    for inner in FOLDERS:
        if (folder / inner).is_symlink():
            raise InputError(f"{folder / inner} is a link, which may lead anywhere", "Remove it.")
    index = folder / INDEX
    owner = _owner(index)
    if owner not in ("", mark):
        raise InputError(f"{folder} holds the site of another study", "Name a folder of its own: --out DIR.")
    if not owner and (index.exists() or (folder.is_dir() and _holds_files(folder))):
        raise InputError(
            f"{folder} holds files, and no site of this study", "Name a new or empty folder: --out DIR."
        )


def write_site(folder: Path, mark: str, files: Iterable[tuple[str, str]]) -> Written:
    """Write the files of a site, each an address and a text, and remove the pages that it no longer has.

    ``index.html`` has to be the first: from then on the folder is known as this site's, whenever the program
    is killed. Where it is known, the first page is written last: until then the old one leads to pages
    that are all there.

    Raises
    ------
    InputError
        A file of somebody else's is in the place of a page.
    """
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
    for path in _pages(folder):
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


def _pages(folder: Path) -> Iterator[Path]:
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


def _holds_files(folder: Path) -> bool:
    """Return whether somebody keeps something here; what is hidden, as ``.git``, is not in the way."""
    return any(not entry.name.startswith(".") for entry in folder.iterdir())
