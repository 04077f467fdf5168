"""A study's folder: its name, its id, and the store that is its own."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from prefjudge import gold, init, status
from prefjudge.errors import ConfigError, StudyError
from prefjudge.steps.demo import demo
from prefjudge.study.store import Study
from tests.steps.conftest import edit


def prepend(study: Path, line: str) -> None:
    config = study / "study.toml"
    config.write_text(f"{line}\n{config.read_text()}")


@pytest.mark.parametrize(
    "name", ['my"study', "back\\slash", "two\nlines", "tab\there", "bell\x07\x7f", "ü 研究"]
)
def test_a_study_may_have_any_name(tmp_path: Path, name: str) -> None:
    init(tmp_path / "study", name=name)
    assert Study(tmp_path / "study").config.name == name
    if "\n" not in name:
        init(tmp_path / name)
        assert Study(tmp_path / name).config.name == name


def test_nothing_is_left_where_a_study_cannot_be_made(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"name: .*at most 100"):
        init(tmp_path / "study", name="n" * 150)
    assert not (tmp_path / "study").exists()
    (tmp_path / "file").write_text("")
    with pytest.raises(StudyError, match=r"cannot make .*: Not a directory"):
        init(tmp_path / "file" / "study")


def test_two_studies_never_share_a_store(tmp_path: Path) -> None:
    first, second = tmp_path / "a" / "study", tmp_path / "b" / "study"
    for study in (first, second):
        init(study)
        prepend(study, f'store = "sqlite:///{tmp_path / "shared.db"}"')
    status(first)
    with pytest.raises(StudyError, match=r"shared\.db belongs to another study, .*\nGive .* its own"):
        status(second)
    status(first)
    edit(second, (Study(second).config.id, Study(first).config.id))
    status(second)


def test_a_study_without_an_id_is_known_by_its_name(tmp_path: Path) -> None:
    for name in ("old", "older"):
        (tmp_path / name).mkdir()
        store = tmp_path / "shared.db"
        (tmp_path / name / "study.toml").write_text(f'name = "{name}"\nstore = "sqlite:///{store}"\n')
    status(tmp_path / "old")
    with pytest.raises(StudyError, match="belongs to another study, 'old'"):
        status(tmp_path / "older")


def test_a_store_that_is_a_file_lies_in_the_studys_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    init(tmp_path / "study")
    prepend(tmp_path / "study", 'store = "sqlite:///x.db"')
    for folder, study in ((tmp_path, "study"), (tmp_path / "study", "."), (Path(os.sep), tmp_path / "study")):
        monkeypatch.chdir(folder)
        status(study)
    assert sorted(path.name for path in tmp_path.rglob("*.db")) == ["x.db"]
    assert (tmp_path / "study" / "x.db").is_file()
    (tmp_path / "study" / "study.toml").write_text('name = "x"\nstore = "sqlite:///"\n')
    with pytest.raises(StudyError, match="cannot store at"):
        status(tmp_path / "study")


@pytest.mark.parametrize("budget", ['"abc"', "[1]", "-5", "nan", "true", "inf", "10.005", '""', "1e-3"])
def test_a_budget_is_an_amount(tmp_path: Path, budget: str) -> None:
    """Those who only look and those who spend read one budget, by one check."""
    init(tmp_path / "study")
    prepend(tmp_path / "study", f"budget = {budget}")
    said = []
    for look in (status, lambda study: Study(study).config):
        with pytest.raises(ConfigError, match="budget: not an amount of dollars") as raised:
            look(tmp_path / "study")
        said.append(raised.value.message.partition("budget: ")[2])
    assert said[0] == said[1]


@pytest.mark.parametrize("budget", ["100", "12.1", "0", '"19.90"', "0.07", "10.500", "1e3", "-0.0"])
def test_a_budget_is_read_alike_with_and_without_the_whole_config(tmp_path: Path, budget: str) -> None:
    init(tmp_path / "study")
    prepend(tmp_path / "study", f"budget = {budget}")
    config = Study(tmp_path / "study").config
    assert status(tmp_path / "study").budget == f"{config.budget:.2f}"


def test_a_look_at_a_study_imports_no_science_and_no_pydantic(tmp_path: Path) -> None:
    init(tmp_path / "study")
    prepend(tmp_path / "study", "budget = 5")
    look = (
        "import sys\nfrom prefjudge.steps.status import status\n"
        f"assert status({str(tmp_path / 'study')!r}).budget == '5.00'\n"
        "print(sorted({'pydantic', 'numpy', 'scipy', 'networkx', 'pandas'} & {*sys.modules}))"
    )
    told = subprocess.run([sys.executable, "-c", look], capture_output=True, text=True, check=True)
    assert told.stdout == "[]\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"name = x", "is not TOML: "),
        (b'name = "\xe4"', "is not UTF-8: "),
        (b"seed = 1" + 5000 * b"0", "is not TOML: "),
        (b"x = " + 5000 * b"[", "is not TOML: "),
    ],
)
def test_a_config_that_is_not_toml_is_named_by_every_verb(tmp_path: Path, text: bytes, message: str) -> None:
    init(tmp_path / "study")
    (tmp_path / "study" / "study.toml").write_bytes(text)
    for look in (status, lambda study: Study(study).config):
        with pytest.raises(ConfigError, match=message):
            look(tmp_path / "study")


@pytest.mark.skipif(shutil.which("git") is None, reason="needs git, which reads what init writes")
def test_git_takes_nothing_private_of_a_study(tmp_path: Path) -> None:
    study = tmp_path / "demo" / "study"
    demo(study.parent)
    gold(study, suggest=12)
    private = [
        "study.db-wal", "study.db-shm", "study.db-journal", "study.db.lock", "study.db.bak", "other.sqlite3",
        "marketplace.db-wal", "marketplace.db.serving", "marketplace.db.admin-token", "live.admin-token",
        "gold.tsv", "gold-reviewed.tsv", "backup.db", "backup.tar.gz", "study-backup-1.zip", "store.dump",
        "store.sql", "serve.log", ".env", ".gold.tsv.x7.part",
    ]  # fmt: skip
    for name in private:
        (study / name).touch()

    def git(*command: str) -> list[str]:
        done = subprocess.run(["git", *command], cwd=study, capture_output=True, text=True, check=True)
        return done.stdout.splitlines()

    git("init", "--quiet")
    taken = git("ls-files", "--others", "--exclude-standard")
    assert sorted(taken) == [
        ".gitignore", "leaderboard.csv", "leaderboard.provenance.json", "leaderboard.rehearsal.txt",
        "preference.qrels", "preference.rehearsal.txt", "report.html", "study.schema.json", "study.toml",
        "winratio.csv", "winratio.rehearsal.txt",
    ]  # fmt: skip
    with Study(study).transaction(write=False) as db:
        workers = {str(row[0]) for row in db.execute("SELECT DISTINCT worker_id FROM assignments")}
        golden = {str(row[0]) for row in db.execute("SELECT bad FROM gold")}
        pooled = {str(row[0]) for row in db.execute("SELECT text FROM passages")}
    assert len(workers) > 5
    texts = {name: (study / name).read_text(encoding="utf-8") for name in taken}
    for name, told in texts.items():
        # the report shows the passages of the pools, of which some are the bad one of a gold pair elsewhere
        hidden = golden - pooled if name == "report.html" else golden
        assert not [secret for secret in (*workers, *hidden) if secret in told], name
    assert golden - pooled
