"""Plan on sizes and votes: what it compares, chooses, estimates and refuses."""

from decimal import Decimal
from pathlib import Path

import pytest

from prefjudge.core.noise import scale_of_error
from prefjudge.errors import InputError
from prefjudge.steps.plan import NoiseModel, parse_sizes, plan
from tests.core.tables import simulated_judgments


def test_the_budget_chooses_and_the_seed_repeats() -> None:
    result = plan(sizes="2:12,4:20,6:18", error=0.33, budget=Decimal(150), trials=100, seed=3)
    assert result.sizes == {2: 12, 4: 20, 6: 18}
    assert result.queries == 50
    assert (result.error, result.error_source) == (0.33, "given")
    assert result.chosen is not None
    assert result.chosen.money <= 150
    assert {"round-robin:1", "knockout:5", "lead:3"} <= {one.name for one in result.plans}
    by_size = [outlook.size for outlook in result.chosen.by_size]
    assert by_size == [2, 4, 6]
    assert result == plan(sizes="2:12,4:20,6:18", error=0.33, budget=Decimal(150), trials=100, seed=3)


def test_money_is_what_the_hits_cost() -> None:
    result = plan(
        sizes="3:10",
        error=0.2,
        strategy=["round-robin:1"],
        reward=Decimal("1.00"),
        pairs_per_hit=6,
        trials=10,
    )
    (one,) = result.plans
    assert (one.hits, one.assignments, one.money) == (5, 5, Decimal("6.00"))


def test_too_small_a_budget_says_what_it_pays() -> None:
    result = plan(sizes="6:100", budget=Decimal(36), strategy=["round-robin:1"], trials=10)
    assert result.chosen is None
    assert "pays for about 10 of the 100 queries" in result.notices[0]
    assert result.error_source.startswith("assumed")


def test_the_error_is_estimated_from_votes(tmp_path: Path) -> None:
    judgments, _ = simulated_judgments(150, 6, votes=3, scale=scale_of_error(0.25), seed=1)
    lines = [
        f"{judgments.queries[q]} {judgments.docs[x]} {judgments.docs[y]} {judgments.docs[x if c > 0 else y]}"
        for q, x, y, c in zip(judgments.query, judgments.left, judgments.right, judgments.choice, strict=True)
    ]
    path = tmp_path / "votes.txt"
    path.write_text("\n".join(lines) + "\n")
    result = plan(sizes="4:10", judgments=path, strategy=["default"], trials=10)
    assert result.error == pytest.approx(0.25, abs=0.03)
    assert "judgments" in result.error_source


def test_constant_noise_is_harder_on_large_pools() -> None:
    hard = plan(sizes="12:10", error=0.33, noise=NoiseModel.CONSTANT, strategy=["round-robin:3"], trials=500)
    real = plan(sizes="12:10", error=0.33, strategy=["round-robin:3"], trials=500)
    assert real.plans[0].chance > hard.plans[0].chance + 0.05


@pytest.mark.parametrize("text", ["", "x", "2", "2:", "2:0", "0:3", "2:3;4:5", "300:1"])
def test_sizes_must_be_sizes(text: str) -> None:
    with pytest.raises(InputError, match="--sizes"):
        parse_sizes(text)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "either a study or --sizes"),
        ({"sizes": "2:3", "error": 0.5}, "not a share of wrong votes"),
        ({"sizes": "2:3", "strategy": ["best"]}, "no strategy 'best'"),
        ({"sizes": "2:3", "reissued": 1.0}, "not a share"),
        ({"sizes": "2:3", "trials": 0}, "at least one pool"),
        ({"sizes": "2:3", "pairs_per_hit": 0}, "at least one pair"),
    ],
)
def test_mistakes_are_named(options: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        plan(**options)  # type: ignore[arg-type]


def test_a_study_gives_its_sizes_fees_and_budget(pooled: Path) -> None:
    result = plan(pooled, trials=50)
    assert result.queries == 15
    assert sum(size * count for size, count in result.sizes.items()) > 30
    assert result.budget is not None
    assert result.chosen is not None
    assert result.chosen.money <= result.budget
    assert result.error_source.startswith("assumed")
    assert result == plan(pooled, trials=50)
