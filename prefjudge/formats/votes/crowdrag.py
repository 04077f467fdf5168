"""CrowdRAG-25's ratings: seven criteria for each pair of responses, by several workers or by a model."""

from collections.abc import Iterable, Iterator

from prefjudge.errors import InputError
from prefjudge.formats.votes.form import Context, Rows, VoteForm
from prefjudge.formats.votes.rows import JsonObject, Row

_CRITERIA = (
    "validity", "correctness_topical", "coherence_logical", "coherence_stylistic", "coverage_broad",
    "coverage_deep", "consistency_internal", "quality_overall",
)  # fmt: skip
_VOTE = "_vote"


def _fits(rows: Rows) -> bool:
    return {"query_id", "response_a", "response_b"} <= rows[0].keys() and bool(_criteria(rows))


def _criteria(rows: Rows) -> tuple[str, ...]:
    keys = rows[0].keys()
    listed = tuple(key.removesuffix(_VOTE) for key in keys if key.endswith(_VOTE))
    return listed or tuple(name for name in _CRITERIA if name in keys)


def _flatten(rows: Iterable[Row], context: Context) -> Iterator[Row]:
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


def _parts(rows: Rows) -> JsonObject:
    parts = {"query": "query_id", "left": "response_a", "right": "response_b", "winner": "winner"}
    return parts | ({"worker": "worker"} if any(row.get("worker") for row in rows) else {})


FORM = VoteForm(fits=_fits, flatten=_flatten, parts=_parts, criteria=_criteria)
