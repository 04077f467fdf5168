"""Who may use a route, and signing in and out: workers by invitation, the admin by the token."""

import hmac
import json
import re
from collections.abc import Awaitable, Callable, Mapping
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from prefjudge.marketplace.errors import Refusal, RequestError
from prefjudge.marketplace.people import requesters, workers
from prefjudge.marketplace.people.workers import Session
from prefjudge.marketplace.settings import catalogues
from prefjudge.marketplace.site.pages import LANGUAGE, Call, Page, refused_page
from prefjudge.marketplace.site.state import AppState, limits
from prefjudge.marketplace.store.store import Transaction

Route = Callable[[Call], Awaitable[Page | Response]]
Guard = Callable[[Call, Route], Awaitable[Page | Response]]
Endpoint = Callable[[Request], Awaitable[Response]]

LOGGED_READS = frozenset({"/admin/workers/{worker_id}/export.json", "/admin/panels/{panel}/{file}"})
"""What is logged though it changes nothing: data of people leave the marketplace."""
NAMELESS = "(token)"
"""Who does something, in the log, where nothing but the token is known of them."""
_PLAIN = re.compile(r"[A-Za-z0-9_.:@/+-]+")
_TOLD = (
    "worker_id", "assignment_id", "requester_id", "access_key", "account", "panel", "file", "amount",
    "budget", "reference", "master", "simulated",
)  # fmt: skip
"""What the log tells of an act: of what it was given, and of its answer. No names and secrets."""


_OWN = ("/history", "/inbox")
"""Pages about a worker's other days: not for somebody who may have typed the worker's id into a link."""


def endpoint(running: AppState, guard: Guard, route: Route) -> Endpoint:
    """Answer by a route those whom its guard lets in; what is refused is a page, too."""

    async def answer(request: Request) -> Response:
        call = Call(running, request)
        try:
            page = await guard(call, route)
        except Refusal as refusal:
            page = refused_page(refusal)
        except RequestError as error:
            page = refused_page(Refusal("invalid", error.message, 400))
        return page if isinstance(page, Response) else call.respond(page)

    return answer


async def for_everybody(call: Call, route: Route) -> Page | Response:
    """Let everybody in."""
    call.signed_in = await call.find_session()
    return await route(call)


async def for_workers(call: Call, route: Route) -> Page | Response:
    """Let in workers who are signed in, and accept changes only with their session's token."""
    session = call.signed_in = await call.find_session()
    if session is None:
        if call.wants_json:
            raise Refusal("signed_out", "Sign in first.", 401)
        here = call.url.path if call.method == "GET" else "/hits"
        return Page(name="signin", location=f"/signin?next={quote(here)}")
    if call.method != "GET":
        await _check_csrf(call, session.csrf)
    if not session.confirmed and call.url.path.startswith(_OWN):
        raise Refusal("unconfirmed", "This page opens once your panel confirms that it sent you.", 403)
    async with call.running.turns.of(session.worker_id):
        return await route(call)


async def for_admins(call: Call, route: Route) -> Page | Response:
    """Let those in who administer, by the token or by the cookie of a session; log what they change."""
    cookie = call.secret("admin")
    lasts: bool = bool(cookie) and await call.look(lambda tx: requesters.is_admin_session(tx, cookie))
    if lasts:
        call.csrf = call.running.marketplace.sign("admin csrf", cookie)
    if not (call.csrf or _is_admin_token(call)):
        if call.wants_json or call.method != "GET":
            raise Refusal("not_admin", "Give the admin token.", 401)
        return Page(name="admin_signin", location="/admin/signin")
    if call.csrf and call.method != "GET":
        await _check_csrf(call, call.csrf)
    return await _logged(call, route)


def who_administers(call: Call) -> str:
    """Return the name for the log: what a web server in front says, by the header that the settings name.

    Nobody else is believed: who knows the token and the header could log under another's name.
    """
    header = call.running.settings.admin_header
    # uvicorn gives port 0 to whom a web server that the settings name calls for, and to nobody else
    by_proxy = call.client is not None and call.client.port == 0
    return (call.headers.get(header, "").strip()[:100] if header and by_proxy else "") or NAMELESS


async def _logged(call: Call, route: Route) -> Page | Response:
    """Do what somebody who administers asks for; log it, also where it is refused, unless it only looks."""
    path = call.scope["route"].path
    if call.method in ("GET", "HEAD") and path not in LOGGED_READS:
        return await route(call)
    given = {**await call.fields(), **call.path_params}
    about, status = _about(given), 500
    admin, act = who_administers(call), f"{call.method} {path}"
    seq = await call.run(lambda tx: requesters.begin_entry(tx, admin, act, about))
    try:
        page = await route(call)
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
        await call.run(lambda tx: requesters.end_entry(tx, seq, status, about))


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


async def _check_csrf(call: Call, expected: str) -> None:
    given = call.headers.get("x-csrf-token") or (await call.fields()).get("csrf", "")
    if not hmac.compare_digest(given.encode(), expected.encode()):
        raise Refusal("csrf", "The page is out of date. Go back, reload it and try again.", 403)


def _is_admin_token(call: Call) -> bool:
    scheme, _, token = call.headers.get("authorization", "").partition(" ")
    return scheme.lower() == "bearer" and _guessed(call, token.strip())


def _guessed(call: Call, token: str) -> bool:
    """Return whether a token is the admin's; a wrong one counts as a guess, wherever it is given.

    Only wrong ones count: a program that has the token calls as often as it likes.
    """
    if hmac.compare_digest(token.encode(), call.running.admin_token.encode()):
        return True
    address = call.client.host if call.client else ""
    if not call.running.rate_limit.allow_guess(limits("admin", address), call.running.marketplace.clock()):
        raise Refusal("too_many_tries", "Too many wrong attempts. Wait a minute.", 429)
    return False


# Signing in and out, and the language in which the site speaks.


async def show_sign_in(call: Call) -> Page:
    """Show the form, or to whom an invitation is.

    A look uses up and opens nothing: chat programs look at each link that is sent in them. Whoever is signed
    in as that worker goes on.
    """
    fields = dict(call.query_params)
    if not fields.get("invite"):
        return _form(fields)

    try:
        worker = await call.look(lambda tx: workers.find(tx, workers.read_invite(tx, fields["invite"])))
    except Refusal as refusal:
        return _form({"next": fields.get("next", "")}, refusal)
    if call.signed_in and call.signed_in.worker_id == worker.worker_id:
        return Page(name="signin", location=_local(fields.get("next", "")))
    return _form({**fields, "name": worker.name or ""}, other=call.signed_in)


async def sign_in(call: Call) -> Page:
    """Open a session by an invitation, where a newcomer may give a name."""
    fields = await call.fields()
    try:
        secret, session = await _open(call, fields)
    except Refusal as refusal:
        return _form(fields if refusal.code in _OF_NAMES else {**fields, "invite": ""}, refusal)
    return Page(
        name="signin",
        context={"worker_id": session.worker_id, "name": session.name, "csrf": session.csrf},
        location=_local(fields.get("next", "")),
        cookies={"worker": secret},
    )


async def _open(call: Call, fields: dict[str, str]) -> tuple[str, Session]:
    invite, name = fields.get("invite", ""), fields.get("name", "").strip()
    # too long to guess; but each time opens a session, which is kept
    if invite and not call.running.rate_limit.allow(f"invite|{invite}", call.running.marketplace.clock()):
        raise Refusal("too_many_requests", "Too many requests at once. Wait a moment, and try again.", 429)

    def act(tx: Transaction) -> tuple[str, Session]:
        worker_id = workers.read_invite(tx, invite)
        if name and workers.find(tx, worker_id).name is None:
            workers.set_name(tx, worker_id, name)
        secret = workers.open_session(tx, worker_id)
        session = workers.find_session(tx, secret)
        assert session is not None, "it was just opened"
        return secret, session

    return await call.run(act)


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


async def choose_language(call: Call) -> Page:
    """Speak another language from now on, and go back to the page."""
    fields = await call.fields()
    language = fields.get("language", "")
    if language not in catalogues():
        raise Refusal("no_language", "The site does not speak this language.", 400)
    return Page(
        name="hits",
        context={"language": language},
        location=_local(fields.get("next", "")),
        cookies={LANGUAGE: language},
    )


async def sign_out(call: Call) -> Page:
    """Close the session."""
    secret = call.secret("worker")
    await call.run(lambda tx: workers.close_session(tx, secret))
    return Page(name="signin", context={"signed_out": True}, location="/signin", cookies={"worker": None})


# Signing in with the admin's token, and the log of what was done with it.


async def show_admin_sign_in(call: Call) -> Page:
    """Show the form that asks for the token."""
    return Page(name="admin_signin", context={"error": ""})


async def admin_sign_in(call: Call) -> Page:
    """Open a session by the token, or the code of a link that works once: both are too long to guess."""
    fields = await call.fields()
    token, code = fields.get("token", "").strip(), fields.get("once", "")
    name = who_administers(call)

    def act(tx: Transaction) -> str:
        if code:
            if not requesters.use_admin_link(tx, code):
                raise Refusal(
                    "used_link", "The link was used, or is older than ten minutes. Give the token.", 401
                )
        elif not _guessed(call, token):
            raise Refusal("wrong_token", "The token is wrong.", 401)
        requesters.end_entry(tx, requesters.begin_entry(tx, name, "sign in", ""), 200, "")
        return requesters.open_admin_session(tx)

    try:
        secret = await call.run(act)
    except Refusal as refusal:
        context = {"error": refusal.message, "code": refusal.code}
        return Page(name="admin_signin", context=context, status=refusal.status)
    return Page(name="admin_signin", location="/admin", cookies={"admin": secret})


async def admin_sign_out(call: Call) -> Page:
    """End the session."""
    secret = call.secret("admin")
    await call.run(lambda tx: requesters.close_admin_session(tx, secret))
    return Page(name="admin_signin", location="/admin/signin", cookies={"admin": None})


async def show_log(call: Call) -> Page:
    """Show what was done, newest first; ``before`` continues where a page ended."""
    text = call.query_params.get("before", "")
    before = int(text) if text.isdecimal() and len(text) < 18 else None
    found = await call.look(lambda tx: requesters.log_entries(tx, before))
    more = found[-1]["seq"] if len(found) == requesters.LOG_PAGE else None
    return Page(name="admin_log", context={"entries": found, "before": more})
