"""Stores imported votes in a study: all in one transaction, and those that are there already not again."""

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import replace

from prefjudge.core.copies import Candidate, candidates_of
from prefjudge.database import Connection
from prefjudge.errors import StudyError
from prefjudge.reading.files import write_alike
from prefjudge.reading.votes.tables import Votes
from prefjudge.steps.import_votes.repeats import (
    Import,
    Stored,
    VoteRow,
    rows_of,
    was_imported,
    without_known_ids,
    without_repeats,
)
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
    load_named_votes,
    load_vote_ids,
    load_votes,
    pooled_by,
    save_carried,
    save_import,
    save_votes,
)
from prefjudge.study.people import Judge
from prefjudge.study.pools import is_published, load_copies, load_pools, save_texts
from prefjudge.study.store import Study
from prefjudge.words import many


def store_votes(study: Study, made: Import) -> Stored:
    """Store the votes; one transaction holds all of it.

    Raises
    ------
    StudyError
        The file was imported with other columns, a vote with the same id says something else, or no vote is
        about a document of the study's pool.
    """
    result = Stored()
    rows = rows_of(made.votes, made)
    with study.transaction() as db:
        if was_imported(db, made):
            save_texts(db, made.votes.queries, made.votes.passages)  # which may be given later
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
        save_texts(db, made.votes.queries, made.votes.passages)
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
    inside = [row for row, count in zip(rows, known, strict=True) if count == 2]
    outside = len(rows) - len(inside)
    if outside:
        what = "left out" if published else "these are candidates now, too"
        result.notices.append(f"{many(outside, 'vote')} about documents outside the study's pool: {what}")
    if not published:
        return rows
    result.left_out += outside
    return inside


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
    told = [row for row in named if row.left != row.right]
    if len(told) < len(named):
        what = f"{many(len(named) - len(told), 'vote')} between two copies of one text: left out"
        result.notices.append(what)
        result.left_out += len(named) - len(told)
    return told


def _contributions(
    votes: Votes, rows: Sequence[VoteRow], members: Set[tuple[str, str]]
) -> Iterator[tuple[str, str, str]]:
    """Yield the candidates: those that the file names, and all others that the votes are about.

    Who first had the ``members`` of the pool is known: no votes have them from nowhere.
    """
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
) -> list[ImportedWork]:
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
            ImportedWork(
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
        )
