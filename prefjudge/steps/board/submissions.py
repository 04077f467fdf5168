"""Submissions: two files each in ``submissions/``, a run and what is said of it."""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from typing import Annotated, Any
from unicodedata import name as unicode_name
from unicodedata import normalize

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from prefjudge.reading.files import COMPRESSIONS
from prefjudge.steps.board.repository import FILE, LINK, MODULE, Entry, Tree
from prefjudge.study.config import BoardConfig, Login

FOLDER = "submissions"
METADATA = "-metadata.json"
_KEPT = f"{FOLDER}/README.md"
_NAME = r"(?P<day>\d{8})-[a-z0-9][a-z0-9_-]{0,60}"
_FILE = re.compile(
    rf"{FOLDER}/(?P<name>{_NAME}?)(?P<kind>{METADATA}|\.txt(?:\.(?:{'|'.join(COMPRESSIONS)}))?)", re.ASCII
)
MOST_METADATA = 65_536
_Day = Annotated[str, Field(pattern=r"^(\d{4}-\d{2}-\d{2})?$")]
_Link = Annotated[str, Field(max_length=500, pattern=r"^(https?://\S+)?$")]


_ALIKE = {"LATIN", "GREEK", "CYRILLIC", "ARMENIAN", "CHEROKEE", "COPTIC"}
"""Alphabets with letters that look like those of another."""


class Metadata(BaseModel):
    """What is said of a run: the keys of MS MARCO's leaderboards, who submitted it, and when it is shown."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    team: Annotated[str, Field(min_length=1, max_length=200)]
    model_description: Annotated[str, Field(min_length=1, max_length=5000)]
    type: str
    submitter: Login
    paper: _Link = ""
    code: _Link = ""
    embargo_until: _Day = ""
    withdrawn: _Day = ""
    withdrawn_because: Annotated[str, Field(max_length=1000)] = ""

    @field_validator("team", "paper", "code")
    @classmethod
    def _can_be_seen(cls, text: str) -> str:
        hidden = next((letter for letter in text if not letter.isprintable()), None)
        if hidden is not None:  # a blank that is none tells two teams apart that read the same
            raise ValueError(f"has the character U+{ord(hidden):04X}, which nobody sees")
        return text

    @field_validator("team")
    @classmethod
    def _is_of_one_alphabet(cls, text: str) -> str:
        for word in re.findall(r"\w+", normalize("NFKC", text)):
            if len(alphabets := {unicode_name(letter, "").split(" ")[0] for letter in word} & _ALIKE) > 1:
                mixed = " and ".join(sorted(alphabets))
                raise ValueError(f"has letters of {mixed} in one word, some of which look alike")
        return text

    @field_validator("embargo_until", "withdrawn")
    @classmethod
    def _is_a_day(cls, text: str) -> str:
        if text:
            date.fromisoformat(text)
        return text


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """What is wrong, and in which file of the repository."""

    path: str
    what: str

    def __str__(self) -> str:
        return f"{self.path}: {self.what}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Submission:
    """A run that was submitted.

    ``state`` says whether it is shown now: ``shown``, ``embargoed`` or ``withdrawn``.
    """

    name: str
    run: str
    day: date
    about: Metadata

    @property
    def metadata(self) -> str:
        """Where what is said of it is."""
        return f"{FOLDER}/{self.name}{METADATA}"

    def state(self, today: date) -> str:
        """Return whether it is shown on a day."""
        if self.about.withdrawn:
            return "withdrawn"
        until = self.about.embargo_until
        return "embargoed" if until and date.fromisoformat(until) > today else "shown"


def read_submissions(
    tree: Tree, metadata: Mapping[str, bytes], rules: BoardConfig
) -> tuple[dict[str, Submission], dict[str, str], list[Problem]]:
    """Return the submissions of a tree by their names, its runs by theirs, and what is wrong with files."""
    # `metadata` has the bytes of those files that are small enough to be read.
    inside = [one for path, one in tree.items() if path.casefold().split("/")[0] == FOLDER and path != _KEPT]
    problems = [*_alike(inside)]
    runs: dict[str, str] = {}
    said: dict[str, Metadata] = {}
    for entry in inside:
        found = _FILE.fullmatch(entry.path)
        if wrong := _wrong_file(entry, rules):
            problems.append(Problem(path=entry.path, what=wrong))
        elif found is None:
            problems.append(Problem(path=entry.path, what=_HOW_NAMED))
        elif _day_of(found["name"]) is None:
            problems.append(Problem(path=entry.path, what=f"{found['name'][:8]} is not a date (yyyymmdd)"))
        elif found["kind"] == METADATA:
            about, wrongs = _read_metadata(metadata.get(entry.path, b""), rules)
            problems += [Problem(path=entry.path, what=one) for one in wrongs]
            if about is not None:
                said[found["name"]] = about
        elif found["name"] in runs:
            problems.append(Problem(path=entry.path, what=f"{runs[found['name']]} is its run already"))
        else:
            runs[found["name"]] = entry.path
    problems += _alone(runs, {one.path for one in inside})
    whole = {
        name: Submission(name=name, run=runs[name], day=_day_of(name) or date.min, about=about)
        for name, about in said.items()
        if name in runs
    }
    return whole, runs, problems


_HOW_NAMED = (
    f"not the name of a submission's file: {FOLDER}/yyyymmdd-name.txt (or .txt.gz and the like) and "
    f"{FOLDER}/yyyymmdd-name{METADATA}, in small letters, digits, - and _"
)


def is_open(path: str) -> bool:
    """Return whether a path is where anybody may submit: what explains how to is the maintainers' own."""
    return path.startswith(f"{FOLDER}/") and path != _KEPT


def _alike(entries: Iterable[Entry]) -> list[Problem]:
    """Return the files that some file systems take for one."""
    seen: dict[str, str] = {}
    found = []
    for entry in entries:
        other = seen.setdefault(entry.path.casefold(), entry.path)
        if other != entry.path:
            found.append(Problem(path=entry.path, what=f"differs from {other} only in capital letters"))
    return found


def _wrong_file(entry: Entry, rules: BoardConfig) -> str:
    """Return why an entry is no file that can be taken; empty where it is one."""
    if entry.mode != FILE:
        kinds = {LINK: "a symbolic link", MODULE: "another repository"}
        return f"is {kinds.get(entry.mode, 'a program')}, and not a plain file (mode {entry.mode})"
    most = MOST_METADATA if entry.path.endswith(METADATA) else int(rules.megabytes * 1_000_000)
    return f"has {entry.size:,} bytes; at most {most:,} are allowed" if entry.size > most else ""


def _day_of(name: str) -> date | None:
    try:
        return date.fromisoformat(f"{name[:4]}-{name[4:6]}-{name[6:8]}")
    except ValueError:
        return None


def _alone(runs: Mapping[str, str], paths: set[str]) -> list[Problem]:
    """Return the runs of which nothing is said, and what is said of no run."""
    found = [
        Problem(path=path, what=f"{FOLDER}/{name}{METADATA} is missing")
        for name, path in runs.items()
        if f"{FOLDER}/{name}{METADATA}" not in paths
    ]
    for path in sorted(paths):
        name = path.removeprefix(f"{FOLDER}/").removesuffix(METADATA)
        some = any(one.startswith(f"{FOLDER}/{name}.txt") for one in paths)  # which may be refused itself
        if path.endswith(METADATA) and not some and _FILE.fullmatch(path):
            found.append(Problem(path=path, what=f"its run {FOLDER}/{name}.txt.gz is missing"))
    return found


def _read_metadata(data: bytes, rules: BoardConfig) -> tuple[Metadata | None, list[str]]:
    """Return what is said of a run, or what is wrong with how it is said."""
    try:
        # Only UTF-8: what the check can read and the site cannot would hide an embargo from the site.
        about = Metadata.model_validate(json.loads(data.decode("utf-8-sig"), object_pairs_hook=_once))
    except UnicodeDecodeError:
        return None, ["not UTF-8 text: save it as UTF-8"]
    except ValidationError as error:
        return None, [_explained(one) for one in error.errors(include_url=False)]
    except (ValueError, RecursionError) as error:
        return None, [f"not JSON: {str(error).splitlines()[0]}"]
    wrong = [f"{name} must be given here" for name in rules.links if not getattr(about, name)]
    if about.type not in rules.types:
        wrong.append(f"type {about.type!r} is none of: {', '.join(rules.types)}")
    if bool(about.withdrawn) != bool(about.withdrawn_because):
        wrong.append("withdrawn (a day) and withdrawn_because (a reason) go together")
    return (None if wrong else about), wrong


def _explained(error: Any) -> str:
    where = ".".join(map(str, error["loc"])) or "the file"
    if error["type"] == "missing":
        return f"{where} is missing"
    if error["type"] == "extra_forbidden":
        return f"{where}: there is no such key; the keys are {', '.join(Metadata.model_fields)}"
    return f"{where}: {error['msg'].removeprefix('Value error, ')} (got {str(error['input'])[:80]!r})"


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key appears twice")
    return found
