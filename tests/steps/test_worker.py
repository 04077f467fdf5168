"""``workers --forget`` and ``--export``: what is stored about a person, given to them and forgotten."""

import re
import shutil
from pathlib import Path

import pytest
from click.testing import Result
from typer.testing import CliRunner

from prefjudge import collect, publish, workers
from prefjudge.cli.app import app
from prefjudge.errors import InputError, StudyError
from prefjudge.field.crowd import keep_marketplace_open
from prefjudge.steps.workers import export_person, forget_person
from prefjudge.study import people
from prefjudge.study.store import Study
from tests.steps.conftest import climbing_study
from tests.steps.test_remarks import pairs_in, saying

PRIVATE = ("Private Ann", "PRIVATE comment", "PRIVATE remark")


@pytest.fixture(scope="module")
def once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study in which one worker has judged a HIT, and commented."""
    study = climbing_study(tmp_path_factory.mktemp("worker") / "study")

    def talk(fields: dict[str, str], hidden: set[str]) -> None:
        fields[f"{pairs_in(fields, hidden)[0]}.comment"] = PRIVATE[1]
        fields["comment"] = PRIVATE[2]

    with keep_marketplace_open(Study(study)):
        publish(study, sandbox=True, yes=True)
        assert saying(study, PRIVATE[0], talk).take_hit()
        collect(study)
    return study


@pytest.fixture
def judged(once: Path, tmp_path: Path) -> Path:
    """A copy of it."""
    return shutil.copytree(once, tmp_path / "study")


def bytes_in(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in folder.iterdir() if path.is_file())


def test_a_person_is_forgotten_in_both_stores_and_the_judgments_stay(judged: Path) -> None:
    opened = Study(judged)
    with opened.transaction(write=False) as db:
        ((someone, judgments),) = db.execute("SELECT worker_id, count(*) FROM judgments GROUP BY worker_id")
    stored = export_person(someone, judged).stored
    assert stored["marketplace"]["account"][0]["name"] == PRIVATE[0]
    assert len(stored["study"]["judgments"]) == judgments
    assert {row["comment"] for row in stored["study"]["remarks"]} == set(PRIVATE[1:])
    before = bytes_in(judged)
    assert [text for text in PRIVATE if text.encode() not in before] == [], "else this shows nothing"
    receipt = forget_person(someone, judged)
    assert receipt.erased["comments in the study"] == 2
    assert receipt.assignments == 1
    opened.close()
    after = bytes_in(judged)
    assert [text for text in PRIVATE if text.encode() in after] == []
    with opened.transaction(write=False) as db:
        assert db.execute("SELECT worker_id, count(*) FROM judgments GROUP BY 1") == [(someone, judgments)]
    assert workers(judged).remarks == ()
    assert forget_person(someone, judged).erased == {}
    with keep_marketplace_open(opened):
        collect(judged)


def test_comments_are_erased_when_they_were_kept_for_long_enough(judged: Path) -> None:
    config = judged / "study.toml"
    text = config.read_text()

    def keep(days: int) -> None:
        config.write_text(text.replace("[workers]", f"[workers]\nkeep_days = {days}"))
        opened = Study(judged)
        with keep_marketplace_open(opened):
            collect(opened)
        opened.close()

    keep(1)
    assert PRIVATE[1].encode() in (judged / "study.db").read_bytes()
    keep(0)
    opened = Study(judged)
    assert PRIVATE[1].encode() not in b"".join(path.read_bytes() for path in judged.glob("study.db*"))
    with opened.transaction(write=False) as db:
        assert db.execute("SELECT count(*) > 0 FROM judgments") == [(1,)]


def test_the_export_leaves_out_no_table_of_a_study_that_knows_a_worker(judged: Path) -> None:
    opened = Study(judged)
    with opened.transaction() as db:
        tables = {
            table
            for table in db.tables()
            if any(row[1] == "worker_id" for row in db.execute(f"PRAGMA table_info({table})"))
        }
    read = set(re.findall(r"FROM (\w+)", " ".join(rest for _, rest in people._KNOWN.values())))
    assert tables - read == set()


def test_the_verb_as_it_is_typed(judged: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Study(judged).transaction(write=False) as db:
        ((someone,),) = db.execute("SELECT DISTINCT worker_id FROM assignments")
    monkeypatch.chdir(judged)

    def typed(action: str, who: str) -> Result:
        return CliRunner().invoke(app, ["workers", f"--{action}", who])

    assert typed("export", someone).exit_code == 0  # and nobody is forgotten by it
    for wrong in (["--forget", someone, "--export", someone], ["--unpaid"]):
        assert CliRunner().invoke(app, ["workers", *wrong]).exit_code == 1
    assert PRIVATE[0] in typed("export", someone).stdout
    done = typed("forget", someone)
    assert (done.exit_code, done.stdout) == (0, ""), done.output
    assert "kept: 1 assignment under the worker id" in done.stderr
    assert PRIVATE[0] not in typed("export", someone).stdout
    with pytest.raises(InputError, match="ANOBODY does not exist"):
        forget_person("ANOBODY")


def test_what_is_not_there_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(StudyError, match="no marketplace"):
        forget_person("A1")
    assert list(tmp_path.iterdir()) == [], "nothing is made"
    (tmp_path / "marketplace.db").touch()
    with pytest.raises(InputError, match="is empty"):
        forget_person(" ")
