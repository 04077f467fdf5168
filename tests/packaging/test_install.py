"""A wheel and an editable install give a working command that finds its templates and configs."""

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
BIN = "Scripts" if os.name == "nt" else "bin"
NO_INDEX = (
    "No matching distribution found",
    "Could not find a version",
    "error sending request",
    "dns error",
    "Failed to fetch",
)
FIND = """
from prefjudge.resources import resource_dir
for name, pattern in (("hit_templates", "*.html"), ("configs", "*.toml")):
    print(len(list(resource_dir(name).glob(pattern))))
from prefjudge.pages.page import ground_style, page_templates
import prefjudge
assert [getattr(prefjudge, verb) for verb in prefjudge.__all__]
assert ground_style() and [page_templates().get_template(name) for name in ("report.html", "site_page.html")]
"""


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


def environment(folder: Path) -> Path:
    """Make a fresh virtual environment and return its Python."""
    if program := uv():
        run(program, "venv", "--quiet", "--python", sys.executable, folder, cwd=folder.parent)
    else:
        run(sys.executable, "-m", "venv", folder, cwd=folder.parent)
    return folder / BIN / ("python.exe" if os.name == "nt" else "python")


def install(python: Path, *what: object) -> None:
    if program := uv():
        run(program, "pip", "install", "--quiet", "--python", python, *what, cwd=python.parent)
    else:
        run(
            python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *what, cwd=python.parent
        )


def build_wheel(project: Path, out: Path) -> Path:
    if program := uv():
        run(program, "build", "--quiet", "--wheel", "--out-dir", out, project, cwd=out)
    else:
        run(
            sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", out, project, cwd=out
        )
    (wheel,) = out.glob("prefjudge-*.whl")
    return wheel


def build(project: Path, out: Path) -> None:
    """Build the wheel and the sdist."""
    if program := uv():
        run(program, "build", "--quiet", "--wheel", "--sdist", "--out-dir", out, project, cwd=out)
    else:
        run(sys.executable, "-m", "build", "--outdir", out, project, cwd=out)


def test_what_is_built_has_the_licence_and_the_notice_of_what_comes_from_others(
    project: Path, tmp_path: Path
) -> None:
    build(project, tmp_path)
    (wheel,), (sdist,) = tmp_path.glob("*.whl"), tmp_path.glob("*.tar.gz")
    with ZipFile(wheel) as packed:
        inside = {name: packed.read(name) for name in packed.namelist()}
    with tarfile.open(sdist) as packed_source:
        source = set(packed_source.getnames())
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


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of a fresh environment; what is installed second finds its dependencies there."""
    return environment(tmp_path_factory.mktemp("fresh") / "venv")


@pytest.mark.parametrize("kind", ["wheel", "editable"])
def test_a_fresh_install_works(kind: str, project: Path, python: Path, tmp_path: Path) -> None:
    if kind == "wheel":
        install(python, build_wheel(project, tmp_path))
    else:
        install(python, "-e", project)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    version = run(python.parent / "prefjudge", "--version", cwd=elsewhere)
    assert prefjudge.__version__ in version
    templates, configs = run(python, "-c", FIND, cwd=elsewhere).split()
    assert int(templates) >= 1
    assert int(configs) >= 2
    demo = run(
        python, "-c", "import prefjudge.demo; print(prefjudge.demo.__path__[0])", cwd=elsewhere
    ).strip()
    assert sorted(path.name for path in Path(demo).glob("*.t*")) == [
        "collection.tsv", "gold.tsv", "qrels.txt", "queries.tsv", "truth.tsv",
    ]  # fmt: skip
    assert len(list((Path(demo) / "runs").glob("*.txt"))) == 6
    if kind == "wheel":
        run(python.parent / "prefjudge", "demo", elsewhere / "road", cwd=elsewhere)  # without any extra
        assert (elsewhere / "road" / "study" / "report.html").is_file()
    assert (kind == "editable") == Path(demo).is_relative_to(project)
