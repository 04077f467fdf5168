"""The tables of a study: plans, resolutions, models and result lists."""

from collections.abc import Mapping, Sequence
from math import isnan

from prefjudge.core.planning.plans import Plan
from prefjudge.core.resolving.confidence import ResolvedQuery
from prefjudge.core.resolving.resolutions import Kind, Variation
from prefjudge.evaluation.correlation import TwoVotings
from prefjudge.evaluation.measures.measures import ResultLists
from prefjudge.show.boards import TWO_VOTINGS, votings_cells, votings_notes
from prefjudge.show.tables import Bold, Cell, Column, Table
from prefjudge.words import chance_text, many


def plans_table(
    plans: Sequence[Plan],
    chosen: Plan | None = None,
    errors: tuple[float, float] | None = None,
    notes: Sequence[str] = (),
) -> Table:
    """Return the plans from cheap to dear; the chosen one stands out.

    Where the share of wrong votes is not known, the chances at both ends of ``errors`` are shown.
    """
    rows: list[tuple[Cell, ...]] = []
    for plan in sorted(plans, key=lambda plan: (plan.money, -plan.chance)):
        is_chosen = plan is chosen
        rows.append(
            (
                Bold(plan.name) if is_chosen else plan.name,
                plan.chance,
                *(plan.ends[::-1] if plan.ends and errors else ()),
                plan.error,
                plan.money,
                plan.least,
                plan.most,
                plan.hours,
                plan.rounds,
                plan.pairs,
                plan.judgments,
                plan.hits,
                plan.assignments,
            )
        )
    return Table(
        title="Plans",
        columns=(
            Column(name="strategy", priority=0),
            Column(name="chance", head="finds the best", kind="percent", digits=1),
            *(
                Column(name=name, head=f"if {share:.0%} wrong", kind="percent", digits=0)
                for name, share in zip(("if_few_wrong", "if_many_wrong"), errors or (), strict=False)
            ),
            Column(name="error", head="±", kind="percent", digits=1, priority=4),
            Column(name="money", head="cost", kind="money"),
            Column(name="least", head="at least", kind="money", priority=2),
            Column(name="most", head="at most", kind="money", priority=2),
            Column(name="hours", head="worker hours", kind="number", digits=0, priority=5),
            Column(name="rounds", kind="integer", priority=3),
            Column(name="pairs", kind="integer", priority=7),
            Column(name="judgments", kind="integer", priority=4),
            Column(name="hits", head="HITs", kind="integer", priority=6),
            Column(name="assignments", kind="integer", priority=6),
        ),
        rows=tuple(rows),
        notes=tuple(notes),
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
    """Return what each change does to the winners and to the order of runs: the greatest effect first.

    ``two_votings`` is how far the orders of runs under other votes like these agree.
    """
    kinds = {kind: sorted((one for one in variations if one.kind is kind), key=_most_first) for kind in Kind}
    return Table(
        title=f"What changes the winners of {rule}",
        columns=(
            Column(name="change", priority=0),
            Column(name="name", priority=0),
            Column(name="resolved", kind="integer", priority=3),
            Column(name="changed", kind="integer"),
            Column(name="changed_share", head="share", kind="percent", digits=1, priority=2),
            Column(name="lost", kind="integer", priority=2),
            Column(name="gained", kind="integer", priority=2),
            Column(name="tau", head="tau of runs", kind="number", digits=3),
            *(TWO_VOTINGS if two_votings else ()),
        ),
        rows=tuple(
            (
                one.kind.value,
                one.name,
                one.resolved,
                one.changed,
                one.changed_share,
                one.lost,
                one.gained,
                one.correlation,
                *(votings_cells(two_votings) if two_votings else ()),
            )
            for found in kinds.values()
            for one in found
        ),
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


def per_query_table(rows: Sequence[ResolvedQuery]) -> Table:
    """Return each query's status, winners and, in their order, the probability that each is the best."""
    return Table(
        title="Resolutions",
        columns=(
            Column(name="query_id", head="query", priority=0),
            Column(name="status"),
            Column(name="winners"),
            Column(name="margin", kind="number", digits=1, priority=3),
            Column(name="p_best", head="P(best) each"),
            Column(name="pool_size", head="pool", kind="integer", priority=4),
            Column(name="votes", kind="integer", priority=4),
            Column(name="missing", kind="integer", priority=2),
        ),
        rows=tuple(
            (
                row.query_id,
                row.status,
                " ".join(row.winners),
                row.margin,
                " ".join(chance_text(row.p_best.get(doc, 0.0)) for doc in row.winners)
                if row.p_best
                else None,
                row.pool_size,
                row.votes,
                row.missing,
            )
            for row in rows
        ),
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
