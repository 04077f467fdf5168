"""What Git holds, read from its objects: a submission is looked at without being checked out."""

import subprocess
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from prefjudge.errors import InputError, StudyError

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
    """The repository in a folder.

    Raises
    ------
    StudyError
        The folder is not the top of a repository, or there is no Git.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._trees: dict[str | None, dict[str, Entry]] = {}
        self._git = ["git", "-C", str(folder), "--no-replace-objects"]
        top = self._run("rev-parse", "--show-prefix").decode().strip()
        if top:
            raise StudyError(f"{folder} is inside a repository, and not its top", "Give the repository.")

    def _run(self, *words: str, feed: bytes = b"") -> bytes:
        try:
            done = subprocess.run(
                [*self._git, *words],
                input=feed,
                capture_output=True,
                check=False,
            )
        except FileNotFoundError:
            raise StudyError("there is no program `git`", "Install Git.") from None
        if done.returncode:
            said = done.stderr.decode("utf-8", "replace").strip().splitlines()
            raise StudyError(f"git {words[0]}: {said[-1] if said else 'failed'}", f"In {self.folder}.")
        return done.stdout

    def commit(self, ref: str) -> str:
        """Return the commit that a name stands for.

        Raises
        ------
        InputError
            There is none.
        """
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
        """Yield each file with what it holds, or its first ``most`` bytes.

        One program reads all small files: a change may bring thousands.
        """
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
