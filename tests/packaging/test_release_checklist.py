"""The checklist of a release finds what is not filled in; the workflows try every Python that is claimed."""

import re
import runpy
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CHECKLIST = runpy.run_path(str(ROOT / "scripts" / "release_checklist.py"))
GIT = ("git", "-c", "user.name=a", "-c", "user.email=a@example.org")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project of nothing but what the cheap checks read, ready to be released."""
    if shutil.which("git") is None:
        pytest.skip("git is not installed")
    (tmp_path / "prefjudge").mkdir()
    (tmp_path / "prefjudge" / "version.py").write_text('__version__ = "1.2.0"\n')
    (tmp_path / "CHANGELOG.md").write_text("# Changelog\n\n## [1.2.0] - 2026-12-01\n")
    (tmp_path / "CITATION.cff").write_text('version: 1.2.0\ndate-released: "2026-12-01"\n')
    for words in (("init", "-q"), ("add", "."), ("commit", "-qm", "All")):
        subprocess.run([*GIT, *words], cwd=tmp_path, check=True)
    return tmp_path


def test_a_project_that_is_filled_in_passes(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert CHECKLIST["main"](["placeholders", "version", "tree"], project) == 0
    assert [line.split() for line in capsys.readouterr().out.splitlines()] == [
        ["placeholders", "ok"],
        ["version", "ok"],
        ["tree", "ok"],
    ]


@pytest.mark.parametrize(
    ("file", "text", "check", "said"),
    [
        ("setup.md", "by FILL_IN\n", "placeholders", "setup.md:1: fill in by FILL_IN"),
        ("prefjudge/version.py", '__version__ = "1.2.dev0"\n', "version", "1.2.dev0 is not a release"),
        ("CHANGELOG.md", "## [Unreleased]\n", "version", "CHANGELOG.md: no section '## [1.2.0] - "),
        ("CITATION.cff", "version: 1.1.0\ndate-released: x\n", "version", "version is 1.1.0, not 1.2.0"),
        ("CITATION.cff", "version: 1.2.0\n", "version", "no date-released"),
        ("CITATION.cff", "version: 1.2.0\n", "tree", "changes that are not committed"),
    ],
)
def test_what_is_missing_is_named_and_fails(
    file: str, text: str, check: str, said: str, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (project / file).write_text(text)
    assert CHECKLIST["main"]([check], project) == 1
    assert said in capsys.readouterr().out


def test_a_tag_on_an_older_commit_is_found(project: Path) -> None:
    for words in (("tag", "v1.2.0"), ("commit", "-qm", "More", "--allow-empty")):
        subprocess.run([*GIT, *words], cwd=project, check=True)
    assert list(CHECKLIST["tree"](project)) == ["the tag v1.2.0 is on another commit"]


def test_an_unknown_check_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert CHECKLIST["main"](["fly"]) == 2
    assert "no such check: fly (there are placeholders, version, " in capsys.readouterr().err


def test_what_is_not_filled_in_here_is_found_here() -> None:
    if shutil.which("git") is None or not (ROOT / ".git").exists():
        pytest.skip("this is not a git checkout: there is no list of the project's files")
    found = {line.partition(":")[0] for line in CHECKLIST["placeholders"](ROOT)}
    named = ("pyproject.toml", "CITATION.cff", "CODE_OF_CONDUCT.md", ".github/ISSUE_TEMPLATE/config.yml")
    assert found & set(named) == {name for name in named if "FILL_IN" in (ROOT / name).read_text("utf-8")}


def test_every_python_that_is_claimed_is_tried_on_every_system() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    claimed = [one.rpartition(" ")[2] for one in project["classifiers"] if re.search(r":: 3\.\d+$", one)]
    workflow = (ROOT / ".github" / "workflows" / "wheel.yml").read_text(encoding="utf-8")
    tried = re.findall(r'"(3\.\d+)"', workflow.partition("python: [")[2].partition("]")[0])
    assert set(claimed) <= set(tried)
    assert "system: [ubuntu-latest, macos-latest, windows-latest]" in workflow
