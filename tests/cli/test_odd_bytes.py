"""Ids of any bytes, and names that a plot or a terminal could take for something else, in every form."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Finished, prefjudge

TAG = "sys\udce9$\\frac{$"


@pytest.fixture
def odd(tmp_path: Path) -> list[object]:
    """The options of two runs and qrels whose ids are Latin-1, and not UTF-8."""
    for number, docs in enumerate(("d\xe9", "e\xe9")):
        name = TAG.encode("utf-8", "surrogateescape")
        doc = docs.encode("latin-1")
        lines = b"".join(b"q\xe9%d Q0 %s 1 2 %s%d\n" % (query, doc, name, number) for query in range(3))
        (tmp_path / f"run{number}").write_bytes(lines)
    (tmp_path / "qrels").write_bytes(b"".join(b"q\xe9%d 0 d\xe9 1\n" % query for query in range(3)))
    runs = [word for number in (0, 1) for word in ("--runs", tmp_path / f"run{number}")]
    return [*runs, "--qrels", tmp_path / "qrels"]


def done(*words: object) -> Finished:
    found = prefjudge(*words)
    assert found.returncode == 0, found.stderr
    assert "Traceback" not in found.stderr
    return found


def test_json_is_json(odd: list[object], tmp_path: Path) -> None:
    rows = json.loads(done("score", *odd, "--json", "--per-query").stdout)["per_query"]
    assert {row["run"] for row in rows} == {f"{TAG}0", f"{TAG}1"}
    assert rows[0]["query_id"] == "q\udce90"
    done("score", *odd, "--per-query", "--out", tmp_path / "x.json")
    for name in ("x.json", "x.per-query.json", "x.provenance.json"):
        json.loads((tmp_path / name).read_text(encoding="utf-8"))


def test_plots_are_drawn(odd: list[object], tmp_path: Path) -> None:
    done("score", *odd, "--plot", tmp_path / "x.svg")
    done("stability", *odd, "--trials", 10, "--plot", tmp_path / "y.png")
    (tmp_path / "votes").write_bytes(b"q\xe90 d\xe9 e\xe9 d\xe9\n")
    done("winratio", *odd, "--judgments", tmp_path / "votes", "--plot", tmp_path / "z.svg")


def test_text_is_printed_as_it_was(odd: list[object]) -> None:
    command = [sys.executable, "-m", "prefjudge", "score", *map(str, odd), "--format", "csv"]
    found = subprocess.run(command, capture_output=True, check=True)
    assert TAG.encode("utf-8", "surrogateescape") in found.stdout
    for form in ("terminal", "md", "tex"):
        assert "xe9" in done("score", *odd, "--format", form).stdout


def test_parquet_says_what_it_cannot_hold(odd: list[object], tmp_path: Path) -> None:
    pytest.importorskip("pyarrow", reason="pyarrow is not installed (extra parquet)")
    for words in (["score", *odd], ["pool", *odd]):
        found = prefjudge(*words, "--out", tmp_path / "x.parquet")
        assert found.returncode == 1
        assert "is not UTF-8, and Parquet knows no other text" in found.stderr
        assert "Traceback" not in found.stderr
        assert not (tmp_path / "x.parquet").exists()
