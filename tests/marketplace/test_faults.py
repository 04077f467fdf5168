"""What boto3 makes of replies that are lost and of calls that are refused: how often a HIT is made."""

import pytest
from botocore.exceptions import ClientError, ConnectionClosedError

from tests.marketplace.faults import Fault
from tests.marketplace.people import new_requester, offer


def hits(requester):
    return requester.list_hits(MaxResults=100)["NumResults"]


def test_a_lost_reply_without_a_token_makes_two_hits(market, faults):
    faults.add(Fault("drop", "CreateHIT"))
    retrying = new_requester(market.endpoint, attempts=3)
    offer(retrying)
    assert hits(retrying) == 2


def test_a_lost_reply_with_a_token_makes_one(market, faults):
    faults.add(Fault("drop", "CreateHIT"))
    retrying = new_requester(market.endpoint, attempts=3)
    with pytest.raises(retrying.exceptions.RequestError, match="UniqueRequestToken"):
        offer(retrying, UniqueRequestToken="t")
    assert hits(retrying) == 1


def test_a_lost_reply_reaches_a_client_that_does_not_retry(requester, faults):
    faults.add(Fault("drop", after=1))
    requester.get_account_balance()
    with pytest.raises(ConnectionClosedError):
        requester.get_account_balance()
    requester.get_account_balance()


@pytest.mark.parametrize(("kind", "code"), [("throttle", "ThrottlingException"), ("error", "ServiceFault")])
def test_refusals_do_not_act_and_are_retried(market, requester, faults, kind, code):
    faults.add(Fault(kind, "CreateHIT", times=2))
    with pytest.raises(ClientError) as caught:
        offer(requester)
    assert caught.value.response["Error"]["Code"] == code
    assert hits(requester) == 0
    offer(new_requester(market.endpoint, attempts=2))
    assert hits(requester) == 1
