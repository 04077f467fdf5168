"""Who is owed what, and the very calls that pay it, seen by a marketplace that only writes them down."""

import re
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path

import pytest

from prefjudge.crowd.mturk.crowd import Fees
from prefjudge.crowd.protocol import RefusedError
from prefjudge.crowd.tasks import SubmissionState
from prefjudge.errors import CrowdError
from prefjudge.field import settle as settlement
from prefjudge.field.crowd import open_crowd, read_prices
from prefjudge.field.settle import GIVEN_UP, Act, find_dues, pay_dues, release_unused, withdraw
from prefjudge.pages.hit import languages
from prefjudge.steps.init import init
from prefjudge.steps.publish import estimate_cost
from prefjudge.study.hits import StudyHit, StudySlot
from prefjudge.study.money import Intent, committed_cents, intend, settle
from prefjudge.study.people import AS_GUESSED
from prefjudge.study.store import Study, load_deleted

TEXT = "You stopped early, as you may, and made 1 of 3 comparisons: paid $0.67 by a bonus."
SPOILT = "unusable answer: consent was not given"


@dataclass
class Ledgered:
    """A marketplace that knows what was decided, and keeps the calls."""

    decisions: dict[str, str] = field(default_factory=dict)
    paid: set[tuple[str, str]] = field(default_factory=set)
    refused: tuple[str, ...] = ()
    killed: bool = False
    calls: list[tuple[object, ...]] = field(default_factory=list)
    told: dict[str, str] = field(default_factory=dict)
    prices: Fees = field(default_factory=Fees)

    def approve(self, submission_id: str, message: str = "") -> None:
        self._decide("approve", submission_id)
        self.told[submission_id] = message

    def reject(self, submission_id: str, reason: str) -> None:
        self._decide("reject", submission_id, reason)

    def release(self, submission_id: str, reason: str) -> None:
        self._decide("release", submission_id, reason)

    def _decide(self, *call: str) -> None:
        if call[1] in self.refused:
            raise RefusedError(f"{call[1]} is gone")
        self.calls.append(call)

    def bonus(self, worker_id: str, submission_id: str, amount: Decimal, reason: str, *, token: str) -> None:
        self.calls.append(("bonus", worker_id, submission_id, amount, reason))
        self.paid.add((submission_id, reason))
        if self.killed:
            raise KeyboardInterrupt

    def delete(self, task_id: str) -> None:
        self._decide("delete", task_id)

    def state(self, submission_id: str) -> SubmissionState:
        return SubmissionState(self.decisions.get(submission_id, "submitted"))

    def has_bonus(self, submission_id: str, reason: str) -> bool:
        return (submission_id, reason) in self.paid


@pytest.fixture
def study(tmp_path: Path) -> Study:
    """A study with one HIT of three comparisons: done, broken off after one, and spoilt."""
    init(tmp_path / "study")
    made = Study(tmp_path / "study")
    with made.transaction() as db:
        db.execute("INSERT INTO hits VALUES ('h', 1, 1, 'sandbox', 3, 200, '[]', 'H', 'published', 1.0)")
        for slot in range(3):
            db.execute(
                "INSERT INTO slots VALUES ('h', :slot, :name, NULL, NULL, 'x', 'y')",
                slot=slot,
                name=f"s{slot}",
            )
        for name, collected, answered, verdict in (
            ("done", 2.0, 3, "kept"),
            ("early", 1.0, 1, "kept"),
            ("spoilt", 3.0, 0, SPOILT),
        ):
            db.execute(
                "INSERT INTO assignments VALUES (:name, 'h', :worker, NULL, NULL, :collected, '{}', 0, "
                ":answered, 0, 0, 9.0, :verdict, NULL, NULL)",
                name=name, worker=f"w-{name}", collected=collected, answered=answered, verdict=verdict,
            )  # fmt: skip
    return made


def decisions(study: Study) -> dict[str, str | None]:
    with study.transaction(write=False) as db:
        return dict(db.execute("SELECT assignment_id, decision FROM assignments"))


def committed(study: Study) -> int:
    with study.transaction(write=False) as db:
        return committed_cents(db)


def outcomes(study: Study) -> dict[str, str | None]:
    with study.transaction(write=False) as db:
        return dict(db.execute("SELECT operation, outcome FROM intents WHERE settled > 0 OR outcome IS NULL"))


def test_each_is_owed_what_was_done(study: Study) -> None:
    dues = find_dues(study, "sandbox")
    assert [(due.assignment_id, due.worker_id, due.act, due.amount, due.reward, due.why) for due in dues] == [
        ("early", "w-early", Act.PRORATE, Decimal("0.67"), Decimal("2.00"), "made 1 of 3"),
        ("done", "w-done", Act.APPROVE, Decimal("2.00"), Decimal("2.00"), "made all comparisons"),
        ("spoilt", "w-spoilt", Act.DECIDE, Decimal("0.00"), Decimal("2.00"), SPOILT),
    ]  # fmt: skip
    assert {(due.hit_key, due.hit_assignments) for due in dues} == {("h", 3)}
    assert find_dues(study, "live") == ()


def test_the_done_are_approved_and_who_stopped_early_has_a_bonus_in_place_of_the_reward(study: Study) -> None:
    crowd = Ledgered()
    pay_dues(study, crowd, find_dues(study, "sandbox"))  # type: ignore[arg-type]
    assert crowd.calls == [
        ("bonus", "w-early", "early", Decimal("0.67"), TEXT),
        ("release", "early", TEXT),
        ("approve", "done"),
    ]
    assert decisions(study) == {"early": "prorated: $0.67 by bonus", "done": "approved", "spoilt": None}
    assert outcomes(study) == {"SendBonus": "paid", "RejectAssignment": "released"}
    # The bonus and its fee, and the reward and its fee that came back: 67 + 13 - 240.
    assert committed(study) == -160
    pay_dues(study, crowd, find_dues(study, "sandbox"))  # type: ignore[arg-type]
    assert len(crowd.calls) == 3, "a repeat pays nothing twice"


def test_a_bonus_that_the_marketplace_knows_is_not_paid_again(study: Study) -> None:
    crowd = Ledgered(decisions={"early": "rejected"}, paid={("early", TEXT)})
    pay_dues(study, crowd, find_dues(study, "sandbox")[:1])  # type: ignore[arg-type]
    assert crowd.calls == [("release", "early", TEXT)]
    assert decisions(study)["early"] == "prorated: $0.67 by bonus"


def later(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the pay of everybody wait, as while their gold pairs leave room for doubt."""
    monkeypatch.setattr(
        settlement, "waits_until", lambda *given: {one.assignment_id: 4e9 for one in given[2]}
    )


def acts(study: Study) -> dict[str, tuple[Act, Decimal]]:
    return {due.assignment_id: (due.act, due.amount) for due in find_dues(study, "sandbox")}


def test_a_bonus_that_was_begun_is_paid_to_the_end_whatever_is_known_of_its_worker_meanwhile(
    study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    crowd = Ledgered(killed=True)
    with pytest.raises(KeyboardInterrupt):
        pay_dues(study, crowd, find_dues(study, "sandbox"))  # type: ignore[arg-type]
    later(monkeypatch)
    assert acts(study)["early"] == (Act.PRORATE, Decimal("0.67"))
    assert acts(study)["done"][0] is Act.WAIT
    with study.transaction() as db:
        for name in ("early", "done"):
            db.execute(
                "INSERT INTO barred (target, worker_id, reason, barred) VALUES ('sandbox', :worker, :why, 0)",
                worker=f"w-{name}", why=f"missed 3 of 3 gold pairs, {AS_GUESSED}",
            )  # fmt: skip
    assert acts(study)["early"] == (Act.PRORATE, Decimal("0.67"))
    assert acts(study)["done"][0] is Act.DECIDE
    pay_dues(study, crowd, find_dues(study, "sandbox"))  # type: ignore[arg-type]
    assert crowd.calls == [("bonus", "w-early", "early", Decimal("0.67"), TEXT), ("release", "early", TEXT)]
    assert outcomes(study) == {"SendBonus": "paid", "RejectAssignment": "released"}


def test_whom_a_person_keeps_is_paid_now_whatever_speaks_against_it(
    study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    later(monkeypatch)
    assert {name: act for name, (act, _) in acts(study).items()} == {
        "early": Act.WAIT, "done": Act.WAIT, "spoilt": Act.DECIDE,
    }  # fmt: skip
    config = study.folder / "study.toml"
    kept = "".join(f'keep.{study.opaque("worker", f"w-{name}")} = "asked"\n' for name in ("early", "spoilt"))
    config.write_text(config.read_text().replace("[screening]\n", f"[screening]\n{kept}"))
    assert acts(Study(study.folder)) == {
        "early": (Act.PRORATE, Decimal("0.67")),
        "done": (Act.WAIT, Decimal("2.00")),
        "spoilt": (Act.APPROVE, Decimal("2.00")),
    }


def test_who_did_all_is_told_whether_any_of_it_counts(study: Study) -> None:
    with study.transaction() as db:
        db.execute("UPDATE assignments SET answered = 3 WHERE assignment_id = 'early'")
        db.execute("INSERT INTO pairs VALUES (1, 'q', 'x', 'y', 2)")
        for name in ("done", "early"):
            db.execute(
                "INSERT INTO judgments (pair_id, query_id, left_id, right_id, choice, strength, "
                "milliseconds, worker_id, judge, phase, assignment_id) "
                "VALUES (1, 'q', 'x', 'y', 1, 1, 9, :worker, 'person', 'batch 1', :name)",
                worker=f"w-{name}", name=name,
            )  # fmt: skip
        db.execute(
            "INSERT INTO drops SELECT judgment_id, 'missed a gold pair', 0 FROM judgments "
            "WHERE assignment_id = 'early'"
        )
    crowd, words = Ledgered(), languages()["en"]
    pay_dues(study, crowd, find_dues(study, "sandbox"))  # type: ignore[arg-type]
    assert crowd.told == {"done": words["counted"], "early": words["not_counted"]}


@pytest.mark.parametrize("decision", ["approved", "rejected"])
def test_what_was_decided_at_the_marketplace_is_not_paid_by_a_bonus(study: Study, decision: str) -> None:
    crowd = Ledgered(decisions={"early": decision}, paid={("done", TEXT), ("early", "for another reason")})
    pay_dues(study, crowd, find_dues(study, "sandbox")[:1])  # type: ignore[arg-type]
    assert crowd.calls == []
    assert decisions(study)["early"] == decision
    assert committed(study) == 0


def test_a_payment_that_is_refused_is_told_and_the_others_are_made(study: Study) -> None:
    crowd = Ledgered(refused=("done",))
    with pytest.raises(CrowdError) as told:
        pay_dues(study, crowd, find_dues(study, "sandbox")[::-1])  # type: ignore[arg-type]
    assert told.value.message == "1 assignment cannot be paid: done is gone"
    assert told.value.hint == "All others are paid. Fix the cause, then pay again."
    assert decisions(study) == {"early": "prorated: $0.67 by bonus", "done": None, "spoilt": None}


def test_what_is_withdrawn_is_rejected_with_its_reason_and_comes_back(study: Study) -> None:
    crowd, due = Ledgered(), find_dues(study, "sandbox")[2]
    withdraw(study, crowd, due, "no consent")  # type: ignore[arg-type]
    assert crowd.calls == [("reject", "spoilt", "no consent")]
    assert outcomes(study) == {"RejectAssignment": "rejected"}
    assert "spoilt" not in {left.assignment_id for left in find_dues(study, "sandbox")}
    assert committed(study) == -240


def close_hit(study: Study, *, assignments: int, decided: bool = True) -> None:
    """Close the HIT, which was published for so many assignments; three of them came."""
    with study.transaction() as db:
        db.execute("UPDATE hits SET status = 'closed', assignments = :n", n=assignments)
        created = Intent(
            token="t", operation="CreateHIT", target="sandbox", subject="h", cents=assignments * 240,
            intended=1.0,
        )  # fmt: skip
        intend(db, created, budget=None)
        settle(db, "t", "H", 1.0)
        if decided:
            db.execute("UPDATE assignments SET decision = 'approved'")


def test_what_a_hit_holds_for_answers_that_never_came_is_given_back_once(study: Study) -> None:
    crowd = Ledgered(refused=("H",))
    close_hit(study, assignments=5)
    with pytest.raises(RefusedError) as refused:
        release_unused(study, crowd, "sandbox")  # type: ignore[arg-type]
    assert f"restored from a backup, run: prefjudge store recover {study.folder};" in refused.value.hint
    assert load_deleted(study.folder) == ("H",), "noted before it is asked for"
    assert (committed(study), outcomes(study)) == (1200, {"CreateHIT": "H"})
    crowd = Ledgered()
    for _ in range(2):
        release_unused(study, crowd, "live")  # type: ignore[arg-type]
        release_unused(study, crowd, "sandbox")  # type: ignore[arg-type]
    assert crowd.calls == [("delete", "H")]
    assert load_deleted(study.folder) == ("H",)
    assert outcomes(study) == {"CreateHIT": "H", "DeleteHIT": "deleted"}
    assert committed(study) == 3 * 240


@pytest.mark.parametrize(("assignments", "decided"), [(3, True), (5, False)])
def test_nothing_is_given_back_of_a_hit_that_all_answered_or_that_waits_for_a_decision(
    study: Study, assignments: int, decided: bool
) -> None:
    crowd = Ledgered()
    close_hit(study, assignments=assignments, decided=decided)
    release_unused(study, crowd, "sandbox")  # type: ignore[arg-type]
    assert (crowd.calls, load_deleted(study.folder)) == ([], ())
    assert committed(study) == assignments * 240


def test_whose_answer_nobody_can_read_any_more_is_paid_whole(study: Study) -> None:
    with study.transaction() as db:
        db.execute("UPDATE assignments SET verdict = :why", why=GIVEN_UP)
    dues = find_dues(study, "sandbox")
    assert [(due.act, due.amount, due.why) for due in dues] == [(Act.APPROVE, Decimal("2.00"), GIVEN_UP)] * 3


def test_what_hits_will_cost_adds_up_their_assignments_each_at_its_hits_price(study: Study) -> None:
    def hit(pairs: int, gold: int, assignments: int, cents: int) -> StudyHit:
        slots = [
            StudySlot(
                name=str(place), pair_id=place if place < pairs else None,
                gold_id=None if place < pairs else place, tokens=("x", "y"),
            )
            for place in range(pairs + gold)
        ]  # fmt: skip
        return StudyHit(
            hit_key=f"{pairs}", batch=1, number=1, target="sandbox", assignments=assignments,
            reward_cents=cents, layouts=(), slots=tuple(slots),
        )  # fmt: skip

    cost = estimate_cost(study, Fees(), [hit(10, 3, 2, 200), hit(4, 3, 10, 100), hit(1, 0, 1, 200)])
    assert (cost.pairs, cost.hits, cost.assignments) == (15, 3, 13)
    assert cost.rewards == Decimal("16.00")
    # A fifth of the reward; of HITs with ten assignments or more, two fifths.
    assert cost.fees == 2 * Decimal("0.40") + 10 * Decimal("0.40") + Decimal("0.40")
    design = study.config.design
    whole = (design.pairs_per_hit + design.gold_per_hit) * design.seconds_per_pair
    assert cost.hourly == (Decimal("2.00") * 3600 / Decimal(str(whole))).quantize(Decimal("0.01"))
    assert cost.hours == pytest.approx(13 * whole / 3600)
    nothing = estimate_cost(study, Fees(), [])
    assert (nothing.pairs, nothing.hits, nothing.assignments, nothing.hours) == (0, 0, 0, 0)
    assert nothing.hourly is None
    assert str(nothing.rewards) == str(nothing.fees) == "0.00"


def test_a_marketplace_takes_what_the_study_says(study: Study) -> None:
    config = study.folder / "study.toml"
    taking = '[fees]\nrate = "0.10"\n\n'
    config.write_text(re.sub(r"\[fees\][^\[]*", taking, config.read_text()))
    told = Study(study.folder)
    with open_crowd(told) as crowd:
        for prices in (crowd.prices, read_prices(told.config)):
            assert prices.submission(Decimal("2.00"), 9) == Decimal("2.20")
            assert prices.submission(Decimal("2.00"), 10) == Decimal("2.60")
            assert prices.submission(Decimal("0.01"), 1) == Decimal("0.02")
            assert prices.bonus(Decimal("2.00")) == Decimal("2.20")
