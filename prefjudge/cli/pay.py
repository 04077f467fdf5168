"""``prefjudge pay``."""

from typing import TYPE_CHECKING

from prefjudge.cli.output import print_tables, say

if TYPE_CHECKING:
    from prefjudge.steps.pay import PayResult


def pay(result: "PayResult") -> None:
    """Print who is owed what, or was paid."""
    if result.dues:
        print_tables(result.tables())
    for decision, count in result.decided.items():
        say(f"{count:>6,} {decision}")
    say(f"${result.owed} {'paid' if result.paid else 'owed'}")
