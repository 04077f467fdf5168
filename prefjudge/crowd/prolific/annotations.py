"""The annotation of a HIT for Prolific's participants: the study's key, and how long the work takes.

The marks tell such a HIT from those of a rehearsal at the same marketplace.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from prefjudge.crowd.tasks import Task

CENT = Decimal("0.01")
_MARK = "prolific"


@dataclass(frozen=True, slots=True, kw_only=True)
class Annotation:
    """The key that the study gave a HIT, and how many seconds the work usually takes."""

    key: str
    seconds: int


def annotate(task: Task) -> str:
    """Return the annotation of a HIT."""
    return f"{task.key} {_MARK} {task.expected_seconds}"


def read_annotation(text: str) -> Annotation | None:
    """Return what an annotation says; None where the HIT is not for Prolific's participants."""
    key, mark, seconds = [*text.rsplit(" ", 2), "", ""][:3]
    return Annotation(key=key, seconds=int(seconds)) if mark == _MARK and seconds.isdecimal() else None


def count_outstanding(hit: Mapping[str, Any]) -> int:
    """Return how many assignments of a HIT are on offer or in workers' hands."""
    pending, available = int(hit["NumberOfAssignmentsPending"]), int(hit["NumberOfAssignmentsAvailable"])
    return {"Assignable": pending + available, "Unassignable": pending}.get(hit["HITStatus"], 0)
