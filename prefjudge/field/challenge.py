"""What brings candidates into a study: its pool, and challenges by the top results of new runs."""

import hashlib
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from prefjudge.core.copies import NO_COPIES, Copies, copies_in, labels_of_candidates, merge_copies
from prefjudge.core.hits import Passage
from prefjudge.core.planning.rounds import (
    Challenge,
    conclude_challenge,
    gather_challenge,
    of_size,
    parse_strategy,
    taken_out,
)
from prefjudge.core.planning.sure import Sure
from prefjudge.core.pools import (
    Candidate,
    Pairs,
    Pools,
    QrelsPerQuery,
    build_pools,
    candidates_of,
    drop_candidates,
    pools_of,
    select_queries,
)
from prefjudge.database import Connection
from prefjudge.errors import InputError, StudyError
from prefjudge.findings.answers import load_best_answers
from prefjudge.reading.files import write_alike
from prefjudge.reading.given import InputFile, input_files
from prefjudge.reading.pools import read_copies
from prefjudge.reading.runs.heads import Reader
from prefjudge.reading.texts.collections import read_passages
from prefjudge.reading.texts.records import PLAIN, TextFields
from prefjudge.study.answers import (
    OpenChallenge,
    last_version,
    load_answers,
    load_open_challenge,
    save_answers,
    save_challenge,
    save_conclusion,
)
from prefjudge.study.assignments import load_choices, load_judgments
from prefjudge.study.hits import check_question
from prefjudge.study.imports import join_pool, load_imports, pooled_by
from prefjudge.study.pools import (
    fields_of,
    is_published,
    load_contributions,
    load_copies,
    load_inputs,
    load_passages,
    load_pool_pairs,
    load_pools,
    load_shown,
    save_copies,
    save_inputs,
    save_pools,
    save_texts,
    save_votes_wanted,
    way_to_show,
)
from prefjudge.study.progress import count_rows
from prefjudge.study.store import BEING_REBUILT, RECOVERING, Study, command, current_target, load_setting
from prefjudge.words import many

USUAL_RULE = Sure(0.9, patience=400)
"""A challenge ends once a query's best answer has this probability, by all votes of all rounds, or where a
further right winner would take more votes than this, and more the more candidates have come in.
``scripts/upkeep`` compares it with other rules."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """A challenge as it begins: how many newcomers, on how many queries, and what the new runs bring.

    ``copies`` are the first documents that are copies of a candidate, by query_id and doc_id.
    """

    newcomers: int
    queries: int
    unknown: tuple[str, ...]
    runs: tuple[str, ...]
    copies: dict[Candidate, str]


def open_challenge(
    study: Study,
    reader: Reader,
    paths: Sequence[str | Path],
    collection: str | Path | None,
    copies: str | Path | None = None,
    fields: TextFields = PLAIN,
    sure: float | None = None,
) -> Opened:
    """Find the newcomers of new runs and record them; ``run`` then has them judged.

    Each query is judged until its best answer is ``sure`` enough; by default as sure as ``run --sure`` made
    it, if that drove the study.
    """
    _conclude_rebuilt(study)
    with study.transaction(write=False) as db:
        if load_open_challenge(db):
            advice = command("run", study.folder, current_target(db))
            raise StudyError("a challenge is under way", f"Finish it first: {advice}")
        known = load_pools(db, newcomers=True)  # a former newcomer is no newcomer again
        same, shown = load_copies(db), load_shown(db)
        rule, first = usual_rule(sure, load_setting(db, "strategy")), load_pools(db)
        inputs = load_inputs(db)
    if collection and fields_of(shown.values()) != {*fields.shown}:
        raise InputError(
            "newcomers would show other fields below their passages than the study's passages do",
            way_to_show(shown.values()),
        )
    best, _ = load_best_answers(study)
    heads = reader.top(1, set(best.queries))
    again = {found.name for found in inputs if found.kind == "run"} & set(heads.runs)
    if again:
        raise InputError(
            f"the study already has a run {sorted(again)[0]!r}",
            "Give new runs only, under new tags.",
        )
    arrivals = select_queries(build_pools(heads, per_query=QrelsPerQuery.NONE), best.queries)
    there, stand_in = set(candidates_of(known)), same.standing(known)
    best = labels_of_candidates(best, stand_in)
    fresh = {doc for query, doc in candidates_of(arrivals) if (query, doc) not in there | stand_in.keys()}
    brought = read_passages(collection, sorted(fresh), fields=fields) if collection else {}
    texts = {doc: one.text for doc, one in (shown | brought).items()}
    same |= copies_in(texts, near=study.config.pool.near_copies)
    told = [copies] if copies else [found.path for found in inputs if found.kind == "copies"]
    if told and fresh:
        same |= read_copies(told[0], {*known.docs, *fresh})
    arrivals, replaced = merge_copies(arrivals, same, kept=there)
    challenge = gather_challenge(best, known, arrivals)
    brought = _newcomers(brought, challenge)
    with study.transaction() as db:
        save_inputs(db, input_files(paths, heads.runs, {"copies": copies}))
        save_copies(db, same.about({*known.docs, *brought}))
        if last_version(db) == 0:
            save_answers(db, 1, best)
        if challenge.newcomers:
            now = known.doc.size + sum(map(len, challenge.newcomers.values()))
            save_challenge(db, grown(rule, first.doc.size, now).name, challenge.brought_by, time.time())
            save_texts(db, {}, brought)
    return Opened(
        newcomers=sum(len(docs) for docs in challenge.newcomers.values()),
        queries=len(challenge.newcomers),
        unknown=challenge.unknown,
        runs=heads.runs,
        copies=replaced,
    )


def _conclude_rebuilt(study: Study) -> None:
    """Conclude the challenge of a study that is being rebuilt: a later one shows that it was concluded.

    Votes of later rounds may have made its queries less sure again, so that ``store recover`` could not tell.
    """
    with study.transaction(write=False) as db:
        former, version, log = load_open_challenge(db), last_version(db), load_judgments(db)
        if former is None or load_setting(db, RECOVERING) != BEING_REBUILT:
            return
    answers, duels = conclude_challenge(resume_challenge(study, former), log, rule_of(former))
    with study.transaction() as db:
        save_answers(db, version + 1, answers)
        save_conclusion(db, former.number, duels, time.time())


def rule_of(challenge: OpenChallenge) -> Sure:
    """Return how an open challenge is judged; the usual way if it began by a strategy that was taken out."""
    if taken_out(challenge.strategy):
        return USUAL_RULE
    strategy = parse_strategy(challenge.strategy)
    assert isinstance(strategy, Sure)
    return strategy


def check_sure(sure: float | None) -> None:
    """Refuse a probability that everything reaches, or nothing."""
    if sure is not None and not 0 < sure <= 1:
        raise InputError(f"--sure {sure:g}", "Give a probability above 0 and up to 1, such as 0.8.")


def usual_rule(sure: float | None, driven_by: str | None) -> Sure:
    """Return how to judge a challenge: as large pools of the study were, or as usual; as sure as asked."""
    own = None if driven_by is None or taken_out(driven_by) else of_size(parse_strategy(driven_by), 10)
    rule = USUAL_RULE
    if isinstance(own, Sure) and own.runs is None:
        rule = replace(USUAL_RULE, level=own.level, patience=own.patience, loss=own.loss)
    return rule if sure is None else replace(rule, level=sure, loss=None)


def grown(rule: Sure, first: int, now: int) -> Sure:
    """Return the rule with patience for so many candidates: the best of more of them is harder to find."""
    if rule.patience is None:
        return rule
    return replace(rule, patience=round(rule.patience * max(now, first) / max(first, 1)))


def resume_challenge(study: Study, challenge: OpenChallenge) -> Challenge:
    """Return an open challenge as it was when it began; who was judged before may return."""
    with study.transaction(write=False) as db:
        best = load_answers(db, last_version(db), "preference")
        past = _past(db)
    return gather_challenge(best, pools_of(()), pools_of(challenge.rows), past=past)


def _past(db: Connection) -> Pools:
    """Return the candidates that people have compared, and that can be shown again.

    Those that a model vetoed have not been compared, and imported votes may have come without texts.
    """
    pools, shown = load_pools(db, newcomers=True), load_passages(db).keys()
    judged = {(query, doc) for query, a, b in load_choices(db) for doc in (a, b) if doc in shown}
    rows = zip(pools.query.tolist(), pools.doc.tolist(), strict=True)
    return drop_candidates(pools, {(pools.queries[q], pools.docs[d]) for q, d in rows} - judged)


def _newcomers(found: Mapping[str, Passage], challenge: Challenge) -> dict[str, Passage]:
    """Return the newcomers' passages, which must be there."""
    wanted = sorted({doc for docs in challenge.newcomers.values() for doc in docs})
    missing = [doc for doc in wanted if doc not in found]
    if missing:
        raise InputError(
            f"{len(missing)} of {many(len(wanted), 'newcomer')} "
            f"{'has' if len(missing) == 1 else 'have'} no text, such as {missing[0]!r}",
            "Give the collection that the new runs were made from: --collection FILE",
        )
    return {doc: found[doc] for doc in wanted}


# The pool of a study; one with published HITs is not replaced.


def store_pool(
    study: Study,
    pools: Pools,
    pairs: Pairs,
    inputs: Sequence[InputFile],
    queries: Mapping[str, str],
    passages: Mapping[str, Passage],
    copies: Copies,
) -> bool:
    """Store the pool with its texts and copies, and where its files are; return whether it is a new pool.

    What imported votes are about stays in it.
    """
    pooled = {pools.queries[code] for code in np.unique(pools.query)}
    documents = {pools.docs[code] for code in np.unique(pools.doc)}
    shown = {key: text for key, text in passages.items() if key in documents}
    # One transaction for the check and the writes: no HIT is recorded for the old pool in between.
    with study.transaction() as db:
        published, imported = is_published(db) or last_version(db) > 0, bool(load_imports(db))
        same = _is_stored(db, pools, pairs, joined=imported)
        if not same and published:
            raise StudyError(
                "the study has HITs or answers for another pool, which cannot be replaced",
                "Make a new study for the new pool.",
            )
        if not same and imported:
            _join(db, _contributions(pools), _compared(pairs))
        elif not same:
            save_pools(db, pools, pairs)
        save_copies(db, (load_copies(db) if published else NO_COPIES) | copies.about(documents))
        save_texts(db, {key: text for key, text in queries.items() if key in pooled}, shown)
        save_inputs(db, _with_texts(inputs, shown), whole=imported and not same)
        if not published:  # pairs of published HITs keep the number of votes that they were published with
            _ask_by_design(study, db, published=False)
    return not same


def follow_design(study: Study, target: str) -> None:
    """Ask for as many judgments of each pair as the design in study.toml says now; never another question."""
    with study.transaction() as db:
        check_question(study, db, target)
        _ask_by_design(study, db, published=is_published(db, target))


def asked_by_run(db: Connection) -> bool:
    """Tell whether ``run`` decides which votes are asked for, and not the design in study.toml."""
    return bool(load_setting(db, "strategy") or count_rows(db, "challenges"))


def _ask_by_design(study: Study, db: Connection, *, published: bool) -> None:
    if asked_by_run(db):
        return
    stored = load_pool_pairs(db)
    wanted = _votes(study, len(stored))
    if wanted == [row[4] for row in stored]:
        return
    if published:
        raise StudyError(
            f"study.toml asks for {many(sum(wanted), 'judgment')} of {many(len(stored), 'pair')}, "
            f"but the published HITs were made for {sum(row[4] for row in stored):,}",
            "Restore judgments_per_pair, overlap and overlap_judgments in [design], or make a new study.",
        )
    save_votes_wanted(db, {row[0]: votes for row, votes in zip(stored, wanted, strict=True)})


def _is_stored(db: Connection, pools: Pools, pairs: Pairs, *, joined: bool) -> bool:
    """Tell whether the study has this pool; with ``joined``, beside that of its imported votes."""
    stored, given = load_contributions(db), _contributions(pools)
    compared, known = _compared(pairs), [row[1:4] for row in load_pool_pairs(db)]
    if joined:
        names = pooled_by(db)
        return given == {one for one in stored if one[2] in names} and {*compared} <= {*known}
    return given == stored and compared == known


def _join(db: Connection, given: set[tuple[str, str, str]], pairs: list[tuple[str, str, str]]) -> None:
    """Store a pool beside what imported votes are about."""
    theirs = {query for query, _, _ in load_contributions(db)}
    ours = {query for query, _, _ in given}
    if not theirs & ours:
        raise StudyError(
            f"no query of this pool, such as {min(given)[0]!r}, is one of those with imported votes, such as "
            f"{min(theirs)!r}",
            f"{write_alike('query_id', ours, theirs, 'votes and runs')} Or make a new study for the runs.",
        )
    join_pool(db, given, pairs)


def _contributions(pools: Pools) -> set[tuple[str, str, str]]:
    return {
        (pools.queries[pools.query[row]], pools.docs[pools.doc[row]], pools.sources[source])
        for row, source in zip(pools.source_row.tolist(), pools.source.tolist(), strict=True)
    }


def _compared(pairs: Pairs) -> list[tuple[str, str, str]]:
    columns = (pairs.query.tolist(), pairs.doc_a.tolist(), pairs.doc_b.tolist())
    return [(pairs.queries[q], pairs.docs[a], pairs.docs[b]) for q, a, b in zip(*columns, strict=True)]


def _with_texts(inputs: Iterable[InputFile], shown: Mapping[str, Passage]) -> list[InputFile]:
    """Digest the texts taken from the collection, which as a whole may be large."""
    state = hashlib.sha256()
    for key in sorted(shown):
        state.update(f"{key}\t{shown[key]}\n".encode())
    texts = f"texts-sha256:{state.hexdigest()}"
    return [replace(found, digest=texts) if found.kind == "collection" else found for found in inputs]


def _votes(study: Study, count: int) -> list[int]:
    """Return how often each pair is judged: a random share of them more often, to measure agreement."""
    design = study.config.design
    votes = np.full(count, design.judgments_per_pair)
    more = study.rng("overlap").permutation(count)[: round(design.overlap * count)]
    votes[more] = np.maximum(votes[more], design.overlap_judgments)
    return [int(n) for n in votes]
