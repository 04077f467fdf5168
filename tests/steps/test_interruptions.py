"""What happens when a verb is killed, or a reply is lost, at any of its calls."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any, TypeVar

import botocore.httpsession
import pytest
from botocore.awsrequest import AWSResponse

from prefjudge import collect, gold, publish, status, work
from prefjudge.crowd.mturk import Fees, MTurkCrowd
from prefjudge.errors import CrowdError
from prefjudge.field.crowd import keep_marketplace_open, open_marketplace
from prefjudge.study.assignments import load_decisions
from prefjudge.study.hits import load_hits
from prefjudge.study.people import load_allowances
from prefjudge.study.store import Study
from tests.steps.conftest import COLLECTION, climbing_study, edit
from tests.steps.test_farming import person, take_all
from tests.steps.test_road import kept_votes

T = TypeVar("T")


class Killed(BaseException):
    """Ends a verb as SIGKILL would: nothing may catch it."""


class Wire:
    """Breaks every different call to the marketplace the first time that it is made, in one way."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.kind = self.now = ""
        self.broken: set[bytes] = set()
        self.made: list[bytes] = []
        send = botocore.httpsession.URLLib3Session.send
        monkeypatch.setattr(
            botocore.httpsession.URLLib3Session,
            "send",
            lambda session, r: self._by_boto(lambda: send(session, r), r),
        )

    def _by_boto(self, send: Callable[[], Any], request: Any) -> Any:
        if not self._breaks(request.headers["X-Amz-Target"], request.body, send):
            return send()
        if self.now == "time-out before":
            raise botocore.httpsession.ConnectTimeoutError(endpoint_url=request.url)
        if self.now == "throttle":
            raw = type("Raw", (), {"stream": lambda *_: iter([b'{"__type": "ThrottlingException"}'])})()
            return AWSResponse(request.url, 400, {}, raw)
        raise botocore.httpsession.ReadTimeoutError(endpoint_url=request.url)

    def _breaks(self, target: bytes, body: bytes, send: Callable[[], Any]) -> bool:
        """Break a call the first time that it is made: it is killed here, or its answer does not come."""
        call = target + body
        if not self.kind or call in self.broken:
            return False
        self.broken.add(call)
        self.made.append(target)
        if self.kind == "kill before":
            raise Killed
        self.now = LOST[len(self.broken) % len(LOST)] if self.kind == "by turns" else self.kind
        if self.now not in ("time-out before", "throttle"):
            send()
        if self.kind == "kill after":
            raise Killed
        return True

    def until_done(self, verb: Callable[[], T]) -> T:
        """Start the verb again each time that it is killed or fails."""
        while True:
            try:
                return verb()
            except (Killed, CrowdError):
                continue


@pytest.fixture
def wire(monkeypatch: pytest.MonkeyPatch) -> Wire:
    # the client waits before it repeats a call
    monkeypatch.setattr("botocore.retries.standard.ExponentialBackoff.delay_amount", lambda *_: 0)
    return Wire(monkeypatch)


KINDS = ["kill before", "kill after", "by turns"]
LOST = ["reply lost", "throttle", "time-out before"]
"""What becomes of calls by turns: the client itself repeats them, or the verb ends with an error."""


def listed(study: Path) -> list[str]:
    """The annotations of the HITs that the marketplace has."""
    with open_marketplace(Study(study)) as door:
        return sorted(task.key for task in MTurkCrowd(door.endpoint).tasks())


def small_hits(study: Path, pairs: int) -> None:
    config = study / "study.toml"
    text = config.read_text().replace("pairs_per_hit = 10", f"pairs_per_hit = {pairs}")
    config.write_text(text.replace("budget = 100.00", "budget = 500.00"))


def ask_for_a_test(study: Path) -> None:
    """Let newcomers take a test, made of the first gold pair."""
    edit(study, ("[workers]", "[workers]\nmin_practice_rate = 100"))
    header, lesson, *others = (COLLECTION / "gold.tsv").read_text().splitlines()
    table = [f"{header}\tpractice", f"{lesson}\tOnly one is about it.", *others]
    (study / "gold.tsv").write_text("\n".join(table) + "\n")
    gold(study, accept=True)


def recorded(study: Path) -> list[str]:
    with Study(study).transaction(write=False) as db:
        return sorted(hit.hit_key for hit in load_hits(db, "sandbox") if hit.hit_id)


@pytest.mark.parametrize("kind", KINDS)
def test_a_publish_broken_at_every_call_publishes_each_hit_once(served: Path, wire: Wire, kind: str) -> None:
    small_hits(served, 5)
    ask_for_a_test(served)
    wire.kind = kind
    wire.until_done(lambda: publish(served, yes=True))
    wire.kind = ""
    total = -(-status(served).pairs // 5)
    assert total >= 9
    assert len(wire.broken) > total
    assert len(recorded(served)) == total
    assert listed(served) == recorded(served)
    assert Decimal(status(served).committed) == total * Decimal("2.40")
    with open_marketplace(Study(served)) as door:
        asked = MTurkCrowd(door.endpoint)._client.each(
            "list_qualification_types", "QualificationTypes", MustBeRequestable=True
        )
        assert sum("Test" in kind for kind in asked) == 1


@pytest.mark.parametrize("kind", KINDS)
def test_a_collect_broken_at_every_call_loses_and_doubles_nothing(
    served: Path, wire: Wire, kind: str
) -> None:
    publish(served, yes=True)
    state = None
    while state is None or not state.finished:
        wire.kind = ""
        work(served, workers=6, error=0.1, slip=0.0, temper=["careless", "careless", "quitter"])
        wire.kind = kind
        state = wire.until_done(lambda: collect(served))
    wire.kind = ""
    calls = {call.partition(b".")[2] for call in wire.made}
    assert {b"ApproveAssignment", b"SendBonus", b"RejectAssignment"} <= calls
    assert set(kept_votes(served).values()) == {1}
    assert listed(served) == recorded(served)
    with Study(served).transaction(write=False) as db:
        decided = [str(decision) for decision in load_decisions(db).values()]
    bonuses = [Decimal(one.split("$")[1].split()[0]) for one in decided if one.startswith("prorated")]
    paid = decided.count("approved") * Decimal("2.40") + sum(map(Fees().bonus, bonuses))
    assert Decimal(status(served).committed) == paid


@pytest.mark.parametrize("kind", ["kill before", "kill after"])
def test_the_ladder_broken_at_every_call_packs_again_once_and_tells_again(
    tmp_path: Path, wire: Wire, kind: str
) -> None:
    study = climbing_study(tmp_path / "study")
    small_hits(study, 23)  # three of them
    gold(study, suggest=0)  # more than they hide
    gold(study, accept=True)
    told = b"MTurkRequesterServiceV20170117.AssociateQualificationWithWorker"
    with keep_marketplace_open(Study(study)):
        publish(study, yes=True)
        published = len(recorded(study))
        guesser, honest = person(study, "guesser", slip=1.0), person(study, "honest")
        assert (take_all(guesser), take_all(honest)) == (1, 1)
        wire.kind = kind
        wire.until_done(lambda: collect(study))
        wire.kind = ""
        assert wire.made.count(told) == 2
        assert len(recorded(study)) == published + 1, "what was dropped waits in one HIT with new gold pairs"
        assert listed(study) == recorded(study)
        answers, before = status(study), allowed(study)
        assert (answers.waiting, len(answers.barred), before) == (0, 1, [3])
        wire.broken.clear()
        wire.made.clear()
        wire.kind = kind
        assert wire.until_done(lambda: collect(study)).collected == 0
        wire.kind = ""
        assert wire.made.count(told) == 2, "nothing came, so that the bar and the allowance are told again"
        assert (status(study).barred, allowed(study)) == (answers.barred, before)
        assert listed(study) == recorded(study)
        assert (take_all(guesser), take_all(honest)) == (0, 2)


def allowed(study: Path) -> list[int]:
    """How many HITs the workers may take, each."""
    with Study(study).transaction(write=False) as db:
        return list(load_allowances(db, "sandbox").values())


def test_a_publish_killed_by_the_system_goes_on_where_it_stopped(served: Path) -> None:
    small_hits(served, 1)
    command = [sys.executable, "-m", "prefjudge", "publish", str(served), "--sandbox", "--yes"]
    verb = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while len(recorded(served)) < 5 and verb.poll() is None:
        time.sleep(0.02)
    os.kill(verb.pid, signal.SIGKILL)
    verb.wait()
    assert 5 <= len(recorded(served)) < status(served).pairs, "the verb was not killed in the middle"
    publish(served, yes=True)
    assert len(recorded(served)) == status(served).pairs
    assert listed(served) == recorded(served)


def test_after_a_day_a_lost_hit_is_found_by_its_annotation(
    served: Path, wire: Wire, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A marketplace forgets a request token after 24 hours; then only its own list tells what it has."""
    wire.kind = "kill after"
    made = ""
    while not made.endswith("CreateHIT"):
        with pytest.raises(Killed):
            publish(served, yes=True)
        made = next(reversed(wire.made)).decode()
    wire.kind = ""
    assert (len(listed(served)), len(recorded(served))) == (1, 0)
    with Study(served).transaction() as db:
        db.execute("UPDATE intents SET intended = intended - 90000")
    published: list[str] = []
    publish_one = MTurkCrowd.publish
    monkeypatch.setattr(
        MTurkCrowd,
        "publish",
        lambda crowd, task: (published.append(task.key), publish_one(crowd, task))[1],
    )
    lost = listed(served)[0]
    publish(served, yes=True)
    assert lost not in published
    assert len(published) == 6
    assert listed(served) == recorded(served)
