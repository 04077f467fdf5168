"""Texts in memory: a mapping of ids to texts, a table of them, or a function that knows them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from prefjudge.errors import InputError
from prefjudge.formats.lines.held import DOC, QUERY, Held, row_problems
from prefjudge.formats.lines.problems import encode, is_text
from prefjudge.formats.lines.tables import Columns, pick

Texts = Mapping[str, str] | Callable[[str], str | None]
"""The text of each id; a function returns None for an id that has none."""

TEXT = ("text", "body", "contents", "passage")


def held_texts(given: Columns | Mapping[Any, Any] | Callable[[str], str | None], name: str) -> Held[Texts]:
    """Return texts in memory: a mapping or a function as it is, and of a table the ids and texts.

    Raises
    ------
    InputError
        The table lacks a column, or gives an id two texts; an id or a text is something else.
    """
    if not isinstance(given, Mapping):
        return Held(name, given)
    texts: Mapping[Any, Any] = given
    if given and not any(isinstance(value, str) for value in given.values()):
        ids, column = _columns(given, name)
        texts, twice = {}, []
        for row, (key, text) in enumerate(zip(ids, column, strict=True)):
            if (before := texts.setdefault(key, text)) is not text and before != text:
                twice.append((row, f"{key!r} has another text in a row before"))
        if twice:
            raise row_problems(name, "table of texts", twice, "Give each id one text only.")
    if texts and all(isinstance(key, int | np.integer) and not isinstance(key, bool) for key in texts):
        texts = {str(key): text for key, text in texts.items()}  # as the ids of runs
    odd = [
        (row, f"{key!r} has {text!r}")
        for row, (key, text) in enumerate(texts.items())
        if not (isinstance(key, str) and isinstance(text, str))
    ]
    if odd:
        hint = "Ids are texts, or whole numbers throughout; texts are str."
        raise row_problems(name, "mapping of texts", odd, hint)
    if not texts:
        raise InputError(f"{name} is empty: at least one text is needed", "Give the text of each id.")
    return Held(name, texts)


def _columns(given: Columns, name: str) -> tuple[list[Any], list[Any]]:
    """Return the ids and the texts of a table: of passages, or of queries, whose text may be called query."""
    of_passages = any(column in given for column in DOC)
    ids = pick(given, DOC if of_passages else QUERY, name, "ids")
    text = pick(given, TEXT if of_passages else (*TEXT, "query", "title"), name, "texts")
    return given[ids].tolist(), given[text].tolist()


def texts_of(held: Held[Any], ids: Iterable[str]) -> dict[str, str]:
    """Return the texts of some ids, in the order asked for; those that are not known are left out.

    Raises
    ------
    InputError
        What is in memory is not texts, or a function returns something else.
    """
    look = held.content.get if isinstance(held.content, Mapping) else held.content
    if not callable(look):
        raise InputError(f"{held} does not hold texts", "Give a mapping of ids to texts.")
    found = {one: text for one in ids if (text := _looked_up(look, one)) is not None}
    _check(held, found)
    return found


def _looked_up(look: Callable[[str], str | None], one: str) -> str | None:
    """Return what a function knows of an id; ``texts.__getitem__`` raises where there is nothing."""
    try:
        return look(one)
    except LookupError:
        return None


def _check(held: Held[Any], texts: Mapping[str, object]) -> None:
    """Refuse what a study and its pages cannot hold."""
    for one, text in texts.items():
        if not isinstance(text, str):
            raise InputError(f"{held} has a {type(text).__name__} for {one!r}", "Give a text, or None.")
        if "\0" in text or not is_text(text):
            raise InputError(
                f"the text of {one!r} in {held} holds NUL or half a character", "Take it out of the text."
            )


def queries_of(held: Held[Any]) -> dict[str, str]:
    """Return all queries that are in memory.

    Raises
    ------
    InputError
        They are not a mapping, or an id holds a blank.
    """
    if not isinstance(held.content, Mapping):
        raise InputError(f"{held} is not a mapping of queries", "Give all queries: {query_id: text}.")
    odd = [
        (row, f"the id {name!r} is empty or holds a blank")
        for row, name in enumerate(held.content)
        if len(encode(name).split()) != 1
    ]
    if odd:
        raise row_problems(
            held.name, "mapping of queries", odd, "No run can name such a query: replace the blanks."
        )
    _check(held, held.content)
    return dict(held.content)
