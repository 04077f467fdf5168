"""The command lines of score, winratio and check: keys of their JSON, forms of their output, exit codes."""

import csv
import io
import json
import re
from pathlib import Path

from tests.cli.conftest import prefjudge
from tests.steps.conftest import COLLECTION

RUNS = str(COLLECTION / "runs" / "*.txt")
QRELS = COLLECTION / "qrels.txt"


def test_score_as_csv_is_one_table_of_every_row() -> None:
    done = prefjudge(
        "score", "--runs", RUNS, "--qrels", QRELS, "--measure", "RR", "--measure", "P@1", "--format", "csv"
    )
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    assert len(rows) == 12
    assert {row["measure"] for row in rows} == {"RR", "P@1"}


def test_score_prints_the_health_of_each_run_below_the_boards() -> None:
    done = prefjudge("score", "--runs", RUNS, "--qrels", QRELS, "--health")
    boards, *runs = done.stdout.split(": 15 queries, ")
    assert "RR@10" in boards
    assert len(runs) == 6
    assert all(re.match(r"[\d,]+ lines?\n", one) for one in runs)


def test_the_pairs_of_many_runs_stand_below_what_they_are_compared_by() -> None:
    done = prefjudge("compare", "--runs", RUNS, "--qrels", f"one={QRELS}")
    found, title = done.stdout.splitlines()[:2]
    assert re.match(r"\d+ of 15 pairs of runs differ significantly by RR@10 under one ", found)
    assert title == "RR@10 under one"


def test_check_exits_with_1_for_a_bad_file_and_says_so_in_every_form(tmp_path: Path) -> None:
    bad = tmp_path / "bad.txt"
    bad.write_text("q1 Q0 d1 1 0.5 r\nq1 Q0 d1 2 0.4 r\n")
    words = prefjudge("check", bad)
    assert words.returncode == 1
    assert "cannot be used" in words.stdout
    data = prefjudge("check", bad, RUNS, "--json")
    assert data.returncode == 1
    found = json.loads(data.stdout)
    assert not found["ok"]
    assert [file["ok"] for file in found["files"]] == [False] + [True] * 6
    annotated = prefjudge("check", bad, "--format", "github")
    assert annotated.stdout.startswith(f"::error file={bad},line=2")
    assert prefjudge("check", RUNS, "--qrels", QRELS).returncode == 0
