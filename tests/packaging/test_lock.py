"""uv.lock is of this pyproject.toml, names public places only, and says what a release depends on."""

import json
import re
import runpy
import shutil
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
