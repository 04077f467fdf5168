"""Visits are paid once at Prolific, whatever comes of the calls."""

import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any, get_args

import pytest

from prefjudge.crowd.prolific import client, money
from prefjudge.crowd.prolific.client import Client, Site, Studies, Visit
from prefjudge.crowd.prolific.money import Payments, split_reason
from prefjudge.crowd.prolific.standin import PROJECT, TOKEN, WORKSPACE, Platform, Submission
from prefjudge.crowd.protocol import CrowdSettings, RefusedError
from tests.crowd.prolific_people import fresh
from tests.crowd.prolific_people import prolific as prolific
from tests.crowd.prolific_words import Status
from tests.crowd.test_prolific_client import DRAFT, broken

FAULTS = ("status 429", "status 500", "drop before", "drop after")


class Records(Site):
    """The worker site's records of what was paid."""

    def __init__(self, visits: Sequence[Visit]) -> None:
        self.kept = {visit.number: visit for visit in visits}

    def note_paid(self, visit: int, by: str, most: Decimal | None = None) -> bool:
        one = self.kept[visit]
        if by in ("seen", "replaced"):
            more = {} if by == "seen" else {"asked": one.asked - one.unseen, "by_hand": True}
            self.kept[visit] = replace(one, unseen=Decimal(0), **more)  # type: ignore[arg-type]
            return True
        if by == "refused":
            *before, last = one.payments
            self.kept[visit] = replace(
                one, paid="", payments=before, asked=one.asked - last, unseen=Decimal(0)
            )
            return True
        cents = one.due if by == "bonus" else min(one.due, Decimal("2.00") - one.approved_for)
        cents = cents if most is None else min(cents, most)
        bonus, paid = cents * (by == "bonus"), datetime.now(UTC).isoformat()
        self.kept[visit] = replace(
            one, paid=paid, payments=(*one.payments, cents), asked=one.asked + bonus,
            unseen=one.unseen + bonus, by_hand=one.by_hand or by == "by hand",
        )  # fmt: skip
        return cents > 0


class Desk:
    """A study of two places: one visit is whole, the other in part."""

    def __init__(
        self, platform: Platform, url: str, *, partly: bool = False, codes: object = DRAFT["completion_codes"]
    ) -> None:
        fresh(platform)
        platform.partly = partly
        self.platform, self.client = platform, Client(TOKEN, url)
        studies = Studies(self.client, PROJECT, "t")
        study = studies.draft(
            {**DRAFT, "reward": 200, "total_available_places": 2, "completion_codes": codes}
        )
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
        self.payments = Payments(
            client=self.client,
            site=self.site,
            study=study,
            workspace=WORKSPACE,
            part_code="PART",
            settings=CrowdSettings(study="mine", pseudonym=lambda worker: f"nobody{worker[-1]}"),
        )

    def _visit(self, number: int, session: str, state: str, earned: str) -> Visit:
        return Visit(
            number=number, session=session, study="s", participant=f"of {session}", worker_id=f"A{number}",
            confirmed=True, wanted=1, assignments={f"3{number}": state}, earned=Decimal(earned), over=True,
            paid="",
        )  # fmt: skip

    def settle(self, *, held: bool = False) -> tuple[str, ...]:
        return self.payments.settle(tuple(self.site.kept.values()), self.listed(), held=held)[1]

    def listed(self) -> dict[str, client.Submission]:
        path = "/api/v1/submissions/"
        each = self.client.each(path, study=self.payments.study.study_id)
        return dict(client.read_submission(self.client, one) for one in each)


@pytest.fixture
def desk(prolific: tuple[Platform, str], monkeypatch: pytest.MonkeyPatch) -> Desk:
    monkeypatch.setattr(client, "sleep", lambda _: None)
    return Desk(*prolific)


def test_of_two_processes_that_looked_at_once_one_pays(desk: Desk) -> None:
    desk.platform.delayed = True
    seen = tuple(desk.site.kept.values())
    for _ in range(2):
        listed = {"part": replace(desk.listed()["part"], status="AWAITING REVIEW")}
        desk.payments.settle(seen, listed)
    assert [session for session, _ in desk.platform.paid] == ["part"]


def test_each_visit_is_paid_once(desk: Desk) -> None:
    desk.platform.delayed = True
    for _ in range(3):
        desk.settle()
    assert desk.platform.paid == [("part", 80)]
    desk.platform.show_bonuses()
    desk.settle()
    assert (
        desk.platform.spent()
        == desk.platform.cost(200) + desk.platform.cost(80)
        == 1_000_000 - desk.platform.total
    )
    whole, part = (desk.platform.submissions[session] for session in ("whole", "part"))
    assert (whole.status, part.status, bool(part.asked_back)) == ("APPROVED", "AWAITING REVIEW", True)
    assert [bool(visit.paid) for visit in desk.site.kept.values()] == [True, True, False]


@pytest.mark.parametrize("kind", FAULTS)
def test_an_approval_without_a_reply_is_repeated(desk: Desk, kind: str) -> None:
    desk.platform.faults.append(_once("POST", "whole/transition/", kind))
    desk.settle()
    assert (desk.platform.submissions["whole"].status, len(desk.platform.paid)) == ("APPROVED", 1)


@pytest.mark.parametrize("kind", [*FAULTS[1:], "cut short"])
def test_a_bonus_without_a_reply_is_never_asked_for_again(
    desk: Desk, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.platform.faults.append(_once("POST", "/pay/", kind))
    desk.platform.delayed = True
    (said, _) = desk.settle()
    assert said == "1 bonus of $0.80 was asked for and not seen yet on Prolific: that takes some minutes"
    assert desk.settle()[0] == said, "it may still show"
    desk.site.ahead = -6 * 3600.0  # by its own clock it was asked for just now
    desk.site.kept[2] = replace(desk.site.kept[2], paid=(datetime.now(UTC) - timedelta(hours=6)).isoformat())
    assert desk.settle()[0] == said
    monkeypatch.setattr(money, "_PATIENCE", 0.0)
    time.sleep(0.001)
    assert " over an hour ago and not seen on Prolific: look at the study's" in desk.settle()[0]
    if kind not in ("drop after", "cut short"):
        desk.platform.pay("part", 80)  # a person, by hand
    desk.platform.show_bonuses()
    (waits,) = desk.settle()
    day = datetime.fromtimestamp(desk.listed()["part"].approved_on, UTC).date()
    assert waits == (
        "1 submission waits to be returned on Prolific, which otherwise approves it in full: "
        f"worker nobody2 on {day}"
    )
    desk.platform.submissions["part"].completed = (datetime.now(UTC) - timedelta(days=15)).isoformat()
    assert desk.settle()[0].endswith("; 1 within a week: ask for a return by a message there")
    asked = [path for _, path, _ in desk.platform.calls if path.endswith("/pay/")]
    assert (desk.platform.paid, len(asked)) == ([("part", 80)], 1)


def test_one_that_was_surely_not_paid_is_asked_for_again(desk: Desk) -> None:
    broken(desk.platform)
    desk.platform.faults = [_once("POST", "/pay/", "status 429")]
    desk.settle()
    assert desk.platform.paid == [("part", 80)]


def test_a_bonus_that_the_account_cannot_pay_is_not_recorded(desk: Desk) -> None:
    desk.platform.total = 2 * desk.platform.cost(200)
    assert "holds $0.00, and a bonus costs $1.12. Add money to the workspace" in desk.settle()[0]
    desk.platform.total += desk.platform.cost(80)
    desk.settle()
    assert desk.platform.paid == [("part", 80)]


def test_what_was_approved_there_has_its_reward_and_gets_nothing_on_top(desk: Desk) -> None:
    for session in ("whole", "part"):
        desk.platform.turn_into(session, "APPROVED")
    for _ in range(2):
        (said,) = desk.settle()
        assert said.startswith("1 submission done in part was approved on Prolific")
    assert desk.platform.paid == []
    assert desk.platform.spent() == 2 * desk.platform.cost(200)
    assert not any(path.endswith(("/request-return/", "/pay/")) for _, path, _ in desk.platform.calls)


def test_what_was_rejected_there_is_not_paid_before_a_person_says_so_here(desk: Desk) -> None:
    for session in ("whole", "part"):
        desk.platform.turn_into(session, "REJECTED")
    for _ in range(2):
        (said,) = desk.settle()
        assert "2 submissions with accepted work were rejected on Prolific, and $2.80 of it is not" in said
        assert said.endswith("prefjudge pay mine --live --held")
        assert (desk.platform.paid, desk.platform.spent()) == ([], 0)
    visits = tuple(desk.site.kept.values())
    for told in (desk.payments.foresee(visits, desk.listed()), desk.settle(held=True)):
        assert [one.partition(" ")[0] for one in told] == ["$2.00", "$0.80"]
        assert told[0].endswith("for 1 submission that a person rejected on Prolific, by taking that back")
    assert desk.payments.foresee(tuple(desk.site.kept.values()), desk.listed()) == ()
    for held in (True, False):
        assert desk.settle(held=held) == ()
    assert [one.status for one in desk.platform.submissions.values()] == ["APPROVED", "REJECTED"], (
        "what a bonus pays is not approved in full, too"
    )
    assert desk.platform.paid == [("part", 80)]
    assert desk.platform.spent() == desk.platform.cost(200) + desk.platform.cost(80)


@pytest.mark.parametrize("cents", [50, 200])
def test_a_bonus_by_hand_is_a_part_of_what_is_owed_for_a_rejected_submission(desk: Desk, cents: int) -> None:
    del desk.site.kept[2]
    desk.platform.turn_into("whole", "REJECTED")
    desk.platform.pay("whole", cents)
    said = " | ".join(desk.settle())
    assert ("rejected on Prolific, and $1.50 of it is not paid" in said) == (cents == 50)
    assert ("1 submission was paid by a bonus on Prolific's pages" in said) == (cents == 200)
    assert not desk.payments.unreject("whole"), "once taken back, it would be approved in full, too"
    for _ in range(2):
        desk.settle(held=True)
    assert sum(paid for _, paid in desk.platform.paid) == 200
    assert not desk.site.kept[1].due
    assert desk.platform.submissions["whole"].status == "REJECTED"


@pytest.mark.parametrize(
    ("ending", "clicked", "whole"),
    [
        ("/pay/", "part", "TIMED-OUT"),
        ("/bonus-payments/", "whole", "TIMED-OUT"),
        ("/transition/", "whole", "REJECTED"),
    ],
)
def test_what_was_approved_there_since_the_look_gets_no_bonus(
    desk: Desk, ending: str, clicked: str, whole: str
) -> None:
    """While a bonus is paid to somebody else, or set up, or while its rejection is taken back."""
    desk.platform.turn_into("whole", whole)
    desk.platform.turn_into("part", "TIMED-OUT")
    desk.platform.faults.append(_click(desk, ending, clicked))
    for _ in range(2):
        desk.settle(held=True)
    assert desk.platform.submissions[clicked].status == "APPROVED"
    assert clicked not in dict(desk.platform.paid)


def test_what_a_person_approves_while_its_bonus_is_paid_is_named_at_that_look(desk: Desk) -> None:
    """Prolific has no guard against it."""
    desk.platform.faults.append(_click(desk, "/pay/", "part"))
    for _ in range(2):
        said = (
            "1 submission was approved in full on Prolific after bonuses of $0.80: that paid $2.00 more than"
        )
        assert said in " | ".join(desk.settle())


@pytest.mark.parametrize("whole", ["AWAITING REVIEW", "TIMED-OUT", "REJECTED"])
def test_for_an_hour_after_a_restore_nothing_is_paid_that_may_be_under_way(desk: Desk, whole: str) -> None:
    desk.site.restored, desk.site.ahead = time.time() + 600.0 - 3590.0, 600.0
    one = desk.platform.submissions["whole"]
    one.asked_back, one.status = one.started, whole
    for held in (False, True):
        said = " | ".join(desk.settle(held=held))
        assert ("$2.80 for 2 submissions waits until 20" in said) == (held or whole != "REJECTED")
        assert (
            "UTC, an hour after the worker site's store was restored, copied or moved: what was asked" in said
        )
        assert (desk.platform.paid, one.status) == ([], whole)
    desk.platform.pay("part", 80)  # it is seen now
    assert "$2.00 for 1 submission waits until" in " | ".join(desk.settle(held=True))
    desk.site.restored -= 20.0
    desk.settle(held=True)
    assert desk.platform.spent() == desk.platform.cost(200) + desk.platform.cost(80)


def _click(desk: Desk, ending: str, session: str, status: str = "APPROVED"):  # type: ignore[no-untyped-def]
    """Let a person approve a submission, or do else with it, just before the first call to a path."""
    left = [session]

    def fault(method: str, path: str) -> str:
        if left and method == "POST" and path.endswith(ending):
            desk.platform.turn_into(left.pop(), status)
        return ""

    return fault


@pytest.mark.parametrize("session", ["whole", "part"])
def test_who_comes_back_after_a_bonus_is_asked_to_return_once(desk: Desk, session: str) -> None:
    desk.platform.turn_into(session, "TIMED-OUT")
    desk.settle()
    one = desk.platform.submissions[session]
    one.status = "AWAITING REVIEW"
    for _ in range(2):
        assert f"worker nobody{1 + (session == 'part')}" in " | ".join(desk.settle())
    (told,) = one.told
    assert told.startswith("What you did is paid by a bonus" if session == "whole" else "Not all tasks")


def test_what_a_rejection_taken_back_adds_is_one_more_bonus_whatever_a_person_clicked(desk: Desk) -> None:
    """A part that is approved there is a part of it, and one in full pays twice."""
    desk.settle()
    desk.platform.turn_into("part", "PARTIALLY APPROVED")
    desk.site.kept[2] = replace(desk.site.kept[2], earned=Decimal("2.00"))
    for _ in range(2):
        assert desk.settle() == ()
    assert desk.platform.paid == [("part", 80), ("part", 20)]
    desk.platform.turn_into("part", "APPROVED")
    said = "1 submission was approved in full on Prolific after bonuses of $1.00: that paid $1.00 more than"
    assert desk.settle()[0].startswith(said)


def test_what_was_rejected_there_after_a_bonus_stays_so_when_the_rest_is_paid(desk: Desk) -> None:
    desk.settle()
    desk.platform.turn_into("part", "REJECTED")
    desk.site.kept[2] = replace(desk.site.kept[2], earned=Decimal("2.00"), assignments={"32": "Approved"})
    assert "was rejected on Prolific, and $1.20 of it is not paid" in desk.settle()[0]
    assert "$1.20 is paid now for 1 submission" in desk.settle(held=True)[0]
    assert (desk.platform.submissions["part"].status, desk.platform.paid[1:]) == ("REJECTED", [("part", 120)])


def test_a_part_approved_while_a_bonus_is_unseen_counts(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    desk.platform.delayed = True
    desk.settle()
    desk.platform.turn_into("part", "PARTIALLY APPROVED")
    (said,) = desk.settle()
    assert said.endswith("not seen yet on Prolific: that takes some minutes")
    monkeypatch.setattr(money, "_PATIENCE", 0.0)
    assert desk.settle() == ()
    desk.site.kept[2] = replace(desk.site.kept[2], earned=Decimal("1.00"))
    desk.platform.paid = []  # it never came
    assert "$0.20 was asked for and not seen yet" in " ".join(desk.settle())
    desk.platform.show_bonuses()
    for _ in range(2):
        assert desk.settle() == ()
    assert desk.platform.paid == [("part", 20)], "what the part counts for is not paid again"
    assert not desk.site.kept[2].unseen


def test_of_two_parts_that_were_approved_there_nobody_knows_whose_is_what(desk: Desk) -> None:
    for session in ("whole", "part"):
        desk.platform.turn_into(session, "PARTIALLY APPROVED")
    for _ in range(2):
        assert "2 submissions were approved in part on Prolific's pages: here" in " | ".join(desk.settle())


def test_no_second_bonus_is_asked_for_before_the_first_is_seen(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.platform.delayed = True
    assert desk.settle()[0].startswith("1 bonus of $0.80 was asked for and not seen yet"), (
        "from the first look"
    )
    desk.site.kept[2] = replace(desk.site.kept[2], earned=Decimal("2.00"))
    said = desk.settle()[0]
    assert said.startswith("1 bonus of $0.80 was asked for and not seen yet on Prolific: ")
    assert said.endswith("; $1.20 more is asked for once it is seen")
    monkeypatch.setattr(money, "_PATIENCE", 0.0)
    assert "over an hour ago" in desk.settle()[0]
    desk.platform.show_bonuses()
    desk.settle()
    assert desk.platform.paid == [("part", 80), ("part", 120)]


def test_a_lost_bonus_for_what_was_rejected_since_is_left_to_a_person(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(money, "_PATIENCE", 0.0)
    desk.platform.delayed = True
    desk.settle()
    desk.platform.turn_into("part", "REJECTED")
    assert "where a person has rejected the submission since: nothing more is" in desk.settle()[0]
    desk.site.kept[2] = replace(desk.site.kept[2], earned=Decimal("2.00"))
    unseen, rest = desk.settle()[:2]
    assert unseen.startswith(
        "1 bonus of $0.80 was asked for over an hour ago and not seen on Prolific, where"
    )
    assert "was rejected on Prolific, and $1.20 of it is not paid" in rest


@pytest.mark.parametrize("ending", ["/pay/", "/bonus-payments/"])
def test_a_bonus_that_prolific_refuses_is_unpaid_and_asked_for_again(desk: Desk, ending: str) -> None:
    broken(desk.platform)
    desk.platform.faults = [_once("POST", ending, "status 400")]
    said = desk.settle()[0]
    assert re.match(
        r"1 submission is not paid \(worker nobody2\): .* refused POST .*: Error: a fault\. ", said
    )
    assert said.endswith("prefjudge workers mine --forget ID --unpaid (--ids shows the ids)")
    assert (desk.platform.paid, desk.site.kept[2].paid) == ([], "")
    assert desk.platform.submissions["whole"].status == "APPROVED", "the others are paid"
    assert len(desk.settle()) == 1
    assert desk.platform.paid == [("part", 80)]


def test_a_currency_without_hundredths_is_refused_before_a_bonus_is_paid(desk: Desk) -> None:
    desk.platform.currency = "JPY"
    assert "the workspace is in JPY, which has no hundredths" in desk.settle()[0]
    assert desk.platform.paid == []


def test_what_gets_no_answer_keeps_no_other_from_being_paid_unless_nothing_does(desk: Desk) -> None:
    down = ["whole"]
    desk.platform.faults.append(
        lambda method, path: "status 503" if method == "GET" and path.split("/")[-2] in down else ""
    )
    assert "1 submission is not paid (worker nobody1): " in desk.settle()[0]
    assert desk.platform.paid == [("part", 80)]
    sessions = [f"other{number}" for number in range(5)]
    down += sessions
    now, study_id = datetime.now(UTC).isoformat(), desk.payments.study.study_id
    for number, session in enumerate(sessions, 4):
        desk.platform.submissions[session] = Submission(session, "x", study_id, now, "AWAITING REVIEW")
        desk.site.kept[number] = desk._visit(number, session, "Approved", "2.00")
    before = len(desk.platform.calls)
    assert sum("is not paid (worker" in said for said in desk.settle()) == 1 + 3
    assert not any("other3" in path for _, path, _ in desk.platform.calls[before:])


def test_what_is_returned_while_it_is_approved_is_paid_by_a_bonus(desk: Desk) -> None:
    desk.platform.faults.append(_click(desk, "/transition/", "whole", "RETURNED"))
    assert "1 submission done in full was returned on Prolific" in " | ".join(desk.settle())
    assert sorted(desk.platform.paid) == [("part", 80), ("whole", 200)]


def test_what_was_asked_back_and_shows_a_bonus_is_not_approved_on_top(desk: Desk) -> None:
    """As after a restore of the worker site, which has forgotten that bonus."""
    desk.platform.pay("whole", 80)
    one = desk.platform.submissions["whole"]
    one.asked_back = one.started
    for _ in range(2):
        desk.settle()
    assert (one.status, desk.platform.paid[:2]) == ("AWAITING REVIEW", [("whole", 80), ("whole", 120)])
    assert len(desk.platform.paid) == 3


def test_who_got_a_bonus_by_hand_is_asked_to_return_once(desk: Desk) -> None:
    desk.platform.pay("part", 80)
    for _ in range(2):
        desk.settle()
    one = desk.platform.submissions["part"]
    assert (bool(one.asked_back), len(one.told), desk.platform.paid) == (True, 1, [("part", 80)])


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


PAID: dict[str, Any] = {
    "paid": "2026-11-27T10:00:00Z",
    "payments": (Decimal("0.80"),),
    "asked": Decimal("0.80"),
}
OURS: dict[str, dict[str, Any]] = {
    "under way": {"assignments": {"3": "Submitted"}},
    "nothing earned": {"assignments": {"3": "Rejected"}, "earned": Decimal(0)},
    "a part": {"assignments": {"3": "Rejected"}, "earned": Decimal("0.80")},
    "all": {},
    "more": {"earned": Decimal("2.50")},
    "asked for": {"assignments": {"3": "Rejected"}, "earned": Decimal("0.80"), **PAID},
    "more since": PAID,
}


def table_of_states() -> Iterator[tuple[str, str, str]]:
    text = (Path(__file__).parents[2] / "docs" / "prolific.md").read_text(encoding="utf-8")
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if line[:1] == "|"
    ]
    (head,) = [number for number, row in enumerate(rows) if row[0] == "on Prolific"]
    for alike, *acts in rows[head + 2 : head + 8]:
        for status in alike.split(", "):
            yield from ((status, ours, act) for ours, act in zip(rows[head][1:], acts, strict=True))


def test_the_table_of_states_has_all_of_prolifics_and_of_ours() -> None:
    cells = list(table_of_states())
    assert {status for status, _, _ in cells} == {*get_args(Status)}
    assert (len(cells), {ours for _, ours, _ in cells}) == (70, {*OURS})


@pytest.mark.parametrize(("status", "ours", "act"), [*table_of_states()])
def test_what_is_done_in_each_state_is_what_the_page_says(
    desk: Desk, status: str, ours: str, act: str
) -> None:
    """Done three times at the stand-in: the money moves once, and as the act says."""
    visit = replace(desk.site.kept[1], **OURS[ours])
    desk.site.kept = {1: visit}
    one = desk.platform.submissions["whole"]
    desk.platform.turn_into("whole", status)
    if visit.payments:
        desk.platform.pay("whole", 80)
    before = desk.platform.spent()
    assert money.act_on(status, visit, Decimal("2.00")) == act
    for _ in range(3):
        desk.settle()
    paid = desk.platform.spent() - before
    cost = desk.platform.cost
    beyond = {"part": cost(80), "approve": cost(200) + cost(50) * (ours == "more")}
    due = int(visit.due * 100) - 200 * (ours == "more" and "APPROVED" in status)
    due -= 100 * (ours == "more since" and status == "PARTIALLY APPROVED")  # by hand, beside the bonus
    assert paid == (beyond.get(act, 0) if act != "bonus" or ours == "asked for" else cost(due))
    assert desk.settle() == desk.settle(), "whatever was asked for is seen"
    assert not any("not seen" in said for said in desk.settle())
    assert one.status == ("APPROVED" if act == "approve" else status)


@pytest.mark.parametrize(("earned", "status"), [("0.80", "PARTIALLY APPROVED"), ("0.10", "AWAITING REVIEW")])
def test_work_in_part_is_approved_in_part_where_the_workspace_can(
    prolific: tuple[Platform, str], monkeypatch: pytest.MonkeyPatch, earned: str, status: str
) -> None:
    """Less than 8 percent Prolific does not approve: a bonus pays it."""
    monkeypatch.setattr(client, "sleep", lambda _: None)
    desk = Desk(*prolific, partly=True, codes=[*DRAFT["completion_codes"], client.code_of("part", "PART")])
    desk.site.kept[2] = replace(desk.site.kept[2], earned=Decimal(earned))
    for _ in range(3):
        desk.settle()
    part = desk.platform.submissions["part"]
    cents = int(Decimal(earned) * 100)
    assert part.status == status
    assert (part.reward, desk.platform.paid) == (
        (cents, []) if status == "PARTIALLY APPROVED" else (0, [("part", cents)])
    )
    assert desk.platform.spent() == desk.platform.cost(200) + desk.platform.cost(cents)


def _once(method: str, ending: str, kind: str):  # type: ignore[no-untyped-def]
    left = [kind]

    def fault(called: str, path: str) -> str:
        return left.pop() if left and called == method and path.endswith(ending) else ""

    return fault
