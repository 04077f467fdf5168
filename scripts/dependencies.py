#!/usr/bin/env python3
"""What a release depends on, as uv.lock names it: licences, a bill of materials, known weaknesses.

python3 scripts/dependencies.py licences         a line for each: name, version, licence
python3 scripts/dependencies.py sbom sbom.json   the same for programs: CycloneDX 1.5, with hashes
python3 scripts/dependencies.py audit            asks the index for known weaknesses of each (pip-audit)

Needs uv; licences are read from what is installed beside this Python. The last line of an audit says how many
packages could not be looked at. It exits with 1 where it found a weakness, with --strict also where it could
not look at a package.
"""

import json
import subprocess
import sys
import tempfile
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
RELEASED = ("--extra", "postgres", "--extra", "panels")
"""What the container and most hosts install; the other extras are for those who run studies."""
LONGEST = 60
"""Some put the whole text of their licence where its name belongs."""


def exported(form: str) -> str:
    """Return the lock file in another form, without what only tests need."""
    command = ("uv", "export", "--quiet", "--frozen", "--no-dev", "--no-emit-project", "--format", form)
    return subprocess.run([*command, *RELEASED], cwd=ROOT, capture_output=True, text=True, check=True).stdout


def licence(of: Distribution) -> str:
    """Return a licence by the name that its package gives it; empty where it gives none."""
    known = of.metadata
    for field in ("License-Expression", "License"):
        text = (known.get(field) or "").strip()
        if text and text != "UNKNOWN" and len(text) <= LONGEST and "\n" not in text:
            return text
    named = [
        one.rpartition(" :: ")[2] for one in known.get_all("Classifier") or () if one.startswith("License")
    ]
    return " AND ".join(one for one in named if one != "OSI Approved")


def bill() -> dict[str, Any]:
    """Return the bill of materials, each component with its licence where it is installed here."""
    made: dict[str, Any] = json.loads(exported("cyclonedx1.5"))
    for part in made["components"]:
        try:
            found = licence(distribution(part["name"]))
        except PackageNotFoundError:  # of another platform, or not installed
            continue
        if found:
            part["licenses"] = [{"license": {"name": found}}]
    return made


def licences() -> int:
    """Print the licences."""
    for part in sorted(bill()["components"], key=lambda one: str(one["name"])):
        named = part.get("licenses", [{"license": {"name": ""}}])[0]["license"]["name"]
        print(f"{part['name']}\t{part['version']}\t{named or '(not installed here, or says none)'}")
    return 0


def audit(*, strict: bool) -> int:
    """Ask for known weaknesses."""
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as listed:
        listed.write(exported("requirements.txt"))
        listed.flush()
        asked = ("uvx", "--quiet", "pip-audit", "--disable-pip", "--require-hashes", "--format", "json")
        try:
            done = subprocess.run((*asked, "-r", listed.name), capture_output=True, text=True, check=False)
        except FileNotFoundError:
            print("not audited: uv is not installed")
            return int(strict)
    try:
        packages = json.loads(done.stdout)["dependencies"]
    except (ValueError, KeyError):
        print(f"not audited: {([*done.stderr.strip().splitlines()] or ['pip-audit says nothing'])[-1]}")
        return int(strict)
    print("\n".join(findings(packages)))
    weak = any(one.get("vulns") for one in packages)
    return int(weak or (strict and any("skip_reason" in one for one in packages)))


def findings(packages: list[dict[str, Any]]) -> list[str]:
    """Return a line for each weakness and each package that was not looked at, and one that counts them."""
    weak = [
        f"{one['name']} {one['version']}: {found['id']}, mended in "
        + (" ".join(found["fix_versions"]) or "no version")
        for one in packages
        for found in one.get("vulns", ())
    ]
    skipped = [
        f"not looked at: {one['name']}: {one['skip_reason']}" for one in packages if "skip_reason" in one
    ]
    looked = f"{len(packages) - len(skipped)} of {len(packages)} packages were looked at"
    return [*weak, *skipped, f"{looked}, with {len(weak) or 'no'} known weakness{'es' * (len(weak) > 1)}"]


def main(words: list[str]) -> int:
    """Run one of the three."""
    if words == ["licences"]:
        return licences()
    if words in (["audit"], ["audit", "--strict"]):
        return audit(strict="--strict" in words)
    if len(words) == 2 and words[0] == "sbom":
        Path(words[1]).write_text(json.dumps(bill(), indent=1) + "\n", encoding="utf-8")
        return 0
    print(__doc__)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
