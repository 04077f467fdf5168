"""``prefjudge pay``."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from prefjudge.cli.options import Json
from prefjudge.cli.output import print_json, print_tables, say

if TYPE_CHECKING:
    from prefjudge.steps.pay import PayResult


def pay(call: "Callable[..., PayResult]", json: Json = False) -> None:
    """Print who is owed what, or was paid."""
    result = call()
    if json:
        print_json(result)
    else:
        _show(result)


def _show(result: "PayResult") -> None:
    if result.dues:
        print_tables(result.tables())
    for decision, count in result.decided.items():
        say(f"{count:>6,} {decision}")
    say(f"${result.owed} {'paid' if result.paid else 'owed'}")
