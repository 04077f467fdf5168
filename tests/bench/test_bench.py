"""The benchmarks run from end to end on tiny inputs, and judge nothing there."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

BENCH = Path(__file__).resolve().parents[2] / "scripts" / "bench"
SECTIONS = ("pooling", "reading", "scoring", "texts")


@pytest.mark.skipif(sys.platform == "win32", reason="the floors are POSIX tools")
def test_short_benchmarks(tmp_path):
    command = [
        sys.executable,
        BENCH,
        "--short",
        "--cache",
        tmp_path,
        "--json",
        tmp_path / "ratios.json",
        *SECTIONS,
    ]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    assert "goal" not in result.stdout
    ratios = json.loads((tmp_path / "ratios.json").read_text())
    assert {ratio["section"] for ratio in ratios} == set(SECTIONS)
    assert all(ratio["median"] > 0 for ratio in ratios)


def test_an_unknown_section_is_told():
    result = subprocess.run([sys.executable, BENCH, "nonsense"], capture_output=True, text=True, check=False)
    assert result.returncode == 2
    assert "no section nonsense" in result.stderr
