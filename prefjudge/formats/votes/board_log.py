"""The log of a board: a study as lines of JSON that are only ever added, each bound to those before it.

A line with the key of an earlier one takes its place; ``gone`` takes it away. ``chain`` is a digest (SHA-256,
128 bits) of the line without it and of the chain before: a line that is changed, left out or moved breaks it.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

from prefjudge.core.judges.models import ModelVote
from prefjudge.errors import InputError
from prefjudge.formats.votes.form import Context, Rows, VoteForm
from prefjudge.formats.votes.rows import Row
from prefjudge.formats.votes.votes import Votes, Work
from prefjudge.render.text.plain_text import json_text

LOG_FORM = "board-log"
HEAD: Mapping[str, str | int] = {"kind": "log", "format": 1}
JUDGMENT, WORK, MODEL = "judgment", "assignment", "model"
KEYS = {JUDGMENT: ("number",), WORK: ("assignment",), MODEL: ("model", "query", "a", "b")}
"""What names a line, of those kinds that are not rows of a store; these are never taken away."""

_LINE = re.compile(rb'(\{.*), "chain": "([0-9a-f]{32})"\}')
_PARTS = {"query": "query", "left": "left", "right": "right", "winner": "choice", "worker": "worker"}
_MOST = 2**53
"""Numbers from here on are not counts."""
_ALSO = ("strength", "milliseconds", "judge", "phase", "assignment", "dropped")


@dataclass(frozen=True, slots=True, kw_only=True)
class LogLine:
    """One line: its number in the file, what kind of row it is, and the row."""

    number: int
    kind: str
    row: Mapping[str, Any]


def read_log(data: bytes, where: str) -> tuple[list[LogLine], str]:
    """Return the lines of a log, and the end of its chain; every link is checked.

    Raises
    ------
    InputError
        A line is not one of a log, or the chain is broken.
    """
    found, chain = [], ""
    lines = data.split(b"\n")
    if lines[-1]:
        raise InputError(f"{where}:{len(lines)}: the log ends in the middle of a line", _FROM_GIT)
    for number, line in enumerate(lines[:-1], 1):
        link = _LINE.fullmatch(line)
        body = link[1] + b"}" if link else b""
        if link is None or _linked(chain, body) != link[2].decode():
            raise InputError(
                f"{where}:{number}: the chain is broken: this line is not as it was written, or one before "
                "it was changed, left out or moved",
                _FROM_GIT,
            )
        chain = link[2].decode()
        row = _parsed(body, where, number)
        kind = row.pop("kind", None)
        if number == 1 and {"kind": kind, **row} != HEAD:
            raise InputError(f"{where}:1: not a log of a board that this version reads", _FROM_GIT)
        if not isinstance(kind, str):
            raise InputError(f"{where}:{number}: the line does not say what it is", _FROM_GIT)
        if number > 1:
            found.append(LogLine(number=number, kind=kind, row=row))
    return found, chain


_FROM_GIT = "Take the file from Git as it was committed: git log -p shows who changed what."


def _parsed(body: bytes, where: str, number: int) -> dict[str, Any]:
    try:
        row = json.loads(body)
    except (ValueError, RecursionError):
        raise InputError(f"{where}:{number}: not JSON", _FROM_GIT) from None
    assert isinstance(row, dict), "the line is in braces"
    return row


def _linked(chain: str, body: bytes) -> str:
    return sha256(chain.encode() + body).hexdigest()[:32]


def write_lines(rows: Iterable[Mapping[str, Any]], chain: str) -> bytes:
    """Return the lines of rows, chained to those that end in ``chain``; the first ones have none before."""
    made = []
    for row in [*([] if chain else [HEAD]), *rows]:
        body = json_text(dict(row), indent=None).encode()
        chain = _linked(chain, body)
        made.append(body[:-1] + f', "chain": "{chain}"}}\n'.encode())
    return b"".join(made)


def last_rows(lines: Iterable[LogLine], keys: Mapping[str, tuple[str, ...]]) -> dict[Any, LogLine]:
    """Return what a log says in the end: the last line of each key, without what is gone, in their order.

    Raises
    ------
    InputError
        A line is of no kind in ``keys``, or lacks its key.
    """
    found: dict[Any, LogLine] = {}
    for line in lines:
        key = (line.kind, *(line.row.get(name) for name in keys.get(line.kind, ())))
        if len(key) == 1 or not all(isinstance(part, str | int) for part in key):
            raise InputError(f"line {line.number} of the log is a {line.kind!r} without its key", _FROM_GIT)
        if line.row.get("gone"):
            found.pop(key, None)
        else:
            found[key] = line
    return found


def with_log(votes: Votes, path: Path, keys: Mapping[str, tuple[str, ...]]) -> Votes:
    """Return the votes of a log with what it carries beside them.

    Raises
    ------
    InputError
        The chain is broken, or a line is not what it says that it is.
    """
    lines, _ = read_log(path.read_bytes(), str(path))
    rows = last_rows(lines, {**KEYS, **keys})
    carried = [(line.kind, line.row) for line in rows.values() if line.kind in keys]
    return replace(
        votes,
        work=dict(_works(rows.values(), path)),
        models=list(_models(rows.values(), path)),
        carried=carried,
    )


def _works(lines: Iterable[LogLine], path: Path) -> Iterator[tuple[str, Work]]:
    for line in lines:
        if line.kind == WORK:
            row = line.row
            try:
                numbers = {name: int(row[name] or 0) for name in ("answered", "gold_right", "gold_missed")}
                work = Work(**numbers, seconds=float(row["seconds"] or 0), verdict=str(row["verdict"]))
                if not all(0 <= number < _MOST for number in (*numbers.values(), work.seconds)):
                    raise ValueError
            except (KeyError, TypeError, ValueError, OverflowError):
                raise InputError(f"{path}:{line.number}: not an assignment", _FROM_GIT) from None
            yield str(row["assignment"]), work


def _models(lines: Iterable[LogLine], path: Path) -> Iterator[tuple[str, ModelVote]]:
    for line in lines:
        if line.kind == MODEL:
            row = line.row
            said = {row["a"]: 1, row["b"]: -1, None: 0}
            try:
                vote = ModelVote(
                    pair=(str(row["query"]), str(row["a"]), str(row["b"])),
                    a_first=said[row["a_first"]],
                    b_first=said[row["b_first"]],
                )
            except (KeyError, TypeError):
                raise InputError(f"{path}:{line.number}: not a model's vote", _FROM_GIT) from None
            yield str(row["model"]), vote


def _fits(rows: Rows) -> bool:
    return rows[0].keys() == HEAD.keys() | {"chain"} and rows[0].get("kind") == HEAD["kind"]


def _flatten(rows: Iterable[Row], context: Context) -> Iterator[Row]:
    last: dict[str, Row] = {}
    for line, row in rows:
        if row.get("kind") == JUDGMENT:
            last[str(row.get("number"))] = (line, row)
    for number, (line, row) in last.items():
        yield line, {**row, "_id": number, **{f"_{name}": row.get(name) for name in _ALSO}}


FORM = VoteForm(fits=_fits, flatten=_flatten, parts=lambda rows: dict(_PARTS), may_be_empty=True)
