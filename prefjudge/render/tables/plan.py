"""Plans as tables."""

from collections.abc import Sequence

from prefjudge.core.planning.plan import Plan
from prefjudge.render.text.tables import Bold, Cell, Column, Table


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
