"""The admin's token, from the store's secret or a file of the owner's; options from the environment."""

import os
import pty
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import urllib3

from prefjudge.errors import ConfigError
from prefjudge.marketplace.operator import SHORTEST_TOKEN, read_token
from prefjudge.marketplace.people.requesters import LOCAL_KEY
from prefjudge.marketplace.server import Server, start
from prefjudge.marketplace.settings import Settings
from prefjudge.steps.serve import AdminToken, serve
from tests.cli.conftest import prefjudge
from tests.marketplace.people import Admin, Clock, new_requester

OURS = "a-token-of-our-own-with-enough-characters"


def test_the_printed_token_is_the_one_that_is_served(tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path}/market.db"
    with start(store) as market:
        assert serve(store=store, print_admin_token=True) == AdminToken(admin_token=market.admin_token)
    assert serve(store=store, print_admin_token=True) == AdminToken(admin_token=market.admin_token)


def test_a_token_of_ones_own_takes_the_place_of_the_store_s(tmp_path: Path) -> None:
    store, file = f"sqlite:///{tmp_path}/market.db", tmp_path / "token"
    file.write_text(f"{OURS}\n")
    assert serve(store=store, admin_token_file=file, print_admin_token=True) == AdminToken(admin_token=OURS)
    with start(store) as market:
        made = market.admin_token
    with start(store, settings=Settings(admin_token=read_token(file))) as market:
        assert Admin(market).headers["Authorization"] == f"Bearer {OURS}"
        assert Admin(market).call("GET", "/admin/overview")
        assert new_requester(market.endpoint, (LOCAL_KEY, OURS)).get_account_balance()
        old = Admin(market)
        old.headers["Authorization"] = f"Bearer {made}"
        old.call("GET", "/admin/overview", status=401)
        assert Path(f"{tmp_path}/market.db.admin-token").read_text() == OURS


def test_no_store_is_made_to_print_its_token(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="holds no marketplace\nGive the study or the --store"):
        serve(store=f"sqlite:///{tmp_path}/misspelt.db", print_admin_token=True)
    assert [*tmp_path.iterdir()] == []


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "cannot be read: No such file"),
        (b"", "has 0 characters"),
        (b"x" * (SHORTEST_TOKEN - 1), "has 31 characters"),
        (b"\xff" * 40, "cannot be read: it is not text"),
        (b"two words " * 4, "characters other than"),
        ("ü".encode() * 40, "characters other than"),
    ],
)
def test_a_token_that_nobody_could_sign_in_with_or_all_could_is_refused(
    tmp_path: Path, content: bytes | None, said: str
) -> None:
    file = tmp_path / "token"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(ConfigError, match=said) as refused:
        serve(store="sqlite:///x.db", admin_token_file=file, print_admin_token=True)
    assert "openssl rand" in str(refused.value.hint)


def test_serve_reads_its_options_from_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PREFJUDGE_STORE", f"sqlite:///{tmp_path}/market.db")
    monkeypatch.setenv("PREFJUDGE_PORT", "99999")
    refused = prefjudge("serve", cwd=tmp_path)
    assert refused.returncode == 2
    assert "PREFJUDGE_PORT" in refused.stderr
    assert "99999" in refused.stderr
    assert [*tmp_path.iterdir()] == []
    monkeypatch.setenv("PREFJUDGE_PORT", "")  # nothing is not a value
    issued = prefjudge("serve", "--new-key", "lab", cwd=tmp_path)
    assert issued.returncode == 0, issued.stderr
    assert [path.name for path in tmp_path.glob("*.db")] == ["market.db"]


def once(market: Server, code: str, **headers: str) -> urllib3.BaseHTTPResponse:
    url = f"{market.endpoint}/admin/signin"
    return urllib3.request("POST", url, fields={"once": code}, headers=headers, redirect=False)


def test_a_link_of_the_admin_opens_one_session_soon_and_is_in_no_address(
    market: Server, clock: Clock
) -> None:
    """Its code is behind the #: no request, and so no log and no Referer, has it."""
    link = market.sign_in_link()
    address, code = link.split("#once=")
    assert address == f"{market.admin}/signin"
    page = urllib3.request("GET", address)
    assert page.status == 200
    for way in (b"prefjudge serve", b"marketplace.db.admin-token", b"--print-admin-token"):  # and no secret
        assert way in page.data
    assert market.admin_token.encode() not in page.data
    assert once(market, code, Origin="https://evil.example").status == 403
    assert once(market, code[:-1]).status == 401
    opened = once(market, code)
    assert (opened.status, opened.headers["location"]) == (303, "/admin")
    cookie = opened.headers["set-cookie"].split(";")[0]
    name = cookie.partition("=")[0]
    assert urllib3.request("GET", market.admin, headers={"Cookie": cookie}, redirect=False).status == 200
    assert once(market, code).status == 401
    assert (
        urllib3.request("GET", market.admin, headers={"Cookie": f"{name}={code}"}, redirect=False).status
        == 303
    )
    late = market.sign_in_link().split("#once=")[1]
    clock.advance(601)
    assert once(market, late).status == 401


def test_serve_prints_the_link_on_a_terminal_only(tmp_path: Path) -> None:
    def said(**streams: Any) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "prefjudge", "serve", "--port", "0"]
        return subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.DEVNULL, **streams)

    ours, theirs = pty.openpty()
    shown = b""
    with said(stderr=theirs) as terminal:
        while b"Ctrl-C" not in shown:
            shown += os.read(ours, 4096)
        terminal.terminate()
    assert re.search(rb"/admin/signin#once=\S{20,}", shown)
    token = (tmp_path / "marketplace.db.admin-token").read_bytes()
    assert token not in shown
    with said(stderr=subprocess.PIPE) as logged:
        assert logged.stderr is not None
        lines = b"".join(iter(logged.stderr.readline, b"invite people on the admin page; stop with Ctrl-C\n"))
        logged.terminate()
    assert b"once" not in lines
    assert b"/admin\n" in lines


def test_guesses_of_the_token_count_wherever_they_are_made(market: Server) -> None:
    def guess(token: str) -> int:
        headers = {"Authorization": f"Bearer {token}", "Accept": "application/json"}
        return urllib3.request(
            "GET", f"{market.endpoint}/admin/overview", headers=headers, retries=False
        ).status

    assert [guess(f"guess {number}") for number in range(10)] == [401] * 10
    assert guess("another") == 429
    fields, url = {"token": "another"}, f"{market.endpoint}/admin/signin"
    form = urllib3.request("POST", url, fields=fields, retries=False)
    assert form.status == 429
    right = urllib3.request("POST", url, fields={"token": market.admin_token}, redirect=False)
    assert right.status == 303, "guesses of others lock the admin out"
    assert [guess(market.admin_token) for _ in range(30)] == [200] * 30, "who has it is not kept out"
