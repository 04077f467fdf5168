"""The benchmarks run from end to end on tiny inputs, and judge nothing there."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

BENCH = Path(__file__).resolve().parents[2] / "scripts" / "bench"
SECTIONS = {path.stem for path in BENCH.glob("*.py") if "\nTITLE = " in path.read_text(encoding="utf-8")} - {
    "crowd"
}  # studies that are judged to their end: minutes, and no contests


@pytest.fixture
def compare(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    monkeypatch.syspath_prepend(str(BENCH))
    import compare

    yield compare
    del sys.modules["compare"]


def run(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(BENCH), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


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
    compared = run("--compare", figures, "--against", figures)
    assert (compared.returncode, compared.stdout.splitlines()[-1]) == (
        0,
        "nothing got worse beyond the noise",
    )


def figures_of(
    path: Path, rounds: list[float], *, peak: float = 50.0, short: bool = False, **more: object
) -> Path:
    """Write a file of one contest, whose ratios say how much faster ours is."""
    rival = {"rival": "peer", "ratio_is": "theirs / ours", "ratios": rounds}
    contest = {"section": "pooling", "contest": "top", "peak_mb": peak, "rivals": [rival]}
    machine = {"cpu": "one", **more}
    said = {"short": short, "rounds": len(rounds), "machine": machine, "contests": [contest]}
    path.write_text(json.dumps(said), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("before", "after", "peak", "told"),
    [
        ([10, 11, 12], [10.5, 11, 11.5], 50, None),
        ([10, 11, 12], [5, 6, 11], 50, None),  # one round was as fast as before: that is noise
        ([10, 11, 12], [9.8, 9.85, 9.9], 50, "1.12 times slower: 0.09 [0.08, 0.10] n=3 -> 0.10"),
        ([10, 10.1, 10.2], [9.7, 9.8, 9.9], 50, None),  # sure, and too little to be told
        ([10, 11, 12], [5, 5.5, 6], 50, "2.00 times slower"),
        ([10], [7], 50, None),  # nobody knows the noise of one round
        ([10], [4], 50, "2.50 times slower"),
        ([10, 11, 12], [10, 11, 12], 61, "1.22 times the memory: 50 -> 61 MB"),
    ],
)
def test_what_got_worse_beyond_the_noise_is_told(
    tmp_path: Path, before: list[float], after: list[float], peak: float, told: str | None,
    compare: ModuleType,
) -> None:  # fmt: skip
    old = compare.Figures.read(figures_of(tmp_path / "old.json", before))
    new = compare.Figures.read(figures_of(tmp_path / "new.json", after, peak=peak, cpu="another"))
    lines, worse = compare.report(old, new)
    assert worse == (told is not None)
    assert "  cpu differs: one -> another" in lines
    assert any(told in line for line in lines) if told else "nothing got worse" in lines[-1]
    assert not compare.report(old, old)[1]


def test_getting_worse_is_an_exit_code_and_a_wrong_file_is_told(tmp_path: Path) -> None:
    old, new = figures_of(tmp_path / "old.json", [9, 9, 9]), figures_of(tmp_path / "new.json", [3, 3, 3])
    slower = run("--compare", old, "--against", new)
    assert (slower.returncode, slower.stderr) == (1, "")
    assert "WORSE: pooling: top: peer: 3.00 times slower" in slower.stdout
    faster = run("--compare", new, "--against", old)
    assert faster.returncode == 0
    assert "faster: pooling: top: peer" in faster.stdout
    (tmp_path / "list.json").write_text("[]", encoding="utf-8")
    tiny = figures_of(tmp_path / "tiny.json", [9, 9, 9], short=True)
    for wrong, words in ((tmp_path / "list.json", "--json wrote"), (tiny, "do not compare")):
        refused = run("--compare", old, "--against", wrong)
        assert (refused.returncode, words in refused.stderr) == (2, True), refused.stderr
    assert run("--against", old).returncode == 2


def test_what_is_compared_is_measured_again_in_the_same_way(
    tmp_path: Path,
) -> None:
    kept = tmp_path / "new.json"
    arguments = ["texts", "--short", "--rounds", "2", "--cache", tmp_path, "--json", kept]
    assert run(*arguments).returncode == 0
    said = json.loads(kept.read_text(encoding="utf-8"))
    for contest in said["contests"]:
        for rival in contest["rivals"]:  # a hundred times better than anything
            worse = 0.01 if rival["ratio_is"] == "ours / theirs" else 100
            rival["ratios"] = [ratio * worse for ratio in rival["ratios"]]
    kept.write_text(json.dumps(said), encoding="utf-8")
    again = run("--compare", kept, "--cache", tmp_path, "--json", tmp_path / "again.json")
    assert (again.returncode, again.stderr) == (1, "")
    assert "times slower" in again.stdout
    remade = json.loads((tmp_path / "again.json").read_text(encoding="utf-8"))
    assert (remade["short"], remade["rounds"]) == (True, 2)
    assert {contest["section"] for contest in remade["contests"]} == {"texts"}


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
