"""What there is to be seen of the workers, in a study or in a file of judgments."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path
from statistics import median

import numpy as np

from prefjudge.core.hits import CENT
from prefjudge.core.judgments import Judgments
from prefjudge.errors import InputError, StudyError
from prefjudge.findings.judgments import counted_judgments
from prefjudge.reading.files import Notice
from prefjudge.reading.labels import read_judgments, rehearsal_in
from prefjudge.study.judgments import Pace, load_conduct, load_paces
from prefjudge.study.people import evidence_against, load_rehearsal, load_undecided
from prefjudge.study.pools import load_passages, load_queries
from prefjudge.study.progress import LoggedRemark, Stage, lacking, load_barred, load_remarks
from prefjudge.study.store import Study, current_target
from prefjudge.words import Rehearsal


@dataclass(frozen=True, slots=True, kw_only=True)
class Observed:
    """The judgments to look at, and what is known beside them; of a file, only the judgments.

    ``log`` holds all judgments, ``kept`` those that count. Workers are named as they are to be shown.
    """

    study: bool
    log: Judgments
    kept: Judgments
    milliseconds: np.ndarray | None = None
    words: np.ndarray | None = None
    gold_right: np.ndarray | None = None
    gold_missed: np.ndarray | None = None
    accuracy: float = 0.9
    hourly: Mapping[str, Decimal] = field(default_factory=dict)
    hourly_all: Decimal | None = None
    hourly_floor: Decimal | None = None
    held: Mapping[str, int] = field(default_factory=dict)
    barred: Mapping[str, str] = field(default_factory=dict)
    remarks: Sequence[LoggedRemark] = ()
    rehearsal: Rehearsal | None = None
    notices: tuple[str, ...] = ()


def observe(study: Study | None, judgments: str | Path | None, *, ids: bool) -> Observed:
    """Read what the workers did.

    Raises
    ------
    InputError
        The file cannot be read, or neither a study nor a file is given.
    StudyError
        The study has no judgments.
    """
    if study is not None and judgments is None:
        return _observe_study(study, ids=ids)
    if judgments is None or study is not None:
        raise InputError(
            "workers takes either a study or a file of judgments",
            "Run, for instance: prefjudge workers STUDY, or: prefjudge workers --judgments FILE",
        )

    notices: list[Notice] = []
    log = read_judgments(judgments, sides=True, notices=notices)
    return Observed(
        study=False,
        log=log,
        kept=log,
        rehearsal=rehearsal_in(notices),
        notices=tuple(map(str, notices)),
    )


def _observe_study(study: Study, *, ids: bool) -> Observed:
    with study.transaction(write=False) as db:
        conduct, kept, paces = load_conduct(db), counted_judgments(study, db), load_paces(db)
        rehearsal, remarks = load_rehearsal(db), load_remarks(db)
        queries, passages, barred = load_queries(db), load_passages(db), load_barred(db)
        undecided = load_undecided(db, current_target(db))
    if not len(conduct.judgments):
        if len(kept):
            raise StudyError(
                "no judgment of the study says whose it is", "Import votes that name their workers."
            )
        raise lacking(study, Stage.JUDGED)
    log = conduct.judgments
    notices: tuple[str, ...] = ()
    if not log.sides:
        # thrown by a coin: a file that lists the preferred document first would make everybody suspect
        log, kept = (_sides_by_lot(one, study.rng("sides")) for one in (log, kept))
        notices = ("the sides of imported votes are not known: nothing is said of them",)

    def name(worker: str) -> str:
        return worker if ids else study.opaque("worker", worker)

    return Observed(
        study=True,
        log=replace(log, workers=tuple(map(name, log.workers))),
        kept=replace(kept, workers=tuple(map(name, kept.workers))),
        milliseconds=conduct.milliseconds,
        words=_count_words(log, queries, passages),
        gold_right=conduct.gold_right,
        gold_missed=conduct.gold_missed,
        accuracy=study.config.screening.accuracy,
        hourly={
            name(worker): pay
            for worker in log.workers
            if (pay := _hourly([pace for pace in paces if pace.worker_id == worker])) is not None
        },
        hourly_all=_hourly(paces),
        hourly_floor=study.config.design.hourly_floor,
        rehearsal=rehearsal,
        remarks=[replace(one, worker_id=name(one.worker_id)) for one in remarks],
        held=Counter(name(one.worker_id) for one in undecided if evidence_against(one)),
        barred={name(worker): reason for worker, reason in barred.items()},
        notices=notices,
    )


def _sides_by_lot(log: Judgments, rng: np.random.Generator) -> Judgments:
    swap = rng.random(len(log)) < 0.5
    return replace(
        log,
        left=np.where(swap, log.right, log.left),
        right=np.where(swap, log.left, log.right),
        choice=np.where(swap, -log.choice, log.choice).astype(np.int8),
    )


def _count_words(log: Judgments, queries: Mapping[str, str], passages: Mapping[str, str]) -> np.ndarray:
    """Return how many words each judgment's query and passages have."""
    of_query = np.array([len(queries.get(query, "").split()) for query in log.queries], dtype=np.int64)
    of_doc = np.array([len(passages.get(doc, "").split()) for doc in log.docs], dtype=np.int64)
    return np.asarray(of_query[log.query] + of_doc[log.left] + of_doc[log.right])


def _hourly(paces: Sequence[Pace]) -> Decimal | None:
    """Return what an hour of visible time pays, at the median over assignments."""
    if not paces:
        return None
    cents = median(3600 * pace.reward_cents * pace.answered / pace.slots / pace.seconds for pace in paces)
    return (Decimal(str(cents)) / 100).quantize(CENT, rounding=ROUND_HALF_UP)
