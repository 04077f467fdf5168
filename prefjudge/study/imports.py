"""What came from elsewhere: imported votes, models' replies, and what a log of votes carries beside them."""

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TypeAlias

from prefjudge.core.judgments import ModelVote
from prefjudge.database import Connection, row_of
from prefjudge.errors import StudyError
from prefjudge.reading.files import is_text
from prefjudge.study.store import COUNTED, IMPORTED, JUDGES, VOTES, WORK, current_target

PairKey: TypeAlias = tuple[str, str, str]
"""A query and two documents, the first by doc_id before the other."""

_DECIDED = "imported"
"""The decision on imported work: nobody is paid for it here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportRecord:
    """Where imported votes are from.

    ``digest`` is of the file's unpacked bytes, ``mapped`` the columns that were told, ``sides`` whether left
    and right are those of a screen. ``votes`` were new.
    """

    number: int
    hit_key: str
    name: str
    form: str
    criterion: str
    digest: str
    judge: str
    phase: str
    sides: int
    mapped: str
    votes: int
    imported: float


@dataclass(frozen=True, slots=True, kw_only=True)
class AssignmentWork:
    """What a worker did in an assignment, here or in an imported file; an empty worker is unknown.

    ``verdict`` is ``kept``, or says why the data was dropped.
    """

    assignment_id: str
    worker_id: str
    answered: int
    gold_right: int
    gold_missed: int
    seconds: float
    verdict: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyJudgment:
    """One choice in an assignment: 1 for the left passage, -1 for the right, 0 for a tie.

    Or a win of a choice out of more, of those that were ``shown``: their ids in order, between blanks.
    """

    pair_id: int
    query_id: str
    left_id: str
    right_id: str
    choice: int
    strength: int
    milliseconds: int
    shown: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedVote(StudyJudgment):
    """One vote, as the log of judgments takes it; ``vote_id`` is its name in the file's own system."""

    worker_id: str
    judge: str
    phase: str
    assignment_id: str
    vote_id: str | None


def load_imports(db: Connection) -> list[ImportRecord]:
    """Return the imports, the first one first."""
    return db.select(ImportRecord, "FROM imports ORDER BY number")


def count_imported(db: Connection) -> int:
    """Return how many judgments that count were imported."""
    sql = f"SELECT count(*) FROM {VOTES} WHERE h.target = :target AND d.judgment_id IS NULL"
    return int(db.value(sql, target=IMPORTED))


def sides_known(db: Connection) -> bool:
    """Return whether left and right are those of a screen, in all of the study's judgments."""
    return not db.execute("SELECT 1 FROM imports WHERE sides = 0 AND votes > 0 LIMIT 1")


def has_workers(db: Connection) -> bool:
    """Return whether any work that counts says whose it is."""
    sql = f"SELECT 1 FROM {WORK} WHERE worker_id <> '' AND {COUNTED} LIMIT 1"
    return bool(db.execute(sql, target=current_target(db)))


def load_vote_ids(db: Connection, form: str) -> dict[str, tuple[PairKey, str, int]]:
    """Return the imported votes that have ids: pairs, workers, and choices for the first document."""
    rows = db.execute(
        "SELECT j.vote_id, p.query_id, p.doc_a, p.doc_b, j.worker_id, "
        "CASE WHEN j.left_id = p.doc_a THEN j.choice ELSE -j.choice END FROM judgments j "
        "JOIN pairs p USING (pair_id) JOIN assignments USING (assignment_id) JOIN imports i USING (hit_key) "
        "WHERE j.vote_id IS NOT NULL AND i.form = :form",
        form=form,
    )
    return {vote: ((query, a, b), worker, choice) for vote, query, a, b, worker, choice in rows}


def load_named_votes(db: Connection, form: str, criterion: str) -> dict[tuple[PairKey, str, int], int]:
    """Return how often each imported vote without an id is there: pair, worker, choice for the first."""
    rows = db.execute(
        "SELECT p.query_id, p.doc_a, p.doc_b, j.worker_id, "
        "CASE WHEN j.left_id = p.doc_a THEN j.choice ELSE -j.choice END AS said, count(*) FROM judgments j "
        "JOIN pairs p USING (pair_id) JOIN assignments USING (assignment_id) JOIN imports i USING (hit_key) "
        "WHERE j.vote_id IS NULL AND i.form = :form AND i.criterion = :criterion "
        "GROUP BY p.query_id, p.doc_a, p.doc_b, j.worker_id, said",
        form=form,
        criterion=criterion,
    )
    return {((query, a, b), worker, choice): int(count) for query, a, b, worker, choice, count in rows}


def save_import(
    db: Connection,
    record: ImportRecord,
    work: Sequence[AssignmentWork],
    votes: Iterable[ImportedVote],
    dropped: Mapping[int, str],
) -> None:
    """Add imported votes to the log; ``dropped`` says why some of them do not count, by their place."""
    hit = {
        "hit_key": record.hit_key,
        "batch": 0,
        "number": record.number,
        "target": IMPORTED,
        "assignments": len(work),
        "reward_cents": 0,
        "layouts": "[]",
        "status": "closed",
        "published": record.imported,
    }
    db.insert("hits", hit)
    db.insert("imports", record)
    db.insert_all("assignments", _assignments(record, work))
    first = db.value("SELECT coalesce(max(judgment_id), 0) + 1 FROM judgments")
    db.insert_all("judgments", votes)
    if dropped:
        numbers = db.values(
            "SELECT judgment_id FROM judgments WHERE judgment_id >= :first ORDER BY judgment_id", first=first
        )
        db.insert_all(
            "drops",
            (
                {"judgment_id": numbers[place], "reason": reason, "dropped": record.imported}
                for place, reason in dropped.items()
            ),
        )


def _assignments(
    record: ImportRecord, work: Sequence[AssignmentWork]
) -> Iterator[Mapping[str, str | int | float]]:
    for one in work:
        of_here = {"hit_key": record.hit_key, "answer": "", "decision": _DECIDED}
        yield {**row_of(one), **of_here, "layout": 0, "collected": record.imported}


Contribution: TypeAlias = tuple[str, str, str]


def add_pooled(
    db: Connection, rows: Iterable[Contribution], since: Mapping[Contribution, float] | None = None
) -> None:
    """Add candidates to the pools: query, document, what contributed it; ``since`` is when, if not now."""
    now, dates = time.time(), since or {}
    db.insert_all(
        "pooled",
        (
            {
                "query_id": query,
                "doc_id": doc,
                "source": source,
                "added": dates.get((query, doc, source), now),
            }
            for query, doc, source in rows
        ),
        "ON CONFLICT (query_id, doc_id, source) DO NOTHING",
    )


def pooled_by(db: Connection) -> set[str]:
    """Return the names of the runs and qrels whose pool the study has."""
    return set(db.values("SELECT name FROM inputs WHERE kind IN ('run', 'qrels')"))


def join_pool(db: Connection, rows: Iterable[tuple[str, str, str]], pairs: Iterable[PairKey]) -> None:
    """Replace the pool of runs and qrels beside the candidates and pairs of imported votes, which stay."""
    columns = db.execute("SELECT query_id, doc_id, source, added FROM pooled")
    since = {(query, doc, source): added for query, doc, source, added in columns}
    db.executemany("DELETE FROM pooled WHERE source = :name", [{"name": name} for name in pooled_by(db)])
    voted = db.execute("SELECT DISTINCT query_id, left_id, right_id FROM judgments")
    add_pooled(db, rows, since)
    db.execute(  # what votes had from nowhere, and a run or the labels have now
        "DELETE FROM pooled WHERE source = '' AND EXISTS (SELECT 1 FROM pooled AS named"
        " WHERE named.source <> '' AND named.query_id = pooled.query_id AND named.doc_id = pooled.doc_id)"
    )
    members = set(db.execute("SELECT query_id, doc_id FROM pooled"))
    docs = dict.fromkeys((query, doc) for query, *both in voted for doc in both)
    add_pooled(db, ((query, doc, "") for query, doc in docs if (query, doc) not in members), since)
    members |= {*docs}
    now, left = time.time(), since.keys() - set(db.execute("SELECT query_id, doc_id, source FROM pooled"))
    former = ((dict(zip(_CANDIDATE, key, strict=True)), since[key]) for key in sorted(left))
    db.insert_all("former_pooled", ({**row, "added": added, "gone": now} for row, added in former))
    gone = [
        {"id": number}
        for number, query, a, b in db.execute("SELECT pair_id, query_id, doc_a, doc_b FROM pairs")
        if not {(query, a), (query, b)} <= members
    ]
    db.executemany("DELETE FROM model_votes WHERE pair_id = :id", gone)
    db.executemany("DELETE FROM pairs WHERE pair_id = :id", gone)
    add_pairs(db, pairs)


def add_pairs(db: Connection, pairs: Iterable[PairKey]) -> dict[PairKey, int]:
    """Add pairs where they are missing, and return the numbers of all that the study has."""
    known = {
        (query, a, b): number
        for number, query, a, b in db.execute("SELECT pair_id, query_id, doc_a, doc_b FROM pairs")
    }
    following = max(known.values(), default=0) + 1
    fresh = [pair for pair in dict.fromkeys(pairs) if pair not in known]
    numbers = dict(zip(fresh, range(following, following + len(fresh)), strict=True))
    db.insert_all(
        "pairs",
        (
            {"pair_id": number, "query_id": query, "doc_a": a, "doc_b": b, "votes": 0}
            for (query, a, b), number in numbers.items()
        ),
    )
    return known | numbers


def ask_for_what_there_is(db: Connection) -> None:
    """Ask pairs that ask for nothing for as many votes as were imported for them: they wait for none."""
    db.execute(
        f"UPDATE pairs SET votes = (SELECT {JUDGES} FROM judgments j JOIN assignments USING (assignment_id) "
        "JOIN imports USING (hit_key) LEFT JOIN drops d USING (judgment_id) "
        "WHERE j.pair_id = pairs.pair_id AND d.judgment_id IS NULL) WHERE votes = 0"
    )


Cell: TypeAlias = str | int | float | None
CarriedRow: TypeAlias = Mapping[str, Cell]


@dataclass(frozen=True, slots=True, kw_only=True)
class Carried:
    """A table that is carried: ``texts`` and ``numbers`` are its columns, ``key`` those that name a row.

    Rows are in the ``order`` of some columns, or of the key's. A column in ``maybe`` may be empty; ``where``
    chooses rows.
    """

    table: str
    texts: tuple[str, ...] = ()
    numbers: tuple[str, ...] = ()
    key: tuple[str, ...]
    order: tuple[str, ...] = ()
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
    "run": Carried(
        table="inputs",
        texts=("path", "digest", "name"),
        key=("name",),
        order=("place", "name"),
        where="kind = 'run'",
    ),
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
        where="version > 0",
    ),
}
"""By what a log calls a row; a table stands after those that it refers to."""

CARRIED_KEYS = {kind: one.key for kind, one in CARRIED.items()}


def load_carried(db: Connection, folder: Path) -> Iterator[tuple[str, dict[str, Cell]]]:
    """Yield what each row is, and the row; runs are where they are in the study's folder."""
    for kind, one in CARRIED.items():
        columns = ", ".join(one.columns)
        for cells in db.execute(
            f"SELECT {columns} FROM {one.table} WHERE {one.where} ORDER BY {', '.join(one.order or one.key)}"
        ):
            row = dict(zip(one.columns, cells, strict=True))
            if kind == "run":
                path = Path(row["path"])
                here = folder.resolve()
                row["path"] = path.relative_to(here).as_posix() if path.is_relative_to(here) else path.name
            yield kind, row


def save_carried(db: Connection, folder: Path, rows: Sequence[tuple[str, CarriedRow]]) -> None:
    """Store the rows in a study that has nothing yet."""
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
            chosen = [
                row | {"kind": "run", "path": str(_inside(folder, str(row["path"]))), "place": place}
                for place, row in enumerate(chosen, 1)
            ]
        if len({row["pair_id"] for row in chosen if kind == "pair"}) < len(chosen) * (kind == "pair"):
            raise StudyError("the log has two pairs of one number", "Take it from Git.")
        db.insert_all(one.table, chosen)


def _inside(folder: Path, path: str) -> Path:
    """Return where a run is, in the folder: a log of strangers names no file elsewhere."""
    parts = PurePosixPath(path).parts
    if PurePosixPath(path).is_absolute() or ".." in parts or not parts:
        raise StudyError(f"the log names a run {path!r}, which is not in the study's folder", "Correct it.")
    return folder.resolve().joinpath(*parts)


# Models' replies by prompt, and their votes by pair.


def load_reply(db: Connection, key: str) -> str | None:
    """Return the stored reply to a prompt, or None."""
    reply = db.value("SELECT reply FROM model_answers WHERE prompt_key = :key", key=key)
    return None if reply is None else str(reply)


def save_reply(
    db: Connection, key: str, model: str, reply: str, tokens: tuple[int, int], when: float
) -> None:
    """Store the last reply to a prompt, and the tokens of all its prompts and replies."""
    sent, received = tokens
    db.insert(
        "model_answers",
        {
            "prompt_key": key,
            "model": model,
            "reply": reply,
            "prompt_tokens": sent,
            "reply_tokens": received,
            "answered": when,
        },
        "ON CONFLICT (prompt_key) DO UPDATE SET reply = excluded.reply, answered = excluded.answered, "
        "prompt_tokens = model_answers.prompt_tokens + excluded.prompt_tokens, "
        "reply_tokens = model_answers.reply_tokens + excluded.reply_tokens",
    )


def save_votes(db: Connection, model: str, votes: Iterable[tuple[int, ModelVote]]) -> None:
    """Record a model's votes by the pairs' numbers."""
    db.insert_all(
        "model_votes",
        (
            {
                "model": model,
                "pair_id": pair_id,
                "a_first": vote.a_first,
                "b_first": vote.b_first,
                "choice": vote.choice,
            }
            for pair_id, vote in votes
        ),
        "ON CONFLICT (model, pair_id) DO UPDATE SET a_first = excluded.a_first, b_first = excluded.b_first, "
        "choice = excluded.choice",
    )


def load_votes(db: Connection, model: str | None = None) -> list[tuple[str, ModelVote]]:
    """Return the votes of one model, or of all, each with its model's name."""
    where = "WHERE v.model = :model" if model else ""
    return [
        (name, ModelVote(pair=(query_id, doc_a, doc_b), a_first=a_first, b_first=b_first))
        for name, query_id, doc_a, doc_b, a_first, b_first in db.execute(
            "SELECT v.model, p.query_id, p.doc_a, p.doc_b, v.a_first, v.b_first "
            f"FROM model_votes v JOIN pairs p USING (pair_id) {where} ORDER BY v.model, v.pair_id",
            {"model": model} if model else {},
        )
    ]


def count_tokens(db: Connection, model: str) -> tuple[int, int, int]:
    """Return how many replies a model gave, and the tokens of its prompts and of its replies."""
    count, prompt, reply = db.execute(
        "SELECT count(*), coalesce(sum(prompt_tokens), 0), coalesce(sum(reply_tokens), 0) "
        "FROM model_answers WHERE model = :model",
        model=model,
    )[0]
    return int(count), int(prompt), int(reply)
