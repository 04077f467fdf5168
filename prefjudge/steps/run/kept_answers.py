"""The answers that `run` keeps: recorded version after version, and written as preference qrels."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from prefjudge.core.judgments import Judgments
from prefjudge.core.planning.rounds import Duel, merge_answers
from prefjudge.evaluation.correlation import RankShift
from prefjudge.field.rounds import Drive, find_moves
from prefjudge.findings.answers import load_versions, write_versions
from prefjudge.study.answers import last_version, load_answers, save_answers, save_conclusion
from prefjudge.study.store import Study


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptAnswers:
    """What is known after a run: the version, and what a challenge changed."""

    version: int
    qrels: int
    duels: tuple[Duel, ...]
    moved: tuple[RankShift, ...]
    out: Path


def keep_answers(
    study: Study, drive: Drive, log: Judgments, *, through: bool, tell: Callable[[str], None]
) -> KeptAnswers:
    """Record the best answers by the judgments so far, and write them; a repeat changes nothing.

    A challenge makes a new version once all its duels are ``through``: until then the answers stay as they
    are. Queries that were settled later than a challenge join the version that it made, whose answers stay.
    """
    with study.transaction(write=False) as db:
        version = last_version(db)
        before = load_answers(db, version, "preference")
    duels: tuple[Duel, ...] = ()
    moved: tuple[RankShift, ...] = ()
    after, found = drive.conclude(log)
    if drive.challenge is None:
        version = max(version, 1)
        after = after if version == 1 else merge_answers(before, after)
    elif through:
        version, duels = version + 1, found
        notices: list[str] = []
        _, moved = find_moves(study, (before, after), notices)
        for notice in notices:
            tell(notice)
    else:
        after = before
    with study.transaction() as db:
        save_answers(db, version, after)
        if drive.challenge is not None and through:
            save_conclusion(db, drive.challenge.number, duels, time.time())
    return KeptAnswers(
        version=version,
        qrels=int(load_versions(study)[version].query.size),
        duels=duels,
        moved=moved,
        out=write_versions(study),
    )
