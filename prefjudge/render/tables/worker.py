"""Workers as tables: who works how, and what stands out."""

from collections.abc import Iterable, Mapping, Sequence

from prefjudge.core.judges.flags import Sign
from prefjudge.render.text.tables import Cell, Column, Table

_COLUMNS = (
    Column(name="worker", priority=0),
    Column(name="judgments", kind="integer"),
    Column(name="compared", kind="integer", priority=7),
    Column(name="agreement", head="agrees", kind="percent", digits=0),
    Column(name="accuracy", kind="percent", digits=0, priority=5),
    Column(name="reliability", head="looks", kind="percent", digits=0, priority=2),
    Column(name="left_when_guessing", head="guesses left", kind="percent", digits=0, priority=6),
    Column(name="left_rate", head="left", kind="percent", digits=0, priority=4),
    Column(name="left_p", head="p", kind="p", priority=4),
    Column(name="longest_run", head="in a row", kind="integer", priority=6),
    Column(name="gold_right", head="gold right", kind="integer", priority=2),
    Column(name="gold_missed", head="missed", kind="integer", priority=2),
    Column(name="repeated", head="seen again", kind="integer", priority=8),
    Column(name="consistent", head="judged the same", kind="integer", priority=7),
    Column(name="seconds", kind="number", digits=1, priority=4),
    Column(name="hurried", kind="integer", priority=3),
    Column(name="hourly", head="an hour", kind="money", priority=3),
    Column(name="held", head="pay held", kind="integer", priority=1),
    Column(name="barred"),
)


def workers_table(rows: Sequence[Mapping[str, Cell]], notes: Sequence[str] = ()) -> Table:
    """Return a row per worker; columns that say nothing about anybody are left out."""
    told = [column for column in _COLUMNS if any(row[column.name] not in (None, "", 0) for row in rows)]
    return Table(
        title="Workers, the least reliable first",
        columns=tuple(told or _COLUMNS[:2]),
        rows=tuple(tuple(row[column.name] for column in told) for row in rows),
        notes=tuple(notes),
    )


def remarks_table(rows: Sequence[Mapping[str, Cell]]) -> Table:
    """Return what workers said of pairs and of whole HITs, a row for each remark."""
    columns = (
        Column(name="worker", priority=0),
        Column(name="query"),
        Column(name="doc_a", head="passage", priority=3),
        Column(name="doc_b", head="against", priority=3),
        Column(name="unable", head="could not judge", priority=2),
        Column(name="comment"),
    )
    told = [column for column in columns if any(row[column.name] for row in rows)]
    return Table(
        title="What workers said",
        columns=tuple(told),
        rows=tuple(tuple(row[column.name] for column in told) for row in rows),
        notes=(
            "could not judge: text (broken, or in another language), topic (not known to the worker), other.",
        ),
    )


def signs_table(signs: Iterable[Sign]) -> Table:
    """Return what stands out, a row for each sign."""
    return Table(
        title="What stands out",
        columns=(
            Column(name="worker", priority=0),
            Column(name="about"),
            Column(name="sign", head="what was seen"),
        ),
        rows=tuple((sign.worker, sign.kind.value, sign.text) for sign in signs),
        notes=("It tells whose work to look at. It is not a reason to refuse pay.",),
    )
