"""Verifies a release from its folder alone: every byte by its digest, and what follows from its judgments."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from math import isclose
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, JsonValue, NonNegativeInt, ValidationError

from prefjudge.core.copies import NO_COPIES
from prefjudge.core.judgments import select_judgments
from prefjudge.core.pools import Pairs, Pools
from prefjudge.core.resolving.resolutions import (
    PREFERENCE_NAME,
    HowResolved,
    resolved,
    to_qrels,
    with_answers,
)
from prefjudge.core.resolving.rules import NO_RULE, RULES
from prefjudge.core.runs import encode
from prefjudge.errors import InputError, StudyError
from prefjudge.findings.outputs import write_table
from prefjudge.pages.release.cards import catalogue_pages, release_notes
from prefjudge.reading.files import Notice, write_text
from prefjudge.reading.labels import read_qrels
from prefjudge.reading.pools import read_copies, read_pool, write_copies
from prefjudge.reading.unpacking import digest
from prefjudge.reading.votes.tables import JsonObject, Votes
from prefjudge.reading.votes.votes import HowVotesAreRead, read_votes
from prefjudge.show.results import Shown
from prefjudge.steps.release.contents import (
    ANSWERS,
    ASKED,
    BOARD,
    COPIES,
    FORMAT,
    PAGE,
    POOL,
    RECORD,
    RUNS,
    SUMS,
    TOURNAMENTS,
    Derived,
    ReleasedFile,
    board,
    sums_text,
)
from prefjudge.study.config import AuthorConfig, DesignConfig, PoolConfig, ScreeningConfig
from prefjudge.study.people import BARRED
from prefjudge.version import __version__
from prefjudge.words import Rehearsal, told

# The record of a release: what it holds, how it came about, and the digests of what it was made from.

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
    for name, said, section in (
        ("pool", record.pool, PoolConfig),
        ("design", record.design, DesignConfig),
        ("screening", record.screening, ScreeningConfig),
    ):
        missing = sorted(section.model_fields.keys() - said.keys() - NOT_RELEASED)
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


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class ReleaseResult(Shown):
    """A release in numbers: ``judgments`` count, ``dropped`` do not; ``answers`` are preference qrels.

    ``derived`` are the files that were made again from the judgments in the release alone, and are as they
    should be; ``problems`` is what is wrong with a release that was verified.
    """

    study: str
    out: str
    queries: int
    judgments: int
    dropped: int
    workers: int
    answers: int
    rule: str
    license: str
    rehearsal: Rehearsal | None
    files: tuple[ReleasedFile, ...]
    derived: tuple[str, ...]
    problems: tuple[str, ...]
    notices: tuple[str, ...]

    @told
    def ok(self) -> bool:
        """Whether nothing is wrong with the release."""
        return not self.problems


def verify_release(folder: Path) -> ReleaseResult:
    """Return what is wrong with a release, if anything."""
    record = read_record(folder)
    problems, others = _digests(folder, record.files)
    derived: list[str] = []
    notices = [f"{name} is not part of the release" for name in others]
    if not problems:
        try:
            derived, found = _derive(folder, record)
            problems += found
        except (InputError, StudyError) as error:
            problems.append(str(error))
        if not record.of_this_version:
            notices.append(f"made with prefjudge {record.prefjudge}, so its pages are not made again")
        if not record.derived:
            notices.append(
                f"{ANSWERS} is not what {record.how.rule} finds in the judgments, and the release says "
                "so: the answers were not made again"
            )
    return ReleaseResult(
        study=record.name,
        out=str(folder),
        **record.numbers.model_dump(),
        rule=record.rule,
        license=record.license,
        rehearsal=record.rehearsal,
        files=record.files,
        derived=tuple(derived),
        problems=tuple(problems),
        notices=tuple(notices),
    )


def _digests(folder: Path, files: tuple[ReleasedFile, ...]) -> tuple[list[str], list[str]]:
    """Return which files are not what the sums and the record say, and those that neither names."""
    try:
        text = (folder / SUMS).read_bytes().decode()
        sums = {name: found for found, _, name in (line.partition("  ") for line in text.splitlines())}
    except (OSError, ValueError):
        return [f"{SUMS} cannot be read"], []
    problems = [
        f"{one.name}: {SUMS} and {RECORD} do not agree on it"
        for one in files
        if sums.get(one.name) != one.sha256
    ]
    if text != sums_text(sums) or not {RECORD, PAGE} <= sums.keys():
        problems.append(f"{SUMS} is not as it was written")
    for name, said in sums.items():
        path = folder / name
        if folder.resolve() not in path.resolve().parents:
            problems.append(f"{SUMS} names {name!r}, which is not a file of the folder")
        elif not path.is_file():
            problems.append(f"{name} is missing")
        elif digest(path).removeprefix("sha256:") != said:
            problems.append(f"{name} is not what was released: its digest differs")
    # also links, which may lead to whole folders
    here = {
        path.relative_to(folder).as_posix()
        for path in folder.rglob("*")
        if path.is_symlink() or not path.is_dir()
    }
    return problems, sorted(here - sums.keys() - {SUMS})


def _derive(folder: Path, record: Record) -> tuple[list[str], list[str]]:
    """Make again what follows from the judgments; return the files that are the same, and what differs."""
    notices: list[Notice] = []
    votes = read_votes(folder, HowVotesAreRead(told={}), notices)
    log = select_judgments(votes.log, _counted(votes, record.how))
    gone = [code for code, worker in enumerate(log.workers) if worker in record.how.without]
    log = select_judgments(log, ~np.isin(log.worker, gone)) if gone else log
    pools = read_pool(folder / POOL)
    named = {one.name for one in record.files}  # what else lies in the folder is not the release's
    asked = read_asked(folder / ASKED, pools) if ASKED in named else None
    found = resolved(log, record.how, pools=pools, asked=asked)
    kept = read_qrels(folder / ANSWERS, name=PREFERENCE_NAME)
    won = to_qrels(found) if record.derived else kept
    copies = read_copies(folder / COPIES, pools.docs) if COPIES in named else NO_COPIES
    derived = Derived(
        log=log,
        resolutions=with_answers(found, won, record.rule),
        answers=copies.spread(won),
        rehearsal=record.rehearsal,
    )
    same, problems = [], _numbers(record, derived, len(votes.dropped))
    with TemporaryDirectory() as made:
        for name, _, write in derived.files():
            write(Path(made) / name)
        if copies:
            write_copies(Path(made) / COPIES, copies)
        if record.measures:
            paths = sorted(folder / name for name in named if name.startswith(f"{RUNS}/"))
            write_table(Path(made) / BOARD, board(paths, kept, record.measures)[0])
        if record.of_this_version:
            told = record.as_json()
            for name, page in {PAGE: release_notes(told), **catalogue_pages(told)}.items():
                (Path(made) / name).write_text(page, encoding="utf-8")
        for path in sorted(Path(made).iterdir()):
            if path.name == ANSWERS and not record.derived:
                continue
            if _is_same(path, folder / path.name):
                same.append(path.name)
            else:
                problems.append(f"{path.name} is not what the judgments make")
    return same, problems


def _counted(votes: Votes, how: HowResolved) -> NDArray[np.bool_]:
    """Return which votes count, shape (n_votes,): some of barred workers may."""
    barred = {code for code, worker in enumerate(votes.log.workers) if worker in how.counted}
    counts = np.ones(len(votes.log), bool)
    for row, reason in votes.dropped.items():
        counts[row] = reason in BARRED and int(votes.log.worker[row]) in barred
    return counts


def _numbers(record: Record, derived: Derived, dropped: int) -> list[str]:
    counted = {
        "queries": len(derived.resolutions),
        "judgments": len(derived.log),
        "dropped": dropped,
        "answers": int(derived.answers.query.size),
    }
    return [
        f"{RECORD}: {told} {name} are {number}"
        for name, number in counted.items()
        if (told := getattr(record.numbers, name)) != number
    ]


def _is_same(made: Path, released: Path) -> bool:
    """Compare two files; the numbers of a fit, up to what another machine's arithmetic may change."""
    if not released.is_file():
        return False
    one, other = made.read_bytes(), released.read_bytes()
    if one == other or made.name not in (TOURNAMENTS, BOARD, ANSWERS):
        return one == other
    ours, theirs = list(_values(made)), list(_values(released))
    return len(ours) == len(theirs) and all(map(_is_close, ours, theirs))


def _values(path: Path) -> Iterator[Any]:
    """Yield what the lines of a file hold; labels in one order, whatever order they are in."""
    lines = path.read_text(encoding="utf-8").splitlines()
    if path.name == TOURNAMENTS:
        yield from map(json.loads, lines)
    elif path.name == BOARD:
        yield from (line.split(",") for line in lines)
    else:
        yield from (line.split() for line in sorted(lines))


def _is_close(a: Any, b: Any) -> bool:
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(_is_close(a[key], b[key]) for key in a)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(_is_close, a, b))
    try:
        return a == b or isclose(float(a), float(b), rel_tol=1e-6, abs_tol=1e-9)
    except (TypeError, ValueError):
        return False
