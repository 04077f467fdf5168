"""What a study is charged, and that one verb at a time spends."""

import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from decimal import Decimal
from pathlib import Path

import pytest

from prefjudge import collect, gold, init, pay, publish, reject, status, work
from prefjudge.cli.crowd import reject as show
from prefjudge.cli.road import collect as show_collected
from prefjudge.cli.road import status as show_status
from prefjudge.crowd.mturk import MTurkCrowd, crowd
from prefjudge.crowd.protocol import RefusedError
from prefjudge.crowd.tasks import Dispute, TaskState
from prefjudge.errors import BudgetError, CrowdError, NotFinished, StudyError
from prefjudge.field import pay as spending
from prefjudge.field.crowd import open_crowd, open_marketplace
from prefjudge.study.money import find_rejection
from prefjudge.study.progress import save_disputed
from prefjudge.study.store import MARKETPLACE_FILE, SANDBOX, Study
from tests.marketplace.conftest import cluster as cluster
from tests.marketplace.people import Admin
from tests.marketplace.postgres import Cluster
from tests.steps.conftest import COLLECTION, edit, pool_demo
from tests.steps.test_farming import person
from tests.steps.test_interruptions import listed, recorded
from tests.steps.test_road import TRUTH, judge_all, kept_votes


def committed(study: Path) -> Decimal:
    return Decimal(status(study).committed)


def settle_by_hand(study: Path) -> None:
    edit(study, more='\n[pay]\nwhen = "pay"\n')


def test_a_price_that_was_corrected_is_the_price_of_what_is_left(served: Path) -> None:
    edit(served, ("reward = 2.00", "reward = 20.00"), ("budget = 100.00", "budget = 30.00"))
    with pytest.raises(BudgetError):
        publish(served, yes=True)
    assert (committed(served), status(served).hits) == (Decimal("24.00"), {"open": 1})
    edit(served, ("reward = 20.00", "reward = 2.00"), ("budget = 30.00", "budget = 100.00"))
    assert publish(served, yes=True).total == 6 * Decimal("2.40")
    assert committed(served) == 24 + 6 * Decimal("2.40")
    assert listed(served) == recorded(served)


def test_a_price_that_the_marketplace_refuses_costs_nothing(served: Path) -> None:
    edit(served, ("reward = 2.00", "reward = 2000000000.00"), ("budget = 100.00", "budget = 9000000000.00"))
    with pytest.raises(CrowdError, match="refused create_hit"):
        publish(served, yes=True)
    assert (committed(served), status(served).hits) == (0, {})
    edit(served, ("reward = 2000000000.00", "reward = 2.00"))
    assert publish(served, yes=True).published == 7
    assert committed(served) == 7 * Decimal("2.40")


def test_pairs_that_a_budget_left_waiting_are_published_when_it_grows(served: Path) -> None:
    edit(served, ("budget = 100.00", "budget = 16.80"))
    publish(served, yes=True)
    work(served, workers=8, error=0.0, temper=["careless"] * 4, truth=TRUTH)
    with pytest.raises(BudgetError):
        collect(served)
    edit(served, ("budget = 16.80", "budget = 100.00"))
    assert collect(served).reissued > 0
    assert judge_all(served).finished
    assert set(kept_votes(served).values()) == {1}


def test_what_never_came_is_given_back(served: Path) -> None:
    edit(served, ("budget = 100.00", "budget = 20.00"))
    with open_marketplace(Study(served)) as door:
        crowd = MTurkCrowd(door.endpoint)
        before = crowd.balance()
        publish(served, yes=True)
        work(served, workers=2, error=0.0, truth=TRUTH, most=1)
        for task in list(crowd.tasks()):
            crowd.close(task.task_id)
        state = collect(served)
        assert (state.collected, state.reissued, state.open) == (2, 5, 5)
        assert committed(served) == 7 * Decimal("2.40")
        judge_all(served)
        answered = status(served).assignments
        assert committed(served) == answered * Decimal("2.40") == before - crowd.balance()
    assert set(kept_votes(served).values()) == {1}


def test_what_was_rejected_does_not_count_and_its_pairs_wait_again(served: Path) -> None:
    settle_by_hand(served)
    publish(served, yes=True)
    judge_all(served)
    before = status(served)
    due = pay(served, dry_run=True).dues[0]
    reject(served, due.assignment_id, reason="copied")
    now = status(served)
    assert now.judgments < before.judgments
    assert now.judgments + now.waiting == before.judgments
    assert now.verdicts == {"kept": before.verdicts["kept"] - 1, "rejected": 1}
    with Study(served).transaction(write=False) as db:
        assert db.execute("SELECT DISTINCT reason FROM drops") == [("rejected: copied",)]
    judge_all(served)
    assert set(kept_votes(served).values()) == {1}
    assert committed(served) == before.assignments * Decimal("2.40")


def test_a_rejection_that_broke_off_gives_back_nothing(served: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settle_by_hand(served)
    publish(served, yes=True)
    judge_all(served)
    spent = committed(served)
    due = pay(served, dry_run=True).dues[0]
    with monkeypatch.context() as broken:
        broken.setattr(MTurkCrowd, "reject", _dead)
        with pytest.raises(CrowdError):
            reject(served, due.assignment_id, reason="copied")
    assert committed(served) == spent
    pay(served)
    assert committed(served) == spent


def test_a_rejection_that_was_made_and_not_recorded_is_found(
    served: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settle_by_hand(served)
    publish(served, yes=True)
    assert person(served, "reader").take_hit()
    collect(served)
    (due,), spent = pay(served, dry_run=True).dues, committed(served)
    with monkeypatch.context() as broken:
        broken.setattr(MTurkCrowd, "reject", _then_dead(MTurkCrowd.reject))
        with pytest.raises(CrowdError):
            reject(served, due.assignment_id, reason="copied")
    assert committed(served) == spent, "nobody knows yet whether it was made"
    for _ in range(2):
        collect(served)
        # the pairs are asked again by one HIT more, for the same price
        assert committed(served) == spent
        with Study(served).transaction(write=False) as db:
            assert db.execute("SELECT DISTINCT reason FROM drops") == [
                ("rejected: by a call that was interrupted",)
            ]
            assert find_rejection(db, due.assignment_id, "sandbox") is not None


def _dead(*_: object, **__: object) -> None:
    raise CrowdError("the line is dead")


def test_a_bonus_that_broke_off_is_not_paid_again_a_day_later(
    served: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The marketplace forgets a request token after 24 hours."""
    publish(served, yes=True)
    work(served, workers=2, error=0.0, temper=["quitter", "quitter"], truth=TRUTH, most=1)
    pay_bonus = MTurkCrowd.bonus

    def break_off(crowd: MTurkCrowd, *what: object, **token: object) -> None:
        pay_bonus(crowd, *what, **token)  # type: ignore[arg-type]
        raise CrowdError("the line is dead")

    with monkeypatch.context() as broken:
        broken.setattr(MTurkCrowd, "bonus", break_off)
        with pytest.raises(CrowdError):
            collect(served)
    with Study(served).transaction() as db:
        db.execute("UPDATE intents SET intended = intended - 90000")
    from prefjudge.database import Database

    market = Database(f"sqlite:///{served / MARKETPLACE_FILE}")
    with market.transaction() as db:
        db.execute("UPDATE request_tokens SET created = created - 90000")
    judge_all(served)
    with market.transaction(write=False) as db:
        paid = db.execute("SELECT assignment_id, count(*) FROM bonuses GROUP BY assignment_id")
    market.close()
    assert paid, "nobody stopped early"
    assert {count for _, count in paid} == {1}


def test_who_stopped_early_and_was_approved_by_the_delay_gets_no_bonus_besides(
    served: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PREFJUDGE_PAY__WHEN", "pay")
    publish(served, yes=True)
    work(served, workers=2, error=0.0, temper=["quitter", "quitter"], truth=TRUTH)
    collect(served)
    early = [due for due in pay(served, dry_run=True).dues if due.act == "prorate"]
    assert len(early) > 1, "too few stopped early"
    with open_crowd(Study(served), "sandbox") as crowd:
        crowd.approve(early[0].assignment_id)
        assert [crowd.state(due.assignment_id) for due in early[:2]] == ["approved", "submitted"]
    pay(served)
    from prefjudge.database import Database

    market = Database(f"sqlite:///{served / MARKETPLACE_FILE}")
    with market.transaction(write=False) as db:
        paid = {name for (name,) in db.execute("SELECT assignment_id FROM bonuses")}
    market.close()
    assert paid == {due.assignment_id for due in early[1:]}
    assert not pay(served, dry_run=True).dues


COLLECT = [
    sys.executable,
    "-c",
    "import sys, prefjudge; from prefjudge.field import pay as spending; spending.LOCK_TIMEOUT = 900; "
    "prefjudge.collect(sys.argv[1])",
]


def collect_at_once(study: Path, processes: int) -> None:
    started = [
        subprocess.Popen([*COLLECT, str(study)], stderr=subprocess.PIPE, text=True) for _ in range(processes)
    ]
    said = [process.communicate()[1] for process in started]
    assert [process.returncode for process in started] == [0] * processes, said


@pytest.mark.parametrize("store", ["sqlite", "postgresql"])
def test_collects_at_once_take_turns(tmp_path: Path, request: pytest.FixtureRequest, store: str) -> None:
    study = tmp_path / "study"
    init(study, config="demo")
    if store == "postgresql":
        cluster: Cluster = request.getfixturevalue("cluster")
        edit(study, ("[pool]", f'store = "{cluster.new_database()}"\n[pool]'))
    pool_demo(study)
    gold(study, accept=True, file=COLLECTION / "gold.tsv")
    publish(study, yes=True)
    work(study, workers=8, error=0.0, temper=["careless"] * 3, truth=TRUTH)
    collect_at_once(study, 3)
    judge_all(study)
    assert set(kept_votes(study).values()) == {1}
    assert committed(study) == status(study).assignments * Decimal("2.40")
    _wait_in_vain(study)


def test_a_hit_that_is_not_shown_keeps_no_other_from_being_collected(
    served: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    publish(served, yes=True)
    work(served, workers=7, error=0.0, truth=TRUTH)
    fetch = MTurkCrowd._fetch
    hidden: list[str] = []

    def all_but_the_first(self: MTurkCrowd, hit_id: str) -> TaskState:
        hidden.append(hit_id)
        if hit_id == hidden[0]:
            raise RefusedError(f"Hit {hit_id} does not exist.")
        return fetch(self, hit_id)

    monkeypatch.setattr(MTurkCrowd, "_fetch", all_but_the_first)
    with pytest.raises(CrowdError, match="1 HIT cannot be read: Hit ") as refused:
        collect(served)
    assert hidden[0] in refused.value.message
    assert status(served).hits == {"closed": 6, "open": 1}
    monkeypatch.undo()
    assert collect(served).finished


def test_a_payment_that_is_refused_keeps_no_other_from_being_made(
    served: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    publish(served, yes=True)
    work(served, workers=7, error=0.0, truth=TRUTH)
    approve = MTurkCrowd.approve
    asked: list[str] = []

    def all_but_the_first(self: MTurkCrowd, assignment_id: str, message: str = "") -> None:
        asked.append(assignment_id)
        if assignment_id == asked[0]:
            raise RefusedError("The account is suspended.")
        approve(self, assignment_id, message)

    monkeypatch.setattr(MTurkCrowd, "approve", all_but_the_first)
    with pytest.raises(CrowdError, match=r"1 assignment cannot be paid: The account is suspended\."):
        collect(served)
    assert len(asked) == 7
    with pytest.raises(CrowdError, match="1 assignment cannot be paid"):
        pay(served)
    monkeypatch.undo()
    assert pay(served).decided == {"approved": 7}
    assert collect(served).finished


def test_hits_in_workers_hands_are_counted(served: Path) -> None:
    publish(served, yes=True)
    with open_marketplace(Study(served)) as door:
        (group,) = (someone := Admin(door).worker(locale="US", approved=20_000)).groups()
        someone.accept({"HITId": group["hit_id"]})
    state = collect(served)
    assert (state.open, state.held) == (7, 1)


def test_nobody_waits_while_publish_asks_and_what_was_agreed_to_is_what_is_paid(served: Path) -> None:
    edit(served, ("budget = 100.00", "budget = 4.80"))
    with pytest.raises(BudgetError):
        publish(served, yes=True)
    edit(served, ("budget = 4.80", "budget = 100.00"))

    def publish_beside(_: object) -> bool:
        began = time.monotonic()
        assert publish(served, yes=True).published == 5
        assert time.monotonic() - began < spending.LOCK_TIMEOUT / 2
        return True

    assert publish(served, confirm=publish_beside).published == 0
    assert status(served).hits == {"open": 7}


def test_what_grows_while_publish_asks_is_asked_again(served: Path) -> None:
    def ask_for_more(_: object) -> bool:
        with Study(served).transaction() as db:
            db.execute("UPDATE pairs SET votes = 2")
        return True

    with Study(served).transaction() as db:  # the pairs' votes are not those of the config
        db.execute("INSERT INTO settings VALUES ('strategy', 'test')")
    with pytest.raises(StudyError, match=r"\$16.80 was confirmed, but it costs \$33.60 now"):
        publish(served, confirm=ask_for_more)
    assert status(served).hits == {}


def test_who_asks_for_experience_is_told_that_invited_people_have_none(served: Path) -> None:
    (warning,) = publish(served, dry_run=True).warnings
    assert "more than 10,000 approved HITs see these HITs" in warning
    edit(served, ("approved_more_than = 10000", ""))
    assert publish(served, dry_run=True).warnings == ()
    edit(served, ("reward = 2.00", "reward = 0.10"))
    assert "less than the floor" in publish(served, dry_run=True).warnings[0]
    edit(served, ("reward = 0.10", "reward = 0"))
    assert publish(served, dry_run=True).warnings == ()


def test_who_lets_the_crowd_pay_before_gold_pairs_show_who_guesses_is_told(served: Path) -> None:
    edit(
        served,
        ("approved_more_than = 10000", ""),
        ('policy = "first-miss"', 'policy = "ladder"'),
        ("reward = 2.00", "reward = 2.00\nauto_approval_days = 2"),
    )
    assert publish(served, dry_run=True).warnings == ()
    for days, said in ((1, "pays after 1 day what"), (0, "pays at once what")):
        edit(served, (f"auto_approval_days = {days + 1}", f"auto_approval_days = {days}"))
        (warning,) = publish(served, dry_run=True).warnings
        assert said in warning
        assert "wait 2 days" in warning
    edit(served, ("reward = 2.00", "reward = 0"))
    assert publish(served, dry_run=True).warnings == ()


def test_an_unpaid_study_needs_no_bonus_for_an_early_exit(served: Path) -> None:
    edit(served, ("reward = 2.00", "reward = 0"))
    publish(served, yes=True)
    work(served, workers=3, error=0.0, temper=["quitter", "quitter", "quitter"], truth=TRUTH, most=1)
    state = collect(served)
    assert state.collected == 3
    assert pay(served).decided == {"approved": 3}
    assert committed(served) == 0


def _wait_in_vain(study: Path) -> None:
    holder = Study(study)
    patience = spending.LOCK_TIMEOUT
    with pytest.MonkeyPatch.context() as hasty, holder.database.exclusive(1.0) as alone:
        assert alone
        hasty.setattr(spending, "LOCK_TIMEOUT", 0.2)
        began = time.monotonic()
        for verb in (collect, pay):
            with pytest.raises(
                StudyError, match=r"another verb is .* in this study\nWait until it has ended"
            ):
                verb(study)
        assert time.monotonic() - began < patience / 2
    collect(study)


def test_a_disputed_rejection_is_answered_or_paid_after_all_once(
    served: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    settle_by_hand(served)
    publish(served, yes=True)
    reader = person(served, "reader")
    assert (reader.take_hit(), reader.take_hit()) == (True, True)
    collect(served)
    first, second = [due.assignment_id for due in pay(served, dry_run=True).dues]
    for ident in (first, second):
        assert reject(served, ident, reason="copied").done == "rejected"
        assert reject(served).disputes == ()
    for ident in (first, second):
        reader.post(f"/assignments/{ident}/dispute", {"text": "I read \u202e it"})
    called: list[MTurkCrowd] = []
    asked = MTurkCrowd.disputes

    def counted(crowd: MTurkCrowd) -> Sequence[Dispute]:
        called.append(crowd)
        return asked(crowd)

    with monkeypatch.context() as noted:
        noted.setattr(MTurkCrowd, "disputes", counted)
        with Study(served).transaction() as db:
            save_disputed(db, SANDBOX, 0, time.time())
        assert (collect(served).disputes, len(called)) == (0, 0), "it was asked within a minute"
        with Study(served).transaction() as db:
            save_disputed(db, SANDBOX, 0, time.time() - 61)
        assert [collect(served).disputes for _ in range(3)] == [2, 2, 2]
        assert len(called) == 1
        assert status(served).disputes == 2
    capsys.readouterr()
    show_status(status(served), study=served)
    with pytest.raises(NotFinished):
        show_collected(lambda progress: collect(served), study=served, live=False)
    assert capsys.readouterr().err.count(f"disputed; read and answer: prefjudge reject {served}") == 2
    spent = committed(served)
    found = reject(served).disputes
    assert sorted(one.assignment for one in found) == sorted([first, second])
    assert {one.text for one in found} == {"I read \u202e it"}
    show(reject(served))
    told = capsys.readouterr().out
    assert first in told
    assert "\u202e" not in told, "what a worker wrote does not command the terminal"
    assert reject(served, first, reason="It is word for word.").done == "answered"
    assert (status(served).disputes, collect(served).disputes) == (1, 1)
    with pytest.raises(StudyError, match="waits for a decision"):
        reject(served, first, reason="Again.")
    with monkeypatch.context() as broken:
        broken.setattr(MTurkCrowd, "overturn", _then_dead(MTurkCrowd.overturn))
        with pytest.raises(CrowdError):
            reject(served, second, overturn=True, reason="You are right.")
    for _ in range(2):
        assert reject(served, second, overturn=True, reason="You are right.").done == "paid after all"
    assert committed(served) == spent + Decimal("2.40"), "one was paid after all, once"
    assert status(served).disputes == 0
    assert reject(served).disputes == ()
    history = {one["assignment_id"]: one for one in reader.get("/history")["assignments"]}
    assert [history[ident]["dispute_answer"] for ident in (first, second)] == [
        "It is word for word.",
        "You are right.",
    ]
    assert [history[ident]["status"] for ident in (first, second)] == ["Rejected", "Approved"]
    with pytest.raises(StudyError, match="has rejected"):
        reject(served, "3NOSUCH", overturn=True, reason="r")
    with monkeypatch.context() as late:
        late.setattr("prefjudge.marketplace.hits.assignments.OVERTURN_WITHIN", 0)
        with pytest.raises(
            CrowdError, match=r"is rejected, so it cannot become approved\n.*30 days.*SendBonus"
        ):
            reject(served, first, overturn=True, reason="After all.")
    assert committed(served) == spent + Decimal("2.40"), "what was refused commits nothing"


def _then_dead(made: Callable[..., None]) -> Callable[..., None]:
    def lost(*given: object) -> None:
        made(*given)
        _dead()

    return lost


def test_where_nobody_can_dispute_the_verb_says_so(served: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(crowd, "DISPUTED", "3NOSUCHKIND")  # as at any other marketplace
    with pytest.raises(CrowdError, match="workers cannot dispute a rejection"):
        reject(served)
    with pytest.raises(StudyError, match="a reason is for one assignment"):
        reject(served, reason="r")
