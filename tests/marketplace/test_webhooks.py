"""Where notifications may be posted, and how little a hook can do to who posts."""

import contextlib
import socket
import threading
import time
import tracemalloc

import pytest

from prefjudge.marketplace import calls
from prefjudge.marketplace.notifications import webhooks

INSIDE = [
    "127.0.0.1",
    "10.0.0.5",
    "192.168.1.1",
    "169.254.169.254",
    "[::1]",
    "[fe80::1]",
    "[::ffff:10.0.0.5]",
]


@pytest.fixture
def hook():
    """Start a hook that answers as the given function does; return its port."""
    opened = []

    def start(answer):
        listening = socket.create_server(("127.0.0.1", 0))
        opened.append(listening)

        def serve():
            # The socket is closed at the end, whether anybody came or not, and who came may be gone.
            with contextlib.suppress(OSError):
                connection, _ = listening.accept()
                with connection:
                    connection.recv(65536)
                    answer(connection)

        threading.Thread(target=serve, daemon=True).start()
        return listening.getsockname()[1]

    yield start
    for one in opened:
        one.close()


def post(port, *, inside=True, host="127.0.0.1"):
    return webhooks.post(f"http://{host}:{port}/e?a=1", b"{}", {"X-Delivery": 1}, inside=inside)


@pytest.mark.parametrize("host", ["localhost", *INSIDE])
def test_a_public_marketplace_posts_to_nothing_inside(host):
    assert "inside" in webhooks.refusal(f"https://{host}/", inside=False)
    assert webhooks.refusal(f"https://{host}:8443/", inside=True) == ""


def test_only_a_private_marketplace_posts_in_clear_text_and_to_itself():
    assert webhooks.refusal("http://localhost:8000/hook", inside=True) == ""
    assert webhooks.refusal("http://[::1]:8000/hook", inside=True) == ""
    assert webhooks.refusal("http://localhost:8000/hook", inside=False)
    assert webhooks.refusal("https://hook.example/events?key=1", inside=False) == ""


def test_a_name_that_stands_for_an_address_inside_is_not_called(hook, monkeypatch):
    called = []
    port = hook(lambda connection: called.append(connection))
    found = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", port))]
    monkeypatch.setattr(calls.socket, "getaddrinfo", lambda *_, **__: found)
    with pytest.raises(OSError, match="inside this marketplace's network"):
        post(port, inside=False, host="hook.example")
    assert called == []


def test_the_status_is_what_counts(hook):
    port = hook(lambda it: it.sendall(b"HTTP/1.1 503 Later\r\nContent-Length: 0\r\n\r\n"))
    assert post(port) == 503


def test_what_a_hook_pours_out_is_not_read(hook):
    def flood(connection):
        connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
        for _ in range(100):
            connection.sendall(b"x" * 1_000_000)

    port = hook(flood)
    tracemalloc.start()
    assert post(port) == 200
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 5_000_000


def test_a_hook_that_drips_is_left(hook, monkeypatch):
    monkeypatch.setattr(calls, "TIMEOUT", 0.5)

    def drip(connection):
        while True:
            connection.sendall(b"H")
            time.sleep(0.05)

    began = time.monotonic()
    with pytest.raises(OSError, match=r"no HTTP|reset"):
        post(hook(drip))
    assert time.monotonic() - began < 5


@pytest.mark.parametrize("answer", [b"", b"SSH-2.0-OpenSSH_9\r\n", b"\0" * 100_000])
def test_what_is_no_http_is_a_failure(hook, answer):
    with pytest.raises(OSError, match=r"no HTTP|reset"):
        post(hook(lambda connection: connection.sendall(answer)))
