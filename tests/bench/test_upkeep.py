"""Maintenance: a simulated year costs little, and ends with answers as good as judging afresh."""

from importlib import import_module
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from prefjudge.core.asking.strategies import Knockout, LeadStop
from prefjudge.core.judges.noise import scale_of_error
from prefjudge.core.planning.strategy_names import DEFAULT
from prefjudge.core.pooling.pools import build_pools
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


def test_nothing_new_costs_nothing(maintenance: ModuleType) -> None:
    pools = pools_of({"q": "abc", "p": "ab"})
    rng = np.random.default_rng(0)
    upkeep = maintenance.simulate_upkeep(
        pools, [pools], scale=1.0, strategy=DEFAULT, challenge=LeadStop(2), rng=rng
    )
    (month,) = upkeep.months
    assert (month.newcomers, month.votes, month.dethroned) == (0, 0, 0)
    assert month.votes_afresh == upkeep.first_votes == 12
    assert upkeep.cost_share == 0


def test_clear_newcomers_dethrone(maintenance: ModuleType) -> None:
    rng = np.random.default_rng(1)
    first, later = pools_of({f"q{i}": "ab" for i in range(200)}), pools_of({f"q{i}": "c" for i in range(200)})
    upkeep = maintenance.simulate_upkeep(
        first, [later], scale=20.0, strategy=DEFAULT, challenge=LeadStop(3), rng=rng
    )
    assert upkeep.months[0].newcomers == 200
    assert upkeep.months[0].dethroned / 200 == pytest.approx(1 / 3, abs=0.1)
    assert upkeep.correct > 0.93
    assert upkeep.agreement > 0.93


@pytest.mark.parametrize("queries", [1, 3])
def test_where_nobody_errs_both_ways_agree_on_every_query(maintenance: ModuleType, queries: int) -> None:
    first = pools_of({f"q{i}": "abc" for i in range(queries)})
    later = pools_of({f"q{i}": "cde" for i in range(queries)} | {"new": "ab"})
    rng = np.random.default_rng(2)
    upkeep = maintenance.simulate_upkeep(
        first, [later], scale=1e6, strategy=DEFAULT, challenge=LeadStop(1), rng=rng
    )
    assert (upkeep.agreement, upkeep.agreement_afresh) == (1.0, 1.0)
    assert (upkeep.correct, upkeep.correct_afresh) == (1.0, 1.0)


def test_where_all_are_equal_both_ways_agree_by_chance(maintenance: ModuleType) -> None:
    rng = np.random.default_rng(2)
    first = pools_of({f"q{i}": "abcdefgh" for i in range(300)})
    upkeep = maintenance.simulate_upkeep(
        first, [], scale=0.0, strategy=Knockout(1), challenge=LeadStop(1), rng=rng
    )
    assert upkeep.agreement == pytest.approx(1 / 8, abs=0.06)
    assert upkeep.agreement_afresh == pytest.approx(1 / 8, abs=0.06)
    assert upkeep.correct == pytest.approx(1 / 8, abs=0.06)


def test_months_of_real_runs_cost_a_fraction_and_end_with_as_good_answers(
    maintenance: ModuleType, data_dir: Path
) -> None:
    from prefjudge.engines.files.files import top

    paths = sorted((data_dir / "dl21" / "runs").glob("*.gz"))
    upkeep = maintenance.simulate_upkeep(
        build_pools(top(paths[:22], k=1)),
        [build_pools(top([path], k=1)) for path in paths[22:]],
        scale=scale_of_error(0.33),
        strategy=DEFAULT,
        challenge=LeadStop(3),
        rng=np.random.default_rng(3),
    )
    assert upkeep.cost_share < 0.1
    assert upkeep.agreement > upkeep.agreement_afresh - 0.07
    assert upkeep.correct > upkeep.correct_afresh - 0.07
