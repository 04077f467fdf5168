"""What is built holds the templates, configs and files of the demo, and the licence.

That an installed wheel works is shown by .github/workflows/wheel.yml, on every system and Python.
"""

import os
import re
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path
from zipfile import ZipFile

import pytest

import prefjudge

ROOT = Path(__file__).resolve().parents[2]
NO_INDEX = (
    "No matching distribution found",
    "Could not find a version",
    "error sending request",
    "dns error",
    "Failed to fetch",
)


def run(*command: object, cwd: Path) -> str:
    ours = ("PYTHON", "VIRTUAL_ENV", "COV_")
    environment = {key: text for key, text in os.environ.items() if not key.startswith(ours)}
    done = subprocess.run(
        [str(part) for part in command], cwd=cwd, env=environment, capture_output=True, text=True, check=False
    )
    said = done.stdout + done.stderr
    if done.returncode and any(sign in said for sign in NO_INDEX):
        pytest.skip(f"no package index is reachable: {said.strip().splitlines()[-1]}")
    assert done.returncode == 0, f"{command}\n{said}"
    return done.stdout


def uv() -> str | None:
    return shutil.which("uv") or shutil.which("uv", path=str(Path(sys.executable).parent))


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Copy the files that git knows, so that nothing which only this checkout has can help."""
    if shutil.which("git") is None or not (ROOT / ".git").exists():
        pytest.skip("this is not a git checkout: there is no list of the project's files")
    copy = tmp_path_factory.mktemp("checkout")
    listed = run("git", "ls-files", "--cached", "--others", "--exclude-standard", cwd=ROOT)
    for name in listed.splitlines():
        if (ROOT / name).is_file():
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, copy / name)
    return copy


def build(project: Path, out: Path) -> None:
    """Build the wheel and the sdist."""
    if program := uv():
        run(program, "build", "--quiet", "--wheel", "--sdist", "--out-dir", out, project, cwd=out)
    else:
        run(sys.executable, "-m", "build", "--outdir", out, project, cwd=out)


def test_what_is_built_is_whole_with_the_licence_and_the_notice_of_what_comes_from_others(
    project: Path, tmp_path: Path
) -> None:
    build(project, tmp_path)
    rooms = [project / room for room in ("prefjudge", "hit_templates", "configs")]
    kept = {path.name for room in rooms for path in room.rglob("*") if path.is_file()}
    assert len(kept) > 200
    (wheel,), (sdist,) = tmp_path.glob("*.whl"), tmp_path.glob("*.tar.gz")
    with ZipFile(wheel) as packed:
        inside = {name: packed.read(name) for name in packed.namelist()}
    with tarfile.open(sdist) as packed_source:
        source = set(packed_source.getnames())
    assert kept - {Path(name).name for name in inside} == set()
    foreign = [name for name in inside if "/service/" in name]
    (licences,) = {name.rpartition("/")[0] for name in inside if name.endswith("licenses/LICENSE")}
    notice = inside[f"{licences}/NOTICE"].decode()
    assert {"LICENSE", "NOTICE"} <= {
        name.removeprefix(f"{sdist.name.removesuffix('.tar.gz')}/") for name in source
    }
    assert notice == (ROOT / "NOTICE").read_text(encoding="utf-8")
    assert "Copyright 2012-2022 Amazon.com, Inc. or its affiliates. All Rights Reserved." in notice
    assert len(foreign) == 3
    assert [name for name in foreign if Path(name).name not in notice] == []
    metadata = next(text for name, text in inside.items() if name.endswith("dist-info/METADATA")).decode()
    assert {"License-File: LICENSE", "License-File: NOTICE"} <= set(metadata.split("\n"))
    (source,) = re.findall("^Project-URL: Source, (.*)$", metadata, re.MULTILINE)
    links = re.findall(r"\]\(([^)\s]+)\)", metadata.partition("\n\n")[2])
    assert f"{source}/blob/v{prefjudge.__version__}/CHANGELOG.md" in links
    assert [link for link in links if not link.startswith(("https://", "#"))] == [], (
        "it leads nowhere on PyPI"
    )
