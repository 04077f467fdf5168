"""The study's money: what is committed, what a budget refuses, and intents that are asked for twice."""

from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest

from prefjudge.database import Connection
from prefjudge.errors import BudgetError
from prefjudge.steps.init import init
from prefjudge.study.money import (
    Intent,
    committed_cents,
    intend,
    intend_all,
    load_begun_bonuses,
    settle,
    void,
)
from prefjudge.study.store import Study

HIT = Intent(token="hit-1", operation="create", target="sandbox", subject="one", cents=2640, intended=7.5)


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Connection]:
    init(tmp_path / "study")
    with Study(tmp_path / "study").transaction() as opened:
        yield opened


def test_what_is_spent_counts_from_the_intent_on_and_what_comes_back_once_it_is_settled(
    db: Connection,
) -> None:
    assert committed_cents(db) == committed_cents(db, "live") == 0
    assert intend(db, HIT, budget=None) == HIT
    assert committed_cents(db) == committed_cents(db, "sandbox") == 2640
    back = replace(HIT, token="back-1", operation="delete", cents=-240)
    intend(db, back, budget=None)
    assert committed_cents(db) == 2640
    settle(db, "back-1", "deleted", 9.0)
    assert committed_cents(db) == 2400
    live = replace(HIT, token="live-1", target="live", cents=1)
    intend(db, live, budget=Decimal("0.01"))
    assert (committed_cents(db), committed_cents(db, "live")) == (2400, 1)


def test_a_budget_may_be_spent_to_the_cent_and_no_further(db: Connection) -> None:
    intend(db, HIT, budget=Decimal("30"))
    more = replace(HIT, token="hit-2", cents=361)
    with pytest.raises(BudgetError) as refused:
        intend(db, more, budget=Decimal("30"))
    assert refused.value.message == ("create would commit $3.61 on top of $26.40; the budget is $30.00")
    assert refused.value.hint == (
        "Raise `budget` in study.toml and repeat the verb: what is published stays published."
    )
    assert committed_cents(db) == 2640
    assert intend(db, replace(more, cents=360), budget=Decimal("30")).cents == 360
    assert committed_cents(db) == 3000


def test_a_batch_that_is_resumed_commits_what_is_new_up_to_the_first_that_the_budget_refuses(
    db: Connection,
) -> None:
    budget = Decimal("30.00")
    intend(db, HIT, budget=budget)
    second, third, fourth = (
        replace(HIT, token=token, cents=cents) for token, cents in (("2", 350), ("3", 11), ("4", 10))
    )
    known, refused = intend_all(db, [HIT, second, third, fourth], budget=budget)
    assert known == [HIT, second]
    assert refused is not None
    assert refused.message == "create would commit $0.11 on top of $29.90; the budget is $30.00"
    assert committed_cents(db) == 2990
    assert intend_all(db, [HIT, second, fourth], budget=budget) == ([HIT, second, fourth], None)
    assert committed_cents(db) == 3000


def test_a_bonus_is_begun_until_it_has_an_outcome(db: Connection) -> None:
    for token, subject in (("a", "paid"), ("b", "interrupted")):
        intend(db, replace(HIT, token=token, operation="SendBonus", subject=subject), budget=None)
    intend(db, replace(HIT, token="c", subject="no bonus"), budget=None)
    assert load_begun_bonuses(db) == {"paid", "interrupted"}
    settle(db, "a", "paid", 9.0)
    assert load_begun_bonuses(db) == {"interrupted"}


def test_only_an_intent_without_an_outcome_is_taken_back(db: Connection) -> None:
    other = replace(HIT, token="hit-2", cents=100)
    intend(db, HIT, budget=None)
    intend(db, other, budget=None)
    settle(db, "hit-1", "published", 8.0)
    void(db, "hit-1")
    assert committed_cents(db) == 2740
    void(db, "hit-2")
    assert committed_cents(db) == 2640
