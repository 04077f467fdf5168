"""``prefjudge reject``."""

from typing import TYPE_CHECKING

from prefjudge.cli.output import say

if TYPE_CHECKING:
    from prefjudge.steps.reject import RejectResult


def reject(result: "RejectResult") -> None:
    """Print what was done and what its worker reads, or the disputes that wait for an answer."""
    from prefjudge.words import printable

    if result.assignment_id:
        say(f"{result.done} {result.assignment_id} of {result.worker_id}: {result.reason}")
    elif not result.disputes:
        say("no dispute waits for an answer")
    for one in result.disputes:
        say(f"{one.assignment} of {one.worker}, {one.raised}: {printable(one.text)}", err=False)
