"""Who may use a route, and signing in and out: workers by invitation or password, the admin by the token."""

import asyncio
import hmac
import json
import re
from collections.abc import Awaitable, Callable, Mapping
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from prefjudge.marketplace.errors import Refusal, RequestError
from prefjudge.marketplace.people import requesters, workers
from prefjudge.marketplace.people.workers import Session, find_session
from prefjudge.marketplace.settings import catalogues
from prefjudge.marketplace.site.pages import (
    LANGUAGE_COOKIE,
    Page,
    refused_page,
    remembered_fields,
    respond,
    wants_json,
)
from prefjudge.marketplace.site.state import AppState, limits
from prefjudge.marketplace.store.store import Transaction

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
    """Return the name for the log: what a web server in front says, by the header that the settings name.

    Nobody else is believed: who knows the token and the header could log under another's name.
    """
    header = state.settings.admin_header
    # uvicorn gives port 0 to whom a web server that the settings name calls for, and to nobody else
    by_proxy = request.client is not None and request.client.port == 0
    return (request.headers.get(header, "").strip()[:100] if header and by_proxy else "") or NAMELESS


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


# Signing in and out, and the language in which the site speaks.


async def show_sign_in(state: AppState, request: Request) -> Page:
    """Show the form, or to whom an invitation is.

    A look uses up and opens nothing: chat programs look at each link that is sent in them. Whoever is signed
    in as that worker goes on.
    """
    fields = dict(request.query_params)
    if not fields.get("invite"):
        return _form(fields)
    session = await session_of(state, request)

    def act(tx: Transaction) -> workers.Worker:
        return workers.find(tx, workers.read_invite(tx, fields["invite"]))

    try:
        worker = await state.executor.run(act, write=False)
    except Refusal as refusal:
        return _form({"next": fields.get("next", "")}, refusal)
    if session and session.worker_id == worker.worker_id:
        return Page(name="signin", location=_local(fields.get("next", "")))
    return _form({**fields, "name": worker.name or ""}, other=session)


async def sign_in(state: AppState, request: Request) -> Page:
    """Open a session by an invitation, where a newcomer may give a name, or by a name and its password."""
    fields = await remembered_fields(request)
    try:
        secret, session = await _open(state, fields, request.client.host if request.client else "")
    except Refusal as refusal:
        return _form(fields if refusal.code in _OF_NAMES else {**fields, "invite": ""}, refusal)
    return Page(
        name="signin",
        context={"worker_id": session.worker_id, "name": session.name, "csrf": session.csrf},
        location=_local(fields.get("next", "")),
        cookies={state.cookie("worker"): secret},
    )


async def _open(state: AppState, fields: dict[str, str], address: str) -> tuple[str, Session]:
    checked: tuple[str, tuple[str | None, str | None]] | None = None
    if fields.get("invite"):  # too long to guess; but each time opens a session, which is kept
        if not state.rate_limit.allow(f"invite|{fields['invite']}", state.marketplace.clock()):
            raise Refusal(
                "too_many_requests", "Too many requests at once. Wait a moment, and try again.", 429
            )
    else:
        name, password = fields.get("name", "").strip(), fields.get("password", "")
        guess, now = limits(f"worker|{name}", address), state.marketplace.clock()
        if not state.rate_limit.allow_guess(guess, now):
            raise Refusal("too_many_tries", "Too many wrong attempts. Wait a minute.", 429)
        checked = name, await _by_password(state, name, password)
        state.rate_limit.refund_guess(guess, now)

    def act(tx: Transaction) -> tuple[str, Session]:
        if checked is None:
            worker_id = workers.read_invite(tx, fields["invite"])
            name = fields.get("name", "").strip()
            if name and workers.find(tx, worker_id).name is None:
                workers.set_name(tx, worker_id, name)
        else:
            worker_id = _still(tx, *checked)
        secret = workers.open_session(tx, worker_id)
        session = workers.find_session(tx, secret)
        assert session is not None, "it was just opened"
        return secret, session

    return await state.executor.run(act)


async def _by_password(state: AppState, name: str, password: str) -> tuple[str | None, str | None]:
    """Return the worker whose password it is, and what is kept of it."""
    worker_id, kept = await state.executor.run(lambda tx: workers.password_of(tx, name), write=False)
    # off the event loop and outside a transaction: checking a password is slow on purpose
    right = await asyncio.get_running_loop().run_in_executor(None, workers.password_matches, password, kept)
    if not right:
        raise _wrong()
    return worker_id, kept


def _still(tx: Transaction, name: str, checked: tuple[str | None, str | None]) -> str:
    """Return the worker whose password was checked, unless it was taken back meanwhile."""
    worker_id, kept = checked
    if worker_id is None or kept is None or workers.password_of(tx, name) != checked:
        raise _wrong()
    return worker_id


def _wrong() -> Refusal:
    return Refusal("wrong_password", "The name or the password is wrong.", 401)


_OF_NAMES = ("name_taken", "invalid")
"""Refusals of a name that a newcomer gives: another one will do."""


def _form(fields: Mapping[str, str], refusal: Refusal | None = None, other: Session | None = None) -> Page:
    """Return the form; ``suggested`` is a name that is typed, ``known`` that of whom an invitation is to."""
    invite, name = fields.get("invite", ""), fields.get("name", "")
    context = {
        "invite": invite,
        "next": _local(fields.get("next", "")),
        "error": refusal.message if refusal else "",
        "code": refusal.code if refusal else "",
        "suggested": name,
        "known": name if invite and not refusal else "",
        "other": (other.name or other.worker_id) if other else None,
    }
    return Page(name="signin", context=context, status=refusal.status if refusal else 200)


def _local(path: str) -> str:
    """Return a path of this site: never an address elsewhere."""
    return path if path.startswith("/") and not path.startswith(("//", "/\\")) else "/hits"


async def choose_language(state: AppState, request: Request) -> Page:
    """Speak another language from now on, and go back to the page."""
    fields = await remembered_fields(request)
    language = fields.get("language", "")
    if language not in catalogues():
        raise Refusal("no_language", "The site does not speak this language.", 400)
    return Page(
        name="hits",
        context={"language": language},
        location=_local(fields.get("next", "")),
        cookies={state.cookie(LANGUAGE_COOKIE): language},
    )


async def sign_out(state: AppState, request: Request, session: Session) -> Page:
    """Close the session."""
    name = state.cookie("worker")
    secret = request.cookies.get(name)
    await state.executor.run(lambda tx: workers.close_session(tx, secret))
    return Page(name="signin", context={"signed_out": True}, location="/signin", cookies={name: None})


async def show_account(state: AppState, request: Request, session: Session) -> Page:
    """Show the worker's account."""
    return Page(name="account", context=await _account(state, session, ""))


async def _account(state: AppState, session: Session, error: str) -> dict[str, object]:
    def act(tx: Transaction) -> tuple[str, bool]:
        (row,) = tx.rows(
            "SELECT locale, password_hash IS NOT NULL FROM workers WHERE worker_id = :id",
            id=session.worker_id,
        )
        return str(row[0]), bool(row[1])

    locale, has_password = await state.executor.run(act, write=False)
    return {
        "worker_id": session.worker_id,
        "name": session.name,
        "locale": locale,
        "has_password": has_password,
        "error": error,
    }


async def set_password(state: AppState, request: Request, session: Session) -> Page:
    """Set the worker's name and password."""
    fields = await remembered_fields(request)
    name, password = fields.get("name", "").strip(), fields.get("password", "")
    if not 1 <= len(name) <= 100 or len(password) < workers.MIN_PASSWORD:
        error = f"Give a name, and a password of at least {workers.MIN_PASSWORD} characters."
        return Page(name="account", context=await _account(state, session, error), status=400)
    kept = await asyncio.get_running_loop().run_in_executor(None, workers.hash_password, password)
    try:
        secret = request.cookies.get(state.cookie("worker"), "")
        await state.executor.run(lambda tx: workers.set_password(tx, session.worker_id, name, kept, secret))
    except Refusal as refusal:
        return Page(
            name="account", context=await _account(state, session, refusal.message), status=refusal.status
        )
    return Page(name="account", context={"name": name}, location="/account")


# Signing in with the admin's token, and the log of what was done with it.


async def show_admin_sign_in(state: AppState, request: Request) -> Page:
    """Show the form that asks for the token."""
    return Page(name="admin_signin", context={"error": ""})


async def admin_sign_in(state: AppState, request: Request) -> Page:
    """Open a session by the token, or the code of a link that works once: both are too long to guess."""
    fields = await remembered_fields(request)
    token, code = fields.get("token", "").strip(), fields.get("once", "")
    name = who_administers(state, request)

    def act(tx: Transaction) -> str:
        if code:
            if not requesters.use_admin_link(tx, code):
                raise Refusal(
                    "used_link", "The link was used, or is older than ten minutes. Give the token.", 401
                )
        elif not hmac.compare_digest(token.encode(), state.admin_token.encode()):
            raise Refusal("wrong_token", "The token is wrong.", 401)
        requesters.end_entry(tx, requesters.begin_entry(tx, name, "sign in", ""), 200, "")
        return requesters.open_admin_session(tx)

    try:
        secret = await state.executor.run(act)
    except Refusal as refusal:
        context = {"error": refusal.message, "code": refusal.code}
        return Page(name="admin_signin", context=context, status=refusal.status)
    return Page(name="admin_signin", location="/admin", cookies={state.cookie("admin"): secret})


async def admin_sign_out(state: AppState, request: Request) -> Page:
    """End the session."""
    name = state.cookie("admin")
    secret = request.cookies.get(name, "")
    await state.executor.run(lambda tx: requesters.close_admin_session(tx, secret))
    return Page(name="admin_signin", location="/admin/signin", cookies={name: None})


async def show_log(state: AppState, request: Request) -> Page:
    """Show what was done, newest first; ``before`` continues where a page ended."""
    text = request.query_params.get("before", "")
    before = int(text) if text.isdecimal() and len(text) < 18 else None
    found = await state.executor.run(lambda tx: requesters.log_entries(tx, before), write=False)
    more = found[-1].seq if len(found) == requesters.LOG_PAGE else None
    return Page(name="admin_log", context={"entries": [one.to_json() for one in found], "before": more})
