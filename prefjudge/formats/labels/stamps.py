"""Stamps of files that rest on simulated judgments, in them or in a file beside them.

A comment is one where the form has comments. Qrels have none that other programs read past, but a second
column that they all do: trec_eval calls it ``iter``, and most files hold ``Q0`` there. A stamp in it is not
lost where the file is copied without the one beside it.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from os import fspath
from pathlib import Path

from prefjudge.core.judges.rehearsal import Rehearsal, joint
from prefjudge.formats.lines.atomic import write_text
from prefjudge.formats.lines.blocks import Block, Holds, blocks
from prefjudge.formats.lines.problems import Notice
from prefjudge.formats.lines.readers import stem

ENDING = "rehearsal.txt"
"""How the name of a stamp ends that lies beside a file."""
_BEGINNING = b"rehearsal: "
_STAMP = re.compile(
    rb"^(#\s*)?rehearsal: ([0-9,]{1,20}) of ([0-9,]{1,20}) judgments? are simulated", re.MULTILINE
)
_COLUMN = re.compile(rb"^[ \t]*[^\s#]\S*[ \t]+rehearsal:([0-9]{1,20})/([0-9]{1,20})[ \t]", re.MULTILINE)
_MOST = 4_096
"""Bytes of a file beside another that are read: a longer one is not a stamp."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stamped(Notice):
    """A file that says of itself that it rests on simulated judgments."""

    rehearsal: Rehearsal


def second_column(rehearsal: Rehearsal | None) -> bytes:
    """Return what stands in the second column of qrels: ``Q0``, or a stamp."""
    return f"rehearsal:{rehearsal.simulated}/{rehearsal.judgments}".encode() if rehearsal else b"Q0"


def with_stamps(path: str | Path, found: Iterable[Block], notices: list[Notice] | None) -> Iterator[Block]:
    """Yield the blocks of a file, and note the stamps in its comments, in its second column and beside it."""
    seen: list[Rehearsal] = []
    for block in found:
        if b"rehearsal:" in block.data:
            columns = set(_COLUMN.findall(block.data))
            seen += [Rehearsal(simulated=int(some), judgments=int(every)) for some, every in columns]
        if _BEGINNING in block.data:
            seen += _read(block.data, commented=True)
        yield block
    seen += _beside(path)
    if notices is not None:
        notices += [Stamped(where=fspath(path), what=str(one), rehearsal=one) for one in dict.fromkeys(seen)]


def file_stamps(path: str | Path) -> list[Notice]:
    """Return the stamps of a file that is not read for anything else."""
    notices: list[Notice] = []
    for _ in with_stamps(path, blocks(path, Holds.QRELS), notices):
        pass
    return notices


def rehearsal_in(notices: Iterable[Notice]) -> Rehearsal | None:
    """Return how much is rehearsed of the files that were read; None where none says so."""
    return joint(one.rehearsal for one in notices if isinstance(one, Stamped))


def write_beside(path: Path, stamp: str) -> None:
    """Write a stamp beside a file whose format has no room for it, or remove that of an earlier file."""
    file = path.with_name(f"{path.stem}.{ENDING}")
    if stamp:
        write_text(file, f"{stamp}: see {path.name}\n")
    elif file.is_file() and _head(file).startswith(_BEGINNING):
        file.unlink()


def stamps_beside(path: str | Path) -> list[Notice]:
    """Return the stamps that lie beside a file."""
    return [Stamped(where=fspath(path), what=str(one), rehearsal=one) for one in _beside(path)]


def _beside(path: str | Path) -> list[Rehearsal]:
    """Return the stamps in the file beside another, which may have been compressed since."""
    name = Path(fspath(path))
    names = dict.fromkeys(name.with_name(f"{short}.{ENDING}") for short in (name.stem, stem(name)) if short)
    return [one for file in names if file.is_file() for one in _read(_head(file), commented=False)]


def _read(data: bytes, *, commented: bool) -> list[Rehearsal]:
    return [
        Rehearsal(simulated=_number(found[2]), judgments=_number(found[3]))
        for found in _STAMP.finditer(data)
        if bool(found[1]) == commented
    ]


def _number(digits: bytes) -> int:
    return int(digits.replace(b",", b"") or b"0")


def _head(file: Path) -> bytes:
    try:
        with file.open("rb") as opened:
            return opened.read(_MOST)
    except OSError:
        return b""
