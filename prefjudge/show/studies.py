"""The tables of a study: plans, resolutions, models and result lists."""

from collections.abc import Mapping, Sequence
from math import isnan

from prefjudge.core.planning.plans import Plan
from prefjudge.core.resolving.resolutions import Kind, Resolution, Variation
from prefjudge.evaluation.correlation import TwoVotings
from prefjudge.evaluation.measures.measures import ResultLists
from prefjudge.show.boards import two_votings_columns, votings_notes
from prefjudge.show.cells import Bold, Cell, Column, Table, table
from prefjudge.words import many


def plans_table(
    plans: Sequence[Plan],
    chosen: Plan | None = None,
    notes: Sequence[str] = (),
) -> Table:
    """Return the plans from cheap to dear; the chosen one stands out."""

    def name(plan: Plan) -> Cell:
        return Bold(plan.name) if plan is chosen else plan.name

    return table(
        "Plans",
        sorted(plans, key=lambda plan: (plan.money, -plan.chance)),
        {
            "strategy": Column(priority=0, value=name),
            "chance": Column("percent", "finds the best", digits=1),
            "finds_least": Column("percent", "at least", digits=0, value=lambda plan: plan.ends[0]),
            "finds_most": Column("percent", "at most", digits=0, value=lambda plan: plan.ends[1]),
            "money": Column("money", "cost"),
            "least": Column("money", "at least", priority=2),
            "most": Column("money", "at most", priority=2),
            "hours": Column("number", "worker hours", digits=0, priority=5),
            "rounds": Column("integer", priority=3),
            "pairs": Column("integer", priority=7),
            "judgments": Column("integer", priority=4),
            "hits": Column("integer", "HITs", priority=6),
            "assignments": Column("integer", priority=6),
        },
        notes=notes,
    )


# Resolutions as tables: the rules side by side, and what changes with them.


def rules_table(rules: Mapping[str, Mapping[str, int]]) -> Table:
    """Return how many queries each rule leaves in each status."""
    statuses = list(next(iter(rules.values()), {}))
    return Table(
        title="Queries by status",
        columns=(
            Column(name="rule", priority=0),
            *(Column(name=status, kind="integer") for status in statuses),
        ),
        rows=tuple((rule, *counts.values()) for rule, counts in rules.items()),
    )


def sensitivity_table(
    rule: str, variations: Sequence[Variation], two_votings: TwoVotings | None = None
) -> Table:
    """Return what each change does to the winners and to the order of runs: the greatest effect first."""
    # ``two_votings`` is how far the orders of runs under other votes like these agree.
    kinds = {kind: sorted((one for one in variations if one.kind is kind), key=_most_first) for kind in Kind}
    return table(
        f"What changes the winners of {rule}",
        [one for found in kinds.values() for one in found],
        {
            "change": Column(priority=0, value=lambda one: one.kind.value),
            "name": Column(priority=0),
            "resolved": Column("integer", priority=3),
            "changed": Column("integer"),
            "changed_share": Column("percent", "share", digits=1, priority=2),
            "lost": Column("integer", priority=2),
            "gained": Column("integer", priority=2),
            "tau": Column("number", "tau of runs", digits=3, value=lambda one: one.correlation),
            **(two_votings_columns(lambda _: two_votings) if two_votings else {}),
        },
        notes=(
            *(_total(kind, found) for kind, found in kinds.items() if found),
            "resolved: queries with a winner before and after; changed: those whose winners differ; "
            "lost and gained: queries with a winner only before, and only after.",
            *votings_notes([two_votings]),
        ),
    )


def _effect(one: Variation) -> int:
    return one.changed + one.lost + one.gained


def _most_first(one: Variation) -> tuple[int, float, str]:
    return -_effect(one), 1.0 if isnan(one.correlation) else one.correlation, one.name


def _total(kind: Kind, found: Sequence[Variation]) -> str:
    """Sum a kind of change up: ``found`` has the greatest effect first."""
    acting, most = sum(_effect(one) > 0 for one in found), _effect(found[0])
    taus = [one.correlation for one in found if not isnan(one.correlation)]
    words = f"{acting} of {len(found)} change winners"
    if acting:
        words += f", those of {many(most, 'query')} at most"
    return f"{kind.value}: {words}{f'; the lowest tau is {min(taus):.3f}' if taus else ''}."


def per_query_table(rows: Sequence[Resolution]) -> Table:
    """Return each query's status, its winners, and how probably each is the best; the least sure first."""
    return table(
        "Resolutions",
        sorted(rows, key=lambda row: (row.p_best.get((*row.winners, "")[0], 0.0), row.margin)),
        {
            "query_id": Column(head="query", priority=0),
            "status": Column(),
            "winners": Column(value=lambda row: " ".join(row.winners)),
            "margin": Column("number", digits=1, priority=3),
            "p_best": Column(head="P(best) each", value=lambda row: row.sure or None),
            "likely": Column(head="the best is", value=lambda row: row.among, priority=5),
            "pool_size": Column("integer", "pool", priority=4),
            "votes": Column("integer", priority=4),
            "missing": Column("integer", priority=2),
        },
    )


# The scores of all result lists as a table (Craswell et al., SIGIR 2021, Table 3).


def result_lists_table(found: ResultLists) -> Table:
    """Return one column for each result list, and its score."""
    names = ["(" + ",".join(map(str, grades)) + ")" for grades in found.lists]
    steps = ", ".join(f"{step:.2f}" for step in found.steps)
    spaced = "equally far apart" if found.equally_spaced else "not equally far apart"
    return Table(
        title="Scores of all result lists",
        columns=(
            Column(name="measure", head="s"),
            *(
                Column(name=f"list_{place}", head=name, kind="number", digits=2)
                for place, name in enumerate(names, 1)
            ),
        ),
        rows=((found.measure, *found.scores),),
        notes=(f"The {len(set(found.scores))} values are {spaced}: the steps are {steps}.",),
    )
