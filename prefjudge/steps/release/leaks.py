"""Leaks: what is private, searched for in every byte of a release before it counts as one."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from gzip import decompress
from html import unescape
from pathlib import Path

from prefjudge.steps.release.contents import RECORD, TEXTS

_SHORTEST = 4
"""An id of fewer letters is in every text by chance."""
_TELLING = 8
"""In texts that the study did not write, an id counts from here on, with a digit: `anna` is a word, too."""
_TOKEN = re.compile(r"[^\W_]+")
"""Letters and digits: whatever else stands around an id, or in it, joins tokens."""
_WORD = re.compile(r"[^\s\"',:;{}\[\]()<>|\\=]+")
KEYS = re.compile(rb"AKIA[0-9A-Z]{16}|-----BEGIN [A-Z ]*KEY|\b(?:sk|hf|ghp|gho)[-_][A-Za-z0-9_-]{20,}")
"""Keys of services, as they are known by their beginnings."""
_SHAPES = (
    ("an e-mail address", re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)*\.[A-Za-z]{2,}")),
    ("a participant's id of a panel", re.compile(r"(?<!\w)[0-9a-f]{24}(?!\w)")),
    ("a key", re.compile(KEYS.pattern.decode())),
    ("a path of this machine", re.compile(r"(?:/home|/Users|[A-Za-z]:[\\/]+Users)[\\/]+[^\s\\/\"']+")),
)
_ESCAPED = re.compile(r"((?:\\u[0-9a-fA-F]{4})+)|\\([\"\\/|])")
"""What JSON writes for a letter, and JSON and Markdown for a sign of theirs."""
_PIECE = 1 << 20
"""Letters that are looked at together: the tokens of a whole file would fill the memory."""


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
    """What must not be read in a release; ``public`` may be, whatever it looks like.

    Capitals make no difference. ``words`` has the words, each with the place of the token by which it is
    looked for; of an id such as ``study-import-1:anna`` that is the one which the fewest others have.
    """

    words: Mapping[str, tuple[tuple[str, int], ...]]
    public: frozenset[str]

    @classmethod
    def of(cls, words: Iterable[str], *, public: Iterable[str]) -> "Private":
        """Return the words that are long enough to mean something where they stand."""
        shown = frozenset(word.lower() for word in public)
        hidden = {word.lower() for word in words if len(word) >= _SHORTEST} - shown
        tokens = {word: tuple(_TOKEN.finditer(word)) for word in sorted(hidden)}
        often = Counter(token[0] for found in tokens.values() for token in found)
        by_token: dict[str, list[tuple[str, int]]] = {}
        for word, found in tokens.items():
            if found:
                rarest = min(found, key=lambda token: often[token[0]])
                by_token.setdefault(rarest[0], []).append((word, rarest.start()))
        return cls(words={token: tuple(found) for token, found in by_token.items()}, public=shown)

    def in_lines(self, data: bytes, *, texts: bool) -> Iterator[tuple[int, str]]:
        """Yield the number of each line that holds something private, and what that is."""
        number = 1
        for piece in _pieces(data.decode("utf-8", "surrogateescape")):
            # A line is looked at closely only where the lines together hold something.
            if self._in_text(piece, texts=texts):
                for place, line in enumerate(piece.split("\n"), number):
                    if what := self._in_text(line, texts=texts):
                        yield place, what
            number += piece.count("\n")

    def _in_text(self, text: str, *, texts: bool) -> str:
        """Return what of a text is private, as it stands or as a program reads it; empty where nothing is."""
        return next(filter(None, (self._in_reading(one, texts=texts) for one in _readings(text))), "")

    def _in_reading(self, text: str, *, texts: bool) -> str:
        if self._names(text.lower(), texts=texts):
            return "an id or a path that only the study knows"
        if not texts:
            for what, shape in _SHAPES:
                if any(not self._is_public(text, found) for found in shape.finditer(text)):
                    return what
        return ""

    def _names(self, text: str, *, texts: bool) -> bool:
        """Return whether a word is in a text, and not in the middle of a longer one."""
        known = self.words.keys() & set(_TOKEN.findall(text))
        places = (token for token in _TOKEN.finditer(text) if token[0] in known) if known else ()
        for token in places:
            for word, inside in self.words[token[0]]:
                start = token.start() - inside
                if (
                    start >= 0
                    and text.startswith(word, start)
                    and (
                        not texts or (len(word) >= _TELLING and any("0" <= letter <= "9" for letter in word))
                    )
                ):
                    around = (text[start - 1 : start], text[start + len(word) : start + len(word) + 1])
                    if not any(map(_goes_on, around, (word[0], word[-1]))):
                        return True
        return False

    def _is_public(self, text: str, found: re.Match[str]) -> bool:
        around = _WORD.search(text, text.rfind(" ", 0, found.start()) + 1)
        names = {found[0].lower(), around[0].lower() if around else ""}
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
        found += [Leak(file=name, line=line, what=what) for line, what in private.in_lines(data, texts=texts)]
    return found


def _pieces(text: str) -> Iterator[str]:
    """Yield a text in pieces of whole lines."""
    start = 0
    while start < len(text):
        end = text.find("\n", start + _PIECE) + 1 or len(text)
        yield text[start:end]
        start = end


def _readings(text: str) -> Iterator[str]:
    """Yield a text, and what it says without the escapes of JSON, Markdown and HTML."""
    yield text
    if "\\" in text or "&" in text:
        plain = unescape(_ESCAPED.sub(_letters, text))
        if plain != text:
            yield plain


def _letters(found: re.Match[str]) -> str:
    if found[2]:
        return found[2]
    return bytes.fromhex(found[1].replace("\\u", "")).decode("utf-16-be", "surrogatepass")


def _goes_on(letter: str, end: str) -> bool:
    """Return whether what stands beside an end of a word belongs to the same token."""
    return bool(_TOKEN.match(letter) and _TOKEN.match(end))
