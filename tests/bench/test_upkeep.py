"""Maintenance: simulated months cost little, and end with answers as good as judging afresh."""

import subprocess
import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from prefjudge.core.planning.rounds import DEFAULT
from prefjudge.core.planning.sure import Sure
from prefjudge.core.pools import Pools
from prefjudge.core.strategies import RoundRobin
from tests.core.tables import pools_of

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "upkeep"


@pytest.fixture
def maintenance(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(SCRIPT))
    return import_module("maintenance")


def test_merged_pools_have_every_document_once(maintenance: ModuleType) -> None:
    merged = maintenance.merge_pools(pools_of({"q": "bc", "p": "a"}), pools_of({"q": "ab", "r": "z"}))
    rows = [(merged.queries[q], merged.docs[d]) for q, d in zip(merged.query, merged.doc, strict=True)]
    assert rows == [("q", "a"), ("q", "b"), ("q", "c"), ("p", "a"), ("r", "z")]
    assert (merged.docs, merged.sources) == (("a", "b", "c", "z"), ())
    assert merged.source_row.size == merged.source.size == 0


RULES = [Sure(0.9, patience=500), Sure(0.6, patience=100)]


def simulate(maintenance: ModuleType, first: Pools, later: Pools, **how: Any) -> Any:
    chosen = {"scale": 1.0, "strategy": DEFAULT, "rules": RULES, "rng": np.random.default_rng(1)}
    return maintenance.simulate_upkeep(first, [later], **(chosen | how))


def test_nothing_new_costs_nothing(maintenance: ModuleType) -> None:
    pools = pools_of({"q": "abc", "p": "ab"})
    upkeep = simulate(maintenance, pools, pools)
    assert upkeep.votes == upkeep.first_votes == 12
    for kept in upkeep.kept:
        assert (kept.newcomers, kept.votes, kept.rounds, kept.dethroned) == (0, 0, 0, 0)


def test_clear_newcomers_dethrone(maintenance: ModuleType) -> None:
    first, later = pools_of({f"q{i}": "ab" for i in range(200)}), pools_of({f"q{i}": "c" for i in range(200)})
    (kept,) = simulate(maintenance, first, later, scale=20.0, rules=RULES[:1]).kept
    assert kept.newcomers == 200
    assert kept.dethroned / 200 == pytest.approx(1 / 3, abs=0.1)
    assert kept.right.mean() > 0.93
    assert kept.agrees.mean() > 0.93


@pytest.mark.parametrize("queries", [1, 3])
def test_where_nobody_errs_all_agree_on_every_query(maintenance: ModuleType, queries: int) -> None:
    first = pools_of({f"q{i}": "abc" for i in range(queries)})
    later = pools_of({f"q{i}": "cde" for i in range(queries)} | {"new": "ab"})
    upkeep = simulate(maintenance, first, later, scale=100.0, rules=RULES[:1])
    for found in (upkeep, *upkeep.kept):
        assert (found.agrees.tolist(), found.right.tolist()) == ([1.0] * queries, [1.0] * queries)


def test_where_all_are_equal_they_agree_by_chance(maintenance: ModuleType) -> None:
    first = pools_of({f"q{i}": "abcdefgh" for i in range(300)})
    upkeep = simulate(maintenance, first, pools_of({}), scale=0.0, strategy=RoundRobin(1), rules=RULES[:1])
    for found in (upkeep, *upkeep.kept):
        assert found.agrees.mean() == pytest.approx(1 / 8, abs=0.06)
        assert found.right.mean() == pytest.approx(1 / 8, abs=0.06)


def test_the_table_of_real_runs_has_each_rule_beside_a_fresh_judging(data_dir: Path) -> None:
    runs = sorted(map(str, (data_dir / "dl21" / "runs").glob("*.gz")))[:5]
    command = [sys.executable, str(SCRIPT), *runs, "--start", "3", "--studies", "1", "--rules", "sure:60/50"]
    done = subprocess.run([*command, "sure:50/100"], capture_output=True, text=True, check=True)
    rows = done.stdout.splitlines()[2:]
    assert [row[:26].strip() for row in rows] == [
        "judged afresh, once",
        "kept, sure:60/50",
        "kept, sure:50/100",
    ]
    assert all(row.count("+-") == 2 for row in rows)
    votes, share = zip(*((float(row[27:34]), float(row[35:41])) for row in rows), strict=True)
    assert share == pytest.approx([one / votes[0] for one in votes], abs=0.02)
