"""Workers as a table."""

from collections.abc import Iterable, Sequence

from prefjudge.render.tables import Cell, Column, Table


def workers_table(rows: Iterable[Sequence[Cell]], notes: Sequence[str] = ()) -> Table:
    """Return a row per worker: id, judgments, compared, and the six estimates."""
    return Table(
        title="Workers, the least reliable first",
        columns=(
            Column(name="worker"),
            Column(name="judgments", kind="integer"),
            Column(name="compared", kind="integer"),
            Column(name="agreement", head="agrees", kind="percent", digits=0),
            Column(name="accuracy", kind="percent", digits=0),
            Column(name="reliability", head="looks", kind="percent", digits=0),
            Column(name="left_when_guessing", head="guesses left", kind="percent", digits=0),
            Column(name="left_rate", head="left", kind="percent", digits=0),
            Column(name="left_p", head="p", kind="p"),
        ),
        rows=tuple(tuple(row) for row in rows),
        notes=tuple(notes),
    )
