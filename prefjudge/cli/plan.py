"""``prefjudge plan``."""

from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from prefjudge.cli.options import Json, MaybeStudy
from prefjudge.cli.output import notice, print_json, say

if TYPE_CHECKING:
    from prefjudge.steps.plan import PlanResult


def plan(
    study: MaybeStudy = None,
    sizes: Annotated[
        str | None, typer.Option(help="Instead of a study: SIZE:QUERIES with commas between.")
    ] = None,
    error: Annotated[float | None, typer.Option(help="The share of wrong votes on a random pair.")] = None,
    noise: Annotated[
        str, typer.Option(help="bradley-terry: close pairs are harder; constant: none is.")
    ] = "bradley-terry",
    judgments: Annotated[Path | None, typer.Option(help="Votes to estimate the error from.")] = None,
    strategy: Annotated[
        list[str], typer.Option(help="default, round-robin:3, halving:1x2, knockout:5, lead:3 …")
    ] = [],  # noqa: B006 - typer reads the default
    budget: Annotated[str | None, typer.Option(help="The most to spend, in dollars; chooses.")] = None,
    most_rounds: Annotated[int, typer.Option(help="How often work may be published, at most.")] = 10,
    reward: Annotated[str | None, typer.Option(help="Of one assignment, in dollars.")] = None,
    pairs_per_hit: Annotated[int | None, typer.Option(help="Pairs in a HIT.")] = None,
    gold_per_hit: Annotated[int | None, typer.Option(help="Gold pairs in a HIT, on top.")] = None,
    seconds_per_pair: Annotated[float | None, typer.Option(help="The time of a comparison.")] = None,
    reissued: Annotated[float, typer.Option(help="The share of assignments issued again.")] = 0.0,
    trials: Annotated[int, typer.Option(help="Simulated pools for each strategy and size.")] = 1000,
    seed: Annotated[int | None, typer.Option(help="Of the simulation.")] = None,
    json: Json = False,
) -> None:
    """Say what judging the pools costs, and how often it will find the best."""
    from prefjudge.cli.output import one_of
    from prefjudge.steps.plan import NoiseModel
    from prefjudge.steps.plan import plan as run

    result = run(
        study,
        sizes=sizes,
        error=error,
        noise=one_of(NoiseModel, noise, "--noise") or NoiseModel.BRADLEY_TERRY,
        judgments=judgments,
        strategy=strategy,
        budget=_dollars(budget, "--budget"),
        most_rounds=most_rounds,
        reward=_dollars(reward, "--reward"),
        pairs_per_hit=pairs_per_hit,
        gold_per_hit=gold_per_hit,
        seconds_per_pair=seconds_per_pair,
        reissued=reissued,
        trials=trials,
        seed=seed,
    )
    notice(result.notices)
    if json:
        print_json(result)
    else:
        show(result)


def _dollars(text: str | None, option: str) -> Decimal | None:
    """Read an amount of money."""
    from prefjudge.errors import InputError

    if text is None:
        return None
    try:
        amount = Decimal(text.removeprefix("$"))
    except InvalidOperation:
        amount = Decimal(-1)
    if not (amount.is_finite() and amount >= 0):
        raise InputError(f"{option} {text}: not an amount of dollars", "Write it as 1500 or 2.40.")
    return amount


def show(result: "PlanResult") -> None:
    """Print the plans, and what the chosen one does with each pool size."""
    from prefjudge.render.plan_tables import plans_table
    from prefjudge.render.tables import render_terminal

    note = (
        f"{result.queries:,} queries. {result.error:.0%} of the votes on a random pair are wrong "
        f"({result.error_source}). A single winner is no sign of confidence: see the chance."
    )
    typer.echo(render_terminal(plans_table(result.plans, result.chosen, [note])), nl=False)
    if result.chosen is not None:
        say(
            f"within ${result.budget}: {result.chosen.name}, for ${result.chosen.money}, finds the best of "
            f"{result.chosen.chance:.0%} of the queries"
        )
        for one in result.chosen.by_size:
            pools = result.sizes[one.size]
            say(f"  {pools:,} pools of {one.size}: {one.strategy}, {one.judgments:.1f} votes each")
