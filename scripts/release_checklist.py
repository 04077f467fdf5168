#!/usr/bin/env python3
"""The checklist of a release: what is not filled in, not up to date, or would not pass the package index.

python3 scripts/release_checklist.py                all of it; the exit code is 1 where something is missing
python3 scripts/release_checklist.py version lock   these only

It changes nothing. What needs uv, or the extra `docs`, says so where that is missing. The tests are run by
python3 scripts/go.py test, not here.
"""

import re
import runpy
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from zipfile import ZipFile

from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parents[1]
PLACEHOLDER = "FILL" + "_IN"
"""Stands in files for what only those who release know: whose project it is, and how they are reached."""


def run(*command: str, root: Path) -> str:
    """Run a program, and return what it said where it failed."""
    try:
        done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return f"{command[0]} is not installed"
    said = (done.stdout + done.stderr).strip().splitlines()
    return said[-1] if done.returncode and said else "failed" if done.returncode else ""


def version_of(root: Path) -> str:
    """Return the version that the code says it has."""
    return str(runpy.run_path(str(root / "prefjudge" / "version.py"))["__version__"])


def placeholders(root: Path) -> Iterator[str]:
    """Find what is not filled in, in every file that git knows; tests speak of it."""
    command = ("git", "grep", "-nI", "--untracked", PLACEHOLDER, "--", ".", ":!tests")
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    if done.returncode > 1:
        yield "this is not a checkout of git: there is no list of the project's files"
    for line in done.stdout.splitlines():
        path, number, text = line.split(":", 2)
        yield f"{path}:{number}: fill in {text.strip()[:70]}"


def version(root: Path) -> Iterator[str]:
    """Compare the version with the changelog and the citation."""
    ours = version_of(root)
    if not re.fullmatch(r"\d+\.\d+\.\d+((a|b|rc)\d+)?", ours):
        yield f"prefjudge/version.py: {ours} is not a release (1.2.3, 1.2.3rc1)"
    if not re.search(
        rf"^## \[{re.escape(ours)}\] - \d{{4}}-\d\d-\d\d$", (root / "CHANGELOG.md").read_text("utf-8"), re.M
    ):
        yield f"CHANGELOG.md: no section '## [{ours}] - YEAR-MONTH-DAY'"
    cited = dict(re.findall(r"^([a-z-]+): *(\S.*)$", (root / "CITATION.cff").read_text("utf-8"), re.M))
    if cited.get("version", "").strip("'\"") != ours:
        yield f"CITATION.cff: version is {cited.get('version')}, not {ours}"
    if "date-released" not in cited:
        yield "CITATION.cff: no date-released"


def tree(root: Path) -> Iterator[str]:
    """Look for what is not committed, and for a tag of this version on another commit."""
    if run("git", "diff", "--quiet", "HEAD", root=root):
        yield "there are changes that are not committed"
    tag = f"v{version_of(root)}"
    here, there = (
        subprocess.run(
            ("git", "rev-parse", "-q", "--verify", one), cwd=root, capture_output=True, check=False
        )
        for one in ("HEAD^{commit}", f"{tag}^{{commit}}")
    )
    if there.returncode == 0 and there.stdout != here.stdout:
        yield f"the tag {tag} is on another commit"


def lock(root: Path) -> Iterator[str]:
    """Hold uv.lock against pyproject.toml."""
    if said := run("uv", "lock", "--check", "--quiet", root=root):
        yield said


def packages(root: Path) -> Iterator[str]:
    """Build both packages, and read their description as the index does."""
    with tempfile.TemporaryDirectory() as folder:
        if said := run("uv", "build", "--quiet", "--out-dir", folder, root=root):
            yield said
            return
        built = sorted(map(str, Path(folder).glob("prefjudge-*")))
        if said := run("uvx", "--quiet", "twine", "check", "--strict", *built, root=root):
            yield said
        with ZipFile(next(one for one in built if one.endswith(".whl"))) as wheel:
            name = next(one for one in wheel.namelist() if one.endswith("dist-info/METADATA"))
            links = re.findall(r"\]\(([^)\s]+)\)", wheel.read(name).decode().partition("\n\n")[2])
        yield from (
            f"README.md: the link to {link} leads nowhere on the index"
            for link in links
            if not link.startswith(("https://", "#"))
        )


def dependencies(root: Path) -> Iterator[str]:
    """Look for dependencies whose licence is not known, and for known weaknesses."""
    script = runpy.run_path(str(root / "scripts" / "dependencies.py"))
    try:
        parts, listed = script["bill"]()["components"], script["exported"]("requirements.txt")
    except FileNotFoundError:
        yield "uv is not installed"
        return
    named = (Requirement(line.rstrip(" \\")) for line in listed.splitlines() if re.match(r"\w", line))
    elsewhere = {one.name for one in named if one.marker and not one.marker.evaluate()}  # of other systems
    silent = [one["name"] for one in parts if not one.get("licenses") and one["name"] not in elsewhere]
    if silent:
        yield f"no licence is known here of {', '.join(silent)}: install them, or look it up"
    if said := run(sys.executable, "scripts/dependencies.py", "audit", root=root):
        yield said


def docs(root: Path) -> Iterator[str]:
    """Build the site; a warning is an error."""
    with tempfile.TemporaryDirectory() as folder:
        if said := run(sys.executable, "scripts/docs", folder, root=root):
            yield said


CHECKS: dict[str, Callable[[Path], Iterator[str]]] = {
    one.__name__: one for one in (placeholders, version, tree, lock, packages, dependencies, docs)
}


def main(names: list[str], root: Path = ROOT) -> int:
    """Print a row for each check, and below what each found."""
    if {"-h", "--help"} & set(names):
        print(__doc__)
        return 0
    if unknown := [name for name in names if name not in CHECKS]:
        print(f"no such check: {', '.join(unknown)} (there are {', '.join(CHECKS)})", file=sys.stderr)
        return 2
    found = {}
    for name in names or CHECKS:
        found[name] = list(CHECKS[name](root))
        print(f"{name:<14}{f'{len(found[name]):,} to do' if found[name] else 'ok'}", flush=True)
    for name, said in found.items():
        if said:
            print("\n".join(["", name, *(f"  {line}" for line in said)]))
    return int(any(found.values()))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
