"""The rows of a release: what the study logged, with pseudonyms for ids, and times that tell nobody."""

from collections.abc import Callable, Iterable
from functools import cache
from math import ceil

from prefjudge.core.judgments import ModelVote
from prefjudge.reading.votes.tables import JsonObject
from prefjudge.study.judgments import LoggedAssignment, LoggedJudgment
from prefjudge.study.people import PrivateWords
from prefjudge.study.progress import LoggedRemark

_CHOICES = {1: "left", -1: "right", 0: "tie"}


class PrivateRows:
    """Makes rows in which people, HITs and assignments have the names that ``opaque`` gives them."""

    def __init__(self, opaque: Callable[..., str], assignments: Iterable[LoggedAssignment]) -> None:
        self._named = cache(opaque)
        works = list(assignments)
        self._words = PrivateWords(one.worker_id for one in works)
        self._hit_of = {one.assignment_id: one.hit_key for one in works}

    def _worker(self, worker_id: str) -> str | None:
        """Return a worker's pseudonym; None where imported votes do not say whose they are."""
        return self._named("worker", worker_id) if worker_id else None

    def judgment(self, vote: LoggedJudgment) -> JsonObject:
        """Return a judgment."""
        return {
            "query": vote.query_id,
            "left": vote.left,
            "right": vote.right,
            "choice": _CHOICES[vote.choice],
            "strength": vote.strength,
            "milliseconds": _whole_seconds(vote.milliseconds),
            "worker": self._worker(vote.worker_id),
            "judge": vote.judge,
            "phase": vote.phase,
            "assignment": self._named("assignment", vote.assignment_id),
            "hit": self._hit(vote.assignment_id),
            "dropped": vote.dropped or None,
        }

    def assignment(self, work: LoggedAssignment) -> JsonObject:
        """Return an assignment."""
        told = work.gold_right + work.gold_missed > 0  # without a gold pair nothing is known of 0
        return {
            "assignment": self._named("assignment", work.assignment_id),
            "hit": self._named("hit", work.hit_key),
            "worker": self._worker(work.worker_id),
            "judge": work.judge,
            "answered": work.answered,
            "gold_right": work.gold_right if told else None,
            "gold_missed": work.gold_missed if told else None,
            "seconds": ceil(work.seconds) or None,
            "verdict": work.verdict,
        }

    def remark(self, said: LoggedRemark) -> dict[str, str | None]:
        """Return what a worker said."""
        return {
            "assignment": self._named("assignment", said.assignment_id),
            "worker": self._worker(said.worker_id),
            "query": said.query_id or None,
            "a": said.doc_a or None,
            "b": said.doc_b or None,
            "unable": said.unable or None,
            "comment": self._words.without_names(said.comment) or None,
        }

    def _hit(self, assignment_id: str) -> str | None:
        """Return a HIT's pseudonym; None where imported votes do not say in which one they were made."""
        key = self._hit_of.get(assignment_id)
        return self._named("hit", key) if key else None


def model_vote(model: str, vote: ModelVote) -> JsonObject:
    """Return what a model said of a pair."""
    query, a, b = vote.pair
    chosen = {1: a, -1: b, 0: None}
    return {
        "model": model,
        "judge": f"model:{model}",
        "query": query,
        "a": a,
        "b": b,
        "a_first": chosen[vote.a_first],
        "b_first": chosen[vote.b_first],
    }


def _whole_seconds(milliseconds: int) -> int | None:
    """Return a time rounded up: to the millisecond it could tell whose it is. None where it is not known."""
    return 1000 * ceil(milliseconds / 1000) or None
