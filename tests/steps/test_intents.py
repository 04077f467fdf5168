"""What every call that spends commits the study to, and when a verb may spend at all."""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

import pytest

from prefjudge.crowd.mturk.crowd import Fees
from prefjudge.crowd.protocol import RefusedError
from prefjudge.crowd.tasks import ListedTask
from prefjudge.errors import BudgetError, CrowdError, StudyError
from prefjudge.field import pay as intents
from prefjudge.field import pay as spending
from prefjudge.steps.init import init
from prefjudge.study.hits import HitKey, StudyHit
from prefjudge.study.money import Intent, committed_cents, settle
from prefjudge.study.store import BEING_REBUILT, RECOVERING, Study, keep_setting

LIMIT = 64
"""The most characters that a marketplace takes as a request token."""
FEES = Fees()


@pytest.fixture
def study(tmp_path: Path) -> Study:
    init(tmp_path / "study")
    return Study(tmp_path / "study")


def hit(key: str = "h", assignments: int = 3) -> StudyHit:
    return StudyHit(
        hit_key=key, batch=1, number=1, target="sandbox", assignments=assignments, reward_cents=200,
        layouts=(), slots=(),
    )  # fmt: skip


def test_a_call_commits_what_it_spends_with_its_fee_or_gives_back(study: Study) -> None:
    made = {
        "CreateHIT": intents.creation(study, FEES, hit()),
        intents.EXTEND: intents.extension(study, FEES, hit(), 1),
        "SendBonus": intents.bonus(study, FEES, "sandbox", "a", Decimal("0.67")),
        "RejectAssignment": intents.release(study, FEES, "sandbox", "a", Decimal("2.00"), 3),
        "DeleteHIT": intents.deletion(study, "sandbox", "h", -480),
    }
    # The fee is 20 % of a reward or bonus, here 13.4 cents; three assignments are three fees.
    assert {name: intent.cents for name, intent in made.items()} == {
        "CreateHIT": 720, intents.EXTEND: 240, "SendBonus": 80, "RejectAssignment": -240, "DeleteHIT": -480,
    }  # fmt: skip
    assert all(intent.operation == name for name, intent in made.items())
    assert [intent.subject for intent in made.values()] == ["h", "h", "a", "a", "h"]
    for intent in made.values():
        assert (intent.target, intent.outcome) == ("sandbox", None)
        assert abs(intent.intended - time.time()) < 60


def test_an_assignment_of_a_hit_with_ten_costs_the_fee_for_many_also_later(study: Study) -> None:
    assert intents.creation(study, FEES, hit(assignments=9)).cents == 9 * 240
    assert intents.creation(study, FEES, hit(assignments=10)).cents == 10 * 280
    assert intents.extension(study, FEES, hit(assignments=10), 11).cents == 280
    assert intents.release(study, FEES, "sandbox", "a", Decimal("2.00"), 10).cents == -280


def test_the_same_call_has_the_same_token_and_no_other_has(study: Study) -> None:
    def tokens(of: Study) -> list[str]:
        made = (
            *(intents.creation(of, FEES, hit(key)) for key in ("h", "i")),
            *(intents.extension(of, FEES, hit(key), number) for key in ("h", "i") for number in (4, 5)),
            *(intents.bonus(of, FEES, "sandbox", name, Decimal("0.67")) for name in ("h", "a")),
            *(intents.release(of, FEES, "sandbox", name, Decimal("2.00"), 3) for name in ("h", "a")),
            *(intents.deletion(of, "sandbox", key, -240) for key in ("h", "i")),
        )
        return [intent.token for intent in made]

    once = tokens(study)
    assert tokens(Study(study.folder)) == once, "an interrupted verb is repeated by another process"
    assert len(set(once)) == len(once)
    assert all(32 < len(token) <= LIMIT for token in once)
    init(study.folder.parent / "other")
    assert not set(once) & set(tokens(Study(study.folder.parent / "other")))


def test_a_call_that_an_earlier_release_began_has_the_same_token_in_this_one(study: Study) -> None:
    # What was interrupted, and is repeated after prefjudge was updated, must not be paid twice.
    with study.transaction() as db:
        db.execute("DELETE FROM settings WHERE key = 'secret'")
        keep_setting(db, "secret", "5a" * 32)
    tokens = [
        intents.creation(study, FEES, hit()).token,
        intents.extension(study, FEES, hit(), 4).token,
        intents.bonus(study, FEES, "sandbox", "a", Decimal("0.67")).token,
        intents.release(study, FEES, "sandbox", "a", Decimal("2.00"), 3).token,
        intents.deletion(study, "sandbox", "h", -240).token,
    ]
    assert tokens == [
        "3d7e3875dc714c815d4b91587577d464ae7857b87b79c0a0",
        "cbff47888da2114fce89a8d31f90b911f0dbbdca7903e398",
        "e6467d5e727bc8c27bf4ac5b658f54bc2e4f8afb84e08fb4",
        "65e61818b7b52744cd41a8399405d53aeca80cdf1c016652",
        "d40c604666fad5d3f3903bfed5657f9164622c1de5fa0f4f",
    ]


def recorded(study: Study) -> dict[str, str | None]:
    with study.transaction(write=False) as db:
        return dict(db.execute("SELECT token, outcome FROM intents"))


def call(token: str, cents: int = 240) -> Intent:
    return Intent(
        token=token, operation="CreateHIT", target="sandbox", subject="h", cents=cents, intended=time.time()
    )


def test_an_intent_is_recorded_before_its_call_and_stays_until_something_is_known_of_it(
    study: Study,
) -> None:
    with spending.intended(study, call("made"), budget=None) as intent:
        assert recorded(study) == {"made": None}
        assert intent.outcome is None
    with pytest.raises(CrowdError), spending.intended(study, call("broken off"), budget=None):
        raise CrowdError("the line is dead")
    with pytest.raises(RefusedError), spending.intended(study, call("refused"), budget=None):
        raise RefusedError("no such HIT")
    assert recorded(study) == {"made": None, "broken off": None}
    with study.transaction() as db:
        settle(db, "made", "HIT1", time.time())
    with spending.intended(study, call("made", cents=1), budget=None) as known:
        assert (known.outcome, known.cents) == ("HIT1", 240), "what was agreed to first"


def test_an_intent_above_the_budget_is_not_recorded_and_nothing_is_called(study: Study) -> None:
    called = []
    with spending.intended(study, call("first"), budget=Decimal("4.80")):
        called.append("first")
    with spending.intended(study, call("second"), budget=Decimal("4.80")):
        called.append("second")
    with (
        pytest.raises(BudgetError, match=r"commit \$0.01 on top of \$4.80; the budget is \$4.80"),
        spending.intended(study, call("third", cents=1), budget=Decimal("4.80")),
    ):
        called.append("third")
    assert called == ["first", "second"] == list(recorded(study))
    with study.transaction(write=False) as db:
        assert committed_cents(db) == 480


@dataclass
class Shelf:
    """A crowd that lists tasks, the newest first, and is asked for no more than is looked at."""

    keys: list[str]

    def tasks(self) -> Iterator[ListedTask]:
        for number, key in enumerate(self.keys):
            assert key != "never looked at"
            yield ListedTask(task_id=f"HIT{number}", key=key, created=0.0, pay=Decimal(2), deleted=False)


def key(study: Study, number: int, mark: str = "") -> str:
    return str(HitKey(mark=mark or study.mark, batch=1, number=number, assignments=1, opaque="a" * 24))


def keep_hit(study: Study, number: int) -> None:
    with study.transaction() as db:
        db.execute(
            "INSERT INTO hits VALUES (:key, 1, :number, 'sandbox', 1, 200, '[]', 'H', 'published', 1.0)",
            key=key(study, number), number=number,
        )  # fmt: skip


@pytest.mark.parametrize(
    "others", [[], ["somebody's own words"], ["", "other study"]], ids=["alone", "foreign", "another study's"]
)
def test_spending_goes_on_where_the_newest_hit_of_the_study_is_known(study: Study, others: list[str]) -> None:
    keep_hit(study, 2)
    foreign = [key(study, 9, mark="0" * 12) if text == "other study" else text for text in others]
    shelf = Shelf([*foreign, key(study, 2), "never looked at"])
    spending.refuse_unknown_hits(study, shelf, "sandbox")  # type: ignore[arg-type]
    spending.refuse_unknown_hits(study, Shelf(foreign), "sandbox")  # type: ignore[arg-type]


def test_spending_stops_at_a_hit_of_the_study_that_its_store_does_not_know(study: Study) -> None:
    keep_hit(study, 2)
    shelf = Shelf(["somebody's own words", key(study, 3), key(study, 2)])
    with pytest.raises(StudyError) as refused:
        spending.refuse_unknown_hits(study, shelf, "sandbox")  # type: ignore[arg-type]
    assert refused.value.message == (
        "the marketplace has HITs of this study that its store does not know, such as HIT1"
    )
    assert refused.value.hint == f"Run: prefjudge store recover {study.folder}; it asks the marketplace."


def test_a_store_that_is_being_rebuilt_spends_nothing(study: Study) -> None:
    spending.refuse_unwhole(study)
    with study.transaction() as db:
        keep_setting(db, RECOVERING, BEING_REBUILT)
    for refuse in (
        spending.refuse_unwhole,
        lambda of: spending.refuse_unknown_hits(of, Shelf([]), "sandbox"),
    ):  # type: ignore[arg-type]
        with pytest.raises(StudyError) as refused:
            refuse(study)
        assert refused.value.message == (
            f"the study's store {BEING_REBUILT}, and may lack what happened since"
        )
        assert refused.value.hint == f"Run: prefjudge store recover {study.folder}; it asks the marketplace."


def test_verbs_of_a_study_spend_one_after_the_other(study: Study, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spending, "LOCK_TIMEOUT", 0.2)
    with spending.lock_spending(study):
        with pytest.raises(StudyError) as waited, spending.lock_spending(Study(study.folder)):
            pass
        assert waited.value.message == "another verb is publishing, collecting or paying in this study"
        assert waited.value.hint == "Wait until it has ended, then repeat the verb."
    with spending.lock_spending(Study(study.folder)):
        pass
