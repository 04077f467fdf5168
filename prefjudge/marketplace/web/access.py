"""Who may use a route: everybody, workers who are signed in, or the admin."""

import hmac
from collections.abc import Awaitable, Callable
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import Response

from prefjudge.marketplace.errors import Refusal, RequestError
from prefjudge.marketplace.people.sessions import Session, find_session, is_admin
from prefjudge.marketplace.web.forms import remembered_fields
from prefjudge.marketplace.web.pages import Page, refused_page, respond, wants_json
from prefjudge.marketplace.web.state import AppState

PublicRoute = Callable[[AppState, Request], Awaitable[Page | Response]]
WorkerRoute = Callable[[AppState, Request, Session], Awaitable[Page | Response]]
Handler = Callable[[Request], Awaitable[Response]]


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
            async with state.turns.of(session.worker_id):
                page = await route(state, request, session)
        except Refusal as refusal:
            page = refused_page(refusal)
        return page if isinstance(page, Response) else respond(state, request, page, session)

    return handler


def admin_handler(state: AppState, route: PublicRoute) -> Handler:
    """Let the admin in, by the token or by the cookie that was given for it."""

    async def handler(request: Request) -> Response:
        cookie = await _admin_cookie(state, request)
        token = state.marketplace.sign("admin csrf", cookie) if cookie else ""
        if not cookie and not _is_admin_token(state, request):
            if wants_json(request) or request.method != "GET":
                return respond(
                    state, request, refused_page(Refusal("not_admin", "Give the admin token.", 401))
                )
            return respond(state, request, Page(name="admin_signin", location="/admin/signin"))
        try:
            if cookie and request.method != "GET":
                await _check_csrf(request, token)
            page = await route(state, request)
        except Refusal as refusal:
            page = refused_page(refusal)
        except RequestError as error:
            page = refused_page(Refusal("invalid", error.message, 400))
        return page if isinstance(page, Response) else respond(state, request, page, csrf=token)

    return handler


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


async def _admin_cookie(state: AppState, request: Request) -> str:
    cookie = request.cookies.get(state.cookie("admin"), "")
    if not cookie or not await state.executor.run(lambda tx: is_admin(tx, cookie), write=False):
        return ""
    return cookie
