"""Reading votes: which form a file has; and our own forms, a release and the log of a board."""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from itertools import chain, islice
from os import fspath
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from prefjudge.core.hits import Shown
from prefjudge.core.judgments import ModelVote
from prefjudge.errors import InputError, PluginError
from prefjudge.reading.files import Notice, Problems, is_text
from prefjudge.reading.held import Held
from prefjudge.reading.labels import TIES, read_judgments, stamps_beside
from prefjudge.reading.lines import Holds, blocks
from prefjudge.reading.pools import read_pool
from prefjudge.reading.texts.collections import MOST_SHOWN, read_texts
from prefjudge.reading.texts.records import TextFields, below
from prefjudge.reading.texts.texts import read_queries
from prefjudge.reading.votes.tables import (
    Context,
    JsonObject,
    Row,
    VoteForm,
    Votes,
    VoteTable,
    Work,
    check_parts,
    choose_criterion,
    flat,
    read_rows,
)
from prefjudge.registers import Register
from prefjudge.words import json_text

T = TypeVar("T")

RECORD, LOG = "release.json", "judgments.jsonl"
_COPY = "Copy the release again."
_MOST = 2**53
"""Numbers from here on are not counts."""
_COLUMNS = frozenset({"query", "left", "right", "choice", "worker", "judge", "phase", "assignment"})
_PARTS = {"query": "query", "left": "left", "right": "right", "winner": "choice", "worker": "worker"}
_ALSO = ("strength", "milliseconds", "judge", "phase", "assignment", "dropped", "shown")


RELEASE = VoteForm(
    fits=lambda rows: rows[0].keys() >= _COLUMNS,
    flatten=lambda rows, context: (
        (line, {**row, **{f"_{name}": row.get(name) for name in _ALSO}}) for line, row in rows
    ),
    parts=lambda rows: dict(_PARTS),
)


def refuse_unfinished(path: Path) -> None:
    """Refuse a release that was not written to its end."""
    try:
        record = json.loads((path / RECORD).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        record = None
    if not isinstance(record, dict) or record.get("prefjudge") is None:
        raise InputError(f"{path} is not a whole release", "Write it again: prefjudge release STUDY")


def with_release(votes: Votes, folder: Path, notices: list[Notice]) -> Votes:
    """Return the votes with what a release keeps in other files: pool, work and, where given, texts."""
    pools = read_pool(folder / "pool.tsv", notices=notices)
    sources = zip(pools.source_row.tolist(), pools.source.tolist(), strict=True)
    names: dict[int, list[str]] = {}
    for row, source in sources:
        names.setdefault(row, []).append(pools.sources[source])
    pooled = [
        (pools.queries[query], pools.docs[doc], source)
        for row, (query, doc) in enumerate(zip(pools.query.tolist(), pools.doc.tolist(), strict=True))
        for source in names.get(row, [""])
    ]
    queries: dict[str, str] = {}
    passages: dict[str, str] = {}
    if (folder / "queries.tsv").is_file():
        queries = dict(read_queries(folder / "queries.tsv", notices=notices))
        passages = read_texts(folder / "passages.tsv", pools.docs, notices=notices)
    return replace(
        votes,
        log=replace(votes.log, sides=_sides_known(folder)),
        work=dict(_made(_work, "an assignment", _lines(folder / "assignments.jsonl", notices))),
        models=list(_made(_model_vote, "a model's vote", _lines(folder / "models.jsonl", notices))),
        pooled=pooled,
        queries=queries,
        passages=passages,
        shown=dict(_made(_shown, "a passage", _lines(folder / "passages.jsonl", notices))),
    )


def _sides_known(folder: Path) -> bool:
    """Tell whether left and right are those of a screen, also in what the released study had imported."""
    record = json.loads((folder / RECORD).read_text(encoding="utf-8"))
    imports = record.get("imports")
    return not any(
        isinstance(one, dict) and one.get("sides") is False
        for one in (imports if isinstance(imports, list) else ())
    )


def _lines(path: Path, notices: list[Notice]) -> Iterator[tuple[str, JsonObject]]:
    """Yield the rows of a file of a release, and where each is; it may have none."""
    if path.is_file() and path.stat().st_size:
        for line, row in read_rows(str(path), notices):
            yield f"{path}:{line}", row


def _made(
    make: Callable[[JsonObject], T],
    what: str,
    rows: Iterable[tuple[str, JsonObject]],
    way: str = _COPY,
) -> Iterator[T]:
    """Yield what is made of rows, of each by its own."""
    for where, row in rows:
        try:
            yield make(row)
        except (KeyError, TypeError, ValueError, OverflowError):
            raise InputError(f"{where}: not {what}", way) from None


def _work(row: JsonObject) -> tuple[str, Work]:
    numbers = {name: int(row[name] or 0) for name in ("answered", "gold_right", "gold_missed")}
    work = Work(**numbers, seconds=float(row["seconds"] or 0), verdict=str(row["verdict"]))
    if not all(0 <= number < _MOST for number in (*numbers.values(), work.seconds)):
        raise ValueError
    return str(row["assignment"]), work


def _shown(row: JsonObject) -> tuple[str, Shown]:
    """Return the fields that people saw below a passage."""
    fields = TextFields(shown=tuple(name for name in row if name not in ("id", "text")))
    found = below(fields, row)
    said = (word for field in found for word in field)
    if not all(is_text(word) and "\0" not in word and len(word) <= MOST_SHOWN for word in said):
        raise ValueError
    return str(row["id"]), found


def _model_vote(row: JsonObject) -> tuple[str, ModelVote]:
    """Return what a language model said of a pair in either order: which document, or neither."""
    a, b = str(row["a"]), str(row["b"])
    said = {a: 1, b: -1, None: 0}
    pair = (str(row["query"]), a, b)
    return str(row["model"]), ModelVote(pair=pair, a_first=said[row["a_first"]], b_first=said[row["b_first"]])


# Reading votes: what a file is, and its votes, whatever its form.

FORMS: Register[VoteForm] = Register(
    "vote",
    VoteForm,
    {
        "board-log": "prefjudge.reading.votes.votes:BOARD_LOG",
        "release": "prefjudge.reading.votes.votes:RELEASE",
        "label-studio": "prefjudge.reading.votes.platforms:LABEL_STUDIO",
        "potato": "prefjudge.reading.votes.platforms:POTATO",
        "mturk-batch": "prefjudge.reading.votes.platforms:MTURK_BATCH",
        "crowdrag": "prefjudge.reading.votes.platforms:CROWDRAG",
        "arena": "prefjudge.reading.votes.platforms:ARENA",
        "chosen": "prefjudge.reading.votes.platforms:CHOSEN",
    },
)
"""The forms of votes that are known by their columns; the first that fits is taken."""

_NEAR = 20
"""Lines by which judgments in columns are known."""
_LOOKED_AT = 1_000
"""Rows by which a form and its columns are known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HowVotesAreRead:
    """What a user says of a file: ``told`` maps parts of a vote to columns, ``items`` is another file."""

    told: dict[str, str]
    criterion: str | None = None
    items: Path | None = None


def read_votes(path: Path | Held[Sequence[Row]], how: HowVotesAreRead, notices: list[Notice]) -> Votes:
    """Read the votes of a file, or of a release."""
    if isinstance(path, Held):
        return _of_rows(path, how, notices)
    if path.is_dir():
        if not ((path / RECORD).is_file() and (path / LOG).is_file()):
            raise InputError(f"{path} is a folder, and not a release", "Give a file of votes.")
        refuse_unfinished(path)
        return with_release(_read_file(path / LOG, how, notices), path, notices)
    return _read_file(path, how, notices)


def _read_file(path: Path, how: HowVotesAreRead, notices: list[Notice]) -> Votes:
    if not how.told and _has_columns(path):
        if how.criterion is not None:
            choose_criterion((), how.criterion, str(path))
        return _of_columns(path, notices)
    return _of_rows(path, how, notices)


def _has_columns(path: Path) -> bool:
    """Tell lines of ``query doc doc preferred``: the fourth word repeats one of two, or is a tie."""
    # Where a mistake is on the first line, the next ones tell; a line of three words lacks the preferred one,
    # and where all lines have as many as judgments, their reader says what is wrong with them.
    first = next(blocks(path, Holds.TEXTS), None)
    lines = (
        line for line in (first.data if first else b"").split(b"\n") if line.strip() and line[:1] != b"#"
    )
    near = list(islice(lines, _NEAR))
    head = near[0].split() if near else []
    if not near or b"," in near[0] or b";" in near[0]:
        return _is_judgment(head)
    if b"\t" in near[0] and len(head) >= len(near[-1].split()):  # what may be a header has no fewer words
        return _is_judgment(head)
    widths = (3, 4, 5, 6) if len(near) > 1 else (3,)
    return any(_is_judgment(line.split()) for line in near) or all(
        len(line.split()) in widths for line in near
    )


def _is_judgment(words: list[bytes]) -> bool:
    return len(words) in (4, 5, 6) and words[3] in (*words[1:3], *TIES)


def _of_columns(path: Path, notices: list[Notice]) -> Votes:
    log = read_judgments(path, notices=notices)
    odd = next(
        (name for names in (log.queries, log.docs, log.workers) for name in names if not is_text(name)), None
    )
    if odd is not None:
        raise InputError(f"{path}: the id {odd!r} is not UTF-8", "Save the file as UTF-8.")
    votes = Votes(form="judgments", log=log, milliseconds=np.zeros(len(log), dtype=np.int64))
    if log.click is None:
        return votes
    clicks, docs = log.click.tolist(), log.docs
    shown: dict[int, dict[str, None]] = {}
    for click, *pair in zip(clicks, log.left.tolist(), log.right.tolist(), strict=True):
        shown.setdefault(click, {}).update(dict.fromkeys(docs[doc] for doc in pair))
    workers = [log.workers[worker] if worker >= 0 else "" for worker in log.worker.tolist()]
    return replace(
        votes,  # a choice has an assignment of its own: its worker may have judged some of its pairs before
        assignments=[
            f"{worker} {click}" if click >= 0 else worker
            for worker, click in zip(workers, clicks, strict=True)
        ],
        chosen_from=[" ".join(shown[click]) if click >= 0 else "" for click in clicks],
    )


def _of_rows(path: Path | Held[Sequence[Row]], how: HowVotesAreRead, notices: list[Notice]) -> Votes:
    if isinstance(path, Held):
        rows = iter(path.content)
    else:
        notices += stamps_beside(path)
        rows = read_rows(fspath(path), notices)
    first = list(islice(rows, _LOOKED_AT))
    if not first:
        raise InputError(f"{path} has no votes", "Check how it was exported.")
    heads = [row for _, row in first]
    name, form = _form_of(heads, notices)
    with FORMS.using(name):
        criterion = choose_criterion(form.criteria(heads), how.criterion, str(path))
        context = Context(path=str(path), criterion=criterion, items=_items(how.items, notices))
        votes = form.flatten(chain(first, rows), context)
        shown = list(islice(votes, _LOOKED_AT))
        if not shown and not form.may_be_empty:
            raise InputError(f"{path} has no votes", "Check that somebody has annotated, and the criterion.")
        flats = [row for _, row in shown]
        parts = {**form.parts(flats), **how.told}
        columns = list(dict.fromkeys(column for row in flats for column in row if not column.startswith("_")))
        if shown:
            check_parts(_known(parts, how.told), how.told, columns, str(path))
        with Problems(str(path), "file of votes") as problems:
            table = VoteTable(_known(parts, how.told), problems)
            for line, row in chain(shown, votes):
                table.take(line, row)
            found = table.votes(name, sides=form.sides(parts), notices=notices)
    if not len(found.log) and not form.may_be_empty:
        why = f": {notices[-1].what}" if notices else ""
        raise InputError(f"{path} has no votes{why}", "Every row was left out.")
    return replace(found, criterion=criterion)


def _known(parts: dict[str, str], told: dict[str, str]) -> dict[str, str]:
    """Return the parts, where what is told of one side takes the place of what was guessed of it."""
    kept = dict(parts)
    for side in ("left", "right"):
        for other in ("", "_text", "_model"):
            if (
                any(f"{side}{one}" in told for one in ("", "_model"))
                and f"{side}{other}" not in told
                and other != "_text"
            ):
                kept.pop(f"{side}{other}", None)
    return kept


def _form_of(heads: Sequence[JsonObject], notices: list[Notice]) -> tuple[str, VoteForm]:
    for name in FORMS:
        try:
            form = FORMS[name]
        except PluginError as error:  # one that cannot be loaded must not keep others from being read
            notices.append(Notice(where=name, what=error.message))
            continue
        if form.fits(heads):
            return name, form
    from prefjudge.reading.votes.platforms import PLAIN

    return "table", PLAIN


def _items(path: Path | None, notices: list[Notice]) -> dict[str, JsonObject]:
    """Return the records of a data file by their ids."""
    if path is None:
        return {}
    found: dict[str, JsonObject] = {}
    for line, row in read_rows(fspath(path), notices):
        name = flat(row.get("id", row.get("instance_id")))
        if not name or name in found:
            raise InputError(
                f"{path}:{line}: {f'the id {name!r} is there twice' if name else 'no id'}",
                "Give each item an id of its own, under `id`.",
            )
        found[name] = row
    return found


# The log of a board: a study as lines of JSON that are only ever added, each bound to those before it.
#
# A line with the key of an earlier one takes its place; ``gone`` takes it away. ``chain`` is a digest
# (SHA-256, 128 bits) of the line without it and of the chain before: a line that is changed, left out or
# moved breaks it.

LOG_FORM = "board-log"
HEAD: Mapping[str, str | int] = {"kind": "log", "format": 1}
JUDGMENT, WORK, MODEL = "judgment", "assignment", "model"
KEYS = {JUDGMENT: ("number",), WORK: ("assignment",), MODEL: ("model", "query", "a", "b")}
"""What names a line, of those kinds that are not rows of a store; these are never taken away."""

_LINE = re.compile(rb'(\{.*), "chain": "([0-9a-f]{32})"\}')


@dataclass(frozen=True, slots=True, kw_only=True)
class LogLine:
    """One line: its number in the file, what kind of row it is, and the row."""

    number: int
    kind: str
    row: JsonObject


def read_log(data: bytes, where: str) -> tuple[list[LogLine], str]:
    """Return the lines of a log, and the end of its chain; every link is checked."""
    found, chain = [], ""
    lines = data.split(b"\n")
    if lines[-1]:
        raise InputError(f"{where}:{len(lines)}: the log ends in the middle of a line", _FROM_GIT)
    for number, line in enumerate(lines[:-1], 1):
        link = _LINE.fullmatch(line)
        body = link[1] + b"}" if link else b""
        if link is None or _linked(chain, body) != link[2].decode():
            raise InputError(
                f"{where}:{number}: the chain is broken: this line is not as it was written, or one before "
                "it was changed, left out or moved",
                _FROM_GIT,
            )
        chain = link[2].decode()
        row = _parsed(body, where, number)
        kind = row.pop("kind", None)
        if number == 1 and {"kind": kind, **row} != HEAD:
            raise InputError(f"{where}:1: not a log of a board that this version reads", _FROM_GIT)
        if not isinstance(kind, str):
            raise InputError(f"{where}:{number}: the line does not say what it is", _FROM_GIT)
        if number > 1:
            found.append(LogLine(number=number, kind=kind, row=row))
    return found, chain


_FROM_GIT = "Take the file from Git as it was committed: git log -p shows who changed what."


def _parsed(body: bytes, where: str, number: int) -> JsonObject:
    try:
        row = json.loads(body)
    except (ValueError, RecursionError):
        raise InputError(f"{where}:{number}: not JSON", _FROM_GIT) from None
    assert isinstance(row, dict), "the line is in braces"
    return row


def _linked(chain: str, body: bytes) -> str:
    return sha256(chain.encode() + body).hexdigest()[:32]


def write_lines(rows: Iterable[Mapping[str, Any]], chain: str) -> bytes:
    """Return the lines of rows, chained to those that end in ``chain``; the first ones have none before."""
    made = []
    for row in [*([] if chain else [HEAD]), *rows]:
        body = json_text(dict(row), indent=None).encode()
        chain = _linked(chain, body)
        made.append(body[:-1] + f', "chain": "{chain}"}}\n'.encode())
    return b"".join(made)


def last_rows(lines: Iterable[LogLine], keys: Mapping[str, tuple[str, ...]]) -> dict[Any, LogLine]:
    """Return what a log says in the end: the last line of each key, without what is gone, in their order."""
    found: dict[Any, LogLine] = {}
    for line in lines:
        key = (line.kind, *(line.row.get(name) for name in keys.get(line.kind, ())))
        if len(key) == 1 or not all(isinstance(part, str | int) for part in key):
            raise InputError(f"line {line.number} of the log is a {line.kind!r} without its key", _FROM_GIT)
        if line.row.get("gone"):
            found.pop(key, None)
        else:
            found[key] = line
    return found


def with_log(votes: Votes, path: Path, keys: Mapping[str, tuple[str, ...]]) -> Votes:
    """Return the votes of a log with what it carries beside them."""
    lines, _ = read_log(path.read_bytes(), str(path))
    rows = last_rows(lines, {**KEYS, **keys})
    carried = [(line.kind, line.row) for line in rows.values() if line.kind in keys]

    def of(kind: str) -> Iterator[tuple[str, JsonObject]]:
        return ((f"{path}:{line.number}", line.row) for line in rows.values() if line.kind == kind)

    return replace(
        votes,
        work=dict(_made(_work, "an assignment", of(WORK), _FROM_GIT)),
        models=list(_made(_model_vote, "a model's vote", of(MODEL), _FROM_GIT)),
        carried=carried,
    )


def _board_log_flatten(rows: Iterable[Row], context: Context) -> Iterator[Row]:
    last: dict[str, Row] = {}
    for line, row in rows:
        if row.get("kind") == JUDGMENT:
            last[str(row.get("number"))] = (line, row)
    for number, (line, row) in last.items():
        yield line, {**row, "_id": number, **{f"_{name}": row.get(name) for name in _ALSO}}


BOARD_LOG = VoteForm(
    fits=lambda rows: rows[0].keys() == HEAD.keys() | {"chain"} and rows[0]["kind"] == HEAD["kind"],
    flatten=_board_log_flatten,
    parts=lambda rows: dict(_PARTS),
    may_be_empty=True,
)
