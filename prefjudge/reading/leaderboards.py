"""Leaderboards: submissions in CSV, and what TREC's tables say of runs."""

import csv
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import date
from io import StringIO
from pathlib import Path

import yaml

from prefjudge.errors import InputError
from prefjudge.evaluation.submissions import BASELINE, RECORD, Submission
from prefjudge.reading.files import Notice
from prefjudge.reading.lines import has_reader, read_text, stem
from prefjudge.reading.runs.parquet import is_parquet
from prefjudge.reading.unpacking import pieces
from prefjudge.words import many, printable

_LIMIT = 20
_SCORE = re.compile(r"^(?:(.*)\()?(dev|eval)\)?$", re.IGNORECASE)


def read_leaderboard(path: str | Path) -> tuple[Submission, ...]:
    """Read the entries of a leaderboard CSV, in the order of the file."""
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
    """Return entries as a leaderboard CSV in the layout of the document leaderboard, in the order given."""
    text = StringIO(newline="")
    lines = csv.writer(text, lineterminator="\n")
    titles = f"{measure} (Dev)", f"{measure} (Eval)"
    lines.writerow([*("id", "date", "", "description", "team", "paper", "code", "type"), *titles])
    for one in entries:
        mark = BASELINE * one.baseline + RECORD * one.record
        scores = ["" if score is None else f"{score:.4f}" for score in (one.dev, one.eval)]
        told = [one.description, one.team, one.paper, one.code, one.type]
        lines.writerow([one.submission_id, f"{one.date:%Y/%m/%d}", mark, *map(_plain, told), *scores])
    return text.getvalue()


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
    """Read aliases: on each line a name, a tab, and what it stands for; ``#`` begins a comment line."""
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


# What is told of a run beside its results: the JSON of MS MARCO's submissions, and ir_metadata's header.
#
# MS MARCO keeps ``ID-metadata.json`` beside the folder ``ID`` of a submission's runs; beside the run file
# it is read, too. ir_metadata (Breuer et al., SIGIR 2022) is YAML in comments at the head of a run. Mail
# addresses in it stay unread: who reads a leaderboard has no need of them.

_ENDING = "-metadata.json"
_LONGEST = 5_000
"""Characters of a description that are kept."""
_HEAD = 64 << 10
"""Bytes at the head of a run in which its metadata stands, and bytes of a file of metadata."""
_HEADER = re.compile(
    rb"^#[ \t]*ir_metadata\.start[^\n]*\n(.*?)^#[ \t]*ir_metadata\.end", re.DOTALL | re.MULTILINE
)
_DAY = re.compile(r"(\d{4})[-/]?(\d{2})[-/]?(\d{2})(?!\d)")


@dataclass(frozen=True, slots=True, kw_only=True)
class RunMetadata:
    """What is told of a run, as its submitters wrote it: nothing in it is to be trusted."""

    run: str
    """The name of its submission, else the tag in its first line, else the name of its file."""
    team: str = ""
    description: str = ""
    paper: str = ""
    code: str = ""
    type: str = ""
    submitted: date | None = None
    hidden_until: date | None = None
    """The day on which its embargo ends."""
    withdrawn: bool = False
    """Whether its submitters took it back."""
    submitter: str = ""
    """The login of who submitted it to a board in Git; it is not shown."""

    @property
    def told(self) -> bool:
        """Whether anything is told to readers beyond the name."""
        return any(getattr(self, one.name) for one in fields(self) if one.name not in ("run", "submitter"))


def read_run_metadata(path: Path, notices: list[Notice]) -> RunMetadata:
    """Return what is told of a run file; what cannot be read there is a notice."""
    # A link among submissions may lead to any file of this machine: nothing of what is there is shown.
    for file, run in _places(path):
        if file.is_file():
            return _from_json(file, run, notices)
    head = b"" if path.is_symlink() else _head(path, notices)
    found = _from_header(head, path, notices)
    run = _text(found, "tag") or _tag(head) or stem(path)
    return RunMetadata(
        run=run,
        team=_text(found, "actor", "team") or _text(found, "actor", "name"),
        description=_pipeline(found),
        paper=next(filter(None, (_text(found, *_PAPER, key) for key in ("doi", "url", "arxiv", "dblp"))), ""),
        code=_text(found, "implementation", "source", "repository"),
        submitted=day_of(run),
    )


_PAPER = ("research goal", "publication")


def _places(path: Path) -> list[tuple[Path, str]]:
    """Return where metadata of a run may lie, and what the run is called there."""
    name, folder = stem(path), path.parent
    return [
        (folder / f"{name}{_ENDING}", name),
        (folder.with_name(f"{folder.name}{_ENDING}") if folder.name else folder / _ENDING, folder.name),
    ]


def _from_json(file: Path, run: str, notices: list[Notice]) -> RunMetadata:
    try:
        found = json.loads(_submitted_text(file))
    except InputError as error:
        notices.append(Notice(where=str(file), what=f"{error.message}: the run has no metadata here"))
        found = {}
    except (ValueError, RecursionError):
        notices.append(Notice(where=str(file), what="this is not JSON: the run has no metadata here"))
        found = {}
    if not isinstance(found, dict):
        notices.append(Notice(where=str(file), what="metadata is a JSON object, and this is another value"))
        found = {}
    return RunMetadata(
        run=run,
        team=_text(found, "team"),
        description=_text(found, "model_description") or _text(found, "description"),
        paper=_text(found, "paper"),
        code=_text(found, "code"),
        type=_text(found, "type"),
        submitted=day_of(_text(found, "date")) or day_of(run),
        hidden_until=day_of(_text(found, "embargo_until")),
        withdrawn=bool(found.get("withdrawn")),
        submitter=_text(found, "submitter"),
    )


def _submitted_text(file: Path) -> str:
    if file.is_symlink():
        raise InputError("this is a link")
    if file.stat().st_size > _HEAD:
        raise InputError(f"this has more than {_HEAD:,} bytes")
    return read_text(file)


def _head(path: Path, notices: list[Notice]) -> bytes:
    """Return the first bytes of a file of lines; nothing of another, or of one that cannot be read."""
    if has_reader(path) or is_parquet(path):
        return b""
    head = b""
    try:
        for piece in pieces(path):
            head += piece
            if len(head) >= _HEAD:
                break
    except InputError as error:
        notices.append(Notice(where=str(path), what=f"{error.message}: the run has no metadata here"))
        return b""
    return head[:_HEAD]


def _from_header(head: bytes, path: Path, notices: list[Notice]) -> Mapping[str, object]:
    header = _HEADER.search(head)
    if header is None:
        return {}
    text = "\n".join(
        re.sub("^#[ \t]?", "", line) for line in header[1].decode("utf-8", "replace").splitlines()
    )
    try:
        # The base loader makes text of everything: no `NO` becomes false, no date an object, no tag a call.
        found = yaml.load(text, Loader=yaml.BaseLoader)  # noqa: S506
    except (yaml.YAMLError, RecursionError, ValueError):
        notices.append(Notice(where=str(path), what="its ir_metadata is not YAML, and is not shown"))
        return {}
    return found if isinstance(found, dict) else {}


def _tag(head: bytes) -> str:
    """Return the tag in the first line of a TREC run; empty where it has none."""
    lines = (line for line in head.splitlines() if line.strip() and not line.startswith(b"#"))
    columns = next(lines, b"").decode("utf-8", "surrogateescape").split(None, 5)
    return columns[5].strip() if len(columns) > 5 else ""


def _text(found: Mapping[str, object], *keys: str) -> str:
    """Return a text deep in a record; empty where there is another value, or none."""
    value: object = found
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value.strip()[:_LONGEST] if isinstance(value, str) else ""


def _pipeline(found: Mapping[str, object]) -> str:
    """Return the stages of a retrieval method in their order."""
    method = found.get("method")
    stages = method.get("retrieval") if isinstance(method, dict) else None
    named = (
        [_text(stage, "name") for stage in stages if isinstance(stage, dict)]
        if isinstance(stages, list)
        else []
    )
    return ", ".join(filter(None, named))[:_LONGEST]


def day_of(text: str) -> date | None:
    """Return the day that a text begins with, as ``2021-01-20`` or the ``20210120`` of a submission's id."""
    found = _DAY.match(text)
    try:
        return date(*(int(part) for part in found.groups())) if found else None
    except ValueError:
        return None
