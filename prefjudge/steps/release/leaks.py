"""Leaks: what is private, searched for in every byte of a release before it counts as one."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from gzip import decompress
from pathlib import Path

from prefjudge.steps.release.contents import RECORD, TEXTS

_SHORTEST = 4
"""An id of fewer letters is in every text by chance."""
_TELLING = 8
"""In texts that the study did not write, an id counts from here on, with a digit: `anna` is a word, too."""
_WORD = re.compile(rb"[^\s\"',:;{}\[\]()<>|\\=]+")
_PART = re.compile(rb"[^-._@+/#]+")
KEYS = re.compile(rb"AKIA[0-9A-Z]{16}|-----BEGIN [A-Z ]*KEY|\b(?:sk|hf|ghp|gho)[-_][A-Za-z0-9_-]{20,}")
"""Keys of services, as they are known by their beginnings."""
_SHAPES = (
    ("an e-mail address", re.compile(rb"[\w.+-]+@[\w-]+(?:\.[\w-]+)*\.[A-Za-z]{2,}")),
    ("a participant's id of a panel", re.compile(rb"(?<![\w])[0-9a-f]{24}(?![\w])")),
    ("a key", KEYS),
    ("a path of this machine", re.compile(rb"(?:/home|/Users|[A-Za-z]:[\\/]+Users)[\\/]+[^\s\\/\"']+")),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Leak:
    """Where something private stands; ``what`` says what it is, and not how it reads."""

    file: str
    line: int
    what: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.what}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Private:
    """What must not be read in a release; ``public`` may be, whatever it looks like."""

    words: frozenset[bytes]
    public: frozenset[bytes]

    @classmethod
    def of(cls, words: Iterable[str], *, public: Iterable[str]) -> "Private":
        """Return the words that are long enough to mean something where they stand."""
        shown = frozenset(word.encode("utf-8", "surrogateescape") for word in public)
        hidden = {word.encode("utf-8", "surrogateescape") for word in words if len(word) >= _SHORTEST}
        return cls(words=frozenset(hidden - shown), public=shown)

    def in_line(self, line: bytes, *, texts: bool) -> str:
        """Return what of a line is private; empty where nothing is."""
        for word in _words(line):
            if word in self.words and (not texts or _is_telling(word)):
                return "an id or a path that only the study knows"
        if not texts:
            for what, shape in _SHAPES:
                if any(not self._is_public(line, found) for found in shape.finditer(line)):
                    return what
        return ""

    def _is_public(self, line: bytes, found: re.Match[bytes]) -> bool:
        around = _WORD.search(line, line.rfind(b" ", 0, found.start()) + 1)
        names = {found[0], around[0] if around else b""}
        return bool(names & self.public)


def find_leaks(folder: Path, names: Iterable[str], record: str, private: Private) -> list[Leak]:
    """Return where something private stands in the files of a folder, or in the record to come."""
    found = []
    for name in names:
        path = folder / name
        data = record.encode("utf-8", "surrogateescape") if name == RECORD else path.read_bytes()
        if path.suffix == ".gz":
            data = decompress(data)
        texts = name in TEXTS or path.with_suffix(".jsonl").name in TEXTS
        # A line is looked at closely only where the file as a whole holds something.
        if private.in_line(data, texts=texts):
            lines = enumerate(data.split(b"\n"), 1)
            said = ((number, private.in_line(line, texts=texts)) for number, line in lines)
            found += [Leak(file=name, line=number, what=what) for number, what in said if what]
    return found


def _words(data: bytes) -> Iterator[bytes]:
    """Yield each different word, and the parts of those that are joined."""
    for word in set(_WORD.findall(data)):
        yield word
        yield word.strip(b".")
        parts = _PART.findall(word)
        if len(parts) > 1:
            yield from parts


def _is_telling(word: bytes) -> bool:
    return len(word) >= _TELLING and any(48 <= letter <= 57 for letter in word)
