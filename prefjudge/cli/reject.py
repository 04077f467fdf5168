"""``prefjudge reject``."""

from typing import TYPE_CHECKING

from prefjudge.cli.output import say

if TYPE_CHECKING:
    from prefjudge.steps.reject import RejectResult


def reject(result: "RejectResult") -> None:
    """Print what was rejected, and what its worker reads."""
    say(f"rejected {result.assignment_id} of {result.worker_id}: {result.reason}")
