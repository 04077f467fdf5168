"""One response for people and programs: HTML for a browser, JSON for who asks for it; and what forms sent."""

import re
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from decimal import Decimal
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl

from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response

from prefjudge.marketplace.api import wire
from prefjudge.marketplace.errors import Refusal
from prefjudge.marketplace.people.workers import Session
from prefjudge.marketplace.settings import ENGLISH, Wording, catalogues
from prefjudge.marketplace.site.state import AppState, read_body

if TYPE_CHECKING:
    from jinja2 import Environment


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """What a route answers.

    ``location`` redirects a browser, after a change, instead of showing it the page. ``cookies`` maps a
    cookie's name to its value, or to None to delete it.
    """

    name: str
    context: Mapping[str, Any] = field(default_factory=dict)
    status: int = 200
    location: str | None = None
    cookies: Mapping[str, str | None] = field(default_factory=dict)
    framed: bool = False
    frame_source: str = "'self'"


def wants_json(request: Request) -> bool:
    """Tell whether the client asks for JSON."""
    return "application/json" in request.headers.get("accept", "")


def respond(
    state: AppState, request: Request, page: Page, session: Session | None = None, csrf: str = ""
) -> Response:
    """Write a page in the form that the client asks for."""
    if page.name == "refused":  # its sentence is the site's own, for people in JSON, too
        wording = state.settings.wording.speaking(language_of(state, request))
        said = wording.say(str(page.context["error"]))
        page = replace(page, context={**page.context, "error": said})
    if wants_json(request):
        answer: Response = JSONResponse(dict(page.context), page.status)
    elif page.location is not None:
        answer = RedirectResponse(page.location, 303)
    else:
        answer = _html(state, request, page, session, csrf)
    answer.headers["Cache-Control"] = "no-store"
    for name, value in page.cookies.items():
        if value is None:
            answer.delete_cookie(name, path="/")
        else:
            answer.set_cookie(
                name, value, path="/", httponly=True, samesite="lax", secure=state.settings.secure_cookies
            )
    return answer


def _html(state: AppState, request: Request, page: Page, session: Session | None, csrf: str) -> Response:
    nonce = secrets.token_urlsafe(16)
    wording = state.settings.wording.speaking(language_of(state, request))
    common = {
        "csrf": session.csrf if session else csrf,
        "nonce": nonce,
        "worker": {"worker_id": session.worker_id, "name": session.name} if session else None,
        "unread": session.unread if session else 0,
        "path": request.url.path,
        "here": f"{request.url.path}?{request.url.query}" if request.method == "GET" else "/",
        "framed": page.framed,
        "marketplace": state.about,
        "paid": session is not None and state.pays(session),
    }
    answer = Response(
        render_page(page.name, {**common, **page.context}, wording),
        page.status,
        media_type="text/html",
    )
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


# In which language the site speaks to somebody.

LANGUAGE_COOKIE = "language"


def language_of(state: AppState, request: Request) -> str:
    """Return the language that somebody chose, else the study's, else the first known one of the browser.

    Who administers reads English.
    """
    if request.url.path.startswith("/admin"):
        return ENGLISH
    known = catalogues()
    for language in (request.cookies.get(state.cookie(LANGUAGE_COOKIE), ""), state.settings.language):
        if language in known:
            return language
    return preferred(request.headers.get("accept-language", ""))


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

Pairs = list[tuple[str, str]]
MAX_FIELDS = 2000
_ESCAPED = {"%22": '"', "%0D": "\r", "%0A": "\n"}  # what browsers write for these in a name


async def read_pairs(request: Request) -> Pairs:
    """Read the fields of a form, in order, sent as a browser sends them."""
    body = await read_body(request)
    media = request.headers.get("content-type", "")
    try:
        if media.startswith("multipart/form-data"):
            return _clean(_multipart(media, body))
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


async def remembered_pairs(request: Request) -> Pairs:
    """Read a form, or a JSON object with its fields; once, for the check of the token and for the route."""
    if not hasattr(request.state, "pairs"):
        if request.headers.get("content-type", "").startswith("application/json"):
            given = await read_json(request)
            request.state.pairs = _clean(
                [(name, str(value)) for name, value in given.items() if value is not None]
            )
        else:
            request.state.pairs = await read_pairs(request)
    return list(request.state.pairs)


async def remembered_fields(request: Request) -> dict[str, str]:
    """Read a form whose names occur once."""
    return dict(await remembered_pairs(request))


async def read_json(request: Request) -> Mapping[str, Any]:
    """Read a JSON object."""
    try:
        value = wire.read_json(await read_body(request))
    except ValueError as error:
        raise Refusal("bad_form", f"The request is not JSON: {error}", 400) from error
    if not isinstance(value, dict):
        raise Refusal("bad_form", "The request is not a JSON object.", 400)
    return value


def _clean(pairs: Pairs) -> Pairs:
    """Replace each NUL with the replacement character: PostgreSQL does not store NUL in text."""
    return [(name.replace("\0", "\ufffd"), text.replace("\0", "\ufffd")) for name, text in pairs]


def _multipart(media: str, body: bytes) -> Pairs:
    """Read the fields of a multipart form, in order, without its files."""
    from python_multipart import MultipartParser
    from python_multipart.multipart import parse_options_header

    boundary = parse_options_header(media)[1].get(b"boundary")
    if not boundary:
        raise ValueError("its boundary is missing")
    reader = _PartReader(parse_options_header)
    parser = MultipartParser(
        boundary,
        {
            "on_part_begin": reader.begin_part,
            "on_header_field": reader.read_header_name,
            "on_header_value": reader.read_header_value,
            "on_header_end": reader.end_header,
            "on_part_data": reader.read_data,
            "on_part_end": reader.end_part,
            "on_end": reader.end_form,
        },
    )
    parser.write(body)
    # the parser accepts a body that ends too early, but then any field may be cut short
    if not reader.ended:
        raise ValueError("it is cut short")
    return reader.pairs


class _PartReader:
    """Gathers the fields of a form from what the parser finds."""

    def __init__(self, parse_options: Callable[[bytes], tuple[bytes, dict[bytes, bytes]]]) -> None:
        self.pairs: Pairs = []
        self.ended = False
        self._parse_options = parse_options
        self._parts = 0

    def begin_part(self) -> None:
        self._parts += 1
        if self._parts > MAX_FIELDS:
            raise ValueError(f"it has more than {MAX_FIELDS} fields")
        self._header, self._value, self._data = bytearray(), bytearray(), bytearray()
        self._options: dict[bytes, bytes] = {}

    def read_header_name(self, data: bytes, start: int, end: int) -> None:
        self._header += data[start:end]

    def read_header_value(self, data: bytes, start: int, end: int) -> None:
        self._value += data[start:end]

    def end_header(self) -> None:
        if self._header.lower() == b"content-disposition":
            self._options = self._parse_options(bytes(self._value))[1]
        self._header, self._value = bytearray(), bytearray()

    def read_data(self, data: bytes, start: int, end: int) -> None:
        self._data += data[start:end]

    def end_part(self) -> None:
        name = self._options.get(b"name")
        if name is not None and b"filename" not in self._options:
            plain = re.sub("%(?:22|0D|0A)", lambda one: _ESCAPED[one[0]], name.decode("utf-8", "replace"))
            self.pairs.append((plain, self._data.decode("utf-8", "replace")))

    def end_form(self) -> None:
        self.ended = True
