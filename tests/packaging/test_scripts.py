"""The scripts that people and CI start with."""

import runpy
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def run(script: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(ROOT / "scripts" / script), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(("arguments", "code"), [((), 2), (("fly",), 2), (("--help",), 0)])
def test_go_explains_itself(arguments: tuple[str, ...], code: int) -> None:
    done = run("go.py", *arguments)
    assert done.returncode == code
    assert "scripts/go.py demo" in done.stdout


def test_go_says_which_python_it_needs(tmp_path: Path) -> None:
    """An old Python is told so, in a syntax that it can read."""
    script = str(ROOT / "scripts" / "go.py")
    old = tmp_path / "old.py"
    old.write_text(
        "import runpy, sys\n"
        f"sys.version_info, sys.argv = (3, 9, 2), [{script!r}, 'demo']\n"
        f"runpy.run_path({script!r}, run_name='__main__')\n",
        encoding="utf-8",
    )
    done = subprocess.run([sys.executable, str(old)], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "needs Python 3.11 or newer" in done.stderr


def check_in(folder: Path) -> Path:
    """Return scripts/check as it stands in another checkout."""
    script = folder / "scripts" / "check"
    script.parent.mkdir()
    script.write_bytes((ROOT / "scripts" / "check").read_bytes())
    return script


def test_check_refuses_a_step_that_it_does_not_have() -> None:
    done = run("check", "lint", "fly")
    assert done.returncode == 2
    assert "no such step: fly" in done.stderr


def test_check_fails_when_a_step_fails_and_says_which(tmp_path: Path) -> None:
    script = check_in(tmp_path)
    (tmp_path / "ruff.toml").write_text('line-length = 110\nlint.select = ["F"]\n', encoding="utf-8")
    (tmp_path / "crooked.py").write_text("x=1\n", encoding="utf-8")
    command = [sys.executable, str(script)]
    failed = subprocess.run([*command, "format", "lint"], capture_output=True, text=True, check=False)
    assert failed.returncode == 1
    assert "crooked.py" in failed.stdout
    assert [line.split()[:2] for line in failed.stdout.splitlines()[-2:]] == [
        ["format", "FAILED"],
        ["lint", "ok"],
    ]
    (tmp_path / "crooked.py").write_text("x = 1\n", encoding="utf-8")
    assert subprocess.run([*command, "format"], capture_output=True, check=False).returncode == 0


def test_check_says_in_its_last_line_which_tests_were_skipped_and_why(tmp_path: Path) -> None:
    script = check_in(tmp_path)
    (tmp_path / "test_some.py").write_text(
        "import pytest\n"
        "def test_runs(): pass\n"
        "@pytest.mark.parametrize('number', [1, 2])\n"
        'def test_browser(number): pytest.skip("no browser: install Debian\'s chromium")\n',
        encoding="utf-8",
    )
    (tmp_path / "test_whole_file.py").write_text(
        "import pytest\npytest.importorskip('no_such_peer', reason='no peer (extra trec)')\n",
        encoding="utf-8",
    )

    command = [sys.executable, str(script), "tests", "--", "-p", "no:cacheprovider"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    last = done.stdout.splitlines()[-1]
    assert done.returncode == 0
    assert last.startswith(
        "3 of 4 tests skipped (2: no browser: install Debian's chromium; 1: no peer (extra trec)). "
    )
    assert "PREFJUDGE_EXTRA=all python3 scripts/go.py test" in last
    (tmp_path / "all.xml").write_text("<testsuite><testcase name='one'/></testsuite>", encoding="utf-8")
    said = runpy.run_path(str(script))["what_was_skipped"](tmp_path / "all.xml")
    assert said == "tests run: 1, skipped: none"
    for file in ("README.md", "CONTRIBUTING.md", "scripts/go.py"):
        assert "PREFJUDGE_EXTRA=all" in (ROOT / file).read_text(encoding="utf-8"), file


def test_what_python_compiles_is_kept_for_all_programs_that_tests_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    monkeypatch.delenv("PYTHONPYCACHEPREFIX", raising=False)
    script = check_in(tmp_path)
    environment = runpy.run_path(str(script))["test_environment"]
    assert environment()["PYTHONDONTWRITEBYTECODE"] == "1", "there is no place for it"
    (tmp_path / ".venv").mkdir()
    assert "PYTHONDONTWRITEBYTECODE" not in environment()
    assert environment()["PYTHONPYCACHEPREFIX"] == str(tmp_path / ".venv" / "pycache")


def test_mutants_are_drawn_by_seed_and_counted_by_file() -> None:
    """What mutmut prints is drawn from and counted as said; mutmut itself is not run here."""
    mutants = runpy.run_path(str(ROOT / "scripts" / "mutants.py"))
    names = [f"prefjudge.core.hits.x_prorated__mutmut_{number}" for number in range(1, 101)]
    drawn = mutants["draw"](names, 10, 7)
    assert drawn == mutants["draw"](names[::-1], 10, 7)
    assert drawn != mutants["draw"](names, 10, 8)
    assert len(set(drawn)) == 10
    assert set(mutants["draw"](names, None, 1)) == set(mutants["draw"](names, 1000, 1)) == set(names)
    states = dict(zip(names, ["killed", "timeout", "survived", "no tests"], strict=False))
    states["prefjudge.core.gold.xǁGoldǁkey__mutmut_1"] = "killed"
    assert [line.split() for line in mutants["table"](states).splitlines()] == [
        ["mutants", "killed", "no", "tests", "survived", "timeout", "score"],
        ["prefjudge/core/hits.py", "4", "1", "1", "1", "1", "50.0%"],
        ["prefjudge/core/gold.py", "1", "1", "0", "0", "0", "100.0%"],
        ["all", "5", "2", "1", "1", "1", "60.0%"],
    ]


def test_the_page_of_evidence_is_written_by_its_commands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = runpy.run_path(str(ROOT / "scripts" / "evidence.py"))
    text = (ROOT / "docs" / "evidence.md").read_text("utf-8")
    commands = [one["command"].split()[0] for one in script["MEASURED"].finditer(text)]
    assert len(commands) == text.count("\nMeasured ") - text.count("by a script that is gone") > 5
    assert [one for one in commands if not (ROOT / one).exists()] == []

    (tmp_path / "two.py").write_text("print(1 + 1)")
    page = tmp_path / "evidence.md"
    blocks = [f"Measured 2020-01-0{day} by `python two.py {day}`:\n\n```text\nold\n```\n" for day in (1, 2)]
    page.write_text("# Evidence\n\n" + "\n".join(blocks))
    for name, value in {"ROOT": tmp_path, "PAGE": page}.items():
        monkeypatch.setitem(script["main"].__globals__, name, value)
    assert script["main"](["py 2"]) == 0
    first, second = page.read_text().split("Measured ")[1:]
    assert first == blocks[0].removeprefix("Measured ") + "\n"
    assert "```text\n2\n```\n" in second
    assert "2020" not in second
    assert script["main"](["three"]) == 1
