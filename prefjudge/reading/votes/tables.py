"""Tables of votes: rows and columns of whatever names, and who was preferred."""

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import chain
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from prefjudge.core.hits import Shown
from prefjudge.core.judgments import Judgments, ModelVote
from prefjudge.core.runs import encode
from prefjudge.errors import InputError
from prefjudge.reading.files import Notice, Problems, csv_rows
from prefjudge.reading.held import Held
from prefjudge.reading.lines import Block, Holds, blocks
from prefjudge.words import many

JsonObject: TypeAlias = dict[str, Any]
"""An object of JSON that strangers wrote: its reader checks each value that it takes."""

Row = tuple[int, JsonObject]
"""The number of a line, and what it holds by column."""

_BLANK = re.compile(r"[\s,]*")


def held_rows(columns: Mapping[str, Any], name: str) -> Held[Sequence[Row]]:
    """Return votes in memory, by the columns of a table; rows count from 0, and what is missing is empty."""
    cells = [
        [None if value is None or value != value else value for value in one.tolist()]
        for one in columns.values()
    ]
    rows = zip(*cells, strict=True)
    return Held(name, [(row, dict(zip(columns, values, strict=True))) for row, values in enumerate(rows)])


def digest_of_rows(held: Held[Sequence[Row]]) -> str:
    """Return the digest of votes in memory: that of the same rows is the same."""
    rows = json.dumps([row for _, row in held.content], default=str, sort_keys=True)
    return "sha256:" + hashlib.sha256(rows.encode()).hexdigest()


def read_rows(path: str, notices: list[Notice]) -> Iterator[Row]:
    """Yield the rows of a file: of CSV or tabs with a header, a JSON list, or a JSON object on each line."""
    rest = blocks(path, Holds.TEXTS, notices=notices)
    first = next((block for block in rest if block.data.strip()), None)
    if first is None:
        raise InputError(f"{path} is empty: a file of votes needs at least one", "Check how it was exported.")
    every = chain([first], rest)
    match first.data.lstrip()[:1]:
        case b"[":
            return _of_list(path, _whole(path, every))
        case b"{":
            return _of_objects(path, every)
    return _of_csv(path, every)


def _text(path: str, block: Block) -> str:
    try:
        return block.data.decode()
    except UnicodeDecodeError as error:
        line = block.line + block.data.count(b"\n", 0, error.start)
        raise InputError(f"{path}:{line}: the text is not UTF-8", "Save the file as UTF-8.") from None


def _whole(path: str, every: Iterator[Block]) -> str:
    return "".join(_text(path, block) for block in every)


def _of_list(path: str, text: str) -> Iterator[Row]:
    """Yield the objects of a JSON list; what is wrong is named by its line."""
    decoder, place, line = json.JSONDecoder(), text.index("[") + 1, 1
    counted = 0
    while True:
        found = _BLANK.match(text, place)
        place = found.end() if found else place
        line, counted = line + text.count("\n", counted, place), place
        if place >= len(text):
            raise InputError(f"{path}:{line}: the JSON list is cut off", "Export it again: it is incomplete.")
        if text[place] == "]":
            return
        try:
            value, place = decoder.raw_decode(text, place)
        except (ValueError, RecursionError) as error:
            raise _not_json(path, line, error) from None
        yield line, _object(path, line, value)


def _of_objects(path: str, every: Iterator[Block]) -> Iterator[Row]:
    """Yield the object of each line; a file that is one object over many lines is one row."""
    for block in every:
        for number, text in enumerate(_text(path, block).split("\n"), block.line):
            if not text.strip():
                continue
            try:
                value = json.loads(text)
            except (ValueError, RecursionError) as error:
                if number == block.line and text.strip() == "{":
                    whole = "\n".join(_text(path, block).split("\n")) + _whole(path, every)
                    yield number, _object(path, number, _one(path, whole))
                    return
                raise _not_json(path, number, error) from None
            yield number, _object(path, number, value)


def _one(path: str, text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise _not_json(path, getattr(error, "lineno", 1), error) from None


def _object(path: str, line: int, value: Any) -> JsonObject:
    if not isinstance(value, dict):
        raise InputError(f"{path}:{line}: not a JSON object", "Write one object for each vote.")
    return value


def _not_json(path: str, line: int, error: Exception) -> InputError:
    what = "nested too deeply" if isinstance(error, RecursionError) else f"not valid JSON: {error}"
    return InputError(f"{path}:{line}: {what}", "Write a JSON list of objects, or one object on each line.")


def _of_csv(path: str, every: Iterator[Block]) -> Iterator[Row]:
    lines = (line + "\n" for block in every for line in _text(path, block).split("\n")[:-1])
    header = next(lines)
    rows = csv_rows(path, chain([header], lines), max(",\t;", key=header.count))
    names = [name.strip() for name in next(rows)[1]]
    _check_names(path, names)
    for line, row in rows:
        if len(row) != len(names):
            raise InputError(
                f"{path}:{line}: {len(row)} cells where the header has {len(names)}",
                "Quote cells that hold a comma, a tab or a line break.",
            )
        yield line, dict(zip(names, row, strict=True))


def _check_names(path: str, names: list[str]) -> None:
    twice = next((name for name in names if name and names.count(name) > 1), None)
    if twice is not None:
        raise InputError(
            f"{path}:1: two columns are called {twice!r}",
            "The first line names the columns, each by a name of its own.",
        )
    if len(names) < 3:
        raise InputError(
            f"{path}:1: not a file of votes: its first line has no columns separated by commas or tabs",
            "Write CSV with a header, a JSON object on each line, or lines of: query doc_1 doc_2 preferred.",
        )


# Which of two was preferred, as a word, a number, an id or the text itself.

LEFT = frozenset({"left", "l", "a", "1", "first", "x"})
RIGHT = frozenset({"right", "r", "b", "2", "second", "y"})
TIE = frozenset(
    {"tie", "ties", "tied", "n", "neutral", "draw", "equal", "same", "both", "both_good", "both good",
    "both_bad",
     "bothbad", "both bad", "neither", "none", "no preference", "no_preference", "tie (bothbad)",
     "tie(bothbad)",
     "tie (both bad)", "tie (both good)", "=", "hard to tell"}
)  # fmt: skip
_NOUNS = ("model", "response", "answer", "option", "passage", "document", "doc", "system", "text", "item")

SIDES, NO_SIDES = "sides", "unknown"
"""The column by which an export says that left and right are not those of a screen."""
UNKNOWN = 9
"""Stands for a word that says neither."""


@lru_cache(maxsize=4096)
def by_word(said: str) -> int:
    """Return 1 for a word that means the left, -1 for the right, 0 for a tie, else `UNKNOWN`."""
    word = said.strip().lower()
    if word in TIE:
        return 0
    for noun in _NOUNS:
        if word.startswith(noun):
            word = word[len(noun) :].lstrip(" _-")
            break
    word = word.removesuffix(" is better").removesuffix("_is_better")
    return 1 if word in LEFT else -1 if word in RIGHT else UNKNOWN


def by_name(said: str, left: Sequence[str], right: Sequence[str]) -> int:
    """Return 1 or -1 where a name of the left or the right is repeated, 0 for a tie, else `UNKNOWN`."""
    on_left, on_right = said in left, said in right
    if on_left != on_right:
        return 1 if on_left else -1
    return 0 if said.strip().lower() in TIE else UNKNOWN


# Parts of a vote, and under which names of columns files keep them.

PARTS = (
    "query", "query_text", "left", "right", "left_text", "right_text", "left_model", "right_model",
    "winner", "worker", "id", "milliseconds", "gold",
)  # fmt: skip
"""What ``--map PART=COLUMN`` names; ``gold`` is the expected winner where it is known, and never guessed."""

_SIDES = (
    ("winner", "loser"),
    ("left", "right"), ("left_id", "right_id"), ("left_doc", "right_doc"), ("doc_a", "doc_b"),
    ("doc_id_a", "doc_id_b"), ("docid_a", "docid_b"), ("docno_a", "docno_b"), ("a_id", "b_id"), ("id_a",
    "id_b"),
    ("id_1", "id_2"), ("id1", "id2"), ("doc_1", "doc_2"), ("doc1", "doc2"), ("document_a", "document_b"),
    ("passage_a", "passage_b"), ("passage_id_a", "passage_id_b"), ("item_a", "item_b"), ("a", "b"), ("x",
    "y"),
    ("response_a", "response_b"), ("response1", "response2"), ("response_1", "response_2"),
    ("answer_a", "answer_b"), ("answer1", "answer2"), ("answer_1", "answer_2"), ("output_1", "output_2"),
    ("text1", "text2"), ("text_a", "text_b"), ("text_1", "text_2"), ("left_text", "right_text"),
    ("option_a", "option_b"), ("summary_a", "summary_b"), ("conversation_a", "conversation_b"),
)  # fmt: skip
_MODELS = (("model_a", "model_b"), ("left_model", "right_model"), ("system_a", "system_b"),
           ("generator_1", "generator_2"))  # fmt: skip
_ONE = {
    "query": ("query_id", "qid", "topic_id", "question_id", "prompt_id", "topic", "query", "question",
        "prompt"),
    "query_text": ("query_text", "query", "question", "prompt", "instruction", "topic"),
    "winner": ("winner", "preferred", "preference", "preferred_id", "choice", "chosen", "label", "vote",
        "judgment",
               "judgement", "selected", "selection", "verdict", "pref"),
    "worker": ("worker", "worker_id", "workerid", "annotator", "annotator_id", "user_id", "assessor",
        "judge", "rater"),
    "id": ("vote_id", "judgment_id", "annotation_id", "id"),
    "milliseconds": ("milliseconds", "duration_ms", "time_ms"),
}  # fmt: skip
_EXAMPLES = 50


def guess_parts(rows: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Return which column holds which part of a vote, as far as the columns' names and first values say."""
    # A column whose values hold blanks is a text, and never an id.
    names: dict[str, str] = {}
    for row in rows:
        for name in row:
            names.setdefault(name.strip().lower(), name)
    found: dict[str, str] = {}
    for left, right in _SIDES:
        if left in names and right in names:
            texts = _is_text(rows, names[left]) or _is_text(rows, names[right])
            keys = ("left_text", "right_text") if texts else ("left", "right")
            if keys[0] not in found:
                found |= {keys[0]: names[left], keys[1]: names[right]}
    for left, right in _MODELS:
        if left in names and right in names and "left_model" not in found:
            found |= {"left_model": names[left], "right_model": names[right]}
    for part, known in _ONE.items():
        for name in known:
            if name in names and not (part == "query" and _is_text(rows, names[name])):
                found[part] = names[name]
                break
    if found.get("query_text") == found.get("query"):
        found.pop("query_text", None)
    return found


def _is_text(rows: Sequence[Mapping[str, Any]], name: str) -> bool:
    values = (row.get(name) for row in rows[:_EXAMPLES])
    return any(isinstance(one, list) or (isinstance(one, str) and len(one.split()) > 1) for one in values)


def parse_map(words: Sequence[str], path: str) -> dict[str, str]:
    """Return what ``--map`` says: ``winner=pref,left=a_id``, in one or in several."""
    found: dict[str, str] = {}
    for word in (one for words_ in words for one in words_.split(",")):
        part, sign, column = (piece.strip() for piece in word.partition("="))
        if not sign or part not in PARTS or not column:
            raise InputError(
                f"--map {word}: not a part of a vote and its column",
                f"Write PART=COLUMN, for instance winner=pref; the parts are: {', '.join(PARTS)}.",
            )
        if part in found:
            raise InputError(f"--map: {part} is named twice", f"Name one column of {path} for it.")
        found[part] = column
    return found


def check_parts(parts: Mapping[str, str], told: Mapping[str, str], columns: Sequence[str], path: str) -> None:
    """Refuse a mapping to columns that are not there, and one without what a vote needs."""
    known = f"It has: {', '.join(columns[:40])}."
    gone = next((column for column in told.values() if column not in columns), None)
    if gone is not None:
        raise InputError(f"{path} has no column {gone!r}", known)
    sides = [("left", "left_text", "left_model"), ("right", "right_text", "right_model"), ("winner",)]
    missing = [of[0] for of in sides if not any(part in parts for part in of)]
    if missing:
        raise InputError(
            f"{path}: no column is known to hold the {' or the '.join(missing)} of a vote",
            f"Name it: --map {','.join(f'{part}=COLUMN' for part in missing)}. {known}",
        )


# Forms of votes: what a file of each looks like, and how its rows become one vote each.

Rows = Sequence[Mapping[str, Any]]
"""The first rows of a file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """What a form may need beside the rows."""

    path: str
    criterion: str = ""
    """The question whose votes are read, where a file has several."""
    items: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """The records of the data file that the votes name by ``instance``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VoteForm:
    """A form of votes.

    Attributes
    ----------
    fits : callable
        Tells by the first rows whether a file has this form.
    flatten : callable
        Makes rows of one vote each. A column that starts with ``_`` is a part of the vote: ``_dropped``,
        ``_strength``, ``_judge``, ``_phase``, ``_assignment``, ``_id``, ``_milliseconds``, ``_instance``.
    parts : callable
        Returns which column holds which part of a vote, by the first of the flat rows.
    criteria : callable
        Returns the questions that the file has votes on, where there may be several.
    sides : callable
        Tells by the parts whether left and right are those of a screen.
    may_be_empty : bool
        Whether a file without votes says something all the same.
    """

    fits: Callable[[Rows], bool]
    flatten: Callable[[Iterable[Row], Context], Iterator[Row]] = lambda rows, context: iter(rows)
    parts: Callable[[Rows], dict[str, str]] = guess_parts
    criteria: Callable[[Rows], tuple[str, ...]] = lambda rows: ()
    sides: Callable[[Mapping[str, str]], bool] = lambda parts: True
    may_be_empty: bool = False


def choose_criterion(found: Sequence[str], asked: str | None, path: str) -> str:
    """Return the question whose votes are read."""
    if asked is None and len(found) > 1:
        raise InputError(
            f"{path} has votes on {len(found)} criteria: {', '.join(found)}",
            f"Choose one, for instance: --criterion {found[-1]}",
        )
    if asked is not None and asked not in found:
        known = f"Choose one of: {', '.join(found)}." if found else "Leave --criterion out."
        raise InputError(f"{path} has no votes on a criterion {asked!r}", known)
    return asked or (found[0] if found else "")


# Votes: side-by-side judgments that were made elsewhere, with all that their file says of them.


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """What a release says of an assignment: how much was answered, how it fared on gold, the verdict."""

    answered: int
    gold_right: int
    gold_missed: int
    seconds: float
    verdict: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Votes:
    """The votes of one file; what the file does not say is empty."""

    form: str
    """What the file was read as."""
    log: Judgments
    """The votes, in the order of the file; ``log.sides`` says whether left and right are those of a
    screen."""
    milliseconds: NDArray[np.int64]
    """Shape (n,): how long each comparison took; 0 where that is not known."""
    criterion: str = ""
    """The question that the votes are on, where the file names it."""
    ids: Sequence[str] = ()
    judges: Sequence[str] = ()
    phases: Sequence[str] = ()
    assignments: Sequence[str] = ()
    """Of each vote: what tells it from all others, who made it, when, and in which assignment."""
    chosen_from: Sequence[str] = ()
    """Of each vote: the passages that were shown, where it is a win of a choice out of more than two."""
    dropped: Mapping[int, str] = field(default_factory=dict)
    """Why votes do not count, by row."""
    work: Mapping[str, Work] = field(default_factory=dict)
    """What is known of the assignments."""
    gold: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    """How many comparisons with a known answer each worker got right, and missed; ``log`` has none of
    them."""
    models: Sequence[tuple[str, ModelVote]] = ()
    """What language models said of pairs, each with its model's name."""
    queries: Mapping[str, str] = field(default_factory=dict)
    passages: Mapping[str, str] = field(default_factory=dict)
    """The texts."""
    shown: Mapping[str, Shown] = field(default_factory=dict)
    """What people saw below passages."""
    pooled: Sequence[tuple[str, str, str]] = ()
    """The candidates, and which system each is from; ``""`` where the file does not say."""
    carried: Sequence[tuple[str, Mapping[str, Any]]] = ()
    """What the log of a study says of it beside its votes: what each row is, and the row."""


# The columns of votes, as they are read from rows: ids are checked, and winners understood.

ALL = "all"
"""The query of votes whose file names none: their systems are compared as such."""
_ID_HINT = (
    "Ids are single words without blanks. Name the column of the ids with --map, for instance left=a_id."
)
_GOLD_HINT = "It is the expected winner, written like the winner; the cell is empty where none is known."
_WINNER_HINT = "The winner repeats one of the two, or is: left, right, a, b, 1, 2 or tie."


class VoteTable:
    """Takes rows one after the other; ``parts`` says which column holds which part of a vote."""

    def __init__(self, parts: Mapping[str, str], problems: Problems) -> None:
        self._of, self._problems = dict(parts), problems
        self._lines: list[int] = []
        self._said: list[str] = []
        self._readings: tuple[list[int], list[int]] = ([], [])
        self._query: list[str] = []
        self._left: list[str] = []
        self._right: list[str] = []
        self._worker: list[str] = []
        names = ("id", "judge", "phase", "assignment", "shown")
        self._also: dict[str, list[str]] = {name: [] for name in names}
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
        clicks = [
            " ".join(of) if of[-1] else ""
            for of in zip(self._also["assignment"], self._query, self._also["shown"], strict=True)
        ]
        if any(clicks):
            log = replace(log, click=encode(clicks, tuple(sorted({*clicks} - {""}))))
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
            chosen_from=also["shown"],
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
                what = "the winner is the id of one side, but a word for the other"
                self._problem(self._lines[row], what, self._said[row], "Write ids, or left and right.")
        elif differ.any():
            word = self._said[int(np.argmax(differ))]
            what = f"{word!r} is read as an id, though it is a word for a side, too"
            notices.append(Notice(where=self._problems.path, what=what))
        return np.where(named, names, words)


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
