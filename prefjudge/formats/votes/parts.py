"""Parts of a vote, and under which names of columns files keep them."""

from collections.abc import Mapping, Sequence
from typing import Any

from prefjudge.errors import InputError

PARTS = (
    "query", "query_text", "left", "right", "left_text", "right_text", "left_model", "right_model",
    "winner", "worker", "id", "milliseconds", "gold",
)  # fmt: skip
"""What ``--map PART=COLUMN`` names; ``gold`` is the expected winner where it is known, and never guessed."""

_SIDES = (
    ("winner", "loser"),
    ("left", "right"), ("left_id", "right_id"), ("left_doc", "right_doc"), ("doc_a", "doc_b"),
    ("doc_id_a", "doc_id_b"), ("docid_a", "docid_b"), ("docno_a", "docno_b"), ("a_id", "b_id"), ("id_a",
    "id_b"),
    ("id_1", "id_2"), ("id1", "id2"), ("doc_1", "doc_2"), ("doc1", "doc2"), ("document_a", "document_b"),
    ("passage_a", "passage_b"), ("passage_id_a", "passage_id_b"), ("item_a", "item_b"), ("a", "b"), ("x",
    "y"),
    ("response_a", "response_b"), ("response1", "response2"), ("response_1", "response_2"),
    ("answer_a", "answer_b"), ("answer1", "answer2"), ("answer_1", "answer_2"), ("output_1", "output_2"),
    ("text1", "text2"), ("text_a", "text_b"), ("text_1", "text_2"), ("left_text", "right_text"),
    ("option_a", "option_b"), ("summary_a", "summary_b"), ("conversation_a", "conversation_b"),
)  # fmt: skip
_MODELS = (("model_a", "model_b"), ("left_model", "right_model"), ("system_a", "system_b"),
           ("generator_1", "generator_2"))  # fmt: skip
_ONE = {
    "query": ("query_id", "qid", "topic_id", "question_id", "prompt_id", "topic", "query", "question",
        "prompt"),
    "query_text": ("query_text", "query", "question", "prompt", "instruction", "topic"),
    "winner": ("winner", "preferred", "preference", "preferred_id", "choice", "chosen", "label", "vote",
        "judgment",
               "judgement", "selected", "selection", "verdict", "pref"),
    "worker": ("worker", "worker_id", "workerid", "annotator", "annotator_id", "user_id", "assessor",
        "judge", "rater"),
    "id": ("vote_id", "judgment_id", "annotation_id", "id"),
    "milliseconds": ("milliseconds", "duration_ms", "time_ms"),
}  # fmt: skip
_EXAMPLES = 50


def guess_parts(rows: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Return which column holds which part of a vote, as far as the columns' names and first values say.

    A column whose values hold blanks is a text, and never an id.
    """
    names: dict[str, str] = {}
    for row in rows:
        for name in row:
            names.setdefault(name.strip().lower(), name)
    found: dict[str, str] = {}
    for left, right in _SIDES:
        if left in names and right in names:
            texts = _is_text(rows, names[left]) or _is_text(rows, names[right])
            keys = ("left_text", "right_text") if texts else ("left", "right")
            if keys[0] not in found:
                found |= {keys[0]: names[left], keys[1]: names[right]}
    for left, right in _MODELS:
        if left in names and right in names and "left_model" not in found:
            found |= {"left_model": names[left], "right_model": names[right]}
    for part, known in _ONE.items():
        for name in known:
            if name in names and _fits(rows, names[name], part):
                found[part] = names[name]
                break
    if found.get("query_text") == found.get("query"):
        found.pop("query_text", None)
    return found


def _fits(rows: Sequence[Mapping[str, Any]], name: str, part: str) -> bool:
    return part != "query" or not _is_text(rows, name)


def _is_text(rows: Sequence[Mapping[str, Any]], name: str) -> bool:
    values = (row.get(name) for row in rows[:_EXAMPLES])
    return any(isinstance(one, list) or (isinstance(one, str) and len(one.split()) > 1) for one in values)


def parse_map(words: Sequence[str], path: str) -> dict[str, str]:
    """Return what ``--map`` says: ``winner=pref,left=a_id``, in one or in several.

    Raises
    ------
    InputError
        A word is not of this form, or names no part of a vote.
    """
    found: dict[str, str] = {}
    for word in (one for words_ in words for one in words_.split(",")):
        part, sign, column = (piece.strip() for piece in word.partition("="))
        if not sign or part not in PARTS or not column:
            raise InputError(
                f"--map {word}: not a part of a vote and its column",
                f"Write PART=COLUMN, for instance winner=pref; the parts are: {', '.join(PARTS)}.",
            )
        if part in found:
            raise InputError(f"--map: {part} is named twice", f"Name one column of {path} for it.")
        found[part] = column
    return found


def check_parts(parts: Mapping[str, str], told: Mapping[str, str], columns: Sequence[str], path: str) -> None:
    """Refuse a mapping to columns that are not there, and one without what a vote needs.

    Raises
    ------
    InputError
        With the columns that the file has.
    """
    known = f"It has: {', '.join(columns[:40])}."
    gone = next((column for column in told.values() if column not in columns), None)
    if gone is not None:
        raise InputError(f"{path} has no column {gone!r}", known)
    sides = [("left", "left_text", "left_model"), ("right", "right_text", "right_model"), ("winner",)]
    missing = [of[0] for of in sides if not any(part in parts for part in of)]
    if missing:
        raise InputError(
            f"{path}: no column is known to hold the {' or the '.join(missing)} of a vote",
            f"Name it: --map {','.join(f'{part}=COLUMN' for part in missing)}. {known}",
        )
