"""Opens a challenge: the top results of new runs are compared with the best-known answers."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from prefjudge.core.planning.challenge import Challenge, gather_challenge
from prefjudge.core.pooling.pools import QrelsPerQuery, build_pools, pools_of, select_queries
from prefjudge.counts import many
from prefjudge.errors import InputError, StudyError
from prefjudge.formats.texts.texts import read_texts
from prefjudge.formats.texts.topic_fields import PLAIN, TextFields
from prefjudge.gather.best_answers import load_best_answers
from prefjudge.gather.inputs import input_files
from prefjudge.gather.readers import Reader
from prefjudge.study.answers import (
    OpenChallenge,
    last_version,
    load_answers,
    load_open_challenge,
    save_answers,
    save_challenge,
)
from prefjudge.study.pooling import load_inputs, load_pools, save_inputs, save_texts
from prefjudge.study.study import Study
from prefjudge.study.targets import command, current_target

LEAD = "lead:5"
"""A newcomer becomes the best answer, or is refused, at a lead of five votes or by the majority of 21. After
a simulated year of monthly challenges (``scripts/upkeep``), the answers agree with a fresh judging as
often as two fresh judgings agree."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """A challenge as it begins: how many newcomers, on how many queries, and what the new runs bring."""

    newcomers: int
    queries: int
    unknown: tuple[str, ...]
    runs: tuple[str, ...]


def open_challenge(
    study: Study,
    reader: Reader,
    paths: Sequence[str | Path],
    collection: str | Path | None,
    fields: TextFields = PLAIN,
) -> Opened:
    """Find the newcomers of new runs and record them; ``run`` then has them judged.

    Raises
    ------
    StudyError
        The study has no answers yet, or a challenge is under way.
    InputError
        The newcomers' texts are missing.
    """
    with study.transaction(write=False) as db:
        if load_open_challenge(db):
            advice = command("run", study.folder, current_target(db))
            raise StudyError("a challenge is under way", f"Finish it first: {advice}")
        known = load_pools(db, newcomers=True)  # former newcomers have had their chance
        runs = {found.name for found in load_inputs(db) if found.kind == "run"}
    best, _ = load_best_answers(study)
    heads = reader.top(1, set(best.queries))
    again = runs & set(heads.runs)
    if again:
        raise InputError(
            f"the study already has a run {sorted(again)[0]!r}",
            "Give new runs only, under new tags.",
        )
    arrivals = select_queries(build_pools(heads, per_query=QrelsPerQuery.NONE), best.queries)
    challenge = gather_challenge(best, known, arrivals)
    texts = _texts(collection, fields, challenge)
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
    return gather_challenge(best, pools_of(()), pools_of(challenge.rows))


def _texts(collection: str | Path | None, fields: TextFields, challenge: Challenge) -> dict[str, str]:
    wanted = sorted({doc for docs in challenge.newcomers.values() for doc in docs})
    found = read_texts(collection, wanted, fields=fields) if collection else {}
    missing = [doc for doc in wanted if doc not in found]
    if missing:
        raise InputError(
            f"{len(missing)} of {many(len(wanted), 'newcomer')} "
            f"{'has' if len(missing) == 1 else 'have'} no text, such as {missing[0]!r}",
            "Give the collection that the new runs were made from: --collection FILE",
        )
    return found
