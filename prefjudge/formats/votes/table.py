"""The columns of votes, as they are read from rows: ids are checked, and winners understood."""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from prefjudge.core.judges.judgments import Judgments
from prefjudge.core.pooling.runs import encode
from prefjudge.counts import many
from prefjudge.formats.lines.problems import Notice, Problems
from prefjudge.formats.votes.choices import NO_SIDES, SIDES, UNKNOWN, by_name, by_word
from prefjudge.formats.votes.rows import Row
from prefjudge.formats.votes.votes import Votes

ALL = "all"
"""The query of votes whose file names none: their systems are compared as such."""
_ID_HINT = (
    "Ids are single words without blanks. Name the column of the ids with --map, for instance left=a_id."
)
_GOLD_HINT = "It is the expected winner, written like the winner; the cell is empty where none is known."
_WINNER_HINT = "The winner repeats one of the two, or is: left, right, a, b, 1, 2 or tie."


class VoteTable:
    """Takes rows one after the other.

    Parameters
    ----------
    parts : mapping of str to str
        Which column of a row holds which part of a vote.
    problems : Problems
        Receives what is wrong.
    """

    def __init__(self, parts: Mapping[str, str], problems: Problems) -> None:
        self._of, self._problems = dict(parts), problems
        self._lines: list[int] = []
        self._said: list[str] = []
        self._readings: tuple[list[int], list[int]] = ([], [])
        self._query: list[str] = []
        self._left: list[str] = []
        self._right: list[str] = []
        self._worker: list[str] = []
        self._also: dict[str, list[str]] = {name: [] for name in ("id", "judge", "phase", "assignment")}
        self._numbers: dict[str, list[int]] = {"milliseconds": [], "strength": []}
        self._dropped: dict[int, str] = {}
        self._queries: dict[str, str] = {}
        self._passages: dict[str, str] = {}
        self._models: dict[tuple[str, str], str] = {}
        self._fine: set[str] = set()
        self._gold: dict[str, tuple[int, int]] = {}
        self._sides = True
        self.same = 0
        """Votes between two copies of one text, which say nothing."""

    def take(self, line: int, row: Mapping[str, Any]) -> None:
        """Add the vote of a row."""
        text_of = {part: row.get(name) for part, name in self._of.items()}
        query = self._query_of(line, row, text_of)
        names = [self._side(line, query, text_of, side) for side in ("left", "right")]
        if not query or not all(names):
            return
        (left, *_), (right, *_) = names
        said = flat(text_of.get("winner"))
        if left == right:
            if "left" in self._of or "left_model" in self._of:
                self._problem(line, "the document is compared with itself", left, "Give two documents.")
            else:
                self.same += 1
            return
        if not said:
            self._problem(line, "no winner", "", f"{_WINNER_HINT} Remove the row where nobody chose.")
            return
        worker = _as_word(text_of.get("worker"))
        dropped = as_text(row.get("_dropped"))
        if expected := flat(text_of.get("gold")):
            if not dropped:
                self._answered(line, names, said, expected, worker)
            return
        self._lines.append(line)
        self._said.append(said)
        self._readings[0].append(by_name(said, names[0], names[1]))
        self._readings[1].append(by_word(said))
        self._query.append(query)
        self._left.append(left)
        self._right.append(right)
        self._worker.append(worker)
        for name, kept in self._also.items():
            kept.append(as_text(row.get(self._of.get(name, f"_{name}"))))
        for name, numbers in self._numbers.items():
            numbers.append(self._number(line, name, row))
        if dropped:
            self._dropped[len(self._lines) - 1] = dropped
        self._sides = self._sides and row.get(SIDES) != NO_SIDES

    def _answered(
        self, line: int, names: Sequence[Sequence[str]], said: str, expected: str, worker: str
    ) -> None:
        """Count a comparison whose answer is known: it says how good its worker is, and nothing else."""
        readings = [(by_name(one, *names), by_word(one)) for one in (expected, said)]
        meant, chosen = (word if name == UNKNOWN else name for name, word in readings)
        for what, one, how in (("gold answer", meant, expected), ("winner", chosen, said)):
            if one == UNKNOWN:
                self._problem(line, f"the {what} is neither of the two", how, _GOLD_HINT)
        right, missed = self._gold.get(worker, (0, 0))
        self._gold[worker] = (right + (meant == chosen), missed + (meant != chosen))

    def _number(self, line: int, name: str, row: Mapping[str, Any]) -> int:
        said = row.get(self._of.get(name, f"_{name}"))
        least = 1 if name == "strength" else 0
        if said in (None, ""):
            return least
        try:
            number = round(float(said))
        except (TypeError, ValueError, OverflowError):
            number = -1
        if not least <= number < (128 if name == "strength" else 1 << 53):
            self._problem(line, f"the {name} is not a number of {least} or more", flat(said), "Correct it.")
            return least
        return number

    def _query_of(self, line: int, row: Mapping[str, Any], said: Mapping[str, Any]) -> str:
        text = as_text(said.get("query_text"))
        if "query" in self._of:
            query = self._id(line, "query", flat(said.get("query")))
        elif text:
            query = digest_of(text)
        elif "query_text" in self._of:
            self._problem(line, "no query", "", "Fill in the cell.")
            return ""
        else:
            query = _as_word(row.get("_instance")) or ALL
        if query and text:
            self._keep(line, "query", self._queries, query, text)
        return query

    def _side(self, line: int, query: str, said: Mapping[str, Any], side: str) -> tuple[str, ...]:
        """Return a document's id, and what else the winner may repeat of it; nothing after a problem."""
        name, model = flat(said.get(side)), flat(said.get(f"{side}_model"))
        text = as_text(said.get(f"{side}_text"))
        if f"{side}" in self._of:
            doc = self._id(line, side, name)
        elif f"{side}_model" in self._of:
            if not model:
                self._problem(line, f"no {side} model", "", "Fill in the cell.")
                return ()
            word = _as_word(model)
            doc = word if query == ALL else f"{query}:{word}"
            if text and self._passages.get(doc, text) != text:  # the same model answered again
                doc = f"{doc}:{digest_of(text)}"
        elif text:
            doc = digest_of(text)
        else:
            self._problem(line, f"no text on the {side}", "", "Fill in the cell.")
            return ()
        if not doc:
            return ()
        if text:
            self._keep(line, "document", self._passages, doc, text)
        if model:
            self._models[query, doc] = _as_word(model)
        return tuple(one for one in (doc, name, model, text) if one)

    def _id(self, line: int, what: str, name: str) -> str:
        if name in self._fine:
            return name
        if not name:
            self._problem(line, f"no {what}", "", "Fill in the cell.")
            return ""
        if name.split() != [name] or not name.isprintable():
            self._problem(line, f"the id of the {what} holds a blank or cannot be printed", name, _ID_HINT)
            return ""
        self._fine.add(name)
        return name

    def _keep(self, line: int, what: str, texts: dict[str, str], key: str, text: str) -> None:
        if texts.setdefault(key, text) != text:
            self._problem(line, f"the {what} {key!r} had another text before", text, "Give each id one text.")

    def _problem(self, line: int, what: str, raw: str, hint: str) -> None:
        self._problems.add(line, 1, what, raw.encode("utf-8", "backslashreplace"), hint)

    def votes(self, form: str, *, sides: bool, notices: list[Notice]) -> Votes:
        """Return all that was taken."""
        choice = self._choices(notices)
        if self.same:
            what = f"{many(self.same, 'vote')} between two copies of one text: left out"
            notices.append(Notice(where=self._problems.path, what=what))
        if self._gold:
            right, missed = (sum(counts) for counts in zip(*self._gold.values(), strict=True))
            what = f"{many(right + missed, 'comparison')} with a known answer: {missed} answered otherwise"
            notices.append(Notice(where=self._problems.path, what=what))
        queries, docs = tuple(sorted(set(self._query))), tuple(sorted({*self._left, *self._right}))
        workers = tuple(sorted(set(self._worker) - {""}))
        log = Judgments(
            queries=queries,
            docs=docs,
            workers=workers,
            query=encode(self._query, queries),
            left=encode(self._left, docs),
            right=encode(self._right, docs),
            choice=choice,
            strength=np.array(self._numbers["strength"], dtype=np.int8),
            worker=encode(self._worker, workers),
            sides=sides and self._sides,
        )
        docs_of: dict[str, set[str]] = {}
        for query, *pair in zip(self._query, self._left, self._right, strict=True):
            docs_of.setdefault(query, set()).update(pair)
        also = {name: values if any(values) else [] for name, values in self._also.items()}
        unique = len(set(also["id"])) == len(self._lines)
        if also["id"] and not unique:
            what = "some votes have the same id: ids are not used"
            notices.append(Notice(where=self._problems.path, what=what))
        return Votes(
            form=form,
            log=log,
            milliseconds=np.array(self._numbers["milliseconds"], dtype=np.int64),
            ids=also["id"] if unique else (),
            judges=also["judge"],
            phases=also["phase"],
            assignments=also["assignment"],
            dropped=self._dropped,
            gold=self._gold,
            queries=_of(self._queries, queries),
            passages=_of(self._passages, docs),
            pooled=[
                (query, doc, model)
                for (query, doc), model in self._models.items()
                if doc in docs_of.get(query, ())
            ],
        )

    def _choices(self, notices: list[Notice]) -> "np.ndarray[tuple[int], np.dtype[np.int8]]":
        """Return the winners: names where all of them are names, else words, else row by row."""
        names, words = (np.array(reading, dtype=np.int8) for reading in self._readings)
        named, worded = names != UNKNOWN, words != UNKNOWN
        differ = named & worded & (names != words)
        for row in np.flatnonzero(~named & ~worded).tolist():
            self._problem(self._lines[row], "the winner is neither of the two", self._said[row], _WINNER_HINT)
        if not named.all() and worded.all():
            return words
        if not named.all():
            for row in np.flatnonzero(differ).tolist():
                what = "the winner is an id on one side, and a word for the other"
                self._problem(self._lines[row], what, self._said[row], "Write ids, or left and right.")
        elif differ.any():
            word = self._said[int(np.argmax(differ))]
            what = f"{word!r} is read as an id, though it is a word for a side, too"
            notices.append(Notice(where=self._problems.path, what=what))
        return np.where(named, names, words)


def read_table(rows: Iterable[Row], parts: Mapping[str, str], problems: Problems) -> VoteTable:
    """Return the table of all rows."""
    table = VoteTable(parts, problems)
    for line, row in rows:
        table.take(line, row)
    return table


def flat(value: Any) -> str:
    """Return a cell as one text: whole numbers without a point, and nothing for what is missing."""
    if isinstance(value, str):
        return value.strip()
    if value is None or isinstance(value, bool | dict | list):
        return ""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value).strip()


def as_text(value: Any) -> str:
    """Return a text; of a conversation, its parts one after the other."""
    if not value:
        return ""
    if isinstance(value, list):
        return "\n\n".join(filter(None, map(as_text, value)))
    if isinstance(value, dict):
        return as_text(value.get("content", value.get("text")))
    # what a database cannot keep: lone surrogates and NUL
    return flat(value).encode("utf-8", "replace").decode().replace("\0", "\N{REPLACEMENT CHARACTER}")


def _as_word(value: Any) -> str:
    """Return a name as one word, as files of columns hold it."""
    return "_".join(as_text(value).split())


def _of(texts: Mapping[str, str], names: Sequence[str]) -> dict[str, str]:
    """Return the texts of what is compared, and not of gold alone."""
    return {name: texts[name] for name in names if name in texts}


def digest_of(text: str) -> str:
    """Return an id for a text that has none: the same for the same text, in any file."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]
