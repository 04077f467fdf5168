"""What is asked once for each HIT looks its rows up: a study ten times as large takes ten times as long."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from prefjudge.database import Connection, sqlite
from prefjudge.study.assignments import (
    StudyAssignment,
    StudyJudgment,
    load_overlaps,
    save_assignment,
    save_decision,
    save_rejection,
)
from prefjudge.study.hits import count_dropped, save_extension, save_published
from prefjudge.study.money import committed_cents, count_settled, settle, void
from prefjudge.study.people import Judge, count_last_dropped
from prefjudge.study.progress import waiting_pairs
from prefjudge.study.store import STEPS


@pytest.fixture
def raw(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(tmp_path / "study.db", isolation_level=None)) as connection:
        for step in STEPS:
            connection.executescript(step.replace("{serial}", "INTEGER PRIMARY KEY AUTOINCREMENT"))
        yield connection


def assignment() -> StudyAssignment:
    judgment = StudyJudgment(
        pair_id=1, query_id="q", left_id="a", right_id="b", choice=1, strength=1, milliseconds=9
    )
    return StudyAssignment(
        assignment_id="A", hit_key="h", worker_id="W", accepted=0, submitted=0, collected=0, answer="",
        judge=Judge.PERSON, layout=0, answered=1, gold_right=0, gold_missed=0, seconds=1, verdict="missed",
        judgments=[judgment],
    )  # fmt: skip


def test_no_table_is_read_whole_for_one_hit(raw: sqlite3.Connection) -> None:
    db, asked = Connection("sqlite", raw, sqlite.execute), list[str]()
    raw.set_trace_callback(asked.append)
    count_dropped(db, ["h", "i"])
    count_settled(db, "h", "CreateHIT")
    load_overlaps(db, "sandbox", ["h", "i"])
    save_assignment(db, assignment(), phase="batch 1")
    save_decision(db, "A", "approved")
    save_rejection(db, "A", "why", 0.0)
    save_published(db, "h", "H", 0.0)
    save_extension(db, "h")
    settle(db, "t", "H", 0.0)
    void(db, "t")
    raw.set_trace_callback(None)
    plans = {
        sql: [str(row[3]) for row in raw.execute(f"EXPLAIN QUERY PLAN {sql}")]
        for sql in dict.fromkeys(asked)
        if not sql.startswith(("BEGIN", "COMMIT", "--"))
    }
    assert len(plans) > 10
    scanned = [(step, sql) for sql, steps in plans.items() for step in steps if step.startswith("SCAN")]
    assert not scanned


def test_what_is_asked_for_every_few_hits_is_found_without_reading_all_of_them(
    raw: sqlite3.Connection,
) -> None:
    db, asked = Connection("sqlite", raw, sqlite.execute), list[str]()
    raw.set_trace_callback(asked.append)
    count_last_dropped(db, "sandbox", 50)
    committed_cents(db, "sandbox")
    raw.set_trace_callback(None)
    last, committed = ([str(row[3]) for row in raw.execute(f"EXPLAIN QUERY PLAN {sql}")] for sql in asked)
    assert any("USING INDEX assignments_by_time" in step for step in last), last
    assert not any("TEMP B-TREE" in step for step in last), "all of them are sorted for the last"
    assert committed == ["SEARCH intents USING COVERING INDEX intents_by_target (target=?)"]


def test_what_waits_is_found_without_looking_up_the_hit_of_every_judgment(raw: sqlite3.Connection) -> None:
    db, asked = Connection("sqlite", raw, sqlite.execute), list[str]()
    raw.set_trace_callback(asked.append)
    waiting_pairs(db, "sandbox")
    raw.set_trace_callback(None)
    steps = {str(row[3]) for row in raw.execute(f"EXPLAIN QUERY PLAN {asked[-1]}")}
    assert any(step.startswith("SEARCH j ") for step in steps), "by the assignments that count"
    assert any(step.startswith("SEARCH s ") and "(hit_key=?)" in step for step in steps), "by the HITs out"
