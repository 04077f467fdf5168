"""Labels: qrels and judgments, with the stamp of what rests on simulated votes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from os import fspath
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prefjudge.core.judgments import MOST_PASSAGES, Judgments
from prefjudge.core.pools import Pools, pools_of
from prefjudge.core.runs import (
    MOST_SUBTOPICS,
    Codes,
    Qrels,
    Tokens,
    number_subtopics,
    same_token,
    with_subtopics,
)
from prefjudge.errors import InputError
from prefjudge.reading.fields import Fields, Numbering, fields, floats, joined, repeated_rows
from prefjudge.reading.files import Notice, Problems, atomic_write, column, decode, write_text
from prefjudge.reading.held import QUERY, Held
from prefjudge.reading.lines import Block, Holds, blocks, stem
from prefjudge.reading.memory import Columns, id_tokens, numbers, pick, row_problems, with_ids
from prefjudge.reading.runs.parquet import is_parquet
from prefjudge.words import Rehearsal, joint, many

ENDING = "rehearsal.txt"
"""How the name of a stamp ends that lies beside a file."""
_BEGINNING = b"rehearsal: "
_STAMP = re.compile(
    rb"^(#\s*)?rehearsal: ([0-9,]{1,20}) of ([0-9,]{1,20}) judgments? are simulated", re.MULTILINE
)
_COLUMN = re.compile(rb"^[ \t]*[^\s#]\S*[ \t]+rehearsal:([0-9]{1,20})/([0-9]{1,20})[ \t]", re.MULTILINE)
_LONG = 20
_MOST = 4_096
"""Bytes of a file beside another that are read: a longer one is not a stamp."""


def second_column(rehearsal: Rehearsal | None) -> bytes:
    """Return what stands in the second column of qrels: ``Q0``, or a stamp."""
    return f"rehearsal:{rehearsal.simulated}/{rehearsal.judgments}".encode() if rehearsal else b"Q0"


def with_stamps(path: str | Path, found: Iterable[Block], notices: list[Notice] | None) -> Iterator[Block]:
    """Yield the blocks of a file, and note the stamps in its comments, in its second column and beside it."""
    seen: list[Rehearsal] = []
    for block in found:
        if b"rehearsal:" in block.data:
            columns = set(_COLUMN.findall(block.data))
            seen += [Rehearsal(simulated=int(some), judgments=int(every)) for some, every in columns]
        if _BEGINNING in block.data:
            seen += _read(block.data, commented=True)
        yield block
    seen += _beside(path)
    if notices is not None:
        notices += [Notice(where=fspath(path), what=str(one), rehearsal=one) for one in dict.fromkeys(seen)]


def file_stamps(path: str | Path) -> list[Notice]:
    """Return the stamps of a file that is not read for anything else."""
    notices: list[Notice] = []
    for _ in with_stamps(path, blocks(path, Holds.QRELS), notices):
        pass
    return notices


def rehearsal_in(notices: Iterable[Notice]) -> Rehearsal | None:
    """Return how much is rehearsed of the files that were read; None where none says so."""
    return joint(one.rehearsal for one in notices if one.rehearsal)


def write_beside(path: Path, stamp: str) -> None:
    """Write a stamp beside a file whose format has no room for it, or remove that of an earlier file."""
    file = path.with_name(f"{path.stem}.{ENDING}")
    if stamp:
        write_text(file, f"{stamp}: see {path.name}\n")
    elif file.is_file() and _head(file).startswith(_BEGINNING):
        file.unlink()


def stamps_beside(path: str | Path) -> list[Notice]:
    """Return the stamps that lie beside a file."""
    return [Notice(where=fspath(path), what=str(one), rehearsal=one) for one in _beside(path)]


def _beside(path: str | Path) -> list[Rehearsal]:
    """Return the stamps in the file beside another, which may have been compressed since."""
    name = Path(fspath(path))
    names = dict.fromkeys(name.with_name(f"{short}.{ENDING}") for short in (name.stem, stem(name)) if short)
    return [one for file in names if file.is_file() for one in _read(_head(file), commented=False)]


def _read(data: bytes, *, commented: bool) -> list[Rehearsal]:
    return [
        Rehearsal(simulated=_number(found[2]), judgments=_number(found[3]))
        for found in _STAMP.finditer(data)
        if bool(found[1]) == commented
    ]


def _number(digits: bytes) -> int:
    return int(digits.replace(b",", b"") or b"0")


def _head(file: Path) -> bytes:
    try:
        with file.open("rb") as opened:
            return opened.read(_MOST)
    except OSError:
        return b""


# Judgments files: ``query doc_1 doc_2 preferred``, perhaps the worker, and then perhaps the choice out of
# more than two passages that a line is a win of.

_JUDGMENT_HINT = (
    "Write each line as: query doc_1 doc_2 preferred, and perhaps a fifth column, the worker, and a sixth, "
    "the number of a choice out of several, or - of two."
)
_CHOICE_HINT = (
    "The sixth column numbers a worker's choices for a query out of several passages: a line for each one "
    "that was not chosen. Of two passages it is: -"
)
_NONE = "-"
"""In a sixth column: no choice out of several. In the fifth one beside it: nobody in particular."""
_PREFERRED_HINT = "the last column repeats one of the two documents, or is: tie"
TIES = (b"tie", b"TIE", b"=")


def read_judgments(
    path: str | Path, *, sides: bool = False, notices: list[Notice] | None = None
) -> Judgments:
    """Read side-by-side judgments; ``preferred`` repeats a document, or is ``tie``."""
    if isinstance(path, Held):
        return replace(path.holding(Judgments, "judgments", _JUDGMENT_HINT), sides=sides)
    if is_parquet(path):
        as_text = f"pandas.read_parquet({str(path)!r}).to_csv('NAME.txt', sep=' ', header=False, index=False)"
        raise InputError(f"{path}: only `resolve` reads judgments from Parquet", f"Write text: {as_text}")
    reader = _JudgmentReader(fspath(path))
    with reader.problems:
        for block in with_stamps(path, blocks(path, Holds.COLUMNS, notices=notices), notices):
            rows = fields(block.data, block.line, reader.columns)
            if len(rows):
                reader.take(rows)
    if reader.width is None:
        raise InputError(f"{path} is empty: a judgments file needs at least one line", _JUDGMENT_HINT)
    found = reader.taken.judgments(sides=sides)
    if notices is not None and _given_twice(found):
        what = "its second half repeats the first, line by line: is each vote in it twice?"
        notices.append(Notice(where=str(path), what=what))
    return found


def _given_twice(votes: Judgments) -> bool:
    """Whether a file seems to hold another one twice: so many votes do not come again by chance."""
    half, odd = divmod(len(votes), 2)
    columns = (votes.query, votes.left, votes.right, votes.choice, votes.worker)
    return half >= _LONG and not odd and all(np.array_equal(one[:half], one[half:]) for one in columns)


class _JudgmentRows:
    """Takes rows of judgments; ids get numbers in the order in which they come, row by row."""

    def __init__(self) -> None:
        self.queries, self.docs, self.workers = Numbering(), Numbering(), Numbering()
        self.parts: list[tuple[Codes, Codes, NDArray[np.int8], Codes, Codes]] = []
        self.six = False
        """Whether there is a column of choices."""

    def add(
        self,
        query: Tokens,
        pairs: Tokens,
        choice: NDArray[np.int8],
        worker: Tokens | None,
        click: Codes | None = None,
    ) -> None:
        """Add rows, each with two of the pairs' documents: the left, and the right."""
        codes = self.queries.add(query)
        self.six = click is not None
        by = np.full_like(codes, -1) if worker is None else self.workers.add(worker)
        of = np.full_like(codes, -1) if click is None else click
        self.parts.append((codes, self.docs.add(pairs).reshape(-1, 2), choice, by, of))

    def judgments(self, *, sides: bool) -> Judgments:
        """Return all that was taken."""
        query, pairs, choice, worker, click = (
            np.concatenate(column) for column in zip(*self.parts, strict=True)
        )
        if self.six and _NONE in (names := [*self.workers.vocabulary()]):
            worker[worker == names.index(_NONE)] = -1
        return Judgments(
            queries=tuple(self.queries.vocabulary()),
            docs=tuple(self.docs.vocabulary()),
            workers=tuple(self.workers.vocabulary()),
            query=query,
            left=pairs[:, 0],
            right=pairs[:, 1],
            choice=choice,
            strength=np.ones(choice.size, dtype=np.int8),
            worker=worker,
            sides=sides,
            click=click if self.six else None,
        )


def _choices(left: Tokens, right: Tokens, preferred: Tokens) -> NDArray[np.int8]:
    """Return 1 where the left is preferred, -1 where the right is, and 0 for what is a tie or a mistake."""
    return same_token(preferred, left).astype(np.int8) - same_token(preferred, right)


def _odd_choice(left: bytes, right: bytes, preferred: bytes) -> str:
    """Return what is wrong where neither document is preferred; nothing of a tie."""
    if left == right:
        return "the document is compared with itself"
    if preferred in TIES:
        return ""
    return f"the preferred document is neither {decode(left)!r} nor {decode(right)!r}"


class _JudgmentReader:
    def __init__(self, path: str) -> None:
        self.path = path
        self.problems = Problems(path, "judgments file")
        self.width: int | None = None
        self.taken = _JudgmentRows()
        self.choices: dict[tuple[bytes, ...], tuple[int, bytes, set[bytes]]] = {}
        """The place, winner and losers of each choice out of several, by query, worker and number."""

    def columns(self, count: int) -> int:
        if self.width is None:
            if count not in (3, 4, 5, 6):
                raise InputError(
                    f"{self.path} is not a judgments file: its first line has {count}"
                    f" column{'s'[: count != 1]}",
                    _JUDGMENT_HINT,
                )
            self.width = max(count, 4)  # where the first line lacks the preferred document, it is said below
        return self.width

    def take(self, rows: Fields) -> None:
        """Read the rows of a block."""
        whole = rows.counts == self.width
        click = None
        if self.width == 6:
            numbers = [self._number_choice(rows, row) for row in np.flatnonzero(whole).tolist()]
            click = np.array(numbers, dtype=np.int32)
        if self.width and not self.taken.parts and rows.counts[0] != 3:  # which has words of its own
            self.problems.refuse_other(rows, self.width, (4, 5, 6), _JUDGMENT_HINT)
        choice = _choices(rows.ids(1), rows.ids(2), rows.ids(3))
        for row in np.flatnonzero(~whole | (choice == 0)).tolist():
            self._check(rows, row)
        pairs = Tokens(rows.text, *(side[whole, 1:3].ravel() for side in (rows.starts, rows.ends)))
        rows = rows.take(whole)
        worker = rows.ids(4) if (self.width or 0) > 4 else None
        self.taken.add(rows.ids(0), pairs, choice[whole], worker, click)

    def _number_choice(self, rows: Fields, row: int) -> int:
        """Return the number of the choice that a line is a win of, -1 if none; refuse what no choice is."""
        query, left, right, preferred, worker, said = (rows.raw(row, at) for at in range(6))
        if said == _NONE.encode():
            return -1
        if not said.isdigit():
            if not self.taken.parts and row == 0 and preferred not in (left, right, *TIES):  # a run, perhaps
                self.width = None
                raise InputError(
                    f"{self.path} is not a judgments file: its first line has 6 columns", _JUDGMENT_HINT
                )
            self.problems.at(rows, row, 5, "the sixth column is not the number of a choice", _CHOICE_HINT)
            return -1
        known = self.choices.setdefault((query, worker, said), (len(self.choices), preferred, set()))
        number, winner, losers = known
        lost = 2 if preferred == left else 1
        what, column, loser = "", 3, rows.raw(row, lost)
        if preferred in TIES and preferred not in (left, right):
            what = "a choice out of several passages is no tie"
        elif preferred != winner:
            what = f"choice {decode(said)} of this worker for this query has another winner before"
        elif loser in losers:
            what, column = f"choice {decode(said)} of this worker for this query has this line before", lost
        elif len(losers) == MOST_PASSAGES - 1:
            what = f"choice {decode(said)} is out of more than {MOST_PASSAGES} passages"
        losers.add(loser)
        if what:
            self.problems.at(rows, row, column, what, _CHOICE_HINT)
        return number

    def _check(self, rows: Fields, row: int) -> None:
        """Report a line without a preferred document, unless it is a tie."""
        column, hint = None, _JUDGMENT_HINT
        if rows.counts[row] == self.width:
            left, right, preferred = (rows.raw(row, column) for column in (1, 2, 3))
            what, column = _odd_choice(left, right, preferred), 2
            if left != right:
                column, hint = 3, _PREFERRED_HINT
        elif rows.counts[row] == 3:
            what, hint = "the preferred document is missing", _PREFERRED_HINT
        else:
            what = f"{many(rows.counts[row], 'column')} where {self.width} are expected, as in the first line"
        if what:
            self.problems.at(rows, row, column, what, hint)


def write_judgments(path: str | Path, judgments: Judgments, *, comment: str = "") -> None:
    """Write judgments atomically: ``query doc_1 doc_2 preferred``, and the worker where all are known.

    With choices out of several passages there is a sixth column, the number of the choice, as they come.
    """
    queries, docs, workers = (
        [column(name) for name in names] for names in (judgments.queries, judgments.docs, judgments.workers)
    )
    named = bool(len(judgments)) and int(judgments.worker.min()) >= 0
    clicks = np.full(len(judgments), -1) if judgments.click is None else judgments.click
    numbers: dict[int, int] = {}
    columns = (judgments.query, judgments.left, judgments.right, judgments.choice, judgments.worker, clicks)
    with atomic_write(path) as file:
        if comment:
            file.write(f"# {comment}\n".encode())
        for query, left, right, choice, worker, click in zip(
            *(column.tolist() for column in columns), strict=True
        ):
            preferred = b"tie" if choice == 0 else docs[left if choice > 0 else right]
            parts = [queries[query], docs[left], docs[right], preferred]
            if named or judgments.click is not None:
                parts.append(workers[worker] if worker >= 0 else b"-")
            if judgments.click is not None:
                parts.append(b"-" if click < 0 else b"%d" % numbers.setdefault(click, len(numbers) + 1))
            file.write(b" ".join(parts) + b"\n")


# Qrels and judgments in memory: columns of a table as what a file of them would be read into.

SUBTOPIC = ("subtopic", "iteration")
"""In qrels of subtopics; ir_measures has it among the fields of all qrels."""
GRADE = ("relevance", "label", "rel", "grade", "score")
LEFT = ("doc_1", "left", "doc_a", "doc_id_a")
RIGHT = ("doc_2", "right", "doc_b", "doc_id_b")
PREFERRED = ("preferred", "winner")
WORKER = ("worker", "worker_id")
SOURCES = ("contributors", "sources", "runs", "source", "run")
"""What pooled a document: run names joined by commas, or a list of them."""


def held_qrels(given: Columns | Mapping[Any, Mapping[Any, Any]], name: str) -> Held[Qrels]:
    """Return qrels in memory, from the columns of a table or a dictionary of dictionaries."""
    where = f"qrels {name}"
    columns, query, doc = with_ids(given, where, "relevance")
    grade = pick(columns, GRADE, where, "grades")
    if grade == "score" and "rank" in columns:
        raise InputError(
            f"{where} are not qrels: they have a score and a rank, as a run has",
            f"If runs and qrels were swapped, swap them back. Grades are in a column {GRADE[0]}.",
        )
    grades = numbers(columns[grade], where, grade)
    if np.isinf(grades).any():
        odd = [(row, f"the {grade} is infinite") for row in np.flatnonzero(np.isinf(grades)).tolist()]
        raise row_problems(where, "qrels", odd, "Grades are numbers such as 0, 1, 2.")
    docs, twice = id_tokens(columns[doc], where, doc), []

    def repeated(row: int, before: int) -> None:
        if grades[row] != grades[before]:
            twice.append((row, f"document {decode(docs.raw(row))!r} has another grade in row {before}"))

    named = next((name for name in SUBTOPIC if name in columns), None)
    marks = id_tokens(columns[named], where, named) if named else None
    found = _qrels_of(name, id_tokens(columns[query], where, query), docs, grades, marks, repeated)
    if twice:
        raise row_problems(where, "qrels", twice, "Keep the row with the right grade.")
    return Held(name, found)


def _qrels_of(
    name: str,
    query: Tokens,
    doc: Tokens,
    grade: NDArray[np.float64],
    marks: Tokens | None,
    repeated: Callable[[int, int], None],
) -> Qrels:
    """Return rows as qrels, whose vocabularies list ids as they first come."""
    queries, docs = Numbering(), Numbering()
    query_code, doc_code = queries.add_runs(query), docs.add(doc)
    group, subtopic = query_code.astype(np.int64), None
    if marks is not None and marks.changes().size:
        subtopic = number_subtopics(query_code, Numbering().add_runs(marks))
    if subtopic is not None:
        group = group * MOST_SUBTOPICS + subtopic
    again, first = repeated_rows(group, doc_code.astype(np.uint64), doc)
    for row, before in zip(again.tolist(), first.tolist(), strict=True):
        repeated(row, before)
    keep = np.ones(len(doc), bool)
    keep[again] = False
    found = Qrels(
        name=name,
        queries=tuple(queries.vocabulary()),
        docs=tuple(docs.vocabulary()),
        query=query_code[keep],
        doc=doc_code[keep],
        grade=grade[keep],
    )
    return found if subtopic is None else with_subtopics(found, subtopic[keep])


def _qrels_in(held: Held[Any], name: str | None, *, fractions: bool) -> Qrels:
    """Return qrels that are in memory, by the name that a leaderboard gives them."""
    qrels = held.holding(Qrels, "qrels", "Give a table of queries, documents and grades.")
    odd = np.flatnonzero(qrels.grade % 1)
    if odd.size and not fractions:
        raise InputError(
            f"{held}: grade {qrels.grade[odd[0]]:g} is a fraction, and a pool takes whole grades",
            "Use whole grades.",
        )
    return replace(qrels, name=held.name if name is None else name)


def held_judgments(columns: Columns, name: str) -> Held[Judgments]:
    """Return side-by-side judgments in memory; ``preferred`` repeats a document, or is ``tie``."""
    named = {
        "queries": QUERY,
        "first documents": LEFT,
        "second documents": RIGHT,
        "preferred documents": PREFERRED,
    }
    places = [pick(columns, accepted, name, what) for what, accepted in named.items()]
    worker = next((one for one in WORKER if one in columns), None)
    if not len(columns[places[0]]):
        raise InputError(f"{name} are empty: at least one row is needed", "Check the program that made them.")
    query, left, right, preferred = (id_tokens(columns[place], name, place) for place in places)
    choice = _choices(left, right, preferred)
    odd = []
    for row in np.flatnonzero(choice == 0).tolist():
        if what := _odd_choice(*(tokens.raw(row) for tokens in (left, right, preferred))):
            odd.append((row, f"{what}: {decode(preferred.raw(row))!r}"))
    if odd:
        raise row_problems(
            name, "table of judgments", odd, "preferred repeats a document of its row, or is: tie"
        )
    starts, ends = np.stack([left.starts, right.starts], 1), np.stack([left.ends, right.ends], 1)
    behind = np.array([0, len(left.text)])
    pairs = Tokens(bytes(left.text) + bytes(right.text), (starts + behind).ravel(), (ends + behind).ravel())
    rows = _JudgmentRows()
    rows.add(query, pairs, choice, id_tokens(columns[worker], name, worker) if worker else None)
    return Held(name, rows.judgments(sides=False))


def held_pool(given: Columns | Mapping[Any, Any], name: str) -> Held[Pools]:
    """Return a pool in memory: the columns of a table, or each query's documents, perhaps with their runs."""
    columns = given if all(isinstance(cells, np.ndarray) for cells in given.values()) else _listed(given)
    columns, query, doc = with_ids(columns, name)
    source = next((one for one in SOURCES if one in columns), None)
    tags = columns[source].tolist() if source else [""] * len(columns[query])
    ids = (id_tokens(columns[one], name, one).to_bytes() for one in (query, doc))
    members = [(decode(a), decode(b)) for a, b in zip(*ids, strict=True)]
    first: dict[tuple[str, str], int] = {}
    twice = [
        (row, f"document {member[1]!r} is in the pool of query {member[0]!r} already, in row {first[member]}")
        for row, member in enumerate(members)
        if first.setdefault(member, row) != row
    ]
    if twice:
        raise row_problems(name, "pool", twice, "Give each document of a query one row.")
    rows = []
    for member, said in zip(members, tags, strict=True):
        sources: Iterable[str] = said.split(",") if isinstance(said, str) else [""]
        if isinstance(said, list | tuple | set | frozenset | np.ndarray) and len(said):
            sources = map(str, said)
        rows += [(*member, tag.strip()) for tag in sources]
    return Held(name, pools_of(sorted(rows)))


def _listed(given: Mapping[Any, Any]) -> Columns:
    """Return the columns of ``{query: documents}``, which are listed, or have the runs that pooled them."""
    rows = [
        (query, doc, docs[doc] if isinstance(docs, Mapping) else "")
        for query, docs in given.items()
        for doc in docs
    ]
    columns = {}
    for place, name in enumerate(("query_id", "doc_id", "contributors")):
        columns[name] = np.empty(len(rows), object)
        columns[name][:] = [row[place] for row in rows]
    return columns


# Qrels files: TREC (``query Q0 doc grade``), or three columns (``query doc grade``) as BEIR has them.

_GREATEST_GRADE = 7
"""No scale of relevance in use has more."""
_QRELS_HINT = "Write each line as: query Q0 doc grade, or: query doc grade."


def read_qrels(
    path: str | Path, name: str | None = None, *, fractions: bool = False, notices: list[Notice] | None = None
) -> Qrels:
    """Read judged documents; the set is called by the file unless it has another ``name``."""
    # Programs that read whole numbers take fractions such as 0.5 for 0: only who asks for them gets them.
    if isinstance(path, Held):
        return _qrels_in(path, name, fractions=fractions)
    notices = [] if notices is None else notices
    reader = _QrelsReader(fspath(path), fractions, notices)
    rows = joined(
        fields(block.data, block.line, reader.columns)
        for block in with_stamps(path, blocks(path, Holds.QRELS, notices=notices), notices)
    )
    if not len(rows):
        raise InputError(f"{path} is empty: qrels need at least one line", "Check the program that wrote it.")
    with reader.problems:
        return reader.qrels(rows, stem(path) if name is None else name)


class _QrelsReader:
    def __init__(self, path: str, fractions: bool, notices: list[Notice]) -> None:
        self.path, self.fractions, self.notices = path, fractions, notices
        self.problems = Problems(path, "qrels file")
        self.width: int | None = None

    def columns(self, count: int) -> int:
        if self.width is None:
            if count not in (3, 4):
                is_run = count in (5, 6)
                what = f"its first line has {many(count, 'column')}{', as a run has' * is_run}"
                if count == 1:
                    what = "it holds a word a line, as lists of ids do"
                swap = "If runs and qrels were swapped, swap them back. " * is_run
                raise InputError(f"{self.path} is not a qrels file: {what}", swap + _QRELS_HINT)
            self.width = count
        return self.width

    def qrels(self, rows: Fields, name: str) -> Qrels:
        """Read all rows."""
        assert self.width is not None
        grade, fine = self._grades(rows, self.width - 1)
        if not fine.all():
            rows, grade = rows.take(fine), grade[fine]
        marks = rows.ids(1) if self.width == 4 else None
        repeated = partial(self._repeated, rows, grade)
        found = _qrels_of(name, rows.ids(0), rows.ids(self.width - 2), grade, marks, repeated)
        if self.width == 3 and _are_ranks(found.query, found.grade):
            raise InputError(
                f"{self.path} is not a qrels file: its third column counts 1, 2, 3 and so on in each "
                "query, as the ranks of a run do",
                "If runs and qrels were swapped, swap them back. " + _QRELS_HINT,
            )
        if marks is not None and marks.changes().size:
            how = (
                "too often for subtopics: it is ignored"
                if found.subtopics is None
                else "and is taken for subtopics: a document's grade is its greatest"
            )
            what = f"the second column differs from line to line, {how}"
            self.notices.append(Notice(where=self.path, what=what))
        return found

    def _repeated(self, rows: Fields, grade: NDArray[np.float64], row: int, before: int) -> None:
        """Notice a line that repeats another; it is a problem where it has another grade."""
        assert self.width is not None
        line = int(rows.lines[row])
        if grade[row] == grade[before]:
            what = f"repeats line {rows.lines[before]}; counted once"
            self.notices.append(Notice(where=f"{self.path}:{line}", what=what))
            return
        doc, query = decode(rows.raw(row, self.width - 2)), decode(rows.raw(row, 0))
        what = (
            f"document {doc!r} of query {query!r} has grade {grade[before]:g} on line {rows.lines[before]} "
            "and another here"
        )
        self.problems.at(rows, row, self.width - 1, what, "Keep the line with the right grade.")

    def _grades(self, rows: Fields, column: int) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        fine = rows.counts == self.width
        self.problems.refuse_other(rows, self.width or 0, (3, 4), _QRELS_HINT)
        for row in np.flatnonzero(~fine).tolist():
            what = f"{many(rows.counts[row], 'column')} where {self.width} are expected, as in the first line"
            self.problems.at(rows, row, None, what, _QRELS_HINT)
        grades, numbers = floats(rows.ids(column))
        numbers &= np.isfinite(grades)
        whole = np.ones(len(rows), bool) if self.fractions else np.mod(np.where(numbers, grades, 0), 1) == 0
        for row in np.flatnonzero(fine & ~(numbers & whole)).tolist():
            what = "the grade is not a number"
            hint = "Write a grade as a whole number: 0 is not relevant, 1 or more is."
            if numbers[row]:
                what = "fractional grade, which most programs read as a whole number"
                hint = "Use whole grades, or read it with fractional grades allowed (fractions=True)."
            self.problems.at(rows, row, column, what, hint)
        return grades, fine & numbers & whole


def _are_ranks(query: Codes, grade: NDArray[np.float64]) -> bool:
    """Tell whether the numbers of every query are 1, 2 and so on, each once, beyond all grades."""
    size = np.bincount(query)
    if size.max(initial=0) <= _GREATEST_GRADE:
        return False
    order = np.lexsort((grade, query))
    places = np.arange(query.size) - np.repeat(np.cumsum(size) - size, size) + 1
    return bool((grade[order] == places).all())


def write_qrels(
    path: str | Path, qrels: Qrels, *, fractions: bool = False, rehearsal: Rehearsal | None = None
) -> None:
    """Write qrels in TREC format, atomically; grades are whole numbers unless ``fractions``."""
    if not fractions and np.mod(qrels.grade, 1).any():
        row = int(np.flatnonzero(np.mod(qrels.grade, 1))[0])
        raise InputError(
            f"{path}: grade {qrels.grade[row]:g} of document {qrels.docs[qrels.doc[row]]!r} is a fraction",
            "Allow fractional grades (fractions=True), or use whole ones, which most programs read.",
        )
    queries = [column(name) for name in qrels.queries]
    docs, second = [column(name) for name in qrels.docs], second_column(rehearsal)
    with atomic_write(path) as file:
        for query, doc, grade in zip(
            qrels.query.tolist(), qrels.doc.tolist(), qrels.grade.tolist(), strict=True
        ):
            written = repr(grade) if fractions and grade % 1 else str(int(grade))
            file.write(b"%b %b %b %b\n" % (queries[query], second, docs[doc], written.encode()))
