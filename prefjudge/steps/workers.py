"""Reports on each worker: agreement, reliability under two models, pace and hourly pay."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from decimal import ROUND_HALF_UP, Decimal
from math import isfinite
from pathlib import Path
from statistics import median

import numpy as np

from prefjudge.core.hits import CENT
from prefjudge.core.judgments import Judgments, gather_verdicts, one_of_each_choice, select_judgments
from prefjudge.core.resolving.scales import learn_trust
from prefjudge.core.shortcuts import CLIQUE, Shortcut
from prefjudge.core.workers import (
    Evidence,
    Sign,
    SuspectedPerson,
    find_persons,
    find_signs,
    gather_evidence,
    krippendorff_alpha,
    share,
    side_bias,
)
from prefjudge.database import Value, file_of, redacted
from prefjudge.errors import InputError, StudyError
from prefjudge.field.crowd import store_url
from prefjudge.field.trust import find_followers, hold_workers, unheeded_drops
from prefjudge.marketplace import operator as market
from prefjudge.reading.files import Notice
from prefjudge.reading.inputs import Votes, maybe, take_judgments
from prefjudge.reading.labels import read_judgments, rehearsal_in
from prefjudge.show.cells import Table
from prefjudge.show.results import Screen, Shown, first_few
from prefjudge.show.statistics import persons_table, remarks_table, signs_table, workers_table
from prefjudge.study import people
from prefjudge.study.assignments import load_judgments
from prefjudge.study.judgments import Pace, load_conduct, load_paces, load_turns
from prefjudge.study.people import evidence_against, load_rehearsal, load_undecided
from prefjudge.study.pools import load_passages, load_queries
from prefjudge.study.progress import LoggedRemark, Stage, lacking, load_barred, load_remarks
from prefjudge.study.store import Study, current_target, open_study
from prefjudge.words import Rehearsal, many

# What there is to be seen of the workers, in a study or in a file of judgments.


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
    accuracy: float = 0.9
    hourly: Mapping[str, Decimal] = field(default_factory=dict)
    hourly_all: Decimal | None = None
    hourly_floor: Decimal | None = None
    held: Mapping[str, int] = field(default_factory=dict)
    barred: Mapping[str, str] = field(default_factory=dict)
    remarks: Sequence[LoggedRemark] = ()
    shortcuts: tuple[Shortcut, ...] = ()
    persons: tuple[SuspectedPerson, ...] = ()
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
    log = select_judgments(log, one_of_each_choice(log))  # as of a study
    return Observed(
        study=False,
        log=log,
        kept=log,
        rehearsal=rehearsal_in(notices),
        notices=tuple(map(str, notices)),
    )


def _observe_study(study: Study, *, ids: bool) -> Observed:
    with study.transaction(write=False) as db:
        (log, milliseconds), kept, paces = load_conduct(db), load_judgments(db), load_paces(db)
        rehearsal, remarks = load_rehearsal(db), load_remarks(db)
        queries, passages, barred = load_queries(db), load_passages(db), load_barred(db)
        undecided, turns = load_undecided(db, current_target(db)), load_turns(db)
        shortcuts = find_followers(study, db, log)
    kept = select_judgments(kept, one_of_each_choice(kept))  # as those of the log are
    if not len(log):
        if len(kept):
            raise StudyError(
                "no judgment of the study says whose it is", "Import votes that name their workers."
            )
        raise lacking(study, Stage.JUDGED)
    notices = unheeded_drops(study)
    if not log.sides:
        notices += ("the sides of imported votes are not known: nothing is said about them",)

    def name(worker: str) -> str:
        return worker if ids else study.opaque("worker", worker)

    return Observed(
        study=True,
        log=replace(log, workers=tuple(map(name, log.workers))),
        kept=replace(kept, workers=tuple(map(name, kept.workers))),
        milliseconds=milliseconds,
        words=_count_words(log, queries, passages),
        accuracy=study.config.screening.accuracy,
        hourly={
            name(worker): pay
            for worker in log.workers
            if (pay := _hourly([pace for pace in paces if pace.worker_id == worker])) is not None
        },
        hourly_all=_hourly(paces),
        hourly_floor=study.config.design.hourly_floor,
        shortcuts=shortcuts,
        persons=tuple(
            replace(one, workers=tuple(map(name, one.workers)))
            for one in (*find_persons(turns), *_clique(log.workers, shortcuts))
        ),
        rehearsal=rehearsal,
        remarks=[replace(one, worker_id=name(one.worker_id)) for one in remarks],
        held=Counter(name(one.worker_id) for one in undecided if evidence_against(one)),
        barred={name(worker): reason for worker, reason in barred.items()},
        notices=notices,
    )


def _clique(workers: Sequence[str], shortcuts: Sequence[Shortcut]) -> tuple[SuspectedPerson, ...]:
    """Return who vote as each other does: one person with several accounts, or a gang."""
    twins = [one for one in shortcuts if one.rule == CLIQUE]
    names = tuple(workers[one.worker] for one in twins)
    return (SuspectedPerson(workers=names, text=f"each {twins[0].text}"),) if len(twins) > 1 else ()


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


_OF_A_SCREEN = ("worker", "judgments", "agreement", "reliability", "gold_right", "gold_missed", "seconds",
                "barred")  # fmt: skip
_FEW = 20
"""With fewer judgments to compare, an estimate is more the model's prior than the worker."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerRow:
    """One worker; None where the judgments do not tell.

    ``agreement`` is the share of judgments that agree with the majority of the others on the same pair, of
    ``compared`` such judgments. ``reliability`` is how much a vote counts beside those of the most reliable,
    for P(best) and rules that weigh workers. ``left_rate`` is the share of judgments for the left, ``left_p``
    how surprising it is.
    ``seconds`` is the median visible time of a comparison; ``hurried`` of ``timed`` judgments were made
    faster than anybody reads. Of ``repeated`` pairs that came back with their sides swapped, ``consistent``
    were judged the same; ``unable`` pairs could not be judged. ``gold_low`` and ``gold_high`` bound the share
    of gold pairs answered right. ``hourly`` is what an hour of visible time pays. ``held`` assignments are
    neither paid nor rejected: a person has to decide.
    """

    worker: str
    judgments: int
    compared: int
    agreement: float | None
    reliability: float | None
    left_rate: float | None
    left_p: float | None
    seconds: float | None
    timed: int
    hurried: int
    repeated: int
    consistent: int
    unable: int
    gold_right: int
    gold_missed: int
    gold_low: float | None
    gold_high: float | None
    hourly: Decimal | None
    held: int
    barred: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RemarkRow:
    """What a worker said of a pair, or of a whole HIT, where ``query`` is empty.

    ``unable`` says why the worker could not judge the pair, and is empty where it was judged. Of a question
    of several passages ``others`` are those beside the two, between blanks.
    """

    worker: str
    query: str
    doc_a: str
    doc_b: str
    others: str
    unable: str
    comment: str


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class WorkersResult(Shown):
    """All workers, from the least to the most reliable, what stands out about them, and what they share.

    ``alpha`` is Krippendorff's, over the ``repeated`` pairs with more than one judgment. ``unnamed``
    judgments have no worker; ``kept`` ones were not dropped, and alpha and the rate of the left are theirs.
    ``persons`` are accounts that may be one person's, or a gang's.
    ``remarks`` are the workers' comments, and the pairs that they could not judge.
    ``notices`` say what a reader must know.
    """

    workers: tuple[WorkerRow, ...]
    signs: tuple[Sign, ...]
    persons: tuple[SuspectedPerson, ...]
    judgments: int
    kept: int
    unnamed: int
    pairs: int
    repeated: int
    alpha: float
    left_rate: float
    left_p: float
    hourly: Decimal | None
    hourly_floor: Decimal | None
    remarks: tuple[RemarkRow, ...]
    rehearsal: Rehearsal | None
    notices: tuple[str, ...]

    def tables(self) -> tuple[Table, ...]:
        """Return a row for each worker, what stands out about them, and what they said."""
        found = [workers_table([asdict(one) for one in self.workers], self._notes())]
        if self.persons:
            found.append(persons_table(self.persons))
        if self.signs:
            found.append(signs_table(self.signs))
        if self.remarks:
            found.append(remarks_table([asdict(one) for one in self.remarks]))
        return tuple(found)

    def screen(self) -> Screen:
        """Return how many worked, what stands out about them, and the least reliable ones."""
        barred, held = sum(bool(row.barred) for row in self.workers), sum(row.held for row in self.workers)
        found = (
            f"{many(len(self.workers), 'worker')} made {many(self.judgments, 'judgment')}, {self.kept:,} of "
            f"which count; {barred:,} barred; {many(held, 'assignment waits', 'assignments wait')} for you."
        )
        table = workers_table([asdict(one) for one in self.workers], [])
        shown = replace(table.only(_OF_A_SCREEN), title="")
        signs = [
            f"perhaps one person ({' '.join(f'--hold {name}' for name in one.workers)}): {one.text}"
            for one in self.persons
        ]
        signs += [f"{one.worker}: {one.text}" for one in self.signs]
        pay = () if self.hourly is None else (f"At the median visible time an hour pays ${self.hourly:,}.",)
        return Screen(found=(found,), tables=(shown,), sure=(*first_few(signs, 4), *pay))

    def _notes(self) -> list[str]:
        alpha = f"Krippendorff's alpha {self.alpha:.3f}. " if self.repeated else ""
        left = f"The left won {self.left_rate:.1%} (p = {self.left_p:.3g})." * isfinite(self.left_rate)
        notes = [
            f"{many(self.judgments, 'judgment')}, {self.kept:,} of which count; "
            f"{many(self.pairs, 'pair')}, {self.repeated:,} of them judged more than once; "
            f"{many(self.unnamed, 'judgment')} without a worker.",
            *([f"{alpha}{left}".strip()] if self.kept and (alpha or left) else []),
            "agrees: with the majority of the others on the same pair. counts: how much a vote does, beside "
            "those of the most reliable.",
            "seconds: the median visible time of a comparison."
            + " hurried: judgments faster than anybody reads." * any(row.hurried for row in self.workers),
        ]
        if self.hourly is not None:
            notes.append(f"At the median visible time an hour pays ${self.hourly:,}.")
        return notes


def workers(
    study: str | Path | Study | None = None,
    *,
    judgments: Votes | None = None,
    ids: bool = False,
    hold: Sequence[str] = (),
    forget: str | None = None,
    export: str | None = None,
    store: str | None = None,
    unpaid: bool = False,
) -> WorkersResult | PersonResult:
    """Say how each worker works; hold some, forget the person behind one, or export what is stored of them.

    Nothing here is a reason to refuse pay: it tells whose work to look at, and how far to trust it.

    ``forget`` erases the name, the locale, the panel's ids, messages, drafts and comments, also from the
    store's bytes. Judgments stay under the worker id, which says nothing by itself, and the ledger stays
    whole.

    Parameters
    ----------
    study : Path, optional
        The study. What a worker did is looked at whole, also what was dropped and does not count.
    judgments : Path, optional
        A file of judgments instead: query, document, document, the preferred of the two, the worker. The
        first document counts as the one on the left.
    ids : bool
        Show a study's worker ids. By default there are pseudonyms, which only the study's secret links to
        the ids.
    hold : sequence of str
        Hold these workers until you decide, by the names shown or ids: they get no more HITs, their votes do
        not count, and their pay waits. The next ``collect`` does it; ``keep`` or ``drop`` in the config ends
        it.
    forget : str, optional
        Forget the person behind this worker id, in the study and in its own marketplace.
    export : str, optional
        Return all that is stored about the worker of this id.
    store : str, optional
        With ``forget`` and ``export``: the marketplace's store by URL; ``marketplace.db`` in the study or the
        current folder by default.
    unpaid : bool
        With ``forget``: forget although something is owed, which nobody can pay afterwards.

    Returns
    -------
    WorkersResult or PersonResult
        The workers; of one whom ``forget`` or ``export`` names, the receipt or what is stored.

    Raises
    ------
    InputError
        A file cannot be read, or neither a study nor a file is given; there is no such worker, or the worker
        is owed something; or the options do not go together.
    StudyError
        The study has no judgments, or there is no store.
    """
    person = export if forget is None else forget
    asked = [forget is not None, export is not None, bool(hold), judgments is not None]
    if sum(asked) > 1:
        raise InputError(
            "--hold, --forget, --export and --judgments exclude each other", "Give one of them at a time."
        )
    if person is not None:
        if forget is None:
            return export_person(person, study, store=store)
        return forget_person(person, study, store=store, unpaid=unpaid)
    if store is not None or unpaid:
        raise InputError("--store and --unpaid go with one worker", "Add --forget ID or --export ID.")
    opened = open_study(study or None)
    if hold and opened is None:
        raise InputError("--hold holds workers of a study", "Run: prefjudge workers STUDY --hold WORKER")
    if hold and opened is not None:
        hold_workers(opened, hold)
    found = examine_workers(opened, judgments=judgments, ids=ids)
    held = (
        f"{many(len({*hold}), 'worker is', 'workers are')} held from the next `collect` on, until you "
        "decide: a line keep.NAME or drop.NAME, with a reason, in [screening] of study.toml"
    )
    return replace(found, notices=(held, *found.notices)) if hold else found


def examine_workers(
    study: str | Path | Study | None = None, *, judgments: Votes | None = None, ids: bool = False
) -> WorkersResult:
    """Return how each worker of a study, or of a file of judgments, works."""
    seen = observe(open_study(study), maybe(take_judgments, judgments), ids=ids)
    evidence = gather_evidence(seen.log, milliseconds=seen.milliseconds, words=seen.words)
    verdicts, (left, decided, side_p) = gather_verdicts(seen.kept), side_bias(seen.kept)
    of_side = share(left, decided)[-1], side_p[-1]
    if not seen.log.sides:
        none, of_side = np.zeros_like(evidence.left), (np.nan, np.nan)
        p = np.full_like(evidence.side_p, np.nan)
        evidence = replace(evidence, left=none, decided=none, side_p=p, repeated=none, consistent=none)
    repeated = int((np.bincount(verdicts.pair, minlength=verdicts.n_pairs) > 1).sum())
    rows = _rows(seen, evidence)
    return WorkersResult(
        workers=rows,
        signs=find_signs(evidence, seen.shortcuts, accuracy=seen.accuracy),
        persons=seen.persons,
        judgments=len(seen.log),
        kept=len(seen.kept),
        unnamed=int(np.count_nonzero(seen.log.worker < 0)),
        pairs=verdicts.n_pairs,
        repeated=repeated,
        alpha=krippendorff_alpha(seen.kept),
        left_rate=float(of_side[0]),
        left_p=float(of_side[1]),
        hourly=seen.hourly_all,
        hourly_floor=seen.hourly_floor,
        remarks=tuple(
            RemarkRow(
                worker=one.worker_id,
                query=one.query_id,
                doc_a=one.doc_a,
                doc_b=one.doc_b,
                others=one.others,
                unable=one.unable,
                comment=one.comment,
            )
            for one in seen.remarks
        ),
        rehearsal=seen.rehearsal,
        notices=(*seen.notices, *_words(seen, rows, repeated)),
    )


def _rows(seen: Observed, evidence: Evidence) -> tuple[WorkerRow, ...]:
    """Return the workers, the least reliable first, those without an estimate last."""
    unable = Counter(one.worker_id for one in seen.remarks if one.unable)
    agreement, trust = share(evidence.agreed, evidence.compared), learn_trust(seen.log)
    to_left = share(evidence.left, evidence.decided)

    def row(code: int) -> WorkerRow:
        worker = evidence.workers[code]
        met_gold = evidence.gold_right[code] + evidence.gold_missed[code] > 0
        return WorkerRow(
            worker=worker,
            judgments=int(evidence.judged[code]),
            compared=int(evidence.compared[code]),
            agreement=_at(agreement, code),
            reliability=_at(trust.reliability, code) if trust and evidence.judged[code] else None,
            left_rate=_at(to_left, code),
            left_p=_known(float(evidence.side_p[code])),
            seconds=_at(evidence.seconds, code),
            timed=int(evidence.timed[code]),
            hurried=int(evidence.hurried[code]),
            repeated=int(evidence.repeated[code]),
            consistent=int(evidence.consistent[code]),
            unable=unable[worker],
            gold_right=int(evidence.gold_right[code]),
            gold_missed=int(evidence.gold_missed[code]),
            gold_low=_at(evidence.gold_low, code) if met_gold else None,
            gold_high=_at(evidence.gold_high, code) if met_gold else None,
            hourly=seen.hourly.get(worker),
            held=seen.held.get(worker, 0),
            barred=seen.barred.get(worker, ""),
        )

    def place(one: WorkerRow) -> tuple[bool, float, str]:
        return one.reliability is None, one.reliability or 0.0, one.worker

    present = [code for code, count in enumerate(evidence.judged.tolist()) if count or seen.study]
    return tuple(sorted((row(code) for code in present), key=place))


def _at(column: np.ndarray, code: int) -> float | None:
    value = _known(float(column[code]))
    return None if value is None else round(value, 4)


def _known(value: float) -> float | None:
    return value if value == value else None


def _words(seen: Observed, rows: tuple[WorkerRow, ...], repeated: int) -> list[str]:
    """Say where there is too little to go by, and where the pay is low."""
    words = []
    compared = sum(row.compared > 0 for row in rows)
    if not repeated:
        but = f", but by {compared} of {len(rows)} workers after work was dropped" if compared else ""
        words.append(
            f"no pair was judged twice{but}: agreement and alpha say little, and what a vote counts rests "
            "on other pairs of the same queries. Set design.overlap in study.toml before the first HIT is "
            "published to have a share of the pairs judged more often"
        )
    few = sum(row.compared < _FEW for row in rows)
    if repeated and few:
        words.append(
            f"workers with fewer than {_FEW} judgments that can be compared with those of others: {few} of "
            f"{len(rows)}; their estimates lean on what the models assume of everybody"
        )
    if seen.hourly_all is not None and seen.hourly_floor and seen.hourly_all < seen.hourly_floor:
        words.append(
            f"at the median visible time an hour pays ${seen.hourly_all}, less than the floor of "
            f"${seen.hourly_floor:.2f}: raise hit.reward, or show fewer pairs in a HIT"
        )
    return words
