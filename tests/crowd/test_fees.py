from decimal import Decimal

import pytest

from prefjudge.crowd.mturk.crowd import Fees


@pytest.mark.parametrize(
    ("reward", "assignments", "fee"),
    [
        ("2.00", 1, "0.40"),
        ("2.00", 9, "0.40"),
        ("2.00", 10, "0.80"),
        ("2.00", 11, "0.80"),
        ("2.00", 50, "0.80"),
        ("0.01", 50, "0.01"),
        ("0.01", 1, "0.01"),
        ("0.13", 1, "0.03"),
    ],
)
def test_fees_have_a_minimum_and_a_surcharge_from_ten_assignments(
    reward: str, assignments: int, fee: str
) -> None:
    assert Fees().submission(Decimal(reward), assignments) == Decimal(reward) + Decimal(fee)


@pytest.mark.parametrize(
    ("rate", "amount", "fee"),
    [
        ("0.25", "0.50", "0.13"),  # half a cent goes up, to an odd cent too
        ("0.25", "0.58", "0.15"),
        ("1", "0.30", "0.30"),
        ("0.20", "1.00", "0.20"),
        ("0", "1.00", "0.00"),
        ("0.20", "0.00", "0.00"),  # what pays nothing bears no fee, not the least one either
    ],
)
def test_a_fee_is_the_share_rounded_half_up(rate: str, amount: str, fee: str) -> None:
    fees = Fees(rate=Decimal(rate))
    assert (
        fees.bonus(Decimal(amount)) == fees.submission(Decimal(amount), 1) == Decimal(amount) + Decimal(fee)
    )
    assert str(fees.bonus(Decimal(amount)) - Decimal(amount)) == fee


def test_a_bonus_bears_no_surcharge() -> None:
    assert Fees(many_rate=Decimal(1)).bonus(Decimal("2.00")) == Decimal("2.40")


def test_a_house_marketplace_may_take_nothing() -> None:
    free = Fees(rate=Decimal(0))
    assert free.submission(Decimal("2.00"), 12) == Decimal("2.00")
