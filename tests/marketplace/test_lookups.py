"""What a worker's page asks begins with the worker's own HITs: thousands may be open beside them."""

import re
import sqlite3
from contextlib import closing
from typing import cast

from prefjudge.database import Connection, sqlite
from prefjudge.marketplace.hits.hits import count_open
from prefjudge.marketplace.people.qualifications import standing
from prefjudge.marketplace.store.store import STEPS, Marketplace, Transaction


def test_what_a_worker_has_had_is_counted_by_the_worker() -> None:
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as raw:
        for step in STEPS:
            raw.executescript(step.replace("{serial}", "INTEGER PRIMARY KEY AUTOINCREMENT"))
        raw.execute(
            "INSERT INTO workers (worker_id, locale, approved, rejected, created) VALUES ('W', '', 0, 0, 0)"
        )
        tx, asked = (
            Transaction(cast("Marketplace", None), Connection("sqlite", raw, sqlite.execute), 0.0),
            list[str](),
        )
        raw.set_trace_callback(asked.append)
        assert count_open(tx, "W", "T") == 0
        assert standing(tx, "W").taken == {}
        raw.set_trace_callback(None)
        plans = [
            [step for *_, step in raw.execute(f"EXPLAIN QUERY PLAN {sql}") if step[0] == "S"]  # SEARCH, SCAN
            for sql in asked
            if "assignments a" in sql
        ]
    assert len(plans) == 2
    for first, second, *_ in plans:
        assert re.fullmatch(r"SEARCH a USING (COVERING )?INDEX assignments_once \(worker_id=\?\)", first)
        assert re.fullmatch(r"SEARCH h USING INDEX \w+ \(hit_id=\?\)", second)
