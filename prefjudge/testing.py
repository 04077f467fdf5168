"""What every crowd keeps to: a class of tests, for pytest, that a crowd's own tests take after.

Subclass :class:`CrowdContract`, and give it a fixture ``stage``: the crowd, and the people behind it, whom
the tests let work.
"""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from decimal import Decimal
from typing import Any, Protocol

import pytest

from prefjudge.crowd.protocol import Crowd, RefusedError
from prefjudge.crowd.tasks import Eligibility, Page, SubmissionState, Task, WorkerGroup
from prefjudge.errors import CrowdError

DAY = 86_400
HTML = "<!DOCTYPE html><html><head><title>t</title></head><body><form>{}</form></body></html>"
SHARP = "]]> </form><script>alert(1)</script> &amp;amp; <!DOCTYPE x> \" ' % \\ {{ 7*7 }} é ß 😀 \u202e end"
BARRED = WorkerGroup(name="barred of study 1", notice="Held by some.")
OTHERS = WorkerGroup(name="another group", notice="Held by others.")


class Stage(Protocol):
    """A crowd, the people behind it, and its clock."""

    crowd: Crowd

    def open_again(self) -> Crowd:
        """The same account, opened by another process."""
        ...

    def join(self, *, locale: str = "US", approved: int = 1000, simulated: bool = False) -> str:
        """A new worker's id."""
        ...

    def offers(self, worker_id: str, task_id: str) -> bool:
        """Whether a task is offered to a worker."""
        ...

    def take(self, worker_id: str, task_id: str) -> str:
        """Let a worker take a task; return the id that its submission will have."""
        ...

    def submit(self, worker_id: str, submission_id: str, fields: Mapping[str, str]) -> None:
        """Let a worker submit."""
        ...

    def pass_time(self, seconds: float) -> None:
        """Move the crowd's clock."""
        ...

    def lose_replies(self) -> AbstractContextManager[None]:
        """Do what is asked for, and lose the reply to each call that creates or spends."""
        ...


def task(key: str = "task-1", **changes: Any) -> Task:
    properties: dict[str, Any] = {
        "token": f"token of {key}", "key": key, "page": Page(html=HTML.format("")),
        "title": f"Which is better? ({key})", "description": "Compare passages.",
        "pay": Decimal("2.00"), "workers": 1, "work_seconds": 600, "lifetime_seconds": 7 * DAY,
        "approval_seconds": 3 * DAY,
    }  # fmt: skip
    return Task(**{**properties, **changes})


class CrowdContract:
    """The contract, as tests; a subclass has the fixture ``stage``."""

    def done(self, stage: Stage, task_id: str, **fields: str) -> str:
        """A submission of a new worker's."""
        worker = stage.join()
        submission = stage.take(worker, task_id)
        stage.submit(worker, submission, fields or {"choice": "a"})
        return submission

    def test_an_account_is_known_by_a_name_that_stays(self, stage: Stage) -> None:
        who = stage.crowd.identity()
        assert who.name
        assert stage.open_again().identity() == who
        assert stage.open_again().endpoint == stage.crowd.endpoint

    def test_a_repeat_publishes_nothing(self, stage: Stage) -> None:
        before = stage.crowd.balance()
        first = stage.crowd.publish(task())
        spent = before - stage.crowd.balance()
        assert stage.crowd.publish(task()) == stage.open_again().publish(task()) == first
        assert [listed.task_id for listed in stage.crowd.tasks()] == [first]
        assert before - stage.crowd.balance() == spent > 0
        assert stage.crowd.publish(task("task-2")) != first

    def test_a_task_whose_reply_was_lost_is_found(self, stage: Stage) -> None:
        with stage.lose_replies(), pytest.raises(CrowdError) as lost:
            stage.crowd.publish(task())
        assert not isinstance(lost.value, RefusedError), "it may have been done"
        (listed,) = stage.open_again().tasks()
        assert (listed.key, listed.pay, listed.deleted) == ("task-1", Decimal("2.00"), False)
        assert stage.open_again().publish(task()) == listed.task_id
        stage.pass_time(2 * DAY)  # the token is forgotten, and the key is not
        assert [found.key for found in stage.open_again().tasks()] == ["task-1"]

    def test_tasks_are_listed_the_newest_first_and_all_of_them(self, stage: Stage) -> None:
        keys = [f"task-{number}" for number in range(8)]
        for key in keys:
            stage.crowd.publish(task(key))
            stage.pass_time(1)
        listed = list(stage.open_again().tasks())
        assert [found.key for found in listed] == keys[::-1]
        created = [found.created for found in listed]
        assert created == sorted(created, reverse=True)
        assert next(iter(stage.crowd.tasks())).key == keys[-1], "a list may be left after its first"

    def test_submissions_come_in_order_and_all_of_them(self, stage: Stage) -> None:
        task_id = stage.crowd.publish(task(workers=8))
        taken = [(worker := stage.join(), stage.take(worker, task_id)) for _ in range(8)]
        for worker, submission in taken[::-1]:
            stage.pass_time(1)
            stage.submit(worker, submission, {"choice": submission})
        came = stage.open_again().fetch(task_id).submissions
        assert [(sent.worker_id, sent.submission_id) for sent in came] == taken[::-1]
        assert [sent.fields["choice"] for sent in came] == [sent.submission_id for sent in came]
        assert {sent.state for sent in came} == {SubmissionState.SUBMITTED}
        assert all(sent.accepted < sent.submitted for sent in came if sent.accepted and sent.submitted)
        assert all(sent.raw and not sent.fault for sent in came)

    def test_many_tasks_are_fetched_in_the_order_asked_for(self, stage: Stage) -> None:
        task_ids = [stage.crowd.publish(task(f"task-{number}", workers=2)) for number in range(18)]
        for task_id in task_ids[3:5]:
            self.done(stage, task_id, choice="a")
        self.done(stage, task_ids[4], choice="b")
        asked = [*task_ids[1:9], "3NOSUCHTHING", *task_ids[9:]]
        states = list(stage.open_again().fetch_each(asked))
        assert isinstance(states.pop(8), RefusedError)
        alone = [stage.crowd.fetch(task_id) for task_id in task_ids[1:]]
        assert states == alone
        assert [len(state.submissions) for state in alone[:5]] == [0, 0, 1, 2, 0]

    @pytest.mark.parametrize("text", [SHARP, "a\nb\tc", " leading and trailing ", "x" * 20_000, ""])
    def test_texts_come_back_as_they_were(self, stage: Stage, text: str) -> None:
        html = HTML.format(f"<p>{SHARP.replace('<', '&lt;')}</p>]]>")
        task_id = stage.crowd.publish(task(title="<b>]]> & é", page=Page(html=html)))
        shown = stage.crowd.page(task_id)
        assert (shown.html.replace("&#128512;", "😀"), shown.address) == (html, "")
        self.done(stage, task_id, text=text, other="1")
        (sent,) = stage.crowd.fetch(task_id).submissions
        assert (sent.fault, sent.fields["text"], sent.fields["other"]) == ("", text, "1")

    def test_characters_that_no_form_has_do_no_harm(self, stage: Stage) -> None:
        task_id = stage.crowd.publish(task())
        self.done(stage, task_id, text="a\x00\x0b\x1f\ufffeb", other="1")
        (sent,) = stage.crowd.fetch(task_id).submissions
        assert sent.fault or sent.fields["other"] == "1"

    def test_a_page_that_is_too_long_is_told_before_it_is_published(self, stage: Stage) -> None:
        assert stage.crowd.fault_of(HTML.format("x" * 10_000)) == ""
        assert stage.crowd.fault_of(HTML.format("x" * 1_000_000))

    def test_a_page_may_be_shown_elsewhere(self, stage: Stage) -> None:
        address = "https://example.org/pages/1.html?a=1&b=2"
        task_id = stage.crowd.publish(task(page=Page(address=address)))
        assert stage.open_again().page(task_id) == Page(address=address)

    @pytest.mark.parametrize(
        ("pay", "workers"), [("0.01", 1), ("2.00", 3), ("0.13", 9), ("2.00", 12), ("0", 2)]
    )
    def test_the_prices_are_what_is_charged(self, stage: Stage, pay: str, workers: int) -> None:
        start, price = stage.crowd.balance(), stage.crowd.prices.submission(Decimal(pay), workers)
        task_id = stage.crowd.publish(task(pay=Decimal(pay), workers=workers))
        assert start - stage.crowd.balance() == workers * price
        if stage.crowd.fetch(task_id).room:
            stage.crowd.extend(task_id, 1, token="more")
            assert start - stage.crowd.balance() == (workers + 1) * price
            stage.crowd.extend(task_id, 1, token="more")
            assert start - stage.crowd.balance() == (workers + 1) * price
        paid, refused = self.done(stage, task_id), self.done(stage, task_id) if workers > 1 else None
        stage.crowd.approve(paid)
        if refused:
            stage.crowd.reject(refused, "copied")
        stage.crowd.close(task_id)
        stage.crowd.delete(task_id)
        assert start - stage.crowd.balance() == price, "all but what was paid comes back"
        stage.crowd.delete(task_id)
        assert start - stage.crowd.balance() == price

    def test_what_the_account_cannot_pay_is_refused(self, stage: Stage) -> None:
        before = stage.crowd.balance()
        with pytest.raises(RefusedError):
            stage.crowd.publish(task(pay=before + 1))
        assert (stage.crowd.balance(), list(stage.crowd.tasks())) == (before, [])

    def test_a_submission_is_approved_once(self, stage: Stage) -> None:
        task_id = stage.crowd.publish(task(workers=2))
        paid = self.done(stage, task_id)
        spent = stage.crowd.balance()
        for crowd in (stage.crowd, stage.crowd, stage.open_again()):
            crowd.approve(paid)
            assert crowd.state(paid) is SubmissionState.APPROVED
        assert stage.crowd.balance() == spent
        for decide in (stage.crowd.reject, stage.crowd.release):
            with pytest.raises(RefusedError):
                decide(paid, "too late")
        assert stage.crowd.state(paid) is SubmissionState.APPROVED

    @pytest.mark.parametrize("how", ["reject", "release"])
    def test_pay_is_given_back_once(self, stage: Stage, how: str) -> None:
        price = stage.crowd.prices.submission(Decimal("2.00"), 2)
        task_id = stage.crowd.publish(task(workers=2))
        submission = self.done(stage, task_id)
        before = stage.crowd.balance()
        assert stage.crowd.state(submission) is SubmissionState.SUBMITTED
        for crowd in (stage.crowd, stage.open_again()):
            getattr(crowd, how)(submission, f"as agreed {SHARP}")
            assert crowd.balance() - before == price
        (sent,) = stage.crowd.fetch(task_id).submissions
        assert (sent.state, sent.reason) == (SubmissionState.REJECTED, f"as agreed {SHARP}")
        with pytest.raises(RefusedError):
            stage.crowd.approve(submission)

    def test_what_nobody_decides_on_is_approved_in_time(self, stage: Stage) -> None:
        submission = self.done(stage, stage.crowd.publish(task(approval_seconds=DAY)))
        stage.pass_time(DAY - 10)
        assert stage.crowd.state(submission) is SubmissionState.SUBMITTED
        stage.pass_time(20)
        assert stage.crowd.state(submission) is SubmissionState.APPROVED

    def test_a_bonus_is_paid_once(self, stage: Stage) -> None:
        task_id = stage.crowd.publish(task(workers=2))
        submission, amount = self.done(stage, task_id), Decimal("0.67")
        worker = stage.crowd.fetch(task_id).submissions[0].worker_id
        before = stage.crowd.balance()
        assert not stage.crowd.has_bonus(submission, SHARP)
        with stage.lose_replies(), pytest.raises(CrowdError):
            stage.crowd.bonus(worker, submission, amount, SHARP, token="bonus 1")
        for crowd in (stage.crowd, stage.open_again()):
            assert crowd.has_bonus(submission, SHARP), "known even where the token is forgotten"
            crowd.bonus(worker, submission, amount, SHARP, token="bonus 1")
        assert before - stage.crowd.balance() == stage.crowd.prices.bonus(amount)
        assert not stage.crowd.has_bonus(submission, "another reason")
        (paid,) = stage.crowd.bonuses(task_id)
        assert (paid.submission_id, paid.amount, paid.reason) == (submission, amount, SHARP)
        assert stage.crowd.bonuses(stage.crowd.publish(task("task-2"))) == ()

    def test_who_is_barred_is_offered_nothing_that_is_closed_to_the_group(self, stage: Stage) -> None:
        closed = Eligibility(closed_to=(BARRED, OTHERS))
        before = stage.crowd.publish(task(eligibility=closed, workers=3))
        barred, free = stage.join(), stage.join()
        for crowd in (stage.crowd, stage.crowd, stage.open_again()):
            crowd.bar(barred, BARRED)
        after = stage.open_again().publish(task("task-2", eligibility=closed, workers=3))
        anyone = stage.crowd.publish(task("task-3", eligibility=Eligibility(closed_to=(OTHERS,)), workers=3))
        assert [stage.offers(barred, task_id) for task_id in (before, after, anyone)] == [False, False, True]
        assert [stage.offers(free, task_id) for task_id in (before, after, anyone)] == [True] * 3
        for crowd in (stage.crowd, stage.open_again()):  # a repeat is harmless
            crowd.readmit(barred, BARRED)
            crowd.readmit(free, BARRED)
        assert [stage.offers(barred, task_id) for task_id in (before, after, anyone)] == [True] * 3

    def test_a_worker_takes_as_many_tasks_as_were_allowed(self, stage: Stage) -> None:
        limited = Eligibility(limited_by=BARRED)
        tasks = [stage.crowd.publish(task(f"task-{n}", eligibility=limited)) for n in range(4)]
        worker, free = stage.join(), stage.crowd.publish(task("free"))
        first = stage.take(worker, tasks[0])
        assert not stage.offers(worker, tasks[1]), "a newcomer takes one"
        stage.submit(worker, first, {"choice": "a"})
        assert not stage.offers(worker, tasks[1])
        stage.take(worker, free)
        for crowd in (stage.crowd, stage.crowd, stage.open_again()):  # a repeat is harmless
            crowd.allow(worker, BARRED, 3, submitted=1)
        for task_id in tasks[1:3]:
            stage.take(worker, task_id)
        assert not stage.offers(worker, tasks[3]), "three in all"
        assert stage.offers(stage.join(), tasks[3])

    def test_the_pulse_tells_that_something_was_submitted(self, stage: Stage) -> None:
        task_id, worker = stage.crowd.publish(task()), stage.join()
        submission = stage.take(worker, task_id)
        before = stage.crowd.pulse()
        assert stage.open_again().pulse() == before
        stage.submit(worker, submission, {"choice": "a"})
        assert stage.crowd.pulse() != before

    def test_a_group_is_the_same_whoever_made_it(self, stage: Stage) -> None:
        worker, other = stage.join(), stage.open_again()
        stage.crowd.bar(worker, BARRED)
        other.bar(worker, BARRED)
        other.bar(worker, OTHERS)  # which the first one does not know of
        stage.crowd.bar(stage.join(), OTHERS)
        task_id = stage.crowd.publish(task(eligibility=Eligibility(closed_to=(OTHERS,))))
        assert not stage.offers(worker, task_id)

    def test_only_the_eligible_are_offered_a_task(self, stage: Stage) -> None:
        here, abroad, new = stage.join(), stage.join(locale="DE"), stage.join(approved=3)
        offers = {
            "locale": Eligibility(locales=("US",)),
            "locales": Eligibility(locales=("US", "DE")),
            "experience": Eligibility(approved_more_than=3, min_approval_rate=50),
        }
        found = {}
        for key, who in offers.items():
            task_id = stage.crowd.publish(task(key, eligibility=who, workers=3))
            found[key] = [stage.offers(worker, task_id) for worker in (here, abroad, new)]
        assert found == {
            "locale": [True, False, True], "locales": [True, True, True], "experience": [True, True, False],
        }  # fmt: skip

    def test_a_worker_takes_a_task_once(self, stage: Stage) -> None:
        task_id, worker = stage.crowd.publish(task(workers=2)), stage.join()
        stage.submit(worker, stage.take(worker, task_id), {"choice": "a"})
        assert not stage.offers(worker, task_id)
        assert stage.offers(stage.join(), task_id)

    def test_a_task_is_extended_for_others(self, stage: Stage) -> None:
        task_id = stage.crowd.publish(task())
        self.done(stage, task_id)
        state = stage.crowd.fetch(task_id)
        assert (state.open, state.workers, state.room > 0) == (False, 1, True)
        with stage.lose_replies(), pytest.raises(CrowdError):
            stage.crowd.extend(task_id, 1, token="more")
        stage.open_again().extend(task_id, 1, token="more")
        extended = stage.crowd.fetch(task_id)
        assert (extended.open, extended.workers, extended.room) == (True, 2, state.room - 1)
        self.done(stage, task_id)
        assert len(stage.crowd.fetch(task_id).submissions) == 2

    def test_a_task_is_open_as_long_as_a_submission_may_come(self, stage: Stage) -> None:
        task_id = stage.crowd.publish(task(workers=2))
        found = [stage.crowd.fetch(task_id)]
        held = [(worker := stage.join(), stage.take(worker, task_id)) for _ in range(2)]
        found.append(stage.crowd.fetch(task_id))
        for worker, submission in held:
            stage.submit(worker, submission, {"choice": "a"})
            found.append(stage.crowd.fetch(task_id))
        assert [state.open for state in found] == [True, True, True, False]
        assert [state.held for state in found] == [False, True, True, False]
        assert [len(state.submissions) for state in found] == [0, 0, 1, 2]

    @pytest.mark.parametrize("how", ["closed", "expired"])
    def test_a_task_that_is_over_is_offered_no_more(self, stage: Stage, how: str) -> None:
        task_id = stage.crowd.publish(task(workers=3, lifetime_seconds=DAY))
        late = stage.join()
        stage.pass_time(DAY - 60)
        submission = stage.take(late, task_id)
        if how == "closed":
            stage.crowd.close(task_id)
            stage.open_again().close(task_id)
        else:
            stage.pass_time(61)
        state = stage.crowd.fetch(task_id)
        assert (state.open, state.held, state.room) == (True, True, 0)
        assert not stage.offers(stage.join(), task_id)
        with pytest.raises(RefusedError):
            stage.crowd.delete(task_id)
        stage.submit(late, submission, {"choice": "a"})
        state = stage.crowd.fetch(task_id)
        assert (state.open, state.room, len(state.submissions)) == (False, 0, 1)
        with pytest.raises(RefusedError):
            stage.crowd.delete(task_id)  # its submission waits for a decision
        stage.crowd.approve(submission)
        stage.crowd.delete(task_id)
        assert list(stage.open_again().tasks()) == []
        assert stage.open_again().look(task_id).deleted

    def test_accounts_for_simulation_are_told_from_peoples(self, stage: Stage) -> None:
        task_id = stage.crowd.publish(task(workers=2))
        for simulated in (True, False):
            worker = stage.join(simulated=simulated)
            stage.submit(worker, stage.take(worker, task_id), {"choice": "a"})
            stage.pass_time(1)
        told = [sent.simulated for sent in stage.crowd.fetch(task_id).submissions]
        assert told in ([True, False], [None, None])

    UNKNOWN: tuple[tuple[str, Callable[[Crowd], object]], ...] = (
        ("fetch", lambda crowd: crowd.fetch("3NOSUCHTHING")),
        ("look", lambda crowd: crowd.look("3NOSUCHTHING")),
        ("page", lambda crowd: crowd.page("3NOSUCHTHING")),
        ("extend", lambda crowd: crowd.extend("3NOSUCHTHING", 1, token="t")),
        ("close", lambda crowd: crowd.close("3NOSUCHTHING")),
        ("delete", lambda crowd: crowd.delete("3NOSUCHTHING")),
        ("bonuses", lambda crowd: crowd.bonuses("3NOSUCHTHING")),
        ("state", lambda crowd: crowd.state("3NOSUCHTHING")),
        ("approve", lambda crowd: crowd.approve("3NOSUCHTHING")),
        ("reject", lambda crowd: crowd.reject("3NOSUCHTHING", "r")),
        ("release", lambda crowd: crowd.release("3NOSUCHTHING", "r")),
        ("bonus", lambda crowd: crowd.bonus("ANOBODY1", "3NOSUCHTHING", Decimal(1), "r", token="t")),
        ("has_bonus", lambda crowd: crowd.has_bonus("3NOSUCHTHING", "r")),
        ("bar", lambda crowd: crowd.bar("ANOBODY1", BARRED)),
    )

    @pytest.mark.parametrize("call", [call for _, call in UNKNOWN], ids=[name for name, _ in UNKNOWN])
    def test_what_is_not_known_is_refused(self, stage: Stage, call: Callable[[Crowd], object]) -> None:
        before = stage.crowd.balance()
        with pytest.raises(RefusedError) as refused:
            call(stage.crowd)
        assert refused.value.message
        assert stage.crowd.balance() == before
