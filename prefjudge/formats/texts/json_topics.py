"""Topics as one JSON document: a list of objects with ids, or an object of texts or objects by id."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from prefjudge.errors import InputError
from prefjudge.formats.lines.blocks import Block
from prefjudge.formats.texts.text_formats import Reading, Record, as_text, whole
from prefjudge.formats.texts.topic_fields import no_field

_SPACE = re.compile(r"\s*")


def read_records(blocks: Iterator[Block], reading: Reading) -> Iterator[Record]:
    """Yield the topics of a file."""
    path = reading.problems.path
    text = as_text(whole(blocks, path), reading)
    try:
        yield from _records(text, reading)
    except (ValueError, RecursionError) as error:
        where = f":{error.lineno}:{error.colno}" if isinstance(error, json.JSONDecodeError) else ""
        what = "nested too deeply" if isinstance(error, RecursionError) else "not valid JSON"
        raise InputError(f"{path}{where}: {what}", "Was the file cut off? Get it again.") from None


def _records(text: str, reading: Reading) -> Iterator[Record]:
    line, counted, ids = 1, 0, reading.fields.ids()
    for place, name, value in _members(text):
        line += text.count("\n", counted, place)
        counted = place
        parts = _texts({"text": value} if isinstance(value, str) else value)
        number = name if name is not None else next((parts[key] for key in ids if parts.get(key)), "")
        raw = text[place : place + 200].encode("utf-8", "replace")
        if not number or number.split() != [number]:
            what = "the id holds a blank" if number else "the topic has no id"
            reading.problems.add(line, 1, what, raw, f"Put an id of one word under one of: {', '.join(ids)}")
            continue
        parts = {key: said for key, said in parts.items() if name is not None or key not in ids}
        found = next((parts[key] for key in reading.fields.texts() if parts.get(key)), "")
        if found:
            yield Record(line, number.encode("utf-8", "replace"), found.encode("utf-8", "replace"))
        else:
            what, hint = no_field(number, reading.fields, parts)
            reading.problems.add(line, 1, what, raw, hint)


def _texts(value: Any) -> dict[str, str]:
    """Return the members of an object that are texts or whole numbers."""
    if not isinstance(value, dict):
        return {}
    return {
        key: " ".join(str(said).split())
        for key, said in value.items()
        if isinstance(said, str) or (isinstance(said, int) and not isinstance(said, bool))
    }


def _members(text: str) -> Iterator[tuple[int, str | None, Any]]:
    """Yield the members of the outermost list or object: where each starts, its name if any, its value."""
    decoder = json.JSONDecoder()
    place = _skip(text, 0)
    named = text[place : place + 1] == "{"
    end = "}" if named else "]"
    place = _skip(text, place + 1)
    while text[place : place + 1] != end:
        start, name = place, None
        if named:
            name, place = decoder.raw_decode(text, place)
            place = _skip(text, place)
            if not isinstance(name, str) or text[place : place + 1] != ":":
                raise json.JSONDecodeError("no name", text, place)
            place = _skip(text, place + 1)
        value, place = decoder.raw_decode(text, place)
        yield start, name, value
        place = _skip(text, place)
        if text[place : place + 1] == ",":
            place = _skip(text, place + 1)
        elif text[place : place + 1] != end:
            raise json.JSONDecodeError("no end", text, place)
    if text[place + 1 :].strip():
        raise json.JSONDecodeError("more behind the end", text, place + 1)


def _skip(text: str, place: int) -> int:
    found = _SPACE.match(text, place)
    return found.end() if found else place
