"""The record of a release: what it holds, how it came about, and the digests of what it was made from."""

import json
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, JsonValue, NonNegativeInt, ValidationError

from prefjudge.core.pools import Pairs, Pools
from prefjudge.core.resolving.resolutions import HowResolved
from prefjudge.core.resolving.rules import NO_RULE, RULES
from prefjudge.core.runs import encode
from prefjudge.errors import InputError
from prefjudge.reading.files import write_text
from prefjudge.reading.votes.tables import JsonObject
from prefjudge.steps.release.contents import FORMAT, RECORD, ReleasedFile
from prefjudge.study.config import AuthorConfig, DesignConfig, PoolConfig, ScreeningConfig
from prefjudge.version import __version__
from prefjudge.words import Rehearsal

NOT_RELEASED = frozenset({"pages_url", "keep", "drop"})
"""Keys of the study's design and screening that a release leaves out: where its pages were, and whose work
somebody judged by name. The log says why work does not count.
"""
_MOST_PROBLEMS = 5
"""Faults of a record that are named."""


class _Part(BaseModel):
    model_config = ConfigDict(strict=True, frozen=True, extra="forbid")


class RecordedAbout(_Part):
    """How the release is to be cited."""

    title: str
    description: str
    authors: tuple[AuthorConfig, ...]
    url: str
    date: str
    keywords: tuple[str, ...]


class RecordedNumbers(_Part):
    """How much there is in the release; ``judgments`` are those that count."""

    queries: NonNegativeInt
    judgments: NonNegativeInt
    dropped: NonNegativeInt
    workers: NonNegativeInt
    answers: NonNegativeInt


class RecordedInput(_Part):
    """A file that the study was made from."""

    kind: str
    name: str
    digest: str


class RecordedImport(_Part):
    """A file of votes that the study was made from."""

    name: str
    form: str
    criterion: str | None
    digest: str
    judge: str
    phase: str
    sides: bool
    votes: NonNegativeInt


class Record(_Part):
    """What ``release.json`` holds: no path, no time and no secret."""

    format: Literal[2]
    prefjudge: str
    name: str
    seed: int
    about: RecordedAbout
    license: str
    language: str
    numbers: RecordedNumbers
    rehearsal: Rehearsal | None
    rule: str
    how: HowResolved
    derived: bool
    measures: tuple[str, ...]
    driven_by: str | None
    model: str | None
    version: int | None
    pool: dict[str, JsonValue]
    design: dict[str, JsonValue]
    screening: dict[str, JsonValue]
    reward: str
    asked: bool
    inputs: tuple[RecordedInput, ...]
    imports: tuple[RecordedImport, ...]
    notices: tuple[str, ...]
    files: tuple[ReleasedFile, ...]

    @property
    def of_this_version(self) -> bool:
        """Whether this version made the release, so that it makes the same pages from it."""
        return self.prefjudge == __version__

    def as_json(self) -> JsonObject:
        """Return the record as the pages of a release read it, and as its file holds it."""
        return self.model_dump(mode="json")


def read_record(folder: Path) -> Record:
    """Read the record of a release."""
    path = folder / RECORD
    try:
        text = path.read_text(encoding="utf-8")
        found = json.loads(text)
    except FileNotFoundError:
        raise InputError(
            f"{folder} is not a release: it has no {RECORD}", "Give a release's folder."
        ) from None
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"{path} cannot be read: {error}", "Copy the release again.") from None
    if not isinstance(found, dict) or found.get("prefjudge") is None:
        raise InputError(f"{folder} is not a whole release", "Write it again: prefjudge release STUDY")
    if found.get("format") != FORMAT:
        raise InputError(
            f"{folder} has layout {found.get('format')}, and this version verifies layout {FORMAT}",
            f"Verify it with prefjudge {found['prefjudge']}, which made it.",
        )
    try:
        record = Record.model_validate_json(text)
        if record.of_this_version:  # whose pages are made again: they read these
            PoolConfig.model_validate(record.pool)
            DesignConfig.model_validate(record.design)
            ScreeningConfig.model_validate(record.screening)
            _check_keys(path, record)
    except ValidationError as error:
        problems = [
            f"  {'.'.join(map(str, one['loc']))}: {one['msg']}"
            for one in error.errors(include_url=False)[:_MOST_PROBLEMS]
        ]
        raise InputError(
            f"{path} is not the record of a release:\n" + "\n".join(problems), "Copy the release again."
        ) from None
    rules = (record.how.rule, record.how.sparse_rule or NO_RULE)
    if unknown := [rule for rule in rules if rule != NO_RULE and rule not in RULES]:
        raise InputError(
            f"{path}: how: there is no rule {unknown[0]!r} here",
            f"Install the plugin that has it. Rules at hand: {', '.join(RULES)}",
        )
    return record


def _check_keys(path: Path, record: Record) -> None:
    """Refuse a record whose sections of study.toml are not whole."""
    for name, told, section in (
        ("pool", record.pool, PoolConfig),
        ("design", record.design, DesignConfig),
        ("screening", record.screening, ScreeningConfig),
    ):
        missing = sorted(section.model_fields.keys() - told.keys() - NOT_RELEASED)
        if missing:
            raise InputError(f"{path}: {name} has no {missing[0]}", "Copy the release again.")


# The pairs that a study asked for, where that is not all of a pool: query, tab, the two documents.


def write_asked(path: Path, asked: Pairs) -> None:
    """Write the pairs."""
    rows = zip(asked.query.tolist(), asked.doc_a.tolist(), asked.doc_b.tolist(), strict=True)
    # what is in no pool cannot be judged among its candidates
    known = [(asked.queries[q], asked.docs[a], asked.docs[b]) for q, a, b in rows if min(q, a, b) >= 0]
    write_text(path, "".join("\t".join(row) + "\n" for row in known))


def read_asked(path: Path, pools: Pools) -> Pairs | None:
    """Read the pairs; None where a release has no such file, and all were asked for."""
    if not path.is_file():
        return None
    rows = [line.split("\t") for line in path.read_text(encoding="utf-8").splitlines()]
    if any(len(row) != 3 for row in rows):
        raise InputError(f"{path} does not hold pairs", "Copy the release again.")
    query = encode([row[0] for row in rows], pools.queries)
    a, b = (encode([row[side] for row in rows], pools.docs) for side in (1, 2))
    return Pairs(queries=pools.queries, docs=pools.docs, query=query, doc_a=a, doc_b=b)
