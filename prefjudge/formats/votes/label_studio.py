"""Label Studio's pairwise annotations, as its JSON, JSON_MIN and CSV exports have them."""

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from prefjudge.formats.votes.choices import UNKNOWN, by_word
from prefjudge.formats.votes.form import Context, Rows, VoteForm
from prefjudge.formats.votes.parts import guess_parts
from prefjudge.formats.votes.rows import JsonObject, Row
from prefjudge.formats.votes.table import flat


def _fits(rows: Rows) -> bool:
    keys = rows[0].keys()
    return ("data" in keys and "annotations" in keys) or {"annotation_id", "annotator"} <= keys


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


def _criteria(rows: Rows) -> tuple[str, ...]:
    names: dict[str, bool] = {}
    for row in rows:
        for choices, _ in _annotations(row):
            for name, said in choices.items():
                names[name] = names.get(name, True) and by_word(said) != UNKNOWN
    return tuple(name for name, chooses in names.items() if chooses and name not in _OWN)


_OWN = frozenset({"id", "annotator", "annotation_id", "lead_time", "inner_id"})


def _flatten(rows: Iterable[Row], context: Context) -> Iterator[Row]:
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


def _parts(rows: Rows) -> dict[str, str]:
    guessed = guess_parts(rows)
    return {**guessed, "winner": "winner", "worker": "_worker"}


FORM = VoteForm(fits=_fits, flatten=_flatten, parts=_parts, criteria=_criteria)
