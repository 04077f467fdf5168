"""Prolific as a crowd keeps to the contract, with the study's own marketplace and a stand-in of Prolific."""

import threading
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import pytest

from prefjudge.crowd.mturk import MTurkCrowd
from prefjudge.crowd.mturk import client as inner_client
from prefjudge.crowd.mturk import crowd as inner_crowd
from prefjudge.crowd.prolific import ProlificCrowd, open_crowd
from prefjudge.crowd.prolific import crowd as prolific_crowd
from prefjudge.crowd.prolific.standin import PROJECT, TOKEN, WORKSPACE, Platform, Study
from prefjudge.crowd.protocol import CrowdSettings, RefusedError
from prefjudge.crowd.tasks import Eligibility, SubmissionState, WorkerGroup
from prefjudge.marketplace.operator import LOCAL_KEY
from prefjudge.marketplace.server import Server, start
from prefjudge.testing import BARRED, SHARP, CrowdContract, task
from tests.crowd.prolific_people import Participant, Visitor, fresh
from tests.crowd.prolific_people import prolific as prolific
from tests.marketplace.conftest import stopping as stopping
from tests.marketplace.people import Admin, Clock, Worker, losing_replies


class ProlificStage:
    """A marketplace of ours, and people whom a stand-in of Prolific sends."""

    def __init__(self, market: Server, clock: Clock, platform: Platform, patch: pytest.MonkeyPatch) -> None:
        self._market, self._clock, self.platform, self._patch = market, clock, platform, patch
        self._admin = Admin(market)
        self._people: dict[str, Participant] = {}
        self._invited: dict[str, Worker] = {}
        self._held: dict[str, Visitor] = {}
        self._looks = 0
        self.crowd = self.open_again()

    def open_again(self) -> ProlificCrowd:
        return open_crowd(
            CrowdSettings(
                url=self._market.local,
                live=True,
                rate=Decimal("0.40"),
                options={"workspace": WORKSPACE, "project": PROJECT},
                key=(LOCAL_KEY, self._market.admin_token),
                public_url=self._market.endpoint,
            )
        )

    def join(self, *, locale: str = "US", approved: int = 1000, simulated: bool = False) -> str:
        """A participant; or, where it is about who is eligible here, somebody whom the admin has invited."""
        if locale != "US" or approved != 1000 or simulated:
            invited = self._admin.worker(locale=locale, approved=approved, simulated=simulated)
            self._invited[invited.worker_id] = invited
            return invited.worker_id
        who = Participant(self.platform, self._market.endpoint, f"{len(self._people):024x}")
        looker = self._look(who)
        self._people[looker.worker_id] = who
        return looker.worker_id

    def _look(self, who: Participant) -> Visitor:
        """Somebody who follows the link, and is nobody's as long as Prolific does not know the session."""
        self._looks += 1
        panel = self.crowd._make_panel(200)
        return Visitor(self._market.endpoint, panel, who.pid, f"look{self._looks}")

    def offers(self, worker_id: str, task_id: str) -> bool:
        worker = self._invited.get(worker_id) or self._look(self._people[worker_id])
        return any(
            group["hit_id"] == task_id and group["qualified"] and group["available"] > 0
            for group in worker.groups()
        )

    def take(self, worker_id: str, task_id: str) -> str:
        if worker_id in self._invited:
            return str(self._invited[worker_id].accept({"HITId": task_id})["assignment_id"])
        self.crowd.recruit()
        for study in self.platform.studies.values():
            study.made["submissions_config"] = {"max_submissions_per_participant": -1}
        visitor = self._people[worker_id].come()
        assert visitor, "Prolific has no place"
        taken = str(visitor.accept({"HITId": task_id})["assignment_id"])
        self._held[taken] = visitor
        return taken

    def submit(self, worker_id: str, submission_id: str, fields: Mapping[str, str]) -> None:
        if worker_id in self._invited:
            self._invited[worker_id].submit(submission_id, dict(fields))
            return
        visitor = self._held[submission_id]
        said = visitor.submit(submission_id, dict(fields))
        assert self._people[worker_id].finish(visitor, said["completion"]) == "submitted"
        self.crowd.pulse()  # as whoever watches does

    def pass_time(self, seconds: float) -> None:
        self._clock.advance(seconds)

    def lose_replies(self) -> AbstractContextManager[None]:
        return losing_replies(self._patch)


class TestProlificCrowd(CrowdContract):
    def test_who_is_barred_for_good_is_on_prolifics_blocklist(self, stage: ProlificStage) -> None:
        everywhere = WorkerGroup(name="barred for good", notice="Held by some.", bars=True)
        stage.crowd.publish(task())
        worker = stage.join()
        stage.crowd.bar(worker, BARRED)
        assert stage.platform.groups == {}
        for crowd in (stage.crowd, stage.open_again()):
            crowd.bar(worker, everywhere)
        (group,) = stage.platform.groups.values()
        assert group["members"] == [f"{0:024x}"]
        stage.crowd.recruit()
        assert stage.platform.arrive(f"{0:024x}") is None
        for crowd in (stage.crowd, stage.open_again()):
            crowd.readmit(worker, everywhere)
        assert stage.platform.arrive(f"{0:024x}") is not None

    def test_a_rehearsal_is_over_when_people_come(self, stage: ProlificStage) -> None:
        own = MTurkCrowd(stage._market.local, key=(LOCAL_KEY, stage._market.admin_token))
        rehearsed = own.publish(task("rehearsal"))
        live, worker = stage.crowd.publish(task()), stage.join()
        assert [stage.offers(worker, one) for one in (rehearsed, live)] == [True, True]
        stage.crowd.recruit()
        assert [stage.offers(worker, one) for one in (rehearsed, live)] == [False, True]

    @pytest.mark.parametrize(("action", "now"), [("STOP", "COMPLETED"), ("PAUSE", "PAUSED")])
    def test_a_study_that_a_person_stopped_there_stays_so(
        self, stage: ProlificStage, action: str, now: str
    ) -> None:
        task_id = stage.crowd.publish(task(workers=3))
        worker = stage.join()
        taken = stage.take(worker, task_id)
        stage.submit(worker, taken, {})
        stage.platform.move(action)
        (study,) = stage.platform.studies.values()
        for crowd in (stage.crowd, stage.open_again(), stage.open_again()):
            for happened in (crowd.recruit(), crowd.settle()[1]):
                assert (study.status, study.places) == (now, 3)
                assert "on Prolific and stays so: 2 assignments wait for people" in " | ".join(happened)
        stage.crowd.approve(taken)
        stage.crowd.settle()
        assert [one.status for one in stage.platform.submissions.values()] == ["APPROVED"], "people are paid"
        standing, *_ = stage.crowd.steer(stop=False)  # as the notice says
        places = 4 if action == "STOP" else 3
        assert standing.startswith(
            f"on Prolific the study is active: 1 of {places} places taken (1 approved)"
        )
        assert stage.take(stage.join(), task_id)

    def test_a_person_stops_a_study_from_here_and_lets_it_go_on(self, stage: ProlificStage) -> None:
        with pytest.raises(RefusedError, match="nothing of this study is published"):
            stage.crowd.steer(stop=True)
        stage.crowd.publish(task(workers=2))
        stage.crowd.recruit()
        for crowd in (stage.crowd, stage.open_again()):
            assert crowd.steer(stop=True)[0].startswith("on Prolific the study is completed")
            assert "stopped from here and stays so" in crowd.settle()[1][-1]
            assert "stopped from here and stays so" in crowd.recruit()[0]
            assert stage.platform.arrive("5f" * 12) is None
        with pytest.raises(RefusedError, match="has 2 places on Prolific, which never lowers them"):
            stage.crowd.steer(places=1)
        (standing, extra) = stage.open_again().steer(places=5)
        assert standing.startswith("on Prolific the study is active: 0 of 5 places taken")
        assert "has 5 places on Prolific, and the HITs need 2" in extra
        assert stage.crowd.settle()[1] == (standing, extra)
        assert stage.platform.arrive("5f" * 12)

    def test_a_study_whose_places_are_full_stays_stopped_too(self, stage: ProlificStage) -> None:
        task_id = stage.crowd.publish(task())
        worker = stage.join()
        stage.submit(worker, stage.take(worker, task_id), {})
        assert stage.platform.study.status == "AWAITING REVIEW"
        stage.crowd.steer(stop=True)
        stage.crowd.publish(task("again"))
        assert "stopped from here and stays so" in stage.open_again().recruit()[0]
        assert stage.platform.study.places == 1
        stage.crowd.steer(stop=False)
        assert (stage.platform.study.status, stage.platform.study.places) == ("ACTIVE", 2)

    def test_a_study_that_was_stopped_there_when_its_last_place_was_taken_stays_so(
        self, stage: ProlificStage
    ) -> None:
        stage.take(stage.join(), stage.crowd.publish(task()))
        stage.platform.move("STOP")
        stage.crowd.publish(task("again"))
        assert "stopped on Prolific and stays so" in stage.open_again().recruit()[0]
        assert (stage.platform.study.status, stage.platform.study.places) == ("COMPLETED", 1)

    def test_what_was_edited_there_and_what_an_hour_pays_is_said(self, stage: ProlificStage) -> None:
        stage.platform.currency = "GBP"
        task_id = stage.crowd.publish(task(pay=Decimal("2.00"), workers=2))
        worker = stage.join()
        stage.submit(worker, stage.take(worker, task_id), {})
        (one,) = stage.platform.submissions.values()
        one.started, one.completed = "2026-11-27T10:00:00+00:00", "2026-11-27T10:20:00+00:00"
        stage.platform.study.made |= {"reward": 250, "total_available_places": 9}
        said = " | ".join(stage.crowd.settle()[1])
        for words in (
            "1 of 9 places taken (1 awaiting review), 0.00 GBP charged",
            "the account is in GBP, and so are all amounts here, even those with a $",
            "the reward was changed on Prolific: it pays 2.50 for a visit, and the HITs say 2.00",
            "the study has 9 places on Prolific, and the HITs need 2",
            "an hour pays 7.50 at the median time by Prolific's clock, and Prolific asks for 6.00 or more",
        ):
            assert words in said
        one.completed = "2026-11-27T10:24:00+00:00"
        assert stage.crowd.settle()[1][-1].endswith("raise the reward, or show fewer pairs in a HIT")

    @pytest.mark.parametrize("partly", [True, False])
    def test_a_rejection_is_taken_back_there_and_paid(self, stage: ProlificStage, partly: bool) -> None:
        stage.platform.partly = partly
        task_id = stage.crowd.publish(task())
        worker = stage.join()
        taken = stage.take(worker, task_id)
        stage.submit(worker, taken, {})
        stage.crowd.reject(taken, "NO_DATA: nothing in it")
        (one,) = stage.platform.submissions.values()
        assert one.status == "REJECTED"
        for _ in range(2):
            stage.crowd.overturn(taken, "It was our mistake.")
            assert one.status == "AWAITING REVIEW"
        for _ in range(2):
            stage.crowd.settle()
        assert (one.status, stage.platform.paid) == ("APPROVED", [])
        with pytest.raises(RefusedError, match="dispute a rejection by a message on Prolific"):
            stage.crowd.disputes()

    @pytest.mark.parametrize("status", ["TIMED-OUT", "SCREENED OUT", "APPROVED", "PARTIALLY APPROVED"])
    def test_what_prolific_rejects_no_more_is_rejected_here(self, stage: ProlificStage, status: str) -> None:
        task_id = stage.crowd.publish(task())
        worker = stage.join()
        taken = stage.take(worker, task_id)
        stage.submit(worker, taken, {})
        (one,) = stage.platform.submissions.values()
        stage.platform.turn_into(one.id, "ACTIVE")
        with pytest.raises(RefusedError, match="has not finished on Prolific yet"):
            stage.crowd.reject(taken, "NO_DATA: nothing in it")
        stage.platform.turn_into(one.id, status)
        for _ in range(2):
            stage.crowd.reject(taken, "NO_DATA: nothing in it")
            said = stage.crowd.settle()[1]
        assert stage.crowd.state(taken) is SubmissionState.REJECTED
        assert (one.status, stage.platform.paid) == (status, [])
        words = "1 submission without accepted work was approved on Prolific, in full or in part: more than"
        assert (words in " | ".join(said)) == ("APPROVED" in status)

    @pytest.mark.parametrize("status", ["RETURNED", "SCREENED OUT"])
    def test_whose_work_comes_to_nothing_leaves_the_place_to_others(
        self, stage: ProlificStage, status: str
    ) -> None:
        task_id = stage.crowd.publish(task())
        stage.take(stage.join(), task_id)
        stage.platform.turn_into(next(iter(stage.platform.submissions)), status)
        said = stage.crowd.settle()[1]
        assert said[0].startswith("on Prolific the study is active: 0 of 1 place taken (1 ")
        assert stage.platform.study.places == 1
        assert stage.offers(stage.join(), task_id)

    def test_a_study_that_was_stopped_from_here_goes_on_by_itself(self, stage: ProlificStage) -> None:
        task_id = stage.crowd.publish(task(workers=2))
        worker = stage.join()
        stage.submit(worker, stage.take(worker, task_id), {})
        stage.crowd.close(task_id)
        stage.crowd.settle()
        (study,) = stage.platform.studies.values()
        assert (study.status, study.places) == ("COMPLETED", 2)
        assert study.made["internal_name"].endswith("(stopped, no HIT is left)")
        stage.crowd.publish(task("more"))
        again = stage.open_again()
        assert again.recruit() == ()
        assert (study.status, study.places) == ("ACTIVE", 3)
        assert not study.made["internal_name"].endswith(")")
        stage.platform.move("STOP")
        assert "stopped on Prolific" in again.recruit()[0], "this time a person did"

    def test_a_study_that_a_person_let_go_on_and_stopped_again_stays_so(self, stage: ProlificStage) -> None:
        """A call that is killed before it stops the study leaves it like this, too."""
        task_id = stage.crowd.publish(task())
        stage.crowd.recruit()
        stage.crowd.close(task_id)
        stage.crowd.settle()
        (study,) = stage.platform.studies.values()
        study.status = "ACTIVE"
        stage.crowd.publish(task("more"))
        again = stage.open_again()
        assert again.recruit() == ()
        stage.platform.move("STOP")
        assert "stopped on Prolific" in again.recruit()[0]
        assert (study.status, study.places) == ("COMPLETED", 1)

    @pytest.mark.parametrize(
        ("fee", "vat"),
        [
            ("0.333", "0"),
            ("0.333", "0.20"),
            ("0.428", "0"),
            ("0.428", "0.20"),
            ("0.40", "0"),
            ("0.25", "0.19"),
        ],
    )
    @pytest.mark.parametrize("pay", ["2.50", "3.00", "4.20", "1.37"])
    def test_whatever_prolifics_calculator_prices_is_published_at_its_cents(
        self, stage: ProlificStage, fee: str, vat: str, pay: str
    ) -> None:
        stage.platform.fee, stage.platform.vat = Decimal(fee), Decimal(vat)
        reward = int(Decimal(pay) * 100)
        stage.crowd.publish(task(pay=Decimal(pay)))
        stage.crowd.recruit()
        (study,) = stage.platform.studies.values()
        assert (study.status, study.reward) == ("ACTIVE", reward)
        price = stage.crowd.prices.submission(Decimal(pay), 1)
        assert price * 100 == stage.platform.cost(reward) == stage.platform.total - stage.platform.available
        assert stage.crowd.prices.bonus(Decimal("0.80")) * 100 == stage.platform.cost(80)

    def test_a_study_that_was_renamed_doubled_or_deleted_there_is_not_made_again(
        self, stage: ProlificStage
    ) -> None:
        task_id = stage.crowd.publish(task(workers=2))
        worker = stage.join()
        stage.submit(worker, stage.take(worker, task_id), {})
        (study,) = stage.platform.studies.values()
        name, project = study.made["internal_name"], study.made["project"]
        study.made |= {"internal_name": "mine", "project": "0d" * 12}
        assert stage.open_again().settle()[1][0].startswith("on Prolific the study is active")
        study.made |= {"internal_name": name, "project": project}
        stage.platform.studies["ff" * 12] = Study("ff" * 12, dict(study.made), "ACTIVE")
        said = stage.open_again().settle()[1]
        assert said[0].startswith("on Prolific the study is active: 1 of"), "the first one"
        assert said[1].startswith("1 other study has this one's internal name")
        stage.platform.studies.clear()
        (said,) = stage.open_again().settle()[1]
        assert said.startswith("1 assignment waits for people, and no study on Prolific is this one's")
        assert stage.platform.studies == {}

    def test_what_prolific_does_not_know_keeps_nobody_from_collecting(self, stage: ProlificStage) -> None:
        """A session that is typed into a link may be refused as an id, not only be unknown."""
        stage.platform.faults.append(
            lambda method, path: "status 400" if path.endswith("/submissions/typed/") else ""
        )
        task_id = stage.crowd.publish(task())
        stage.crowd.recruit()
        panel = stage.crowd._make_panel(200)
        forger = Visitor(stage._market.endpoint, panel, "1e" * 12, "typed")
        forger.submit(str(forger.accept({"HITId": task_id})["assignment_id"]))
        assert not stage.offers(stage.join(), task_id)
        assert stage.crowd.fetch(task_id).submissions == ()
        assert stage.offers(stage.join(), task_id), "what was typed in holds no HIT"

    def test_texts_come_back_as_they_were(self, stage: ProlificStage) -> None:  # type: ignore[override]
        """The marketplace keeps them: one that has everything in it is enough."""
        super().test_texts_come_back_as_they_were(stage, f" {SHARP}\n\t")

    def test_what_is_not_known_is_refused(self, stage: ProlificStage) -> None:  # type: ignore[override]
        """All calls at one stage, which takes long to set up."""
        for _, call in self.UNKNOWN:
            super().test_what_is_not_known_is_refused(stage, call)

    @pytest.mark.parametrize(
        "who",
        [Eligibility(locales=("US",)), Eligibility(approved_more_than=3), Eligibility(min_approval_rate=50)],
    )
    def test_only_the_eligible_are_offered_a_task(self, stage: ProlificStage, who: Eligibility) -> None:  # type: ignore[override]
        """Prolific alone knows where people are and what they have done: its filters choose them."""
        with pytest.raises(RefusedError, match=r"of \[workers\] is for marketplaces"):
            stage.crowd.publish(task(eligibility=who))
        assert list(stage.crowd.tasks()) == []

    @pytest.fixture
    def stage(
        self,
        tmp_path: Path,
        prolific: tuple[Platform, str],
        stopping: list[threading.Thread],
        monkeypatch: pytest.MonkeyPatch,
    ) -> Iterator[ProlificStage]:
        clock = Clock()
        fresh(prolific[0])
        monkeypatch.setenv("PROLIFIC_TOKEN", TOKEN)
        monkeypatch.setenv("PROLIFIC_URL", prolific[1])
        monkeypatch.setattr(inner_client, "MOST_LISTED", 3)  # so that every list has pages
        monkeypatch.setattr(inner_crowd, "now", lambda: datetime.fromtimestamp(clock(), UTC))
        monkeypatch.setattr(prolific_crowd, "SYNC_EVERY", 0.0)
        market = start(f"sqlite:///{tmp_path}/market.db", clock=clock)
        yield ProlificStage(market, clock, prolific[0], monkeypatch)
        stopping.append(threading.Thread(target=market.stop))
        stopping[-1].start()
