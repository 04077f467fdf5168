"""Paying workers out: recorded once, and never more than is owed."""

import csv
import io

import pytest

from prefjudge.marketplace.people.workers import PAYOUT_COLUMNS
from tests.marketplace.people import offer
from tests.marketplace.test_ledger import assert_balanced


@pytest.fixture
def earner(requester, worker):
    """A worker who is owed four dollars."""
    for _ in range(2):
        requester.approve_assignment(AssignmentId=worker.do(offer(requester)))
    return worker


def pay(admin, worker, amount, reference="transfer 1", status=201):
    asked = {"worker_id": worker.worker_id, "amount": amount, "reference": reference}
    return admin.call("POST", "/admin/payouts", asked, status=status)


def owed(admin):
    answer = admin.http.request("GET", f"{admin.endpoint}/admin/payouts", headers=admin.headers)
    assert answer.headers["content-type"].startswith("text/csv")
    return list(csv.reader(io.StringIO(answer.data.decode())))


def test_what_was_paid_out_is_no_longer_owed(market, admin, earner):
    admin.worker()
    pay(admin, earner, "1.50")
    assert owed(admin) == [list(PAYOUT_COLUMNS), [earner.worker_id, "worker1", "4.00", "1.50", "2.50"]]
    seen = admin.call("GET", "/admin/overview")
    assert (seen["money"]["paid_out"], seen["money"]["owed"]) == ("1.50", "2.50")
    assert [(one["earned"], one["owed"]) for one in seen["workers"] if one["name"] == "worker1"] == [
        ("4.00", "2.50")
    ]
    earnings = earner.get("/history")["earnings"]
    assert (earnings["approved"], earnings["balance"]) == ("4.00", "2.50")
    assert_balanced(market)


def test_a_payout_counts_once(market, admin, earner):
    pay(admin, earner, "1.00")
    assert "recorded" in pay(admin, earner, "1.00", status=400)["error"]
    pay(admin, earner, "1.00", reference="transfer 2")
    assert owed(admin)[1][2:] == ["4.00", "2.00", "2.00"]
    assert_balanced(market)


@pytest.mark.parametrize(
    ("amount", "reference"),
    [("4.01", "r"), ("0", "r"), ("-1", "r"), ("much", "r"), ("1", " "), ("1", "r" * 201)],
)
def test_a_payout_that_cannot_be(admin, earner, amount, reference):
    pay(admin, earner, amount, reference, status=400)
    assert owed(admin)[1][3] == "0.00"


def test_nobody_is_paid_who_is_not_here(admin):
    asked = {"worker_id": "ANOBODY", "amount": "1", "reference": "r"}
    assert "does not exist" in admin.call("POST", "/admin/payouts", asked, status=400)["error"]


def test_a_name_is_no_formula(requester, admin):
    requester.approve_assignment(AssignmentId=admin.worker(name="=1+1").do(offer(requester)))
    assert owed(admin)[1][1] == "'=1+1"
