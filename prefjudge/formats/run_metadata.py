"""What is told of a run beside its results: the JSON of MS MARCO's submissions, and ir_metadata's header.

MS MARCO keeps ``ID-metadata.json`` beside the folder ``ID`` of a submission's runs; beside the run file it is
read, too. ir_metadata (Breuer et al., SIGIR 2022) is YAML in comments at the head of a run. Mail addresses in
it stay unread: who reads a leaderboard has no need of them.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import date
from pathlib import Path

import yaml

from prefjudge.errors import InputError
from prefjudge.formats.lines.blocks import pieces, read_text
from prefjudge.formats.lines.problems import Notice
from prefjudge.formats.lines.readers import has_reader, stem
from prefjudge.formats.runs.parquet import is_parquet

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
    """What is told of a run; empty where nothing is.

    Attributes
    ----------
    run : str
        Its name: of its submission, else the tag in its first line, else of its file.
    team, description, paper, code, type : str
        As its submitters wrote them: nothing in them is to be trusted.
    submitted : datetime.date or None
        The day of its submission.
    hidden_until : datetime.date or None
        The day on which its embargo ends.
    withdrawn : bool
        Whether its submitters took it back.
    submitter : str
        The login of who submitted it to a board in Git; it is not shown.
    """

    run: str
    team: str = ""
    description: str = ""
    paper: str = ""
    code: str = ""
    type: str = ""
    submitted: date | None = None
    hidden_until: date | None = None
    withdrawn: bool = False
    submitter: str = ""

    @property
    def told(self) -> bool:
        """Whether anything is told to readers beyond the name."""
        return any(getattr(self, one.name) for one in fields(self) if one.name not in ("run", "submitter"))


def read_run_metadata(path: Path, notices: list[Notice]) -> RunMetadata:
    """Return what is told of a run file; what cannot be read there is a notice.

    A link among submissions may lead to any file of this machine: nothing of what is there is shown.
    """
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
