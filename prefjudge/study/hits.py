"""The study's HITs: what each asks, in which state it is, and which pairs still wait for one."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from prefjudge.core.hits import Layout
from prefjudge.database import Connection


class HitStatus(StrEnum):
    """The life of a HIT as the study sees it."""

    PLANNED = "planned"
    OPEN = "open"
    CLOSED = "closed"


@dataclass(frozen=True, slots=True, kw_only=True)
class StudySlot:
    """One comparison of a HIT: a pair or a gold pair, under an opaque name.

    The first passage is ``doc_a`` of a pair, the good one of a gold pair; ``tokens`` stand for the passages
    in the worker's answer.
    """

    name: str
    pair_id: int | None
    gold_id: int | None
    tokens: tuple[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyHit:
    """One HIT of the study."""

    hit_key: str
    batch: int
    number: int
    target: str
    assignments: int
    reward_cents: int
    layouts: tuple[Layout, ...]
    slots: tuple[StudySlot, ...]
    hit_id: str | None = None
    status: HitStatus = HitStatus.PLANNED


def save_hits(db: Connection, hits: Sequence[StudyHit]) -> None:
    """Add planned HITs."""
    db.executemany(
        "INSERT INTO hits VALUES (:key, :batch, :number, :target, :assignments, :reward, :layouts, NULL, "
        ":status, NULL)",
        (
            {
                "key": hit.hit_key,
                "batch": hit.batch,
                "number": hit.number,
                "target": hit.target,
                "assignments": hit.assignments,
                "reward": hit.reward_cents,
                "layouts": json.dumps(
                    [{"order": layout.order, "swapped": layout.swapped} for layout in hit.layouts]
                ),
                "status": hit.status,
            }
            for hit in hits
        ),
    )
    db.executemany(
        "INSERT INTO slots VALUES (:key, :slot, :name, :pair, :gold, :first, :second)",
        (
            {
                "key": hit.hit_key,
                "slot": place,
                "name": slot.name,
                "pair": slot.pair_id,
                "gold": slot.gold_id,
                "first": slot.tokens[0],
                "second": slot.tokens[1],
            }
            for hit in hits
            for place, slot in enumerate(hit.slots)
        ),
    )


def save_published(db: Connection, hit_key: str, hit_id: str, when: float) -> None:
    """Record that the marketplace has the HIT."""
    db.execute(
        "UPDATE hits SET hit_id = :hit_id, status = :status, published = :published WHERE hit_key = :key",
        hit_id=hit_id,
        status=HitStatus.OPEN,
        published=when,
        key=hit_key,
    )


def save_status(db: Connection, hit_key: str, status: HitStatus) -> None:
    """Record a HIT's new state."""
    db.execute("UPDATE hits SET status = :status WHERE hit_key = :key", status=status, key=hit_key)


def save_extension(db: Connection, hit_key: str) -> None:
    """Record that the HIT has one more assignment."""
    db.execute(
        "UPDATE hits SET assignments = assignments + 1, status = :status WHERE hit_key = :key",
        status=HitStatus.OPEN,
        key=hit_key,
    )


def load_hits(db: Connection, status: HitStatus | None = None) -> list[StudyHit]:
    """Return the HITs, of one status or all, in the order of publication."""
    where = "WHERE status = :status" if status else ""
    rows = db.execute(
        "SELECT hit_key, batch, number, target, assignments, reward_cents, layouts, hit_id, status "
        f"FROM hits {where} ORDER BY batch, number",
        {"status": status} if status else {},
    )
    slots = _load_slots(db, where, status)
    return [
        StudyHit(
            hit_key=key,
            batch=batch,
            number=number,
            target=target,
            assignments=assignments,
            reward_cents=reward,
            layouts=tuple(
                Layout(order=tuple(layout["order"]), swapped=tuple(layout["swapped"]))
                for layout in json.loads(layouts)
            ),
            slots=tuple(slots[key]),
            hit_id=hit_id,
            status=HitStatus(state),
        )
        for key, batch, number, target, assignments, reward, layouts, hit_id, state in rows
    ]


def _load_slots(db: Connection, where: str, status: HitStatus | None) -> dict[str, list[StudySlot]]:
    rows = db.execute(
        "SELECT s.hit_key, s.name, s.pair_id, s.gold_id, s.first_token, s.second_token "
        f"FROM slots s JOIN hits USING (hit_key) {where} ORDER BY s.hit_key, s.slot",
        {"status": status} if status else {},
    )
    slots: dict[str, list[StudySlot]] = {}
    for key, name, pair_id, gold_id, first, second in rows:
        slot = StudySlot(name=name, pair_id=pair_id, gold_id=gold_id, tokens=(first, second))
        slots.setdefault(key, []).append(slot)
    return slots


def last_batch(db: Connection) -> int:
    """Return the number of the last batch of HITs, 0 before the first."""
    return int(db.execute("SELECT coalesce(max(batch), 0) FROM hits")[0][0])
