"""Says where a study stands: how sure its answers are, and how far the work is."""

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from prefjudge.database import Connection
from prefjudge.show.cells import Table
from prefjudge.show.results import Shown, record_tables
from prefjudge.study.hits import HitStatus
from prefjudge.study.money import committed_cents
from prefjudge.study.people import evidence_against, load_rehearsal, load_undecided, paid_unasked
from prefjudge.study.progress import (
    ChallengeRecord,
    count_answers,
    count_expired,
    count_hits,
    count_judgments,
    count_missing,
    count_queries,
    count_rows,
    count_unjudgeable,
    count_verdicts,
    hourly_rate,
    load_barred,
    load_challenges,
    load_disputed,
    waiting_pairs,
)
from prefjudge.study.store import (
    HAPPENED,
    RECOVERING,
    Study,
    command,
    current_target,
    load_setting,
    moment,
    open_study,
)
from prefjudge.words import Rehearsal

if TYPE_CHECKING:
    from prefjudge.core.resolving.confidence import ConfidenceSummary
    from prefjudge.evaluation.stability import Contenders
    from prefjudge.field.history import History
    from prefjudge.findings.sureness import StudySureness


_QUICK = 500
"""Up to this many queries, the probabilities take about a second."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class StatusResult(Shown):
    """A study in numbers; money in dollars, as text.

    The time of ``expired`` open HITs is over. ``unjudgeable`` pairs are not asked for again, because several
    workers could not judge them. ``barred`` names workers by pseudonyms, as ``workers`` does. ``to_decide``
    says which assignments wait for a person to pay or reject them, and why, and ``decide_by`` when the
    marketplace pays the first of them if nobody does; None where none waits. ``disputes`` of rejections wait
    for an answer, as `collect` or `reject` was told last. ``hours_left`` is how long the assignments that are
    missing will take at the pace so far; None where there is no pace yet. ``version`` is that of the answers
    that ``run`` keeps, 0 where there is none. ``statuses`` counts the queries by what their judgments say,
    and ``confidence`` is how sure the answers are; empty and None before any judgment. ``top`` says which
    runs may still be the best, and holds however often one looks; None where the runs were not read.
    ``target`` is where the work is that the study counts. ``history`` says how the answers changed, where it
    was asked for. ``notices`` says where the store may lack what happened since.
    """

    study: str
    queries: int
    pairs: int
    gold: int
    hits: dict[str, int]
    expired: int
    assignments: int
    judgments: int
    dropped_judgments: int
    waiting: int
    unjudgeable: int
    barred: dict[str, str]
    to_decide: dict[str, str]
    decide_by: str | None
    disputes: int
    committed: str
    budget: str | None
    missing: int
    hours_left: float | None
    verdicts: dict[str, int]
    version: int
    challenge: ChallengeRecord | None
    statuses: dict[str, int]
    confidence: "ConfidenceSummary | None"
    top: "Contenders | None"
    target: str
    history: "History | None"
    rehearsal: Rehearsal | None
    notices: tuple[str, ...]

    def tables(self) -> tuple[Table, ...]:
        """Return the figures, and the history where it was asked for."""
        return (*record_tables(replace(self, history=None)), *(self.history.tables() if self.history else ()))


def status(
    study: str | Path | Study,
    *,
    confidence: bool | None = None,
    top: bool | None = None,
    history: bool = False,
) -> StatusResult:
    """Say where a study stands.

    Parameters
    ----------
    study : Path
        The study's folder.
    confidence : bool, optional
        Compute the probability that each answer is the best; by default up to 500 queries.
    top : bool, optional
        Say which runs may still be the best, by a test that holds however often one looks; by default with
        the probabilities, where the run files have up to 16 MB.
    history : bool
        Tell how the best-known answers changed, too: their versions, what each changed, and which runs moved
        by the first measure. It reads the runs.
    """
    opened = open_study(study)
    # One state of the study, in all figures.
    with opened.reading():
        past = None
        if history:
            from prefjudge.field.history import history as answers_history

            past = answers_history(opened)
        return _counted(opened, _sureness(opened, True if top else confidence, top), past)


def _gold_sets(opened: Study, db: Connection) -> int:
    from prefjudge.study.pools import load_gold_sets  # a look at a study without gold starts fast

    return len(load_gold_sets(db, opened.config.hit.passages))


def _counted(opened: Study, sure: "StudySureness | None", past: "History | None") -> StatusResult:
    with opened.transaction(write=False) as db:
        kept, dropped = count_judgments(db)
        cents, missing, pace = committed_cents(db), count_missing(db), hourly_rate(db)
        target = current_target(db)
        held = {one: why for one in load_undecided(db, target) if (why := evidence_against(one))}
        pays_itself, hits = paid_unasked(held), count_hits(db)
        return StatusResult(
            study=str(opened.folder),
            queries=count_queries(db),
            pairs=count_rows(db, "pairs"),
            gold=_gold_sets(opened, db) if count_rows(db, "gold") else 0,
            hits=hits,
            expired=count_expired(opened, target) if hits.get(HitStatus.OPEN) else 0,
            assignments=sum(count_verdicts(db).values()),
            judgments=kept,
            dropped_judgments=dropped,
            waiting=len(waiting_pairs(db)),
            unjudgeable=count_unjudgeable(db),
            barred={opened.opaque("worker", worker): reason for worker, reason in load_barred(db).items()},
            to_decide={one.assignment_id: why for one, why in held.items()},
            decide_by=None if pays_itself is None else moment(pays_itself),
            disputes=load_disputed(db, target)[0],
            committed=f"{cents // 100}.{cents % 100:02}",
            budget=opened.budget,
            missing=missing,
            hours_left=missing / pace if pace else None,
            verdicts=count_verdicts(db),
            version=max(count_answers(db), default=0),
            challenge=next((one for one in load_challenges(db) if one.concluded is None), None),
            statuses=sure.statuses if sure else {},
            confidence=sure.confidence if sure else None,
            top=sure.top if sure else None,
            target=target,
            history=past,
            rehearsal=load_rehearsal(db),
            notices=(
                *_notices(opened.folder, target, load_setting(db, RECOVERING), load_setting(db, HAPPENED)),
                *(past.notices if past else ()),
            ),
        )


def _sureness(study: Study, wanted: bool | None, top: bool | None) -> "StudySureness | None":
    with study.transaction(write=False) as db:
        judged = count_judgments(db)[0] > 0
        quick = count_queries(db) <= _QUICK
    if not judged or not (quick if wanted is None else wanted):
        return None
    # A study without judgments is spared the numerical libraries.
    from prefjudge.findings.sureness import assess_study

    return assess_study(study, verb="status", top=top)


def _notices(folder: Path, target: str, recovering: str | None, happened: str | None) -> tuple[str, ...]:
    there: list[str] = json.loads(happened or "[]")
    if recovering is None:
        return tuple(there)
    return (
        *there,
        f"the store {recovering}, and may lack what happened since; run: "
        f"{command('store recover', folder, target)}",
    )
