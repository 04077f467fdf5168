"""The short way of calling a marketplace gives what boto3 gives, and leaves to boto3 whatever goes wrong."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from botocore.client import BaseClient
from botocore.httpsession import URLLib3Session

from prefjudge.crowd.mturk import MTurkCrowd
from prefjudge.crowd.mturk.client import Client, WrongStateError
from prefjudge.crowd.mturk.direct import can_call
from prefjudge.crowd.protocol import RefusedError
from prefjudge.errors import CrowdError
from prefjudge.marketplace.api.faults import Fault
from prefjudge.marketplace.keys import LOCAL_KEY
from prefjudge.marketplace.server import Server, start
from tests.crowd.contract import task


@pytest.fixture(scope="module")
def market(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with start(f"sqlite:///{tmp_path_factory.mktemp('market')}/market.db") as running:
        yield running


@pytest.fixture
def short(market: Server) -> Client:
    return Client(market.endpoint, signed=None, key=(LOCAL_KEY, market.admin_token))


@pytest.fixture
def long(market: Server) -> Client:
    client = Client(market.endpoint, signed=None, key=(LOCAL_KEY, market.admin_token))
    client.__dict__["_direct"] = None
    return client


@pytest.fixture
def by_boto(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The calls that boto3 makes, without its waits between two attempts."""
    called: list[str] = []
    made = BaseClient._make_api_call  # type: ignore[attr-defined]

    def noted(self: Any, name: str, parameters: Any) -> Any:
        called.append(name)
        return made(self, name, parameters)

    monkeypatch.setattr(BaseClient, "_make_api_call", noted)
    monkeypatch.setattr("botocore.retries.standard.ExponentialBackoff.delay_amount", lambda *_: 0)
    return called


def told(answer: dict[str, Any]) -> dict[str, Any]:
    """What differs from call to call is left out."""
    about = answer.pop("ResponseMetadata")
    headers = {
        name: text for name, text in about["HTTPHeaders"].items() if name not in ("date", "x-amzn-requestid")
    }
    return {**answer, "status": about["HTTPStatusCode"], "headers": headers}


def test_answers_are_those_of_boto3(market: Server, short: Client, long: Client, by_boto: list[str]) -> None:
    crowd = MTurkCrowd(market.endpoint, key=(LOCAL_KEY, market.admin_token))
    hit_id = crowd.publish(task("plain"))
    crowd.close(hit_id)  # a time among the parameters
    calls: list[tuple[str, dict[str, Any]]] = [
        ("get_hit", {"HITId": hit_id}),
        ("list_hits", {"MaxResults": 100}),
        ("list_assignments_for_hit", {"HITId": hit_id}),
        ("get_account_balance", {}),
    ]
    answers = [short.call(operation, **given) for operation, given in calls]
    assert by_boto == [], "boto3 was not needed"
    assert answers[0]["HIT"]["Expiration"] <= datetime.now(UTC)
    assert list(map(told, answers)) == [told(long.call(operation, **given)) for operation, given in calls]


@pytest.mark.parametrize("kind", ["drop", "throttle", "error"])
def test_a_call_that_fails_once_is_made_again(
    market: Server, short: Client, by_boto: list[str], kind: str
) -> None:
    market.state.faults.add(Fault(operation="GetAccountBalance", kind=kind))
    assert short.call("get_account_balance")["AvailableBalance"]
    assert by_boto == ["GetAccountBalance"]


def test_half_an_answer_is_none(short: Client, by_boto: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    send, cut = URLLib3Session.send, [b'{"AvailableBalance": "1', b"", b"[]"]

    def halved(self: Any, request: Any) -> Any:
        answer = send(self, request)
        if cut and "amz-sdk-invocation-id" not in request.headers:
            answer._content = cut.pop()
        return answer

    monkeypatch.setattr(URLLib3Session, "send", halved)
    for _ in range(3):
        assert short.call("get_account_balance")["AvailableBalance"] != "1"
    assert len(by_boto) == 3


def test_refusals_are_explained_by_boto3(market: Server, short: Client, by_boto: list[str]) -> None:
    with pytest.raises(RefusedError, match="refused get_hit: "):
        short.call("get_hit", HITId="3NONE")
    with pytest.raises(CrowdError, match="Unknown parameter"):
        short.call("get_hit", HITId="3NONE", Strange=1)
    stranger = Client(market.endpoint, signed=None, key=(LOCAL_KEY, "another secret"))
    with pytest.raises(CrowdError, match="signature does not match"):
        stranger.call("get_account_balance")
    assert by_boto == ["GetHIT", "GetHIT", "GetAccountBalance"]
    crowd = MTurkCrowd(market.endpoint, key=(LOCAL_KEY, market.admin_token))
    with pytest.raises(WrongStateError):
        short.call("delete_hit", HITId=crowd.publish(task("still open")))


def test_what_is_not_plain_is_boto3s(short: Client, market: Server) -> None:
    for address in (
        "https://a.example",
        "http://a.example/behind",
        "http://a.example/?x=1",
        "http://u@a.example",
    ):
        assert not can_call(address)
        assert Client(address, signed=None, key=("a", "b"))._direct is None
    assert Client(market.endpoint, signed=False, key=None)._direct is None
    assert can_call(market.endpoint)
    assert short._direct is not None
