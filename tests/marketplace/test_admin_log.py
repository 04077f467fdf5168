"""Signing in with the admin's token, and the log of what was done."""

from pathlib import Path

import pytest
import urllib3

from prefjudge.marketplace.people import requesters
from prefjudge.marketplace.server import Server, start
from prefjudge.marketplace.settings import Settings
from prefjudge.marketplace.site.app import ADMIN_ROUTES
from prefjudge.marketplace.site.signin import LOGGED_READS
from prefjudge.marketplace.site.state import TRIES, RateLimit, limits
from tests.marketplace.people import JSON, Admin

HEADER = "X-Forwarded-User"


class Browser:
    """Somebody who has signed in by the token, in a browser."""

    def __init__(self, market: Server, token: str) -> None:
        self.endpoint, self.cookie = market.endpoint, ""
        answer = self.send("POST", "/admin/signin", token=token)
        self.status = answer.status
        self.cookie = answer.headers.get("set-cookie", "").split(";")[0]
        self.csrf = market.marketplace.sign("admin csrf", self.cookie.partition("=")[2])

    def send(self, verb: str, path: str, **fields: str) -> urllib3.BaseHTTPResponse:
        given = {**fields, "csrf": self.csrf} if self.cookie else fields
        headers = {**JSON, "Cookie": self.cookie} if self.cookie else JSON
        form = {"fields": given} if verb == "POST" else {}
        return urllib3.request(verb, self.endpoint + path, headers=headers, redirect=False, **form)


def test_nothing_opens_without_the_token(market: Server) -> None:
    assert {path for _, path, _ in ADMIN_ROUTES} >= LOGGED_READS
    stranger = Browser(market, "guess")
    assert stranger.status == 401
    for verb, path, _ in ADMIN_ROUTES:
        plain = path.replace("{", "").replace("}", "")
        bare = {"Authorization": market.admin_token}  # without the word Bearer
        for given in ({}, {"Cookie": "admin=guess"}, {HEADER: "ada"}, bare):
            refused = urllib3.request(verb, market.endpoint + plain, headers={**JSON, **given})
            assert (refused.status, refused.json()["code"]) == (401, "not_admin"), path
        shown = urllib3.request(verb, market.endpoint + plain, redirect=False)
        assert shown.status == (303 if verb == "GET" else 401), "a browser is sent to the form"


def test_the_log_tells_what_was_done_and_holds_no_secret(market: Server, admin: Admin) -> None:
    ada = Browser(market, market.admin_token)
    key = admin.call("POST", "/admin/requesters", {"name": "lab"}, status=201)
    worker_id = ada.send("POST", "/admin/workers", name="Wanda Worker").json()["worker_id"]
    ada.send("POST", "/admin/payouts", worker_id=worker_id, amount="five", reference="to amount=9")
    assert ada.send("GET", f"/admin/workers/{worker_id}/export.json").status == 200
    with market.marketplace.transaction() as tx:  # the server died in it
        requesters.begin_entry(tx, "ada", "POST /admin/funds", "amount=1.00")
    log = ada.send("GET", "/admin/log")
    found = [(one["admin"], one["act"], one["about"], one["status"]) for one in log.json()["entries"]]
    made = f"requester_id={key['requester_id']} access_key={key['access_key']}"
    paid = f'worker_id={worker_id} amount=five reference="to amount=9"'
    assert found == [
        ("ada", "POST /admin/funds", "amount=1.00", None),
        ("(token)", "GET /admin/workers/{worker_id}/export.json", f"worker_id={worker_id}", 200),
        ("(token)", "POST /admin/payouts", paid, 400),
        ("(token)", "POST /admin/workers", f"worker_id={worker_id}", 201),
        ("(token)", "POST /admin/requesters", made, 201),
        ("(token)", "sign in", "", 200),
    ]
    for secret in ("Wanda", key["secret_key"], market.admin_token):
        assert secret.encode() not in log.data


@pytest.mark.parametrize(
    ("named", "proxy", "passed_on", "told"),
    [
        (HEADER, "127.0.0.1", {"X-Forwarded-For": "198.51.100.7"}, "ada@lab.example"),
        ("", "127.0.0.1", {"X-Forwarded-For": "198.51.100.7"}, "(token)"),
        (HEADER, "127.0.0.1", {}, "(token)"),
        (HEADER, "127.0.0.2", {"X-Forwarded-For": "198.51.100.7"}, "(token)"),
    ],
)
def test_a_header_names_who_administers_only_by_the_proxy_and_where_the_settings_say_so(
    tmp_path: Path, named: str, proxy: str, passed_on: dict[str, str], told: str
) -> None:
    with start(f"sqlite:///{tmp_path}/m.db", settings=Settings(admin_header=named, proxy=proxy)) as market:
        headers = {**JSON, HEADER: "ada@lab.example", "Authorization": f"Bearer {market.admin_token}"}
        headers |= passed_on
        urllib3.request("POST", f"{market.endpoint}/admin/requesters", json={"name": "x"}, headers=headers)
        (entry,) = urllib3.request("GET", f"{market.endpoint}/admin/log", headers=headers).json()["entries"]
    assert (entry["admin"], entry["act"]) == (told, "POST /admin/requesters")


def test_the_log_goes_on_where_a_page_ended(market: Server, admin: Admin) -> None:
    with market.marketplace.transaction() as tx:
        for number in range(requesters.LOG_PAGE + 5):
            requesters.begin_entry(tx, "olga", f"act {number}", "")
    first = admin.call("GET", "/admin/log")
    rest = admin.call("GET", f"/admin/log?before={first['before']}")
    acts = [one["act"] for one in first["entries"] + rest["entries"]]
    assert acts == [f"act {number}" for number in reversed(range(requesters.LOG_PAGE + 5))]
    assert rest["before"] is None


def test_a_name_as_long_as_a_request_is_not_kept() -> None:
    limit = RateLimit()
    assert all(limit.allow("x" * 900_000 + str(number), 0.0) for number in range(TRIES))
    assert not limit.allow("x" * 900_000, 0.0)
    assert sum(map(len, limit._tries)) < 1000
    limit.refund_first("x" * 900_000)
    assert limit.allow("x" * 900_000, 0.0)


def test_many_addresses_get_no_more_guesses() -> None:
    limit = RateLimit()
    tried = [limit.allow_guess(limits("worker|ann", f"198.51.100.{number}"), 0.0) for number in range(200)]
    assert sum(tried) == 5 * TRIES, "of one account"
    whole = [limit.allow_guess(limits(f"w|{number}", f"2001:db8::{number:x}"), 0.0) for number in range(200)]
    assert sum(whole) == 10 * TRIES, "from one network, all of which one customer has"
    assert limit.allow_guess(limits("w|0", "2001:db8:0:1::1"), 0.0)
    mapped = [limit.allow_guess(limits("w|1", f"::ffff:192.0.2.{number}"), 0.0) for number in range(9)]
    assert all(mapped), "IPv4 addresses are not one network, however they are written"
