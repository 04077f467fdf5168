"""The report's sections on how a study was judged: its challenges, its workers, its money, its design."""

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import asdict, replace
from functools import cache
from math import ceil, isfinite

from prefjudge.core.pools import Pools
from prefjudge.errors import PrefjudgeError
from prefjudge.field.history import Version, history
from prefjudge.pages.page import Candidate, CloserLook, QueryLook, Said, Section, Vote
from prefjudge.show.cells import Column, Table
from prefjudge.show.statistics import changes_table, remarks_table, workers_table
from prefjudge.steps.report.material import Answers, Material, made_from, strategy_words
from prefjudge.steps.report.methods import people_of
from prefjudge.steps.report.pictures import pool_picture, work_picture, workers_picture
from prefjudge.study.imports import load_imports, load_votes
from prefjudge.study.judgments import LoggedJudgment, each_judgment
from prefjudge.study.people import PrivateWords, load_workers
from prefjudge.study.pools import is_published, load_inputs, load_pool_sizes
from prefjudge.study.progress import load_remarks
from prefjudge.study.store import Study
from prefjudge.version import __version__
from prefjudge.words import many


def challenges_section(material: Material) -> list[Section]:
    """Return what became of the newcomers of new runs, where there were any."""
    versions = history(material.study, moves=False).versions
    if len(versions) < 2:
        return []
    findings = [
        f"{many(sum(not duel.returned for duel in one.duels), 'newcomer')} met the best answers, and "
        f"{sum(duel.dethroned and not duel.returned for duel in one.duels):,} took their place"
        f"{_returned(one)}: version {one.version}."
        for one in versions[1:]
    ]
    table = changes_table({one.version: (one.changes, one.duels) for one in versions})
    return [
        Section(
            heading="Challenges",
            fold="Queries",
            finding=" ".join(findings),
            tables=(table,) if table.rows else (),
        )
    ]


def _returned(version: Version) -> str:
    count = sum(duel.returned for duel in version.duels)
    return f"; in {count:,} an earlier candidate is the best after all" if count else ""


def judging_section(material: Material) -> list[Section]:
    """Return who judged what, for how much."""
    study, state = material.study, material.state
    with study.transaction(write=False) as db:
        sizes, models = load_pool_sizes(db), Counter(model for model, _ in load_votes(db))
    pictures = [pool_picture(material, sizes), work_picture(material)]
    hits = ", ".join(f"{count:,} {name}" for name, count in state.hits.items()) or "none"
    of_budget = f" of a budget of ${state.budget}" if state.budget else ""
    kept = ", ".join(f"{count:,} {verdict}" for verdict, count in state.verdicts.items())
    barred = f" Barred: {many(len(state.barred), 'worker')}." if state.barred else ""
    with study.transaction(write=False) as db:
        imports, published = load_imports(db), is_published(db)
    finding = (
        f"HITs: {hits}. {many(state.assignments, 'assignment')}{f': {kept}' if kept else ''}.{barred}"
        if published or not imports
        else "The votes were imported; no HIT was published here."
    )
    words = [
        *_who_judged(material),
        *([f"Committed: ${state.committed}{of_budget}."] if published or not imports else []),
        *(
            f"The model {model} also judged {many(pairs, 'pair')}; its votes are not among the judgments."
            for model, pairs in models.items()
        ),
    ]
    tables = []
    words += [
        f"{many(one.votes, 'vote')} {'was' if one.votes == 1 else 'were'} imported from {one.name}, "
        f"as {one.form}"
        f"{f' on {one.criterion}' if one.criterion else ''}; nothing was paid for them here."
        for one in imports
        if one.votes
    ]
    found = material.people
    if found:
        pictures.append(workers_picture(material, found))
        tables += [table for table in (workers_of(material), _remarks(material)) if table]
        if found.repeated and isfinite(found.alpha):
            words.append(
                f"Krippendorff's alpha over {many(found.repeated, 'repeated pair')}: {found.alpha:.3f}."
            )
        if found.kept and isfinite(found.left_rate) and all(one.sides for one in imports):
            words.append(
                f"The passage on the left won {found.left_rate:.1%} of the comparisons "
                f"(p = {found.left_p:.3g})."
            )
    return [
        Section(
            heading="Judging",
            fold="Crowd",
            finding=finding,
            words=tuple(words),
            pictures=tuple(filter(None, pictures)),
            tables=tuple(tables),
        )
    ]


def _who_judged(material: Material) -> list[str]:
    """Return what was compared, and by whom."""
    state = material.state
    pools = f"the pools of {many(state.queries, 'query')} have {many(state.pairs, 'pair')}"
    dropped = f", and {state.dropped_judgments:,} do not" if state.dropped_judgments else ""
    judged = (
        f"{many(state.judgments, 'judgment')} {'counts' if state.judgments == 1 else 'count'}{dropped}"
        if state.assignments
        else "no pair is judged yet"
    )
    told = [f"{many(one.judgments, 'judgment')} of {people_of(one)}" for one in material.judges]
    who = [f"Who judged: {'; '.join(told)}."] if told else []
    return [f"Passages are compared side by side: {pools}; {judged}.", *who]


def workers_of(material: Material) -> Table | None:
    """Return a row for each worker; none where nobody knows who they are."""
    found = material.people
    return workers_table([asdict(one) for one in found.workers], found.notices) if found else None


def _remarks(material: Material) -> Table | None:
    """Return what workers said, without what says who they are."""
    said = material.people.remarks if material.people else ()
    if not said:
        return None
    with material.study.transaction(write=False) as db:
        words = PrivateWords(load_workers(db))
    cleaned = [replace(one, comment=words.without_names(one.comment)) for one in said]
    return remarks_table([asdict(one) for one in cleaned])


def design_section(material: Material) -> list[Section]:
    """Return what people were asked, and what the study was made from."""
    study = material.study
    config, design, pool = study.config, study.config.design, study.config.pool
    with study.transaction(write=False) as db:
        inputs, imports = load_inputs(db), load_imports(db)
        published = is_published(db) or not imports
    strategy = strategy_words(study)
    rows = (
        ("pool", f"top {pool.depth} of each run, order {pool.order}, qrels {pool.qrels}"),
        ("HIT", f"{many(design.pairs_per_hit, 'pair')}, {many(design.gold_per_hit, 'hidden gold pair')}"),
        ("strategy", strategy) if strategy else ("judgments of a pair", str(design.judgments_per_pair)),
        ("screening", str(config.screening.policy)),
        ("reward", f"${config.hit.reward:.2f}"),
        ("rule", config.rule),
        ("seed", str(config.seed)),
        ("prefjudge", __version__),
    )
    files = (
        *((one.kind, one.name, one.digest) for one in inputs),
        *(("votes", one.name, one.digest) for one in imports),
    )
    what, value = Column(name="what"), Column(name="value")
    return [
        Section(
            heading="How it was made",
            fold="Methods",
            finding=f"Workers were asked: {design.question}"
            if published
            else "The votes were imported; what people were asked is not known here.",
            tables=(
                Table(title="Design", columns=(what, value), rows=rows if published else rows[-3:]),
                made_from(files),
            ),
        )
    ]


# What a reader of the report can open: each query with its votes, each run, each worker.


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
