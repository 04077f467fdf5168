"""Comparisons of runs as tables: significance tests, and the outcome breakdown of Lin et al. (SIGIR 2021)."""

from collections.abc import Mapping, Sequence

from prefjudge.counts import many
from prefjudge.evaluation.testing.outcomes import Harm, Outcomes
from prefjudge.evaluation.testing.significance import Significance
from prefjudge.evaluation.testing.significance_tests import SignificanceTest
from prefjudge.render.text.tables import Bold, Cell, Column, Table

_DIFFERING = 15
"""Queries with a difference, fewer than which tell little of the mean difference."""


def pairs_table(results: Sequence[Significance], *, provenance: Mapping[str, str] | None = None) -> Table:
    """Return one row for each pair of runs; the adjusted p-value is bold where it is significant."""
    rows: list[tuple[Cell, ...]] = []
    for result in results:
        significant = result.significant
        for pair in range(len(result)):
            p = float(result.p_adjusted[pair])
            rows.append(
                (
                    result.qrels,
                    result.measure,
                    result.runs[result.a[pair]],
                    result.runs[result.b[pair]],
                    float(result.difference[pair]),
                    float(result.low[pair]),
                    float(result.high[pair]),
                    float(result.effect[pair]),
                    int(result.wins_a[pair]),
                    int(result.wins_b[pair]),
                    float(result.p[pair]),
                    Bold(p) if significant[pair] else p,
                    bool(significant[pair]),
                )
            )
    return Table(
        title=_title(results),
        columns=(
            Column(name="qrels", priority=6),
            Column(name="measure", priority=6),
            Column(name="a", priority=0),
            Column(name="b", priority=0),
            Column(name="difference", head="b - a", kind="number"),
            Column(name="low", head="from", kind="number", priority=2),
            Column(name="high", head="to", kind="number", priority=2),
            Column(name="effect", kind="number", digits=2, priority=5),
            Column(name="wins_a", head="a wins", kind="integer", priority=4),
            Column(name="wins_b", head="b wins", kind="integer", priority=4),
            Column(name="p", kind="p", priority=3),
            Column(name="p_adjusted", head="adjusted p", kind="p"),
            Column(name="significant", kind="flag", priority=2),
        ),
        rows=tuple(rows),
        notes=_notes(results),
        provenance=provenance or {},
    )


def _title(results: Sequence[Significance]) -> str:
    """Say what is compared: the columns that say so may be left out where a screen is narrow."""
    boards = dict.fromkeys(f"{one.measure} under {one.qrels}" for one in results)
    return f"Differences between runs: {', '.join(boards)}" if boards else "Differences between runs"


def _notes(results: Sequence[Significance]) -> tuple[str, ...]:
    notes: dict[str, None] = {}
    for result in results:
        drawn = f", {many(result.resamples, 'resample')}" if result.resamples else ""
        notes[f"{result.variant}{drawn}; correction: {result.correction}, level {result.alpha:g}."] = None
        if result.reason:
            notes[f"Why this test: {result.reason}."] = None
    level = {f"{100 * (1 - result.alpha):g} %" for result in results}
    notes[
        f"Intervals of the difference are at {', '.join(sorted(level))}, for one pair at a time, as far as "
        "the scale reaches; effect is the difference over the standard deviation of the differences. Where "
        f"all queries differ by the same amount there is {_no_spread(results)}."
    ] = None
    few = sum(_differ_little(result) for result in results)
    if few:
        notes[
            f"{many(few, 'pair')} with fewer than {_DIFFERING} queries that differ: an interval that rests "
            "on so few queries is too narrow if the next one to differ may differ by more."
        ] = None
    return tuple(notes)


def _no_spread(results: Sequence[Significance]) -> str:
    bets = {result.test is SignificanceTest.SEQUENTIAL for result in results}
    return "no effect" if bets == {True} else "neither"


def _differ_little(result: Significance) -> int:
    """Return how many pairs of runs differ on some queries, and on few; an interval by bets bears that."""
    if result.test is SignificanceTest.SEQUENTIAL:
        return 0
    differing = result.wins_a + result.wins_b
    return int(((differing < _DIFFERING) & (differing > 0)).sum())


_PAIR = (
    Column(name="qrels", priority=7),
    Column(name="measure", priority=7),
    Column(name="a", priority=0),
    Column(name="b", priority=0),
    Column(name="difference", head="Δ", kind="number"),
)


_DIFFERENCE = "Δ: the score of b less that of a."


def _pair(tested: Significance, row: Outcomes) -> tuple[Cell, ...]:
    return tested.qrels, tested.measure, row.a, row.b, row.difference


def outcomes_table(
    rows: Sequence[tuple[Significance, Outcomes]], *, provenance: Mapping[str, str] | None = None
) -> Table:
    """Return the outcome breakdown, one row a contender, with every p-value raw (Table 2 of the paper)."""
    return Table(
        title="Outcomes: who answers more queries, and who ranks the answers better",
        columns=(
            *_PAIR,
            Column(name="neither", kind="percent", digits=0, priority=4),
            Column(name="only_a", head="only a", kind="percent", digits=0, priority=2),
            Column(name="only_b", head="only b", kind="percent", digits=0, priority=2),
            Column(name="p_binomial", head="p", kind="p", priority=2),
            Column(name="both", kind="percent", digits=0, priority=4),
            Column(name="esl_a", head="ESL a", kind="number", digits=2, priority=3),
            Column(name="esl_b", head="ESL b", kind="number", digits=2, priority=3),
            Column(name="p_esl_signed_rank", head="WSR p", kind="p", priority=6),
            Column(name="p_esl_t", head="t p", kind="p", priority=3),
            Column(name="rr_a", head="RR a", kind="number", priority=5),
            Column(name="rr_b", head="RR b", kind="number", priority=5),
            Column(name="p_rr_signed_rank", head="WSR p", kind="p", priority=6),
            Column(name="p_rr_t", head="t p", kind="p", priority=6),
            Column(name="verdict", head="verdict (t)"),
            Column(name="verdict_signed_rank", head="verdict (WSR)", priority=4),
        ),
        rows=tuple((*_pair(tested, row), *_outcome_cells(row)) for tested, row in rows),
        notes=(
            "Neither, only one, or both answer within the cut-off; ESL (the position of the answer) and RR "
            "are means over the queries that both answer.",
            _DIFFERENCE,
            f"p-values are raw. A gain counts{_level(rows, 'alpha')} (bold), the level divided among the "
            f"comparisons; a harm counts{_level(rows, 'harm_alpha')}. A verdict takes the "
            "binomial test of the answers and a test of ESL: t, or signed-rank.",
            *_split([row for _, row in rows]),
        ),
        provenance=provenance or {},
    )


def _level(rows: Sequence[tuple[Significance, Outcomes]], name: str) -> str:
    levels = sorted({float(getattr(row, name)) for _, row in rows})
    return f" at p ≤ {' or '.join(f'{level:.2g}' for level in levels)}" if levels else ""


def _split(rows: Sequence[Outcomes]) -> tuple[str, ...]:
    split = [f"{row.a} and {row.b}" for row in rows if row.verdict is not row.verdict_signed_rank]
    if not split:
        return ()
    shown = ", ".join(split[:5]) + (" …" if len(split) > 5 else "")
    return (f"The two verdicts differ for {many(len(split), 'pair')}: {shown}.",)


def _outcome_cells(row: Outcomes) -> tuple[Cell, ...]:
    def mark(p: float) -> Cell:
        return Bold(p) if p <= row.alpha else p

    def verdict(found: Harm) -> Cell:
        return found.value if found is Harm.NOT_TOLD_APART else Bold(found.value)

    return (
        row.neither / row.queries,
        row.only_a / row.queries,
        row.only_b / row.queries,
        mark(row.p_binomial),
        row.both / row.queries,
        row.esl_a,
        row.esl_b,
        mark(row.p_esl_signed_rank),
        mark(row.p_esl_t),
        row.rr_a,
        row.rr_b,
        row.p_rr_signed_rank,
        row.p_rr_t,
        verdict(row.verdict),
        verdict(row.verdict_signed_rank),
    )


def naive_table(
    rows: Sequence[tuple[Significance, Outcomes]], *, provenance: Mapping[str, str] | None = None
) -> Table:
    """Return the tests of reciprocal ranks over all queries, raw p-values (Table 1 of the paper)."""
    return Table(
        title="Reciprocal ranks over all queries",
        columns=(
            *_PAIR,
            Column(name="p_rank_sum", head="WRS p", kind="p", digits=6, priority=2),
            Column(name="p_signed_rank", head="WSR p", kind="p", digits=6, priority=2),
            Column(name="p_t", head="t p", kind="p", digits=6),
        ),
        rows=tuple((*_pair(tested, row), row.p_rank_sum, row.p_signed_rank, row.p_t) for tested, row in rows),
        notes=(
            _DIFFERENCE,
            "Wilcoxon rank-sum, Wilcoxon signed-rank and paired t tests; p-values are raw.",
        ),
        provenance=provenance or {},
    )
