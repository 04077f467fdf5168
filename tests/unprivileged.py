"""Runs a program as one whom file modes bind: tests may run as root, who writes where nobody may."""

import os
import shutil
from pathlib import Path

import pytest

from tests.cli.conftest import Finished, prefjudge

_POWERS = "--bounding-set=-dac_override,-dac_read_search"


def run_bound(folder: Path, *words: object) -> Finished:
    """Run ``python -m prefjudge`` in a folder, without root's power over file modes."""
    before: tuple[str, ...] = ()
    if os.name == "nt":
        pytest.skip("file modes are POSIX")
    if os.geteuid() == 0:
        setpriv = shutil.which("setpriv")
        if setpriv is None:
            pytest.skip("root without setpriv writes everywhere")
        before = (setpriv, _POWERS)
    return prefjudge(*words, cwd=folder, before=before)
