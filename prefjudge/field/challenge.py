"""Opens a challenge: the top results of new runs are compared with the best-known answers."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from prefjudge.core.copies import copies_in, labels_of_candidates, merge_copies
from prefjudge.core.planning.rounds import (
    Challenge,
    conclude_challenge,
    gather_challenge,
    parse_strategy,
    taken_out,
)
from prefjudge.core.planning.sure import Sure
from prefjudge.core.pools import (
    Candidate,
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
from prefjudge.reading.given import input_files
from prefjudge.reading.pools import read_copies
from prefjudge.reading.runs.heads import Reader
from prefjudge.reading.texts.collections import read_texts
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
from prefjudge.study.pools import (
    load_copies,
    load_inputs,
    load_passages,
    load_pools,
    save_copies,
    save_inputs,
    save_texts,
)
from prefjudge.study.store import BEING_REBUILT, RECOVERING, Study, command, current_target, load_setting
from prefjudge.words import many

USUAL_RULE = Sure(0.9, patience=400)
"""A challenge ends once a query's best answer has this probability, by all votes of all rounds, or where a
further right winner would take more votes than this. ``scripts/upkeep`` compares it with other rules."""


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
        same, shown = load_copies(db), load_passages(db)
        rule = _rule(sure, load_setting(db, "strategy")).name
        inputs = load_inputs(db)
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
    texts = read_texts(collection, sorted(fresh), fields=fields) if collection else {}
    same |= copies_in(shown | texts, near=study.config.pool.near_copies)
    told = [copies] if copies else [found.path for found in inputs if found.kind == "copies"]
    if told and fresh:
        same |= read_copies(told[0], {*known.docs, *fresh})
    arrivals, replaced = merge_copies(arrivals, same, kept=there)
    challenge = gather_challenge(best, known, arrivals)
    texts = _texts(texts, challenge)
    with study.transaction() as db:
        save_inputs(db, input_files(paths, heads.runs, {"copies": copies}))
        save_copies(db, same.about({*known.docs, *texts}))
        if last_version(db) == 0:
            save_answers(db, 1, best)
        if challenge.newcomers:
            save_challenge(db, rule, challenge.brought_by, time.time())
            save_texts(db, {}, texts)
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


def _rule(sure: float | None, driven_by: str | None) -> Sure:
    """Return how to judge a challenge: as sure as is asked for, or as the study was made, or as usual."""
    strategy = None if driven_by is None or taken_out(driven_by) else parse_strategy(driven_by)
    if sure is None and isinstance(strategy, Sure) and strategy.runs is None:
        sure = strategy.level
    return USUAL_RULE if sure is None else replace(USUAL_RULE, level=sure)


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


def _texts(found: Mapping[str, str], challenge: Challenge) -> dict[str, str]:
    """Return the texts of the newcomers, which must be there."""
    wanted = sorted({doc for docs in challenge.newcomers.values() for doc in docs})
    missing = [doc for doc in wanted if doc not in found]
    if missing:
        raise InputError(
            f"{len(missing)} of {many(len(wanted), 'newcomer')} "
            f"{'has' if len(missing) == 1 else 'have'} no text, such as {missing[0]!r}",
            "Give the collection that the new runs were made from: --collection FILE",
        )
    return {doc: found[doc] for doc in wanted}
