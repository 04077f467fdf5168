"""Who connects much and says little does not keep others out."""

import http.client
import socket
import time
from contextlib import suppress

import pytest
import urllib3

from prefjudge.marketplace.server import start
from prefjudge.marketplace.settings import Settings
from prefjudge.marketplace.site import state
from tests.marketplace.faults import Fault


def connect(server, head=b""):
    connection = socket.create_connection(server._socket.getsockname(), timeout=10)
    connection.sendall(head)
    return connection


def answers(server):
    time.sleep(0.05)
    asked = b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
    with suppress(ConnectionError), connect(server, asked) as one:
        return one.recv(1000).startswith(b"HTTP/1.1 200")
    return False


def is_closed(connection, within=60.0):
    connection.settimeout(within)
    try:
        while connection.recv(1000):
            pass
        return True
    except ConnectionResetError:
        return True
    except TimeoutError:
        return False


@pytest.mark.parametrize(
    "head",
    [
        b"",
        b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nX-a: ",
        b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\nGET /healthz HTTP/1.1\r\n",
    ],
)
def test_half_a_request_is_not_waited_for(market, monkeypatch, head):
    monkeypatch.setattr(state, "CHECK_SECONDS", 0.3)
    with connect(market, head) as connection:
        assert is_closed(connection)


def test_a_slow_answer_is_waited_for(market, faults, monkeypatch):
    monkeypatch.setattr(state, "CHECK_SECONDS", 0.1)
    faults.add(Fault("delay", seconds=0.8))
    target = {"X-Amz-Target": "MTurkRequesterServiceV20170117.GetAccountBalance"}
    assert urllib3.request("POST", market.endpoint, body=b"{}", headers=target, retries=False).status == 200


def test_one_who_asks_again_and_again_keeps_the_connection(market, monkeypatch):
    monkeypatch.setattr(state, "CHECK_SECONDS", 1.0)
    connection = http.client.HTTPConnection(*market._socket.getsockname(), timeout=10)
    connection.connect()
    kept = connection.sock
    for _ in range(12):
        connection.request("GET", "/healthz", headers={"X-Forwarded-For": "203.0.113.9"})
        assert connection.getresponse().read()
        time.sleep(0.15)
    assert connection.sock is kept
    connection.close()


def test_a_body_that_drips_is_not_waited_for(market, monkeypatch):
    monkeypatch.setattr(state, "BODY_SECONDS", 0.3)
    head = b"POST /signin HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 1000\r\n\r\na"
    with connect(market, head) as connection:
        assert connection.recv(1000).startswith(b"HTTP/1.1 408")


@pytest.mark.parametrize("path", [b"/signin", b"/"])
def test_who_goes_away_in_the_middle_is_no_failure(market, caplog, path):
    target = b"X-Amz-Target: MTurkRequesterServiceV20170117.GetAccountBalance\r\n" if path == b"/" else b""
    head = b"POST " + path + b" HTTP/1.1\r\nHost: 127.0.0.1\r\n" + target + b"Content-Length: 1000\r\n\r\na"
    with caplog.at_level("INFO"):
        connect(market, head).close()
        for _ in range(1000):
            if logged := [
                one for one in caplog.records if getattr(one, "fields", {}).get("route") == path.decode()
            ]:
                break
            time.sleep(0.05)
        assert logged[0].fields["status"] == 499
        time.sleep(0.1)
    assert [one.message for one in caplog.records if one.levelname == "ERROR"] == []


def test_one_address_has_so_many_connections(tmp_path, monkeypatch):
    monkeypatch.setattr(state, "MAX_CONNECTIONS", 5)
    with start(f"sqlite:///{tmp_path}/m.db", settings=Settings(proxy="192.0.2.1")) as server:
        kept = [connect(server) for _ in range(5)]
        over = connect(server)
        assert is_closed(over)
        kept.pop().close()
        assert any(answers(server) for _ in range(200)), "there is room for one again, in a moment"
        for connection in (*kept, over):
            connection.close()


def test_the_web_server_in_front_has_any_number(market, monkeypatch):
    monkeypatch.setattr(state, "MAX_CONNECTIONS", 2)
    opened = [connect(market) for _ in range(6)]
    assert not is_closed(opened[-1], within=0.3)
    for connection in opened:
        connection.close()
