"""The short way of calling a marketplace gives what boto3 gives, and leaves to boto3 whatever goes wrong."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.client import BaseClient
from botocore.credentials import Credentials

from prefjudge.crowd.mturk import MTurkCrowd
from prefjudge.crowd.mturk.client import Client, WrongStateError
from prefjudge.crowd.mturk.direct import can_call
from prefjudge.crowd.mturk.line import Answer, Line
from prefjudge.crowd.mturk.sigv4 import Signer
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
    ask, cut = Line.ask, [b'{"AvailableBalance": "1', b"", b"[]"]

    def halved(self: Line, request: bytes) -> Answer | None:
        answer = ask(self, request)
        return Answer(answer.headers, cut.pop()) if answer and cut else answer

    monkeypatch.setattr(Line, "ask", halved)
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


@contextmanager
def answering(*answers: bytes) -> Iterator[tuple[Line, list[bytes]]]:
    """A server that gives an answer to each request, each on the connection that is open, and hangs up."""
    came: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            left = list(answers)
            while left:
                there, _ = server.accept()
                with there:
                    while left and (request := there.recv(65_536)):
                        came.append(request)
                        there.sendall(left.pop(0))

        serving = threading.Thread(target=serve, daemon=True)
        serving.start()
        yield Line(*server.getsockname(), timeout=(5.0, 5.0)), came
        serving.join(5)


OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nVary: a\r\nvary: b\r\n\r\n{}"


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 500 No\r\nContent-Length: 2\r\n\r\n{}",
        b"HTTP/1.1 100 Continue\r\n\r\n",
        b"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\n{}",
        b"HTTP/1.1 200 OK\r\n\r\n{}",
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}",
        b"HTTP/1.1 200 OK\r\nContent-Length: -2\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 2\r\n\r\n{}",
        OK + OK,
        b"HTTP/1.1 200 " + b"x" * 70_000,
        b"\r\n\r\n",
    ],
)
def test_a_line_takes_plain_answers_only_and_then_connects_again(answer: bytes) -> None:
    with answering(OK, answer, OK) as (line, came):
        first, strange, last = [line.ask(b"call %d" % number) for number in range(3)]
        line.close()
    assert first == last == Answer({"content-length": "2", "vary": "a, b"}, b"{}")
    assert strange is None
    assert came == [b"call 0", b"call 1", b"call 2"]


def test_a_line_gives_no_half_of_an_answer_and_none_of_another_call(monkeypatch: pytest.MonkeyPatch) -> None:
    with answering(OK[:-1]) as (line, _):
        assert line.ask(b"call") is None, "the server has hung up before the end"
    with socket.create_server(("127.0.0.1", 0)) as silent:
        line = Line(*silent.getsockname(), timeout=(1.0, 0.05))
        assert line.ask(b"call") is None
        assert line._socket is None, "an answer that comes late is not taken for that of the next call"
    assert line.ask(b"call") is None, "nobody listens"

    def interrupted(_: object) -> Answer:
        raise KeyboardInterrupt

    with answering(OK, OK) as (line, _):
        with monkeypatch.context() as broken:
            broken.setattr("prefjudge.crowd.mturk.line._read", interrupted)
            with pytest.raises(KeyboardInterrupt):
                line.ask(b"call")
        assert line._socket is None
        assert line.ask(b"call") is not None
        line.close()


def test_calls_are_signed_as_botocore_signs_them(monkeypatch: pytest.MonkeyPatch) -> None:
    signer = Signer(access_key="AKID", secret="s/e+cret", region="us-east-1", service="mturk-requester")
    theirs = SigV4Auth(Credentials(signer.access_key, signer.secret), signer.service, signer.region)
    for day, body in ((1, b""), (2, b'{"HITId": "3X"}'), (2, '{"a": "ü"}'.encode())):
        now = datetime(2026, 11, day, 23, 59, 59, tzinfo=UTC)
        monkeypatch.setattr("botocore.auth.get_current_datetime", lambda now=now: now)
        told = {"content-type": "application/x-amz-json-1.1", "x-amz-target": "Service.Call"}
        request = AWSRequest("POST", "http://a.example:8000/", headers=told, data=body)
        theirs.add_auth(request)
        ours = signer.sign({**told, "host": "a.example:8000"}, body, now)
        assert ours["authorization"] == request.headers["Authorization"]
        assert ours["x-amz-date"] == request.headers["X-Amz-Date"]


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
