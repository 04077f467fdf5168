"""Makes votes that were collected elsewhere part of a study: with their workers, texts and kind."""

import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from prefjudge.core.hits import Passage
from prefjudge.core.pools import Candidate, candidates_of
from prefjudge.database import Connection
from prefjudge.errors import InputError, StudyError
from prefjudge.reading.files import Notice, is_text, write_alike
from prefjudge.reading.given import as_folder, as_path, several
from prefjudge.reading.held import Held
from prefjudge.reading.inputs import ForeignVotes, Source, Texts, maybe, take_texts, take_votes
from prefjudge.reading.labels import rehearsal_in
from prefjudge.reading.texts.collections import read_passages
from prefjudge.reading.texts.texts import read_queries
from prefjudge.reading.unpacking import digest_of_content
from prefjudge.reading.votes.tables import Row, Votes, digest_of_rows, parse_map
from prefjudge.reading.votes.votes import LOG, LOG_FORM, HowVotesAreRead, read_votes, with_log
from prefjudge.show.results import Shown
from prefjudge.study.assignments import KEPT
from prefjudge.study.imports import (
    CARRIED_KEYS,
    AssignmentWork,
    ImportedVote,
    ImportRecord,
    PairKey,
    add_pairs,
    add_pooled,
    ask_for_what_there_is,
    load_imports,
    load_named_votes,
    load_vote_ids,
    load_votes,
    pooled_by,
    save_carried,
    save_import,
    save_votes,
)
from prefjudge.study.people import Judge, load_rehearsal
from prefjudge.study.pools import is_published, load_copies, load_pools, save_texts
from prefjudge.study.store import Study, new_study, open_study
from prefjudge.words import Rehearsal, many

# Which votes of a file are new to a study: each is added once, however often it is imported.


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

    def save_texts(self, db: Connection) -> None:
        """Store the texts of the votes."""
        shown = self.votes.shown
        passages = {doc: Passage(text, shown.get(doc, ())) for doc, text in self.votes.passages.items()}
        save_texts(db, self.votes.queries, passages)


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
    of: str = ""
    """The choice out of several passages that it is a win of; empty where two were compared."""

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
            of=f"{votes.assignments[place]} {log.queries[query]} {votes.chosen_from[place]}"
            if votes.chosen_from and votes.chosen_from[place]
            else "",
        )
        for place, (query, left, right, choice, worker) in enumerate(
            zip(*(column.tolist() for column in columns), strict=True)
        )
    ]


def whole(rows: Sequence[VoteRow], kept: Sequence[bool]) -> list[VoteRow]:
    """Return the votes that are kept, but no part of a choice: its wins are kept or left out together."""
    torn = {row.of for row, keep in zip(rows, kept, strict=True) if row.of and not keep}
    return [row for row, keep in zip(rows, kept, strict=True) if keep and row.of not in torn]


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
    """Return the votes that the study has not; a vote is known by its id, its pair and its worker."""
    fresh = []
    for row in rows:
        before = known.get(row.vote_id) if row.vote_id else None
        if before is None or before[:2] != (row.pair, row.worker):
            fresh.append(row)  # ids of another project may be the same
        elif before[2] == row.for_first:
            result.known += 1
        else:
            raise StudyError(  # the id may hold the worker's
                f"a vote on {row.left!r} and {row.right!r} for query {row.query!r} was already imported "
                "under the same id, with another choice",
                "A vote never changes. Import the newer file into a new study.",
            )
    if result.known:
        result.notices.append(
            f"{many(result.known, 'vote was', 'votes were')} imported before, under the same ids"
        )
    return fresh


def without_repeats(
    rows: list[VoteRow], before: Mapping[tuple[PairKey, str, int], int], result: Stored
) -> list[VoteRow]:
    """Return the votes without those that an earlier file had, of which neither gives ids."""
    # A worker's vote is known by the pair and the choice, as often as the study has it. Of unknown workers
    # nobody can tell a copy from somebody else's vote. A choice is known by all its wins.
    left, fresh, alike = Counter(before), [], 0
    made: dict[str | int, list[VoteRow]] = {}
    for row in rows:
        made.setdefault(row.of or row.place, []).append(row)
    for of in made.values():
        keys = [(row.pair, row.worker, row.for_first) for row in of]
        again = all(row.vote_id is None and left[key] > 0 for row, key in zip(of, keys, strict=True))
        if again:
            left.subtract(keys)
        if again and of[0].worker:
            result.known += len(of)
        else:
            alike += again * len(of)
            fresh += of
    if len(fresh) < len(rows):
        said = many(len(rows) - len(fresh), "vote", "votes")
        result.notices.append(
            f"{said} left out: the same workers' votes on the same pairs were imported before"
        )
    if alike:
        said = many(alike, "vote is", "votes are")
        result.notices.append(
            f"{said} like earlier ones, without ids or workers to tell them apart: they count as new votes"
        )
    return fresh


# Stores imported votes in a study: all in one transaction, and those that are there already not again.


def store_votes(study: Study, made: Import) -> Stored:
    """Store the votes; one transaction holds all of it."""
    result = Stored()
    rows = rows_of(made.votes, made)
    with study.transaction() as db:
        if was_imported(db, made):
            made.save_texts(db)  # which may be given later
            result.known = len(rows)
            result.notices.append("these votes were imported before: nothing was added")
            return result
        if made.votes.carried:
            save_carried(db, study.folder, made.votes.carried)
        pools = load_pools(db, newcomers=True)
        stand_in = load_copies(db).standing(pools)
        rows = _of_candidates(rows, stand_in, result)
        rows = without_known_ids(rows, load_vote_ids(db, made.votes.form), result)
        rows = without_repeats(rows, load_named_votes(db, made.votes.form, made.criterion), result)
        members = {*candidates_of(pools)}
        pooled = len(pools.queries) > 0 and not _pooled_by_imports(db)
        published = pooled and is_published(db)
        if pooled:
            rows = _in_pool(rows, members, result, published=published)
        if not published:
            given = _contributions(made.votes, rows, members)
            add_pooled(db, ((query, stand_in.get((query, doc), doc), source) for query, doc, source in given))
        if not rows and not made.votes.carried:
            return result
        if rows:
            _store(db, study, made, rows, result)
        made.save_texts(db)
        if not made.votes.carried:  # what a log carries says how many votes each pair is to have
            ask_for_what_there_is(db)
    return result


def _pooled_by_imports(db: Connection) -> bool:
    """Tell whether the pool was made of imported votes alone."""
    return bool(load_imports(db)) and not pooled_by(db)


def _in_pool(
    rows: list[VoteRow], members: Set[tuple[str, str]], result: Stored, *, published: bool
) -> list[VoteRow]:
    """Return the votes that a pool of runs takes: once it is published, those between its documents."""
    known = [((row.query, row.left) in members) + ((row.query, row.right) in members) for row in rows]
    if rows and max(known) < (2 if published else 1):
        queries, docs = ({one[place] for one in members} for place in (0, 1))
        way = write_alike("query_id", {row.query for row in rows}, queries, "votes and runs")
        if any(row.query in queries for row in rows):
            way = write_alike("doc_id", {row.left for row in rows}, docs, "votes and runs")
        what = "two documents" if published else "a document"
        raise StudyError(
            f"none of the {many(len(rows), 'vote')} is about {what} of the study's pool, "
            f"the first compares {rows[0].left!r} and {rows[0].right!r} for query {rows[0].query!r}",
            f"{way} Or make a new study without a pool: it gets one of what the votes are about.",
        )
    inside = whole(rows, [count == 2 for count in known]) if published else rows
    outside = len(rows) - len(inside) if published else sum(count < 2 for count in known)
    if outside:
        what = "left out" if published else "these are now candidates too"
        said = f"{many(outside, 'vote')} about documents outside the study's pool: {what}"
        result.notices.append(said + (_AS_A_WHOLE if published and any(row.of for row in rows) else ""))
        result.left_out += outside if published else 0
    return inside


_AS_A_WHOLE = "; a choice out of several is left out as a whole"


def _of_candidates(rows: list[VoteRow], stand_in: Mapping[Candidate, str], result: Stored) -> list[VoteRow]:
    """Return the votes with candidates in the place of their copies; one between two copies says nothing."""
    if not stand_in:
        return rows
    named = [
        replace(
            row,
            left=stand_in.get((row.query, row.left), row.left),
            right=stand_in.get((row.query, row.right), row.right),
        )
        for row in rows
    ]
    pairs = Counter((row.of, row.pair) for row in named if row.of)  # two of those shown may be one, too
    told = whole(named, [row.left != row.right and pairs[row.of, row.pair] < 2 for row in named])
    if len(told) < len(named):
        what = f"{many(len(named) - len(told), 'vote')} between two copies of one text: left out"
        result.notices.append(what + (_AS_A_WHOLE if pairs else ""))
        result.left_out += len(named) - len(told)
    return told


def _contributions(
    votes: Votes, rows: Sequence[VoteRow], members: Set[tuple[str, str]]
) -> Iterator[tuple[str, str, str]]:
    """Yield the candidates: those that the file names, and all others that the votes are about."""
    # Who first had the `members` of the pool is known: no votes have them from nowhere.
    named = {(query, doc) for query, doc, _ in votes.pooled} | members
    yield from votes.pooled
    seen = dict.fromkeys(one for row in rows for one in ((row.query, row.left), (row.query, row.right)))
    yield from ((query, doc, "") for query, doc in seen if (query, doc) not in named)


def _store(db: Connection, study: Study, made: Import, rows: Sequence[VoteRow], result: Stored) -> None:
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
    known = {(model, vote.pair) for model, vote in load_votes(db)}
    for model, vote in made.votes.models:  # a vote that is there is never changed
        if vote.pair in pairs and (model, vote.pair) not in known:
            save_votes(db, model, [(pairs[vote.pair], vote)])
    dropped = {
        place: made.votes.dropped[row.place]
        for place, row in enumerate(rows)
        if row.place in made.votes.dropped
    }
    work = _work(made.votes, record, rows, assignment)
    save_import(db, record, work, _judgments(made, rows, assignment, pairs), dropped)
    result.added, result.dropped = len(rows), len(dropped)


def _assignments(record: ImportRecord, votes: Votes, rows: Sequence[VoteRow]) -> list[str]:
    """Return the assignment of each vote: as the file says, else a worker's; none has a pair twice."""
    seen: dict[tuple[str, PairKey], int] = {}
    found = []
    for row in rows:
        said = votes.assignments[row.place] if votes.assignments else row.worker
        again = seen[said, row.pair] = seen.get((said, row.pair), 0) + 1
        found.append(f"{record.hit_key}:{again}:{said}")
    return found


def _work(
    votes: Votes, record: ImportRecord, rows: Sequence[VoteRow], assignment: Sequence[str]
) -> list[AssignmentWork]:
    answered: dict[str, int] = {}
    first: dict[str, VoteRow] = {}
    drops: dict[str, set[str]] = {}
    for row, name in zip(rows, assignment, strict=True):
        answered[name] = answered.get(name, 0) + 1
        first.setdefault(name, row)
        drops.setdefault(name, set()).add(votes.dropped.get(row.place, ""))
    gold, made = dict(votes.gold), []
    for name, row in first.items():
        right, missed = gold.pop(row.worker, (0, 0))
        said = votes.work.get(votes.assignments[row.place]) if votes.assignments else None
        whole = drops[name]
        verdict = next(iter(whole)) if len(whole) == 1 and "" not in whole else KEPT
        made.append(
            AssignmentWork(
                assignment_id=name,
                worker_id=row.worker,
                answered=said.answered if said else answered[name] + right + missed,
                gold_right=said.gold_right if said else right,
                gold_missed=said.gold_missed if said else missed,
                seconds=said.seconds if said else 0.0,
                verdict=said.verdict if said else verdict,
            )
        )
    return made


def _judgments(
    made: Import, rows: Sequence[VoteRow], assignment: Sequence[str], pairs: Mapping[PairKey, int]
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
            shown=votes.chosen_from[row.place] if votes.chosen_from else "",
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class ImportResult(Shown):
    """What was imported: ``votes`` are new, ``dropped`` of them do not count, ``known`` were there.

    ``left_out`` are about documents outside the study's published pool. ``read_as`` says what the file was
    taken for.
    """

    study: str
    votes: int
    dropped: int
    known: int
    left_out: int
    queries: int
    documents: int
    workers: int
    read_as: str
    rehearsal: Rehearsal | None
    notices: tuple[str, ...]


def import_votes(
    study: str | Path | Study,
    votes: ForeignVotes,
    *,
    map: Sequence[str] = (),
    criterion: str | None = None,
    items: str | Path | None = None,
    judge: Judge | Literal["person", "simulated"] | None = None,
    phase: str | None = None,
    queries: Texts | None = None,
    collection: Texts | None = None,
) -> ImportResult:
    """Make existing votes part of a study: they count like votes that it collected, and nothing is paid.

    The file is a release or its judgments.jsonl; the log of a board, which makes the study again; lines of
    query, document, document, preferred; votes of an arena; prompts with the chosen and the rejected answer;
    CrowdRAG-25's ratings; batch results of Mechanical Turk; exports of Label Studio and Potato; or any CSV or
    JSON whose columns are known by their names or by ``map``. All votes are added, or none; the same file is
    not added twice. The documents that the votes are about are candidates, beside those of runs that are
    pooled before or after; once HITs are published, votes about other documents are left out. A folder that
    is not there becomes a study.

    Parameters
    ----------
    study : Path
        The study's folder; a new one becomes a study.
    votes : Path
        The file, or the folder of a release.
    map : sequence of str
        Which column holds what: PART=COLUMN, for instance winner=pref,left=a_id,right=b_id,query=q,worker=w.
        The parts are query, query_text, left, right, left_text, right_text, left_model, right_model, winner,
        worker, id, milliseconds and gold: the expected winner, where the answer is known. Such a comparison
        says how good its worker is, and is not a vote.
    criterion : str, optional
        Which question's votes to take, where the file has several.
    items : Path, optional
        The data file that the votes name by ids, as Potato's exports do.
    judge : Judge, optional
        Who made the votes: ``person``, the default, or ``simulated`` for programs and language models. A file
        that says ``simulated`` itself is believed.
    phase : str, optional
        What to call this work in the study's log; the file's name by default.
    queries : Path, optional
        The texts of the queries, where the file has none.
    collection : Path, optional
        The texts of the documents, where the file has none.

    Raises
    ------
    InputError
        The file cannot be read, with each problem and its line; nothing was written.
    StudyError
        The votes are about other documents than the study's, or contradict what was imported.
    """
    new = not isinstance(study, Study) and not Path(study).exists()
    opened, taken = None if new else open_study(study), take_votes(votes)
    path = taken if isinstance(taken, Held) else Path(taken)
    if str(path) == "-":
        raise InputError("votes are imported from a file, not from the standard input", "Give a file's name.")
    told = parse_map(several(map), str(path))
    how = HowVotesAreRead(told=told, criterion=criterion, items=as_path(items))
    notices: list[Notice] = []
    who = Judge(judge or Judge.PERSON)
    found = read_votes(path, how, notices)
    if found.form == LOG_FORM and isinstance(path, Path):
        found = with_log(found, path, CARRIED_KEYS)
    stamped = rehearsal_in(notices)
    if stamped is not None and not found.judges and who is Judge.PERSON:
        who = Judge.SIMULATED
        what = "the file says that votes are simulated, but not which: all count as simulated"
        notices.append(Notice(where=str(path), what=what))
    found = _with_texts(found, maybe(take_texts, queries), maybe(take_texts, collection), notices)
    name = path.name if isinstance(path, Held) else path.resolve().name
    made = Import(
        votes=found,
        name=name,
        criterion=found.criterion,
        digest=_digest(path),
        judge=who,
        phase=phase or name,
        mapped=",".join(f"{part}={column}" for part, column in sorted(told.items())),
        when=time.time(),
    )
    if opened is None:
        assert not isinstance(study, Study)
        new_study(as_folder(study))
        notices.append(Notice(where=str(study), what="made a new study here"))
        opened = open_study(study)
    stored = store_votes(opened, made)
    notices += [Notice(where=str(path), what=what) for what in stored.notices]
    with opened.transaction(write=False) as db:
        rehearsal = load_rehearsal(db)
    return ImportResult(
        study=str(opened.folder),
        votes=stored.added,
        dropped=stored.dropped,
        known=stored.known,
        left_out=stored.left_out,
        queries=len(found.log.queries),
        documents=len(found.log.docs),
        workers=len(found.log.workers),
        read_as=found.form,
        rehearsal=rehearsal,
        notices=tuple(dict.fromkeys(str(one) for one in notices)),
    )


def _digest(path: Path | Held[Sequence[Row]]) -> str:
    if isinstance(path, Held):
        return digest_of_rows(path)
    return digest_of_content(path / LOG if path.is_dir() else path)


def _with_texts(
    votes: Votes, queries: Source | None, collection: Source | None, notices: list[Notice]
) -> Votes:
    """Return the votes with the texts of other files in the place of their own."""
    # What a log carries is judged later: its candidates need their texts, too.
    asked, shown = dict(votes.queries), dict(votes.passages)
    query_ids = _named(votes.log.queries, votes, "query_id")
    doc_ids = _named(votes.log.docs, votes, "doc_id")
    if queries is not None:
        known = read_queries(queries, notices=notices)
        asked |= {query: known[query] for query in query_ids if query in known}
    if collection is not None:
        read = read_passages(collection, doc_ids, notices=notices)
        shown |= {doc: one.text for doc, one in read.items()}
    for path, what, names, texts in (
        (queries, "queries", query_ids, asked),
        (collection, "documents", doc_ids, shown),
    ):
        missing = [name for name in names if name not in texts]
        if path is not None and missing:
            found = (
                f"lacks {len(missing):,} of the {len(names):,} {what} that are named, such as {missing[0]!r}"
            )
            notices.append(Notice(where=str(path), what=found))
    return replace(votes, queries=asked, passages=shown)


def _named(names: Sequence[str], votes: Votes, column: str) -> list[str]:
    """Return the ids of votes, and those in a column of what a log carries beside them."""
    carried = (row.get(column) for _, row in votes.carried)
    return list(dict.fromkeys([*names, *(one for one in carried if isinstance(one, str) and is_text(one))]))
