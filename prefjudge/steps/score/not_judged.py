"""How much of the runs that wait for a challenge to end is judged already."""

from collections.abc import Sequence

from prefjudge.core.runs import Order
from prefjudge.evaluation.boards import NotJudged, count_judged
from prefjudge.findings.inputs import ScoreInputs
from prefjudge.reading.files import Notice
from prefjudge.reading.opened import reading
from prefjudge.reading.run_options import ReadOptions


def count_not_judged(
    found: ScoreInputs, how: ReadOptions, order: Order, notices: list[Notice]
) -> tuple[NotJudged, ...]:
    """Return how much of each waiting run's top is judged: earlier candidates, and what has a vote."""
    waiting, pools, votes = found.waiting, found.pools, found.judgments
    if waiting is None or pools is None or votes is None:
        return ()
    known = {
        (pools.queries[query], pools.docs[doc])
        for query, doc in zip(pools.query.tolist(), pools.doc.tolist(), strict=True)
    }
    voted = {
        (votes.queries[query], votes.docs[doc])
        for side in (votes.left, votes.right)
        for query, doc in zip(votes.query.tolist(), side.tolist(), strict=True)
    }
    with reading(waiting.files, order, notices, **how) as reader:
        return count_judged(found.heads(reader.top(1, set(pools.queries))), known - waiting.newcomers | voted)


def in_words(runs: Sequence[NotJudged]) -> dict[str, str]:
    """Return the provenance of runs that are not ranked yet; empty where there are none."""
    if not runs:
        return {}
    return {"not judged yet": ", ".join(f"{one.run} ({one.judged} of {one.queries})" for one in runs)}
