"""How runs, queries and collections are read: the options of every verb that reads them, each once."""

from collections.abc import Mapping
from concurrent.futures import Executor
from typing import Annotated, Any, Literal, TypedDict, cast

from annotated_types import Ge

from prefjudge.errors import InputError
from prefjudge.reading.texts.records import CSV_IDS, CSV_TEXTS, PLAIN, Field, TextFields
from prefjudge.words import OnDuplicate


class ReadOptions(TypedDict, total=False):
    """How runs are read, as ``**how: Unpack[ReadOptions]``. Only ``on_duplicate`` can change a result.

    Parameters
    ----------
    on_duplicate : OnDuplicate
        What to do with a document that a run lists twice for a query.
    workers : int or Executor, optional
        How many processes read runs side by side. A program that says nothing gets 1, with None as many as
        pay; or the workers of an executor that it gives read. At a terminal as many as pay, or as the
        environment variable PREFJUDGE_WORKERS says.
    """

    on_duplicate: OnDuplicate | Literal["error", "first", "best"]
    workers: Annotated[int, Ge(1)] | Executor | None


_NAMED = ("field", "id", "text", "show")
_DOWNLOAD = "download"
_WAY = "Join words by commas, such as: field=desc,id=NAME,text=NAME,show=NAME,download"


class TextOptions(TypedDict, total=False):
    """How queries and collections are read.

    Parameters
    ----------
    dataset : str, optional
        How texts are read, in words joined by commas: field=desc or field=narr for another part of TREC
        topics than the title, id=NAME and text=NAME for fields of JSON, CSV, Parquet or XML with other names
        than usual, show=NAME for a field that people see below a passage, such as its date, download to fetch
        what irds:NAME and hf:NAME stand for. A text that is named is taken alone, without a title.
    """

    dataset: str | None


class InputOptions(ReadOptions, TextOptions, total=False):
    """How files are read: the words of `ReadOptions` and of `TextOptions`, as ``Unpack[InputOptions]``."""


DEFAULTS = InputOptions(on_duplicate=OnDuplicate.ERROR, workers=1, dataset=None)
"""What stands where a word is not given."""


def run_options(how: ReadOptions) -> ReadOptions:
    """Return the words that say how runs are read."""
    return cast(
        "ReadOptions", {word: said for word, said in how.items() if word in ReadOptions.__annotations__}
    )


def text_fields(how: Mapping[str, Any]) -> TextFields:
    """Return the fields that the words say, of whatever words a verb was given."""
    said = _words(how.get("dataset"))
    field, id_field, text_field = (said.get(word, [None])[-1] for word in ("field", "id", "text"))
    fields = TextFields(
        field=Field(field or Field.TITLE),
        id_field=id_field,
        text_field=text_field,
        shown=tuple(dict.fromkeys(said.get("show", []))),
    )
    for part, named, usual in (("id", id_field, CSV_IDS), ("text", text_field, CSV_TEXTS)):
        if other := {*fields.shown} & {*(usual if named is None else (named,))}:
            raise InputError(
                f"--dataset show={min(other)} would show the {part} below each passage",
                f"Name another field; if this one is not the {part}, say which is: {part}=NAME.",
            )
    return PLAIN if fields == PLAIN else fields


def asks_to_download(dataset: str | None) -> bool:
    """Return whether datasets may be downloaded."""
    return _DOWNLOAD in _words(dataset)


def _words(dataset: str | None) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for word in filter(None, map(str.strip, (dataset or "").split(","))):
        name, is_named, value = word.partition("=")
        known = value if is_named and name in _NAMED else word == _DOWNLOAD
        if not known or (name == "field" and value not in {*Field}):
            raise InputError(f"there is no dataset word {word!r}", _WAY)
        found.setdefault(name, []).append(value)
    return found
