"""Preferences as models are trained on them: a prompt, the chosen answer and the rejected one."""

from collections.abc import Iterable, Iterator

from prefjudge.formats.votes.form import Context, Rows, VoteForm
from prefjudge.formats.votes.rows import Row


def _fits(rows: Rows) -> bool:
    return {"chosen", "rejected"} <= rows[0].keys() and "winner" not in rows[0]


def _flatten(rows: Iterable[Row], context: Context) -> Iterator[Row]:
    for line, row in rows:
        yield line, {**row, "winner": "left"}


def _parts(rows: Rows) -> dict[str, str]:
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


FORM = VoteForm(fits=_fits, flatten=_flatten, parts=_parts, sides=lambda parts: False)
