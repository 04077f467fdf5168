"""The store: HITs committed durably, many at once, and one by one as ``publish`` calls."""

from __future__ import annotations

import os
import shutil
import sqlite3
import tempfile
from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal
from pathlib import Path
from typing import IO

from harness import Contest, Lab, call

from prefjudge.core.gold import GoldPair
from prefjudge.field.publish import plan_batch
from prefjudge.steps.init import init
from prefjudge.study.hits import StudyHit, save_hits, save_published
from prefjudge.study.money import Intent, intend, settle
from prefjudge.study.pools import save_gold
from prefjudge.study.store import STORE_FILE, Study

TITLE = "store: HITs of ten pairs and three gold pairs, synced to the disk"

Rows = list[tuple[object, ...]]
_WHEN = 1_790_000_000.0
_BUDGET = Decimal(10_000_000)


def contests(lab: Lab) -> Iterable[Contest]:
    """Yield the contests. The rival is SQLite alone, as durable, with the same rows and indexes."""
    with tempfile.TemporaryDirectory(dir=lab.folder) as name:
        folder = Path(name)
        for count in (20, 40) if lab.short else (200, 2_000, 20_000):
            study, hits = waiting_study(folder / str(count), count)
            yield Contest(
                name=f"{count:,} HITs, one transaction",
                ours=call(save_batch, hits, fresh=copies(study)),
                rivals={"SQLite alone": call(insert_batch, *rows_of(study, hits), fresh=connections(study))},
                count=count,
                unit="HITs",
                goal_per_second=6_000,
            )
        count = 20 if lab.short else 1_000
        study, hits = waiting_study(folder / "called", count)
        yield Contest(
            name=f"{count:,} HITs one by one, a transaction before and after each call",
            ours=call(settle_each, hits, fresh=copies(study)),
            rivals={
                "SQLite alone": call(insert_each, *rows_of(study, hits), fresh=connections(study)),
                "write and sync": call(
                    sync_each, hits, fresh=lambda: (folder / "log").open("wb", buffering=0)
                ),
            },
            count=count,
            unit="HITs",
            note="the disk sets the pace",
        )


def waiting_study(path: Path, count: int) -> tuple[Path, tuple[StudyHit, ...]]:
    """Make a study with pairs that wait, and plan the ``count`` HITs that they fill."""
    init(path)
    study = Study(path)
    pairs = count * study.config.design.pairs_per_hit
    gold = [
        GoldPair(query_id=f"g{i}", query="why?", good_id=f"y{i}", good="so", bad_id=f"n{i}", bad="no")
        for i in range(20)
    ]
    with study.transaction() as db:
        db.executemany(
            "INSERT INTO pairs VALUES (:id, :query, :a, :b, 1)",
            ({"id": i, "query": f"q{i % 7_000}", "a": f"a{i}", "b": f"b{i}"} for i in range(1, pairs + 1)),
        )
        save_gold(db, gold, _WHEN)
    hits = plan_batch(study, "sandbox")
    assert len(hits) == count
    study.close()
    return path, hits


def copies(path: Path) -> Callable[[], Study]:
    """Return what copies a study and opens the copy."""

    def copy() -> Study:
        study = Study(_copied(path))
        _ = study.database
        return study

    return copy


def connections(path: Path) -> Callable[[], sqlite3.Connection]:
    """Return what copies a study and connects to the copy's store, as the study does."""

    def connect() -> sqlite3.Connection:
        raw = sqlite3.connect(_copied(path) / STORE_FILE, isolation_level=None)
        for pragma in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON"):
            raw.execute(f"PRAGMA {pragma}")
        return raw

    return connect


def _copied(path: Path) -> Path:
    copy = path.with_name(f"{path.name}-copy")
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(path, copy)
    return copy


def rows_of(path: Path, hits: Sequence[StudyHit]) -> tuple[Rows, Rows]:
    """Return the rows that the study's store keeps of HITs."""
    study = copies(path)()
    save_batch(study, hits)
    with study.transaction(write=False) as db:
        return db.execute("SELECT * FROM hits"), db.execute("SELECT * FROM slots")


def save_batch(study: Study, hits: Sequence[StudyHit]) -> None:
    """Commit HITs in one transaction."""
    with study.transaction() as db:
        save_hits(db, hits)


def insert_batch(raw: sqlite3.Connection, hits: Rows, slots: Rows) -> None:
    """Commit the same rows, made beforehand."""
    raw.execute("BEGIN IMMEDIATE")
    raw.executemany("INSERT INTO hits VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", hits)
    raw.executemany("INSERT INTO slots VALUES (?, ?, ?, ?, ?, ?, ?)", slots)
    raw.execute("COMMIT")


def settle_each(study: Study, hits: Sequence[StudyHit]) -> None:
    """Commit each HIT with its intent, and what came of it, as ``publish`` does around its calls."""
    for hit in hits:
        key = hit.hit_key
        intent = Intent(
            token=key * 2, operation="CreateHIT", target="sandbox", subject=key, cents=240, intended=_WHEN
        )
        with study.transaction() as db:
            intend(db, intent, budget=_BUDGET)
            save_hits(db, [hit])
        with study.transaction() as db:
            settle(db, intent.token, key, _WHEN)
            save_published(db, key, key, _WHEN)


def insert_each(raw: sqlite3.Connection, hits: Rows, slots: Rows) -> None:
    """Commit the same rows with nothing looked up."""
    of_hit: dict[object, Rows] = {}
    for slot in slots:
        of_hit.setdefault(slot[0], []).append(slot)
    for hit in hits:
        key = str(hit[0])
        raw.execute("BEGIN IMMEDIATE")
        raw.execute(
            "INSERT INTO intents VALUES (?, 'CreateHIT', 'sandbox', ?, 240, ?, NULL, NULL)",
            (key * 2, key, _WHEN),
        )
        raw.execute("INSERT INTO hits VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", hit)
        raw.executemany("INSERT INTO slots VALUES (?, ?, ?, ?, ?, ?, ?)", of_hit[key])
        raw.execute("COMMIT")
        raw.execute("BEGIN IMMEDIATE")
        raw.execute("UPDATE intents SET outcome = ?, settled = ? WHERE token = ?", (key, _WHEN, key * 2))
        raw.execute(
            "UPDATE hits SET hit_id = ?, status = 'open', published = ? WHERE hit_key = ?", (key, _WHEN, key)
        )
        raw.execute("COMMIT")


def sync_each(log: IO[bytes], hits: Sequence[StudyHit]) -> None:
    """Write a page and wait for the disk, twice for each HIT: what durability costs at the least."""
    for _ in range(2 * len(hits)):
        log.write(bytes(4096))
        os.fsync(log.fileno())
