from decimal import Decimal

from hypothesis import given
from hypothesis import strategies as st

from prefjudge.core.hits import estimate, hourly_pay, prorated


def test_the_paper_pays_two_dollars_and_forty_cents_a_hit() -> None:
    # Section 4.1: 141,887 comparisons "cost over $34,000", ten to a HIT.
    cost = estimate(
        pairs=141_887,
        hits=14_189,
        assignments_per_hit=1,
        slots_per_hit=13,
        reward=Decimal("2.00"),
        price=Decimal("2.40"),
    )
    assert cost.rewards == Decimal("28378.00")
    assert cost.fees == Decimal("5675.60")
    assert cost.total == Decimal("34053.60")


def test_an_estimate_bears_the_price_of_each_assignment() -> None:
    cost = estimate(
        pairs=30,
        hits=3,
        assignments_per_hit=12,
        slots_per_hit=13,
        reward=Decimal("2.00"),
        price=Decimal("2.80"),
    )
    assert (cost.assignments, cost.rewards, cost.fees) == (36, Decimal("72.00"), Decimal("28.80"))
    assert cost.total == Decimal("100.80")
    assert (cost.pairs, cost.hits, cost.hourly) == (30, 3, None)


def test_an_estimate_tells_what_an_hour_pays() -> None:
    cost = estimate(
        pairs=30,
        hits=3,
        assignments_per_hit=1,
        slots_per_hit=13,
        reward=Decimal("2.00"),
        price=Decimal("2.40"),
        seconds_per_pair=30.0,
    )
    assert cost.hourly == Decimal("18.46")
    assert hourly_pay(Decimal("0.01"), 1, 3.2) == Decimal("11.25")
    assert hourly_pay(Decimal("0.05"), 1, 32.0) == Decimal("5.63"), "5.625 goes up"


def test_hourly_pay_comes_from_the_time_of_a_comparison() -> None:
    assert hourly_pay(Decimal("2.00"), 13, 30.0) == Decimal("18.46")


@given(st.integers(1, 5000), st.integers(1, 30), st.data())
def test_a_prorated_reward_never_pays_less_than_the_share(
    cents: int, slots: int, data: st.DataObject
) -> None:
    done = data.draw(st.integers(0, slots))
    reward = Decimal(cents) / 100
    paid = prorated(reward, done, slots)
    assert reward * done / slots <= paid < reward * done / slots + Decimal("0.01")
