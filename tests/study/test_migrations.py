"""Stores that an earlier prefjudge wrote are taken over."""

from pathlib import Path

from prefjudge.database import Database
from prefjudge.study.migrations import STEPS
from prefjudge.study.progress import count_hits, load_barred
from prefjudge.study.rehearsal import load_rehearsal


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


def test_what_simulated_workers_judged_is_told_from_peoples_work(tmp_path: Path) -> None:
    store = Database(f"sqlite:///{tmp_path / 'study.db'}")
    store.migrate(STEPS[:5])
    with store.transaction() as db:
        card = '{"worker_id": "ASIM", "invite": "ABCD"}'
        db.execute("INSERT INTO settings VALUES ('worker:0', :card)", card=card)
        db.execute("INSERT INTO pairs VALUES (1, 'q', 'a', 'b', 1)")
        db.execute("INSERT INTO hits VALUES ('h', 1, 1, 'sandbox', 1, 200, '[]', 'H', 'open', 0)")
        for worker in ("ASIM", "ASI", "ABCD"):
            db.execute(
                "INSERT INTO assignments VALUES (:w, 'h', :w, 0, 0, 0, '', 0, 1, 0, 0, 1, 'kept', NULL)",
                w=worker,
            )
            db.execute(
                "INSERT INTO judgments (pair_id, query_id, left_id, right_id, choice, strength, "
                "milliseconds, worker_id, judge, phase, assignment_id) "
                "VALUES (1, 'q', 'a', 'b', 1, 1, 9, :w, 'person', 'batch 1', :w)",
                w=worker,
            )
    store.migrate(STEPS)
    with store.transaction(write=False) as db:
        assert dict(db.execute("SELECT worker_id, judge FROM judgments")) == {
            "ASIM": "simulated",
            "ASI": "person",
            "ABCD": "person",
        }
        assert str(load_rehearsal(db)) == "rehearsal: 1 of 3 judgments are simulated"
    store.close()
