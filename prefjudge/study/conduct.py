"""What each worker did: every judgment in the order of making, dropped ones too.

The workers are those of the target whose work is the study's.
"""

import json
from array import array
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prefjudge.core.judges.judgments import Judgments
from prefjudge.core.pooling.runs import encode
from prefjudge.database import Connection
from prefjudge.study.imports import sides_known
from prefjudge.study.targets import COUNTED, current_target


@dataclass(frozen=True, slots=True, kw_only=True)
class Conduct:
    """All judgments of the study, each worker's in the order in which they were made.

    Attributes
    ----------
    judgments : Judgments
        The judgments; ``workers`` holds everybody who submitted something.
    milliseconds : ndarray of int64, shape (n,)
        How long each comparison was visible; 0 where that is not known.
    gold_right, gold_missed : ndarray of int64, shape (n_workers,)
        The gold pairs that each worker got right, and missed.
    """

    judgments: Judgments
    milliseconds: NDArray[np.int64]
    gold_right: NDArray[np.int64]
    gold_missed: NDArray[np.int64]


def load_conduct(db: Connection) -> Conduct:
    """Return what each worker did."""
    golds = {
        worker: (int(right), int(missed))
        for worker, right, missed in db.execute(
            "SELECT worker_id, sum(gold_right), sum(gold_missed) FROM assignments "
            f"JOIN hits h USING (hit_key) WHERE {COUNTED} AND worker_id <> '' "
            "GROUP BY worker_id ORDER BY worker_id",
            target=current_target(db),
        )
    }
    rows = sorted(_rows(db), key=lambda row: row[7:])
    query, left, right, choice, strength, worker, milliseconds = (
        islice(zip(*rows, strict=True), 7) if rows else ((),) * 7
    )
    del rows
    queries, docs = tuple(sorted(set(query))), tuple(sorted(set(left + right)))
    return Conduct(
        judgments=Judgments(
            queries=queries,
            docs=docs,
            workers=tuple(golds),
            query=encode(query, queries),
            left=encode(left, docs),
            right=encode(right, docs),
            choice=np.array(choice, dtype=np.int8),
            strength=np.array(strength, dtype=np.int8),
            worker=encode(worker, tuple(golds)),
            sides=sides_known(db),
        ),
        milliseconds=np.array(milliseconds, dtype=np.int64),
        gold_right=np.array([right for right, _ in golds.values()], dtype=np.int64),
        gold_missed=np.array([missed for _, missed in golds.values()], dtype=np.int64),
    )


def _rows(db: Connection) -> Iterator[tuple[Any, ...]]:
    """Yield the columns of each judgment, and then its sorting key: its assignment, and its place there."""
    places = {
        (key, number): array("i", layout["order"])
        for key, layouts in db.execute("SELECT hit_key, layouts FROM hits")
        for number, layout in enumerate(json.loads(layouts))
    }
    found = db.execute(
        "SELECT j.query_id, j.left_id, j.right_id, j.choice, j.strength, j.worker_id, j.milliseconds, "
        "coalesce(a.submitted, a.collected), a.assignment_id, j.judgment_id, a.hit_key, a.layout, s.slot "
        "FROM judgments j JOIN assignments a USING (assignment_id) "
        "LEFT JOIN slots s ON s.hit_key = a.hit_key AND s.pair_id = j.pair_id "
        f"JOIN hits h ON h.hit_key = a.hit_key WHERE {COUNTED} AND j.worker_id <> ''",
        target=current_target(db),
    )
    for *row, number, hit_key, layout, slot in found:
        yield (
            *row,
            number if slot is None else places[hit_key, layout].index(slot),
        )  # a file's order is its own


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """How long an assignment's comparisons were visible, and what they pay."""

    worker_id: str
    seconds: float
    answered: int
    slots: int
    reward_cents: int


def load_paces(db: Connection) -> list[Pace]:
    """Return the pace of each assignment whose time is known."""
    rows = db.execute(
        "SELECT a.worker_id, a.seconds, a.answered, "
        "(SELECT count(*) FROM slots s WHERE s.hit_key = a.hit_key), h.reward_cents "
        "FROM assignments a JOIN hits h USING (hit_key) WHERE a.seconds > 0 AND a.answered > 0 "
        "AND h.target = :target ORDER BY a.worker_id, a.assignment_id",
        target=current_target(db),
    )
    return [
        Pace(worker_id=worker, seconds=seconds, answered=answered, slots=slots, reward_cents=cents)
        for worker, seconds, answered, slots, cents in rows
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """One assignment: when it was sent in, how many comparisons it has, and its HIT's reward."""

    submitted: float
    answered: int
    reward_cents: int


def load_progress(db: Connection) -> list[Progress]:
    """Return the assignments whose time is known, in the order in which they were sent in."""
    rows = db.execute(
        "SELECT a.submitted, a.answered, h.reward_cents FROM assignments a JOIN hits h USING (hit_key) "
        f"WHERE {COUNTED} AND a.submitted IS NOT NULL ORDER BY a.submitted, a.assignment_id",
        target=current_target(db),
    )
    return [Progress(submitted=when, answered=count, reward_cents=cents) for when, count, cents in rows]
