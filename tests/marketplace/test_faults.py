"""Failures on demand, and what boto3 makes of them."""

import pytest
from botocore.exceptions import ClientError, ConnectionClosedError

from prefjudge.marketplace.server import start
from tests.marketplace.people import Admin, new_requester, offer


def hits(requester):
    return requester.list_hits(MaxResults=100)["NumResults"]


def test_a_dropped_reply_without_a_token_makes_two_hits(market, admin):
    admin.call("POST", "/admin/faults", {"operation": "CreateHIT", "kind": "drop"}, status=201)
    retrying = new_requester(market.endpoint, attempts=3)
    offer(retrying)
    assert hits(retrying) == 2


def test_a_dropped_reply_with_a_token_makes_one(market, admin):
    admin.call("POST", "/admin/faults", {"operation": "CreateHIT", "kind": "drop"}, status=201)
    retrying = new_requester(market.endpoint, attempts=3)
    with pytest.raises(retrying.exceptions.RequestError, match="UniqueRequestToken"):
        offer(retrying, UniqueRequestToken="t")
    assert hits(retrying) == 1


def test_a_dropped_reply_reaches_a_client_that_does_not_retry(requester, admin):
    admin.call("POST", "/admin/faults", {"kind": "drop", "after": 1}, status=201)
    requester.get_account_balance()
    with pytest.raises(ConnectionClosedError):
        requester.get_account_balance()
    requester.get_account_balance()


def test_a_dropped_reply_does_not_reach_who_calls_through_a_web_server(requester, admin):
    """Such calls give another address than their connection's, so that it cannot be found by the address."""
    admin.call("POST", "/admin/faults", {"kind": "drop"}, status=201)

    def passed_on(request, **_):
        request.headers["X-Forwarded-For"] = "203.0.113.9"

    requester.meta.events.register("before-send", passed_on)
    with pytest.raises(ConnectionClosedError):
        requester.get_account_balance()


@pytest.mark.parametrize(("kind", "code"), [("throttle", "ThrottlingException"), ("error", "ServiceFault")])
def test_refusals_do_not_act_and_are_retried(market, requester, admin, kind, code):
    admin.call("POST", "/admin/faults", {"operation": "CreateHIT", "kind": kind, "times": 2}, status=201)
    with pytest.raises(ClientError) as caught:
        offer(requester)
    assert caught.value.response["Error"]["Code"] == code
    assert hits(requester) == 0
    offer(new_requester(market.endpoint, attempts=2))
    assert hits(requester) == 1


def test_faults_are_cleared(requester, admin):
    admin.call("POST", "/admin/faults", {"kind": "error", "times": 5}, status=201)
    admin.call("DELETE", "/admin/faults")
    requester.get_account_balance()


@pytest.mark.parametrize(
    "wrong",
    [
        {"kind": "explode"},
        {"kind": ["drop"]},
        {"colour": 1},
        {"times": "x"},
        {"times": 0},
        {"after": 1.5},
        {"after": True},
        {"seconds": "1"},
        {"seconds": 3600},
        {"operation": None},
    ],
)
def test_faults_that_cannot_be_are_refused(requester, admin, wrong):
    admin.call("POST", "/admin/faults", {"kind": "error", **wrong}, status=400)
    requester.get_account_balance()


def test_where_money_is_real_nothing_fails_on_demand(tmp_path):
    with start(f"sqlite:///{tmp_path}/m.db", sandbox=False) as server:
        Admin(server).call("POST", "/admin/faults", {"kind": "error"}, status=409)
        new_requester(server.endpoint).get_account_balance()


def test_a_delayed_call_is_answered(requester, admin):
    admin.call("POST", "/admin/faults", {"kind": "delay", "seconds": 0.05}, status=201)
    requester.get_account_balance()
