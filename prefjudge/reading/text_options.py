"""Where the ids and the texts of queries and collections stand: the option of every verb that reads them."""

from collections.abc import Mapping
from typing import Any, TypedDict

from prefjudge.errors import InputError
from prefjudge.reading.texts.records import PLAIN, Field, TextFields

_NAMED = ("field", "id", "text")
_DOWNLOAD = "download"
_WAY = "Join words by commas, such as: field=desc,id=NAME,text=NAME,download"


class TextOptions(TypedDict, total=False):
    """How queries and collections are read.

    Parameters
    ----------
    dataset : str, optional
        How texts are read, in words joined by commas: field=desc or field=narr for another part of TREC
        topics than the title, id=NAME and text=NAME for fields of JSON, CSV, Parquet or XML with other names
        than usual, download to fetch what irds:NAME and hf:NAME stand for. A text that is named is taken
        alone, without a title.
    """

    dataset: str | None


DEFAULTS = TextOptions(dataset=None)
"""What stands where a word is not given."""


def text_fields(how: Mapping[str, Any]) -> TextFields:
    """Return the fields that the words say, of whatever words a verb was given."""
    said = _words(how.get("dataset"))
    fields = TextFields(
        field=Field(said.get("field", Field.TITLE)), id_field=said.get("id"), text_field=said.get("text")
    )
    return PLAIN if fields == PLAIN else fields


def asks_to_download(dataset: str | None) -> bool:
    """Return whether datasets may be downloaded."""
    return _DOWNLOAD in _words(dataset)


def _words(dataset: str | None) -> dict[str, str]:
    found = {}
    for word in filter(None, map(str.strip, (dataset or "").split(","))):
        name, is_named, value = word.partition("=")
        known = value if is_named and name in _NAMED else word == _DOWNLOAD
        if not known or (name == "field" and value not in {*Field}):
            raise InputError(f"there is no dataset word {word!r}", _WAY)
        found[name] = value
    return found
