"""What every request may need of the running marketplace: limits, turns, and keys of panels."""

import asyncio
import logging
import socket
import threading
from collections import Counter, OrderedDict
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from importlib.util import find_spec
from ipaddress import IPv6Address, ip_address
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from starlette.requests import Request
from uvicorn.protocols.http.h11_impl import H11Protocol

from prefjudge.marketplace.errors import Refusal, invalid
from prefjudge.marketplace.people.panels import bad_link
from prefjudge.marketplace.people.workers import Session
from prefjudge.marketplace.settings import Settings
from prefjudge.marketplace.store.store import Executor, Marketplace
from prefjudge.resources import is_inside
from prefjudge.version import __version__

if TYPE_CHECKING:
    from jwt import PyJWK
    from jwt.types import Options

# Connections: limits on their number and their idle time.

MAX_CONNECTIONS = 100
"""Connections of one address at a time; a web server in front may have any number."""
CHECK_SECONDS = 5.0
"""A connection without a request between two checks is closed."""


class Connection(asyncio.Protocol):
    """An HTTP connection: uvicorn's protocol, which has no limits of its own, inside one with limits.

    uvicorn waits without end for the head of a request, and an attacker may send half of one on many
    connections. Nothing here uses private parts of uvicorn's protocol: events of the transport are passed
    on, and requests find their connection under ``connection`` in their ASGI state.
    """

    transport: asyncio.Transport
    address: str

    def __init__(self, app_state: dict[str, Any], **given: Any) -> None:
        self._http = H11Protocol(app_state={**app_state, "connection": self}, **given)
        for event in ("data_received", "eof_received", "pause_writing", "resume_writing"):
            setattr(self, event, getattr(self._http, event))
        self._begun = 0
        self._under_way = 0
        self._seen: int | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Start to check for requests."""
        assert isinstance(transport, asyncio.Transport), "it is one of TCP"
        self.transport = transport
        peer = transport.get_extra_info("peername")
        self.address = peer[0] if peer else ""
        self._http.connection_made(transport)
        self._check_later()

    def _check_later(self) -> None:
        asyncio.get_running_loop().call_later(CHECK_SECONDS, self._check)

    def _check(self) -> None:
        if self.transport.is_closing():
            return
        if not self._under_way and self._seen == self._begun:
            self.transport.abort()
            return
        # None: the time of a slow answer does not count as idle
        self._seen = None if self._under_way else self._begun
        self._check_later()

    def begin_request(self) -> None:
        """Count a request that has begun."""
        self._begun += 1
        self._under_way += 1

    def end_request(self) -> None:
        """Count a request that was answered, or given up."""
        self._under_way -= 1

    def connection_lost(self, error: Exception | None) -> None:
        """Pass it on."""
        self._http.connection_lost(error)


def limited(is_proxy: Callable[[str], bool]) -> type[asyncio.Protocol]:
    """Return the protocol of one server's connections; ``is_proxy`` knows the web server in front."""
    opened: Counter[str] = Counter()

    class LimitedConnection(Connection):
        """One of a limited number of connections from an address."""

        def connection_made(self, transport: asyncio.BaseTransport) -> None:
            super().connection_made(transport)
            opened[self.address] += 1
            if opened[self.address] > MAX_CONNECTIONS and not is_proxy(self.address):
                self.transport.abort()

        def connection_lost(self, error: Exception | None) -> None:
            super().connection_lost(error)
            opened[self.address] -= 1
            if not opened[self.address]:
                del opened[self.address]

    return LimitedConnection


# A rate limit on guesses of the admin's token, and on who begins.

TRIES = 10
WINDOW = 60.0
_REMEMBERED, _LONGEST = 10_000, 200
"""Names, and characters of each: what is typed as a name may be as long as a request."""


def limits(who: str, address: str) -> Sequence[tuple[str, int]]:
    """Return what a guess of the secret of ``who`` counts for, with the most tries of each.

    It counts by the account, too, so that many addresses get no more of them.
    """
    network = network_of(address)
    return ((f"{network}|{who}", TRIES), (who, 5 * TRIES), (network, 10 * TRIES))


NEWCOMERS, NEWCOMERS_WINDOW = 10, 3600.0
"""People whom nobody vouches for, of one network, who may begin within so many seconds and not submit."""


def newcomers_of(address: str) -> str:
    """Return by which name a rate limit counts the newcomers of an address."""
    return f"newcomers|{network_of(address)}"


def network_of(address: str) -> str:
    """Return the network of an address: whoever has one IPv6 address has all that begin like it."""
    try:
        found = ip_address(address)
    except ValueError:  # a socket has none
        return address
    if not isinstance(found, IPv6Address):
        return address
    return str(found.ipv4_mapped or (int(found) >> 64))


class RateLimit:
    """Counts tries within a minute or another time, by a name such as an address."""

    def __init__(self) -> None:
        self._tries: OrderedDict[str, list[float]] = OrderedDict()
        self._lock = threading.Lock()

    def allow(self, who: str, now: float, tries: int = TRIES, window: float = WINDOW) -> bool:
        """Count a try of ``who``, and return whether it may be made.

        A try is counted before it is made: otherwise many at once would all be allowed.
        """
        who = who[:_LONGEST]
        with self._lock:
            recent = [time for time in self._tries.pop(who, []) if time > now - window]
            admitted = len(recent) < tries
            self._tries[who] = [*recent, now] if admitted else recent
            while len(self._tries) > _REMEMBERED:
                self._tries.popitem(last=False)
            return admitted

    def allow_guess(self, guess: Sequence[tuple[str, int]], now: float) -> bool:
        """Count one guess for all that it counts for, and return whether it may be made."""
        return all(self.allow(who, now, tries) for who, tries in guess)

    def refund_first(self, who: str) -> None:
        """Take back the first try of ``who``, if there is one."""
        with self._lock:
            if tries := self._tries.get(who[:_LONGEST]):
                tries.pop(0)


# Turns: how many requests of one worker are under way at once, so that nobody makes others wait.

AT_ONCE = 1
"""Requests of one worker that are answered at the same time; more wait for these."""
WAITING = 30
"""Requests of one worker that may wait; a browser sends a few, and a program that sends more is told so."""


@dataclass(slots=True)
class _Line:
    free: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(AT_ONCE))
    asked: int = 0


class Turns:
    """Gives the requests of each worker their turn. Used on the event loop only, and so without a lock."""

    def __init__(self) -> None:
        self._lines: dict[str, _Line] = {}

    @property
    def empty(self) -> bool:
        """Whether nobody is in line: what is kept of a worker ends with the last request."""
        return not self._lines

    @asynccontextmanager
    async def of(self, who: str) -> AsyncIterator[None]:
        """Wait for a turn of ``who``, and hold it."""
        line = self._lines.setdefault(who, _Line())
        if line.asked >= AT_ONCE + WAITING:
            raise Refusal(
                "too_many_requests", "Too many requests at once. Wait a moment, and try again.", 429
            )
        line.asked += 1
        try:
            async with line.free:
                yield
        finally:
            line.asked -= 1
            if not line.asked:
                del self._lines[who]


# Tokens in a panel's links: who comes, signed by the panel (a JWT, as Prolific's secured links have it).

LINK_PARAMETER = "prolific_token"
"""The parameter of a link, and without its ending the claim that holds the link's other parameters."""
_CLAIM = "prolific"
_LOG = logging.getLogger("prefjudge.marketplace.panels")
_DAY, _MINUTE = 86_400, 60
_UNCHECKED: "Options" = {
    "require": ["exp", "aud", "sub"],
    "verify_exp": False,
    "verify_aud": False,
    "verify_iat": False,
    "verify_nbf": False,
}
"""The time is the marketplace's own, and the audience an address: :func:`_checked` looks at both."""
_CLOCKS = 30.0
"""Seconds by which two machines' clocks may differ."""


@dataclass(frozen=True, slots=True)
class PanelTokens:
    """Reads tokens. A panel's public keys are fetched once a day; for one that is not known, once a minute.

    Anybody may send a token that names a key, so that more would let strangers keep the panel's server busy.
    """

    threads: ThreadPoolExecutor = field(
        default_factory=lambda: ThreadPoolExecutor(4, thread_name_prefix="keys")
    )
    """Where to call :meth:`read`: other threads must not wait for a panel's server."""
    _known: "dict[str, tuple[dict[str, PyJWK], float]]" = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def read(self, keys: str, token: str, address: str, now: float, *, inside: bool) -> dict[str, str]:
        """Return the parameters of a link at ``address`` that its token signs, by one of the public ``keys``.

        ``session`` is the token's own subject. Keys may be fetched: this waits, and is not for an event loop.
        Only with ``inside`` they may be fetched from this machine or its network.
        """
        import jwt

        try:
            kid = str(jwt.get_unverified_header(token).get("kid"))
            known = self._keys(keys, kid, now, inside)
            if kid not in known:
                raise bad_link()
            claims = jwt.decode(token, known[kid], algorithms=["RS256"], options=_UNCHECKED)
        except jwt.PyJWTError as error:
            raise bad_link() from error
        return _checked(claims, address, now)

    def _keys(self, url: str, kid: str, now: float, inside: bool) -> "dict[str, PyJWK]":
        """Return the panel's keys by their ids."""
        with self._lock:
            known, asked = self._known.get(url, ({}, float("-inf")))
            if now - asked >= (_DAY if kid in known else _MINUTE):
                self._known[url] = (known, now)  # whatever comes of it: not again for a while
                try:
                    known = _fetch_keys(url, inside=inside)
                except Exception as error:
                    # the library's own, for whatever the network or the answer has; yesterday's keys may do
                    _LOG.warning("the keys at %s cannot be fetched: %s", url, error)
                self._known[url] = (known, now)
        if not known:
            raise Refusal("keys", "Your panel does not answer at the moment. Try again in a minute.", 503)
        return known


def _fetch_keys(url: str, *, inside: bool) -> "dict[str, PyJWK]":
    """Return the keys at an address, by their ids; no redirect is followed."""
    import jwt
    import urllib3

    there = urlsplit(url)
    host, secure = there.hostname or "", there.scheme == "https"
    found = socket.getaddrinfo(host, there.port or (443 if secure else 80), type=socket.SOCK_STREAM)
    places = [place for *_, place in found if inside or not is_inside(str(place[0]))][:4]
    if not places:
        raise OSError(f"{host} is inside this marketplace's network")
    path = f"{there.path or '/'}?{there.query}" if there.query else there.path or "/"
    secured = partial(urllib3.HTTPSConnectionPool, server_hostname=host, assert_hostname=host)
    pool_of = secured if secure else urllib3.HTTPConnectionPool
    headers, timeout = (
        {"Host": there.netloc.rpartition("@")[2]},
        urllib3.Timeout(connect=5 / len(places), read=5),
    )
    for place in places:  # in turn, as a host may have addresses that cannot be reached from here
        # to the address that was checked: the name may have another one the next time
        pool = pool_of(str(place[0]), int(place[1]), headers=headers, timeout=timeout)
        try:
            with pool:
                answer = pool.request("GET", path, redirect=False, retries=False, preload_content=False)
                said = answer.read(MAX_BODY)
            break
        except urllib3.exceptions.HTTPError:
            if place is places[-1]:
                raise
    if answer.status != 200:
        raise OSError(f"status {answer.status}")
    keys = jwt.PyJWKSet.from_json(said.decode()).keys
    return {str(key.key_id): key for key in keys if key.key_id and key.public_key_use in ("sig", None)}


def need_library(keys: str) -> None:
    """Refuse a panel with keys where tokens cannot be read."""
    if keys and not (find_spec("jwt") and find_spec("cryptography")):
        raise invalid(
            "keys", "links with a token need PyJWT here; install it: pip install 'prefjudge[panels]'"
        )


def _checked(claims: Mapping[str, Any], address: str, now: float) -> dict[str, str]:
    told, session, until = claims.get(_CLAIM), claims["sub"], claims["exp"]
    if not isinstance(told, Mapping) or not isinstance(session, str) or not isinstance(until, (int, float)):
        raise bad_link()
    if until + _CLOCKS < now:
        raise Refusal(
            "late", "This link was valid for two minutes. Open the study from your panel again.", 410
        )
    if not any(_same_place(str(one), address) for one in _listed(claims["aud"])):
        raise bad_link()
    return {**{str(name): str(value) for name, value in told.items()}, "session": session}


def _listed(audience: object) -> list[object]:
    return audience if isinstance(audience, list) else [audience]


def _same_place(audience: str, address: str) -> bool:
    try:
        there, here = urlsplit(audience), urlsplit(address)
    except ValueError:
        return False
    return (there.netloc.lower(), there.path) == (here.netloc.lower(), here.path)


MAX_BODY = 1_000_000
BODY_SECONDS = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class AppState:
    """The running marketplace, as its routes see it."""

    marketplace: Marketplace
    executor: Executor
    settings: Settings
    admin_token: str
    rate_limit: RateLimit = field(default_factory=RateLimit)
    turns: Turns = field(default_factory=Turns)
    panel_tokens: PanelTokens = field(default_factory=PanelTokens)

    @property
    def about(self) -> dict[str, object]:
        """Say which marketplace this is."""
        return {
            "name": "prefjudge marketplace",
            "sandbox": self.marketplace.sandbox,
            "version": __version__,
        }

    def pays(self, session: Session) -> bool:
        """Tell whether a worker is paid: by a panel, whatever money the ledger counts in, or in real money.

        Colleagues in a sandbox are not, and read nothing of pay, of what is decided about it, or of rates.
        """
        return session.visit is not None or not self.marketplace.sandbox

    def origin(self, request: Request) -> str:
        """Return the address by which this client reaches the marketplace."""
        return self.settings.public_url or f"{request.url.scheme}://{request.headers.get('host', '')}"

    def cookie(self, purpose: str) -> str:
        """Name a cookie so that two marketplaces on one host keep theirs apart."""
        return f"prefjudge_{purpose}_{self.marketplace.ident[-8:].lower()}"


async def read_body(request: Request) -> bytes:
    """Read a request's body, up to a limit of its length and of its time."""
    body = bytearray()
    try:
        async with asyncio.timeout(BODY_SECONDS):
            async for chunk in request.stream():
                body += chunk
                if len(body) > MAX_BODY:
                    raise Refusal("too_large", f"The request is longer than {MAX_BODY} bytes.", 413)
    except TimeoutError:
        raise Refusal("too_slow", "The request took too long to arrive.", 408) from None
    return bytes(body)
