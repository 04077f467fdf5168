"""The study's schema: a later step takes stores over, and what nobody knows is refused."""

from pathlib import Path

import pytest

from prefjudge import init, status
from prefjudge.core.gold import GoldPair
from prefjudge.database import Database
from prefjudge.errors import PrefjudgeError, StudyError
from prefjudge.study.pools import load_active_gold, load_gold, load_withdrawn, save_gold
from prefjudge.study.store import STEPS, Study

NEXT = (
    "ALTER TABLE queries ADD COLUMN note TEXT NOT NULL DEFAULT 'none'; CREATE INDEX notes ON queries (note)"
)
"""A step of a later version."""


def test_a_later_step_takes_a_store_over_once_and_loses_nothing(tmp_path: Path) -> None:
    store = Database(f"sqlite:///{tmp_path / 'study.db'}")
    store.migrate(STEPS)
    with store.transaction() as db:
        db.execute("INSERT INTO queries VALUES ('q', 'what is it')")
    assert store.version() == len(STEPS)
    for _ in range(2):
        store.migrate([*STEPS, NEXT])
        assert store.version() == len(STEPS) + 1
    with store.transaction(write=False) as db:
        assert db.execute("SELECT * FROM queries") == [("q", "what is it", "none")]
    store.close()


def test_a_store_that_may_only_be_read_is_not_taken_over(tmp_path: Path) -> None:
    store = Database(f"sqlite:///{tmp_path / 'study.db'}")
    store.migrate(STEPS)
    store.read_only = True
    store.migrate(STEPS)
    with pytest.raises(PrefjudgeError, match="cannot be written"):
        store.migrate([*STEPS, NEXT])
    assert store.version() == len(STEPS)
    store.close()


def test_a_store_of_a_development_version_is_refused(tmp_path: Path) -> None:
    """Such stores counted 13 steps and more, with other tables."""
    init(tmp_path / "study")
    store = Database(f"sqlite:///{tmp_path / 'study' / 'study.db'}")
    store.migrate(STEPS)
    with store.transaction() as db:
        db.execute("DROP TABLE duels")
        db.execute("INSERT INTO schema_version VALUES (13)")
    store.close()
    with pytest.raises(StudyError, match="has schema 13; this prefjudge knows up to 6") as refused:
        status(tmp_path / "study")
    assert "before 0.1" in refused.value.hint


def test_a_withdrawn_gold_pair_keeps_its_number_and_may_come_back(tmp_path: Path) -> None:
    pairs = [
        GoldPair(query_id=name, query=name, good_id="g", good="yes", bad_id="b", bad="no", practice="so")
        for name in "xy"
    ]
    init(tmp_path / "study")
    with Study(tmp_path / "study").transaction() as db:
        assert save_gold(db, pairs, 1.0) == (2, 0)
        assert save_gold(db, pairs[1:], 2.0) == (0, 1)
        assert (load_withdrawn(db), set(load_gold(db))) == ({1}, {1, 2})
        assert save_gold(db, pairs, 3.0) == (1, 0)
        assert (load_withdrawn(db), load_active_gold(db)) == (frozenset(), {})
        assert db.execute("SELECT count(*) FROM settings WHERE key LIKE 'gold%'") == [(0,)]
