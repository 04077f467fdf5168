"""Resolutions as tables: the rules side by side, and what changes with them."""

from collections.abc import Mapping, Sequence
from math import isnan

from prefjudge.chances import chance_text
from prefjudge.core.resolving.confidence_summary import ResolvedQuery
from prefjudge.core.resolving.sensitivity import Kind, Variation
from prefjudge.counts import many
from prefjudge.evaluation.leaderboards.correlation import TwoVotings
from prefjudge.render.tables.leaderboard import TWO_VOTINGS, votings_cells, votings_notes
from prefjudge.render.text.tables import Column, Table


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
