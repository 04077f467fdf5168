"""One response for people and programs: HTML for a browser, JSON for who asks for it; and what forms sent."""

import re
import secrets
from collections.abc import AsyncGenerator, Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from decimal import Decimal
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl

from starlette.datastructures import Headers
from starlette.formparsers import MultiPartException, MultiPartParser
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response

from prefjudge.marketplace.api import wire
from prefjudge.marketplace.errors import Refusal
from prefjudge.marketplace.people.workers import Session, find_session
from prefjudge.marketplace.settings import ENGLISH, Wording, catalogues
from prefjudge.marketplace.site.state import AppState, read_body
from prefjudge.marketplace.store.store import R, Transaction

if TYPE_CHECKING:
    from jinja2 import Environment


Pairs = list[tuple[str, str]]
"""What a form sent, in order."""
MAX_FIELDS = 2000


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """What a route answers.

    ``location`` redirects a browser, after a change, instead of showing it the page. ``cookies`` maps a
    cookie's purpose to its value, or to None to delete it.
    """

    name: str
    context: Mapping[str, Any] = field(default_factory=dict)
    status: int = 200
    location: str | None = None
    cookies: Mapping[str, str | None] = field(default_factory=dict)
    framed: bool = False
    frame_source: str = "'self'"


class Call(Request):
    """A request to the site, and the running marketplace that answers it."""

    signed_in: Session | None = None
    """The worker's session, once a guard of the route has looked for it."""
    csrf = ""
    """What a change by somebody who administers must bring back."""

    def __init__(self, running: AppState, request: Request) -> None:
        super().__init__(request.scope, request.receive)
        self.running = running

    async def run(self, act: Callable[[Transaction], R]) -> R:
        """Call ``act`` in a transaction; its result is durable when this returns."""
        return await self.running.executor.run(act)

    async def look(self, act: Callable[[Transaction], R]) -> R:
        """Call ``act`` in a transaction that only reads."""
        return await self.running.executor.run(act, write=False)

    def secret(self, purpose: str) -> str:
        """Return the cookie of a purpose, empty where there is none."""
        return self.cookies.get(self.running.cookie(purpose), "")

    async def find_session(self) -> Session | None:
        """Return the session of the worker who calls, if any."""
        secret = self.secret("worker")
        return await self.look(lambda tx: find_session(tx, secret)) if secret else None

    @property
    def worker(self) -> Session:
        """The session, where only workers are let in."""
        assert self.signed_in is not None, "the guard lets only workers in"
        return self.signed_in

    @property
    def worker_id(self) -> str:
        """Who calls, where only workers are let in."""
        return self.worker.worker_id

    @property
    def origin(self) -> str:
        """The address by which this client reaches the marketplace."""
        return self.running.origin(self)

    @property
    def wants_json(self) -> bool:
        """Whether the client asks for JSON."""
        return "application/json" in self.headers.get("accept", "")

    @property
    def sends_json(self) -> bool:
        """Whether the client sends JSON."""
        return self.headers.get("content-type", "").startswith("application/json")

    @property
    def language(self) -> str:
        """The language that somebody chose, else the study's, else the first known one of the browser.

        Who administers reads English.
        """
        if self.url.path.startswith("/admin"):
            return ENGLISH
        known = catalogues()
        for language in (self.secret(LANGUAGE), self.running.settings.language):
            if language in known:
                return language
        return preferred(self.headers.get("accept-language", ""))

    async def body(self) -> bytes:
        """Read the body, up to a limit; a second call returns the same."""
        if not hasattr(self.state, "body"):
            self.state.body = await read_body(self)
        return bytes(self.state.body)

    async def json(self) -> Mapping[str, Any]:
        """Read a JSON object."""
        try:
            value = wire.read_json(await self.body())
        except ValueError as error:
            raise Refusal("bad_form", f"The request is not JSON: {error}", 400) from error
        if not isinstance(value, dict):
            raise Refusal("bad_form", "The request is not a JSON object.", 400)
        return value

    async def form_pairs(self) -> Pairs:
        """Read the fields of a form, in order, sent as a browser sends them."""
        body, media = await self.body(), self.headers.get("content-type", "")
        try:
            if media.startswith("multipart/form-data"):
                return _clean(await _multipart(media, body))
            return _clean(
                parse_qsl(
                    body.decode(),
                    keep_blank_values=True,
                    max_num_fields=MAX_FIELDS,
                    encoding="utf-8",
                    errors="replace",
                )
            )
        except ValueError as error:
            raise Refusal("bad_form", f"The form cannot be read: {error}", 400) from error

    async def pairs(self) -> Pairs:
        """Read a form, or a JSON object with its fields: once, for the token and for the route."""
        if not hasattr(self.state, "pairs"):
            if self.sends_json:
                given = (await self.json()).items()
                self.state.pairs = _clean([(name, str(value)) for name, value in given if value is not None])
            else:
                self.state.pairs = await self.form_pairs()
        return list(self.state.pairs)

    async def fields(self) -> dict[str, str]:
        """Read a form whose names occur once."""
        return dict(await self.pairs())

    def respond(self, page: Page) -> Response:
        """Write a page in the form that the client asks for."""
        if page.name == "refused":  # its sentence is the site's own, for people in JSON, too
            said = self._wording.say(str(page.context["error"]))
            page = replace(page, context={**page.context, "error": said})
        if self.wants_json:
            answer: Response = JSONResponse(dict(page.context), page.status)
        elif page.location is not None:
            answer = RedirectResponse(page.location, 303)
        else:
            answer = self._html(page)
        answer.headers["Cache-Control"] = "no-store"
        for purpose, value in page.cookies.items():
            name = self.running.cookie(purpose)
            if value is None:
                answer.delete_cookie(name, path="/")
            else:
                secure = self.running.settings.secure_cookies
                answer.set_cookie(name, value, path="/", httponly=True, samesite="lax", secure=secure)
        return answer

    @property
    def _wording(self) -> Wording:
        return self.running.settings.wording.speaking(self.language)

    def _html(self, page: Page) -> Response:
        session, nonce = self.signed_in, secrets.token_urlsafe(16)
        common = {
            "csrf": session.csrf if session else self.csrf,
            "nonce": nonce,
            "worker": {"worker_id": session.worker_id, "name": session.name} if session else None,
            "unread": session.unread if session else 0,
            "path": self.url.path,
            "here": f"{self.url.path}?{self.url.query}" if self.method == "GET" else "/",
            "framed": page.framed,
            "marketplace": self.running.about,
            "paid": session is not None and self.running.pays(session),
        }
        text = render_page(page.name, {**common, **page.context}, self._wording)
        answer = Response(text, page.status, media_type="text/html")
        answer.headers["Content-Security-Policy"] = (
            f"default-src 'none'; script-src 'nonce-{nonce}'; style-src 'self' 'nonce-{nonce}';"
            " img-src 'self' data:; font-src 'self'; connect-src 'self';"
            f" frame-src {page.frame_source}; form-action 'self'; base-uri 'none';"
            f" frame-ancestors {chr(39)}{'self' if page.framed else 'none'}{chr(39)}"
        )
        return answer


def refused_page(refusal: Refusal, *, framed: bool = False) -> Page:
    """Return the page of a refusal."""
    return Page(
        name="refused",
        context={"error": refusal.message, "code": refusal.code},
        status=refusal.status,
        framed=framed,
    )


def attached(name: str) -> dict[str, str]:
    """Return the headers of a file that is saved under a name, and kept nowhere else."""
    return {"Content-Disposition": f'attachment; filename="{name}"', "Cache-Control": "no-store"}


LANGUAGE = "language"
"""The purpose of the cookie that keeps the language which somebody chose."""


def preferred(header: str) -> str:
    """Return the first of a browser's languages (``de-AT,de;q=0.9,en;q=0.8``) that the site speaks."""
    wanted: list[tuple[float, str]] = []
    for part in header.split(",")[:20]:
        tag, _, weight = part.partition(";")
        try:
            quality = float(weight.partition("=")[2] or 1)
        except ValueError:
            continue
        if quality > 0:
            wanted.append((-quality, tag.strip().partition("-")[0].lower()))
    known = catalogues()
    return next((tag for _, tag in sorted(wanted, key=lambda one: one[0]) if tag in known), ENGLISH)


# Renders the pages of the worker site and the admin page from plain values; everything shown is escaped.

_USUAL = Wording()


def render_page(name: str, context: Mapping[str, Any], wording: Wording = _USUAL) -> str:
    """Render one whole HTML page, such as ``"hits"``, in a study's words and a language.

    The context has the values that the page shows, and those that every page needs: ``csrf``, ``nonce``,
    ``worker``, ``paid``, ``path``, ``here`` and ``marketplace``.
    """
    return _environment(wording).get_template(f"{name}.html").render(context)


@lru_cache(maxsize=16)
def _environment(wording: Wording) -> "Environment":
    from jinja2 import Environment, FunctionLoader, StrictUndefined

    folder = Path(__file__).parent / "templates"

    def load(name: str) -> str | None:
        path = folder / name
        return wording.template(path.read_text(encoding="utf-8")) if path.is_file() else None

    environment = Environment(
        loader=FunctionLoader(load),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(
        {
            "money": money,
            "moment": partial(moment, language=wording.language),
            "span": partial(span, wording=wording),
            "count_of": wording.count,
            "own": wording.say,
        }
    )
    environment.globals["language"] = wording.language
    environment.globals["languages"] = [(code, one.name) for code, one in catalogues().items()]
    return environment


# How the pages write money, times and counts.

_MONTHS = ("January", "February", "March", "April", "May", "June",
           "July", "August", "September", "October", "November", "December")  # fmt: skip
_SPANS = (("day", 86_400), ("hour", 3_600), ("minute", 60))


def money(amount: str) -> str:
    """Write an amount with its currency and a separator at the thousands."""
    return f"${Decimal(amount or '0'):,.2f}"


def moment(time: str, language: str = ENGLISH) -> str:
    """Write an ISO 8601 time in UTC for people; their browser then writes it in their zone and language."""
    at = datetime.fromisoformat(time)
    if language != ENGLISH:
        return f"{at:%Y-%m-%d %H:%M} UTC"
    return f"{at.day} {_MONTHS[at.month - 1]} {at.year}, {at:%H:%M} UTC"


def span(seconds: float, wording: Wording) -> str:
    """Write a length of time in its two largest units."""
    left = max(0, int(seconds))
    parts = []
    for unit, length in _SPANS:
        number, left = divmod(left, length)
        if number:
            parts.append(wording.count(number, unit))
    return " ".join(parts[:2]) or wording.say("less than a minute", begins=False)


# The files that the pages load: one stylesheet, an icon, and small scripts.

_FOLDER = Path(__file__).parent / "assets"
_MEDIA = {".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml"}


@lru_cache(maxsize=1)
def _assets() -> dict[str, tuple[bytes, str]]:
    return {
        path.name: (path.read_bytes(), _MEDIA[path.suffix])
        for path in _FOLDER.iterdir()
        if path.suffix in _MEDIA
    }


def asset(name: str, wording: Wording = _USUAL) -> tuple[bytes, str] | None:
    """Return a file's content and media type, or None where there is no such file."""
    found = _assets().get(name)
    if found is None or not name.endswith(".js"):
        return found
    return wording.script(found[0].decode()).encode(), found[1]


# Reads submitted forms.

_ESCAPED = {"%22": '"', "%0D": "\r", "%0A": "\n"}  # what browsers write for these in a name


def _clean(pairs: Pairs) -> Pairs:
    """Replace each NUL with the replacement character: PostgreSQL does not store NUL in text."""
    return [(name.replace("\0", "\ufffd"), text.replace("\0", "\ufffd")) for name, text in pairs]


class _Whole(MultiPartParser):
    """Reads a form, and knows whether it ended: of a body that ends too early a field may be cut short."""

    ended = False

    def on_end(self) -> None:
        self.ended = True


async def _multipart(media: str, body: bytes) -> Pairs:
    """Read the fields of a multipart form, in order, without its files."""

    async def once() -> AsyncGenerator[bytes, None]:
        yield body

    limits = {"max_files": MAX_FIELDS, "max_fields": MAX_FIELDS, "max_part_size": len(body)}
    reader = _Whole(Headers({"content-type": media}), once(), **limits)
    try:
        form = await reader.parse()
    except MultiPartException as error:
        raise ValueError(error.message) from error
    await form.close()
    if not reader.ended:
        raise ValueError("it is cut short")
    found = [(name, text) for name, text in form.multi_items() if isinstance(text, str)]
    return [(re.sub("%(?:22|0D|0A)", lambda one: _ESCAPED[one[0]], name), text) for name, text in found]
