"""Problems: what is wrong with a file, and where; notices: what is odd but can be read."""

import re
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from os import fspath
from pathlib import Path

from prefjudge.counts import many
from prefjudge.errors import InputError

LIMIT = 20
"""How many problems of one file are collected before reading stops."""

_SHOWN = 120
_SURROGATES = re.compile("[\ud800-\udfff]")
"""What `decode` makes of bytes that are not UTF-8."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    """Something odd that a reader met and dealt with: ``where`` is ``file`` or ``file:line``."""

    where: str
    what: str

    def __str__(self) -> str:
        return f"{self.where}: {self.what}"


def decode(raw: bytes) -> str:
    """Return the bytes of an id as text; bytes that are not UTF-8 survive a round trip."""
    return raw.decode("utf-8", "surrogateescape")


def encode(text: str) -> bytes:
    """Return the bytes that `decode` made ``text`` of."""
    return text.encode("utf-8", "surrogateescape")


def is_text(name: str) -> bool:
    """Return whether an id was UTF-8: SQL and Parquet take no other."""
    return not _SURROGATES.search(name)


def column(text: str) -> bytes:
    """Return an id as a column of a file holds it; an id with a blank would break the columns."""
    raw = encode(text)
    if not raw or raw.split() != [raw]:
        raise InputError(
            f"the id {text!r} holds a blank", "Replace the blanks: ids in these files are single words."
        )
    return raw


def shown(raw: bytes) -> str:
    """Return offending text as an error shows it: quoted, printable, not too long."""
    text = repr(raw[: _SHOWN + 1].decode("utf-8", "backslashreplace"))
    return text if len(raw) <= _SHOWN else text[:_SHOWN] + "…'"


_ALIKE: dict[str, Callable[[str], str]] = {
    "leading zeros": lambda name: name.lstrip("0") or "0",
    "a decimal point, as tables write whole numbers": lambda name: name.removesuffix(".0"),
    "capital letters": str.casefold,
    "quotation marks": lambda name: name.strip("\"'"),
}
"""How ids of one thing may differ in two files, and what makes them the same."""


def way_of_writing(names: Iterable[str], others: Collection[str]) -> str:
    """Return in what ids differ that never meet those of another file; empty where nothing tells."""
    names = list(names)
    for what, plain in _ALIKE.items():
        if not {*map(plain, names)}.isdisjoint(map(plain, others)):
            return what
    return ""


def write_alike(kind: str, names: Iterable[str], others: Collection[str], files: str) -> str:
    """Return what to do where no id of one file is in another: a ``query_id``, of ``files`` such as runs."""
    if what := way_of_writing(names, others):
        return f"Write the {kind}s alike: they differ in {what}."
    return f"Give {files} of the same collection, which write the {kind} alike."


class Stop(Exception):  # noqa: N818 - control flow inside this room
    """Enough problems were found."""


@dataclass(slots=True)
class Problems:
    """Collects the problems of one file and raises them together.

    Parameters
    ----------
    path : str
        The file, as the user named it.
    kind : str
        What the file should be: ``run``, ``qrels``.
    limit : int
        After this many problems `add` raises `Stop`.
    """

    path: str
    kind: str
    limit: int = LIMIT
    found: list[tuple[int, int, str]] = field(default_factory=list)
    hints: dict[str, None] = field(default_factory=dict)

    def add(self, line: int, column: int, what: str, raw: bytes, hint: str) -> None:
        """Record one problem at ``line`` and ``column``, both from 1."""
        self.found.append((line, column, f"{self.path}:{line}:{column}: {what}: {shown(raw)}"))
        self.hints[hint] = None
        if len(self.found) >= self.limit:
            raise Stop

    def error(self) -> InputError:
        """Return the problems as one error, in the order of the lines."""
        lines = [text for _, _, text in sorted(self.found)]
        count = len(lines)
        first = "the first " if count >= self.limit else ""
        return InputError(
            f"{self.path} is not a readable {self.kind} ({first}{many(count, 'problem')}):",
            "\n".join(self.hints),
            lines,
        )

    def check(self) -> None:
        """Raise what was found, if anything was."""
        if self.found:
            raise self.error()


def paths_of(paths: str | Path | Iterable[str | Path]) -> tuple[str, ...]:
    """Return one path or several as a tuple of strings."""
    if isinstance(paths, str | Path):
        return (fspath(paths),)
    return tuple(fspath(path) for path in paths)
