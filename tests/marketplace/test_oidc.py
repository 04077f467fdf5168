"""Admins who sign in at an OpenID Connect provider: only whom it vouches for, and only who is listed."""

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest
import urllib3

from prefjudge.errors import ConfigError
from prefjudge.marketplace import calls
from prefjudge.marketplace.errors import Refusal
from prefjudge.marketplace.oidc import OidcSettings, read_oidc
from prefjudge.marketplace.server import Server, start
from prefjudge.marketplace.settings import Settings
from prefjudge.marketplace.web import rate_limit
from prefjudge.steps.serve.serve import serve
from tests.marketplace.people import Clock

pytest.importorskip("authlib", reason="no Authlib: pip install 'prefjudge[oidc]'")

from prefjudge.marketplace.web import oidc_pages, oidc_provider
from tests.marketplace.oidc_provider import CLIENT, SECRET, Provider, by_our_secret, provided

HTTP = urllib3.PoolManager(retries=False, maxsize=40)
JSON = {"Accept": "application/json"}


def listed(provider: Provider, *owners: str) -> OidcSettings:
    return OidcSettings(
        issuer=provider.issuer, client_id=CLIENT, client_secret=SECRET,
        owners=frozenset(owners), assistants=frozenset({"user-2"}),
    )  # fmt: skip


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Provider, Server, Clock]]:
    clock = Clock()
    with provided(clock) as provider:
        oidc = listed(provider, "olga@example.org", "kate@example.org")
        store = f"sqlite:///{tmp_path_factory.mktemp('oidc')}/m.db"
        with start(store, clock=clock, settings=Settings(oidc=oidc)) as server:
            yield provider, server, clock


@pytest.fixture
def provider(running: tuple[Provider, Server, Clock]) -> Provider:
    running[0].forget()
    running[1].state.rate_limit._tries.clear()
    return running[0]


@pytest.fixture
def market(running: tuple[Provider, Server, Clock]) -> Server:
    return running[1]


class Browser:
    """Follows where it is led, with the cookies that it was given."""

    def __init__(self, market: Server) -> None:
        self.endpoint, self.cookies = market.endpoint, {}

    def get(self, address: str, **headers: str) -> urllib3.BaseHTTPResponse:
        kept = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        answer = HTTP.request("GET", address, headers={"Cookie": kept, **headers}, redirect=False)
        for line in answer.headers.getlist("set-cookie"):
            name, _, value = line.partition(";")[0].partition("=")
            if "httponly" in line.lower():
                self.cookies[name] = value
            else:  # it is taken back
                self.cookies.pop(name, None)
        return answer

    def go(self) -> str:
        """Begin, sign in there, and return the address that this leads back to."""
        there = self.get(f"{self.endpoint}/admin/oidc").headers["location"]
        return str(self.get(there).headers["location"])

    def sign_in(self) -> urllib3.BaseHTTPResponse:
        return self.get(self.go())

    def overview(self) -> int:
        return self.get(f"{self.endpoint}/admin/overview", **JSON).status


def changed(address: str, **query: str) -> str:
    parts = urlsplit(address)
    kept = {name: values[0] for name, values in parse_qs(parts.query).items()}
    told = {name: value for name, value in {**kept, **query}.items() if value}
    return parts._replace(query=urlencode(told)).geturl()


def test_who_is_listed_signs_in_with_the_role_of_the_list(provider: Provider, market: Server) -> None:
    owner = Browser(market)
    back = owner.sign_in()
    assert (back.status, back.headers["location"]) == (303, "/admin")
    assert owner.overview() == 200
    log = owner.get(f"{market.endpoint}/admin/log", **JSON)
    assert (log.json()["entries"][0]["admin"], log.json()["entries"][0]["act"]) == (
        "oidc:olga@example.org",
        "sign in",
    )
    provider.claims = {"sub": "user-2", "email": "ann@example.org", "email_verified": False}
    assistant = Browser(market)
    assert assistant.sign_in().status == 303, "listed by the provider's id"
    assert assistant.overview() == 200
    assert assistant.get(f"{market.endpoint}/admin/log", **JSON).status == 403
    page = Browser(market).get(f"{market.endpoint}/admin/signin")
    assert b'href="/admin/oidc"' in page.data


@pytest.mark.parametrize(
    ("claims", "code"),
    [
        ({"nonce": "another"}, "token"),
        ({"nonce": None}, "token"),
        ({"aud": "another client"}, "token"),
        ({"aud": [CLIENT, "another"], "azp": "another"}, "token"),
        ({"iss": "http://127.0.0.1:1"}, "token"),
        ({"exp": 1_000_000_000}, "token"),
        ({"exp": None}, "token"),
        ({"sub": None}, "token"),
        ({"sub": 7}, "token"),
        ({"at_hash": "of another token"}, "token"),
        ({"email": "mallory@example.org", "sub": "user-3"}, "not_listed"),
        ({"email_verified": False}, "not_listed"),
        ({"email_verified": None}, "not_listed"),
        ({"email": ["olga@example.org"]}, "not_listed"),
        ({"email": "", "sub": "olga@example.org "}, "not_listed"),
        ({"email": None, "sub": "olga@example.org"}, "not_listed"),  # an id that somebody has chosen
        ({"email": "user-2", "sub": "user-3"}, "not_listed"),  # an address that is somebody's id
        ({"email": "\u212aate@example.org", "sub": "user-3"}, "not_listed"),  # the Kelvin sign, not a K
        ({"email_verified": 1}, "not_listed"),
    ],
)
def test_a_token_that_is_not_for_this_sign_in_opens_nothing(
    provider: Provider, market: Server, claims: dict[str, Any], code: str
) -> None:
    provider.claims = claims
    browser = Browser(market)
    back = browser.get(browser.go(), **JSON)
    assert (back.status, back.json()["code"]) == ({"token": 401, "not_listed": 403}[code], code)
    assert browser.overview() == 401


def test_a_token_counts_by_the_provider_s_own_key_only(provider: Provider, market: Server) -> None:
    for signed_by in (by_our_secret(), (type(provider.key).generate_key("P-256", {"kid": "one"}), "ES256")):
        provider.signed_by = signed_by
        browser = Browser(market)
        assert browser.get(browser.go(), **JSON).json()["code"] == "token"
        assert browser.overview() == 401


def test_keys_that_are_none_open_nothing_and_break_nothing(provider: Provider, market: Server) -> None:
    for odd in (None, 7, "x", [7], [None], [{}], [{"kty": "EC"}], [{"kty": 1}], [{"kty": "EC", "x": 1}], {}):
        provider.published = odd
        browser = Browser(market)
        back = browser.get(browser.go(), **JSON)
        assert (back.status, back.json()["code"]) == (401, "token"), odd
        market.state.rate_limit._tries.clear()


def test_a_token_that_cannot_be_read_is_refused(provider: Provider, market: Server) -> None:
    for odd in ("[" * 40_000, "{" * 7, "7"):
        provider.payload = odd
        browser = Browser(market)
        assert browser.get(browser.go(), **JSON).json()["code"] == "token"


def test_a_key_of_a_kind_that_nobody_knows_does_not_spoil_the_others(
    provider: Provider, market: Server
) -> None:
    provider.published = [{"kty": "AKP", "alg": "ML-DSA-44", "pub": "x"}, *provider.published]
    browser = Browser(market)
    assert browser.sign_in().status == 303
    assert browser.overview() == 200


def test_an_id_with_an_at_sign_is_listed_as_an_id(tmp_path: Path) -> None:
    listed = {"issuer": "https://login.example.org", "client_id": "c", "secret_file": None, "assistants": ""}
    settings = read_oidc(**listed, owners="sub:Eve@campus, OLGA@example.org")
    assert settings is not None
    assert settings.listed("Eve@campus", "") == "sub:Eve@campus"
    assert settings.listed("eve@campus", "Eve@campus") is None
    assert settings.listed("7", "Olga@EXAMPLE.org") == "olga@example.org"


def test_only_a_provider_of_this_machine_may_lead_to_it_in_clear() -> None:
    def may_ask(issuer: str, place: str) -> bool:
        return OidcSettings(issuer=issuer, client_id="c").may_ask(place)

    here, there = "http://127.0.0.1:9", "https://login.example.org"
    assert may_ask(here, f"{here}/token")
    assert may_ask(there, "https://tokens.example.org/token")
    for place in (
        "http://127.0.0.1:8000/admin",
        "http://localhost/",
        "https://[x",
        "https:///x",
        "//evil",
        "",
    ):
        assert not may_ask(there, place), place


def test_a_public_client_proves_itself_by_what_it_has_begun_with(provider: Provider, market: Server) -> None:
    provider.public = True
    asked = oidc_provider.Provider(OidcSettings(issuer=provider.issuer, client_id=CLIENT))
    begun = oidc_provider.Begun(redirect="http://127.0.0.1/back", state="s", nonce="n", verifier="v" * 43)
    now = market.marketplace.clock()

    def code() -> str:
        back = HTTP.request("GET", asked.address(begun, now), redirect=False).headers["location"]
        return parse_qs(urlsplit(back).query)["code"][0]

    assert asked.person(begun, code(), now).email == "Olga@Example.org"
    with pytest.raises(Refusal, match="invalid_grant"):
        asked.person(replace(begun, verifier="w" * 43), code(), now)


def test_what_comes_back_must_be_what_this_browser_has_begun(
    provider: Provider, market: Server, running: tuple[Provider, Server, Clock]
) -> None:
    mallory, olga = Browser(market), Browser(market)
    theirs, ours = mallory.go(), olga.go()
    for odd, code in (
        (theirs, "state"),  # somebody else's sign-in, sent to a browser that has begun one
        (changed(ours, state="0" * 40), "state"),
        (changed(ours, state=""), "state"),
        (changed(ours, state="ü"), "state"),
        (changed(ours, iss="https://evil.example"), "issuer"),
        (changed(ours, code=""), "refused"),
        (changed(ours, error="access_denied<b>"), "refused"),
    ):
        kept = dict(olga.cookies)
        back = olga.get(odd, **JSON)
        assert back.json()["code"] == code, odd
        assert olga.cookies == {}, "a sign-in comes back once"
        olga.cookies = kept
    assert b"<b>" not in olga.get(changed(ours, error="<b>")).data
    assert Browser(market).get(ours, **JSON).json()["code"] == "state", "a browser without the cookie"
    again = Browser(market)
    used = again.go()
    kept = dict(again.cookies)
    assert again.get(used).status == 303
    again.cookies = kept
    assert again.get(used, **JSON).json()["code"] == "provider", "a code is good once"
    late = Browser(market)
    address = late.go()
    running[2].advance(601)
    assert late.get(address, **JSON).json()["code"] == "late"


def test_a_provider_that_fails_lets_nobody_in_and_breaks_nothing(
    provider: Provider,
    market: Server,
    running: tuple[Provider, Server, Clock],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    running[2].advance(601)  # so that it is asked again who it is
    try:
        monkeypatch.setattr(provider, "calls_itself", "https://another.example")
        refused = Browser(market).get(f"{market.endpoint}/admin/oidc", **JSON)
        assert (refused.status, refused.json()["code"]) == (502, "provider")
        monkeypatch.undo()
        places = {**provider.discovery(), "token_endpoint": "http://provider.example/token"}
        monkeypatch.setattr(provider, "discovery", lambda: places)
        later = Browser(market)
        assert later.get(later.go(), **JSON).json()["code"] == "provider", "no secret goes out in clear"
    finally:
        monkeypatch.undo()
        running[2].advance(601)
    market.state.rate_limit._tries.clear()
    tried = [
        Browser(market).get(f"{market.endpoint}/admin/oidc", **JSON) for _ in range(2 * rate_limit.TRIES + 1)
    ]
    assert tried[-1].json()["code"] == "too_many_tries"


def test_a_provider_that_does_not_answer_keeps_nobody_else_waiting(
    provider: Provider, market: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(oidc_pages, "TRIES", 1000)
    waiting = min(32, (os.cpu_count() or 1) + 4)  # the threads of asyncio's own pool
    backs = [(browser := Browser(market), browser.go()) for _ in range(waiting)]
    provider.answers.clear()
    try:
        with ThreadPoolExecutor(waiting) as threads:
            came = [threads.submit(browser.get, back, **JSON) for browser, back in backs]
            assert all(provider.waiting.acquire(timeout=5) for _ in range(4))
            form = {"name": "nobody", "password": "a password"}
            place = f"{market.endpoint}/admin/signin"
            refused = HTTP.request("POST", place, fields=form, headers=JSON, timeout=5)
            assert refused.json()["code"] == "wrong_password"
            provider.answers.set()
            assert {one.result().status for one in came} == {200}, "all sign in once it answers"
    finally:
        provider.answers.set()


def test_a_provider_that_is_slow_or_says_too_much_is_left(
    provider: Provider, market: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    provider.published = ["x" * 1_100_000]
    much = Browser(market)
    assert much.get(much.go(), **JSON).json()["code"] == "provider"
    slow = Browser(market)
    back = slow.go()
    monkeypatch.setattr(calls, "TIMEOUT", 0.2)
    provider.answers.clear()
    try:
        assert slow.get(back, **JSON).json()["code"] == "provider"
    finally:
        provider.answers.set()


def test_who_is_no_longer_listed_is_out_and_has_no_password_here(provider: Provider, market: Server) -> None:
    browser = Browser(market)
    browser.sign_in()
    assert browser.get(f"{market.endpoint}/admin/password").status == 200
    assert b'href="/admin/password"' not in browser.get(f"{market.endpoint}/admin").data
    for owners, status in (((), 401), (("olga@example.org",), 200)):  # as after a start with another list
        object.__setattr__(market.state.settings, "oidc", listed(provider, *owners))
        assert browser.overview() == status


GOOD = {"issuer": "https://login.example.org", "client_id": "c", "owners": "olga@example.org"}


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"issuer": None}, "has no provider"),
        ({"issuer": "http://login.example.org"}, "cannot be an OpenID Connect provider"),
        ({"issuer": "https://[login"}, "cannot be an OpenID Connect provider"),
        ({"issuer": "login.example.org"}, "cannot be an OpenID Connect provider"),
        ({"client_id": None}, "has no client"),
        ({"owners": " , "}, "nobody may sign in"),
        ({"assistants": "OLGA@example.org"}, "as owner and as assistant"),
        ({"secret_file": "none"}, "cannot be read"),
        ({"secret_file": "empty"}, "is empty"),
    ],
)
def test_settings_that_cannot_be_are_refused_before_anything_is_served(
    tmp_path: Path, changes: dict[str, Any], said: str
) -> None:
    (tmp_path / "empty").write_text("\n")
    given: dict[str, Any] = {"secret_file": None, "assistants": "", **GOOD, **changes}
    if given["secret_file"]:
        given["secret_file"] = tmp_path / given["secret_file"]
    with pytest.raises(ConfigError, match=said):
        read_oidc(**given)


def test_serve_takes_them_as_options(tmp_path: Path) -> None:
    assert read_oidc(None, None, None, "", "") is None, "off by default"
    with pytest.raises(ConfigError, match="nobody may sign in"):
        serve(store=f"sqlite:///{tmp_path}/m.db", oidc_issuer=GOOD["issuer"], oidc_client_id="c")
    assert list(tmp_path.iterdir()) == [], "no store is left behind"
    assert SECRET not in repr(OidcSettings(issuer="i", client_id="c", client_secret=SECRET))
