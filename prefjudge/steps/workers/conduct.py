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
from prefjudge.core.shortcuts import Shortcut, find_shortcuts, visible
from prefjudge.database import Value, file_of, redacted
from prefjudge.errors import InputError, StudyError
from prefjudge.field.crowd import store_url
from prefjudge.marketplace import operator as market
from prefjudge.reading.files import Notice
from prefjudge.reading.labels import read_judgments, rehearsal_in
from prefjudge.show.results import Shown
from prefjudge.study import people
from prefjudge.study.assignments import load_judgments
from prefjudge.study.judgments import Pace, load_conduct, load_paces
from prefjudge.study.people import evidence_against, load_rehearsal, load_undecided
from prefjudge.study.pools import load_passages, load_queries
from prefjudge.study.progress import LoggedRemark, Stage, lacking, load_barred, load_remarks
from prefjudge.study.store import Study, current_target, open_study
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
    shortcuts: tuple[Shortcut, ...] = ()
    rehearsal: Rehearsal | None = None
    notices: tuple[str, ...] = ()


def observe(study: Study | None, judgments: str | Path | None, *, ids: bool) -> Observed:
    """Read what the workers did."""
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
        conduct, kept, paces = load_conduct(db), load_judgments(db), load_paces(db)
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
    shortcuts = find_shortcuts(log, visible(log, queries=queries, passages=passages))
    notices: tuple[str, ...] = ()
    if not log.sides:
        # thrown by a coin: a file that lists the preferred document first would make everybody suspect
        log, kept = (_sides_by_lot(one, study.rng("sides")) for one in (log, kept))
        notices = ("the sides of imported votes are not known: nothing is said about them",)

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
        shortcuts=shortcuts,
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


# Gives a worker what is stored about them, or forgets the person and keeps the work.

Rows = list[Mapping[str, Value]]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class PersonResult(Shown):
    """A receipt of what was forgotten, or everything that is stored.

    ``erased`` counts rows by what they held, ``assignments`` says how many stay under the worker id, and
    ``owed`` what the ledger owes, in dollars. ``stored`` has the rows, by kind, of the ``marketplace`` and of
    the ``study``.
    """

    action: str
    worker_id: str
    stores: tuple[str, ...]
    forgotten: str = ""
    erased: dict[str, int] = field(default_factory=dict)
    assignments: int = 0
    owed: str = "0.00"
    stored: dict[str, dict[str, Rows]] = field(default_factory=dict)


def export_person(
    worker_id: str, study: str | Path | Study | None = None, *, store: str | None = None
) -> PersonResult:
    """Return all that a study, its own marketplace or the store at a URL holds about a worker."""
    opened, url, places = _places(worker_id, study, store)
    stored = _stored(url, opened, worker_id)
    return PersonResult(action="export", worker_id=worker_id, stores=places, stored=stored)


def forget_person(
    worker_id: str, study: str | Path | Study | None = None, *, store: str | None = None, unpaid: bool = False
) -> PersonResult:
    """Forget in the marketplace, which refuses where money is owed, and then in the study."""
    opened, url, places = _places(worker_id, study, store)
    receipt = market.forget_person(url, worker_id, unpaid=unpaid) if url else None
    erased = dict(receipt["erased"]) if receipt else {}
    assignments = receipt["kept"]["assignments"] if receipt else 0
    if opened is not None:
        with opened.transaction() as db:
            mine = people.known(db, worker_id)["assignments"]
            if not (mine or receipt):
                raise _unknown(worker_id)
            erased |= people.forget(db, worker_id)
        opened.database.scrub()
        assignments = max(assignments, len(mine))
    return PersonResult(
        action="forget",
        worker_id=worker_id,
        stores=places,
        forgotten=(receipt["forgotten"] or "") if receipt else "",
        erased=erased,
        assignments=assignments,
        owed=receipt["ledger"] if receipt else "0.00",
    )


def _places(
    worker_id: str, study: str | Path | Study | None, store: str | None
) -> tuple[Study | None, str, tuple[str, ...]]:
    """Return the study, the URL of the marketplace's store, empty where it is elsewhere, and both by name."""
    opened = open_study(study or None)
    url = store or store_url(opened.folder if opened else Path())
    path = file_of(url)
    if path is not None and not path.exists():
        if opened is None or store:
            raise StudyError(
                f"there is no marketplace at {redacted(url)}",
                "Give a study, or --store with the URL of a store.",
            )
        url = ""  # the study's workers are at a marketplace elsewhere
    if not worker_id.strip():
        raise InputError("the worker id is empty", "See the ids: prefjudge workers STUDY --ids")
    return opened, url, tuple(redacted(one) for one in (url, opened.store_url if opened else "") if one)


def _stored(url: str, study: Study | None, worker_id: str) -> dict[str, dict[str, Rows]]:
    stored = {"marketplace": market.known_of(url, worker_id)} if url else {}
    if study is not None:
        with study.transaction(write=False) as db:
            stored["study"] = people.known(db, worker_id)
    if not any(rows for kinds in stored.values() for rows in kinds.values()):
        raise _unknown(worker_id)
    return stored


def _unknown(worker_id: str) -> InputError:
    return InputError(f"nothing is stored about {worker_id}", "See the ids: prefjudge workers STUDY --ids")
