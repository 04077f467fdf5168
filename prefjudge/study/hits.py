"""The study's HITs: what each asks, in which state it is, and what it still holds."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

from prefjudge.database import Connection, in_list
from prefjudge.errors import StudyError
from prefjudge.study.store import (
    current_target,
    keep_setting,
    load_published_targets,
    load_setting,
    save_setting,
)

if TYPE_CHECKING:
    from prefjudge.core.hits import Layout
    from prefjudge.study.config import DesignConfig
    from prefjudge.study.store import Study


class HitStatus(StrEnum):
    """The life of a HIT as the study sees it."""

    PLANNED = "planned"
    """Intended: the call that publishes it has been made, or is about to be."""
    OPEN = "open"
    CLOSED = "closed"


@dataclass(frozen=True, slots=True, kw_only=True)
class HitKey:
    """A HIT's key, which is also its annotation at the marketplace.

    It tells the study, the HIT, and how many assignments it began with, so that a study can find its HITs
    again if its store is lost. Only the study's secret makes the last part.
    """

    mark: str
    batch: int
    number: int
    assignments: int
    opaque: str

    def __str__(self) -> str:
        return f"{self.mark}-{self.batch}-{self.number}-{self.assignments}-{self.opaque}"


_KEY = re.compile(r"([0-9a-z]{12})-([1-9]\d{0,8})-([1-9]\d{0,8})-([1-9]\d{0,8})-([0-9a-f]{24})")


def read_hit_key(text: str) -> HitKey | None:
    """Return the key that an annotation holds; None where it is not a study's."""
    found = _KEY.fullmatch(text)
    if found is None:
        return None
    mark, batch, number, assignments, opaque = found.groups()
    return HitKey(
        mark=mark, batch=int(batch), number=int(number), assignments=int(assignments), opaque=opaque
    )


class SlotPair(NamedTuple):
    """A pair, or a gold pair, that a question shows, and what stands for its passages in the answer.

    The first passage is ``doc_a`` of a pair, the good one of a gold pair.
    """

    pair_id: int | None
    gold_id: int | None
    tokens: tuple[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class StudySlot:
    """One question of a HIT, under an opaque name: a pair or a gold pair; ``more`` of several passages."""

    name: str
    pair_id: int | None
    gold_id: int | None
    tokens: tuple[str, str]
    more: tuple[SlotPair, ...] = ()

    @property
    def pairs(self) -> tuple[SlotPair, ...]:
        """All pairs of a question, or its good passage with each of the others where it is gold."""
        return (SlotPair(self.pair_id, self.gold_id, self.tokens), *self.more)

    @property
    def passages(self) -> tuple[str, ...]:
        """What stands for each passage; the good one of gold is the first."""
        return tuple(dict.fromkeys(token for pair in self.pairs for token in pair.tokens))


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyHit:
    """One HIT of the study; one without slots was given up, because its texts are lost."""

    hit_key: str
    batch: int
    number: int
    target: str
    assignments: int
    reward_cents: int
    layouts: "tuple[Layout, ...]"
    slots: tuple[StudySlot, ...]
    hit_id: str | None = None
    status: HitStatus = HitStatus.PLANNED

    @property
    def given_up(self) -> bool:
        """Whether the texts of its page are lost: its answers cannot be read, only paid."""
        return not self.slots


def has_hit(db: Connection, hit_key: str) -> bool:
    """Return whether the study knows a HIT."""
    return bool(db.execute("SELECT 1 FROM hits WHERE hit_key = :key", key=hit_key))


def save_assignment_count(db: Connection, hit_key: str, assignments: int) -> None:
    """Record how many assignments a HIT has."""
    db.update("hits", {"assignments": assignments}, hit_key=hit_key)


def save_hits(db: Connection, hits: Sequence[StudyHit]) -> None:
    """Add HITs that are about to be published."""
    db.insert_all(
        "hits",
        (
            {
                "hit_key": hit.hit_key,
                "batch": hit.batch,
                "number": hit.number,
                "target": hit.target,
                "assignments": hit.assignments,
                "reward_cents": hit.reward_cents,
                "layouts": json.dumps(
                    [{"order": layout.order, "swapped": layout.swapped} for layout in hit.layouts]
                ),
                "status": hit.status,
            }
            for hit in hits
        ),
    )
    db.insert_all(
        "slots",
        (
            {
                "hit_key": hit.hit_key,
                "slot": place + number * len(hit.slots),  # modulo the questions it is the place of its own
                "name": slot.name,
                "pair_id": pair.pair_id,
                "gold_id": pair.gold_id,
                "first_token": pair.tokens[0],
                "second_token": pair.tokens[1],
            }
            for hit in hits
            for place, slot in enumerate(hit.slots)
            for number, pair in enumerate(slot.pairs)
        ),
    )


def save_published(db: Connection, hit_key: str, hit_id: str, when: float) -> None:
    """Record that the marketplace has the HIT."""
    changes = {"hit_id": hit_id, "status": HitStatus.OPEN, "published": when}
    db.update("hits", changes, hit_key=hit_key)


def save_status(db: Connection, hit_keys: Sequence[str], status: HitStatus) -> None:
    """Record the new state of HITs."""
    db.executemany(
        "UPDATE hits SET status = :status WHERE hit_key = :key",
        ({"status": status, "key": key} for key in hit_keys),
    )


def close_lost(db: Connection, target: str) -> int:
    """Close all HITs at a target whose marketplace is lost; return how many could still get answers."""
    # Their ids are deleted, because no marketplace knows them: nothing there is asked or taken back. The
    # intents keep them. Nor does one know any more how many HITs a worker may take.
    lost = {"target": target, "closed": HitStatus.CLOSED}
    still_open = db.value("SELECT count(*) FROM hits WHERE target = :target AND status <> :closed", **lost)
    db.execute("DELETE FROM allowances WHERE target = :target", target=target)
    db.update("hits", {"status": HitStatus.CLOSED, "hit_id": None}, target=target)
    return int(still_open)


def save_extension(db: Connection, hit_key: str) -> None:
    """Record that the HIT has one more assignment."""
    db.execute(
        "UPDATE hits SET assignments = assignments + 1, status = :status WHERE hit_key = :key",
        status=HitStatus.OPEN,
        key=hit_key,
    )


def delete_hit(db: Connection, hit_key: str) -> None:
    """Forget a HIT that the marketplace refused."""
    for table in ("slots", "hits"):
        db.execute(f"DELETE FROM {table} WHERE hit_key = :key", key=hit_key)


def load_hits(db: Connection, target: str, status: HitStatus | None = None) -> list[StudyHit]:
    """Return the HITs at a target, of one status or all, in the order of publication."""
    from prefjudge.core.hits import Layout  # with numpy, which only a look at the HITs needs

    wanted = {"target": target, "status": status}
    rows = db.execute(
        "SELECT hit_key, batch, number, target, assignments, reward_cents, layouts, hit_id, status "
        f"FROM hits {_OF_TARGET} ORDER BY batch, number",
        wanted,
    )
    pairs: dict[str, dict[str, list[SlotPair]]] = {}
    for key, name, pair_id, gold_id, first, second in db.execute(
        "SELECT s.hit_key, s.name, s.pair_id, s.gold_id, s.first_token, s.second_token "
        f"FROM slots s JOIN hits USING (hit_key) {_OF_TARGET} ORDER BY s.hit_key, s.slot",
        wanted,
    ):
        one = SlotPair(pair_id, gold_id, (first, second))
        pairs.setdefault(key, {}).setdefault(name, []).append(one)
    return [
        StudyHit(
            hit_key=key,
            batch=batch,
            number=number,
            target=target,
            assignments=assignments,
            reward_cents=reward,
            layouts=tuple(
                Layout(
                    order=tuple(layout["order"]),
                    swapped=tuple(tuple(s) if isinstance(s, list) else s for s in layout["swapped"]),
                )
                for layout in json.loads(layouts)
            ),
            slots=tuple(
                StudySlot(name=name, **first._asdict(), more=tuple(more))
                for name, (first, *more) in pairs.get(key, {}).items()
            ),
            hit_id=hit_id,
            status=HitStatus(state),
        )
        for key, batch, number, target, assignments, reward, layouts, hit_id, state in rows
    ]


_OF_TARGET = "WHERE target = :target AND status = coalesce(CAST(:status AS TEXT), status)"


@dataclass(frozen=True, slots=True, kw_only=True)
class UnusedHit:
    """A closed HIT for which not all assignments came; ``cents`` were committed to it in all."""

    hit_key: str
    hit_id: str
    assignments: int
    reward_cents: int
    came: int
    cents: int


def load_unused(db: Connection, target: str) -> list[UnusedHit]:
    """Return the closed HITs that hold money for answers that never came."""
    # Only HITs with a decision on every answer that came, until their money has come back.
    return db.records(UnusedHit, _UNUSED, target=target)


_UNUSED = """
WITH closed AS (
    SELECT h.hit_key, h.hit_id, h.assignments, h.reward_cents, h.batch, h.number,
           count(a.assignment_id) AS came, count(a.decision) AS decided
    FROM hits h LEFT JOIN assignments a USING (hit_key)
    WHERE h.target = :target AND h.status = 'closed' AND h.hit_id IS NOT NULL
    GROUP BY h.hit_key, h.hit_id, h.assignments, h.reward_cents, h.batch, h.number
)
SELECT hit_key, hit_id, assignments, reward_cents, came,
       (SELECT CAST(sum(i.cents) AS BIGINT) FROM intents i WHERE i.subject = hit_key AND i.cents > 0)
FROM closed WHERE assignments > came AND decided = came
AND NOT EXISTS (SELECT 1 FROM intents i WHERE i.subject = hit_key AND i.cents < 0 AND i.outcome IS NOT NULL)
ORDER BY batch, number
"""


def count_asked(db: Connection) -> dict[int, int]:
    """Return how many assignments ask about each pair, by its number; pairs in no HIT are left out."""
    return db.tally(
        "SELECT pair_id, sum(assignments) FROM slots JOIN hits USING (hit_key) "
        "WHERE pair_id IS NOT NULL GROUP BY pair_id"
    )


def count_dropped(db: Connection, hit_keys: Sequence[str]) -> dict[str, int]:
    """Return how many assignments of each HIT were dropped whole; HITs with none are left out."""
    wanted, keys = in_list("k", hit_keys)
    return db.tally(
        "SELECT hit_key, count(*) FROM assignments "
        f"WHERE hit_key IN ({wanted}) AND verdict <> 'kept' GROUP BY hit_key",
        keys,
    )


def last_batch(db: Connection) -> int:
    """Return the number of the last batch of HITs, 0 before the first."""
    return int(db.value("SELECT coalesce(max(batch), 0) FROM hits"))


def count_shown_words(db: Connection, hits: Sequence[StudyHit]) -> dict[str, int]:
    """Return how many words the questions and passages of each HIT have, by the HIT's key."""
    shown = [pair for hit in hits for slot in hit.slots for pair in slot.pairs]
    of_pair = _counted(db, _PAIRS, sorted({pair.pair_id for pair in shown if pair.pair_id}))
    of_gold = _counted(db, _GOLD, sorted({pair.gold_id for pair in shown if pair.gold_id}))

    def count(slot: StudySlot) -> int:
        words = {"": 0}  # of the question, and of each passage once
        for pair in slot.pairs:
            found = of_pair.get(pair.pair_id or 0) or of_gold.get(pair.gold_id or 0) or (0, 0, 0)
            words |= dict(zip(("", *pair.tokens), found, strict=True))
        return sum(words.values())

    return {hit.hit_key: sum(map(count, hit.slots)) for hit in hits}


_PAIRS = """
SELECT p.pair_id, q.text, a.text, b.text FROM pairs p JOIN queries q USING (query_id)
JOIN passages a ON a.doc_id = p.doc_a JOIN passages b ON b.doc_id = p.doc_b WHERE p.pair_id IN
"""
_GOLD = "SELECT gold_id, query, good, bad FROM gold WHERE gold_id IN"


def _counted(db: Connection, select: str, numbers: Sequence[int]) -> dict[int, tuple[int, ...]]:
    wanted, named = in_list("n", numbers)
    return {
        int(number): tuple(len(str(text).split()) for text in texts)
        for number, *texts in db.execute(f"{select} ({wanted})", named)
    }


# What the HITs of a target ask: votes on two questions are never counted together.

_ASKED = "asked:"
"""Before a target: the setting that says in JSON what its HITs ask."""
_ASKS = {"question", "allow_ties", "strengths", "language"}
"""The keys of [design] that say what a vote is. Others may change: they explain it, or say how many."""


def hold_question(study: "Study", db: Connection, target: str) -> None:
    """Record what the first HITs of a target ask, before they are recorded; refuse another question later."""
    save_setting(db, f"{_ASKED}{target}", json.dumps(check_question(study, db, target)))


def check_question(study: "Study", db: Connection, target: str) -> dict[str, object]:
    """Return what HITs of a target ask; refuse something else than those that are there."""
    now = study.config.design.model_dump(mode="json", include=_ASKS)
    asked = _load_asked(db, target) if target in load_published_targets(db) else {}
    for name, before in sorted(asked.items()):
        if _shown(before) != _shown(now[name]):
            raise StudyError(
                f"{name} in [design] of study.toml is {_shown(now[name])}, but the published HITs have "
                f"{_shown(before)}: votes on both cannot be counted together",
                f"Put {name} back, or make a new study.",
            )
    return now | asked


def recall_question(db: Connection, target: str, question: str) -> None:
    """Record the question that a published HIT shows, where the store has forgotten it."""
    keep_setting(db, f"{_ASKED}{target}", json.dumps({"question": question}))


def asked_design(study: "Study") -> "DesignConfig":
    """Return the design, with what the published HITs ask in place of what study.toml says by now."""
    design = study.config.design
    with study.transaction(write=False) as db:
        asked = _load_asked(db, current_target(db))
    return type(design).model_validate(design.model_dump() | asked)


def _load_asked(db: Connection, target: str) -> dict[str, object]:
    return dict(json.loads(load_setting(db, f"{_ASKED}{target}") or "{}"))


def _shown(value: object) -> str:
    """Return a value as study.toml has it, whatever its line breaks."""
    return " ".join(json.dumps(value, ensure_ascii=False).replace("\\n", " ").split())


def load_rewards(db: Connection, target: str) -> list[int]:
    """Return the rewards of a target's HITs in cents, the last one last."""
    rows = db.execute(
        "SELECT reward_cents FROM hits WHERE target = :target GROUP BY reward_cents ORDER BY max(batch)",
        target=target,
    )
    return [int(cents) for (cents,) in rows]


def rewards_paid(study: "Study") -> str:
    """Return the reward of a HIT, or of the HITs, where it was changed: ``2.00 to 2.50``."""
    with study.transaction(write=False) as db:
        paid = load_rewards(db, current_target(db)) or [int(100 * study.config.hit.reward)]
    return " to ".join(f"{cents / 100:.2f}" for cents in sorted({min(paid), max(paid)}))
