"""Rows as records: columns by name, on both databases."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

import prefjudge
from prefjudge.database import Database
from tests.marketplace.conftest import cluster as cluster
from tests.marketplace.postgres import Cluster


@dataclass(frozen=True, slots=True, kw_only=True)
class Word:
    text: str
    length: int
    note: str | None = None


TABLE = "CREATE TABLE words (seq {serial}, note TEXT, length BIGINT NOT NULL, text TEXT UNIQUE, extra TEXT)"


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Database]:
    url = f"sqlite:///{tmp_path / 'a.db'}"
    if request.param == "postgresql":
        cluster: Cluster = request.getfixturevalue("cluster")
        url = cluster.new_database()
    database = Database(url)
    database.migrate([TABLE])
    yield database
    database.close()


def test_columns_go_by_their_names_and_not_by_their_order(database: Database) -> None:
    word = Word(text="per cent: 100 % :name", length=21)
    with database.transaction() as db:
        assert db.insert("words", word, "RETURNING seq, extra") == [(1, None)]
        db.insert("words", {"length": 2, "text": "of"})
        db.insert_all("words", [Word(text="a", length=1, note="short"), Word(text="it's", length=4)])
        db.insert_all("words", ({"text": text, "length": len(text)} for text in ("b", "cc")))
        db.insert_all("words", [])
    with database.transaction(write=False) as db:
        found = db.select(Word, "FROM words WHERE length <> :length ORDER BY seq", length=2)
    assert found == [word, Word(text="a", length=1, note="short"), Word(text="it's", length=4),
                     Word(text="b", length=1)]  # fmt: skip


def test_an_insertion_ends_as_it_is_told_with_values_of_its_own(database: Database) -> None:
    longer = (
        "ON CONFLICT (text) DO UPDATE SET length = excluded.length WHERE words.length < :most RETURNING seq"
    )
    with database.transaction() as db:
        assert db.insert("words", {"text": "a", "length": 1}, longer, most=3) == [(1,)]
        assert db.insert("words", {"text": "a", "length": 9}, longer, most=3)
        assert db.insert("words", {"text": "a", "length": 2}, longer, most=3) == []
        db.insert_all("words", [{"text": "a"} | {"length": 0}], "ON CONFLICT DO NOTHING")
        assert db.execute("SELECT text, length FROM words") == [("a", 9)]


@pytest.mark.parametrize(
    "odd", [{"text": "b", "length": 1, "note": "lost"}, {"text": "b", "size": 1}, Word(text="b", length=1)]
)
def test_a_record_with_other_columns_is_refused_and_none_is_stored(database: Database, odd: object) -> None:
    records = [{"text": "a", "length": 1}, odd]
    with pytest.raises(ValueError, match="other columns"), database.transaction() as db:
        db.insert_all("words", records)  # type: ignore[arg-type]
    with database.transaction(write=False) as db:
        assert db.execute("SELECT count(*) FROM words") == [(0,)]


def test_the_verbs_leave_sql_to_the_study() -> None:
    package = Path(prefjudge.__file__).parent
    rooms = [package / room for room in ("cli", "steps", "field", "findings")]
    assert all(room.is_dir() for room in rooms)
    found = [str(path) for room in rooms for path in room.rglob("*.py") if ".execute(" in path.read_text()]
    assert found == []


def test_no_statement_depends_on_the_order_of_columns() -> None:
    package = Path(prefjudge.__file__).parent
    positional = re.compile(r"INSERT\s+(OR\s+\w+\s+)?INTO\s+\w+\s+(VALUES|SELECT)")
    found = [str(path) for path in package.rglob("*.py") if positional.search(path.read_text())]
    assert found == []
