"""Runs a program as one whom file modes bind: tests may run as root, who writes where nobody may."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

_POWERS = "--bounding-set=-dac_override,-dac_read_search"


def run_bound(folder: Path, *words: object) -> subprocess.CompletedProcess[str]:
    """Run ``python -m prefjudge`` in a folder, without root's power over file modes."""
    prefix: list[str] = []
    if os.name == "nt":
        pytest.skip("file modes are POSIX")
    if os.geteuid() == 0:
        setpriv = shutil.which("setpriv")
        if setpriv is None:
            pytest.skip("root without setpriv writes everywhere")
        prefix = [setpriv, _POWERS]
    return subprocess.run(
        [*prefix, sys.executable, "-m", "prefjudge", *map(str, words)],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "NO_COLOR": "1", "COLUMNS": "200"},
    )
