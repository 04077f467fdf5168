"""The history of the answers as tables: the versions, what each changed, and the runs that it moved."""

from collections.abc import Iterable, Mapping, Sequence

from prefjudge.core.planning.challenge import Duel
from prefjudge.core.resolving.history import Change
from prefjudge.evaluation.leaderboards.correlation import RankShift
from prefjudge.render.text.tables import Cell, Column, Table


def versions_table(rows: Iterable[Mapping[str, Cell]]) -> Table:
    """Return a row per version, from mappings with the columns' names."""
    columns = (
        Column(name="version", kind="integer", priority=0),
        Column(name="made", priority=2),
        Column(name="queries", kind="integer", priority=3),
        Column(name="answers", kind="integer", priority=3),
        Column(name="challenge", kind="integer"),
        Column(name="newcomers", kind="integer"),
        Column(name="changed", kind="integer"),
        Column(name="moved", head="runs moved", kind="integer"),
    )
    return Table(
        title="Versions of the best-known answers",
        columns=columns,
        rows=tuple(tuple(row[column.name] for column in columns) for row in rows),
        notes=("changed: queries whose answers differ from those of the version before.",),
    )


def changes_table(versions: Mapping[int, tuple[Sequence[Change], Sequence[Duel]]]) -> Table:
    """Return a row for each answer that lost its place, or was found later: by version, changes and duels."""
    rows: list[tuple[Cell, ...]] = []
    for version, (changes, duels) in versions.items():
        won: dict[str, list[Duel]] = {}
        for duel in duels:
            if duel.dethroned:
                won.setdefault(duel.query_id, []).append(duel)
        for change in changes:
            rows += [
                (
                    version,
                    change.query_id,
                    duel.incumbent,
                    duel.newcomer,
                    ", ".join(duel.brought_by),
                    duel.votes_for,
                    duel.votes_against,
                )
                for duel in won.get(change.query_id, ())
            ] or [(version, change.query_id, " ".join(change.before), " ".join(change.after), "", None, None)]
    return Table(
        title="Answers that changed",
        columns=(
            Column(name="version", kind="integer", priority=0),
            Column(name="query_id", head="query", priority=0),
            Column(name="before"),
            Column(name="after"),
            Column(name="runs", head="found by", priority=2),
            Column(name="votes_for", head="votes for", kind="number", digits=1),
            Column(name="votes_against", head="against", kind="number", digits=1),
        ),
        rows=tuple(rows),
        notes=("A tie is half a vote for each side.",),
    )


def moves_table(measure: str, versions: Mapping[int, Sequence[RankShift]]) -> Table:
    """Return a row for each run that a version moves on the leaderboard."""
    return Table(
        title=f"Runs that moved, by {measure}",
        columns=(
            Column(name="version", kind="integer", priority=0),
            Column(name="run", priority=0),
            Column(name="from", head="from rank", kind="integer"),
            Column(name="to", head="to rank", kind="integer"),
        ),
        rows=tuple(
            (version, shift.run, shift.reference, shift.other)
            for version, shifts in versions.items()
            for shift in shifts
        ),
    )
