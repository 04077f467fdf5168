"""Fixtures that several rooms' tests share."""

import os
from pathlib import Path

import pytest
from hypothesis import settings

# no test is timed: the first example of a test may pay for an import, and machines are shared
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The real collections, which are not part of the project."""
    folder = Path(os.environ.get("PREFJUDGE_DATA", ROOT.parent / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip("no real data: PREFJUDGE_DATA names no folder with cacm, dl21, cast19 and msmarco")
    return folder
