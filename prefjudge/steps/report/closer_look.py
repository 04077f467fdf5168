"""What a reader of the report can open: each query with its votes, each run, each worker."""

from collections import defaultdict
from collections.abc import Mapping
from functools import cache
from math import ceil, isfinite

from prefjudge.core.pools import Pools
from prefjudge.errors import PrefjudgeError
from prefjudge.pages.page import Candidate, CloserLook, QueryLook, Said, Vote
from prefjudge.show.cells import Table
from prefjudge.steps.report.judging import workers_of
from prefjudge.steps.report.material import Answers, Material
from prefjudge.study.judgments import LoggedJudgment, each_judgment
from prefjudge.study.people import PrivateWords
from prefjudge.study.progress import load_remarks
from prefjudge.study.store import Study


def look_closer(material: Material) -> CloserLook:
    """Gather what the page's script shows of queries, runs and workers, without worker ids."""
    try:
        boards = material.scored.boards
    except PrefjudgeError:  # a section has said why
        boards = ()
    try:
        queries = _queries(material.study, material.answers)
    except PrefjudgeError:
        queries = ()
    try:
        people: Table | None = workers_of(material)
    except PrefjudgeError:
        people = None
    sides = queries == () or material.answers.best.votes.log.sides
    return CloserLook(queries=queries, boards=boards, workers=people, sides=sides)


def _queries(study: Study, found: Answers) -> tuple[QueryLook, ...]:
    named = cache(lambda worker: study.opaque("worker", worker) if worker else "")
    votes: dict[str, list[Vote]] = defaultdict(list)
    workers = set()
    with study.transaction(write=False) as db:
        for one in each_judgment(db):
            votes[one.query_id].append(_vote(one, named(one.worker_id)))
            workers.add(one.worker_id)
        remarks = load_remarks(db)
    words = PrivateWords(workers)
    said: dict[str, list[Said]] = defaultdict(list)
    for remark in remarks:
        comment = words.without_names(remark.comment)
        if comment or remark.unable:
            of_pair = Said(named(remark.worker_id), remark.doc_a, remark.doc_b, remark.unable, comment)
            said[remark.query_id].append(of_pair)
    candidates = _candidates(found)
    return tuple(
        QueryLook(
            query=one.query_id,
            text=found.queries.get(one.query_id, ""),
            status=one.status.value,
            missing=one.missing,
            candidates=(own := candidates.get(one.query_id, ())),
            votes=_among(own, votes[one.query_id]),
            said=tuple(said[one.query_id]),
        )
        for one in found.best.resolutions
    )


def _vote(one: LoggedJudgment, worker: str) -> Vote:
    """Return a vote as others may see it: to the millisecond its time could tell whose it is."""
    seconds = ceil(one.milliseconds / 1000)
    reason = one.dropped.partition(":")[0]  # what follows a colon is written for the worker
    return Vote(one.left, one.right, one.choice, worker, seconds, reason)


def _among(candidates: tuple[Candidate, ...], votes: list[Vote]) -> tuple[Vote, ...]:
    """Return the votes between candidates."""
    docs = {passage.doc for passage in candidates}
    return tuple(vote for vote in votes if vote.left in docs and vote.right in docs)


def _candidates(found: Answers) -> Mapping[str, tuple[Candidate, ...]]:
    """Return the passages of each query, the most probable best one first."""
    rows, chance = found.best.resolutions, found.chance.tolist()
    pools = found.best.votes.pools
    sources = _sources(pools) if pools else {}
    listed: dict[str, list[Candidate]] = defaultdict(list)
    for row, (query, doc) in enumerate(zip(rows.query.tolist(), rows.doc.tolist(), strict=True)):
        query_id, doc_id = rows.queries[query], rows.docs[doc]
        listed[query_id].append(
            Candidate(
                doc=doc_id,
                text=found.passages.get(doc_id, ""),
                labelled=doc_id in found.labelled.get(query_id, ()),
                best=bool(rows.winner[row]),
                chance=chance[row] if isfinite(chance[row]) else None,
                sources=tuple(sources.get((query_id, doc_id), ())),
            )
        )
    return {
        query: tuple(sorted(each, key=lambda one: (not one.best, -(one.chance or 0.0), one.doc)))
        for query, each in listed.items()
    }


def _sources(pools: Pools) -> dict[tuple[str, str], list[str]]:
    """Return who put each passage of a query into its pool."""
    found: dict[tuple[str, str], list[str]] = defaultdict(list)
    for row, source in zip(pools.source_row.tolist(), pools.source.tolist(), strict=True):
        found[pools.queries[pools.query[row]], pools.docs[int(pools.doc[row])]].append(pools.sources[source])
    return found
