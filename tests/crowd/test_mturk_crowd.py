"""The crowd behind Mechanical Turk's API keeps to the contract, at our marketplace, by boto3 over HTTP."""

import threading
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from prefjudge.crowd.mturk import MTurkCrowd, client, crowd
from prefjudge.crowd.protocol import RefusedError
from prefjudge.crowd.tasks import Choice, Eligibility, EntryTest, WorkerGroup
from prefjudge.errors import CrowdError
from prefjudge.marketplace.operator import LOCAL_KEY, issue_key
from prefjudge.marketplace.server import Server, start
from prefjudge.testing import BARRED, SHARP, CrowdContract, task
from tests.marketplace.conftest import stopping as stopping
from tests.marketplace.people import Admin, Clock, Worker, losing_replies


class MarketplaceStage:
    """A marketplace of ours whose clock is a test's, and people who are invited to it."""

    def __init__(self, market: Server, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
        self._market, self._clock, self._patch = market, clock, monkeypatch
        self._admin = Admin(market)
        self._workers: dict[str, Worker] = {}
        self.crowd = self.open_again()

    def open_again(self) -> MTurkCrowd:
        return MTurkCrowd(self._market.endpoint, key=(LOCAL_KEY, self._market.admin_token))

    def join(self, *, locale: str = "US", approved: int = 1000, simulated: bool = False) -> str:
        worker = self._admin.worker(locale=locale, approved=approved, simulated=simulated)
        self._workers[worker.worker_id] = worker
        return worker.worker_id

    def offers(self, worker_id: str, task_id: str) -> bool:
        return any(
            group["hit_id"] == task_id and group["qualified"] and group["available"] > 0
            for group in self._workers[worker_id].groups()
        )

    def take(self, worker_id: str, task_id: str) -> str:
        return str(self._workers[worker_id].accept({"HITId": task_id})["assignment_id"])

    def submit(self, worker_id: str, submission_id: str, fields: Mapping[str, str]) -> None:
        self._workers[worker_id].submit(submission_id, dict(fields))

    def ask_for(self, worker_id: str, name: str) -> None:
        """Let a worker ask for a qualification."""
        worker = self._workers[worker_id]
        (kind,) = [one for one in worker.get("/qualifications")["types"] if one["name"] == name]
        worker.post(f"/qualifications/{kind['qualification_type_id']}")

    def pass_time(self, seconds: float) -> None:
        self._clock.advance(seconds)

    def lose_replies(self) -> AbstractContextManager[None]:
        return losing_replies(self._patch)


class TestMTurkCrowd(CrowdContract):
    @pytest.fixture
    def stage(
        self, tmp_path: Any, stopping: list[threading.Thread], monkeypatch: pytest.MonkeyPatch
    ) -> Iterator[MarketplaceStage]:
        clock = Clock()
        monkeypatch.setattr(client, "MOST_LISTED", 3)  # so that every list has pages
        monkeypatch.setattr(crowd, "now", lambda: datetime.fromtimestamp(clock(), UTC))
        market = start(f"sqlite:///{tmp_path}/market.db", clock=clock)
        yield MarketplaceStage(market, clock, monkeypatch)
        stopping.append(threading.Thread(target=market.stop))
        stopping[-1].start()

    def test_where_taken_hits_are_not_counted_a_worker_has_what_is_left(
        self, stage: MarketplaceStage, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A server that knows no more than the API: the score is what the worker may still take."""
        monkeypatch.setattr(crowd, "knows_comparator", lambda *_: False)
        monkeypatch.setattr(crowd, "PULSE", "x-no-such-header")
        foreign = stage.open_again()
        limited = Eligibility(limited_by=BARRED)
        first, second = (foreign.publish(task(key, eligibility=limited)) for key in ("task-1", "task-2"))
        foreign.admit(BARRED, 2)  # nobody counts them there
        worker = stage.join()
        assert not stage.offers(worker, first), "nobody has the qualification before asking for it"
        stage.ask_for(worker, BARRED.name)
        before = foreign.pulse()
        assert foreign.pulse() == before
        stage.submit(worker, stage.take(worker, first), {"choice": "a"})
        assert foreign.pulse() != before, "the counts of the listed HITs tell"
        foreign.allow(worker, BARRED, 1, submitted=1)
        assert not stage.offers(worker, second)
        foreign.allow(worker, BARRED, 3, submitted=1)
        assert stage.offers(worker, second)

    def test_nobody_new_takes_a_task_once_so_many_have_as_were_let_in(self, stage: MarketplaceStage) -> None:
        limited = Eligibility(limited_by=BARRED)
        tasks = [stage.crowd.publish(task(f"task-{n}", eligibility=limited)) for n in range(3)]
        stage.crowd.admit(BARRED, 2)
        first, second, third = (stage.join() for _ in range(3))
        stage.take(first, tasks[0])
        stage.take(second, tasks[1])
        stage.crowd.allow(second, BARRED, 2, submitted=0)
        assert stage.offers(second, tasks[2]), "who has begun goes on"
        assert not stage.offers(third, tasks[2])
        for more in (3, 2, None):
            stage.open_again().admit(BARRED, more)
            assert stage.offers(third, tasks[2]) is (more != 2)
        stage.crowd.admit(BARRED, 2)
        stage.pass_time(1801)
        assert stage.offers(third, tasks[2]), "who holds a HIT for long keeps nobody out"

    def test_what_the_account_cannot_pay_is_refused(self, tmp_path: Path) -> None:  # type: ignore[override]
        """A sandbox has play money without end; live, an account holds what was paid in."""
        store = f"sqlite:///{tmp_path}/live.db"
        key = issue_key(store, "lab", sandbox=False)
        with start(store, sandbox=False) as market:
            live = MTurkCrowd(market.endpoint, key=(key.access_key, key.secret_key))
            assert live.identity().play_money is False
            paid_in = {"requester_id": key.requester_id, "amount": "2.39"}
            Admin(market).call("POST", "/admin/funds", paid_in, status=201)
            with pytest.raises(RefusedError, match="InsufficientFunds"):
                live.publish(task())
            assert (live.balance(), list(live.tasks())) == (Decimal("2.39"), [])

    def test_many_hits_are_looked_at_by_the_page(
        self, stage: MarketplaceStage, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        task_ids = [stage.crowd.publish(task(f"task-{number}")) for number in range(16)]
        worker = stage.join()
        stage.submit(worker, stage.take(worker, task_ids[0]), {"choice": "a"})
        called: list[str] = []
        call = client.Client.call

        def noted(self: client.Client, operation: str, **given: Any) -> dict[str, Any]:
            called.append(operation)
            return call(self, operation, **given)

        monkeypatch.setattr(client.Client, "call", noted)
        monkeypatch.setattr(crowd, "_WORTH_A_PAGE", 3)  # as its pages are of three here
        (first, *others) = stage.crowd.fetch_each(task_ids[:9])
        assert not isinstance(first, RefusedError)
        assert [sent.worker_id for sent in first.submissions] == [worker]
        assert called.count("list_hits") == 1, "a page without any that is wanted is the last"
        monkeypatch.setattr(crowd, "_WORTH_A_PAGE", 1)
        called.clear()
        assert list(stage.crowd.fetch_each(task_ids[4:])) == others[3:8] + list(
            stage.crowd.fetch_each(task_ids[9:])
        )
        assert "get_hit" not in called
        assert "list_assignments_for_hit" not in called, "nothing was submitted to them"


CHOICES = (
    Choice(key="k1", text=f"what is {SHARP}", options=(f"good {SHARP}", "\n  bad\n\n\x00line two"), right=0),
    Choice(key="k2", text="שאלה", options=("לא", "כן"), right=1),
)
ENTRY = EntryTest(
    group=WorkerGroup(name="practice of study 1", notice="Half must be right."),
    intro="Read <both>.", choices=CHOICES, min_rate=50, work_seconds=600, retry_seconds=3600,
)  # fmt: skip


class TestEntryTests:
    """Workers take a test before their first task; a requester's boto3 script could have made it."""

    stage = TestMTurkCrowd.stage

    @staticmethod
    def sit(worker: Worker, path: str, *options: str, begin: bool = True) -> int:
        """Take the test, and return the value that it gives."""
        if begin:
            worker.post(path)
        answers = {choice.key: option for choice, option in zip(CHOICES, options, strict=True)}
        return int(worker.post(path, {"hand_in": "1", **answers})["value"])

    def test_who_fails_waits_and_who_passes_works(self, stage: MarketplaceStage) -> None:
        who = Eligibility(tested_by=ENTRY)
        task_id = stage.crowd.publish(task(eligibility=who))
        worker_id = stage.join()
        worker = stage._workers[worker_id]
        assert not stage.offers(worker_id, task_id)
        (group,) = worker.groups()
        (need,) = group["missing"]
        assert (need["name"], need["requirement"]) == ("practice of study 1", "is at least 50")
        path = f"/qualifications/{need['qualification_type_id']}"
        assert self.sit(worker, path, "2", "1") == 0
        assert not stage.offers(worker_id, task_id)
        assert worker.post(path, status=409)["code"] == "retry_later"
        shown = worker.get(path)["type"]
        assert (shown["value"], shown["again"], shown["retry_after"] is not None) == (0, True, True)
        stage.pass_time(3601)
        assert worker.get(path)["type"]["retry_after"] is None
        worker.post(path)
        html = {**worker.headers, "Accept": "text/html"}
        page = worker.http.request("GET", worker.endpoint + path, headers=html).data.decode()
        assert "Submit the test" in page, "who has a low value takes it again"
        texts = [[one["content"]["text"] for one in question["answer"]["options"]]
                 for question in worker.get(path)["form"]["questions"]]  # fmt: skip
        assert texts == [[f"good {SHARP}", "bad\n\nline two"], ["לא", "כן"]]
        assert page.count(' dir="auto">') >= 7, "the intro, each question, and each option"
        assert self.sit(worker, path, "1", "1") == 50
        stage.submit(worker_id, stage.take(worker_id, task_id), {"choice": "a"})

    def test_a_test_is_made_once_and_follows_what_it_is_made_of(self, stage: MarketplaceStage) -> None:
        calls: list[str] = []
        made = client.Client.call

        def counted(self: client.Client, operation: str, **parameters: Any) -> dict[str, Any]:
            reply = made(self, operation, **parameters)
            calls.append(operation)
            if operation == "create_qualification_type" and calls.count(operation) == 1:
                raise CrowdError("the line is dead")
            return reply

        stage._patch.setattr(client.Client, "call", counted)
        with pytest.raises(CrowdError, match="dead"):
            stage.crowd.publish(task(eligibility=Eligibility(tested_by=ENTRY)))
        for key in ("task-1", "task-2"):
            stage.open_again().publish(task(key, eligibility=Eligibility(tested_by=ENTRY)))
        assert calls.count("create_qualification_type") == 1
        assert "update_qualification_type" not in calls
        easier = replace(ENTRY, choices=CHOICES[:1])
        for _ in range(2):
            stage.open_again().publish(task("task-3", eligibility=Eligibility(tested_by=easier)))
        assert calls.count("create_qualification_type") == calls.count("update_qualification_type") == 1
        worker_id = stage.join()
        need = stage._workers[worker_id].groups()[0]["missing"][0]
        path = f"/qualifications/{need['qualification_type_id']}"
        stage._workers[worker_id].post(path)
        assert len(stage._workers[worker_id].get(path)["form"]["questions"]) == 1

    def test_a_test_is_taken_off_the_list_once_and_offered_again(self, stage: MarketplaceStage) -> None:
        stage.crowd.publish(task(eligibility=Eligibility(tested_by=ENTRY)))
        begun, newcomer = (stage._workers[stage.join()] for _ in range(2))
        path = f"/qualifications/{begun.groups()[0]['missing'][0]['qualification_type_id']}"
        begun.post(path)
        calls: list[str] = []
        made = client.Client.call

        def noted(self: client.Client, operation: str, **parameters: Any) -> dict[str, Any]:
            calls.append(operation)
            return made(self, operation, **parameters)

        stage._patch.setattr(client.Client, "call", noted)
        for ended in (stage.crowd, stage.crowd, stage.open_again()):
            ended.end_tests("study 1")
            ended.end_tests("another study")
        assert calls.count("update_qualification_type") == 1
        names = [kind["name"] for kind in newcomer.get("/qualifications")["types"]]
        assert ENTRY.group.name not in names
        assert newcomer.post(path, status=404)["code"] == "closed"
        assert self.sit(begun, path, "1", "2", begin=False) == 100, "who has begun hands it in"
        html = {**begun.headers, "Accept": "text/html"}
        for seen in (path, "/qualifications"):
            page = begun.http.request("GET", begun.endpoint + seen, headers=html).data.decode()
            assert ("Take the test" in page, "Start the test" in page) == (False, False)
        stage.crowd.publish(task("task-2", eligibility=Eligibility(tested_by=ENTRY)))
        assert self.sit(newcomer, path, "1", "2") == 100, "the next task offers it again"

    def test_what_a_question_form_cannot_hold_is_told_before(self) -> None:
        crowd = MTurkCrowd("http://127.0.0.1:9")
        assert crowd.fault_of_test(ENTRY) == ""
        long = replace(CHOICES[0], text="<" * 17_000)  # each is four bytes in XML
        assert "the API accepts at most 65,535" in crowd.fault_of_test(replace(ENTRY, choices=(long,)))
