"""The table of strategies: a small run from end to end."""

import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from prefjudge.core.asking.strategies import LeadStop
from prefjudge.core.planning.sure import Sure

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "strategies"


def test_every_strategy_has_a_row_with_its_standard_error() -> None:
    options = ["--pools", "2", "--errors", ".33", "--noises", "constant", "--trials", "8"]
    done = subprocess.run([sys.executable, str(SCRIPT), *options], capture_output=True, text=True, check=True)
    rows = [line for line in done.stdout.splitlines() if " +- " in line]
    named = [row[:30].strip() for row in rows]
    assert {"default", "halving:1x3", "lead:3", "sure:50", "sure:99", "sure:99.99/80"} <= {*named}
    assert {"double Thompson sampling", "ASAP, spanning trees", "Crowd-BT, one by one"} <= {*named}
    costs = {name: float(row[30:38]) for name, row in zip(named, rows, strict=True)}
    assert (costs["round-robin:3"], costs["double Thompson sampling"]) == (3.0, 2.0)
    assert costs["sure:50"] < costs["sure:99"]
    assert "any method, at the least" in done.stdout


def test_votes_for_the_order_of_runs_have_a_table_beside_the_others() -> None:
    options = ["--queries", "8", "--pool", "3", "--studies", "3"]
    command = [sys.executable, str(SCRIPT / "for_runs.py"), *options]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    rows = {line.split()[0]: line for line in done.stdout.splitlines()[1:]}
    assert {"round-robin:1", "sure:50", "runs:60", "runs:99"} <= {*rows}
    assert float(rows["round-robin:2"].split()[1]) == 6.0
    assert float(rows["runs:60"].split()[1]) < float(rows["runs:99"].split()[1])


def test_the_brief_table_has_a_line_for_each_cell() -> None:
    options = ["--brief", "--pools", "2", "--errors", ".2", ".4", "--noises", "constant", "--trials", "6"]
    done = subprocess.run([sys.executable, str(SCRIPT), *options], capture_output=True, text=True, check=True)
    heads, *rows = done.stdout.splitlines()
    assert heads.split()[:3] == ["pool", "wrong", "noise"]
    assert [row.split()[:3] for row in rows] == [["2", "20%", "constant"], ["2", "40%", "constant"]]
    assert all(row.count(" to ") == 2 for row in rows)


def test_no_rule_beats_a_lead_where_all_pairs_err_alike_and_a_patient_sure_is_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.syspath_prepend(str(SCRIPT))
    two = import_module("pools_of_two")
    crowd = two.Crowd("constant", 0.2)
    votes, right = two.play(two.asked_by(LeadStop(2)), crowd)
    # Two votes decide, or it begins again.
    assert (votes, right) == pytest.approx((2 / (0.8**2 + 0.2**2), 0.8**2 / (0.8**2 + 0.2**2)), rel=0.001)
    patient = two.play(two.asked_by(Sure(0.99, patience=80, crowd=crowd.known)), crowd)
    best = [two.play(two.best_rule(crowd, price), crowd) for price in (0.03, 0.04)]
    for rule in (patient, *best):
        assert rule == pytest.approx((votes, right), rel=0.001)
