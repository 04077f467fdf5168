"""A study whose people come from Prolific: published, collected and paid, each once whatever breaks off."""

import json
import os
import re
import shutil
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from decimal import Decimal
from functools import partial
from pathlib import Path
from random import Random
from typing import Any, TypeVar

import pytest
import urllib3
from typer.testing import CliRunner

from prefjudge.cli.app import app
from prefjudge.crowd.mturk import MTurkCrowd
from prefjudge.crowd.prolific import client, money
from prefjudge.crowd.prolific.client import Site
from prefjudge.crowd.prolific.crowd import count_outstanding
from prefjudge.crowd.prolific.standin import PROJECT, TOKEN, WORKSPACE, Platform
from prefjudge.crowd.prolific.standin import Study as There
from prefjudge.crowd.protocol import RefusedError
from prefjudge.crowd.simulated import Truth, read_page
from prefjudge.errors import BudgetError, ConfigError, CrowdError, InputError, StudyError
from prefjudge.field import crowd as watched
from prefjudge.field.crowd import find_running, keep_marketplace_open
from prefjudge.steps.collect import CollectResult, collect
from prefjudge.steps.pay import pay
from prefjudge.steps.publish import publish
from prefjudge.steps.reject import reject
from prefjudge.steps.run import run
from prefjudge.steps.serve import Screener, serve
from prefjudge.steps.status import status
from prefjudge.steps.store.backup import backup, recover
from prefjudge.steps.work import simulated_truth, work
from prefjudge.steps.workers import forget_person
from prefjudge.study.store import LIVE, Study, advised
from tests.crowd.prolific_people import Participant, Visitor, fresh
from tests.crowd.prolific_people import prolific as prolific
from tests.crowd.prolific_words import Words, hold_against_document
from tests.steps.conftest import contents
from tests.steps.test_another_crowd import answer_page
from tests.steps.test_road import TRUTH, kept_votes

T = TypeVar("T")
FOR_MARKETPLACES = 'locales = ["US"]\napproved_more_than = 10000\nmin_approval_rate = 97\n'
TARGET = f"""
[fees]
rate = 0.40

[targets.live]
crowd = "prolific"
live = true
workspace = "{WORKSPACE}"
project = "{PROJECT}"
"""


@pytest.fixture
def platform(prolific: tuple[Platform, str], monkeypatch: pytest.MonkeyPatch) -> Platform:
    fresh(prolific[0])
    monkeypatch.setenv("PROLIFIC_TOKEN", TOKEN)
    monkeypatch.setenv("PROLIFIC_URL", prolific[1])
    monkeypatch.setattr(client, "sleep", lambda _: None)
    return prolific[0]


@pytest.fixture
def study(pooled: Path, platform: Platform, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A study with its pool, whose live target is Prolific, and whose worker site is served."""
    config = pooled / "study.toml"
    assert FOR_MARKETPLACES in config.read_text()
    config.write_text(config.read_text().replace(FOR_MARKETPLACES, "") + TARGET)
    with keep_marketplace_open(Study(pooled), LIVE):
        address = find_running(pooled)
        assert address
        monkeypatch.setenv("PREFJUDGE_PUBLIC_URL", address.local)
        yield pooled


class People:
    """Prolific's participants, who see what the worker site shows them."""

    def __init__(self, study: Path, platform: Platform) -> None:
        address = find_running(study)
        assert address
        self._platform, self._endpoint = platform, address.local
        self._marketplace = MTurkCrowd(address.local)
        self._truth: Truth = simulated_truth(Study(study), TRUTH)
        self._count = 0
        self.outcomes: list[str] = []

    def come(self, habit: str = "honest", then: str = "") -> bool:
        """Let one more come, who may go on in another way; return whether Prolific had a place."""
        self._count += 1
        who = Participant(self._platform, self._endpoint, f"5f{self._count:022x}")
        visitor = who.come()
        if visitor is None:
            return False
        shown = visitor.get("/hits")
        while not shown.get("completion"):
            hit_id = shown["groups"][0]["hit_id"]
            taken = visitor.accept({"HITId": hit_id})["assignment_id"]
            if habit == "late":
                self._platform.turn_into(visitor.session, "TIMED-OUT")
                return True
            visitor.submit(taken, self._answers(hit_id, taken, habit))
            habit, shown = then or habit, visitor.get("/hits")
        if habit == "forgetful":
            self._platform.turn_into(visitor.session, "TIMED-OUT")
        else:
            self.outcomes.append(who.finish(visitor, shown["completion"]))
        return True

    def forge(self, habit: str = "honest", session: str = "0f" * 12) -> None:
        """Let somebody work who has typed a link, or shared one: Prolific does not know who that is."""
        link = next(iter(self._platform.studies.values())).made["external_study_url"]
        visitor = Visitor(self._endpoint, link, "5e" * 12, session)
        hit_id = visitor.get("/hits")["groups"][0]["hit_id"]
        taken = visitor.accept({"HITId": hit_id})["assignment_id"]
        visitor.submit(taken, self._answers(hit_id, taken, habit))

    def _answers(self, hit_id: str, taken: str, habit: str) -> dict[str, str]:
        return answer_page(read_page(self._marketplace.page(hit_id).html), taken, self._truth, habit)


def judge_all(study: Path, people: People) -> CollectResult:
    for _ in range(20):
        while people.come():
            pass
        state = collect(study, live=True)
        if state.finished:
            return state
    raise AssertionError(f"not finished: {state}")


def ledger(study: Path) -> int:
    return int(Decimal(status(study, confidence=False).committed) * 100)


def test_a_study_is_published_collected_and_paid_at_prolific(study: Path, platform: Platform) -> None:
    assert advised(Study(study), "publish") == f"prefjudge publish {study} --live", "its only target"
    with pytest.raises(StudyError, match=r"no target 'sandbox'\nAdd --live"):
        pay(study, held=True)
    with pytest.raises(RefusedError, match="nothing of this study is published"):
        publish(study, stop=True)
    offer = publish(study, live=True, dry_run=True)
    assert (offer.hits, offer.total, offer.account) == (7, 7 * Decimal("2.80"), Decimal("10000.00"))
    assert [call.split(" ")[:2] for call in offer.calls] == [
        ["POST", "/api/v1/participant-groups/"],
        ["POST", "/api/v1/studies/"],
        ["POST", "/api/v1/studies/…/transition/"],
    ]
    draft = json.loads(offer.calls[1].removeprefix("POST /api/v1/studies/ "))
    assert (draft["total_available_places"], draft["estimated_completion_time"]) == (7, 6)
    assert (platform.studies, platform.groups) == ({}, {})
    publish(study, live=True, yes=True)
    assert publish(study, live=True, yes=True).published == 0
    (made,) = platform.studies.values()
    assert (made.status, made.places, made.reward) == ("ACTIVE", 7, 200)
    assert 1_000_000 - platform.available == ledger(study) == 7 * platform.cost(200)
    people = People(study, platform)
    for habit in ("wrong", "early", "late", "forgetful", "odd"):
        assert people.come(habit)
    people.forge()
    first = collect(study, live=True)
    assert (first.collected, first.reasons["missed a gold pair"], len(first.barred)) == (4, 1, 1)
    (group,) = platform.groups.values()
    assert group["members"] == [next(iter(platform.submissions.values())).participant]
    judge_all(study, people)
    (odd,) = pay(study, live=True, dry_run=True).dues
    assert odd.act == "decide"
    reject(study, odd.assignment_id, reason="NO_DATA: nothing in it is an answer", live=True)
    assert pay(study, live=True).dues == ()
    while not collect(study, live=True).finished:
        people.come()
    states = Counter(one.status for one in platform.submissions.values())
    assert (states["REJECTED"], states["TIMED-OUT"]) == (1, 2)
    (rejected,) = [one for one in platform.submissions.values() if one.status == "REJECTED"]
    assert rejected.told[0].startswith("nothing in it is an answer")
    assert len(platform.paid) == 2, "who stopped early, and who forgot the code"
    assert platform.spent() == ledger(study), "the ledger is the account"
    for one in platform.submissions.values():
        if one.asked_back and one.status == "AWAITING REVIEW":
            platform.turn_into(one.id, "RETURNED")
    assert pay(study, live=True).dues == ()
    assert platform.spent() == ledger(study) == 1_000_000 - platform.total
    assert platform.available == platform.total, "nothing is held for places that nobody needs"
    with Study(study).transaction(write=False) as db:
        pairs = [number for (number,) in db.execute("SELECT pair_id FROM pairs")]
    assert kept_votes(study) == dict.fromkeys(pairs, 1)
    assert b"5f00000" not in (study / "study.db").read_bytes(), "no participant's id is in the study's store"
    if document := os.environ.get("PREFJUDGE_PROLIFIC_DOCUMENT"):
        assert isinstance(platform.check, Words)
        assert hold_against_document(platform.check.exchanges, document) > 40


def test_what_a_person_did_at_prolific_stands_and_is_said(study: Path, platform: Platform) -> None:
    publish(study, live=True, yes=True)
    people = People(study, platform)
    for habit in ("early", "early", "honest"):
        assert people.come(habit)
    approved, rejected, honest = platform.submissions
    people.forge(session=honest)
    platform.turn_into(approved, "APPROVED")
    platform.turn_into(rejected, "REJECTED")
    platform.move("STOP")
    for _ in range(2):
        found = collect(study, live=True)
        assert [one.status for one in platform.studies.values()] == ["COMPLETED"]
    assert platform.paid == []
    states = [platform.submissions[one].status for one in (approved, rejected, honest)]
    assert states == ["APPROVED", "REJECTED", "APPROVED"]
    said = " | ".join(found.notices)
    assert status(study, confidence=False).notices == found.notices
    for words in (
        "the study was stopped on Prolific and stays so",
        "1 submission with accepted work was rejected on Prolific, and $0.",
        "1 submission done in part was approved on Prolific",
    ):
        assert words in said
    for words in ("waits to be returned", "without accepted work"):  # of who came by a shared link
        assert words not in said
    paid = pay(study, live=True, held=True)
    assert [session for session, _ in platform.paid] == [rejected]
    assert platform.submissions[rejected].status == "REJECTED", "a bonus pays the part"
    assert not any("of it is not paid" in one for one in paid.notices)
    assert "by a bonus, and the rejection stays" in " | ".join(paid.notices)
    with pytest.raises(StudyError, match="you did not confirm it"):
        publish(study, stop=False)  # what is over goes on with more places alone
    resumed = publish(study, stop=False, yes=True)
    assert resumed.warnings == status(study, confidence=False).notices
    assert resumed.warnings[0].startswith("on Prolific the study is active: 3 of 8 places taken")
    assert publish(study, stop=True).warnings[0].startswith("on Prolific the study is completed")
    typed = CliRunner().invoke(app, ["publish", str(study), "--stop", "--resume"])
    assert (typed.exit_code, platform.study.status) == (2, "COMPLETED")
    with pytest.raises(StudyError, match="takes no places"):
        publish(study, stop=True, places=9)
    before = (platform.study.status, platform.study.places)
    for stop, places in ((True, None), (False, None), (None, 10)):
        would = publish(study, live=True, dry_run=True, stop=stop, places=places)
        assert [call.split(" ")[0] for call in would.calls] == ["PATCH"]
    assert (would.total, would.places) == (2 * Decimal("2.80"), 10)
    assert "has 10 places on Prolific, and the HITs need 8" in would.warnings[0]
    for places, words in (
        (10, "you did not confirm it"),
        (100, r"would hold \$2\d\d.\d\d .* budget is \$100.00"),
    ):
        with pytest.raises((StudyError, BudgetError), match=words):
            publish(study, places=places)
    assert (platform.study.status, platform.study.places) == before, "none of that changes anything"
    steered = publish(study, places=10, confirm=lambda offer: offer.total == would.total)
    assert steered.warnings[0].startswith("on Prolific the study is active: 3 of 10")
    judge_all(study, people)
    with pytest.raises(RefusedError, match="whoever came would find nothing to do"):
        publish(study, places=20, yes=True)


def copy_there(platform: Platform, status: str) -> str:
    """Copy the study on Prolific's pages, and rename the first; return the copy's id."""
    made, new = platform.study.made, platform.new_id()
    platform.studies[new] = There(new, dict(made), status)
    made["internal_name"] = "Relevance, round 1"
    return new


def test_a_study_that_was_renamed_there_before_anybody_looked_is_found_again(
    study: Path, platform: Platform
) -> None:
    publish(study, live=True, yes=True)
    platform.study.made["internal_name"] = "Relevance, round 1"
    people = People(study, platform)
    assert people.come("honest")
    with Study(study).transaction() as db:  # published by a version that remembered nothing
        db.delete("settings", key="crowd:live")
    for _ in range(2):
        publish(study, live=True, yes=True)
        collect(study, live=True)
        assert people.come("early")
    assert len(platform.studies) == 1
    assert platform.spent() == platform.cost(200) + platform.cost(93)


@pytest.mark.parametrize("takes", [False, True])
def test_a_hit_that_nobody_needs_is_closed_and_paid_to_who_holds_it(
    study: Path, platform: Platform, takes: bool
) -> None:
    publish(study, live=True, yes=True)
    (made,), people, config = platform.studies.values(), People(study, platform), study / "study.toml"
    judge_all(study, people)
    with Study(study).transaction(write=False) as db:
        ((worker,),) = db.execute("SELECT max(worker_id) FROM assignments")
    before, drop = config.read_text(), f'drop.{Study(study).opaque("worker", worker)} = "copied"'
    config.write_text(before.replace("[screening]\n", f"[screening]\n{drop}\n"))
    assert (collect(study, live=True).reissued, made.status, made.places) == (1, "ACTIVE", 8)
    who = Participant(platform, people._endpoint, "5c" * 12)
    visitor = who.come()
    assert visitor
    hit_id = visitor.get("/hits")["groups"][0]["hit_id"]
    taken = visitor.accept({"HITId": hit_id})["assignment_id"] if takes else ""
    config.write_text(before)
    found = collect(study, live=True)
    assert (found.closed, found.held, made.status) == ((0, 1, "ACTIVE") if takes else (1, 0, "COMPLETED"))
    if takes:
        visitor.submit(taken, people._answers(hit_id, taken, "honest"))
    assert who.finish(visitor, visitor.get("/hits")["completion"]) == ("submitted" if takes else "none_left")
    found = collect(study, live=True)
    assert (found.finished, found.collected, made.status) == (True, takes, "COMPLETED")
    assert platform.spent() == ledger(study) == (7 + takes) * platform.cost(200)


@pytest.mark.parametrize("status", ["UNPUBLISHED", "ACTIVE"])
def test_a_copy_of_the_study_is_not_taken_for_it(study: Path, platform: Platform, status: str) -> None:
    publish(study, live=True, yes=True)
    people = People(study, platform)
    for habit in ("honest", "early"):
        assert people.come(habit)
    copy = copy_there(platform, status)
    if status == "ACTIVE":
        platform.studies = dict([*platform.studies.items()][::-1])
        assert people.come("honest")  # by the copy
    for _ in range(2):
        said = " | ".join(collect(study, live=True).notices)
        assert platform.studies[copy].status == status
    assert platform.spent() == platform.cost(200) + platform.cost(93)
    words = f"1 submission by which people came here is of another study on Prolific ({copy}): the work waits"
    assert (words in said) == (status == "ACTIVE")
    if status == "ACTIVE":
        last = [*platform.submissions][-1]
        for waits in (True, False):
            (visit,) = [one for one in Site(*site_of(study)).visits() if one.session == last]
            assert visit.waiting == waits
            platform.turn_into(last, "APPROVED")
            assert words not in " | ".join(collect(study, live=True).notices)
        assert visit.assignments == {**dict.fromkeys(visit.assignments, "Returned")}, "it is free for others"


def test_a_draft_that_nobody_published_from_here_stays_one(study: Path, platform: Platform) -> None:
    publish(study, live=True, yes=True)
    platform.study.status = "UNPUBLISHED"
    with Study(study).transaction() as db:
        db.delete("settings", key="crowd:live")
    (said,) = collect(study, live=True).notices
    assert "and only a draft on Prolific is this one's; to publish it: prefjudge publish" in said
    assert platform.study.status == "UNPUBLISHED"
    publish(study, live=True, yes=True)
    assert platform.study.status == "ACTIVE"


def test_a_visit_of_several_hits_is_paid_at_once_and_one_in_part_by_a_bonus(
    study: Path, platform: Platform
) -> None:
    config = study / "study.toml"
    config.write_text(config.read_text() + "hits = 2\n")
    whole = config.read_text()
    config.write_text(whole.replace("budget = 100.00", "budget = 22.39"))
    assert publish(study, live=True, dry_run=True).total == 4 * Decimal("5.60"), "the HITs cost 19.60"
    with pytest.raises(BudgetError, match=r"hold \$22.40 on top of \$0.00"):
        publish(study, live=True, yes=True)
    config.write_text(whole.replace("budget = 100.00", "budget = 22.40"))
    publish(study, live=True, yes=True)
    (made,) = platform.studies.values()
    assert (made.places, made.reward) == (4, 400)
    as_published = config.read_text()
    for before, after, words in (
        ("hits = 2", "hits = 1", "was published with 2: set it back"),
        (WORKSPACE, "0c" * 12, r"answers now\nSet url, or workspace, of \[targets.live\]"),
    ):
        config.write_text(as_published.replace(before, after))
        try:
            said = " | ".join(collect(study, live=True).notices)
        except StudyError as refused:
            said = str(refused)
        assert re.search(words, said)
        assert "reward was changed" not in said
        assert made.places == 4
    config.write_text(as_published)
    with pytest.raises(StudyError, match="is over\nRehearse in another study"):
        work(study)
    people = People(study, platform)
    judge_all(study, people)
    assert people.outcomes == ["submitted"] * 4
    states = Counter(one.status for one in platform.submissions.values())
    assert states == {"APPROVED": 3, "AWAITING REVIEW": 1}
    assert [cents for _, cents in platform.paid] == [200]
    assert platform.spent() == ledger(study) == 7 * platform.cost(200)
    (last,) = [one for one in platform.submissions.values() if one.status == "AWAITING REVIEW"]
    assert "there were no more for you" in last.told[0], "who took the seventh HIT has not stopped"


def half_rejected(study: Path, platform: Platform, *, partly: bool) -> str:
    """Let somebody do two HITs of one visit, and reject the second; return its assignment."""
    config, platform.partly = study / "study.toml", partly
    config.write_text(config.read_text() + "hits = 2\n")
    publish(study, live=True, yes=True)
    assert People(study, platform).come("honest", then="odd")
    collect(study, live=True)
    (odd,) = pay(study, live=True, dry_run=True).dues
    reject(study, odd.assignment_id, reason="NO_DATA: nothing in it is an answer", live=True)
    return str(odd.assignment_id)


@pytest.mark.parametrize("partly", [True, False])
def test_a_rejection_that_is_taken_back_after_a_payment_is_paid_by_one_more_bonus(
    study: Path, platform: Platform, partly: bool
) -> None:
    odd = half_rejected(study, platform, partly=partly)
    pay(study, live=True)
    (one,) = platform.submissions.values()
    assert (one.status == "PARTIALLY APPROVED") == partly
    assert platform.spent() == platform.cost(200)
    platform.break_once("bonus-refused")
    with pytest.raises(CrowdError, match="1 submission is not paid"):
        reject(study, odd, reason="It was our mistake.", overturn=True, live=True)
    assert platform.spent() == platform.cost(200)
    for _ in range(3):
        said = " | ".join(pay(study, live=True).notices)
        assert platform.spent() == 2 * platform.cost(200)
    assert "not seen" not in said
    assert "5.60 USD charged" in said, "both ledgers are equal"
    assert one.status == ("PARTIALLY APPROVED" if partly else "AWAITING REVIEW")


def test_a_refused_bonus_hides_nothing_and_keeps_no_other_from_an_overturn(
    study: Path, platform: Platform
) -> None:
    publish(study, live=True, yes=True)
    people = People(study, platform)
    for habit in ("early", "honest", "odd", "odd"):
        assert people.come(habit)
    platform.faults.append(lambda _, path: "status 400" if path.endswith("/bonus-payments/") else "")
    with pytest.raises(CrowdError, match="1 submission is not paid: ") as refused:
        collect(study, live=True)
    assert r"$2.00 was paid just now" in refused.value.hint
    said = " | ".join(status(study, confidence=False).notices)
    assert "on Prolific the study is active: 4 of" in said
    assert "1 submission is not paid (worker " in said
    odd, lost = pay(study, live=True, dry_run=True, held=True).dues
    reject(study, odd.assignment_id, reason="NO_DATA: nothing in it is an answer", live=True)
    done = reject(study, odd.assignment_id, reason="It was our mistake.", overturn=True, live=True)
    assert done.done == "paid after all"
    for visit in Site(*site_of(study)).visits():
        if visit.due or lost.assignment_id in visit.assignments:
            forget_person(visit.worker_id, study, unpaid=True)
    reject(study, lost.assignment_id, reason="NO_DATA: nothing in it is an answer", live=True)
    said = " | ".join(collect(study, live=True).notices)
    assert "is not paid" not in said, "the debt was given up"
    assert "$0.93 is owed for 1 visit of people who were forgotten, so nobody knows whom to pay" in said


@pytest.mark.parametrize(
    ("paid", "reward", "words"),
    [
        (False, 200, "5.60 USD charged"),
        (False, 50, "1 submission approved in part on Prolific got $0.50, which is $1.50 less than was owed"),
        (True, 20, "5.60 USD charged"),
        (True, 200, "5.60 USD charged"),
    ],
)
def test_a_part_that_a_person_approved_is_for_what_was_earned_before_an_overturn(
    study: Path, platform: Platform, paid: bool, reward: int, words: str
) -> None:
    """Where a bonus had paid that before, it is for what the overturn adds; either way the rest is paid."""
    odd = half_rejected(study, platform, partly=not paid)
    if paid:
        pay(study, live=True)
    (one,) = platform.submissions.values()
    platform.turn_into(one.id, "PARTIALLY APPROVED")
    one.reward = reward
    reject(study, odd, reason="It was our mistake.", overturn=True, live=True)
    assert words in " | ".join(pay(study, live=True).notices)
    rest = [(one.id, 200 - reward * paid)] * (not paid or reward < 200)
    assert platform.paid == [(one.id, 200)] * paid + rest


@pytest.mark.parametrize("by_hand", [0, 150, 200])
def test_an_overturn_says_whether_prolific_has_paid(study: Path, platform: Platform, by_hand: int) -> None:
    publish(study, live=True, yes=True)
    assert People(study, platform).come("odd")
    collect(study, live=True)
    (odd,) = pay(study, live=True, dry_run=True, held=True).dues
    reject(study, odd.assignment_id, reason="NO_DATA: nothing in it is an answer", live=True)
    (one,) = platform.submissions.values()
    if by_hand:
        platform.pay(one.id, by_hand)
    said = reject(study, odd.assignment_id, reason="It was our mistake.", overturn=True, live=True)
    assert (said.done == "paid after all") == (by_hand != 150)
    assert ("rejected on Prolific, and $0.50 of it is not paid" in " | ".join(said.notices)) == (
        by_hand == 150
    )
    before = platform.spent()
    told = pay(study, live=True, dry_run=True, held=True).notices
    assert told[0:1] == (
        "$0.50 would be paid for 1 submission that a person rejected on Prolific, by a bonus, and the "
        "rejection stays",
    ) * (by_hand == 150)
    assert platform.spent() == before
    pay(study, live=True, held=True)
    assert platform.spent() == platform.cost(by_hand) + platform.cost(200 - by_hand)


def test_nobody_is_paid_after_all_who_is_forgotten(study: Path, platform: Platform) -> None:
    odd = half_rejected(study, platform, partly=False)
    assert pay(study, live=True).screen().found == ("no more work accepted; $2.00 paid just now",)
    (visit,) = Site(*site_of(study)).visits()
    with pytest.raises(InputError, match=r"owed \$0.00, a bonus of \$2.00 is not seen yet") as unseen:
        forget_person(visit.worker_id, study)
    assert "--unpaid" in unseen.value.hint
    collect(study, live=True)
    forget_person(visit.worker_id, study)
    before = ledger(study)
    with pytest.raises(RefusedError, match="nobody knows whom to pay") as refused:
        reject(study, odd, reason="It was our mistake.", overturn=True, live=True)
    assert "pay a bonus there" in refused.value.hint
    assert (ledger(study), len(platform.paid)) == (before, 1)


def test_prolific_pays_and_not_the_marketplace_where_its_people_work(study: Path) -> None:
    with pytest.raises(InputError, match="prolific pays the study's workers") as refused:
        serve(study, live=True, port=0)
    assert "without --live" in refused.value.hint


def test_serve_takes_in_the_work_of_people_from_prolific_and_waits_for_a_token(
    study: Path, platform: Platform, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Screener, "_PAUSE", 0.02)
    publish(study, live=True, yes=True)
    assert People(study, platform).come()
    monkeypatch.delenv("PROLIFIC_TOKEN")
    screener = Screener(study)
    screener.start()
    try:
        wait_until(lambda: "PROLIFIC_TOKEN is not set" in screener._said)
        monkeypatch.setenv("PROLIFIC_TOKEN", TOKEN)
        wait_until(lambda: status(study, confidence=False).assignments == 1)
        wait_until(lambda: [one.status for one in platform.submissions.values()] == ["APPROVED"])
    finally:
        screener.stop()


def test_run_has_a_study_judged_by_people_from_prolific(
    study: Path, platform: Platform, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watched, "EVERY", 0.2)
    people, over = People(study, platform), threading.Event()

    def come() -> None:
        while not over.wait(0.05):
            while platform.studies and people.come():
                pass

    outside = threading.Thread(target=come)
    outside.start()
    try:
        ran = run(study, live=True, yes=True, strategy="round-robin:1")
    finally:
        over.set()
        outside.join()
    assert (ran.unfinished, ran.stopped_by) == (0, "nothing left to ask")
    assert platform.spent() == ledger(study) == 7 * platform.cost(200)
    assert [one.status for one in platform.studies.values()] == ["COMPLETED"]


def wait_until(true: Callable[[], bool]) -> None:
    for _ in range(3000):
        if true():
            return
        time.sleep(0.02)
    raise AssertionError("it takes a minute")


class Killed(BaseException):
    """Ends a verb as SIGKILL would: nothing may catch it."""


KINDS = ("kill after", "status 500", "kill before", "reply lost", "status 429", "time-out")


class Wire:
    """Breaks every different call to Prolific and the worker site once, in the ways of `KINDS` by turns."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.broken: dict[tuple[str, str, str], str] = {}
        self.on = True
        send = urllib3.PoolManager.request

        def request(http: urllib3.PoolManager, method: str, url: str, **more: Any) -> Any:
            made = partial(send, http, method, url, **more)
            ours = "/api/v1/" in url or "/admin/panels/" in url
            call = (method, url, str(more.get("body") or more.get("json")))
            if not (self.on and ours) or call in self.broken:
                return made()
            self.broken[call] = KINDS[len(self.broken) % len(KINDS)]
            return self._break(self.broken[call], made)

        monkeypatch.setattr(urllib3.PoolManager, "request", request)

    def _break(self, kind: str, made: Callable[[], Any]) -> Any:
        if kind == "kill before":
            raise Killed
        if kind.startswith("status"):
            return urllib3.HTTPResponse(body=b"{}", status=int(kind.split()[1]))
        if kind == "time-out":
            raise urllib3.exceptions.ReadTimeoutError(None, "/", "no answer")  # type: ignore[arg-type]
        made()
        if kind == "kill after":
            raise Killed
        raise urllib3.exceptions.ProtocolError("the line is dead")

    def until_done(self, verb: Callable[[], T], person: Callable[[], None]) -> T:
        """Start the verb again each time that it is killed or fails; a person pays what it asks for."""
        for _ in range(2000):
            try:
                done = verb()
            except (Killed, CrowdError):
                continue
            if not any("pay by hand what is missing" in said for said in getattr(done, "notices", ())):
                return done
            person()
        raise AssertionError("it breaks off for ever")


def test_a_study_that_is_broken_at_every_call_recruits_and_pays_once(
    study: Path, platform: Platform, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(money, "_PATIENCE", 0.0)
    people, wire = People(study, platform), Wire(monkeypatch)

    def person() -> None:
        """Look at Prolific's pages, and pay there by hand what was set up and is not shown."""
        for rows in platform.bulk.values():
            for session, cents in rows:
                if (session, cents) not in platform.paid:
                    platform.pay(session, cents)

    wire.until_done(lambda: publish(study, live=True, yes=True), person)
    (made,) = [one for one in platform.studies.values() if one.status != "UNPUBLISHED"]
    assert (made.places, 1_000_000 - platform.available) == (7, ledger(study))
    platform.studies = {made.id: made}  # drafts whose replies were lost cost nothing
    for habit in ("early", "wrong", "forgetful", "late"):
        wire.on = False
        assert people.come(habit)
    finished = False
    while not finished:
        wire.on = False
        while people.come():
            pass
        wire.on = True
        finished = wire.until_done(lambda: collect(study, live=True), person).finished
    wire.until_done(lambda: pay(study, live=True), person)
    wire.on = False
    assert len(wire.broken) > 40
    assert set(wire.broken.values()) == set(KINDS)
    assert set(kept_votes(study).values()) == {1}
    assert max(Counter(session for session, _ in platform.paid).values()) == 1
    assert len(platform.paid) == 2
    assert platform.spent() == ledger(study) == 1_000_000 - platform.total


SEEDS = range(int(os.environ.get("PREFJUDGE_PROLIFIC_WALKS", "1")))


@pytest.mark.parametrize("seed", SEEDS)
def test_kills_faults_and_clicks_leave_both_ledgers_equal_or_the_difference_named(
    study: Path, platform: Platform, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    """Between verbs that are broken at every call a person clicks on Prolific's pages; ``-s`` shows a table:
    seed, broken calls, kills, clicks, bonuses asked for, cents by the visits here, there, and the difference.
    """
    monkeypatch.setattr(money, "_PATIENCE", 0.0)
    people, wire, rng = People(study, platform), Wire(monkeypatch), Random(seed)
    platform.partly = bool(seed % 2)
    asked, by_hand, clicks = Counter[str](), Counter[str](), list[str]()
    clicked: dict[str, str] = {}

    def pays(method: str, path: str) -> str:
        if path.endswith("/pay/"):
            asked[path] += 1
        return ""

    def person() -> None:
        for rows in platform.bulk.values():
            for session, cents in rows:
                if (session, cents) not in platform.paid and clicked.get(session) != "REJECTED":
                    platform.pay(session, cents)

    def click() -> None:
        waits = [one.id for one in platform.submissions.values() if one.status == "AWAITING REVIEW"]
        what = rng.choice(["APPROVED", "REJECTED", "RETURNED", "bonus", "STOP", "PAUSE", "places", ""])
        before = platform.spent(), platform.study.status, platform.study.places, dict(clicked)
        if what == "places":
            platform.study.made["total_available_places"] += 1
        elif what in ("STOP", "PAUSE") and platform.study.status == "ACTIVE":
            platform.move(what)
        elif waits and what == "bonus":
            platform.pay(one := rng.choice(waits), 30)
            by_hand[one] += 30
        elif waits and what.endswith("ED"):
            platform.turn_into(one := rng.choice(waits), what)
            clicked[one] = what
            if what == "REJECTED":  # with what was paid before
                by_hand[one] = sum(cents for paid, cents in platform.paid if paid == one)
        if before != (platform.spent(), platform.study.status, platform.study.places, clicked):
            clicks.append(what)

    platform.faults.append(pays)
    wire.until_done(lambda: publish(study, live=True, yes=True), person)
    platform.studies = {one.id: one for one in platform.studies.values() if one.status != "UNPUBLISHED"}
    for habit in rng.sample(["early", "wrong", "forgetful", "late", "early", "honest", "odd", "early"], 8):
        wire.on = False
        if not people.come(habit):
            wire.until_done(lambda: publish(study, stop=False, yes=True), person)
            people.come(habit)
        click()
        if rng.random() < 0.7:
            wire.on = True
            wire.until_done(lambda: collect(study, live=True), person)
    wire.on = True
    wire.until_done(lambda: pay(study, live=True), person)
    wire.on = False
    platform.show_bonuses()
    said = " | ".join(collect(study, live=True).notices)
    assert len(wire.broken) > 20  # more of them where more collections were drawn
    assert max(asked.values(), default=0) <= 1, "no bonus is asked for twice"
    here, held, cost, visits = 0, 0, platform.cost, Site(*site_of(study)).visits()
    for visit in visits:
        one = platform.submissions[visit.session]
        there = one.reward + sum(cents for paid, cents in platform.paid if paid == one.id)
        earned, what = int(visit.earned * 100), clicked.get(one.id, "")
        if what == "APPROVED":
            assert there >= max(earned, 200)
        elif what == "REJECTED" and earned:
            assert there == by_hand[one.id]
            assert visit.paid or "rejected on Prolific" in said
        elif visit.decided and one.status != "ACTIVE":
            # by hand before ours it is a part of it, and after ours on top
            assert max(earned, by_hand[one.id]) <= there <= earned + by_hand[one.id]
        here += cost(earned) * bool(visit.paid)
        held += cost(earned) * (not visit.paid) + cost(200) * visit.to_review
    differ = platform.spent() - here
    named = re.search(r"taken.*?(?:charged .*? by the records here \(([+-][0-9.]+)\)| USD charged)", said)
    assert named
    assert Decimal(named[1] or 0) * 100 == differ, "both ledgers are equal, or the difference is named"
    open_ = sum(count_outstanding(hit) for hit in MTurkCrowd(site_of(study)[0]).hits())
    assert ledger(study) == here + held + open_ * cost(200), (
        "so is the study's own, with what is still to pay"
    )
    print(
        f"| {seed} | {len(wire.broken)} | {sum('kill' in one for one in wire.broken.values())} "
        f"| {', '.join(clicks) or '-'} | {len(asked)} | {here} | {platform.spent()} | {named[1] or 'equal'} |"
    )


def site_of(study: Path) -> tuple[str, str]:
    address = find_running(study)
    assert address
    return address.local, address.admin_token


@pytest.mark.parametrize(
    ("switches", "early", "words", "ledgers"),
    [
        (
            "",
            "returned",
            "the study has 10 places on Prolific, and the HITs need 9",
            "both ledgers are equal; beyond that, 19.60 is kept here for people to come, and 22.40 there",
        ),
        (":partly,publish-lost", "partially approved", "1 partially approved", "both ledgers are equal"),
        (
            ":bonus-by-hand,approved-in-part",
            "partially approved",
            "1 submission approved in part on Prolific got $1.00, and $0.50 by bonuses, which is $",
            "and 1.50 there (partially approved)",
        ),
        (
            ":rejected,pounds",
            "rejected",
            "the account is in GBP, and so are all amounts",
            "and 0.00 there (rejected)",
        ),
        (
            ":bonus-refused, bonus-lost, stopped",
            "returned",
            "the study was stopped on Prolific",
            "both ledgers are equal; beyond that, ",
        ),
    ],
)
def test_a_study_is_rehearsed_at_a_stand_in_and_both_ledgers_are_shown(
    pooled: Path, monkeypatch: pytest.MonkeyPatch, switches: str, early: str, words: str, ledgers: str
) -> None:
    """They agree on what was done so far, but for who was rejected there: nothing is paid without a word."""
    monkeypatch.setattr(client, "sleep", lambda _: None)
    config = pooled / "study.toml"
    config.write_text(config.read_text().replace(FOR_MARKETPLACES, ""))
    before = contents(pooled)
    done = work(pooled, truth=TRUTH, panel=f"prolific{switches}")
    assert contents(pooled) == before, "the study itself is as it was"
    assert words in " | ".join(done.notices)
    typed = [one for one in done.notices if "prefjudge publish " in one]
    assert all(f"prefjudge publish {pooled} --" in one for one in typed)
    assert bool(typed) == ("stopped" in switches)
    assert ledgers in done.notices[-1]
    here, there = zip(*done.ledgers.values(), strict=True)
    assert early in there[0]
    assert (here[1].split(), there[1].split()) == (["2.00", "(approved)"],) * 2
    assert here[2] == "2.00 (approved)" == there[2], "it was rejected, and that was taken back"
    assert (here[3] != there[3]) == bool({"rejected", "approved-in-part"} & {*switches[1:].split(",")})


def test_what_cannot_be_rehearsed_is_refused(pooled: Path) -> None:
    with pytest.raises(ConfigError, match="no stand-in of 'sona'"):
        work(pooled, panel="sona")
    with pytest.raises(InputError, match="not all of that can happen") as wrong:
        work(pooled, panel="prolific:bonus-los")
    assert "bonus-lost" in wrong.value.hint


def test_a_restored_worker_site_decides_again_what_the_study_has_decided(
    pooled: Path, platform: Platform, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Else its own approval would in time top a part up to the whole reward.

    What it has forgotten of money that was under way is not asked for again, and whom it does not know
    hinders nothing.
    """
    config, ahead, day = pooled / "study.toml", 0.0, 86_400.0
    config.write_text(config.read_text().replace(FOR_MARKETPLACES, "") + TARGET)
    copy, store = tmp_path / "copy.db", pooled / "marketplace.db"
    with keep_marketplace_open(Study(pooled), LIVE):
        monkeypatch.setenv("PREFJUDGE_PUBLIC_URL", find_running(pooled).local)  # type: ignore[union-attr]
        publish(pooled, live=True, yes=True)
        people = People(pooled, platform)
        for habit in ("early", "honest", "odd"):
            people.come(habit)
        with watched.open_crowd(Study(pooled), LIVE) as crowd:
            crowd.pulse()  # which tells the worker site whom Prolific knows
        backup(store=f"sqlite:///{store}", file=copy)
        platform.delayed = True
        collect(pooled, live=True)
        (held,) = pay(pooled, live=True, dry_run=True, held=True).dues
        reject(pooled, held.assignment_id, reason="NO_DATA: nothing in it", live=True)
        people.come("wrong")  # whom the copy does not know
        collect(pooled, live=True)
        with Study(pooled).transaction() as db:
            db.execute("DELETE FROM barred")

    def restore() -> None:
        for file in pooled.glob("marketplace.db*"):
            if "token" not in file.name:
                file.unlink()
        shutil.copy(copy, store)

    restore()
    ahead = 60 * day  # long after its own approval is due, which waits for a week
    with keep_marketplace_open(Study(pooled), LIVE, clock=lambda: time.time() + ahead):
        for verb in (pay, collect):
            with pytest.raises(StudyError, match=r"has forgotten .* restored from a backup") as refused:
                verb(pooled, live=True)
            assert f"prefjudge store recover {pooled} --live" in str(refused.value.hint)
        assert "3 decisions of the study were made again" in recover(pooled, live=True).notices[0]
        assert not any("made again" in said for said in recover(pooled, live=True).notices)
        for _ in range(2):
            collect(pooled, live=True)
            said = " | ".join(pay(pooled, live=True).notices)
            assert ("$0.93 for 1 submission waits until 20" in said) == (ahead == 60 * day)
            platform.show_bonuses()
            ahead += 60 * day
        platform.pay(next(iter(platform.submissions)), 40)
        platform.show_bonuses()
        said = " | ".join(pay(pooled, live=True).notices)
        decided = {visit.earned: [*visit.assignments.values()] for visit in Site(*site_of(pooled)).visits()}
    part = Decimal("0.93")
    assert decided == {part: ["Rejected"], Decimal("2.00"): ["Approved"], Decimal("0.00"): ["Rejected"]}
    assert "Prolific has paid $0.40 more in bonuses than the records here hold: perhaps by hand" in said
    assert [cents for _, cents in platform.paid] == [93, 40]
    restore()
    ahead = 60 * day
    with keep_marketplace_open(Study(pooled), LIVE, clock=lambda: time.time() + ahead):
        ahead += 8 * day
        said = " | ".join(recover(pooled, live=True).notices)
        assert "has approved 2 assignments in full that the study rejected or paid in part: what that" in said
