"""The short way of calling a marketplace gives what boto3 gives, and leaves to boto3 whatever goes wrong."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

import pytest
from botocore.client import BaseClient

from prefjudge.crowd.mturk import MTurkCrowd
from prefjudge.crowd.mturk.client import Client, DirectCalls, WrongStateError, can_call
from prefjudge.crowd.protocol import RefusedError
from prefjudge.errors import CrowdError
from prefjudge.marketplace.api.wire import Fault
from prefjudge.marketplace.operator import LOCAL_KEY
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
    ask, cut = DirectCalls._ask, [b'{"AvailableBalance": "1', b"", b"[]"]

    def halved(self: DirectCalls, target: str, body: bytes) -> Any:
        answer = ask(self, target, body)
        return (answer[0], cut.pop()) if answer and cut else answer

    monkeypatch.setattr(DirectCalls, "_ask", halved)
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
def answering(*answers: bytes) -> Iterator[tuple[DirectCalls, list[bytes]]]:
    """A server that gives an answer to each request, each on the connection that is open, and hangs up.

    After a strange answer it hangs up at once: who believes that more will come need not wait for it.
    """
    came: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            left = list(answers)
            while left:
                there, _ = server.accept()
                with there:
                    while left and (request := read_request(there)):
                        came.append(request)
                        there.sendall(answer := left.pop(0))
                        if answer != OK:
                            break

        serving = threading.Thread(target=serve, daemon=True)
        serving.start()
        yield direct(server.getsockname()[1]), came
        serving.join(5)


def read_request(there: socket.socket) -> bytes:
    """The body of a request, which is JSON: two bytes or more; nothing where the client has hung up."""
    came = b""
    while b"\r\n\r\n" not in came or not came.endswith(b"}"):
        try:
            piece = there.recv(65_536)
        except ConnectionError:  # it hung up before it had read the answer
            piece = b""
        if not piece:
            return b""
        came += piece
    return came.partition(b"\r\n\r\n")[2]


def direct(port: int) -> DirectCalls:
    found = Client(f"http://127.0.0.1:{port}", signed=None, key=("a", "b"))._direct
    assert found is not None
    return found


OK = b'HTTP/1.1 200 OK\r\nContent-Length: 25\r\n\r\n{"AvailableBalance": "1"}\n'


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 500 No\r\nContent-Length: 2\r\n\r\n{}",
        b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{}",
        b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 3\r\n\r\n\x1f\x8b\x08",
        b"HTTP/1.1 200 " + b"x" * 70_000,
        b"\r\n\r\n",
    ],
)
def test_plain_answers_only_are_taken_and_then_it_connects_again(answer: bytes) -> None:
    with answering(OK, answer, OK) as (calls, came):
        asked = [calls.call("get_account_balance", {"n": number}) for number in range(2)]
        calls._line.close()  # as a server may at any time
        asked.append(calls.call("get_account_balance", {"n": 2}))
        calls._line.close()
    assert [found and found["AvailableBalance"] for found in asked] == ["1", None, "1"]
    assert came == [b'{"n": 0}', b'{"n": 1}', b'{"n": 2}']


def test_no_half_of_an_answer_is_taken_and_none_of_another_call(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        calls = direct(silent.getsockname()[1])
        calls._timeout = 0.05
        assert calls.call("get_account_balance", {}) is None
        assert calls._line.sock is None, "an answer that comes late is not taken for that of the next call"
    assert calls.call("get_account_balance", {}) is None, "nobody listens"

    def interrupted(_: object) -> None:
        raise KeyboardInterrupt

    with answering(OK, OK) as (calls, _):
        with monkeypatch.context() as broken:
            broken.setattr("http.client.HTTPConnection.getresponse", interrupted)
            with pytest.raises(KeyboardInterrupt):
                calls.call("get_account_balance", {})
        assert calls._line.sock is None
        assert calls.call("get_account_balance", {}) is not None
        calls._line.close()


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
