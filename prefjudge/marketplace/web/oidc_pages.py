"""Signing in at an OpenID Connect provider: there, and back again."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar
from urllib.parse import urlsplit

from starlette.requests import Request

from prefjudge.marketplace.errors import Refusal
from prefjudge.marketplace.oidc import OidcSettings
from prefjudge.marketplace.people import admins
from prefjudge.marketplace.people.admins import ELSEWHERE, Admin
from prefjudge.marketplace.store.ids import new_secret
from prefjudge.marketplace.web.accounts import log_sign_in, open_session, sign_in_page
from prefjudge.marketplace.web.oidc_provider import Begun, Person, Provider
from prefjudge.marketplace.web.pages import Page
from prefjudge.marketplace.web.rate_limit import TRIES, network_of
from prefjudge.marketplace.web.state import AppState

T = TypeVar("T")
_LIFE = 600
"""Seconds that somebody may take to sign in."""
_COOKIE = "oidc"


class SignOn:
    """The two routes. What a sign-in must bring back follows from a cookie and the store's secret.

    So any server of the store can end what another began, and nothing is kept of what nobody ends.
    """

    def __init__(self, settings: OidcSettings) -> None:
        self.settings, self.provider = settings, Provider(settings)
        # its own threads: on others passwords are checked, which must not wait for a provider
        self._threads = ThreadPoolExecutor(4, thread_name_prefix="oidc")

    async def begin(self, state: AppState, request: Request) -> Page:
        """Lead to the provider."""
        now = state.marketplace.clock()
        cookie = f"{int(now) + _LIFE}.{new_secret()}"
        begun = _begun(state, request, cookie)
        try:
            _count(state, request)
            address = await self._aside(self.provider.address, begun, now)
        except Refusal as refusal:
            return sign_in_page(state, refusal)
        return Page(name="admin_signin", location=address, cookies={state.cookie(_COOKIE): cookie})

    async def come_back(self, state: AppState, request: Request) -> Page:
        """Open a session for who has signed in there, and is listed here."""
        over = {state.cookie(_COOKIE): None}  # each sign-in comes back once
        try:
            admin = await self._admin(state, request)
        except Refusal as refusal:
            page = sign_in_page(state, refusal)
            return Page(name=page.name, context=page.context, status=page.status, cookies=over)
        cookies = {**over, **await open_session(state, admin)}
        return Page(name="admin_signin", location="/admin", cookies=cookies)

    async def _admin(self, state: AppState, request: Request) -> Admin:
        _count(state, request)
        begun = self._expected(state, request)
        person = await self._aside(
            self.provider.person, begun, request.query_params.get("code", ""), state.marketplace.clock()
        )
        name = self.settings.listed(person.subject, person.email)
        admin = admins.known_elsewhere(name, self.settings) if name else None
        if admin is None:
            who = _shown(person)
            await state.executor.run(lambda tx: log_sign_in(tx, f"{ELSEWHERE}{who}", 403))
            raise Refusal("not_listed", f"You are {who} there, who is not listed here. Ask an owner.", 403)
        return admin

    async def _aside(self, ask: Callable[..., T], *given: object) -> T:
        """Ask the provider, off the event loop."""
        return await asyncio.get_running_loop().run_in_executor(self._threads, ask, *given)

    def _expected(self, state: AppState, request: Request) -> Begun:
        """Return what must have come back; refuse what this browser has not begun, or what went wrong there.

        The provider says who it is, where it can (RFC 9207): another's answer would be sent to the wrong one.
        """
        query, cookie = request.query_params, request.cookies.get(state.cookie(_COOKIE), "")
        until, _, _ = cookie.partition(".")
        begun = _begun(state, request, cookie)
        if not state.marketplace.signed(query.get("state", ""), "oidc state", cookie):
            raise Refusal("state", "This browser has not begun to sign in. Begin again.", 400)
        if int(until) < state.marketplace.clock():
            raise Refusal("late", "You have waited too long. Begin again.", 410)
        if query.get("iss", self.settings.issuer) != self.settings.issuer:
            raise Refusal("issuer", "Somebody else has answered than the place where you sign in.", 400)
        if "error" in query or not query.get("code"):
            why = "".join(one for one in query.get("error", "no code") if one.isascii() and one.isprintable())
            host = urlsplit(self.settings.issuer).hostname
            raise Refusal("refused", f"{host} has not signed you in: {why[:100]}.", 403)
        return begun


def _begun(state: AppState, request: Request, cookie: str) -> Begun:
    sign = state.marketplace.sign
    return Begun(
        redirect=f"{state.origin(request)}/admin/oidc/callback",
        state=sign("oidc state", cookie),
        nonce=sign("oidc nonce", cookie),
        verifier=sign("oidc verifier", cookie) + sign("oidc verifier, more", cookie),  # 43 characters or more
    )


def _count(state: AppState, request: Request) -> None:
    """Refuse more than a few sign-ins a minute: each asks the provider, for whoever wants it to."""
    address = network_of(request.client.host if request.client else "")
    if not state.rate_limit.allow(f"{address}|oidc", state.marketplace.clock(), 2 * TRIES):
        raise Refusal("too_many_tries", "Too many attempts. Wait a minute.", 429)


def _shown(person: Person) -> str:
    """Return a person's name for owners, who may want to list it."""
    told = person.email or (f"sub:{person.subject}" if "@" in person.subject else person.subject)
    return "".join(one for one in told if one.isprintable())[:100]
