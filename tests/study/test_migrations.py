"""Stores that an earlier prefjudge wrote are taken over."""

from pathlib import Path

from prefjudge.database import Database
from prefjudge.study.migrations import STEPS
from prefjudge.study.progress import count_hits, load_barred


def test_barred_workers_are_of_a_target_and_hits_that_were_only_planned_are_planned_anew(
    tmp_path: Path,
) -> None:
    store = Database(f"sqlite:///{tmp_path / 'study.db'}")
    store.migrate(STEPS[:3])
    with store.transaction() as db:
        for key, status in (("out", "open"), ("called", "planned"), ("only planned", "planned")):
            db.execute(
                "INSERT INTO hits VALUES (:key, 1, 1, 'sandbox', 1, 200, '[]', NULL, :status, NULL)",
                key=key,
                status=status,
            )
            db.execute("INSERT INTO slots VALUES (:key, 0, 'name', NULL, NULL, 'a', 'b')", key=key)
        for key in ("out", "called"):
            db.execute(
                "INSERT INTO intents VALUES (:key, 'CreateHIT', 'sandbox', :key, 240, 0, NULL, NULL)", key=key
            )
        db.execute(
            "INSERT INTO assignments VALUES ('A', 'out', 'W', 0, 0, 0, '', 0, 0, 0, 1, 0, 'missed', NULL)"
        )
        db.execute("INSERT INTO barred VALUES ('W', 'missed 1 of 1 gold pairs', 0)")
    store.migrate(STEPS)
    with store.transaction(write=False) as db:
        assert load_barred(db, "sandbox") == {"W": "missed 1 of 1 gold pairs"}
        assert load_barred(db, "live") == {}
        assert count_hits(db, "sandbox") == {"open": 1, "planned": 1}
    store.close()
