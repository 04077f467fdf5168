"""uv.lock is of this pyproject.toml, names public places only, and says what a release depends on."""

import json
import re
import runpy
import shutil
import subprocess
import tomllib
from itertools import chain
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[2]


def test_the_lock_is_of_this_pyproject() -> None:
    lock = tomllib.loads((ROOT / "uv.lock").read_text(encoding="utf-8"))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert lock["requires-python"] == project["requires-python"]
    (ours,) = (one for one in lock["package"] if one["name"] == "prefjudge")
    locked = {
        (one["name"], frozenset(one.get("specifier", "").split(",")), frozenset(one.get("extras", ())))
        for one in ours["metadata"]["requires-dist"]
    }
    texts = [*project["dependencies"], *chain.from_iterable(project["optional-dependencies"].values())]
    wanted = {
        (canonicalize_name(one.name), frozenset(str(one.specifier).split(",")), frozenset(one.extras))
        for one in map(Requirement, texts)
        if one.name != "prefjudge"  # an extra that is made of extras
    }
    assert locked == wanted, "run: uv lock"


def test_the_lock_names_the_public_index_and_nothing_else() -> None:
    text = (ROOT / "uv.lock").read_text(encoding="utf-8")
    hosts = set(re.findall(r"[a-z]+://[^/\"]*", text))
    assert hosts == {"https://pypi.org", "https://files.pythonhosted.org"}


def test_pip_is_held_to_the_versions_of_the_lock() -> None:
    lines = runpy.run_path(str(ROOT / "scripts" / "go.py"))["locked_versions"]()
    here = {
        canonicalize_name(one.name): str(one.specifier)
        for one in map(Requirement, lines)
        if one.marker is None or one.marker.evaluate()
    }
    lock = tomllib.loads((ROOT / "uv.lock").read_text(encoding="utf-8"))
    assert {one["name"] for one in lock["package"]} - {*here} == {"prefjudge"}
    assert here["numpy"] == "==" + next(one["version"] for one in lock["package"] if one["name"] == "numpy")
    # scipy has one version for each Python: that of this one stands alone
    assert sum(line.startswith("scipy==") for line in lines) > 1
    applying = [one for one in map(Requirement, lines) if one.name == "scipy" and one.marker]
    assert sum(one.marker.evaluate() for one in applying if one.marker) == 1


def test_go_installs_the_locked_versions_without_uv(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install = runpy.run_path(str(ROOT / "scripts" / "go.py"))["install"]
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "python").touch()
    given: list[list[str]] = []

    def run(*command: object) -> None:
        line = [str(part) for part in command]
        given.append(Path(line[line.index("--constraint") + 1]).read_text(encoding="utf-8").splitlines())

    here = {"VENV": tmp_path, "PYTHON": tmp_path / "bin" / "python", "run": run}
    monkeypatch.setattr(shutil, "which", lambda _: None)
    monkeypatch.setattr("subprocess.call", lambda *_, **__: 0)
    for name, value in here.items():
        monkeypatch.setitem(install.__globals__, name, value)
    for locked in ("1", "0"):
        monkeypatch.setenv("PREFJUDGE_LOCKED", locked)
        install("test")
    assert [bool(lines) for lines in given] == [True, False]
    assert any(line.startswith("numpy==") for line in given[0])


def test_an_audit_says_what_it_did_not_look_at() -> None:
    findings = runpy.run_path(str(ROOT / "scripts" / "dependencies.py"))["findings"]
    sound = {"name": "a", "version": "1", "vulns": []}
    weak = {"name": "b", "version": "2", "vulns": [{"id": "PYSEC-1", "fix_versions": ["2.1"]}]}
    unseen = {"name": "c", "skip_reason": "not found on PyPI"}
    assert findings([sound]) == ["1 of 1 packages were looked at, with no known weakness"]
    assert findings([sound, weak, unseen]) == [
        "b 2: PYSEC-1, mended in 2.1",
        "not looked at: c: not found on PyPI",
        "2 of 3 packages were looked at, with 1 known weakness",
    ]


@pytest.mark.parametrize(("words", "code"), [([], 0), (["--strict"], 1)])
def test_a_strict_audit_fails_where_a_package_was_not_looked_at(
    words: list[str], code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    main = runpy.run_path(str(ROOT / "scripts" / "dependencies.py"))["main"]
    monkeypatch.setitem(main.__globals__, "exported", lambda _: "")
    said = json.dumps({"dependencies": [{"name": "c", "skip_reason": "gone"}]})
    done = subprocess.CompletedProcess((), 0, stdout=said, stderr="")
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: done)
    assert main(["audit", *words]) == code


def test_the_bill_of_materials_names_what_is_installed_and_its_licences() -> None:
    if shutil.which("uv") is None:
        pytest.skip("uv is not installed (pip install uv)")
    made = runpy.run_path(str(ROOT / "scripts" / "dependencies.py"))["bill"]()
    assert (made["bomFormat"], made["specVersion"]) == ("CycloneDX", "1.5")
    parts = {one["name"]: one for one in made["components"]}
    assert parts["starlette"]["licenses"] == [{"license": {"name": "BSD-3-Clause"}}]
    assert parts["psycopg"]["licenses"]
    assert "pytest" not in parts
    assert all(part["purl"].startswith("pkg:pypi/") for part in parts.values())
    assert json.dumps(made)
