"""The report's sections on how a study was judged, and the paragraph that says so in a paper."""

import re
from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import asdict, replace
from functools import cache
from math import ceil, isfinite
from pathlib import Path

from prefjudge.core.pools import Pools
from prefjudge.errors import PrefjudgeError
from prefjudge.field.history import Version, history
from prefjudge.pages.page import Candidate, CloserLook, QueryLook, Said, Section, Vote
from prefjudge.show.boards import votings_words
from prefjudge.show.cells import Column, Table
from prefjudge.show.statistics import changes_table, remarks_table, workers_table
from prefjudge.show.tables import escape_latex
from prefjudge.steps.report.material import (
    Answers,
    Material,
    made_from,
    pool_picture,
    strategy_words,
    work_picture,
    workers_picture,
)
from prefjudge.study.hits import asked_design, rewards_paid
from prefjudge.study.imports import load_imports, load_votes
from prefjudge.study.judgments import LoggedJudgment, each_judgment
from prefjudge.study.people import Judge, Judges, PrivateWords, load_workers
from prefjudge.study.pools import is_published, load_inputs, load_pool_sizes
from prefjudge.study.progress import load_remarks
from prefjudge.study.store import Study
from prefjudge.version import __version__
from prefjudge.words import chance_text, many

# The paragraph on methods for a paper's appendix, with its sources, for the page, LaTeX and BibTeX.


@cache
def _publications() -> dict[str, tuple[str, str]]:
    """Return how each publication of ``references.bib`` is cited, and its entry, by its key."""
    text = Path(__file__).with_name("references.bib").read_text("utf-8").replace("VERSION", __version__)
    found = {}
    for source in text.split("\n\n"):
        cited, _, entry = source.removeprefix("% ").rstrip().partition("\n")
        found[entry.partition("{")[2].partition(",")[0]] = cited, f"{entry}\n"
    return found


_CITED = re.compile(r"\[@([a-z]+[0-9]*)\]")
"""A citation in a paragraph: ``[@holm1979]``. A run may be called so: only known keys count."""


def with_citations(text: str) -> str:
    """Return a paragraph for people: ``(Holm, 1979)``."""
    known = _publications()
    return _CITED.sub(lambda found: f"({known[found[1]][0]})" if found[1] in known else found[0], text)


def to_latex(text: str) -> str:
    r"""Return a paragraph for LaTeX, with ``~\cite{holm1979}``; every other character is escaped."""
    parts = _CITED.split(text)
    written = [escape_latex(parts[0])]
    for key, words in zip(parts[1::2], parts[2::2], strict=True):
        written.append(rf"\cite{{{key}}}" if key in _publications() else escape_latex(f"[@{key}]"))
        written.append(escape_latex(words))
    return "".join(written) + "\n"


def to_bibtex(text: str) -> str:
    """Return the entries that a paragraph cites, in the order of their keys."""
    known = _publications()
    return "\n".join(known[key][1] for key in sorted({*_CITED.findall(text)} & {*known}))


def methods_section(material: Material) -> list[Section]:
    """Return the paragraph on methods, with its sources."""
    text = describe_methods(material)
    return [
        Section(
            heading="For a paper",
            fold="Methods",
            finding="What was done and found, in a paragraph with its sources.",
            words=(with_citations(text),),
            command=to_bibtex(text),
        )
    ]


def describe_methods(material: Material) -> str:
    """Return what was done and found, in a paragraph that cites its sources by their keys."""
    parts = [_pooled(material), _judged(material)]
    for part in (_resolved, _scored):
        try:
            parts.append(part(material))
        except PrefjudgeError:  # not yet: the paragraph grows with the study
            continue
    seed = material.study.config.seed
    parts.append(f"All of this was computed with prefjudge [@prefjudge], seed {seed}.")
    return " ".join(filter(None, parts))


def _pooled(material: Material) -> str:
    state, config = material.state, material.study.config
    with material.study.transaction(write=False) as db:
        inputs = load_inputs(db)
    runs = sum(one.kind == "run" for one in inputs)
    labels = [one.name for one in inputs if one.kind == "qrels"]
    what = f"{many(state.queries, 'query')} ({many(state.pairs, 'pair')} of passages)"
    if not runs:
        return f"The candidates of {what} were given."
    top = "passage" if config.pool.depth == 1 else f"{config.pool.depth} passages"
    known = f" with known relevant passages of the {' and '.join(labels)} qrels" if labels else ""
    return f"We pooled the top {top} of {many(runs, 'run')}{known} for {what} [@arabzadeh2022]."


def _held(asked: int, gold: int, passages: int) -> tuple[str, str]:
    """Return what a HIT holds, in words."""
    if passages == 2:
        return many(asked, "pair"), many(gold, "hidden gold pair")
    return f"{many(asked, 'question')} of up to {passages} passages", many(gold, "hidden gold question")


def _judged(material: Material) -> str:
    state, design = material.state, asked_design(material.study)
    with material.study.transaction(write=False) as db:
        published = is_published(db)
    made = [f"{many(one.judgments, 'judgment')} of {people_of(one)}" for one in material.judges]
    if not made:
        return ""
    dropped = f"; {state.dropped_judgments:,} were dropped by screening" if state.dropped_judgments else ""
    held = _held(design.pairs_per_hit, design.gold_per_hit, material.study.config.hit.passages)
    asked = (
        f' Each HIT had {" and ".join(held)}, and workers were asked: "{design.question}"'
        if published
        else ""
    )
    return f"Passages were compared side by side: {' and '.join(made)} count{dropped}.{asked}"


def _resolved(material: Material) -> str:
    found = material.answers
    decided = ", ".join(
        f"{count:,} {status}" for status, count in found.best.resolutions.counts().items() if count
    )
    options = "" if found.best.version else found.best.how.options
    text = f"The judgments of each query were resolved by {found.best.resolutions.rule}{options} ({decided})."
    if found.sure is not None and isfinite(found.sure.mean):
        text += (
            " By a Bradley–Terry model with lapses [@bradley1952] a winner is the best of its pool with a "
            f"mean probability of {chance_text(found.sure.mean)}."
        )
    return text


def _scored(material: Material) -> str:
    result = material.scored
    measures = " and ".join(dict.fromkeys(board.leaderboard.measure for board in result.boards))
    names = " and ".join(dict.fromkeys(board.leaderboard.qrels for board in result.boards))
    text = f"Runs were scored by {measures} under the {names} qrels"
    if any(board.standings for board in result.boards):
        text += ", and told apart by paired t tests of all pairs with Holm's correction at 5 % [@holm1979]"
    text += "."
    for pair in result.tau:
        if isfinite(pair.tau):
            boards = f"{' and '.join(dict.fromkeys(pair.measures))} under {' and '.join(pair.qrels)}"
            found = f"{pair.tau:.2f}{votings_words(pair)}"
            text += f" Kendall's τ [@kendall1938] between the boards of {boards} is {found}."
    return text


def people_of(one: Judges) -> str:
    """Return who made judgments: people, or what stands in for them."""
    if one.judge is Judge.SIMULATED:
        return many(one.workers, "simulated worker") if one.workers else "simulated workers"
    return many(one.workers, "person", "people") if one.workers else "people who are not named"


# The report's sections on how a study was judged: its challenges, its workers, its money, its design.


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
    config, design, pool = study.config, asked_design(study), study.config.pool
    with study.transaction(write=False) as db:
        inputs, imports = load_inputs(db), load_imports(db)
        published = is_published(db) or not imports
    strategy = strategy_words(study)
    rows = (
        ("pool", f"top {pool.depth} of each run, order {pool.order}, qrels {pool.qrels}"),
        ("HIT", ", ".join(_held(design.pairs_per_hit, design.gold_per_hit, config.hit.passages))),
        ("strategy", strategy) if strategy else ("judgments of a pair", str(design.judgments_per_pair)),
        ("screening", str(config.screening.policy)),
        ("reward", f"${rewards_paid(study)}"),
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
