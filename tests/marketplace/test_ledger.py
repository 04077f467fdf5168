"""Money: held, paid, released; never lost."""

import contextlib
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prefjudge.errors import ConfigError
from prefjudge.marketplace.errors import RequestError, from_cents, to_cents
from prefjudge.marketplace.operator import issue_key
from prefjudge.marketplace.server import start
from prefjudge.marketplace.store import ledger
from prefjudge.marketplace.store.store import Fees
from prefjudge.steps.serve import serve
from tests.marketplace.people import Admin, new_requester, offer, turk_error


def balances(requester):
    found = requester.get_account_balance()
    return found["AvailableBalance"], found["OnHoldBalance"]


def assert_balanced(server):
    with server.marketplace.transaction() as tx:
        assert ledger.imbalance(tx) == []
        (total,) = tx.execute("SELECT sum(cents) FROM accounts")[0]
        (held,) = tx.execute("SELECT coalesce(sum(held), 0) FROM hits")[0]
        (on_hold,) = tx.execute("SELECT coalesce(sum(cents), 0) FROM accounts WHERE account LIKE 'hold:%'")[0]
    assert total == 0
    assert held == on_hold


@given(st.integers(0, 10**9))
def test_cents_survive_the_journey(cents):
    assert to_cents(from_cents(cents), "x") == cents


@pytest.mark.parametrize(
    ("text", "cents"), [("2", 200), ("2.", 200), ("2.4", 240), ("0.05", 5), ("007.50", 750)]
)
def test_amounts(text, cents):
    assert to_cents(text, "x") == cents


@pytest.mark.parametrize("text", ["", ".5", "1.234", "-1", "1e3", "٣", "1,00", "1" * 10])
def test_what_is_no_amount(text):
    with pytest.raises(RequestError):
        to_cents(text, "x")


@pytest.mark.parametrize(
    ("cents", "count", "fee"),
    [(200, 1, 40), (200, 9, 40), (200, 10, 80), (1, 1, 1), (0, 1, 0), (0, 10, 0), (3, 1, 1), (8, 1, 2)],
)
def test_fees(cents, count, fee):
    assert Fees().on(cents, count) == fee
    assert Fees(percent=0, many_percent=0).on(cents, count) == 0


def test_what_a_hit_may_cost_is_held_until_it_is_decided(market, requester, worker, admin):
    hit = offer(requester, MaxAssignments=3)
    assert balances(requester) == ("9992.80", "7.20")
    first, second = worker.do(hit), admin.worker().do(hit)
    requester.approve_assignment(AssignmentId=first)
    assert balances(requester) == ("9992.80", "4.80")
    requester.reject_assignment(AssignmentId=second, RequesterFeedback="no")
    assert balances(requester) == ("9995.20", "2.40")
    requester.approve_assignment(AssignmentId=second, OverrideRejection=True)
    assert balances(requester) == ("9992.80", "2.40")
    requester.update_expiration_for_hit(HITId=hit["HITId"], ExpireAt=0)
    requester.delete_hit(HITId=hit["HITId"])
    assert balances(requester) == ("9995.20", "0.00")
    money = admin.call("GET", "/admin/overview")["money"]
    assert money == {
        "paid": "4.00",
        "bonus": "0.00",
        "fees": "0.80",
        "held": "0.00",
        "owed": "4.00",
        "paid_out": "0.00",
    }
    assert_balanced(market)


def test_a_bonus_is_paid_once_a_token(market, requester, worker, clock):
    ident = worker.do(offer(requester))
    bonus = {
        "WorkerId": worker.worker_id,
        "AssignmentId": ident,
        "BonusAmount": "0.75",
        "Reason": "stopped early",
    }
    requester.send_bonus(**bonus, UniqueRequestToken="b1")
    assert turk_error(requester.send_bonus, **bonus, UniqueRequestToken="b1") == "DuplicateRequest"
    clock.advance(86401)
    requester.send_bonus(**bonus, UniqueRequestToken="b1")
    (first, _) = requester.list_bonus_payments(AssignmentId=ident)["BonusPayments"]
    assert (first["BonusAmount"], first["Reason"]) == ("0.75", "stopped early")
    hit = requester.get_assignment(AssignmentId=ident)["HIT"]["HITId"]
    assert requester.list_bonus_payments(HITId=hit)["NumResults"] == 2
    assert turk_error(requester.list_bonus_payments, HITId=hit, AssignmentId=ident) == "MissingParameters"
    assert turk_error(requester.send_bonus, **{**bonus, "WorkerId": "ANOTHER"}) == "InvalidParameterValue"
    assert turk_error(requester.send_bonus, **{**bonus, "BonusAmount": "0.00"}) == "InvalidParameterValue"
    assert worker.get("/history")["earnings"]["bonus"] == "1.50"
    assert_balanced(market)


def test_who_was_paid_for_a_part_reads_that_and_not_a_rejection(requester, worker, admin):
    early, wrong = (worker.do(offer(requester, Title=title)) for title in ("early", "wrong"))
    bonus = {"WorkerId": worker.worker_id, "AssignmentId": early, "BonusAmount": "0.75", "Reason": "a part"}
    requester.send_bonus(**bonus, UniqueRequestToken="b")
    for ident in (early, wrong):
        requester.reject_assignment(AssignmentId=ident, RequesterFeedback="see the bonus")
    shown = worker.get("/history")
    assert [(one["title"], one["in_part"]) for one in shown["assignments"]] == [
        ("wrong", False),
        ("early", True),
    ]
    assert shown["earnings"]["rejected_count"] == 1
    requester.approve_assignment(AssignmentId=early, OverrideRejection=True)
    (known,) = admin.call("GET", "/admin/overview")["workers"]
    assert (known["approved"], known["rejected"]) == (1001, 11), "what was not counted is not taken back"


def test_a_worker_is_paid_what_the_hit_was_accepted_for(requester, worker, market):
    hit = offer(requester, MaxAssignments=2)
    ident = worker.do(hit)
    requester.reject_assignment(AssignmentId=ident, RequesterFeedback="no")
    cheap = requester.create_hit_type(
        Title="t", Description="d", Reward="0.01", AssignmentDurationInSeconds=600
    )["HITTypeId"]
    requester.update_hit_type_of_hit(HITId=hit["HITId"], HITTypeId=cheap)
    requester.approve_assignment(AssignmentId=ident, OverrideRejection=True)
    shown = worker.get("/history")
    assert shown["earnings"]["balance"] == shown["assignments"][0]["reward"] == "2.00"
    assert_balanced(market)


def test_a_live_marketplace_spends_what_was_paid_in(tmp_path):
    with start(f"sqlite:///{tmp_path}/m.db", sandbox=False) as server:
        requester, admin = new_requester(server.endpoint), Admin(server)
        assert balances(requester) == ("0.00", "0.00")
        assert turk_error(offer, requester) == "InsufficientFunds"
        (local,) = admin.call("GET", "/admin/overview")["requesters"]
        admin.call(
            "POST", "/admin/funds", {"requester_id": local["requester_id"], "amount": "5.00"}, status=201
        )
        hit = offer(requester, MaxAssignments=2)
        assert balances(requester) == ("0.20", "4.80")
        ident = admin.worker().do(hit)
        bonus = {"WorkerId": "A", "AssignmentId": ident, "BonusAmount": "9", "Reason": "r"}
        bonus["WorkerId"] = requester.get_assignment(AssignmentId=ident)["Assignment"]["WorkerId"]
        assert turk_error(requester.send_bonus, **bonus) == "InsufficientFunds"
        assert (
            turk_error(
                requester.create_additional_assignments_for_hit,
                HITId=hit["HITId"],
                NumberOfAdditionalAssignments=1,
            )
            == "InsufficientFunds"
        )
        assert balances(requester) == ("0.20", "4.80")
        assert_balanced(server)


def test_a_key_issued_beside_a_live_marketplace_is_worth_nothing(tmp_path):
    store = f"sqlite:///{tmp_path}/m.db"
    with start(store, sandbox=False) as server:
        key = serve(store=store, new_key="alice")
        assert balances(new_requester(server.endpoint, (key.access_key, key.secret_key)))[0] == "0.00"


@pytest.mark.parametrize(("first", "then"), [(True, False), (False, True)])
def test_play_money_never_becomes_real(tmp_path, first, then):
    store = f"sqlite:///{tmp_path}/m.db"
    issue_key(store, "alice", sandbox=first)
    with pytest.raises(ConfigError, match=r"what it holds is (play|real) money"):
        start(store, sandbox=then)
    with start(store, sandbox=first) as server:
        assert server.marketplace.sandbox is first


@pytest.mark.parametrize(("reward", "count"), [("99999999.99", 500_000_000), ("999999999.99", 10**9)])
def test_more_money_than_there_is_is_refused(market, requester, admin, reward, count):
    code = turk_error(offer, requester, Reward=reward, MaxAssignments=count)
    assert code == "InvalidParameterValue"
    offer(requester, Reward="1000.00", MaxAssignments=500_000)
    assert balances(requester)[1] == "700000000.00"
    admin.call("GET", "/admin/overview")
    assert_balanced(market)


def test_the_ledger_balances_whatever_happens(market, requester, admin, clock):
    """A hundred random steps by two workers and their requester."""
    rng, workers = random.Random(7), [admin.worker(), admin.worker()]
    hits, held, done = [], [], []

    def step():
        act = rng.randrange(8)
        if act <= 1 or not hits:
            hits.append(
                offer(requester, MaxAssignments=rng.choice([1, 2, 12]), AutoApprovalDelayInSeconds=900)
            )
        elif act == 2:
            worker, hit = rng.choice(workers), rng.choice(hits)
            answer = worker.request("POST", f"/hits/{hit['HITId']}/accept")
            if answer.status == 201:
                held.append((worker, answer.json()["assignment_id"]))
        elif act == 3 and held:
            worker, ident = held.pop()
            if worker.request("POST", "/mturk/externalSubmit", {"assignmentId": ident}).status == 200:
                done.append(ident)
        elif act == 4 and held:
            worker, ident = held.pop()
            worker.request("POST", f"/assignments/{ident}/return")
        elif act == 5 and done:
            call = rng.choice([requester.approve_assignment, requester.reject_assignment])
            more = {} if call == requester.approve_assignment else {"RequesterFeedback": "x"}
            _quietly(call, AssignmentId=rng.choice(done), **more)
        elif act == 6:
            hit = hits.pop(rng.randrange(len(hits)))["HITId"]
            requester.update_expiration_for_hit(HITId=hit, ExpireAt=0)
            _quietly(requester.delete_hit, HITId=hit)
        else:
            clock.advance(rng.choice([1, 100, 700]))

    for _ in range(100):
        step()
    assert_balanced(market)


def _quietly(call, **params):
    """Make a call that may be refused."""
    with contextlib.suppress(call.__self__.exceptions.RequestError):
        call(**params)
