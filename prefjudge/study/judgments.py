"""What each worker did: every judgment in the order of making, dropped ones too.

The workers are those of the target whose work is the study's.
"""

import json
from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from prefjudge.core.judgments import Judgments, one_of_each_choice, select_judgments
from prefjudge.core.runs import Names, encode
from prefjudge.core.workers import Turns
from prefjudge.database import Connection
from prefjudge.study.imports import AssignmentWork, sides_known
from prefjudge.study.store import COUNTED, VOTES, WORK, current_target


def load_conduct(db: Connection) -> tuple[Judgments, NDArray[np.int64]]:
    """Return all judgments, each worker's in the order in which they were made, and their milliseconds.

    Of a choice out of several passages it is one win: what is looked for in them takes them for independent.
    The workers are all who submitted something; a comparison was visible for 0 where that is not known.
    """
    golds = load_golds(db, current_target(db))
    log, assignments, parts = LogColumns(), Names(), [np.zeros((4, 0))]
    for part in _parts(db):
        log.add(*part[:7])
        milliseconds, submitted, assignment, place = part[7:]
        parts.append(
            np.array([milliseconds, submitted, assignments.encode(assignment), place], dtype=np.float64)
        )
    milliseconds, submitted, assignment, place = np.concatenate(parts, axis=1)
    _, in_order = assignments.sorted()
    order = np.lexsort((place, in_order[assignment.astype(np.int64)], submitted))
    judgments = log.judgments(sides=sides_known(db), workers=tuple(golds), golds=golds)
    order = order[one_of_each_choice(select_judgments(judgments, order))]
    return replace(select_judgments(judgments, order), click=None), milliseconds[order].astype(np.int64)


def load_golds(db: Connection, target: str) -> dict[str, tuple[int, int]]:
    """Return how many gold pairs each worker got right at a target, and missed, by worker id."""
    rows = db.execute(
        f"SELECT worker_id, sum(gold_right), sum(gold_missed) FROM {WORK} WHERE {COUNTED} "
        "AND worker_id <> '' GROUP BY worker_id ORDER BY worker_id",
        target=target,
    )
    return {worker: (int(right), int(missed)) for worker, right, missed in rows}


def _parts(db: Connection) -> Iterator[list[Sequence[Any]]]:
    """Yield the columns of a log, then milliseconds, the assignment's time and id, and the place in it."""
    places = {
        (key, number): array("i", layout["order"])
        for key, layouts in db.execute("SELECT hit_key, layouts FROM hits")
        for number, layout in enumerate(json.loads(layouts))
    }
    found = db.columns(
        f"SELECT {COLUMNS}, j.milliseconds, "
        "coalesce(a.submitted, a.collected), a.assignment_id, j.judgment_id, a.hit_key, a.layout, s.slot "
        "FROM judgments j JOIN assignments a USING (assignment_id) "
        "LEFT JOIN slots s ON s.hit_key = a.hit_key AND s.pair_id = j.pair_id "
        f"JOIN hits h ON h.hit_key = a.hit_key WHERE {COUNTED} AND j.worker_id <> ''",
        target=current_target(db),
    )
    for *columns, numbers, hits, layouts, slots in found:
        yield [
            *columns,
            [
                # the order of a file is its own
                number if slot is None else _place(places[hit, layout], slot)
                for number, hit, layout, slot in zip(numbers, hits, layouts, slots, strict=True)
            ],
        ]


def _place(order: "array[int]", slot: int) -> int:
    return order.index(slot % len(order))  # of a choice out of several each pair has a slot (`save_hits`)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """How long an assignment's comparisons were visible, and what they pay.

    Of people it is no longer than the HIT was held, by the crowd's clock: the page's own times can be forged.
    """

    worker_id: str
    seconds: float
    answered: int
    slots: int
    reward_cents: int


_OF_PEOPLE = (
    "EXISTS (SELECT 1 FROM judgments j WHERE j.assignment_id = a.assignment_id AND j.judge = 'person')"
)
"""The condition on assignments that simulated workers, who do all within seconds, have not made."""


def load_paces(db: Connection) -> list[Pace]:
    """Return the pace of each assignment whose time is known."""
    return db.records(
        Pace,
        f"SELECT a.worker_id, CASE WHEN a.submitted - a.accepted < a.seconds AND {_OF_PEOPLE} "
        "THEN a.submitted - a.accepted ELSE a.seconds END, a.answered, "
        "(SELECT count(DISTINCT s.name) FROM slots s WHERE s.hit_key = a.hit_key), h.reward_cents "
        f"FROM {WORK} WHERE a.seconds > 0 AND a.answered > 0 "
        "AND h.target = :target ORDER BY a.worker_id, a.assignment_id",
        target=current_target(db),
    )


def load_turns(db: Connection) -> Turns:
    """Return when people had HITs at the target whose work is the study's."""
    rows = db.execute(
        f"SELECT a.worker_id, a.hit_key, coalesce(h.published, 0), a.accepted, a.submitted FROM {WORK} "
        f"WHERE h.target = :target AND {_OF_PEOPLE} AND a.accepted <= a.submitted ORDER BY a.assignment_id",
        target=current_target(db),
    )
    workers, hits = Names(), Names()
    published, accepted, submitted = np.array([row[2:] for row in rows], dtype=np.float64).reshape(-1, 3).T
    worker, hit = workers.encode([row[0] for row in rows]), hits.encode([row[1] for row in rows])
    times = {"published": published, "accepted": accepted, "submitted": submitted}
    return Turns(workers=tuple(workers), worker=worker.astype(np.int64), hit=hit.astype(np.int64), **times)


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """One assignment: when it was sent in, how many comparisons it has, and its HIT's reward."""

    submitted: float
    answered: int
    reward_cents: int


def load_progress(db: Connection) -> list[Progress]:
    """Return the assignments whose time is known, in the order in which they were sent in."""
    return db.select(
        Progress,
        f"FROM {WORK} WHERE {COUNTED} AND submitted IS NOT NULL ORDER BY submitted, assignment_id",
        target=current_target(db),
    )


class LoggedJudgment(NamedTuple):
    """One worker's choice: 1 for the passage on the left, -1 for the right, 0 for a tie.

    ``dropped`` says why it does not count, and is empty where it does. ``shown`` are the passages that it was
    chosen from, in their order on the screen, where they are more than two: it is one of the wins.
    """

    query_id: str
    left: str
    right: str
    choice: int
    strength: int
    milliseconds: int
    worker_id: str
    judge: str
    phase: str
    assignment_id: str
    dropped: str
    shown: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LoggedAssignment(AssignmentWork):
    """One worker's work on a HIT; ``judge`` says who made its judgments, None where it has none."""

    hit_key: str
    judge: str | None


def load_judgment_log(db: Connection) -> list[LoggedJudgment]:
    """Return every judgment at the target whose work is the study's, in the order of the log."""
    return [*each_judgment(db)]


def each_judgment(db: Connection) -> Iterator[LoggedJudgment]:
    """Yield the same one by one, while the transaction is open."""
    for rows in db.parts(
        "SELECT j.query_id, j.left_id, j.right_id, j.choice, j.strength, j.milliseconds, j.worker_id, "
        f"j.judge, j.phase, j.assignment_id, coalesce(d.reason, ''), j.shown FROM {VOTES} "
        f"WHERE {COUNTED} ORDER BY j.judgment_id",
        target=current_target(db),
    ):
        yield from map(LoggedJudgment._make, rows)


def load_assignment_log(db: Connection) -> list[LoggedAssignment]:
    """Return every assignment at that target, in the order in which they were submitted."""
    return db.records(
        LoggedAssignment,
        "SELECT a.assignment_id, a.worker_id, a.answered, a.gold_right, a.gold_missed, a.seconds, a.verdict, "
        "a.hit_key, (SELECT min(j.judge) FROM judgments j WHERE j.assignment_id = a.assignment_id) "
        f"FROM {WORK} WHERE {COUNTED} ORDER BY a.submitted, a.assignment_id",
        target=current_target(db),
    )


def load_private(db: Connection) -> list[str]:
    """Return what nobody else may see: ids of workers, work and HITs, what stands for a passage, paths."""
    return db.values(
        "SELECT worker_id FROM assignments UNION SELECT assignment_id FROM assignments "
        "UNION SELECT hit_key FROM hits UNION SELECT hit_id FROM hits WHERE hit_id IS NOT NULL "
        "UNION SELECT first_token FROM slots UNION SELECT second_token FROM slots "
        "UNION SELECT path FROM inputs"
    )


COLUMNS = (
    "j.query_id, j.left_id, j.right_id, j.choice, j.strength, j.worker_id, "
    "CASE WHEN j.shown = '' THEN '' ELSE j.assignment_id || ' ' || j.query_id || ' ' || j.shown END"
)
"""What `LogColumns.add` takes, of the judgments ``j``."""


class LogColumns:
    """Judgments whose columns come in parts."""

    def __init__(self) -> None:
        self._queries, self._docs, self._workers, self._clicks = Names(), Names(), Names(), Names()
        self._parts = [np.zeros((7, 0), dtype=np.int32)]

    def add(
        self, query: Sequence[str], left: Sequence[str], right: Sequence[str], *others: Sequence[Any]
    ) -> None:
        """Add some rows; the others are choices, strengths, workers, and what the wins of one click share."""
        choice, strength, worker, click = others
        self._parts.append(
            np.stack(
                [
                    self._queries.encode(query),
                    self._docs.encode(left),
                    self._docs.encode(right),
                    np.array(choice, dtype=np.int32),
                    np.array(strength, dtype=np.int32),
                    self._workers.encode(worker),
                    self._clicks.encode(click),
                ]
            )
        )

    def judgments(
        self,
        *,
        sides: bool,
        workers: tuple[str, ...] | None = None,
        golds: Mapping[str, tuple[int, int]] | None = None,
    ) -> Judgments:
        """Return all of them, in the order in which they came.

        Parameters
        ----------
        sides : bool
            Whether left and right are those of a screen.
        workers : tuple of str, optional
            The vocabulary of workers; by default those who judged.
        golds : mapping of str to (int, int), optional
            The gold pairs that workers got right, and missed.
        """
        query, left, right, choice, strength, worker, click = np.concatenate(self._parts, axis=1)
        (queries, of_query), (docs, of_doc) = self._queries.sorted(), self._docs.sorted()
        (names, of_worker), (clicks, of_click) = self._workers.sorted(), self._clicks.sorted()
        if workers is not None:
            names, of_worker = workers, encode(tuple(self._workers), workers)
        return Judgments(
            queries=queries,
            docs=docs,
            workers=names,
            query=of_query[query],
            left=of_doc[left],
            right=of_doc[right],
            choice=choice.astype(np.int8),
            strength=strength.astype(np.int8),
            worker=of_worker[worker],
            sides=sides,
            click=of_click[click] if clicks else None,
            gold=np.array([golds.get(name, (0, 0)) for name in names], dtype=np.int64).T if golds else None,
        )
