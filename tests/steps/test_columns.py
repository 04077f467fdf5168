"""A table that gets another column breaks no statement: all of them name theirs."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from prefjudge.database import Database
from prefjudge.steps.demo import demo


def test_the_whole_road_goes_with_a_column_more_in_every_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    migrate, widened = Database.migrate, set()

    def migrate_and_widen(self: Database, steps: Sequence[str]) -> None:
        if self.version() <= len(steps):
            migrate(self, steps)
            with self.transaction(write=False) as db:
                tables = [table for table in db.tables() if table != "schema_version"]
            widen = ";".join(f"ALTER TABLE {table} ADD COLUMN extra TEXT" for table in tables)
            migrate(self, [*steps, widen])
            widened.update(tables)

    monkeypatch.setattr(Database, "migrate", migrate_and_widen)
    demo(tmp_path / "demo")
    assert {"hits", "judgments", "gold", "answers", "intents"} <= widened, "the study's"
    assert {"requesters", "transfers", "request_tokens", "events", "accounts"} <= widened, "the marketplace's"
