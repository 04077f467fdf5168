"""Split-half agreement as a table (Craswell et al., SIGIR 2021, Table 4)."""

from collections.abc import Mapping, Sequence

from prefjudge.counts import many
from prefjudge.evaluation.testing.agreement import Agreement
from prefjudge.render.text.tables import Column, Table


def agreement_matrix(one: Agreement) -> Table:
    """Return the rates of one measure as the paper prints them: a column for each test."""
    shares = (
        ("agree", [row.agree for row in one.rows]),
        ("part. agree", [row.partly for row in one.rows]),
        ("disagree", [row.disagree for row in one.rows]),
        ("perc. signif.", [row.significant for row in one.rows]),
    )
    return Table(
        title=f"Agreement rates: {one.measure} under {one.qrels}",
        columns=(
            Column(name="rate", head=""),
            *(
                Column(
                    name=f"{row.test}_{row.aggregate}",
                    head=f"{row.test}{' (median)' if row.aggregate == 'median' else ''}",
                    kind="percent",
                    digits=1,
                )
                for row in one.rows
            ),
        ),
        rows=tuple((name, *values) for name, values in shares),
        notes=(
            f"{many(one.splits, 'split')} of {many(one.queries, 'query')}, {many(one.pairs, 'pair')} of "
            f"{many(one.runs, 'run')}, level {one.alpha:g}.",
        ),
    )


def agreement_table(agreements: Sequence[Agreement], *, provenance: Mapping[str, str] | None = None) -> Table:
    """Return one row for each test and way to say which run is better."""
    sizes = {
        f"{one.measure} under {one.qrels}: {many(one.splits, 'split')} of {many(one.queries, 'query')}, "
        f"{many(one.pairs, 'pair')} of {many(one.runs, 'run')}, level {one.alpha:g}."
        for one in agreements
    }
    return Table(
        title="Agreement of random halves of the queries",
        columns=(
            Column(name="qrels", priority=0),
            Column(name="measure", priority=0),
            Column(name="test", priority=0),
            Column(name="aggregate", head="better by", priority=0),
            Column(name="agree", kind="percent", digits=1),
            Column(name="partly", kind="percent", digits=1),
            Column(name="disagree", kind="percent", digits=1),
            Column(name="significant", kind="percent", digits=1, priority=2),
            Column(name="equal", kind="percent", digits=1, priority=2),
        ),
        rows=tuple(
            (
                one.qrels,
                one.measure,
                str(row.test),
                row.aggregate,
                row.agree,
                row.partly,
                row.disagree,
                row.significant,
                row.equal,
            )
            for one in agreements
            for row in one.rows
        ),
        notes=(
            *sorted(sizes),
            "Agree: the halves agree which run is better, and whether significantly. Disagree: they disagree "
            "and at least one is significant. Partly: the rest. Significant: in at least one half. Equal: "
            "both find the runs equally good, which counts as agreement.",
        ),
        provenance=provenance or {},
    )
