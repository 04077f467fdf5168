"""How many queries it takes to tell two runs apart, and how many votes that is."""

from collections.abc import Sequence

from prefjudge.core.planning.plan import Plan
from prefjudge.core.planning.power import QueriesNeeded, queries_needed
from prefjudge.counts import many
from prefjudge.errors import InputError
from prefjudge.formats.lines.problems import Notice
from prefjudge.gather.memory import LabelSets, Runs
from prefjudge.steps.plan.pilot import read_pilot
from prefjudge.steps.plan.study import PlannedStudy


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


def needed_words(needed: QueriesNeeded, plans: Sequence[Plan], queries: int) -> str:
    """Say it in words, with the votes that each plan takes for so many queries."""
    votes = ", ".join(
        f"{plan.name} {round(plan.judgments / max(queries, 1) * needed.queries):,}" for plan in plans
    )
    return (
        f"To tell two runs apart whose means differ by {needed.difference:g} (deviation over queries "
        f"{needed.deviation:.3g}) in {needed.chance:.0%} of studies takes {many(needed.queries, 'query')} "
        f"of this kind; votes: {votes}."
    )
