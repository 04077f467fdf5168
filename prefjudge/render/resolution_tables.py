"""Resolutions as tables: the rules side by side, and what changes with them."""

from collections.abc import Mapping, Sequence

from prefjudge.core.sensitivity import Variation
from prefjudge.core.sureness import ResolvedQuery
from prefjudge.render.tables import Column, Table


def rules_table(rules: Mapping[str, Mapping[str, int]]) -> Table:
    """Return how many queries each rule leaves in each status."""
    statuses = list(next(iter(rules.values()), {}))
    return Table(
        title="Queries by status",
        columns=(Column(name="rule"), *(Column(name=status, kind="integer") for status in statuses)),
        rows=tuple((rule, *counts.values()) for rule, counts in rules.items()),
    )


def sensitivity_table(rule: str, variations: Sequence[Variation]) -> Table:
    """Return what each change does to the winners and to the order of runs."""
    return Table(
        title=f"What changes the winners of {rule}",
        columns=(
            Column(name="change"),
            Column(name="name"),
            Column(name="resolved", kind="integer"),
            Column(name="changed", kind="integer"),
            Column(name="changed_share", head="share", kind="percent", digits=1),
            Column(name="lost", kind="integer"),
            Column(name="gained", kind="integer"),
            Column(name="tau", head="tau of runs", kind="number", digits=3),
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
            )
            for one in variations
        ),
        notes=(
            "resolved: queries with a winner before and after; changed: those whose winners differ; "
            "lost and gained: queries with a winner only before, and only after.",
        ),
    )


def per_query_table(rows: Sequence[ResolvedQuery]) -> Table:
    """Return each query's status, winners and the probability that one of them is the best."""
    return Table(
        title="Resolutions",
        columns=(
            Column(name="query_id", head="query"),
            Column(name="status"),
            Column(name="winners"),
            Column(name="margin", kind="number", digits=1),
            Column(name="p_best", head="P(best)", kind="number", digits=2),
            Column(name="pool_size", head="pool", kind="integer"),
            Column(name="votes", kind="integer"),
            Column(name="missing", kind="integer"),
        ),
        rows=tuple(
            (
                row.query_id,
                row.status,
                " ".join(row.winners),
                row.margin,
                sum(row.p_best.get(doc, 0.0) for doc in row.winners) if row.p_best else None,
                row.pool_size,
                row.votes,
                row.missing,
            )
            for row in rows
        ),
    )
