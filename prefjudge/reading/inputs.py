"""Inputs: what a verb is given, as paths, folders, names of data sets or tables in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Protocol, TypeVar, runtime_checkable

from prefjudge.errors import InputError
from prefjudge.reading.held import Arrow, Frame, Held, NamedFile, is_record

T = TypeVar("T")

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
    """The note of an annotation for what is taken from memory."""

    take: Callable[[object], object]
    """Returns what stands for the value, or raises `NotTaken`."""
    words: str
    """What it takes, in words."""


Labelled = Frame | Arrow | Nested | Mapping[str, Mapping[str, float]] | Iterable[Record]
"""Queries, documents and numbers: a run, or qrels."""
Table = Frame | Arrow | Iterable[Record]


def take_runs(given: object) -> tuple[Source, ...]:
    """Return runs as they are passed on: paths as they are, others `Held` by name, else ``run1``, …"""
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

    return held_judgments(_columns_of(given, "judgments"), "judgments")


def take_votes(given: object) -> Source:
    """Return votes to import: a table or records, with columns as a CSV of votes has them."""
    if isinstance(given, str | Path):
        return given
    from prefjudge.reading.votes.tables import held_rows

    def is_row(row: object) -> bool:
        return isinstance(row, Mapping) or hasattr(row, "_fields")

    return held_rows(_columns_of(given, "votes", is_row), "votes")


def take_pool(given: object) -> Source:
    """Return a pool: a table or records of queries and documents, or the documents of each query."""
    if isinstance(given, str | Path):
        return given
    from prefjudge.reading.labels import held_pool

    if isinstance(given, Mapping):
        if not given or not all(map(_are_documents, given.values())):
            raise NotTaken
        return held_pool(given, "pool")
    return held_pool(_columns_of(given, "pool"), "pool")


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

    if isinstance(given, Mapping) and any(
        isinstance(text, Mapping | list | tuple) for text in given.values()
    ):
        raise NotTaken
    if isinstance(given, Mapping) or (callable(given) and not isinstance(given, Frame | Arrow)):
        return held_texts(given, "texts")

    def is_row(row: object) -> bool:
        return "text" in (row if isinstance(row, Mapping) else getattr(row, "_fields", ()))

    return held_texts(_columns_of(given, "texts", is_row), "texts")


def take_measures(given: object) -> tuple[str, ...]:
    """Return the names of measures that may be ir_measures' own."""
    if isinstance(given, str | NamedMeasure):
        return (str(given),)
    several = _listed(given)
    if several is None or not all(isinstance(one, str | NamedMeasure) for one in several):
        raise NotTaken
    return tuple(map(str, several))


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
            if noun == "run":
                _check_name(str(name))
            yield NamedFile(str(one), str(name)) if noun == "run" else f"{name}={one}"
        return
    listed, alone = _listed(given), "run1" if noun == "run" else noun
    if listed is None:
        yield _one(given, _name_of(given) or alone, hold)
    elif listed and is_record(listed[0]):
        yield _one(listed, alone, hold)
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
    if isinstance(given, Nested) and not isinstance(given, Frame | Arrow):
        return _one(given.to_dict(), name, hold)
    return hold(_columns_of(given, name), name)


def _columns_of(given: object, name: str, is_row: Callable[[object], bool] = is_record) -> Mapping[str, Any]:
    """Return the columns of a table, or of a list of rows; another thing is not taken."""
    from prefjudge.reading.memory import columns_of

    rows = _listed(given)
    if rows is not None and not (rows and is_row(rows[0])):
        raise NotTaken
    return columns_of(_table(given) if rows is None else rows, name)


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
