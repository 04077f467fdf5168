"""``prefjudge agreement``."""

from typing import TYPE_CHECKING

from prefjudge.cli.output import print_tables, say

if TYPE_CHECKING:
    from prefjudge.steps.agreement import AgreementResult


def agreement(result: "AgreementResult") -> None:
    """Print the agreement rates."""
    print_tables(result.tables(), rehearsal=result.rehearsal)
    if result.out:
        say(f"wrote {result.out}")
