"""What is read of a study is one state of its store, on either kind of database."""

from pathlib import Path

import pytest

from prefjudge.database import Database
from prefjudge.steps.init import init
from prefjudge.study.store import Study, load_setting, save_setting
from tests.marketplace.conftest import cluster as cluster
from tests.marketplace.postgres import Cluster


@pytest.fixture(params=["sqlite", "postgresql"])
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    init(tmp_path / "study")
    if request.param == "postgresql":
        server: Cluster = request.getfixturevalue("cluster")
        config = tmp_path / "study" / "study.toml"
        config.write_text(f'store = "{server.new_database()}"\n' + config.read_text())
    return tmp_path / "study"


def change(folder: Path, value: str) -> None:
    other = Study(folder)
    with other.transaction() as db:
        save_setting(db, "seen", value)
    other.close()


def test_a_transaction_that_reads_sees_one_state(folder: Path) -> None:
    change(folder, "before")
    study = Study(folder)
    with study.transaction(write=False) as db:
        assert load_setting(db, "seen") == "before"
        change(folder, "after")
        assert load_setting(db, "seen") == "before"
    assert study.setting("seen") == "after"


def test_what_is_read_in_one_go_is_one_state_and_can_be_written_beside(folder: Path) -> None:
    change(folder, "before")
    study = Study(folder)
    with study.reading():
        assert study.setting("seen") == "before"
        change(folder, "after")
        with study.reading():  # of a verb that is a part of another
            assert study.setting("seen") == "before"
        assert study.opaque("worker", "A1") == study.opaque(
            "worker", "A1"
        )  # keeps a secret, if there is none
        assert study.setting("seen") == "before"
    assert study.setting("seen") == "after"
    assert study.setting("secret") == study.secret.hex()


def test_a_block_that_raises_ends_the_reading(folder: Path) -> None:
    change(folder, "before")
    study = Study(folder)
    raised = ZeroDivisionError("in the middle of a verb")
    with pytest.raises(ZeroDivisionError), study.reading():
        raise raised
    change(folder, "after")
    assert study.setting("seen") == "after"


def test_nothing_is_written_by_a_transaction_of_postgresql_that_reads(cluster: Cluster) -> None:
    from psycopg.errors import ReadOnlySqlTransaction

    store = Database(cluster.new_database())
    with pytest.raises(ReadOnlySqlTransaction), store.transaction(write=False) as db:
        db.execute("CREATE TABLE x (a BIGINT)")
    with store.transaction() as db:
        db.execute("CREATE TABLE x (a BIGINT)")
    store.close()
