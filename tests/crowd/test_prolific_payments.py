"""Visits are paid once at Prolific, whatever comes of the calls."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal

import pytest

from prefjudge.crowd.prolific import client, money
from prefjudge.crowd.prolific.client import Client, LostReplyError, Site, Studies, Visit
from prefjudge.crowd.prolific.money import Payments, split_reason
from prefjudge.crowd.protocol import RefusedError
from prefjudge.errors import CrowdError
from tests.crowd.prolific_platform import PROJECT, TOKEN, WORKSPACE, Platform, Submission, cost, served
from tests.crowd.test_prolific_client import DRAFT, broken

FAULTS = ("status 429", "status 500", "drop before", "drop after")


class Records(Site):
    """The worker site's records of what was paid."""

    def __init__(self, visits: Sequence[Visit]) -> None:
        self.kept = {visit.number: visit for visit in visits}

    def note_paid(self, visit: int) -> bool:
        if self.kept[visit].paid:
            return False
        self.kept[visit] = replace(self.kept[visit], paid=datetime.now(UTC).isoformat())
        return True

    def note_refused(self, visit: int) -> None:
        self.kept[visit] = replace(self.kept[visit], paid="")


@pytest.fixture(scope="module")
def server() -> Iterator[tuple[Platform, str]]:
    with served() as running:
        yield running


class Desk:
    """A study of two places: one visit is whole, the other in part."""

    def __init__(self, platform: Platform, url: str) -> None:
        platform.__init__()  # type: ignore[misc]
        self.platform, self.client = platform, Client(TOKEN, url)
        studies = Studies(self.client, PROJECT, "t")
        study = studies.draft({**DRAFT, "reward": 200, "total_available_places": 2})
        studies.move(study, "PUBLISH")
        now = datetime.now(UTC).isoformat()
        for session in ("whole", "part"):
            platform.submissions[session] = Submission(
                session, f"of {session}", study.study_id, now, "AWAITING REVIEW"
            )
        self.site = Records(
            [
                self._visit(1, "whole", "Approved", "2.00"),
                self._visit(2, "part", "Rejected", "0.80"),
                self._visit(3, "elsewhere", "Approved", "2.00"),
            ]
        )
        self.payments = Payments(client=self.client, site=self.site, study=study, workspace=WORKSPACE)

    def _visit(self, number: int, session: str, state: str, earned: str) -> Visit:
        return Visit(
            number=number, session=session, participant=f"of {session}", worker_id=f"A{number}",
            confirmed=True, wanted=1, assignments={f"3{number}": state}, earned=Decimal(earned), over=True,
            paid="",
        )  # fmt: skip

    def settle(self, *, held: bool = False) -> tuple[str, ...]:
        statuses = {one.id: one.status for one in self.platform.submissions.values()}
        return self.payments.settle(tuple(self.site.kept.values()), statuses, held=held)


@pytest.fixture
def desk(server: tuple[Platform, str], monkeypatch: pytest.MonkeyPatch) -> Desk:
    monkeypatch.setattr(client, "sleep", lambda _: None)
    return Desk(*server)


def test_of_two_processes_that_looked_at_once_one_pays(desk: Desk) -> None:
    desk.platform.delayed = True
    seen = tuple(desk.site.kept.values())
    for _ in range(2):
        desk.payments.settle(seen, {"part": "AWAITING REVIEW"})
    assert [session for session, _ in desk.platform.paid] == ["part"]


def test_each_visit_is_paid_once(desk: Desk) -> None:
    desk.platform.delayed = True
    for _ in range(3):
        desk.settle()
    assert desk.platform.paid == [("part", 80)]
    desk.platform.show_bonuses()
    desk.settle()
    assert desk.platform.spent() == cost(200) + cost(80) == 1_000_000 - desk.platform.total
    whole, part = (desk.platform.submissions[session] for session in ("whole", "part"))
    assert (whole.status, part.status, bool(part.asked_back)) == ("APPROVED", "AWAITING REVIEW", True)
    assert [bool(visit.paid) for visit in desk.site.kept.values()] == [True, True, False]


@pytest.mark.parametrize("kind", FAULTS)
def test_an_approval_without_a_reply_is_repeated(desk: Desk, kind: str) -> None:
    desk.platform.faults.append(_once("POST", "whole/transition/", kind))
    desk.settle()
    assert (desk.platform.submissions["whole"].status, len(desk.platform.paid)) == ("APPROVED", 1)


@pytest.mark.parametrize("kind", FAULTS[1:])
def test_a_bonus_without_a_reply_is_never_asked_for_again(
    desk: Desk, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.platform.faults.append(_once("POST", "/pay/", kind))
    desk.platform.delayed = True
    with pytest.raises(LostReplyError, match="did not say what came of"):
        desk.settle()
    desk.settle()  # it may still show
    asked = [path for _, path, _ in desk.platform.calls if path.endswith("/pay/")]
    monkeypatch.setattr(money, "_PATIENCE", 0.0)
    time.sleep(0.001)
    with pytest.raises(CrowdError, match="1 bonus may not have been paid") as unseen:
        desk.settle()
    assert "pay there what is missing" in unseen.value.hint
    if kind != "drop after":
        desk.platform.pay("part", 80)  # a person, by hand
    desk.platform.show_bonuses()
    desk.settle()
    assert (desk.platform.paid, len(asked)) == ([("part", 80)], 1)


def test_one_that_was_surely_not_paid_is_asked_for_again(desk: Desk) -> None:
    broken(desk.platform)
    desk.platform.faults = [_once("POST", "/pay/", "status 429")]
    desk.settle()
    assert desk.platform.paid == [("part", 80)]


def test_a_bonus_that_the_account_cannot_pay_is_not_recorded(desk: Desk) -> None:
    desk.platform.total = 2 * cost(200)
    with pytest.raises(RefusedError, match=r"holds \$0.00, and a bonus costs \$1.12"):
        desk.settle()
    desk.platform.total += cost(80)
    desk.settle()
    assert desk.platform.paid == [("part", 80)]


def test_what_was_approved_there_has_its_reward_and_gets_nothing_on_top(desk: Desk) -> None:
    for session in ("whole", "part"):
        desk.platform.decide(session, "APPROVED")
    for _ in range(2):
        (said,) = desk.settle()
        assert said.startswith("1 submission done in part was approved on Prolific")
    assert desk.platform.paid == []
    assert desk.platform.spent() == 2 * cost(200)
    assert not any(path.endswith(("/request-return/", "/pay/")) for _, path, _ in desk.platform.calls)


def test_what_was_promised_beyond_the_reward_is_paid_on_top_of_an_approval(desk: Desk) -> None:
    desk.platform.decide("part", "APPROVED")
    desk.site.kept[2] = replace(desk.site.kept[2], earned=Decimal("2.50"))
    desk.settle()
    assert desk.platform.paid == [("part", 50)]


def test_what_was_rejected_there_is_not_paid_before_a_person_says_so_here(desk: Desk) -> None:
    for session in ("whole", "part"):
        desk.platform.decide(session, "REJECTED")
    for _ in range(2):
        (said,) = desk.settle()
        assert "2 submissions with accepted work were rejected on Prolific and are not paid" in said
        assert (desk.platform.paid, desk.platform.spent()) == ([], 0)
    assert desk.settle(held=True) == ()
    assert desk.settle(held=True) == desk.settle() == ()
    assert desk.platform.paid == [("whole", 200), ("part", 80)]


@pytest.mark.parametrize("ending", ["/pay/", "/bonus-payments/"])
def test_a_bonus_that_prolific_refuses_is_unpaid_and_asked_for_again(desk: Desk, ending: str) -> None:
    broken(desk.platform)
    desk.platform.faults = [_once("POST", ending, "status 400")]
    with pytest.raises(RefusedError, match=r"^1 bonus is not paid: .* refused POST .*: fault: a fault"):
        desk.settle()
    assert (desk.platform.paid, desk.site.kept[2].paid) == ([], "")
    assert desk.platform.submissions["whole"].status == "APPROVED", "the others are paid"
    assert desk.settle() == ()
    assert desk.platform.paid == [("part", 80)]


def test_what_is_still_to_come_waits(desk: Desk) -> None:
    desk.platform.submissions["whole"].status = "ACTIVE"
    desk.site.kept[2] = replace(desk.site.kept[2], assignments={"32": "Submitted"})
    desk.settle()
    assert (desk.platform.paid, desk.platform.submissions["whole"].status) == ([], "ACTIVE")


def test_work_that_was_done_is_paid_though_the_submission_is_gone(desk: Desk) -> None:
    desk.platform.submissions["whole"].status = "TIMED-OUT"
    desk.settle()
    assert desk.platform.paid == [("whole", 200), ("part", 80)]


def test_a_rejection_has_a_category_and_a_hundred_characters(desk: Desk) -> None:
    for _ in range(2):
        desk.payments.reject("part", "LOW_EFFORT: every answer was the left one")
    one = desk.platform.submissions["part"]
    assert (one.status, len(one.told)) == ("REJECTED", 1)
    assert one.told[0].startswith("every answer was the left one. A person has looked")
    assert split_reason("copied")[0] == "OTHER"
    assert split_reason("NO_CODE : none") == ("NO_CODE", split_reason("none")[1])
    assert split_reason("FOOLISH: x" * 20) == ("OTHER", "FOOLISH: x" * 20)
    assert len(split_reason("")[1]) >= 100
    for odd, said in (
        ("LOW_EFORT: every answer was left", "not a category"),
        ("LOW_EFFORT: ", "not a reason"),
    ):
        with pytest.raises(RefusedError, match=said):
            split_reason(odd)


def _once(method: str, ending: str, kind: str):  # type: ignore[no-untyped-def]
    left = [kind]

    def fault(called: str, path: str) -> str:
        return left.pop() if left and called == method and path.endswith(ending) else ""

    return fault
