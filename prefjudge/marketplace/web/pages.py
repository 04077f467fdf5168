"""One response for people and programs: HTML for a browser, and JSON for a client that asks for JSON."""

import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response

from prefjudge.marketplace import site
from prefjudge.marketplace.errors import Refusal
from prefjudge.marketplace.people.workers import Session
from prefjudge.marketplace.web.languages import language_of
from prefjudge.marketplace.web.state import AppState


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
    # a panel pays its participants, whatever money the ledger counts in
    of_panel = request.url.path.startswith("/panel/") or (session and session.visit is not None)
    paid_elsewhere = {"sandbox": False} if of_panel else {}
    common = {
        "csrf": session.csrf if session else csrf,
        "nonce": nonce,
        "worker": {"worker_id": session.worker_id, "name": session.name} if session else None,
        "unread": session.unread if session else 0,
        "path": request.url.path,
        "here": f"{request.url.path}?{request.url.query}" if request.method == "GET" else "/",
        "framed": page.framed,
        "marketplace": {**state.about, **paid_elsewhere},
    }
    answer = Response(
        site.render_page(page.name, {**common, **page.context}, wording),
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
