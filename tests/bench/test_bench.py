"""The benchmarks run from end to end on tiny inputs, and judge nothing there."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

BENCH = Path(__file__).resolve().parents[2] / "scripts" / "bench"
SECTIONS = {path.stem for path in BENCH.glob("*.py") if "\nTITLE = " in path.read_text(encoding="utf-8")} - {
    "crowd"
}  # studies that are judged to their end: minutes, and no contests


@pytest.mark.skipif(sys.platform == "win32", reason="the floors are POSIX tools")
def test_short_benchmarks(tmp_path):
    figures = tmp_path / "figures.json"
    command = [sys.executable, BENCH, *sorted(SECTIONS), "--short", "--cache", tmp_path, "--json", figures]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    assert "failed" not in result.stdout
    assert "goal" not in result.stdout
    said = json.loads(figures.read_text(encoding="utf-8"))
    assert (said["short"], said["rounds"]) == (True, 1)
    assert said["machine"]["cores"] >= 1
    assert said["machine"]["versions"].keys() >= {"prefjudge", "numpy"}
    contests = said["contests"]
    assert {contest["section"] for contest in contests} == SECTIONS
    assert all(rival["ratio"] > 0 for contest in contests for rival in contest["rivals"])
    floors = {rival["rival"] for contest in contests for rival in contest["rivals"]}
    assert floors >= {"wc -l", "zcat | wc -l", "SQLite alone", "networkx", "a tenth of it"}
    verbs = [contest for contest in contests if contest["section"] == "study"]
    assert [verb["contest"].partition(",")[0] for verb in verbs] == ["publish", "collect"]
    assert all(side["peak_mb"] > 10 for verb in verbs for side in (verb, *verb["rivals"]))


def test_an_unknown_section_is_told():
    result = subprocess.run([sys.executable, BENCH, "nonsense"], capture_output=True, text=True, check=False)
    assert result.returncode == 2
    assert "no section nonsense" in result.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="the load is made by POSIX processes")
def test_short_load_on_the_marketplace():
    command = [sys.executable, BENCH / "marketplace.py", "--workers", "3", "--hits", "5", "--seconds", "1"]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    shown = json.loads(result.stdout)
    assert (shown["lost"], shown["handed_out_twice"], shown["errors"]) == (0, 0, {})
    assert shown["hits_per_second"] > 0
