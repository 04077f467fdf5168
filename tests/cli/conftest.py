"""Runs the command line as a user does."""

import os
import subprocess
import sys
from pathlib import Path

from tests.steps.conftest import pooled as pooled  # the fixture

Finished = subprocess.CompletedProcess[str]


def prefjudge(*arguments: object, cwd: Path | None = None) -> Finished:
    return subprocess.run(
        [sys.executable, "-m", "prefjudge", *map(str, arguments)],
        cwd=cwd,
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
        env={**os.environ, "COLUMNS": "200", "NO_COLOR": "1", "PYTHONIOENCODING": "utf-8"},
    )
