"""A board's repository as it begins: the files that are written, and where they come from."""

import subprocess
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from prefjudge.errors import InputError, StudyError
from prefjudge.reading.files import atomic_write, write_text
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
from prefjudge.resources import resource_dir
from prefjudge.steps.release.contents import PrivateRows, model_vote
from prefjudge.steps.release.leaks import Private
from prefjudge.study.config import load_config, parse_config, schema_text, template
from prefjudge.study.imports import CARRIED_KEYS, load_carried, load_votes
from prefjudge.study.judgments import load_assignment_log, load_judgment_log, load_private
from prefjudge.study.pools import load_pools
from prefjudge.study.store import CONFIG_FILE, SCHEMA_FILE, Study, create, fill
from prefjudge.version import __version__

_WHERE = {"workflows": ".github/workflows", "hooks": ".githooks", "CODEOWNERS": ".github/CODEOWNERS"}
_IGNORED = """\
# The collection and the labels may be others', and what is made from the log is made again.
/data
/preference*
/site
/comment.md
"""


def make_repository(folder: Path) -> list[str]:
    """Write what a board's repository holds; what is there already stays as it is. Return the files."""
    # `data`, where the collection and the labels are put, is made, too: Git keeps nothing of it.
    path = folder / CONFIG_FILE
    text = fill(template("default"), name=folder.resolve().name[:100])
    if not path.exists():
        parse_config(text, path)
    is_new = create(folder, text, schema_text() + "\n")
    made = [CONFIG_FILE, SCHEMA_FILE, ".gitignore"] if is_new else []
    load_config(path)
    (folder / "data").mkdir(exist_ok=True)
    ignored = folder / ".gitignore"
    before = ignored.read_text(encoding="utf-8") if ignored.is_file() else ""
    if _IGNORED not in before:
        write_text(ignored, before + _IGNORED)
    source = resource_dir("configs") / "board"
    for file in sorted(one for one in source.rglob("*") if one.is_file()):
        first, *rest = file.relative_to(source).parts
        target = folder.joinpath(_WHERE.get(first, first), *rest)
        if target.exists():
            continue
        write_text(target, file.read_text(encoding="utf-8").replace("{version}", __version__))
        if first == "hooks":
            target.chmod(0o755)
        made.append(target.relative_to(folder).as_posix())
    return made


# The study's log in Git: what is new in the store is added to it, with pseudonyms for people.

LOG_FILE = "log/judgments.jsonl"

LoggedRow = Mapping[str, Any]
_LATER = frozenset({"dropped", "worker"})
"""What of a judgment may change after it was made: it is dropped, or its worker is forgotten."""


def extend_log(study: Study, path: Path) -> int:
    """Add to the log what the study has and the log has not; return how many lines that took."""
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
    gone = [
        {"kind": line.kind, **{name: line.row[name] for name in CARRIED_KEYS[line.kind]}, "gone": True}
        for key, line in logged.items()
        if line.kind in CARRIED_KEYS and key not in now
    ]
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
                "from a rehearsal that is over, move it away.",
            )


# What Git holds, read from its objects: a submission is looked at without being checked out.

FILE, LINK, MODULE = "100644", "120000", "160000"
"""Modes of entries: a plain file, a symbolic link, another repository."""
_NOTHING = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
"""The tree that holds nothing."""
_TOGETHER = 16_000_000
"""Bytes of small files that are read at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """What a tree has at a path: its mode, the object, and its size in bytes."""

    path: str
    mode: str
    sha: str
    size: int


Tree = Mapping[str, Entry]


class Git:
    """The repository in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._trees: dict[str | None, dict[str, Entry]] = {}
        self._git = ["git", "-C", str(folder), "--no-replace-objects"]
        top = self._run("rev-parse", "--show-prefix").decode().strip()
        if top:
            raise StudyError(f"{folder} is inside a repository, but not at its top", "Give the repository.")

    def _run(self, *words: str, feed: bytes = b"") -> bytes:
        try:
            done = subprocess.run([*self._git, *words], input=feed, capture_output=True, check=False)
        except FileNotFoundError:
            raise StudyError("git is not installed", "Install Git.") from None
        if done.returncode:
            said = done.stderr.decode("utf-8", "replace").strip().splitlines()
            raise StudyError(f"git {words[0]}: {said[-1] if said else 'failed'}", f"In {self.folder}.")
        return done.stdout

    def commit(self, ref: str) -> str:
        """Return the commit that a name stands for."""
        try:
            return (
                self._run("rev-parse", "--verify", "--quiet", "--end-of-options", f"{ref}^{{commit}}")
                .decode()
                .strip()
            )
        except StudyError:
            raise InputError(
                f"{self.folder} has no commit {ref!r}",
                "Commit what is there: git add . && git commit"
                if ref == "HEAD"
                else "Fetch it, or name another one.",
            ) from None

    def meeting(self, base: str, head: str) -> str:
        """Return the last commit that two have in common, or else the first one."""
        try:
            return self._run("merge-base", base, head).decode().strip()
        except StudyError:  # unrelated histories
            return base

    def changes(self, base: str, path: str) -> list[str]:
        """Return the commits on a branch itself that changed a file, the last one first."""
        return self._run("log", "--first-parent", "--format=%H", base, "--", path).decode().split()

    def tree(self, sha: str | None) -> dict[str, Entry]:
        """Return all files of a commit by their paths; None has none."""
        if sha in self._trees:
            return self._trees[sha]
        found = self._trees[sha] = {}
        for line in self._run("ls-tree", "-r", "-z", "-l", "--full-tree", sha or _NOTHING).split(b"\0")[:-1]:
            about, _, raw = line.partition(b"\t")
            mode, _, name, size = about.decode().split()
            path = raw.decode("utf-8", "surrogateescape")
            found[path] = Entry(path=path, mode=mode, sha=name, size=0 if size == "-" else int(size))
        return found

    def blob(self, entry: Entry, most: int = -1) -> bytes:
        """Return what a file holds, or its first ``most`` bytes; another repository holds nothing here."""
        if entry.mode == MODULE:
            return b""
        if most < 0 or entry.size <= most:
            return self._run("cat-file", "blob", entry.sha)
        with subprocess.Popen([*self._git, "cat-file", "blob", entry.sha], stdout=subprocess.PIPE) as read:
            assert read.stdout is not None
            data = read.stdout.read(most)
            read.kill()
        return data

    def blobs(self, entries: Iterable[Entry], most: int) -> Iterator[tuple[Entry, bytes]]:
        """Yield each file with what it holds, or its first ``most`` bytes."""
        # One program reads all small files: a change may bring thousands.
        small, size = list[Entry](), 0
        for entry in entries:
            if entry.mode == MODULE or entry.size > most:
                yield entry, self.blob(entry, most)
                continue
            small.append(entry)
            size += entry.size
            if size > _TOGETHER:
                yield from self._read(small)
                small, size = [], 0
        yield from self._read(small)

    def _read(self, entries: Sequence[Entry]) -> Iterator[tuple[Entry, bytes]]:
        if not entries:
            return
        told = self._run("cat-file", "--batch", feed="".join(f"{one.sha}\n" for one in entries).encode())
        place = 0
        for entry in entries:  # a line about the object, its bytes, and a newline
            start = told.index(b"\n", place) + 1
            place = start + entry.size + 1
            yield entry, told[start : place - 1]

    def staged(self) -> str:
        """Return the tree that would be committed next."""
        return self._run("write-tree").decode().strip()

    def last(self) -> str | None:
        """Return the last commit; None before the first one."""
        try:
            return self.commit("HEAD")
        except InputError:
            return None

    def added(self, base: str | None, head: str) -> Iterator[Entry]:
        """Yield every file that a commit of head has and base has not, also where a later one removes it."""
        until = [f"^{base}"] if base else []
        listed = self._run("rev-list", "--objects", head, *until)
        named = {}
        for line in listed.split(b"\n"):
            sha, _, raw = line.partition(b" ")
            if raw:
                named[sha.decode()] = raw.decode("utf-8", "surrogateescape")
        asked = "".join(f"{sha}\n" for sha in named).encode()
        told = self._run("cat-file", "--batch-check=%(objectname) %(objecttype) %(objectsize)", feed=asked)
        for about in told.decode().splitlines():
            name, kind, size = about.split()
            if kind == "blob":
                yield Entry(path=named[name], mode=FILE, sha=name, size=int(size))
