"""Opens a challenge: the top results of new runs are to meet the best-known answers."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from prefjudge.core.challenge import Challenge, gather_challenge
from prefjudge.core.pools import Pools, QrelsPerQuery, build_pools, select_queries
from prefjudge.core.qrels import Qrels
from prefjudge.core.runs import encode
from prefjudge.errors import InputError, StudyError
from prefjudge.study.answers import (
    OpenChallenge,
    last_version,
    load_answers,
    load_challengers,
    load_open_challenge,
    save_answers,
    save_challenge,
)
from prefjudge.study.pooling import load_inputs, load_pools, save_inputs, save_texts
from prefjudge.study.study import Study

if TYPE_CHECKING:
    from prefjudge.steps.readers import Reader

LEAD = "lead:5"
"""A newcomer becomes the best answer, or is refused, at a lead of five votes, or by the majority of 21: in a
year of simulated months (``scripts/upkeep.py``) that ends with the same answers as often as two fresh
judgings agree."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """A challenge as it begins: how many newcomers meet how many answers."""

    newcomers: int
    queries: int
    unknown: tuple[str, ...]
    runs: tuple[str, ...]


def open_challenge(
    study: Study, reader: "Reader", paths: Sequence[str | Path], collection: Path | None
) -> Opened:
    """Find the newcomers of new runs and record them; ``run`` then has them judged.

    Raises
    ------
    StudyError
        The study has no answers yet, or a challenge is under way.
    InputError
        The newcomers' texts are missing.
    """
    from prefjudge.steps.inputs import input_files

    with study.transaction(write=False) as db:
        if load_open_challenge(db):
            raise StudyError("a challenge is under way", f"Finish it first: prefjudge run {study.folder}")
        known, runs = load_pools(db), {found.name for found in load_inputs(db) if found.kind == "run"}
    best = _best(study)
    heads = reader.top(1, set(best.queries))
    again = runs & set(heads.runs)
    if again:
        raise InputError(
            f"the study has a run {sorted(again)[0]!r} already",
            "Challenge with new runs only, under new tags.",
        )
    arrivals = select_queries(build_pools(heads, per_query=QrelsPerQuery.NONE), best.queries)
    challenge = gather_challenge(best, _with_challengers(study, known), arrivals)
    texts = _texts(collection, challenge)
    with study.transaction() as db:
        save_inputs(db, input_files(paths, heads.runs, {}))
        if last_version(db) == 0:
            save_answers(db, 1, best)
        if challenge.newcomers:
            save_challenge(db, LEAD, challenge.brought_by, time.time())
            save_texts(db, {}, texts)
    return Opened(
        newcomers=sum(len(docs) for docs in challenge.newcomers.values()),
        queries=len(challenge.newcomers),
        unknown=challenge.unknown,
        runs=heads.runs,
    )


def resume_challenge(study: Study, challenge: OpenChallenge) -> Challenge:
    """Return an open challenge as it was when it began."""
    with study.transaction(write=False) as db:
        best = load_answers(db, last_version(db), "preference")
    return gather_challenge(best, _empty_pools(), _arrivals(challenge.rows))


def _best(study: Study) -> Qrels:
    """Return the best-known answers: the last version, or what ``resolve`` found."""
    from prefjudge.formats.qrels import read_qrels
    from prefjudge.steps.resolve import PREFERENCE_NAME, QRELS_FILE

    with study.transaction(write=False) as db:
        version = last_version(db)
        if version:
            return load_answers(db, version, PREFERENCE_NAME)
    path = study.folder / QRELS_FILE
    if not path.is_file():
        raise StudyError("the study has no best-known answers yet", f"Run: prefjudge resolve {study.folder}")
    return read_qrels(path, name=PREFERENCE_NAME)


def _with_challengers(study: Study, pools: Pools) -> Pools:
    """Return the pools with all former newcomers in them: they have had their chance."""
    with study.transaction(write=False) as db:
        former = load_challengers(db)
    rows = [
        (pools.queries[query], pools.docs[doc], "")
        for query, doc in zip(pools.query.tolist(), pools.doc.tolist(), strict=True)
    ]
    return _arrivals([*rows, *((query, doc, "") for query, doc in former)])


def _arrivals(rows: Sequence[tuple[str, str, str]]) -> Pools:
    """Return pools made of (query_id, doc_id, source) rows."""
    queries = tuple(dict.fromkeys(query for query, _, _ in rows))
    docs = tuple(sorted({doc for _, doc, _ in rows}))
    sources = tuple(sorted({source for _, _, source in rows}))
    members = {(query, doc): None for query, doc, _ in rows}
    place = {member: row for row, member in enumerate(members)}
    return Pools(
        queries=queries,
        docs=docs,
        query=encode([query for query, _ in members], queries),
        doc=encode([doc for _, doc in members], docs),
        sources=sources,
        source_row=np.array([place[query, doc] for query, doc, _ in rows], dtype=np.int32),
        source=encode([source for _, _, source in rows], sources),
    )


def _empty_pools() -> Pools:
    return _arrivals(())


def _texts(collection: Path | None, challenge: Challenge) -> dict[str, str]:
    from prefjudge.formats.texts import read_texts

    wanted = sorted({doc for docs in challenge.newcomers.values() for doc in docs})
    found = read_texts(collection, wanted) if collection else {}
    missing = [doc for doc in wanted if doc not in found]
    if missing:
        raise InputError(
            f"{len(missing)} of the {len(wanted)} newcomers have no text, such as {missing[0]!r}",
            "Give the collection that the new runs were made from: --collection FILE",
        )
    return found
