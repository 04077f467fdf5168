"""Batch results of Mechanical Turk: CSV with columns ``Input.…`` and ``Answer.…`` of the requester's page."""

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from prefjudge.formats.votes.choices import UNKNOWN, by_word
from prefjudge.formats.votes.form import Context, Rows, VoteForm
from prefjudge.formats.votes.parts import guess_parts
from prefjudge.formats.votes.rows import JsonObject, Row
from prefjudge.formats.votes.table import flat

_INPUT, _ANSWER, _ELEMENTS = "Input.", "Answer.", "Answer.taskAnswers"


def _fits(rows: Rows) -> bool:
    keys = rows[0].keys()
    return {"HITId", "WorkerId"} <= keys and any(key.startswith(_ANSWER) for key in keys)


def _answers(row: Mapping[str, Any]) -> dict[str, str]:
    """Return the answer to each question; of radio buttons, which have a column each, the chosen one."""
    found: dict[str, str] = {}
    told = {key.removeprefix(_ANSWER): value for key, value in row.items() if key.startswith(_ANSWER)}
    told |= _of_elements(told.pop(_ELEMENTS.removeprefix(_ANSWER), ""))
    for key, value in told.items():
        name, _, option = key.rpartition(".")
        said = flat(value)
        if said.lower() in ("true", "on") and name:
            found[name] = option
        elif said and said.lower() != "false":
            found[key] = said
    return found


def _of_elements(said: Any) -> JsonObject:
    """Return the answers of a page of crowd-html-elements: JSON in one cell."""
    try:
        forms = json.loads(flat(said) or "[]")
    except (ValueError, RecursionError):
        return {}
    found: JsonObject = {}
    for name, value in (pair for form in forms if isinstance(form, dict) for pair in form.items()):
        options = value if isinstance(value, dict) else {}
        found |= {f"{name}.{option}": "true" for option, on in options.items() if on is True}
        if not options:
            found[name] = value
    return found


def _criteria(rows: Rows) -> tuple[str, ...]:
    """Return the questions whose answers choose one of two."""
    names: dict[str, bool] = {}
    for row in rows:
        shown = {flat(value) for key, value in row.items() if key.startswith(_INPUT)} - {""}
        for name, said in _answers(row).items():
            names[name] = names.get(name, True) and (by_word(said) != UNKNOWN or said in shown)
    return tuple(name for name, chooses in names.items() if chooses)


def _flatten(rows: Iterable[Row], context: Context) -> Iterator[Row]:
    for line, row in rows:
        inputs = {key.removeprefix(_INPUT): value for key, value in row.items() if key.startswith(_INPUT)}
        seconds = flat(row.get("WorkTimeInSeconds"))
        yield (
            line,
            {
                **inputs,
                **row,
                "winner": _answers(row).get(context.criterion, ""),
                "_milliseconds": f"{seconds}e3" if seconds else "",
                "_dropped": "rejected" if flat(row.get("AssignmentStatus")) == "Rejected" else "",
                "_instance": row.get("HITId"),
            },
        )


def _parts(rows: Rows) -> dict[str, str]:
    own = {"winner": "winner", "worker": "WorkerId"} | (
        {"id": "AssignmentId"} if "AssignmentId" in rows[0] else {}
    )
    inputs = [{key: value for key, value in row.items() if f"{_INPUT}{key}" in row} for row in rows]
    guessed = guess_parts(inputs)
    return {part: name for part, name in guessed.items() if part not in ("winner", "worker", "id")} | own


FORM = VoteForm(fits=_fits, flatten=_flatten, parts=_parts, criteria=_criteria)
