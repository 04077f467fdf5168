"""``prefjudge plan``."""

from pathlib import Path
from typing import TYPE_CHECKING

from prefjudge.cli.output import advice, print_tables, say
from prefjudge.words import many

if TYPE_CHECKING:
    from prefjudge.steps.plan.plan import PlanResult


def plan(result: "PlanResult", *, study: Path | None) -> None:
    """Print the plans, what the chosen one does with each pool size, and what leads on."""
    print_tables(result.tables())
    if result.chosen is not None:
        ends = "" if result.chosen.ends is None else " ({:.0%} to {:.0%})".format(*result.chosen.ends)
        say(
            f"within ${result.left:,.2f}: {result.chosen.name}, for ${result.chosen.money:,.2f} "
            f"(${result.chosen.least:,.2f} to ${result.chosen.most:,.2f}), finds the best of "
            f"{result.chosen.chance:.0%}{ends} of the queries"
        )
        for one in result.chosen.by_size:
            if one.size > 1:
                pools = many(result.sizes[one.size], "pool")
                say(f"  {pools} of {one.size}: {one.strategy}, {one.judgments:.1f} votes each")
    say(f"next: {_next(result, study)}")


def _next(result: "PlanResult", study: Path | None) -> str:
    """Return what to type next."""
    if study is None:
        go_on = "prefjudge run STUDY"
    else:
        go_on = advice(study, "collect" if result.driven_by == "publish" else "run")
    if result.driven_by == "publish":
        why = "it is published pair by pair; a strategy needs a new study"
        return f"{go_on} ({why})"
    if result.driven_by:
        why = f"it continues with the strategy it began with: {result.driven_by}"
        return f"{go_on} ({why})"
    if result.chosen is None and result.left is not None:
        return f"{go_on} --strategy NAME, once the budget pays for one"
    if result.chosen is None:
        return f"{go_on} --strategy NAME (with --budget, plan chooses one)"
    return f"{go_on} --strategy {result.chosen.strategy}"
