"""Votes of an arena: a prompt, two models, and the winner (Chatbot Arena, MT-Bench, LMSYS)."""

import json
from collections.abc import Iterable, Iterator
from typing import Any

from prefjudge.formats.votes.form import Context, Rows, VoteForm
from prefjudge.formats.votes.rows import JsonObject, Row
from prefjudge.formats.votes.table import flat

_FLAGS = {"winner_model_a": "left", "winner_model_b": "right", "winner_tie": "tie"}


def _fits(rows: Rows) -> bool:
    keys = rows[0].keys()
    return {"model_a", "model_b"} <= keys and ("winner" in keys or _FLAGS.keys() <= keys)


def _flatten(rows: Iterable[Row], context: Context) -> Iterator[Row]:
    for line, row in rows:
        found = dict(row)
        for side, letter in (("left", "a"), ("right", "b")):
            found[f"{side}_text"] = _answers(row.get(f"response_{letter}", row.get(f"conversation_{letter}")))
        found["prompt"] = _prompt(row)
        if flat(row.get("turn")):
            found["question_id"] = f"{flat(row.get('question_id'))}-{flat(row['turn'])}"
        if "winner" not in row:
            found["winner"] = next((said for flag, said in _FLAGS.items() if flat(row[flag]) == "1"), "")
        yield line, found


def _parts(rows: Rows) -> dict[str, str]:
    parts = {"left_model": "model_a", "right_model": "model_b", "winner": "winner"}
    if all(flat(row.get("question_id")) for row in rows):
        parts["query"] = "question_id"
    if any(row.get("prompt") for row in rows):
        parts["query_text"] = "prompt"
    if any(row.get("left_text") for row in rows):
        parts |= {"left_text": "left_text", "right_text": "right_text"}
    worker = next((name for name in ("judge", "worker", "annotator", "user_id") if name in rows[0]), None)
    return parts | ({"worker": worker} if worker else {}) | ({"id": "id"} if "id" in rows[0] else {})


def _turns(value: Any) -> list[Any]:
    """Return the turns of a conversation, which CSV holds as the text of a JSON list."""
    if isinstance(value, str) and value.lstrip().startswith("["):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return [value]
    return value if isinstance(value, list) else [] if value is None else [value]


def _answers(value: Any) -> list[Any]:
    return [one for one in _turns(value) if not isinstance(one, dict) or one.get("role") != "user"]


def _prompt(row: JsonObject) -> list[Any]:
    """Return what people asked; of a conversation, all their turns."""
    said = next((row[name] for name in ("prompt", "question", "query") if row.get(name)), None)
    if said is not None:
        return _turns(said)
    return [
        one
        for one in _turns(row.get("conversation_a"))
        if isinstance(one, dict) and one.get("role") == "user"
    ]


FORM = VoteForm(fits=_fits, flatten=_flatten, parts=_parts)
