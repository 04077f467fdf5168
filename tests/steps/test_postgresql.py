"""The road with the study's judgments in PostgreSQL."""

from pathlib import Path

import pytest

from prefjudge import collect, gold, import_votes, init, publish, release, report, resolve, score, status
from prefjudge.database import Database
from prefjudge.errors import PrefjudgeError, StudyError
from prefjudge.steps.store.backup import backup, recover
from prefjudge.steps.store.check import examine
from prefjudge.study.store import STORE_FILE, Study
from tests.marketplace.conftest import cluster as cluster
from tests.marketplace.postgres import Cluster
from tests.steps.conftest import COLLECTION, contents, pool_demo
from tests.steps.test_road import judge_all, kept_votes


def test_votes_are_imported_into_postgresql_once(tmp_path: Path, cluster: Cluster) -> None:
    study, votes = tmp_path / "study", tmp_path / "votes.jsonl"
    init(study, config="demo")
    config = study / "study.toml"
    config.write_text(f'store = "{cluster.new_database()}"\n' + config.read_text())
    row = '{"qid": "q", "left": "a", "right": "b", "winner": "a", "worker": "%s", "_dropped": "%s"}\n'
    votes.write_text(row % ("ann", "") + row % ("ben", "rejected") + row % ("", ""))
    found = import_votes(study, votes)
    assert (found.votes, found.dropped) == (3, 1)
    before = contents(study)
    assert import_votes(study, votes).known == 3
    assert contents(study) == before
    assert (status(study).judgments, status(study).waiting) == (2, 0)
    assert resolve(study).qrels == 1


def test_a_study_lives_on_postgresql(tmp_path: Path, cluster: Cluster) -> None:
    study = tmp_path / "study"
    init(study, config="demo")
    config = study / "study.toml"
    config.write_text(f'store = "{cluster.new_database()}"\n' + config.read_text())
    pool_demo(study)
    gold(study, accept=True, file=COLLECTION / "gold.tsv")
    publish(study, yes=True)
    judge_all(study, temper=["careless"], error=0.1)
    assert set(kept_votes(study).values()) == {1}
    before = contents(study)
    assert collect(study).collected == 0
    assert contents(study) == before
    resolve(study)
    assert len(score(study).boards) == 2
    assert {"Leaderboards", "Best answers"} <= set(report(study).sections)
    assert release(study, rehearsal=True, texts=True).judgments == status(study).judgments
    assert status(study).waiting == 0
    assert not (study / STORE_FILE).exists()
    assert examine(study).well, examine(study)
    with pytest.raises(StudyError, match="nothing was copied"):
        backup(study, tmp_path / "backup.db")

    kept = kept_votes(study)
    empty(study)
    with pytest.raises(StudyError, match=r"is missing or empty.*preference\.qrels"):
        status(study)
    assert recover(study).remains
    pool_demo(study)
    gold(study, accept=True, file=COLLECTION / "gold.tsv")
    assert recover(study).remains == ()
    assert kept_votes(study) == kept
    assert examine(study).well, examine(study)


def empty(study: Path) -> None:
    """Drop all that the study's database holds."""
    with Study(study).transaction() as db:
        db.execute("DROP SCHEMA public CASCADE")
        db.execute("CREATE SCHEMA public")


def test_a_database_that_is_not_there_is_named_without_its_password(tmp_path: Path) -> None:
    from prefjudge.errors import PrefjudgeError

    study = tmp_path / "study"
    init(study)
    config = study / "study.toml"
    config.write_text('store = "postgresql://me:secret@127.0.0.1:9/none"\n' + config.read_text())
    with pytest.raises(
        PrefjudgeError, match=r"cannot connect to postgresql://me:…@127.0.0.1:9/none"
    ) as raised:
        status(study)
    assert "secret" not in str(raised.value)
    assert raised.value.message.endswith("none: Connection refused")


def test_a_server_that_ends_the_connection_is_named_and_the_next_verb_goes_on(cluster: Cluster) -> None:
    database, other = (Database(url) for url in [cluster.new_database()] * 2)

    def cut_off() -> None:
        with database.transaction() as db:
            ((session,),) = db.execute("SELECT pg_backend_pid()")
            with other.transaction() as admin:
                admin.execute("SELECT pg_terminate_backend(:session)", session=session)
            db.execute("SELECT 1")

    with pytest.raises(PrefjudgeError, match="ended the connection: terminating") as said:
        cut_off()
    assert "Repeat the verb" in said.value.hint
    with database.transaction() as db:
        assert db.execute("SELECT 1") == [(1,)]
    database.close()
    other.close()
