"""``prefjudge history``."""

from typing import TYPE_CHECKING

from prefjudge.cli.output import advice, print_tables, say
from prefjudge.counts import many

if TYPE_CHECKING:
    from prefjudge.steps.history import HistoryResult


def history(result: "HistoryResult") -> None:
    """Print the versions, what each changed, and the runs that moved."""
    print_tables((table for table in result.tables() if table.rows), rehearsal=result.rehearsal)
    if not result.versions:
        say("no answers are kept yet: `prefjudge run` keeps them, and so does `pool --challenge`")
    if result.under_way:
        newcomers = many(result.under_way.newcomers, "newcomer")
        queries = many(result.under_way.queries, "query")
        say(f"challenge {result.under_way.challenge} is under way: {newcomers} on {queries}")
        say(f"next: {advice(result.study, 'run')}")
