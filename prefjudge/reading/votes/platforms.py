"""The votes of other platforms, each a form: arenas, Label Studio, Potato, Mechanical Turk's batches."""

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from prefjudge.errors import InputError
from prefjudge.reading.votes.tables import (
    UNKNOWN,
    Context,
    JsonObject,
    Row,
    Rows,
    VoteForm,
    by_word,
    flat,
    guess_parts,
)

_FLAGS = {"winner_model_a": "left", "winner_model_b": "right", "winner_tie": "tie"}


def _arena_flatten(rows: Iterable[Row], context: Context) -> Iterator[Row]:
    for line, row in rows:
        found = dict(row)
        for side, letter in (("left", "a"), ("right", "b")):
            turns = _turns(row.get(f"response_{letter}", row.get(f"conversation_{letter}")))
            found[f"{side}_text"] = [
                one for one in turns if not isinstance(one, dict) or one.get("role") != "user"
            ]
        found["prompt"] = _prompt(row)
        if flat(row.get("turn")):
            found["question_id"] = f"{flat(row.get('question_id'))}-{flat(row['turn'])}"
        if "winner" not in row:
            found["winner"] = next((said for flag, said in _FLAGS.items() if flat(row[flag]) == "1"), "")
        yield line, found


def _arena_parts(rows: Rows) -> dict[str, str]:
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


ARENA = VoteForm(
    fits=lambda rows: (
        {"model_a", "model_b"} <= rows[0].keys() and ("winner" in rows[0] or _FLAGS.keys() <= rows[0].keys())
    ),
    flatten=_arena_flatten,
    parts=_arena_parts,
)


# Preferences as models are trained on them: a prompt, the chosen answer and the rejected one.


def _chosen_parts(rows: Rows) -> dict[str, str]:
    columns = {
        "query": "query_id",
        "query_text": "prompt",
        "left": "chosen_id",
        "right": "rejected_id",
        "left_text": "chosen",
        "right_text": "rejected",
        "worker": "worker",
    }
    known = {part: name for part, name in columns.items() if any(row.get(name) for row in rows)}
    return {**known, "winner": "winner"}


CHOSEN = VoteForm(
    fits=lambda rows: {"chosen", "rejected"} <= rows[0].keys() and "winner" not in rows[0],
    flatten=lambda rows, context: ((line, {**row, "winner": "left"}) for line, row in rows),
    parts=_chosen_parts,
    sides=lambda parts: False,
)


# CrowdRAG-25's ratings: seven criteria for each pair of responses, by several workers or by a model.

_CRITERIA = (
    "validity", "correctness_topical", "coherence_logical", "coherence_stylistic", "coverage_broad",
    "coverage_deep", "consistency_internal", "quality_overall",
)  # fmt: skip
_VOTE = "_vote"


def _crowdrag_criteria(rows: Rows) -> tuple[str, ...]:
    keys = rows[0].keys()
    listed = tuple(key.removesuffix(_VOTE) for key in keys if key.endswith(_VOTE))
    return listed or tuple(name for name in _CRITERIA if name in keys)


def _crowdrag_flatten(rows: Iterable[Row], context: Context) -> Iterator[Row]:
    for line, row in rows:
        pair = {name: row.get(name) for name in ("query_id", "response_a", "response_b")}
        votes, workers = row.get(context.criterion + _VOTE, row.get(context.criterion)), row.get("worker")
        if not isinstance(votes, list):
            votes, workers = [votes], [workers]
        if not isinstance(workers, list) or len(workers) != len(votes):
            raise InputError(
                f"{context.path}:{line}: {len(votes)} votes, and another number of workers",
                "The lists of a line are aligned: a worker for each vote.",
            )
        for worker, vote in zip(workers, votes, strict=True):
            yield line, {**pair, "worker": worker, "winner": vote}


def _crowdrag_parts(rows: Rows) -> JsonObject:
    parts = {"query": "query_id", "left": "response_a", "right": "response_b", "winner": "winner"}
    return parts | ({"worker": "worker"} if any(row.get("worker") for row in rows) else {})


CROWDRAG = VoteForm(
    fits=lambda rows: (
        {"query_id", "response_a", "response_b"} <= rows[0].keys() and bool(_crowdrag_criteria(rows))
    ),
    flatten=_crowdrag_flatten,
    parts=_crowdrag_parts,
    criteria=_crowdrag_criteria,
)


# Label Studio's pairwise annotations, as its JSON, JSON_MIN and CSV exports have them.


def _chosen(value: Any) -> str:
    """Return what was selected: a pairwise tag's side, or the one choice of others."""
    if isinstance(value, str) and value.lstrip().startswith("{"):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return ""
    if isinstance(value, dict):
        value = value.get("selected", value.get("choices", value.get("choice")))
    if isinstance(value, list):
        value = value[0] if len(value) == 1 else None
    return flat(value)


def _annotations(row: Mapping[str, Any]) -> Iterator[tuple[dict[str, str], JsonObject]]:
    """Yield the choices of each annotation by the tag's name, and what is known beside them."""
    task = row.get("data")
    if not isinstance(task, dict):
        choices = {
            key: said for key, value in row.items() if by_word(said := _chosen(value)) != UNKNOWN and said
        }
        yield (
            choices,
            {"by": row.get("annotator"), "id": row.get("annotation_id"), "time": row.get("lead_time")},
        )
        return
    for made in row.get("annotations") or ():
        if not isinstance(made, dict) or made.get("was_cancelled"):
            continue
        results = [one for one in made.get("result") or () if isinstance(one, dict)]
        choices = {
            flat(one.get("from_name")): said
            for one in results
            if one.get("type") in ("pairwise", "choices") and (said := _chosen(one.get("value")))
        }
        metas = [one["meta"] for one in results if isinstance(one.get("meta"), dict)]
        by = next((meta["worker"] for meta in metas if meta.get("worker")), made.get("completed_by"))
        yield choices, {"by": by, "id": made.get("id"), "time": made.get("lead_time")}


def _label_studio_criteria(rows: Rows) -> tuple[str, ...]:
    names: dict[str, bool] = {}
    for row in rows:
        for choices, _ in _annotations(row):
            for name, said in choices.items():
                names[name] = names.get(name, True) and by_word(said) != UNKNOWN
    return tuple(name for name, chooses in names.items() if chooses and name not in _OWN)


_OWN = frozenset({"id", "annotator", "annotation_id", "lead_time", "inner_id"})


def _label_studio_flatten(rows: Iterable[Row], context: Context) -> Iterator[Row]:
    for line, row in rows:
        task = row["data"] if isinstance(row.get("data"), dict) else row
        for choices, known in _annotations(row):
            if context.criterion not in choices:
                continue
            by = known["by"]
            seconds = flat(known["time"])
            yield (
                line,
                {
                    **{key: value for key, value in task.items() if key not in _OWN},
                    "winner": choices[context.criterion],
                    "_worker": flat(by.get("email") or by.get("id")) if isinstance(by, dict) else flat(by),
                    "_id": flat(known["id"]),
                    "_milliseconds": f"{seconds}e3" if seconds else "",
                    "_instance": flat(row.get("id")),
                },
            )


LABEL_STUDIO = VoteForm(
    fits=lambda rows: any(
        names <= rows[0].keys() for names in ({"data", "annotations"}, {"annotation_id", "annotator"})
    ),
    flatten=_label_studio_flatten,
    parts=lambda rows: {**guess_parts(rows), "winner": "winner", "worker": "_worker"},
    criteria=_label_studio_criteria,
)


# Batch results of Mechanical Turk: CSV with columns ``Input.…`` and ``Answer.…`` of the requester's page.

_INPUT, _ANSWER, _ELEMENTS = "Input.", "Answer.", "Answer.taskAnswers"


def _mturk_batch_answers(row: Mapping[str, Any]) -> dict[str, str]:
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


def _mturk_batch_criteria(rows: Rows) -> tuple[str, ...]:
    """Return the questions whose answers choose one of two."""
    names: dict[str, bool] = {}
    for row in rows:
        shown = {flat(value) for key, value in row.items() if key.startswith(_INPUT)} - {""}
        for name, said in _mturk_batch_answers(row).items():
            names[name] = names.get(name, True) and (by_word(said) != UNKNOWN or said in shown)
    return tuple(name for name, chooses in names.items() if chooses)


def _mturk_batch_flatten(rows: Iterable[Row], context: Context) -> Iterator[Row]:
    for line, row in rows:
        inputs = {key.removeprefix(_INPUT): value for key, value in row.items() if key.startswith(_INPUT)}
        seconds = flat(row.get("WorkTimeInSeconds"))
        yield (
            line,
            {
                **inputs,
                **row,
                "winner": _mturk_batch_answers(row).get(context.criterion, ""),
                "_milliseconds": f"{seconds}e3" if seconds else "",
                "_dropped": "rejected" if flat(row.get("AssignmentStatus")) == "Rejected" else "",
                "_instance": row.get("HITId"),
            },
        )


def _mturk_batch_parts(rows: Rows) -> dict[str, str]:
    own = {"winner": "winner", "worker": "WorkerId"} | (
        {"id": "AssignmentId"} if "AssignmentId" in rows[0] else {}
    )
    inputs = [{key: value for key, value in row.items() if f"{_INPUT}{key}" in row} for row in rows]
    guessed = guess_parts(inputs)
    return {part: name for part, name in guessed.items() if part not in ("winner", "worker", "id")} | own


MTURK_BATCH = VoteForm(
    fits=lambda rows: (
        {"HITId", "WorkerId"} <= rows[0].keys() and any(key.startswith(_ANSWER) for key in rows[0])
    ),
    flatten=_mturk_batch_flatten,
    parts=_mturk_batch_parts,
    criteria=_mturk_batch_criteria,
)


# Votes in a table of any make: its columns are known by their names, or by ``--map``.

# doc_a and doc_b are how documents are stored: only "left" says where one was shown
PLAIN = VoteForm(
    fits=lambda rows: True, sides=lambda parts: "left" in parts.get("left", parts.get("left_text", ""))
)


# Potato's pairwise annotations: its CSV, TSV and JSON Lines exports, and an annotator's
# ``user_state.json``.
#
# They name an instance, not a pair: the data file that Potato was given says what was compared.

_STATE = "instance_id_to_label_to_value"
_SELECTION, _SCALE = "selection", "scale_value"


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


def _potato_criteria(rows: Rows) -> tuple[str, ...]:
    return tuple({name: None for row in rows for _, _, labels in _instances(row) for name in _votes(labels)})


def _potato_flatten(rows: Iterable[Row], context: Context) -> Iterator[Row]:
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


def _potato_parts(rows: Rows) -> dict[str, str]:
    guessed = guess_parts([{key: value for key, value in row.items() if key != "id"} for row in rows])
    return {**guessed, "winner": "winner", "worker": "user_id"}


POTATO = VoteForm(
    fits=lambda rows: {"instance_id", "user_id"} <= rows[0].keys() or _STATE in rows[0],
    flatten=_potato_flatten,
    parts=_potato_parts,
    criteria=_potato_criteria,
)
