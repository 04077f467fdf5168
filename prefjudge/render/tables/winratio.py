"""Win ratios as tables: the matrix of the paper's Table 4, and a list of pairs."""

from collections.abc import Mapping, Sequence

from prefjudge.counts import many
from prefjudge.evaluation.comparing.winratio import WinRatios
from prefjudge.render.text.tables import Bold, Cell, Column, Table

_NAMED_HEADINGS = 80
"""Names stand above the columns where they take no more places than these; else numbers do."""


def winratio_matrix(
    result: WinRatios,
    *,
    shown: Sequence[str] | None = None,
    alpha: float = 0.05,
    numbered: bool | None = None,
    provenance: Mapping[str, str] | None = None,
) -> Table:
    """Return the matrix in which the column beats the row, bold where significant, with the wins below.

    ``shown`` are the runs that it has, all by default. ``numbered`` headings are numbers, which stand before
    the runs' names in the rows; so it is by default where names would take too much room.
    """
    runs = result.runs if shown is None else tuple(shown)
    if numbered is None:
        numbered = sum(len(run) + 2 for run in runs) > _NAMED_HEADINGS
    found = result.matrix(alpha)

    def cell(row: int, column: int) -> Cell:
        ratio = float(found.ratio[row, column])
        if row == column:
            return None
        return Bold(ratio) if found.significant[row, column] else ratio

    places = [result.runs.index(run) for run in runs]
    # the wins of the last row are counts in a column of percentages, so they are written out
    rows = [(result.runs[row], *(cell(row, column) for column in places)) for row in places]
    rows.append(("wins", *(str(result.wins[run]) for run in runs)))
    columns = [Column(name="run beaten", head="beaten", priority=0)]
    for number, run in enumerate(runs, 1):
        columns.append(Column(name=run, head=str(number) if numbered else run, kind="percent", digits=1))
    if numbered:
        columns.insert(0, Column(name="number of the run", head="#", priority=0))
        rows = [(str(number) if number <= len(runs) else "", *row) for number, row in enumerate(rows, 1)]
    return Table(
        title="Win ratios",
        columns=tuple(columns),
        rows=tuple(rows),
        notes=_notes(result, runs, alpha),
        provenance=provenance or {},
    )


def _notes(result: WinRatios, shown: Sequence[str], alpha: float) -> tuple[str, ...]:
    unit = "queries, by the majority of their votes" if result.count == "majority" else "votes"
    notes = (
        f"How often the top passage of the column was preferred to that of the row, over {unit}.",
        f"Marked: significant at {alpha:g} after a Bonferroni correction for "
        f"{many(len(result.pairs), 'pair')} ({result.test}).",
        "The last row counts the runs that each column beats.",
    )
    if len(shown) == len(result.runs):
        return notes
    return (*notes, f"{len(shown)} of {many(len(result.runs), 'run')}: winratio --runs-shown chooses.")


def winratio_list(
    result: WinRatios, *, alpha: float = 0.05, provenance: Mapping[str, str] | None = None
) -> Table:
    """Return one row for each pair of runs."""
    kinds = {
        "wins_a": "wins a",
        "wins_b": "wins b",
        "ties": "ties",
        "same": "same top",
        "unjudged": "unjudged",
    }
    return Table(
        title="Win ratios",
        columns=(
            Column(name="a"),
            Column(name="b"),
            *(Column(name=name, head=head, kind="integer") for name, head in kinds.items()),
            Column(name="ratio", head="a wins", kind="percent", digits=1),
            Column(name="p", kind="p"),
            Column(name="p_bonferroni", head="p (Bonferroni)", kind="p"),
        ),
        rows=tuple(
            (
                pair.a,
                pair.b,
                *(getattr(pair, name) for name in kinds),
                Bold(pair.ratio) if pair.p_bonferroni <= alpha else pair.ratio,
                pair.p,
                pair.p_bonferroni,
            )
            for pair in result.pairs
        ),
        provenance=provenance or {},
    )
