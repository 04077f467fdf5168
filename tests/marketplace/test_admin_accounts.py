"""Accounts of those who administer: what each role may do, and the log of what everybody did."""

import pytest
import urllib3

from prefjudge.marketplace.people import admin_log, admins
from prefjudge.marketplace.server import Server
from prefjudge.marketplace.web import accounts
from prefjudge.marketplace.web.access import ASSISTANTS_MAY, LOGGED_READS
from prefjudge.marketplace.web.app import ADMIN_ROUTES
from prefjudge.marketplace.web.rate_limit import TRIES, RateLimit, limits
from tests.marketplace.people import Admin

PASSWORD = "correct horse battery"
JSON = {"Accept": "application/json"}


class Person:
    """Somebody with an account, in a browser."""

    def __init__(self, market: Server, name: str, password: str = PASSWORD) -> None:
        self.endpoint, self.cookie = market.endpoint, ""
        answer = self.send("POST", "/admin/signin", name=name, password=password)
        self.status = answer.status
        self.cookie = answer.headers.get("set-cookie", "").split(";")[0]
        if self.cookie:
            secret = self.cookie.partition("=")[2]
            self.csrf = market.marketplace.sign("admin csrf", secret)

    def send(self, verb: str, path: str, **fields: str) -> urllib3.BaseHTTPResponse:
        given = {**fields, "csrf": self.csrf} if self.cookie and "csrf" not in fields else fields
        headers = {**JSON, "Cookie": self.cookie} if self.cookie else JSON
        if verb in ("DELETE", "PUT"):
            headers["X-CSRF-Token"] = self.csrf
        form = {"fields": given} if verb == "POST" else {}
        return urllib3.request(verb, self.endpoint + path, headers=headers, redirect=False, **form)


@pytest.fixture
def people(market: Server, admin: Admin) -> tuple[Person, Person]:
    """An owner and an assistant."""
    for name, role in (("olga", "owner"), ("ann", "assistant")):
        given = {"name": name, "role": role, "password": PASSWORD}
        assert admin.call("POST", "/admin/accounts", given, status=201) == {"account": name, "role": role}
    return Person(market, "olga"), Person(market, "ann")


def test_an_assistant_may_do_what_is_listed_and_nothing_else(people: tuple[Person, Person]) -> None:
    owner, assistant = people
    listed = {(verb, path) for verb, path, _ in ADMIN_ROUTES}
    assert listed >= ASSISTANTS_MAY
    assert {path for _, path in listed} >= LOGGED_READS
    for verb, path in listed - ASSISTANTS_MAY:
        refused = assistant.send(verb, path.replace("{", "").replace("}", ""))
        assert (refused.status, refused.json()["code"]) == (403, "not_owner"), path
    invited = assistant.send("POST", "/admin/workers", name="Wanda Worker")
    assert invited.status == 201
    assert assistant.send("GET", "/admin/overview").status == 200
    worker_id = invited.json()["worker_id"]
    assert owner.send("POST", "/admin/funds", requester_id="A1", amount="1.00").json()["code"] != "not_owner"
    assert owner.send("GET", "/admin/accounts").json()["accounts"][0] == {"name": "ann", "role": "assistant"}
    assert assistant.send("POST", f"/admin/workers/{worker_id}/invite").status == 201


def test_who_is_removed_or_gets_another_password_is_out_at_once(
    market: Server, people: tuple[Person, Person]
) -> None:
    owner, assistant = people
    elsewhere = Person(market, "ann")
    changed = assistant.send("POST", "/admin/password", old=PASSWORD, password="another long one")
    assert changed.status == 200
    assert elsewhere.send("GET", "/admin/overview").status == 401
    assert assistant.send("GET", "/admin/overview").status == 200  # the session that changed it
    assert Person(market, "ann").status == 401
    assert Person(market, "ann", "another long one").status == 200
    assert owner.send("POST", "/admin/accounts/ann/password", password="given by the owner").status == 200
    assert assistant.send("GET", "/admin/overview").status == 401
    again = Person(market, "ann", "given by the owner")
    assert owner.send("POST", "/admin/accounts/ann/remove").status == 200
    assert again.send("GET", "/admin/overview").status == 401
    assert Person(market, "ann", "given by the owner").status == 401


def test_a_password_that_is_taken_back_while_it_is_checked_opens_nothing(
    market: Server, admin: Admin, people: tuple[Person, Person], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert people[1].status == 200
    right, hashed = accounts.matches, accounts.hash_password

    def given_another(*_: object) -> bool:
        kept = market.state.executor.call(lambda tx: admins.password_of(tx, "ann"), write=False)
        market.state.executor.call(lambda tx: admins.set_password(tx, "ann", hashed("another one")))
        return right(PASSWORD, kept)

    monkeypatch.setattr(accounts, "matches", given_another)
    assert Person(market, "ann").status == 401
    admin.call("POST", "/admin/accounts/ann/password", {"password": PASSWORD})
    monkeypatch.setattr(accounts, "matches", right)
    assistant = Person(market, "ann")
    monkeypatch.setattr(accounts, "matches", given_another)
    assert (
        assistant.send("POST", "/admin/password", old=PASSWORD, password="mine again, and long").status == 401
    )
    monkeypatch.setattr(accounts, "matches", right)
    assert Person(market, "ann", "another one").status == 200, "the owner's word stands"


def test_a_change_needs_the_token_of_the_session(people: tuple[Person, Person]) -> None:
    owner, _ = people
    refused = owner.send("POST", "/admin/accounts/ann/remove", csrf="0" * 40)
    assert (refused.status, refused.json()["code"]) == (403, "csrf")
    assert len(owner.send("GET", "/admin/accounts").json()["accounts"]) == 2


def test_guesses_of_a_password_are_few(market: Server, people: tuple[Person, Person]) -> None:
    tried = [Person(market, "olga", f"guess {number}").status for number in range(12)]
    assert tried == [401] * 10 + [429] * 2
    assert Person(market, "olga").status == 429
    assert Person(market, "ann").status == 200


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ({"name": "", "role": "owner", "password": PASSWORD}, "invalid"),
        ({"name": "(token)", "role": "owner", "password": PASSWORD}, "invalid"),
        ({"name": "x", "role": "king", "password": PASSWORD}, "invalid"),
        ({"name": "x", "role": "owner", "password": "short"}, "short_password"),
        ({"name": "olga", "role": "owner", "password": PASSWORD}, "name_taken"),
    ],
)
def test_accounts_that_cannot_be(market: Server, admin: Admin, given: dict[str, str], code: str) -> None:
    if code == "name_taken":
        admin.call("POST", "/admin/accounts", given, status=201)
    refused = urllib3.request("POST", f"{market.endpoint}/admin/accounts", json=given, headers=admin.headers)
    assert refused.json()["code"] == code


def test_the_log_tells_who_did_what_and_holds_no_secret(
    market: Server, admin: Admin, people: tuple[Person, Person]
) -> None:
    owner, assistant = people
    key = admin.call("POST", "/admin/requesters", {"name": "lab"}, status=201)
    worker_id = assistant.send("POST", "/admin/workers", name="Wanda Worker").json()["worker_id"]
    assistant.send("POST", "/admin/payouts", worker_id=worker_id, amount="5.00", reference="mine")
    owner.send("POST", "/admin/payouts", worker_id=worker_id, amount="five", reference="to amount=9")
    assert owner.send("GET", f"/admin/workers/{worker_id}/export.json").status == 200
    assert assistant.send("GET", f"/admin/workers/{worker_id}/export.json").status == 403
    assert Person(market, "olga", "wrong password 1").status == 401
    assert Person(market, "wrong password 2", PASSWORD).status == 401
    with market.marketplace.transaction() as tx:  # the server died in it
        admin_log.begin(tx, "olga", "POST /admin/funds", "amount=1.00")
    log = owner.send("GET", "/admin/log")
    found = [(one["admin"], one["act"], one["about"], one["status"]) for one in log.json()["entries"]]
    assert found == [
        ("olga", "POST /admin/funds", "amount=1.00", None),
        ("olga", "sign in", "", 401),
        ("ann", "GET /admin/workers/{worker_id}/export.json", f"worker_id={worker_id}", 403),
        ("olga", "GET /admin/workers/{worker_id}/export.json", f"worker_id={worker_id}", 200),
        ("olga", "POST /admin/payouts", f'worker_id={worker_id} amount=five reference="to amount=9"', 400),
        ("ann", "POST /admin/payouts", f"worker_id={worker_id} amount=5.00 reference=mine", 403),
        ("ann", "POST /admin/workers", f"worker_id={worker_id}", 201),
        (
            "(token)",
            "POST /admin/requesters",
            f"requester_id={key['requester_id']} access_key={key['access_key']}",
            201,
        ),
        ("ann", "sign in", "", 200),
        ("olga", "sign in", "", 200),
        ("(token)", "POST /admin/accounts", "account=ann role=assistant", 201),
        ("(token)", "POST /admin/accounts", "account=olga role=owner", 201),
    ]
    for secret in (PASSWORD, "wrong password", "Wanda", key["secret_key"], market.admin_token):
        assert secret.encode() not in log.data


def test_the_log_goes_on_where_a_page_ended(market: Server, admin: Admin) -> None:
    with market.marketplace.transaction() as tx:
        for number in range(admin_log.AT_ONCE + 5):
            admin_log.begin(tx, "olga", f"act {number}", "")
    first = admin.call("GET", "/admin/log")
    rest = admin.call("GET", f"/admin/log?before={first['before']}")
    acts = [one["act"] for one in first["entries"] + rest["entries"]]
    assert acts == [f"act {number}" for number in reversed(range(admin_log.AT_ONCE + 5))]
    assert rest["before"] is None


def test_a_name_as_long_as_a_request_is_not_kept() -> None:
    limit = RateLimit()
    assert all(limit.allow("x" * 900_000 + str(number), 0.0) for number in range(TRIES))
    assert not limit.allow("x" * 900_000, 0.0)
    assert sum(map(len, limit._tries)) < 1000
    limit.refund("x" * 900_000, 0.0)
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
