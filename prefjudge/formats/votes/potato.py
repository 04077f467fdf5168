"""Potato's pairwise annotations: its CSV, TSV and JSON Lines exports, and an annotator's ``user_state.json``.

They name an instance, not a pair: the data file that Potato was given says what was compared.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from prefjudge.errors import InputError
from prefjudge.formats.votes.choices import UNKNOWN, by_word
from prefjudge.formats.votes.form import Context, Rows, VoteForm
from prefjudge.formats.votes.parts import guess_parts
from prefjudge.formats.votes.rows import JsonObject, Row
from prefjudge.formats.votes.table import flat

_STATE = "instance_id_to_label_to_value"
_SELECTION, _SCALE = "selection", "scale_value"


def _fits(rows: Rows) -> bool:
    keys = rows[0].keys()
    return {"instance_id", "user_id"} <= keys or _STATE in keys


def _instances(row: Mapping[str, Any]) -> Iterator[tuple[str, str, JsonObject]]:
    """Yield instance, annotator, and the annotations by schema."""
    if _STATE in row:
        states = row[_STATE] if isinstance(row[_STATE], dict) else {}
        yield from ((str(name), flat(row.get("user_id")), _by_schema(said)) for name, said in states.items())
        return
    labels = row.get("labels")
    if not isinstance(labels, dict):
        labels = {}
        for key, value in row.items():
            schema, _, label = key.partition(".")
            if label and not label.startswith("_") and flat(value):
                labels.setdefault(schema, {})[label] = value
    yield flat(row.get("instance_id")), flat(row.get("user_id")), labels


def _by_schema(said: Any) -> JsonObject:
    """Return the annotations of an instance by schema; a state keeps them as pairs of a label and a value."""
    if not isinstance(said, list):
        return said if isinstance(said, dict) else {}
    found: JsonObject = {}
    for pair in said:
        if isinstance(pair, list) and len(pair) == 2 and isinstance(label := pair[0], dict):
            found.setdefault(flat(label.get("schema")), {})[flat(label.get("name"))] = pair[1]
    return found


def _votes(labels: Any) -> dict[str, str]:
    """Return the choices by criterion: the schema's name, with the dimension's where it has several."""
    found = {}
    for schema, said in (labels if isinstance(labels, dict) else {}).items():
        values = said.get("labels", said) if isinstance(said, dict) else {_SELECTION: said}
        for label, value in (values if isinstance(values, dict) else {}).items():
            choice = _of_scale(value) if label == _SCALE else flat(value)
            if choice and by_word(choice) != UNKNOWN:
                found[schema if label in (_SELECTION, _SCALE) else f"{schema}.{label}"] = choice
    return found


def _of_scale(value: Any) -> str:
    """Return the side of a slider: negative values prefer the left."""
    try:
        number = float(flat(value))
    except ValueError:
        return ""
    return "left" if number < 0 else "right" if number > 0 else "tie"


def _criteria(rows: Rows) -> tuple[str, ...]:
    return tuple({name: None for row in rows for _, _, labels in _instances(row) for name in _votes(labels)})


def _flatten(rows: Iterable[Row], context: Context) -> Iterator[Row]:
    for line, row in rows:
        for instance, worker, labels in _instances(row):
            said = _votes(labels).get(context.criterion)
            if said is None:  # not annotated, or another task's item
                continue
            item = context.items.get(instance)
            if item is None:
                what = "is not in the file of items" if context.items else "does not say what was compared"
                raise InputError(
                    f"{context.path}:{line}: the instance {instance!r} {what}",
                    "Give the data file that Potato showed: --items FILE",
                )
            yield (
                line,
                {
                    **_sides(item),
                    "winner": said,
                    "user_id": worker,
                    "_instance": instance,
                    "_id": json.dumps([worker, instance, context.criterion]),
                },
            )


def _sides(item: Mapping[str, Any]) -> JsonObject:
    """Return an item with the two texts of its list as those of the sides."""
    two = next((value for value in item.values() if isinstance(value, list) and len(value) == 2), None)
    return {**item} if two is None else {**item, "left_text": two[0], "right_text": two[1]}


def _parts(rows: Rows) -> dict[str, str]:
    guessed = guess_parts([{key: value for key, value in row.items() if key != "id"} for row in rows])
    return {**guessed, "winner": "winner", "worker": "user_id"}


FORM = VoteForm(fits=_fits, flatten=_flatten, parts=_parts, criteria=_criteria)
