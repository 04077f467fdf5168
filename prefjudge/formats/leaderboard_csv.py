"""Leaderboard files: the CSV that the MS MARCO leaderboards are made of, in either layout.

The passage leaderboard has columns ``eval`` and ``dev``, the document leaderboard ``MRR@100 (Eval)`` and
``MRR@100 (Dev)``, in another order; the column of marks has no name.
"""

import csv
import re
from collections.abc import Sequence
from datetime import date
from io import StringIO
from pathlib import Path

from prefjudge.counts import many
from prefjudge.errors import InputError
from prefjudge.evaluation.submissions.submissions import BASELINE, RECORD, Submission
from prefjudge.formats.lines.blocks import read_text
from prefjudge.render.text.plain_text import printable

_LIMIT = 20
_SCORE = re.compile(r"^(?:(.*)\()?(dev|eval)\)?$", re.IGNORECASE)


def read_leaderboard(path: str | Path) -> tuple[Submission, ...]:
    """Read the entries of a leaderboard CSV, in the order of the file.

    Raises
    ------
    InputError
        The file cannot be read or is not a UTF-8 CSV, a column is missing, or dates and scores cannot be
        read.
    """
    text = read_text(path)
    csv.field_size_limit(max(csv.field_size_limit(), len(text)))  # a description is as long as it is
    lines = csv.reader(StringIO(text, newline=""))
    header = next(lines, [])
    column = _columns(path, header)
    found: list[Submission] = []
    problems: list[str] = []
    last = lines.line_num
    for cells in lines:
        number, last = last + 1, lines.line_num
        if not any(cell.strip() for cell in cells):
            continue
        if len(cells) != len(header):
            problems.append(f"{path}:{number}: {many(len(cells), 'cell')} for {many(len(header), 'column')}")
            continue
        row = {name: cells[place].strip() for name, place in column.items()}
        wrong = [f"{path}:{number}:{column[name] + 1}: {what}" for name, what in _wrong(row)]
        problems += wrong
        if not wrong:
            found.append(_entry(number, row))
    if problems:
        raise InputError(
            f"{path} has entries that cannot be read",
            "Write dates as yyyy/mm/dd and scores as numbers; a score may be empty.",
            problems[:_LIMIT],
        )
    if not found:
        raise InputError(f"{path} has no entries", "Write a header line, and one line for each submission.")
    return tuple(found)


def _columns(path: str | Path, header: list[str]) -> dict[str, int]:
    place: dict[str, int] = {}
    for number, title in enumerate(header):
        name = title.strip().casefold()
        score = _SCORE.match(name)
        place.setdefault(score.group(2) if score else name or "mark", number)
    missing = [name for name in ("date", "team", "description", "eval") if name not in place]
    if missing:
        raise InputError(
            f"{path}:1: the header lacks {', '.join(missing)}: {','.join(header)!r}",
            "The columns of a leaderboard are: id, date, description, team, paper, code, type, eval, dev.",
        )
    return place


def _wrong(row: dict[str, str]) -> list[tuple[str, str]]:
    wrong = []
    if _date(row["date"]) is None:
        wrong.append(("date", f"not a date: {row['date']!r}"))
    for name in ("dev", "eval"):
        if name in row and row[name] and _number(row[name]) is None:
            wrong.append((name, f"not a score: {row[name]!r}"))
    return wrong


def _entry(line: int, row: dict[str, str]) -> Submission:
    day = _date(row["date"])
    assert day is not None, "checked before"
    mark = row.get("mark", "")
    return Submission(
        line=line,
        submission_id=row.get("id", ""),
        date=day,
        team=row["team"],
        description=row["description"],
        type=row.get("type", ""),
        dev=_number(row.get("dev", "")),
        eval=_number(row["eval"]),
        baseline=BASELINE in mark,
        record=RECORD in mark,
        paper=row.get("paper", ""),
        code=row.get("code", ""),
    )


def leaderboard_text(entries: Sequence[Submission], measure: str) -> str:
    """Return entries as a leaderboard CSV in the layout of the document leaderboard, in the order given.

    :func:`read_leaderboard` reads them back, and :func:`read_measure` the measure.
    """
    text = StringIO(newline="")
    lines = csv.writer(text, lineterminator="\n")
    lines.writerow([*("id", "date", "", "description", "team", "paper", "code", "type"), *_titles(measure)])
    for one in entries:
        mark = BASELINE * one.baseline + RECORD * one.record
        scores = ["" if score is None else f"{score:.4f}" for score in (one.dev, one.eval)]
        told = [one.description, one.team, one.paper, one.code, one.type]
        lines.writerow([one.submission_id, f"{one.date:%Y/%m/%d}", mark, *map(_plain, told), *scores])
    return text.getvalue()


def _titles(measure: str) -> tuple[str, str]:
    return f"{measure} (Dev)", f"{measure} (Eval)"


def _plain(text: str) -> str:
    """Return a text that no spreadsheet takes for a formula, on one line."""
    line = printable(text).strip()
    return f"'{line}" if line[:1] in ("=", "+", "-", "@") else line


def _date(text: str) -> date | None:
    parts = re.fullmatch(r"(\d{4})[-/](\d{1,2})[-/](\d{1,2})", text)
    try:
        return date(*(int(part) for part in parts.groups())) if parts else None
    except ValueError:
        return None


def _number(text: str) -> float | None:
    return float(text) if re.fullmatch(r"[+-]?(\d++\.?\d*+|\.\d++)", text) else None


def read_measure(path: str | Path) -> str:
    """Return the measure that a leaderboard scores by, as its header names it, or nothing."""
    header = next(csv.reader(StringIO(read_text(path), newline="")), [])
    found = (_SCORE.match(title.strip()) for title in header)
    return next(
        (score[1].strip() for score in found if score and score[1] and score[2].lower() == "eval"), ""
    )


def read_aliases(path: str | Path, target: str = "what it stands for") -> dict[str, str]:
    """Read aliases: on each line a name, a tab, and what it stands for; ``#`` begins a comment line.

    Parameters
    ----------
    path : Path
        The file.
    target : str
        What an error calls the second part of a line.

    Raises
    ------
    InputError
        The file cannot be read, a line has no two parts, or one name stands for two.
    """
    found: dict[str, str] = {}
    problems = []
    for number, line in enumerate(read_text(path).split("\n"), 1):
        if line.startswith("#") or not line.strip():
            continue
        name, _, given = (part.strip() for part in line.partition("\t"))
        if not (name and given):
            problems.append(f"{path}:{number}: no tab between a name and {target}: {line!r}")
        elif found.setdefault(name, given) != given:
            problems.append(f"{path}:{number}: {name!r} is {found[name]!r} already, and not {given!r}")
    if problems:
        raise InputError(
            f"{path} has lines that cannot be used",
            f"Write each line as: name, tab, {target}; and each name once.",
            problems[:_LIMIT],
        )
    return found
