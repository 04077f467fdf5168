"""Which votes of a file are new to a study: each is added once, however often it is imported."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from prefjudge.database import Connection
from prefjudge.errors import StudyError
from prefjudge.reading.votes.tables import Votes
from prefjudge.study.imports import PairKey, load_imports
from prefjudge.study.people import Judge
from prefjudge.words import many


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
class VoteRow:
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
        """The query and the documents by doc_id."""
        return (self.query, *sorted((self.left, self.right)))  # type: ignore[return-value]

    @property
    def for_first(self) -> int:
        """The choice for the first document by doc_id."""
        return self.choice if self.left < self.right else -self.choice


def rows_of(votes: Votes, made: Import) -> list[VoteRow]:
    """Return the votes of a file by names."""
    log = votes.log
    columns = (log.query, log.left, log.right, log.choice, log.worker)
    return [
        VoteRow(
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


def was_imported(db: Connection, made: Import) -> bool:
    """Tell whether the same file was imported; with other columns told it would be other votes: refused."""
    before = [one for one in load_imports(db) if (one.digest, one.criterion) == (made.digest, made.criterion)]
    if before and before[0].mapped != made.mapped:
        told = f"--map {before[0].mapped}" if before[0].mapped else "no --map"
        raise StudyError(
            f"{made.name} was imported with {told} before, and its votes cannot be taken back",
            "Make a new study, and import the file there.",
        )
    return bool(before)


def without_known_ids(
    rows: list[VoteRow], known: Mapping[str, tuple[PairKey, str, int]], result: Stored
) -> list[VoteRow]:
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
            raise StudyError(  # the id may hold the worker's
                f"a vote on {row.left!r} and {row.right!r} for query {row.query!r} was imported with another "
                "choice before, under the same id",
                "Votes are not changed. Import the newer file into a new study.",
            )
    if result.known:
        result.notices.append(f"{many(result.known, 'vote was', 'votes were')} imported before, by their ids")
    return fresh


def without_repeats(
    rows: list[VoteRow], before: Mapping[tuple[PairKey, str, int], int], result: Stored
) -> list[VoteRow]:
    """Return the votes without those that an earlier file had, of which neither gives ids.

    A worker's vote is known by the pair and the choice, as often as the study has it. Of unknown workers
    nobody can tell a copy from somebody else's vote.
    """
    left, fresh, alike = dict(before), [], 0
    for row in rows:
        key = (row.pair, row.worker, row.for_first)
        again = row.vote_id is None and left.get(key, 0) > 0
        if again:
            left[key] -= 1
        if again and row.worker:
            result.known += 1
        else:
            alike += again
            fresh.append(row)
    if len(fresh) < len(rows):
        said = many(len(rows) - len(fresh), "vote", "votes")
        result.notices.append(f"{said} of the same workers on the same pairs, imported before: left out")
    if alike:
        said = many(alike, "vote is", "votes are")
        result.notices.append(
            f"{said} like votes imported before, without ids and workers to tell them apart: they count, too"
        )
    return fresh
