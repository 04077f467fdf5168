"""What a study knows beside its votes: what a log of it carries, so that the study can be rebuilt from it.

Rows are those of the store's tables, without what is private or of this machine alone.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TypeAlias

from prefjudge.database import Connection
from prefjudge.errors import StudyError
from prefjudge.formats.lines.problems import is_text

Cell: TypeAlias = str | int | float | None
CarriedRow: TypeAlias = Mapping[str, Cell]


@dataclass(frozen=True, slots=True, kw_only=True)
class Carried:
    """A table that is carried: ``texts`` and ``numbers`` are its columns, ``key`` those that name a row.

    A column in ``maybe`` may be empty; ``where`` chooses rows.
    """

    table: str
    texts: tuple[str, ...] = ()
    numbers: tuple[str, ...] = ()
    key: tuple[str, ...]
    maybe: frozenset[str] = frozenset()
    where: str = "1 = 1"

    @property
    def columns(self) -> tuple[str, ...]:
        """All columns."""
        return self.texts + self.numbers

    def fits(self, row: Mapping[str, object]) -> bool:
        """Return whether a row has these columns, each of its kind, as any database takes them."""
        return row.keys() == set(self.columns) and all(
            (row[name] is None and name in self.maybe)
            or (_is_name(row[name]) if name in self.texts else _is_number(row[name], name in _FRACTIONS))
            for name in self.columns
        )


_FRACTIONS = frozenset({"started", "concluded", "votes_for", "votes_against", "chance"})


def _is_name(cell: object) -> bool:
    return isinstance(cell, str) and is_text(cell) and "\0" not in cell


def _is_number(cell: object, fraction: bool) -> bool:
    kinds = (int, float) if fraction else (int,)
    return isinstance(cell, kinds) and not isinstance(cell, bool) and abs(cell) < 2**53


_CANDIDATE = ("query_id", "doc_id", "source")
CARRIED: Mapping[str, Carried] = {
    "strategy": Carried(
        table="settings",
        texts=("key", "value"),
        key=("key",),
        where="key IN ('strategy', 'strategy model')",
    ),
    "run": Carried(table="inputs", texts=("path", "digest", "name"), key=("name",), where="kind = 'run'"),
    "candidate": Carried(table="pooled", texts=_CANDIDATE, key=_CANDIDATE),
    "copy": Carried(table="copies", texts=("doc_id", "copy_of"), key=("doc_id",)),
    "pair": Carried(
        table="pairs",
        texts=("query_id", "doc_a", "doc_b"),
        numbers=("pair_id", "votes"),
        key=("query_id", "doc_a", "doc_b"),
    ),
    "challenge": Carried(
        table="challenges",
        texts=("strategy",),
        numbers=("challenge", "started", "concluded"),
        key=("challenge",),
        maybe=frozenset({"concluded"}),
    ),
    "challenger": Carried(
        table="challengers",
        texts=_CANDIDATE,
        numbers=("challenge",),
        key=("challenge", *_CANDIDATE),
    ),
    "duel": Carried(
        table="duels",
        texts=("query_id", "incumbent", "newcomer", "brought_by"),
        numbers=("challenge", "votes_for", "votes_against", "dethroned", "chance"),
        key=("challenge", "query_id", "newcomer"),
        maybe=frozenset({"chance"}),
    ),
    "answer": Carried(
        table="answers",
        texts=("query_id", "doc_id"),
        numbers=("version",),
        key=("version", "query_id", "doc_id"),
    ),
}
"""By what a log calls a row; a table stands after those that it refers to."""

CARRIED_KEYS = {kind: one.key for kind, one in CARRIED.items()}


def load_carried(db: Connection, folder: Path) -> Iterator[tuple[str, dict[str, Cell]]]:
    """Yield what each row is, and the row; runs are where they are in the study's folder."""
    for kind, one in CARRIED.items():
        columns = ", ".join(one.columns)
        for cells in db.execute(
            f"SELECT {columns} FROM {one.table} WHERE {one.where} ORDER BY {', '.join(one.key)}"
        ):
            row = dict(zip(one.columns, cells, strict=True))
            if kind == "run":
                path = Path(row["path"])
                here = folder.resolve()
                row["path"] = path.relative_to(here).as_posix() if path.is_relative_to(here) else path.name
            yield kind, row


def save_carried(db: Connection, folder: Path, rows: Sequence[tuple[str, CarriedRow]]) -> None:
    """Store the rows in a study that has nothing yet.

    Raises
    ------
    StudyError
        It has something: what would be mixed cannot be told apart again.
    """
    tables = ["judgments", *(one.table for one in CARRIED.values() if one.table != "settings")]
    if any(db.execute(f"SELECT 1 FROM {table} LIMIT 1") for table in tables):
        raise StudyError(
            "the study has a pool or judgments already, and a study is rebuilt from its log in an empty one",
            "Make a new one beside it, or move the old store away.",
        )
    known = {row.get("challenge") for what, row in rows if what == "challenge"}
    for kind, one in CARRIED.items():
        chosen = [dict(row) for what, row in rows if what == kind]
        refers = "challenge" in one.key
        odd = next(
            (row for row in chosen if not one.fits(row) or (refers and row["challenge"] not in known)), None
        )
        if odd is not None:
            raise StudyError(f"the log has a {kind} of other columns or kinds: {odd}", "Take it from Git.")
        if kind == "run":
            chosen = [row | {"kind": "run", "path": str(_inside(folder, str(row["path"])))} for row in chosen]
        if len({row["pair_id"] for row in chosen if kind == "pair"}) < len(chosen) * (kind == "pair"):
            raise StudyError("the log has two pairs of one number", "Take it from Git.")
        db.insert_all(one.table, chosen)


def _inside(folder: Path, path: str) -> Path:
    """Return where a run is, in the folder: a log of strangers names no file elsewhere."""
    parts = PurePosixPath(path).parts
    if PurePosixPath(path).is_absolute() or ".." in parts or not parts:
        raise StudyError(f"the log names a run {path!r}, which is not in the study's folder", "Correct it.")
    return folder.resolve().joinpath(*parts)
