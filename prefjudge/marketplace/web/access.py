"""Who may use a route: everybody, workers who are signed in, or the admin."""

import hmac
import json
import re
from collections.abc import Awaitable, Callable, Mapping
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from prefjudge.marketplace.errors import Refusal, RequestError
from prefjudge.marketplace.people import requesters
from prefjudge.marketplace.people.workers import Session, find_session
from prefjudge.marketplace.web.forms import remembered_fields
from prefjudge.marketplace.web.pages import Page, refused_page, respond, wants_json
from prefjudge.marketplace.web.state import AppState

PublicRoute = Callable[[AppState, Request], Awaitable[Page | Response]]
WorkerRoute = Callable[[AppState, Request, Session], Awaitable[Page | Response]]
Handler = Callable[[Request], Awaitable[Response]]

LOGGED_READS = frozenset({"/admin/workers/{worker_id}/export.json", "/admin/panels/{panel}/{file}"})
"""What is logged though it changes nothing: data of people leave the marketplace."""
NAMELESS = "(token)"
"""Who does something, in the log, where nothing but the token is known of them."""
_PLAIN = re.compile(r"[A-Za-z0-9_.:@/+-]+")
_TOLD = (
    "worker_id", "assignment_id", "requester_id", "access_key", "account", "panel", "file", "amount",
    "budget", "reference", "master", "simulated",
)  # fmt: skip
"""What the log tells of an act: of what it was given, and of its answer. No names, passwords and secrets."""


_OWN = ("/account", "/history", "/inbox")
"""Pages about a worker's other days: not for somebody who may have typed the worker's id into a link."""


def public_handler(state: AppState, route: PublicRoute) -> Handler:
    """Let everybody in."""

    async def handler(request: Request) -> Response:
        try:
            page = await route(state, request)
        except Refusal as refusal:
            page = refused_page(refusal)
        except RequestError as error:
            page = refused_page(Refusal("invalid", error.message, 400))
        return (
            page
            if isinstance(page, Response)
            else respond(state, request, page, await session_of(state, request))
        )

    return handler


def worker_handler(state: AppState, route: WorkerRoute) -> Handler:
    """Let in workers who are signed in, and accept changes only with their session's token."""

    async def handler(request: Request) -> Response:
        session = await session_of(state, request)
        if session is None:
            return _sign_in_first(state, request)
        try:
            if request.method != "GET":
                await _check_csrf(request, session.csrf)
            if not session.confirmed and request.url.path.startswith(_OWN):
                raise Refusal(
                    "unconfirmed", "This page opens once your panel confirms that it sent you.", 403
                )
            async with state.turns.of(session.worker_id):
                page = await route(state, request, session)
        except Refusal as refusal:
            page = refused_page(refusal)
        return page if isinstance(page, Response) else respond(state, request, page, session)

    return handler


def admin_handler(state: AppState, route: PublicRoute) -> Handler:
    """Let those in who administer, by the token or by the cookie of a session; log what they change."""

    async def handler(request: Request) -> Response:
        cookie = request.cookies.get(state.cookie("admin"), "")
        if not cookie or not await state.executor.run(
            lambda tx: requesters.is_admin_session(tx, cookie), write=False
        ):
            cookie = ""
        token = state.marketplace.sign("admin csrf", cookie) if cookie else ""
        if not (cookie or _is_admin_token(state, request)):
            if wants_json(request) or request.method != "GET":
                return respond(
                    state, request, refused_page(Refusal("not_admin", "Give the admin token.", 401))
                )
            return respond(state, request, Page(name="admin_signin", location="/admin/signin"))
        try:
            if cookie and request.method != "GET":
                await _check_csrf(request, token)
            page = await _logged(state, request, route)
        except Refusal as refusal:
            page = refused_page(refusal)
        except RequestError as error:
            page = refused_page(Refusal("invalid", error.message, 400))
        return page if isinstance(page, Response) else respond(state, request, page, csrf=token)

    return handler


def who_administers(state: AppState, request: Request) -> str:
    """Return the name for the log: what a web server in front says, by the header that the settings name."""
    header = state.settings.admin_header
    return (request.headers.get(header, "").strip()[:100] if header else "") or NAMELESS


async def _logged(state: AppState, request: Request, route: PublicRoute) -> Page | Response:
    """Do what somebody who administers asks for; log it, also where it is refused, unless it only looks."""
    path = request.scope["route"].path
    if request.method in ("GET", "HEAD") and path not in LOGGED_READS:
        return await route(state, request)
    given = {**await remembered_fields(request), **request.path_params}
    about, status = _about(given), 500
    admin, act = who_administers(state, request), f"{request.method} {path}"
    seq = await state.executor.run(lambda tx: requesters.begin_entry(tx, admin, act, about))
    try:
        page = await route(state, request)
        status = page.status_code if isinstance(page, Response) else page.status
        about = _about({**given, **_said(page)})
        return page
    except Refusal as refusal:
        status = refusal.status
        raise
    except RequestError:
        status = 400
        raise
    finally:
        await state.executor.run(lambda tx: requesters.end_entry(tx, seq, status, about))


def _said(page: Page | Response) -> Mapping[str, object]:
    """Return what a route answers to programs."""
    if isinstance(page, Page):
        return page.context
    said = json.loads(bytes(page.body)) if isinstance(page, JSONResponse) else {}
    return said if isinstance(said, dict) else {}


def _about(known: Mapping[str, object]) -> str:
    """Return what the log tells; an answer may have records of a person under one of these names."""
    told = {name: known[name] for name in _TOLD if isinstance(known.get(name), str)}
    return " ".join(f"{name}={_quoted(str(text)[:100])}" for name, text in told.items() if text)


def _quoted(text: str) -> str:
    """Return a text so that none can pass for two: a reference may be anything."""
    return text if _PLAIN.fullmatch(text) else json.dumps(text)


async def session_of(state: AppState, request: Request) -> Session | None:
    """Return the worker's session, if any."""
    secret = request.cookies.get(state.cookie("worker"))
    if not secret:
        return None
    return await state.executor.run(lambda tx: find_session(tx, secret), write=False)


def _sign_in_first(state: AppState, request: Request) -> Response:
    if wants_json(request):
        return respond(state, request, refused_page(Refusal("signed_out", "Sign in first.", 401)))
    here = request.url.path if request.method == "GET" else "/hits"
    return respond(state, request, Page(name="signin", location=f"/signin?next={quote(here)}"))


async def _check_csrf(request: Request, expected: str) -> None:
    given = request.headers.get("x-csrf-token") or (await remembered_fields(request)).get("csrf", "")
    if not hmac.compare_digest(given.encode(), expected.encode()):
        raise Refusal("csrf", "The page is out of date. Go back, reload it and try again.", 403)


def _is_admin_token(state: AppState, request: Request) -> bool:
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    return scheme.lower() == "bearer" and hmac.compare_digest(
        token.strip().encode(), state.admin_token.encode()
    )
