"""The benchmarks run from end to end on tiny inputs, and judge nothing there."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

BENCH = Path(__file__).resolve().parents[2] / "scripts" / "bench"
SECTIONS = {path.stem for path in BENCH.glob("*.py") if "\nTITLE = " in path.read_text(encoding="utf-8")}


@pytest.mark.skipif(sys.platform == "win32", reason="the floors are POSIX tools")
def test_short_benchmarks(tmp_path):
    figures = tmp_path / "figures.json"
    command = [sys.executable, BENCH, "--short", "--cache", tmp_path, "--json", figures]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    assert "failed" not in result.stdout
    assert "goal" not in result.stdout
    contests = json.loads(figures.read_text())
    assert {contest["section"] for contest in contests} == SECTIONS
    assert all(rival["ratio"] > 0 for contest in contests for rival in contest["rivals"])
    floors = {rival["rival"] for contest in contests for rival in contest["rivals"]}
    assert floors >= {"wc -l", "zcat | wc -l", "SQLite alone", "networkx"}


def test_an_unknown_section_is_told():
    result = subprocess.run([sys.executable, BENCH, "nonsense"], capture_output=True, text=True, check=False)
    assert result.returncode == 2
    assert "no section nonsense" in result.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="the load is made by POSIX processes")
def test_short_load_on_the_marketplace():
    command = [sys.executable, BENCH / "marketplace.py", "--workers", "3", "--hits", "5"]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    shown = json.loads(result.stdout)
    assert (shown["lost"], shown["handed_out_twice"], shown["errors"]) == (0, 0, {})
    assert shown["hits_per_second"] > 0
