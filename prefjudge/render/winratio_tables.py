"""Win ratios as tables: the matrix of the paper's Table 4, and a list of pairs."""

from collections.abc import Mapping

from prefjudge.evaluation.winratio import WinRatios
from prefjudge.render.counts import many
from prefjudge.render.tables import Bold, Cell, Column, Table

_NAMED_HEADINGS = 10


def winratio_matrix(
    result: WinRatios,
    *,
    alpha: float = 0.05,
    numbered: bool | None = None,
    provenance: Mapping[str, str] | None = None,
) -> Table:
    """Return the matrix in which the column beats the row, bold where significant, with the wins below.

    ``numbered`` headings are numbers, which stand before the runs' names in the rows; so it is by default for
    more than ten runs.
    """
    if numbered is None:
        numbered = len(result.runs) > _NAMED_HEADINGS
    found = result.matrix(alpha)

    def cell(row: int, column: int) -> Cell:
        ratio = float(found.ratio[row, column])
        if row == column:
            return None
        return Bold(ratio) if found.significant[row, column] else ratio

    places = range(len(result.runs))
    # the wins of the last row are counts in a column of percentages, so they are written out
    wins = ("wins", *(str(result.wins[run]) for run in result.runs))
    rows = tuple(
        (f"{row + 1} {run}" if numbered else run, *(cell(row, column) for column in places))
        for row, run in enumerate(result.runs)
    )
    unit = "queries, by the majority of their votes" if result.count == "majority" else "votes"
    return Table(
        title="Win ratios",
        columns=(
            Column(name="run beaten", head="beaten"),
            *(
                Column(name=run, head=str(number) if numbered else run, kind="percent", digits=1)
                for number, run in enumerate(result.runs, 1)
            ),
        ),
        rows=(*rows, wins),
        notes=(
            f"How often the top passage of the column was preferred to that of the row, over {unit}.",
            f"Marked: significant under a two-sided binomial test at {alpha:g}, "
            f"after a Bonferroni correction for {many(len(result.pairs), 'pair')}.",
            "The last row counts the runs that each column beats.",
        ),
        provenance=provenance or {},
    )


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
