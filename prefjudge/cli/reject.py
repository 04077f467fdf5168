"""``prefjudge reject``."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from prefjudge.cli.options import Json
from prefjudge.cli.output import print_json, say

if TYPE_CHECKING:
    from prefjudge.steps.reject import RejectResult


def reject(call: "Callable[..., RejectResult]", json: Json = False) -> None:
    """Print what was rejected, and what its worker reads."""
    result = call()
    if json:
        print_json(result)
    else:
        say(f"rejected {result.assignment_id} of {result.worker_id}: {result.reason}")
