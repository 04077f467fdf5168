"""Where the ids and the texts of queries and collections stand: the options of every verb that reads them."""

from collections.abc import Mapping
from typing import Any, Literal, TypedDict, cast

from prefjudge.formats.texts.topic_fields import PLAIN, Field, TextFields


class TextOptions(TypedDict, total=False):
    """How queries and collections are read.

    Parameters
    ----------
    field : Field
        The part of TREC topics that is the query's text.
    id_field : str, optional
        The field of JSON, CSV, Parquet or XML that holds the id, where it has another name than usual.
    text_field : str, optional
        The field that holds the text; it is then taken alone, without a title.
    download : bool
        Download what ``irds:NAME`` and ``hf:NAME`` stand for, where it is not on this machine yet.
    """

    field: Field | Literal["title", "desc", "narr"]
    id_field: str | None
    text_field: str | None
    download: bool


DEFAULTS = TextOptions(field=Field.TITLE, id_field=None, text_field=None, download=False)
"""What stands where a word is not given."""


def text_fields(how: Mapping[str, Any]) -> TextFields:
    """Return the fields that the words say, of whatever words a verb was given."""
    said = cast("TextOptions", {word: how.get(word, default) for word, default in DEFAULTS.items()})
    fields = TextFields(
        field=Field(said["field"]),
        id_field=said["id_field"],
        text_field=said["text_field"],
    )
    return PLAIN if fields == PLAIN else fields
