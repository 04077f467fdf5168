"""Stores imported votes in a study: all in one transaction, and those that are there already not again."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from prefjudge.core.pooling.pools import Pools
from prefjudge.counts import many
from prefjudge.database import Connection
from prefjudge.errors import StudyError
from prefjudge.formats.votes.votes import Votes
from prefjudge.study.assignments import KEPT
from prefjudge.study.imports import (
    ImportedVote,
    ImportedWork,
    ImportRecord,
    PairKey,
    add_pairs,
    add_pooled,
    ask_for_what_there_is,
    load_imports,
    load_vote_ids,
    save_import,
)
from prefjudge.study.pooling import load_inputs, load_pools, save_texts
from prefjudge.study.rehearsal import Judge
from prefjudge.study.study import Study


@dataclass(frozen=True, slots=True, kw_only=True)
class Import:
    """Votes to import, and what is to be kept of where they are from."""

    votes: Votes
    name: str
    criterion: str
    digest: str
    judge: Judge
    phase: str
    mapped: str
    when: float


@dataclass(slots=True, kw_only=True)
class Stored:
    """How many votes were new, of which ``dropped`` do not count, and how many were not."""

    added: int = 0
    dropped: int = 0
    known: int = 0
    left_out: int = 0
    notices: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Row:
    """One vote of the file, by names."""

    place: int
    query: str
    left: str
    right: str
    choice: int
    worker: str
    vote_id: str | None

    @property
    def pair(self) -> PairKey:
        return (self.query, *sorted((self.left, self.right)))  # type: ignore[return-value]

    @property
    def for_first(self) -> int:
        """The choice for the first document by doc_id."""
        return self.choice if self.left < self.right else -self.choice


def store_votes(study: Study, made: Import) -> Stored:
    """Store the votes; one transaction holds all of it.

    Raises
    ------
    StudyError
        The file was imported with other columns, a vote with the same id says something else, or no vote is
        about a document of the study's pool.
    """
    result = Stored()
    rows = _rows(made.votes, made)
    with study.transaction() as db:
        if _was_imported(db, made):
            save_texts(db, made.votes.queries, made.votes.passages)  # which may be given later
            result.known = len(rows)
            result.notices.append("these votes were imported before: nothing was added")
            return result
        rows = _new(rows, load_vote_ids(db, made.votes.form), result)
        pools = load_pools(db, newcomers=True)
        if len(pools.queries) and not _pooled_by_imports(db):
            rows = _in_pool(rows, pools, result)
        else:
            add_pooled(db, _contributions(made.votes, rows))
        if not rows:
            return result
        _store(db, study, made, rows, result)
        save_texts(db, made.votes.queries, made.votes.passages)
        ask_for_what_there_is(db)
    return result


def _rows(votes: Votes, made: Import) -> list[_Row]:
    log = votes.log
    columns = (log.query, log.left, log.right, log.choice, log.worker)
    return [
        _Row(
            place=place,
            query=log.queries[query],
            left=log.docs[left],
            right=log.docs[right],
            choice=choice,
            worker=log.workers[worker] if worker >= 0 else "",
            vote_id=f"{votes.ids[place]} {made.criterion}".strip() if votes.ids else None,
        )
        for place, (query, left, right, choice, worker) in enumerate(
            zip(*(column.tolist() for column in columns), strict=True)
        )
    ]


def _was_imported(db: Connection, made: Import) -> bool:
    """Tell whether the same file was imported; with other columns told it would be other votes: refused."""
    before = [one for one in load_imports(db) if (one.digest, one.criterion) == (made.digest, made.criterion)]
    if before and before[0].mapped != made.mapped:
        told = f"--map {before[0].mapped}" if before[0].mapped else "no --map"
        raise StudyError(
            f"{made.name} was imported with {told} before, and its votes cannot be taken back",
            "Make a new study, and import the file there.",
        )
    return bool(before)


def _new(rows: list[_Row], known: Mapping[str, tuple[PairKey, str, int]], result: Stored) -> list[_Row]:
    """Return the votes that the study has not; a vote is known by its id, its pair and its worker.

    Raises
    ------
    StudyError
        A vote is there with another choice.
    """
    fresh = []
    for row in rows:
        before = known.get(row.vote_id) if row.vote_id else None
        if before is None or before[:2] != (row.pair, row.worker):
            fresh.append(row)  # ids of another project may be the same
        elif before[2] == row.for_first:
            result.known += 1
        else:
            raise StudyError(
                f"the vote {row.vote_id!r} on query {row.query!r} was imported with another choice before",
                "Votes are not changed. Import the newer file into a new study.",
            )
    if result.known:
        result.notices.append(f"{many(result.known, 'vote was', 'votes were')} imported before, by their ids")
    return fresh


def _pooled_by_imports(db: Connection) -> bool:
    """Tell whether the pool was made of imported votes alone."""
    return bool(load_imports(db)) and not any(one.kind in ("run", "qrels") for one in load_inputs(db))


def _in_pool(rows: list[_Row], pools: Pools, result: Stored) -> list[_Row]:
    """Return the votes between documents of the pool."""
    members = {
        (pools.queries[query], pools.docs[doc])
        for query, doc in zip(pools.query.tolist(), pools.doc.tolist(), strict=True)
    }
    inside = [row for row in rows if {(row.query, row.left), (row.query, row.right)} <= members]
    result.left_out = len(rows) - len(inside)
    if rows and not inside:
        raise StudyError(
            f"none of the {many(len(rows), 'vote')} is about two documents of the study's pool, "
            f"the first compares {rows[0].left!r} and {rows[0].right!r} for query {rows[0].query!r}",
            "Check the ids; or make a new study without a pool: it gets one of what the votes are about.",
        )
    if result.left_out:
        result.notices.append(
            f"{many(result.left_out, 'vote')} about documents outside the study's pool: left out"
        )
    return inside


def _contributions(votes: Votes, rows: Sequence[_Row]) -> Iterator[tuple[str, str, str]]:
    """Yield the candidates: those that the file names, and all that the votes are about."""
    named = {(query, doc) for query, doc, _ in votes.pooled}
    yield from votes.pooled
    seen = dict.fromkeys(one for row in rows for one in ((row.query, row.left), (row.query, row.right)))
    yield from ((query, doc, "") for query, doc in seen if (query, doc) not in named)


def _store(db: Connection, study: Study, made: Import, rows: Sequence[_Row], result: Stored) -> None:
    number = len(load_imports(db)) + 1
    record = ImportRecord(
        number=number,
        hit_key=f"{study.mark}-import-{number}",
        name=made.name,
        form=made.votes.form,
        criterion=made.criterion,
        digest=made.digest,
        judge=made.judge.value,
        phase=made.phase,
        sides=int(made.votes.log.sides),
        mapped=made.mapped,
        votes=len(rows),
        imported=made.when,
    )
    assignment = _assignments(record, made.votes, rows)
    pairs = add_pairs(db, (row.pair for row in rows))
    dropped = {
        place: made.votes.dropped[row.place]
        for place, row in enumerate(rows)
        if row.place in made.votes.dropped
    }
    work = _work(made.votes, record, rows, assignment)
    save_import(db, record, work, _judgments(made, rows, assignment, pairs), dropped)
    result.added, result.dropped = len(rows), len(dropped)


def _assignments(record: ImportRecord, votes: Votes, rows: Sequence[_Row]) -> list[str]:
    """Return the assignment of each vote: as the file says, else a worker's; none has a pair twice."""
    seen: dict[tuple[str, PairKey], int] = {}
    found = []
    for row in rows:
        said = votes.assignments[row.place] if votes.assignments else row.worker
        again = seen[said, row.pair] = seen.get((said, row.pair), 0) + 1
        found.append(f"{record.hit_key}:{again}:{said}")
    return found


def _work(
    votes: Votes, record: ImportRecord, rows: Sequence[_Row], assignment: Sequence[str]
) -> list[ImportedWork]:
    answered: dict[str, int] = {}
    first: dict[str, _Row] = {}
    drops: dict[str, set[str]] = {}
    for row, name in zip(rows, assignment, strict=True):
        answered[name] = answered.get(name, 0) + 1
        first.setdefault(name, row)
        drops.setdefault(name, set()).add(votes.dropped.get(row.place, ""))
    made = []
    for name, row in first.items():
        said = votes.work.get(votes.assignments[row.place]) if votes.assignments else None
        whole = drops[name]
        verdict = next(iter(whole)) if len(whole) == 1 and "" not in whole else KEPT
        made.append(
            ImportedWork(
                assignment_id=name,
                worker_id=row.worker,
                answered=answered[name],
                gold_right=said.gold_right if said else 0,
                gold_missed=said.gold_missed if said else 0,
                seconds=said.seconds if said else 0.0,
                verdict=said.verdict if said else verdict,
            )
        )
    return made


def _judgments(
    made: Import, rows: Sequence[_Row], assignment: Sequence[str], pairs: Mapping[PairKey, int]
) -> Iterator[ImportedVote]:
    votes = made.votes
    strengths, times = votes.log.strength.tolist(), votes.milliseconds.tolist()
    for row, name in zip(rows, assignment, strict=True):
        said = votes.judges[row.place] if votes.judges else ""
        yield ImportedVote(
            pair_id=pairs[row.pair],
            query_id=row.query,
            left_id=row.left,
            right_id=row.right,
            choice=row.choice,
            strength=strengths[row.place],
            milliseconds=times[row.place],
            worker_id=row.worker,
            judge=Judge.SIMULATED.value if said == Judge.SIMULATED else made.judge.value,
            phase=(votes.phases[row.place] if votes.phases else "") or made.phase,
            assignment_id=name,
            vote_id=row.vote_id,
        )
