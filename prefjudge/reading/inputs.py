"""Inputs: what a verb is given, as paths, folders, names of data sets or tables in memory."""

from __future__ import annotations

import glob
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from enum import StrEnum
from itertools import groupby
from os import fspath
from pathlib import Path
from typing import Annotated, Any, Literal, Protocol, TypeVar, overload, runtime_checkable

from prefjudge.errors import ConfigError, InputError, StudyError, quoted
from prefjudge.reading.files import (
    BEIR_QRELS,
    COMPRESSIONS,
    OF_TEXTS,
    foreign_bytes,
    foreign_columns,
    is_remote,
    without_secrets,
)
from prefjudge.reading.labels import TIES
from prefjudge.reading.lines import (
    ALLOWED,
    can_reread,
    columns,
    is_dataset,
    is_scored,
    may_download,
    size_of,
    version,
)
from prefjudge.reading.memory import MEMORY, Arrow, Frame, Held, NamedFile, is_record
from prefjudge.reading.runs.parquet import is_parquet
from prefjudge.reading.texts.texts import format_of
from prefjudge.words import many


@dataclass(frozen=True, slots=True, kw_only=True)
class InputFile:
    """A file that the study was made from."""

    kind: str
    path: str
    digest: str
    name: str


Role = Literal["collection", "queries", "qrels"]
"""What a file is given for; it is also the option's name."""

NAMES = {"collection": ("corpus",), "queries": ("queries",), "qrels": ("qrels", "data")}
_PACKED = ("", *(f".{kind}" for kind in COMPRESSIONS))
_ENDINGS = tuple(suffix + packed for suffix in (".jsonl", ".tsv", ".parquet") for packed in _PACKED)
_FIRST = "test"
"""The part of the qrels that results are reported on."""


def file_in(folder: Path, role: Role) -> Path:
    """Return the file of a folder that is meant; a collection may be a folder of many files, and is kept.

    Raises
    ------
    InputError
        There is none, or there are several to choose from.
    """
    named = [folder / f"{name}{ending}" for name in NAMES[role] for ending in _ENDINGS]
    inner = next((folder / name for name in NAMES[role] if (folder / name).is_dir()), None)
    if found := next((path for path in named if path.is_file()), None):
        return found
    if role == "collection":
        return inner or folder
    files = _data_files(inner or folder)
    tests = [path for path in files if path.name.split(".")[0].split("-")[0] == _FIRST]
    chosen = tests if role == "qrels" and len(files) > 1 else files
    if len(chosen) == 1 and (inner or role == "qrels"):
        return chosen[0]
    wanted = "qrels/test.tsv" if role == "qrels" else "queries.jsonl"
    here = ", ".join(str(path.relative_to(folder)) for path in files[:10]) or "no such file"
    raise InputError(
        f"{folder} is a folder without {wanted}: it holds {here}",
        f"Name the file: --{role} {files[0] if files else folder / wanted}",
    )


def _data_files(folder: Path) -> list[Path]:
    return [path for path in sorted(folder.iterdir()) if path.is_file() and path.name.endswith(_ENDINGS)]


# Datasets of the Hugging Face Hub in BEIR's or MTEB's layout, as ``hf:OWNER/NAME``: found as files here.

PREFIX = "hf:"


def is_hub(path: str | Path) -> bool:
    """Return whether a path names a dataset of the hub."""
    return fspath(path).startswith(PREFIX)


def hub_file(path: str | Path, role: Role) -> Path:
    """Return the file of a dataset that is meant, or the folder of its collection, in the hub's own cache.

    Raises
    ------
    ConfigError
        The library of the hub is not installed.
    InputError
        There is no such dataset, it has another layout, or it would have to be downloaded.
    """
    try:
        from huggingface_hub import errors, snapshot_download
    except ImportError:
        raise ConfigError(
            f"{path} is a dataset of the Hugging Face Hub, whose library is not installed",
            "Install it with the extra: pip install 'prefjudge[hf]'",
        ) from None
    name, _, revision = fspath(path).removeprefix(PREFIX).partition("@")
    which: dict[str, Any] = {
        "repo_type": "dataset",
        "revision": revision or None,
        "allow_patterns": _patterns(role),
    }
    try:
        folder = snapshot_download(name, local_files_only=True, **which)
        if found := _found(Path(folder), role):
            return found
    except (errors.LocalEntryNotFoundError, errors.IncompleteSnapshotError, InputError):
        pass
    except errors.HFValidationError as error:
        raise InputError(f"{path} is not a name of the hub: {error}", "Write hf:OWNER/NAME.") from None
    try:
        planned = [one for one in snapshot_download(name, dry_run=True, **which) if not isinstance(one, str)]
        if not planned:
            raise InputError(
                f"{path} has no {role} in BEIR's layout", f"Download it, and name its file: --{role} FILE"
            )
        needed = [one for one in planned if one.will_download]
        if needed and not may_download():
            size = size_of(sum(one.file_size for one in needed))
            raise InputError(
                f"{path} is not on this machine: {', '.join(one.filename for one in needed)} would be "
                f"downloaded from the Hugging Face Hub ({size})",
                f"Allow it: --dataset download, or {ALLOWED}=1 in the environment.",
            )
        return file_in(Path(snapshot_download(name, **which)), role)
    except (OSError, errors.HfHubHTTPError, ValueError) as error:
        said = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise InputError(
            f"{path} cannot be had from the Hugging Face Hub: {said}",
            "Check the name, and that this machine reaches the hub; or download it, and give its folder.",
        ) from None


def _found(folder: Path, role: Role) -> Path | None:
    """Return the file of a folder in the cache, which may hold the files of other roles alone."""
    found = file_in(folder, role)
    return found if found != folder else None


def _patterns(role: Role) -> list[str]:
    """Return what the files of a role are called: BEIR has them beside each other, MTEB in folders."""
    patterns = [f"{name}{rest}" for name in NAMES[role] for rest in ("/*", ".jsonl*", ".parquet", ".tsv")]
    return patterns + (["test.tsv", "dev.tsv", "train.tsv"] if role == "qrels" else [])


# Sniffing: what a file is, from its first lines, before a reader is chosen for it.
#
# This is where every format is told from every other: those that have a reader, and those that do not yet,
# with what to do about them.

_STUDY = "study.toml"
"""What makes a folder a study."""
_GLANCE = 1000
"""So many lines say what a file is: one of them may be wrong."""
_MOST = 1 << 20
"""Bytes of comments after which a file is left to its reader."""
_NUMBER = re.compile(rb"[+-]?(\d++\.?\d*+|\.\d++)([eE][+-]?\d++)?|[+-]?inf(inity)?", re.IGNORECASE)
_GRADES = (b"-2", b"-1", b"0", b"1", b"2", b"3", b"4")


class Kind(StrEnum):
    """What is read here."""

    RUN = "run"
    QRELS = "qrels"
    JUDGMENTS = "judgments"
    TEXTS = "texts"
    """Queries or a collection, in a form of their own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sniffed:
    """What a file is.

    Attributes
    ----------
    kind : str
        A `Kind`, or the name of a format that is not read here.
    what, way : str
        For the latter, what it is and what to do, in words.
    doubt : str
        What contradicts it.
    """

    kind: str
    what: str = ""
    way: str = ""
    doubt: str = ""


def sniff(path: str | Path) -> Sniffed:
    """Return what a file or folder is; what is empty, or cannot be opened, is left to the reader of runs."""
    if Path(path).is_dir():
        return _folder(Path(path))
    if is_dataset(path):
        return Sniffed(kind=Kind.RUN if is_scored(str(path)) else Kind.QRELS)
    if str(path) == "-":
        return Sniffed(kind=Kind.RUN)  # looking ahead would swallow it
    try:
        head = _head(path)
    except InputError:
        return Sniffed(kind=Kind.RUN)
    found = foreign_bytes(head) or foreign_columns(head)
    if found is BEIR_QRELS:
        return Sniffed(kind=Kind.QRELS)
    if found in OF_TEXTS:
        return Sniffed(kind=Kind.TEXTS)
    if found:
        what, way = found.words(str(path))
        return Sniffed(kind=found.kind, what=what, way=way)
    if format_of(head.removeprefix(b"\xef\xbb\xbf")):
        return Sniffed(kind=Kind.TEXTS)
    return _columns_of_line(_lines(head))


def doubt_ranks(path: str | Path) -> str:
    """Return what contradicts a run of three columns whose last may be grades; empty where nothing does.

    A run's ranks differ within a query. Where all are as small as grades and they repeat, they are grades.

    Raises
    ------
    InputError
        They are.
    """
    if not can_reread(path):  # looking ahead into a pipe would swallow it
        return ""
    try:
        lines = _lines(_head(path))
    except InputError:  # its reader says it
        return ""
    if not lines or len(lines[0].split()) != 3:
        return ""
    rows = [row for row in map(bytes.split, lines) if len(row) == 3]
    if _of_three(rows).kind == Kind.RUN:
        return ""
    queries = _values_by_query(rows)
    if 2 * sum(len(set(values)) < len(values) for values in queries) > sum(len(q) > 1 for q in queries):
        raise InputError(
            f"{path} is not a run: its third column repeats "
            f"{', '.join(sorted({value.decode() for _, _, value in rows}))} within queries, as grades do",
            "If these are qrels, give them with --qrels; ranks are 1, 2, 3 and so on in each query.",
        )
    return "its third column is taken for ranks; if it holds grades, give it with --qrels"


def refuse_study(path: Path) -> None:
    """Refuse the folder of a study where a folder of runs is wanted.

    Raises
    ------
    InputError
        It is one.
    """
    if (found := _folder(path)).kind == "study":
        raise InputError(found.what, found.way)


def _folder(path: Path) -> Sniffed:
    if (path / _STUDY).is_file():
        what = f"{path} is the folder of a study, not of runs"
        way = f"See where it stands: prefjudge status {quoted(path)}; or name the files in it that you mean"
        return Sniffed(kind="study", what=what, way=way)
    return Sniffed(
        kind="folder", what=f"{path} is a folder, not a file", way=f"Name the files in it: '{path}/*'"
    )


def _head(path: str | Path) -> bytes:
    """Return the first piece that holds a line with something on it."""
    head = b""
    for piece in columns(path):
        head += piece
        if len(head) > _MOST or any(map(_says, head.split(b"\n")[:-1])):
            break
    return head


def _says(line: bytes) -> bool:
    return bool(line.strip()) and not line.startswith(b"#")


def _lines(head: bytes) -> list[bytes]:
    """Return the first lines that are neither blank nor comments, without one that the head may cut."""
    lines = re.split(rb"\r\n|\n|\r", head.removeprefix(b"\xef\xbb\xbf"))
    return [line for line in lines[:-1] or lines if _says(line)][:_GLANCE]


def _columns_of_line(lines: list[bytes]) -> Sniffed:
    rows = [line.split() for line in lines]
    width = len(rows[0]) if rows else 0
    if width in (4, 5) and 2 * sum(map(_is_vote, rows)) >= len(rows):
        return Sniffed(kind=Kind.JUDGMENTS)
    if rows and all(line.count(b"\t") == 1 for line in lines) and 2 * sum(map(_is_text, rows)) >= len(rows):
        return Sniffed(kind=Kind.TEXTS)
    if width == 4:
        return Sniffed(kind=Kind.QRELS)
    return _of_three(rows) if width == 3 else Sniffed(kind=Kind.RUN)


def _is_vote(row: list[bytes]) -> bool:
    """Say whether a line's fourth column repeats a document; in qrels the second is 0 or Q0."""
    documents = [name for name in row[1:3] if name not in (b"0", b"Q0")]
    return len(row) > 3 and (row[3] in documents or row[3] in TIES)


def _is_text(row: list[bytes]) -> bool:
    """Tell whether there are words where a rank, a grade or a score would be."""
    return len(row) < 3 or not any(_NUMBER.fullmatch(word) for word in row[2:5])


def _of_three(rows: list[list[bytes]]) -> Sniffed:
    """Tell ranks (1, 2, 3 in each query) from grades; the last query may be cut off."""
    rows = [row for row in rows if len(row) == 3]
    small = all(row[2] in _GRADES for row in rows)
    queries = _values_by_query(rows)
    counting = _count(queries)
    if not small or (counting and any(len(query) > 1 for query in queries)):
        doubt = "its third column is taken for ranks; if it holds grades, add --kind qrels" * small
        return Sniffed(kind=Kind.RUN, doubt=doubt)
    doubt = "its third column is taken for grades; if it holds ranks, add --kind run" * counting
    return Sniffed(kind=Kind.QRELS, doubt=doubt)


def _values_by_query(rows: list[list[bytes]]) -> list[list[bytes]]:
    return [[row[2] for row in group] for _, group in groupby(rows, key=lambda row: row[0])]


def _count(queries: list[list[bytes]]) -> bool:
    """Say whether the numbers of all queries are ranks: each once, from 0 on, or all from 1 on."""
    numbers = [
        sorted(int(value) for value in query if value.isdigit() and len(value) < 10) for query in queries
    ]
    return any(
        all(
            found == list(range(first, first + len(query)))
            for found, query in zip(numbers, queries, strict=True)
        )
        for first in (0, 1)
    )


# Inputs in memory: the one place where what a program gives instead of files is taken in.
#
# Runs may be a dictionary of dictionaries, a table (pandas, polars, Arrow; a PyTerrier result is one), a
# ranx ``Run`` or records such as ir_measures' ``ScoredDoc``; several are a list, or a mapping that names
# them. Qrels, judgments, texts and measures likewise, and paths may stand among them. Each becomes a
# `Held`, which goes wherever a path does; nothing is written to disk. Every verb asks here, so that what
# reads columns is imported only where there are some.

Source = str | Path
"""A file, or what is `Held`, which is a text."""
Record = Mapping[str, object] | tuple[object, ...]
"""A row by its fields: a dictionary, or a named tuple."""


class NotTaken(Exception):  # noqa: N818 - another kind may take it
    """The value is nothing that an argument takes from memory."""


@runtime_checkable
class Nested(Protocol):
    """A ``Run`` or ``Qrels`` of ranx, which turns into a dictionary of dictionaries."""

    def to_dict(self) -> Any:
        """Return the dictionary."""
        ...


@runtime_checkable
class NamedMeasure(Protocol):
    """A measure of ir_measures, which prints as its name."""

    NAME: Any
    SUPPORTED_PARAMS: Any


@dataclass(frozen=True, slots=True)
class InMemory:
    """The note of an annotation for what is taken from memory.

    Attributes
    ----------
    take : callable
        Returns what stands for the value, or raises `NotTaken`.
    words : str
        What it takes, in words.
    """

    take: Callable[[object], object]
    words: str


Labelled = Frame | Arrow | Nested | Mapping[str, Mapping[str, float]] | Iterable[Record]
"""Queries, documents and numbers: a run, or qrels."""
Table = Frame | Arrow | Iterable[Record]


def take_runs(given: object) -> tuple[Source, ...]:
    """Return runs as they are passed on: paths as they are, others `Held` by name, else ``run1`` and so on.

    Raises
    ------
    NotTaken
        It is something else.
    InputError
        A table lacks a column, or holds what is not an id or a number.
    """
    from prefjudge.reading.runs.runs import held_run

    return tuple(_several(given, held_run, "run"))


def take_qrels(given: object) -> tuple[Source, ...]:
    """Return label sets likewise, by name, else ``qrels1`` and so on; a single one is ``qrels``."""
    from prefjudge.reading.labels import held_qrels

    return tuple(_several(given, held_qrels, "qrels"))


def take_one_run(given: object) -> Source:
    """Return one run."""
    return _single(take_runs(given), "run")


def take_one_qrels(given: object) -> Source:
    """Return one label set."""
    return _single(take_qrels(given), "label set")


def take_judgments(given: object) -> Source:
    """Return judgments: a table or records with query, doc_1, doc_2, preferred, and perhaps worker."""
    if isinstance(given, str | Path):
        return given
    from prefjudge.reading.labels import held_judgments

    rows = _listed(given)
    if rows is not None:
        if not rows or not is_record(rows[0]):
            raise NotTaken
        return held_judgments(_columns(rows, "judgments"), "judgments")
    return held_judgments(_columns(_table(given), "judgments"), "judgments")


def take_votes(given: object) -> Source:
    """Return votes to import: a table or records, with columns as a CSV of votes has them."""
    if isinstance(given, str | Path):
        return given
    from prefjudge.reading.votes.tables import held_rows

    rows = _listed(given)
    if rows is not None and not (rows and (isinstance(rows[0], Mapping) or hasattr(rows[0], "_fields"))):
        raise NotTaken
    return held_rows(_columns(rows if rows is not None else _table(given), "votes"), "votes")


def take_pool(given: object) -> Source:
    """Return a pool: a table or records of queries and documents, or the documents of each query."""
    if isinstance(given, str | Path):
        return given
    from prefjudge.reading.labels import held_pool

    if isinstance(given, Mapping):
        if not given or not all(map(_are_documents, given.values())):
            raise NotTaken
        return held_pool(given, "pool")
    rows = _listed(given)
    if rows is not None and not (rows and is_record(rows[0])):
        raise NotTaken
    return held_pool(_columns(rows if rows is not None else _table(given), "pool"), "pool")


def _are_documents(docs: object) -> bool:
    """Whether something may be the documents of a query: several, by themselves or with a value each."""
    if isinstance(docs, Mapping):  # one more level is that of several runs
        return not any(isinstance(value, Mapping) for value in docs.values())
    return isinstance(docs, list | tuple | AbstractSet)


def take_texts(given: object) -> Source:
    """Return texts: a mapping of ids to texts, a table of them, or a function that knows them."""
    if isinstance(given, str | Path):
        return given
    from prefjudge.reading.texts.texts import held_texts

    if isinstance(given, Mapping):
        if any(isinstance(text, Mapping | list | tuple) for text in given.values()):
            raise NotTaken
        return held_texts(given, "texts")
    if callable(given) and not isinstance(given, Frame | Arrow):
        return held_texts(given, "texts")
    rows = _listed(given)
    if rows is not None and not (rows and is_text_record(rows[0])):
        raise NotTaken
    return held_texts(_columns(rows if rows is not None else _table(given), "texts"), "texts")


def is_text_record(row: object) -> bool:
    """Return whether something is a row with an id and a text."""
    fields = row if isinstance(row, Mapping) else getattr(row, "_fields", ())
    return "text" in fields


def take_measures(given: object) -> tuple[str, ...]:
    """Return the names of measures that may be ir_measures' own."""
    if isinstance(given, str | NamedMeasure):
        return (str(given),)
    several = _listed(given)
    if several is None or not all(isinstance(one, str | NamedMeasure) for one in several):
        raise NotTaken
    return tuple(map(str, several))


T = TypeVar("T")


def maybe(take: Callable[[object], T], given: object) -> T | None:
    """Return what is taken, and None where nothing is given."""
    return None if given is None else take(given)


def take_measure(given: object) -> str:
    """Return the name of one measure."""
    if not isinstance(given, str | NamedMeasure):
        raise NotTaken
    return str(given)


Runs = (
    Source
    | Sequence[Source]
    | Annotated[
        Labelled | Mapping[str, Source | Labelled] | Sequence[Source | Labelled],
        InMemory(take_runs, "a table, a dictionary or records of runs"),
    ]
)
"""What takes runs: paths and patterns, and runs in memory."""
OneRun = Source | Annotated[Labelled, InMemory(take_one_run, "a table, a dictionary or records of a run")]
LabelSets = (
    Source
    | Sequence[Source]
    | Annotated[
        Labelled | Mapping[str, Source | Labelled] | Sequence[Source | Labelled],
        InMemory(take_qrels, "a table, a dictionary or records of qrels"),
    ]
)
OneLabelSet = (
    Source | Annotated[Labelled, InMemory(take_one_qrels, "a table, a dictionary or records of qrels")]
)
Votes = Source | Annotated[Table, InMemory(take_judgments, "a table or records of judgments")]
ForeignVotes = Source | Annotated[Table, InMemory(take_votes, "a table or records of votes")]
Pooled = (
    Source
    | Annotated[
        Table | Mapping[str, Iterable[str]],
        InMemory(take_pool, "a table, a mapping or records of a pool"),
    ]
)
Texts = (
    Source
    | Annotated[
        Table | Mapping[str, str] | Callable[[str], str | None],
        InMemory(take_texts, "a table, a mapping or a function of texts"),
    ]
)
Measures = (
    str
    | Sequence[str]
    | Annotated[
        NamedMeasure | Sequence[str | NamedMeasure], InMemory(take_measures, "measures of ir_measures")
    ]
)
OneMeasure = str | Annotated[NamedMeasure, InMemory(take_measure, "a measure of ir_measures")]


def _several(given: object, hold: Callable[[Any, str], Held[Any]], noun: str) -> Iterator[Source]:
    """Yield each of several runs or label sets."""
    if isinstance(given, str | Path):
        yield given
        return
    if isinstance(given, Mapping) and not _is_nested(given):
        files: dict[str, object] = {}
        for name, one in given.items():
            if not isinstance(one, str | Path):
                yield _one_of(one, str(name), hold, noun)
                continue
            if (before := files.setdefault(str(one), name)) is not name:
                raise InputError(f"{before!r} and {name!r} are the same file: {one}", "Name each file once.")
            yield _named_path(one, str(name), noun)
        return
    listed = None if isinstance(given, Mapping) else _listed(given)
    if listed is None:
        yield _one(given, _name_of(given) or (f"{noun}1" if noun == "run" else noun), hold)
    elif listed and is_record(listed[0]):
        name = f"{noun}1" if noun == "run" else noun
        yield hold(_columns(listed, f"{noun} {name}"), name)
    else:
        for place, one in enumerate(listed, 1):
            name = _name_of(one) or f"{noun}{place}"
            yield one if isinstance(one, str | Path) else _one_of(one, name, hold, noun)


def _one_of(given: object, name: str, hold: Callable[[Any, str], Held[Any]], noun: str) -> Held[Any]:
    """Return one of several; where it is something else, the message says which."""
    try:
        return _one(given, name, hold)
    except NotTaken:
        kind = "None" if given is None else f"a {type(given).__name__}"
        raise NotTaken(f"{name!r} is {kind}, and not {'a run' if noun == 'run' else 'qrels'}") from None


def _one(given: object, name: str, hold: Callable[[Any, str], Held[Any]]) -> Held[Any]:
    _check_name(name)
    if isinstance(given, Mapping):
        if not _is_nested(given):
            raise NotTaken
        return hold(given, name)
    rows = _listed(given)
    if rows is not None:
        if not rows or not is_record(rows[0]):
            raise NotTaken
        return hold(_columns(rows, name), name)
    if isinstance(given, Nested) and not isinstance(given, Frame | Arrow):
        return _one(given.to_dict(), name, hold)
    return hold(_columns(_table(given), name), name)


def _columns(given: Frame | Arrow | Sequence[Any], name: str) -> Mapping[str, Any]:
    from prefjudge.reading.memory import columns_of

    return columns_of(given, name)


def _named_path(path: Source, name: str, noun: str) -> Source:
    """Return a file with the name that a program gives it."""
    if noun != "run":
        return f"{name}={path}"
    _check_name(name)
    return NamedFile(str(path), name)


def _check_name(name: str) -> None:
    if name.split() != [name] or not name.isprintable():
        raise InputError(
            f"the name {name!r} is empty, or holds a blank or what cannot be printed",
            "Give it a name of one word.",
        )


def _is_nested(given: Mapping[Any, Any]) -> bool:
    """Return whether a mapping is queries, each with numbers by document; an empty one is taken for that."""
    return all(
        isinstance(docs, Mapping) and not any(isinstance(value, Mapping) for value in docs.values())
        for docs in given.values()
    )


def _table(given: object) -> Frame | Arrow:
    if hasattr(given, "to_frame") and not isinstance(given, Frame):
        raise InputError("a Series is one column of a table", "Give the DataFrame.")
    if not isinstance(given, Frame | Arrow) or isinstance(given, type):
        raise NotTaken
    return given


def _listed(given: object) -> list[Any] | None:
    """Return the items of what is a list, a set or a generator; None where it is something else."""
    if isinstance(given, str | bytes | bytearray | Mapping):
        return None
    if isinstance(given, Frame | Arrow) or not isinstance(given, Sequence | AbstractSet | Iterator):
        return None
    return list(given)


def _name_of(given: object) -> str:
    """Return the name that a ranx ``Run`` or ``Qrels`` has."""
    name = (
        getattr(given, "name", None) if isinstance(given, Nested) and not isinstance(given, Frame) else None
    )
    return name if isinstance(name, str) else ""


def _single(found: tuple[Source, ...], what: str) -> Source:
    if len(found) != 1:
        raise NotTaken
    return found[0]


# The files that a step is given: patterns expanded, and a record of each for the study.

_Several = TypeVar("_Several", str, Path, str | Path)

_ASIDE = (".md", ".rst", ".html", ".pdf", ".json", ".toml", ".yaml", ".yml", ".md5", ".sha256")
"""Suffixes of files in a folder of runs that are not runs."""

QRELS_NAME = "original"
"""What the study calls the qrels that it starts from."""


@overload
def as_path(path: str | Path) -> Path: ...
@overload
def as_path(path: None) -> None: ...
@overload
def as_path(path: str | Path | None) -> Path | None: ...
def as_path(path: str | Path | None) -> Path | None:
    """Return as a path what a program may have given as text."""
    return None if path is None else Path(path)


@overload
def as_folder(path: str | Path) -> Path: ...
@overload
def as_folder(path: str | Path | None) -> Path | None: ...
def as_folder(path: str | Path | None) -> Path | None:
    """Return as a path a folder that is made where it is missing: of this machine, so not an address.

    Raises
    ------
    InputError
        It is one: a folder of that name would be made here.
    """
    if path is not None and (is_remote(path) or is_address(path)):
        raise InputError(
            f"{without_secrets(str(path))} is an address, and this is a folder of files here", "Name one."
        )
    return as_path(path)


def in_memory(path: str | Path) -> bool:
    """Return whether a name is that of an input in memory, now or when a study was made."""
    return str(path).startswith(MEMORY)


def several(given: _Several | Sequence[_Several]) -> tuple[_Several, ...]:
    """Return as a list what a program may have given as one text or path, or as several."""
    if isinstance(given, str | Path):
        return (given,)  # a text is a sequence of texts too
    return tuple(given)


@overload
def given_file(path: str | Path, role: Role) -> str | Path: ...
@overload
def given_file(path: str | Path | None, role: Role) -> str | Path | None: ...
def given_file(path: str | Path | None, role: Role) -> str | Path | None:
    """Return the file that is meant where a folder may be given, as BEIR lays them out, or ``hf:NAME``.

    Raises
    ------
    InputError
        The folder does not say which file that is.
    """
    if path is not None and is_hub(path):
        return hub_file(path, role)
    if path is None or not Path(path).is_dir():
        return path
    return _qrels_in(Path(path)) if role == "qrels" else file_in(Path(path), role)


def _qrels_in(folder: Path) -> Path:
    """Return the qrels of a folder: as BEIR lays them out, or else the one file that holds qrels."""
    laid_out = any((folder / name).is_dir() for name in NAMES["qrels"])
    try:
        found = file_in(folder, "qrels")
        if is_parquet(found) or sniff(found).kind == Kind.QRELS:
            return found
    except InputError:
        if laid_out:
            raise
    files = [path for path in sorted(folder.iterdir()) if path.is_file() and not _is_aside(path)]
    labels = [path for path in files if sniff(path).kind == Kind.QRELS]
    if len(labels) == 1:
        return labels[0]
    here = ", ".join(path.name for path in (labels or files)[:10]) or "no file"
    raise InputError(
        f"{folder} is a folder {'with several qrels' if labels else 'without qrels'}: {here}",
        f"Name the file: --qrels {quoted(labels[0]) if labels else 'FILE'}",
    )


def as_target(path: str | Path | None) -> str | Path | None:
    """Return where to write, as a path unless it is an address."""
    return path if path is not None and is_address(path) else as_path(path)


def is_address(path: str | Path) -> bool:
    """Return whether a path is an address such as ``s3a://bucket/runs``, which a cluster knows."""
    return "://" in str(path)


def expand(patterns: Runs) -> tuple[str | Path, ...]:
    """Return the files that the patterns match and those of the folders named, sorted within each of them.

    Runs in memory stay as they are.

    Addresses stay as they are, but for ``*`` in those of a store; and so do folders of Parquet, which are
    tables. In a folder, hidden files are passed over, and those whose suffix says that they are read by
    people or tools, such as a ``README.md``.

    Raises
    ------
    InputError
        A pattern matches nothing, or a folder is empty.
    """
    found: dict[str | Path, None] = {}
    for pattern in take_runs(patterns):
        if isinstance(pattern, Held):
            found[pattern] = None
            continue
        if isinstance(pattern, NamedFile):
            found[_one_file(pattern)] = None
            continue
        pattern = without_secrets(str(pattern))
        files = _matching(pattern)
        if not files:
            raise InputError(
                f"no file matches {pattern}",
                "Give run files, a folder of them, or a pattern in quotes such as 'runs/*.gz'.",
            )
        found |= dict.fromkeys(files)
    return tuple(found)


def _one_file(named: NamedFile) -> NamedFile:
    """Return a file that has a name, where it is one file."""
    files = _matching(named)
    if len(files) != 1:
        raise InputError(
            f"{many(len(files), 'file')} match {named}, which is one run: {named.name!r}",
            "Give each file its name, or give the pattern without one.",
        )
    return NamedFile(str(files[0]), named.name)


def _matching(pattern: str) -> Sequence[str | Path]:
    if is_address(pattern):
        if not ("*" in pattern and is_remote(pattern)) or pattern.startswith("http"):
            return [pattern]
        from prefjudge.reading.files import matching

        return matching(pattern)

    if glob.has_magic(pattern) and not Path(pattern).exists():  # a file's own name may have brackets
        found = [Path(name) for name in sorted(glob.glob(pattern))]  # noqa: PTH207
    elif Path(pattern).is_dir() and not is_parquet(pattern):
        refuse_study(Path(pattern))
        found = [path for path in sorted(Path(pattern).iterdir()) if not _is_aside(path)]
    else:
        found = [Path(pattern)]
    return [path for path in found if is_parquet(path) or not path.is_dir()]


def _is_aside(path: Path) -> bool:
    return path.name.startswith((".", "_")) or path.suffix.lower() in _ASIDE


def input_files(
    paths: Sequence[str | Path], tags: Sequence[str], others: Mapping[str, str | Path | None]
) -> list[InputFile]:
    """Return the record of the files that a study is made from, with their digests.

    Raises
    ------
    InputError
        The runs are not files.
    """
    on_disk = [path for path in paths if not in_memory(path)]
    other = next((path for path in on_disk if is_parquet(path) or not can_reread(path)), None)
    if other is not None:
        raise InputError(
            f"{other} is not a run file, and a study is made from run files",
            "Give run files, or leave the study out and write the pool with --out.",
        )
    files = [("run", path, tag) for path, tag in zip(paths, tags, strict=True)]
    named = {kind: path for kind, path in others.items() if path}
    files += [(kind, path, QRELS_NAME if kind == "qrels" else "") for kind, path in named.items()]
    return [
        InputFile(
            kind=kind,
            path=_place(path),
            digest=_digest(kind, path),
            name=name,
        )
        for kind, path, name in files
    ]


def _digest(kind: str, path: str | Path) -> str:
    """Return the digest of a file; a collection is large: only the texts used are digested."""
    from prefjudge.reading.lines import digest

    if kind == "collection" or in_memory(path):
        return ""
    return version() if is_dataset(path) else digest(path)


def _place(path: str | Path) -> str:
    """Return where a file is, for later verbs in other folders."""
    if is_remote(path):
        return without_secrets(str(path))
    return str(path if is_dataset(path) or in_memory(path) else Path(path).resolve())


def paths_of(inputs: Sequence[InputFile], kind: str, study: Path) -> tuple[str | Path, ...]:
    """Return where a study's files of a kind are; runs have the names that they were pooled by.

    Raises
    ------
    StudyError
        One is not where it was when it was pooled.
    """
    paths = tuple(Path(found.path) for found in inputs if found.kind == kind)
    held = next((path for path in paths if in_memory(path)), None)
    if held is not None:
        raise StudyError(
            f"the study was made from {held}, which is not a file",
            f"Give it again by this name, where a function takes {'runs' if kind == 'run' else kind}, "
            "or pool the study again from files.",
        )
    gone = [path for path in paths if not path.exists() and ":/" not in str(path) and not is_dataset(path)]
    if gone:
        raise StudyError(
            f"{gone[0]} is gone, and the study was made from it",
            f"Run `prefjudge pool {quoted(study)}` again with the files where they are now: "
            "it records their paths.",
        )
    if kind != "run":
        return paths
    return tuple(NamedFile(found.path, found.name) for found in inputs if found.kind == kind)
