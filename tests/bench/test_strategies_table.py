"""The table of strategies: a small run from end to end."""

import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
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


def test_the_brief_table_has_a_line_for_each_cell_and_family() -> None:
    options = [
        "--brief",
        "--pools",
        "2",
        "--errors",
        ".2",
        ".4",
        "--noises",
        "constant",
        "--trials",
        "30",
        "--families",
        "patient",
    ]
    done = subprocess.run([sys.executable, str(SCRIPT), *options], capture_output=True, text=True, check=True)
    heads, *rows = done.stdout.splitlines()
    assert heads.split()[:3] == ["pool", "wrong", "noise"]
    assert [row.split()[:4] for row in rows] == [
        ["2", wrong, "constant", "patient"] for wrong in ("20%", "40%")
    ]
    assert all(row.count("+-") == 1 for row in rows)
    assert all(row.count(" to ") + row.count(" % for ") == 2 for row in rows)
    # A cell does not depend on the processes that the table is made by.
    alone = subprocess.run(
        [sys.executable, str(SCRIPT), *options, "--processes", "1"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert alone.stdout == done.stdout


def test_a_family_that_takes_half_of_the_votes_needs_half_and_one_that_never_reaches_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.syspath_prepend(str(SCRIPT))
    trials = import_module("trials")
    rng = np.random.default_rng(3)

    def played(name: str, votes: float, right: float, many: int) -> Any:
        return trials.Trials(name, np.full(many, votes), (rng.random(many) < right).astype(float))

    family = [played("few", 5.0, 0.6, 4000), played("more", 10.0, 0.7, 4000), played("many", 20.0, 0.8, 4000)]
    beside = trials.compare(family, played("other", 20.0, 0.7, 40_000), 1)
    assert beside.ratio == pytest.approx(0.5, abs=0.08)
    assert beside.low < 0.5 < beside.high
    assert beside.gain == pytest.approx(0.1, abs=0.02)
    # Of shares: of a family of 4,000 pools and of another of 40,000.
    assert beside.error == pytest.approx(np.sqrt(0.8 * 0.2 / 4000 + 0.7 * 0.3 / 40_000), rel=0.15)
    never = trials.compare(family, played("best", 20.0, 0.95, 40_000), 1)
    assert never.ratio == never.low == never.high == np.inf
    assert (never.reached, never.spent) == pytest.approx((family[-1].share, 1.0))
    assert never.gain == pytest.approx(-0.15, abs=0.02)
    assert never.by_chance < -10


def test_who_is_beaten_in_votes_and_right_winners_is_not_compared_with(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.syspath_prepend(str(SCRIPT))
    trials = import_module("trials")
    several = [
        trials.Trials(name, np.full(2, votes), np.array([right, right]))
        for name, votes, right in (("a", 3.0, 0.5), ("b", 4.0, 0.5), ("c", 5.0, 0.7), ("d", 6.0, 0.6))
    ]
    assert [one.name for one in trials.front(several)] == ["a", "c"]


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
