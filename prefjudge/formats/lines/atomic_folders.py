"""Atomic folders: for programs that write many files where one path is given, as Spark does."""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from shutil import rmtree

from prefjudge.errors import InputError
from prefjudge.formats.lines.atomic import CAN_LOCK, lock, locked, machine, part_of


@contextmanager
def atomic_folder(path: str | Path) -> Iterator[Path]:
    """Make an empty folder to fill; it takes the place of ``path`` when the block ends without an error.

    A folder cannot be replaced in one step. What was there is set aside for a moment; should the program be
    killed in it, the next one that writes there puts it back. What killed programs left is removed.

    Raises
    ------
    InputError
        The folder cannot be written there.
    """
    target = Path(path)
    held = None
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        _remove_left(target)
        name = part_of(target)
        os.mkdir(name)  # noqa: PTH102
        if CAN_LOCK:
            held = os.open(name, os.O_RDONLY)
            name = locked(name, held)
    except OSError as error:
        raise InputError(f"{target} cannot be written: {error.strerror}", "choose another folder") from error
    aside = _aside(name)
    try:
        yield Path(name)
        try:
            with suppress(FileNotFoundError):
                os.rename(target, aside)  # noqa: PTH104
            os.rename(name, target)  # noqa: PTH104
        except OSError as error:
            raise InputError(f"{target} cannot be written: {error.strerror}", "Give another name.") from error
    finally:
        _put_back(aside, target)
        _remove(name)
        _remove(aside)
        if held is not None:
            os.close(held)


def _aside(part: str) -> str:
    return f"{part.removesuffix('.part')}.old"


def _put_back(aside: str, target: Path) -> None:
    if os.path.lexists(aside) and not os.path.lexists(target):
        os.rename(aside, target)  # noqa: PTH104


def _remove(name: str) -> None:
    """Remove a folder, or what was a file; or nothing."""
    with suppress(OSError):
        os.unlink(name)  # noqa: PTH108
    rmtree(name, ignore_errors=True)


def _remove_left(target: Path) -> None:
    """Remove what killed programs left: folders that nobody holds, and what they had set aside."""
    if not CAN_LOCK:
        return
    pattern = re.compile(rf"(\.{re.escape(target.name)}\.[0-9a-f]{{12}}\.{machine()})\.(part|old)")
    with suppress(OSError):  # a folder may be written in, and not listed
        for stem in {found[1] for name in os.listdir(target.parent) if (found := pattern.fullmatch(name))}:  # noqa: PTH208
            part, aside = (str(target.parent / f"{stem}.{kind}") for kind in ("part", "old"))
            if not os.path.lexists(part):
                _remove(aside)
            elif os.path.isdir(part):  # noqa: PTH112
                handle = os.open(part, os.O_RDONLY)
                with suppress(OSError):
                    lock(handle)
                    _put_back(aside, target)
                    _remove(part)
                    _remove(aside)
                os.close(handle)
