"""Verifies a release from its folder alone: every byte by its digest, and what follows from its judgments."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from math import isclose
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prefjudge.core.copies import NO_COPIES
from prefjudge.core.judgments import select_judgments
from prefjudge.core.resolving.resolutions import (
    PREFERENCE_NAME,
    HowResolved,
    resolved,
    to_qrels,
    with_answers,
)
from prefjudge.errors import InputError, StudyError
from prefjudge.findings.outputs import write_table
from prefjudge.pages.release.cards import catalogue_pages, release_notes
from prefjudge.reading.files import Notice
from prefjudge.reading.labels import read_qrels
from prefjudge.reading.pools import read_copies, read_pool, write_copies
from prefjudge.reading.unpacking import digest
from prefjudge.reading.votes.tables import Votes
from prefjudge.reading.votes.votes import HowVotesAreRead, read_votes
from prefjudge.steps.release.contents import (
    ANSWERS,
    ASKED,
    BOARD,
    COPIES,
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
from prefjudge.steps.release.record import Record, read_asked, read_record
from prefjudge.study.people import BARRED


@dataclass(frozen=True, slots=True, kw_only=True)
class Verified:
    """What verifying a release found: its record, what could be made again, and what is wrong."""

    folder: Path
    record: Record
    derived: tuple[str, ...]
    problems: tuple[str, ...]
    notices: tuple[str, ...]


def verify_release(folder: Path) -> Verified:
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
            notices.append(f"made with prefjudge {record.prefjudge}, so that its pages are not made again")
        if not record.derived:
            notices.append(
                f"{ANSWERS} is not what {record.how.rule} finds in the judgments, and the release says "
                "so: the answers were not made again"
            )
    return Verified(
        folder=folder,
        record=record,
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
    for name, told in sums.items():
        path = folder / name
        if not _is_inside(folder, path):
            problems.append(f"{SUMS} names {name!r}, which is not a file of the folder")
        elif not path.is_file():
            problems.append(f"{name} is missing")
        elif digest(path).removeprefix("sha256:") != told:
            problems.append(f"{name} is not what was released: its digest differs")
    # also links, which may lead to whole folders
    here = {
        path.relative_to(folder).as_posix()
        for path in folder.rglob("*")
        if path.is_symlink() or not path.is_dir()
    }
    return problems, sorted(here - sums.keys() - {SUMS})


def _is_inside(folder: Path, path: Path) -> bool:
    return folder.resolve() in path.resolve().parents


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
