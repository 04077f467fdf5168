"""How many queries it takes to tell two runs apart, and how many votes that is."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from prefjudge.core.planning.plans import Plan, PlanNeeds, QueriesNeeded, queries_needed, shown_share
from prefjudge.errors import InputError
from prefjudge.reading.files import Notice
from prefjudge.reading.inputs import LabelSets, Runs
from prefjudge.steps.plan.pilot import read_pilot
from prefjudge.steps.plan.study import PlannedStudy
from prefjudge.words import many


def find_needed(
    difference: float | None,
    deviation: float | None,
    study: PlannedStudy,
    runs: Runs,
    qrels: LabelSets,
    notices: list[Notice],
) -> QueriesNeeded | None:
    """Return how many queries tell two runs apart that differ by so much; None where nobody asks.

    Raises
    ------
    InputError
        The deviation is told twice or not at all, or a number makes no sense.
    """
    piloted = bool(runs or qrels)
    if difference is None:
        if deviation is None and not piloted:
            return None
        raise InputError(
            "--deviation, --runs and --qrels are for --queries", "Add --queries DIFFERENCE, such as 0.02."
        )
    if deviation is not None and piloted:
        raise InputError(
            "--deviation and a pilot say the same", "Leave out --deviation, or --runs and --qrels."
        )
    if deviation is None:
        if not piloted and study.study is None:
            raise InputError(
                "--queries needs the deviation of a difference over queries",
                "Give --deviation, or a pilot: --runs 'runs/*' --qrels FILE.",
            )
        own, judged = (
            None if piloted else study.study,
            study.judgments is not None and len(study.judgments) > 0,
        )
        pilot = read_pilot(own, runs, qrels, notices, judged=judged)
        notices.append(Notice(where="pilot", what=str(pilot)))
        deviation = pilot.deviation
    try:
        return queries_needed(difference, deviation)
    except ValueError as error:
        raise InputError(
            f"--queries {difference:g} --deviation {deviation:g}: {error}",
            "Give a difference of mean scores, such as 0.02, and its deviation over queries, such as 0.3.",
        ) from None


def needed_by_plans(needed: QueriesNeeded, plans: Sequence[Plan], sizes: Mapping[int, int]) -> QueriesNeeded:
    """Return it with what each plan needs: the more of its answers are wrong, the less they show."""
    return replace(needed, by_plan=tuple(_needs(needed, plan, sizes) for plan in plans))


def _needs(needed: QueriesNeeded, plan: Plan, sizes: Mapping[int, int]) -> PlanNeeds:
    many_queries = sum(sizes.values())
    shown = sum(sizes[one.size] * shown_share(one.size, one.chance) for one in plan.by_size) / many_queries
    try:
        queries = queries_needed(
            needed.difference * max(shown, 0.0),
            needed.deviation,
            alpha=needed.alpha,
            chance=needed.chance,
        ).queries
    except ValueError:
        return PlanNeeds(name=plan.name, shown=shown, queries=None, judgments=None)
    judgments = round(plan.judgments / many_queries * queries)
    return PlanNeeds(name=plan.name, shown=shown, queries=queries, judgments=judgments)


def needed_words(needed: QueriesNeeded) -> str:
    """Say it in words, with the queries and votes that each plan takes."""
    each = ", ".join(
        f"{one.name} –" if one.queries is None else f"{one.name} {one.queries:,} and {one.judgments:,}"
        for one in needed.by_plan
    )
    return (
        "To tell two runs apart whose means under the truly best answers differ by "
        f"{needed.difference:g} (deviation over queries {needed.deviation:.3g}) in {needed.chance:.0%} of "
        f"studies takes {many(needed.queries, 'query')} of this kind if all answers found are right. Wrong "
        f"ones hide the difference; queries and votes that it takes with each strategy: {each}."
    )
