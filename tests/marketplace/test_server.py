"""Starting, stopping, refusing, logging, measuring."""

import json
import logging
import re
import sqlite3
import stat
from pathlib import Path

import pytest

from prefjudge.errors import ConfigError, PrefjudgeError
from prefjudge.marketplace.operator import issue_key
from prefjudge.marketplace.people.requesters import LOCAL_KEY
from prefjudge.marketplace.server import JsonLines, Server, serve, start
from prefjudge.marketplace.settings import Settings
from prefjudge.marketplace.site import state
from tests.marketplace.people import HTTP, Admin, html_question, new_requester, offer, post
from tests.marketplace.processes import launch

BALANCE = {"X-Amz-Target": "MTurkRequesterServiceV20170117.GetAccountBalance"}


def test_a_public_address_needs_tls_or_a_word(tmp_path):
    url = f"sqlite:///{tmp_path}/m.db"
    with pytest.raises(ConfigError, match="without TLS"):
        serve(url, Settings(host="0.0.0.0"))
    assert not (tmp_path / "m.db").exists()
    Settings(host="0.0.0.0", public_url="https://judge.example.org").check()
    Settings(host="0.0.0.0", plain_http=True).check()
    with pytest.raises(ConfigError):
        Settings(host="0.0.0.0", public_url="http://judge.example.org").check()


@pytest.mark.parametrize("proxy", ["", "nginx", "127.0.0.1,", "10.0.0.0/40"])
def test_a_proxy_is_an_address(proxy):
    with pytest.raises(ConfigError, match="proxy is not an address"):
        Settings(proxy=proxy).check()


@pytest.mark.parametrize(("proxy", "locked"), [("127.0.0.1", False), ("192.0.2.1", True)])
def test_behind_its_web_server_each_visitor_is_someone_else(tmp_path, proxy, locked, monkeypatch):
    settings = Settings(public_url="https://judge.example.org", proxy=proxy)
    with start(f"sqlite:///{tmp_path}/m.db", settings=settings) as server:
        own = "http://{}:{}".format(*server._socket.getsockname())

        def guess(who):
            headers = {"Host": "judge.example.org", "X-Forwarded-For": who}
            return post(f"{own}/admin/signin", headers, token="wrong").status

        assert {guess("203.0.113.5") for _ in range(12)} == {401, 429}
        assert guess("198.51.100.7") == (429 if locked else 401)
        if not locked:
            monkeypatch.setattr(state, "TRIES", 3)  # 15 in all, of which 11 are made
            assert [guess(f"192.0.2.{one}") for one in range(5)] == [401] * 4 + [429]


@pytest.mark.parametrize(
    ("settings", "known", "unknown"),
    [
        (Settings(), ["127.0.0.1", "localhost", "::1"], ["evil.example", "192.168.0.2", ""]),
        (Settings(public_url="https://a.example:8443"), ["a.example", "localhost"], ["b.example"]),
        (Settings(host="0.0.0.0", plain_http=True), ["192.168.0.2", "lab.local"], []),
        (Settings(host="0.0.0.0", public_url="https://a.example"), ["a.example"], ["b.example"]),
    ],
)
def test_hosts_by_which_it_is_known(settings, known, unknown):
    assert [name for name in known if not settings.knows_host(name)] == []
    assert [name for name in unknown if settings.knows_host(name)] == []


def test_a_taken_port_is_said(tmp_path, market):
    port = int(market.endpoint.rpartition(":")[2])
    with pytest.raises(PrefjudgeError, match=f"cannot listen on 127.0.0.1:{port}"):
        start(f"sqlite:///{tmp_path}/other.db", port=port)


def test_behind_a_web_server(tmp_path):
    settings = Settings(public_url="https://judge.example.org")
    with start(f"sqlite:///{tmp_path}/m.db", settings=settings) as server:
        assert server.worker_site == "https://judge.example.org"
        own = "http://{}:{}".format(*server._socket.getsockname())
        front = {"Host": "judge.example.org", "X-Forwarded-Proto": "https", "X-Forwarded-For": "203.0.113.9"}
        assert HTTP.request("GET", f"{own}/healthz", headers=front).status == 200
        assert HTTP.request("GET", f"{own}/healthz", headers={"Host": "other.example.org"}).status == 403
        bearer = {"Authorization": f"Bearer {server.admin_token}"}
        made = HTTP.request("POST", f"{own}/admin/workers", headers={**front, **bearer}, json={})
        invite = made.json()["invite"] if "json" in made.headers["content-type"] else None
        assert invite is None  # a browser's answer: the page that shows the invitation
        made = HTTP.request(
            "POST", f"{own}/admin/workers", headers={**front, **bearer, "Accept": "application/json"}, json={}
        ).json()
        assert made["invite_url"].startswith("https://judge.example.org/signin?invite=")
        headers = {**front, "Origin": "https://judge.example.org"}
        signed_in = post(f"{own}/signin", headers, invite=made["invite"])
        assert signed_in.status == 303
        assert "Secure" in signed_in.headers["set-cookie"]


def test_a_marketplace_of_the_network_names_an_address_that_others_reach(tmp_path):
    settings = Settings(host="0.0.0.0", plain_http=True)
    with start(f"sqlite:///{tmp_path}/m.db", settings=settings) as server:
        port = server._socket.getsockname()[1]
        assert server.local == f"http://127.0.0.1:{port}"
        assert "0.0.0.0" not in server.endpoint + server.worker_site + server.admin
        assert server.endpoint.endswith(f":{port}")
        local = new_requester(server.local, (LOCAL_KEY, server.admin_token))
        assert local.get_account_balance()["AvailableBalance"]
        for elsewhere in ({"Host": f"judge.example.org:{port}"}, {"X-Forwarded-For": "203.0.113.9"}):
            answer = HTTP.request("POST", server.local, headers={**BALANCE, **elsewhere}, body=b"{}")
            assert answer.json()["__type"] == "MissingAuthenticationTokenException", elsewhere


def test_the_store_and_the_token_are_their_owners(market, tmp_path):
    names = ["market.db", "market.db-shm", "market.db-wal", "market.db.admin-token"]
    assert sorted(path.name for path in tmp_path.iterdir()) == names
    assert {stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()} == {0o600}
    assert (tmp_path / "market.db.admin-token").read_text() == market.admin_token


def test_a_store_that_all_could_read_is_its_owners_again(tmp_path):
    old = sqlite3.connect(tmp_path / "m.db")
    old.execute("PRAGMA journal_mode=WAL")
    old.execute("CREATE TABLE t (x)")
    for path in tmp_path.iterdir():
        path.chmod(0o644)
    issue_key(f"sqlite:///{tmp_path}/m.db", "alice")
    assert {stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()} == {0o600}
    old.close()


@pytest.mark.parametrize("ends", ["by time", "by the admin"])
def test_the_admin_signs_in_with_the_token(market, admin, clock, ends):
    def status(cookie):
        return HTTP.request("GET", there, headers={"Cookie": cookie}, redirect=False).status

    there = f"{market.endpoint}/admin"
    assert post(f"{there}/signin", token="wrong").status == 401
    signed_in = post(f"{there}/signin", token=market.admin_token)
    cookie = signed_in.headers["set-cookie"].split(";")[0]
    page = HTTP.request("GET", there, headers={"Cookie": cookie}).data.decode()
    csrf = re.search(r'name="csrf" value="([^"]+)"', page)[1]
    for odd in ({}, {"csrf": "0" * 40}):
        assert post(f"{there}/workers", {"Cookie": cookie}, name="x", **odd).status == 403
    assert post(f"{there}/workers", {"Cookie": cookie}, name="x", csrf=csrf).status == 201
    assert (status(cookie), status(f"{cookie}0")) == (200, 303)
    if ends == "by time":
        clock.advance(13 * 3600)
    else:
        post(f"{there}/signout", {"Cookie": cookie, "X-CSRF-Token": csrf})
    assert status(cookie) == 303
    admin.call("GET", "/admin/overview")  # the token still opens


def test_logs_hold_no_secrets(market, admin, requester, worker, caplog):
    with caplog.at_level(logging.INFO, logger="prefjudge.marketplace"):
        held = worker.accept(offer(requester))
        HTTP.request("GET", held["frame_url"])
        worker.submit(held["assignment_id"])
        invite = admin.call("POST", "/admin/workers", {}, status=201)["invite"]
        HTTP.request("GET", f"{market.endpoint}/signin?invite={invite}")
        HTTP.request("GET", f"{market.endpoint}/nothing/{invite}")
        requester.get_account_balance()
        HTTP.request("GET", f"{market.endpoint}/healthz")
    lines = [JsonLines().format(record) for record in caplog.records]
    said = [json.loads(line) for line in lines]
    create = next(line for line in said if line.get("operation") == "CreateHIT")
    assert (create["method"], create["route"], create["status"]) == ("POST", "/", 200)
    assert create["invocation"]
    assert {"/frames/{hit_id}", "/mturk/externalSubmit"} <= {
        line["route"] for line in said if "route" in line
    }
    watched = [line for line in said if "/healthz" in line.values() or "GetAccountBalance" in line.values()]
    assert watched == [], "what watchers ask day and night"
    everything = "\n".join(lines)
    secrets = [market.admin_token, invite, held["assignment_id"], worker.headers["Cookie"].partition("=")[2]]
    assert not [secret for secret in secrets if secret in everything]


def test_a_failure_inside_is_a_service_fault(market, requester, monkeypatch, caplog):
    import prefjudge.marketplace.site.app as api

    def broken(*_):
        raise RuntimeError("secret detail")

    monkeypatch.setitem(api.OPERATIONS, "GetAccountBalance", broken)
    with pytest.raises(requester.exceptions.ServiceFault) as caught:
        requester.get_account_balance()
    assert "secret" not in str(caught.value)
    assert "secret detail" in caplog.text


def test_a_full_disk_is_said_in_a_line_and_nothing_is_half_done(market, requester, caplog):
    def room(pages):
        limit = f"PRAGMA max_page_count = {pages}"
        market.state.executor._submit(lambda tx: tx.execute(limit), write=True).result()

    offer(requester)
    room(1)
    with pytest.raises(requester.exceptions.ServiceFault, match="database or disk is full"):
        offer(requester, Question=html_question("x" * 50_000))
    (logged,) = [one for one in caplog.records if one.levelname == "ERROR"]
    assert logged.exc_info is None
    assert "disk is full" in logged.message
    room(100_000)
    assert requester.list_hits()["NumResults"] == 1
    offer(requester, Question=html_question("x" * 50_000))
    assert requester.list_hits()["NumResults"] == 2


def test_a_page_that_breaks_says_so_kindly(worker, monkeypatch):
    from prefjudge.marketplace.hits import hits

    def broken(*_):
        raise RuntimeError("secret detail")

    monkeypatch.setattr(hits, "groups", broken)
    answer = worker.request("GET", "/hits")
    assert (answer.status, answer.json()["title"]) == (500, "Something broke")
    assert b"secret" not in answer.data


@pytest.mark.parametrize(
    "known",
    [{"locale": "USA"}, {"approval_rate": 101}, {"approved": "many"}, {"name": "taken"}],
)
def test_workers_that_cannot_be(admin, known):
    admin.worker(name="taken")
    refused = admin.call("POST", "/admin/workers", {"name": "new", **known}, status=400)
    assert refused["code"] == "invalid"


def test_events_are_told_in_order(requester, worker, admin):
    hit = offer(requester)
    requester.approve_assignment(AssignmentId=worker.do(hit))
    requester.delete_hit(HITId=hit["HITId"])
    events = [one["event"] for one in admin.call("GET", "/admin/overview")["events"]][::-1]
    assert events == [
        "HITCreated",
        "AssignmentAccepted",
        "AssignmentSubmitted",
        "HITReviewable",
        "AssignmentApproved",
        "HITDisposed",
    ]


def test_a_served_marketplace_stops_when_told(tmp_path):
    process, about = launch(f"sqlite:///{tmp_path}/m.db")
    with process.stdout:
        offer(new_requester(about["endpoint"]))
        process.terminate()
        assert process.wait(timeout=60) == 0
    assert Path(f"{tmp_path}/m.db").exists()


def test_a_second_marketplace_on_the_store_agrees(market, tmp_path):
    with start(f"sqlite:///{tmp_path}/market.db") as other:
        assert isinstance(other, Server)
        assert other.admin_token == market.admin_token
        assert Admin(other).call("GET", "/admin/overview")["workers"] == []


def test_what_the_admin_gets_wrong(admin):
    admin.call("POST", "/admin/funds", {"requester_id": "ANOBODY", "amount": "1.00"}, status=400)
    admin.call("POST", "/admin/funds", {"requester_id": "ANOBODY", "amount": "much"}, status=400)
    admin.call("POST", "/admin/requesters", {"name": " "}, status=400)
    admin.call("POST", "/admin/panels", {"name": "two words"}, status=400)
    admin.call("POST", "/admin/panels", {"name": "p", "completion": {"won": {}}}, status=400)
    admin.call("POST", "/admin/panels", [], status=400)
