#!/usr/bin/env python3
"""Install what is needed into .venv, then run the demo or the checks. Needs Python 3.11 or newer, no more.

python3 scripts/go.py demo [options of `prefjudge demo`]
python3 scripts/go.py test [steps and options of scripts/check]

The first run needs a package index; later runs need no network until pyproject.toml or uv.lock changes. The
versions are those of uv.lock, installed by uv where it is present, else by pip; PREFJUDGE_LOCKED=0 takes the
newest that pyproject.toml allows. `test` runs ruff, mypy, the import contracts and pytest. Tests that need a
browser, a database server or another tool's library are skipped where that is missing, and the last line says
how many and why; PREFJUDGE_EXTRA=all python3 scripts/go.py test installs the libraries for all of them.
"""

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LOCK = ROOT / "uv.lock"
VENV = ROOT / ".venv"
BIN = VENV / ("Scripts" if os.name == "nt" else "bin")
PYTHON = BIN / ("python.exe" if os.name == "nt" else "python")


def run(*command: object) -> None:
    """Run a step of the installation, and stop with its exit code when it fails."""
    line = [str(part) for part in command]
    code = subprocess.call(line, cwd=ROOT)
    if code:
        sys.exit(
            f"\ngo.py: this step failed (exit code {code}): {' '.join(line)}\n"
            "The first run needs a package index (the internet or a mirror). On Debian and Ubuntu,\n"
            "`python3 -m venv` needs the package python3-venv. If .venv is damaged, delete it and try again."
        )


def locked_versions() -> list[str]:
    """Return the versions of uv.lock as constraints for pip: some have one for each Python or system."""
    import tomllib  # here, as an older Python lacks it and is to be told so

    lines = []
    for package in tomllib.loads(LOCK.read_text(encoding="utf-8"))["package"]:
        if "registry" in package["source"]:  # what is not, is prefjudge itself
            where = " or ".join(f"({marker})" for marker in package.get("resolution-markers", ()))
            lines.append(f"{package['name']}=={package['version']}" + (f" ; {where}" if where else ""))
    return lines


def install(extra: str) -> None:
    """Make .venv and install prefjudge into it, unless that was done for these versions."""
    locked = os.environ.get("PREFJUDGE_LOCKED", "1") != "0"
    named = [ROOT / "pyproject.toml", *([LOCK] if locked else [])]
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in named)).hexdigest()
    stamp = VENV / f".installed-{extra or 'core'}"
    done = [stamp] if extra else [*VENV.glob(".installed-*")]  # any extra brings the core
    if PYTHON.exists() and any(mark.exists() and mark.read_text(encoding="utf-8") == digest for mark in done):
        return
    what = f".[{extra}]" if extra else "."
    print(f"go.py: installing prefjudge ({what}) into {VENV}; this is done once", file=sys.stderr, flush=True)
    uv = shutil.which("uv")
    if not PYTHON.exists():
        run(
            *(
                [uv, "venv", "--quiet", "--clear", "--python", sys.executable]
                if uv
                else [sys.executable, "-m", "venv", "--clear"]
            ),
            VENV,
        )
    if uv and locked:
        extras = [f"--extra={one}" for one in extra.split(",") if one]
        run(uv, "sync", "--quiet", "--frozen", "--inexact", "--python", PYTHON, *extras)
    elif uv:
        run(uv, "pip", "install", "--quiet", "--python", PYTHON, "-e", what)
    else:
        if subprocess.call([PYTHON, "-c", "import pip"], stderr=subprocess.DEVNULL):
            run(PYTHON, "-m", "ensurepip")  # a .venv made by uv has no pip
        with tempfile.TemporaryDirectory() as folder:
            versions = Path(folder) / "constraints.txt"
            versions.write_text("\n".join(locked_versions()) if locked else "", encoding="utf-8")
            pip = (PYTHON, "-m", "pip", "install", "--quiet", "--disable-pip-version-check")
            run(*pip, "--constraint", versions, "-e", what)
    stamp.write_text(digest, encoding="utf-8")


def main() -> int:
    """Run ``demo`` or ``test``."""
    if sys.version_info < (3, 11):  # noqa: UP036 - this is the file that tells people so
        sys.exit(
            f"prefjudge needs Python 3.11 or newer, and this is {sys.version.split()[0]} ({sys.executable})"
        )
    if len(sys.argv) < 2 or sys.argv[1] not in ("demo", "test"):
        print(__doc__)
        return 0 if sys.argv[1:] in (["-h"], ["--help"]) else 2
    verb, rest = sys.argv[1], sys.argv[2:]
    if verb == "demo":
        install("")
        code = subprocess.call([BIN / "prefjudge", "demo", *rest])
        print(f"To type prefjudge yourself in this shell: . {BIN / 'activate'}")
        return code
    install(os.environ.get("PREFJUDGE_EXTRA", "test"))
    return subprocess.call([PYTHON, ROOT / "scripts" / "check", *rest])


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
