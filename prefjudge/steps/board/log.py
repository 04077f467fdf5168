"""The study's log in Git: what is new in the store is added to it, with pseudonyms for people."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from prefjudge.errors import StudyError
from prefjudge.reading.files import atomic_write
from prefjudge.reading.votes.votes import (
    JUDGMENT,
    KEYS,
    MODEL,
    WORK,
    LogLine,
    last_rows,
    read_log,
    write_lines,
)
from prefjudge.steps.release.leaks import Private
from prefjudge.steps.release.rows import PrivateRows, model_vote
from prefjudge.study.imports import CARRIED_KEYS, load_carried, load_votes
from prefjudge.study.judgments import load_assignment_log, load_judgment_log, load_private
from prefjudge.study.pools import load_pools
from prefjudge.study.store import Study

LOG_FILE = "log/judgments.jsonl"

LoggedRow = Mapping[str, Any]
_LATER = frozenset({"dropped", "worker"})
"""What of a judgment may change after it was made: it is dropped, or its worker is forgotten."""


def extend_log(study: Study, path: Path) -> int:
    """Add to the log what the study has and the log has not; return how many lines that took.

    Raises
    ------
    StudyError
        The log is another study's or another store's, or something private would be in it.
    InputError
        The log is not as it was written.
    """
    data = path.read_bytes() if path.is_file() else b""
    lines, chain = read_log(data, str(path)) if data else ([], "")
    logged = last_rows(lines, KEYS | CARRIED_KEYS)
    with study.reading(), study.transaction(write=False) as db:
        pools = load_pools(db, newcomers=True)
        public = {*pools.sources, *pools.queries, *pools.docs, *_pseudonyms(logged.values())}
        private = Private.of([*load_private(db), study.secret.hex()], public=public)
        now = {_key(row): row for row in _rows(study, _naming(study, logged.values()))}
    _refuse_other(path, logged, now)
    fresh = [row for key, row in now.items() if key not in logged or _row(logged[key]) != row]
    gone = [_gone(line) for key, line in logged.items() if line.kind in CARRIED_KEYS and key not in now]
    added = write_lines([*gone, *fresh], chain) if gone or fresh else b""
    for _, told in private.in_lines(added, texts=False):
        raise StudyError(
            f"nothing was added to {path}: {told} would be in it",
            "Take it out of what the study was made from: names of runs, reasons in study.toml.",
        )
    if added:
        with atomic_write(path) as file:
            file.write(data + added)
    return added.count(b"\n")


def _rows(study: Study, named: Callable[..., str]) -> Iterator[LoggedRow]:
    """Yield all that the log is to hold, in an order that only grows."""
    with study.transaction(write=False) as db:
        works = load_assignment_log(db)
        private = PrivateRows(named, works)
        for kind, row in load_carried(db, study.folder):
            yield {"kind": kind, **row}
        for number, vote in enumerate(load_judgment_log(db), 1):
            said = private.judgment(vote)
            yield {"kind": JUDGMENT, "number": number, **_without(said, "hit")}
        for work in works:
            yield {"kind": WORK, **_without(private.assignment(work), "hit")}
        for model, said_of in load_votes(db):
            yield {"kind": MODEL, **_without(model_vote(model, said_of), "judge")}


def _without(row: LoggedRow, name: str) -> LoggedRow:
    return {key: value for key, value in row.items() if key != name}


def _pseudonyms(lines: Iterable[LogLine]) -> set[str]:
    return {
        str(line.row[name])
        for line in lines
        if line.kind in (JUDGMENT, WORK)
        for name in ("worker", "assignment")
        if line.row.get(name)
    }


def _naming(study: Study, lines: Iterable[LogLine]) -> Callable[..., str]:
    """Return what gives pseudonyms: those of a study that was rebuilt from its log stay what they are."""
    return partial(_named, study, _pseudonyms(lines))


def _named(study: Study, known: set[str], kind: str, name: str) -> str:
    last = name.rpartition(":")[2]  # an imported assignment is called by the import, too
    return last if last in known else study.opaque(kind, name)


def _key(row: LoggedRow) -> tuple[Any, ...]:
    return (row["kind"], *(row[name] for name in (KEYS | CARRIED_KEYS)[row["kind"]]))


def _row(line: LogLine) -> LoggedRow:
    return {"kind": line.kind, **line.row}


def _gone(line: LogLine) -> LoggedRow:
    return {"kind": line.kind, **{name: line.row[name] for name in CARRIED_KEYS[line.kind]}, "gone": True}


def _refuse_other(path: Path, logged: Mapping[Any, LogLine], now: Mapping[Any, LoggedRow]) -> None:
    """Refuse to go on with a log whose judgments are not those of the store."""
    for key, line in logged.items():
        if line.kind != JUDGMENT:
            continue
        row = now.get(key)
        same = row is not None and all(
            row[name] == line.row.get(name) for name in row.keys() - _LATER - {"kind"}
        )
        if not same:
            raise StudyError(
                f"{path}:{line.number} is a judgment that the study's store does not have",
                "The store is older than the log, or another one: rebuild it from the log. If the log is "
                "of a rehearsal that is over, move it away.",
            )
