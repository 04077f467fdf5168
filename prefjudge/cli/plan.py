"""``prefjudge plan``."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from prefjudge.cli.options import Json, MaybeStudy
from prefjudge.cli.output import money, notice, one_of, print_json, print_tables, say
from prefjudge.errors import quoted

if TYPE_CHECKING:
    from prefjudge.steps.plan.plan import PlanResult


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
        list[str],
        typer.Option(
            help="default, round-robin:3, lead:3 (three votes ahead, or the majority of 21), "
            "2=lead:3,6=knockout:5 … May be repeated."
        ),
    ] = [],
    budget: Annotated[
        str | None, typer.Option(help="The most to spend, in dollars, with what is committed; chooses.")
    ] = None,
    most_rounds: Annotated[int, typer.Option(help="How often work may be published, at most.")] = 10,
    reward: Annotated[str | None, typer.Option(help="Of one assignment, in dollars.")] = None,
    pairs_per_hit: Annotated[int | None, typer.Option(help="Pairs in a HIT.")] = None,
    gold_per_hit: Annotated[int | None, typer.Option(help="Gold pairs in a HIT, on top.")] = None,
    seconds_per_pair: Annotated[float | None, typer.Option(help="The time of a comparison.")] = None,
    reissued: Annotated[
        float | None, typer.Option(help="The share of assignments that will fail; as seen by default.")
    ] = None,
    trials: Annotated[int, typer.Option(help="Simulated pools for each strategy and size.")] = 1000,
    seed: Annotated[int | None, typer.Option(help="Of the simulation.")] = None,
    json: Json = False,
) -> None:
    """Say what judging the pools costs, and how often it will find the best."""
    from prefjudge.steps.plan.noise import NoiseModel
    from prefjudge.steps.plan.plan import plan as run

    result = run(
        study,
        sizes=sizes,
        error=error,
        noise=one_of(NoiseModel, noise, "--noise") or NoiseModel.BRADLEY_TERRY,
        judgments=judgments,
        strategy=strategy,
        budget=money(budget.removeprefix("$"), "--budget") if budget is not None else None,
        most_rounds=most_rounds,
        reward=money(reward.removeprefix("$"), "--reward") if reward is not None else None,
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
        say(_next(result, str(study or "STUDY")))


def show(result: "PlanResult") -> None:
    """Print the plans, and what the chosen one does with each pool size."""
    from prefjudge.core.asking.strategy_names import DEFAULT
    from prefjudge.counts import many
    from prefjudge.render.plan_tables import plans_table

    notes = [
        f"{many(result.queries, 'query')}. {result.error:.0%} of the votes on a random pair "
        f"are wrong ({result.error_source}). A single winner is no sign of confidence: see the chance.",
        "The cost is an average; 19 of 20 studies cost no more than the next column says, in so many rounds.",
    ]
    if any(plan.name == DEFAULT.name for plan in result.plans):
        notes.append(
            f"default is {DEFAULT.spelling}: SIZE=STRATEGY is for pools of up to that size, the last for "
            "larger ones, too."
        )
    print_tables([plans_table(result.plans, result.chosen, notes)])
    if result.chosen is not None:
        say(
            f"within ${result.left:,.2f}: {result.chosen.name}, for ${result.chosen.money:,.2f} (at most "
            f"${result.chosen.most:,.2f}), finds the best of {result.chosen.chance:.0%} of the queries "
            "(simulated afresh)"
        )
        for one in result.chosen.by_size:
            if one.size > 1:
                pools = many(result.sizes[one.size], "pool")
                say(f"  {pools} of {one.size}: {one.strategy}, {one.judgments:.1f} votes each")


def _next(result: "PlanResult", study: str) -> str:
    """Return what to type next."""
    if result.driven_by == "publish":
        why = "it is published pair by pair; a strategy needs a new study"
        return f"next: prefjudge collect {quoted(study)} ({why})"
    if result.driven_by:
        why = f"it goes on by the strategy it began with: {result.driven_by}"
        return f"next: prefjudge run {quoted(study)} ({why})"
    if result.chosen is None:
        return f"next: prefjudge run {quoted(study)} --strategy NAME (with --budget, plan chooses one)"
    return f"next: prefjudge run {quoted(study)} --strategy {result.chosen.strategy}"
