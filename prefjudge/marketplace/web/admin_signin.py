"""Signing in with the admin's token, and the log of what was done with it."""

import hmac

from starlette.requests import Request

from prefjudge.marketplace.errors import Refusal
from prefjudge.marketplace.people import requesters
from prefjudge.marketplace.store.store import Transaction
from prefjudge.marketplace.web.access import who_administers
from prefjudge.marketplace.web.forms import remembered_fields
from prefjudge.marketplace.web.pages import Page
from prefjudge.marketplace.web.state import AppState


async def show_sign_in(state: AppState, request: Request) -> Page:
    """Show the form that asks for the token."""
    return Page(name="admin_signin", context={"error": ""})


async def sign_in(state: AppState, request: Request) -> Page:
    """Open a session by the token, which is too long to guess."""
    token = (await remembered_fields(request)).get("token", "").strip()
    if not hmac.compare_digest(token.encode(), state.admin_token.encode()):
        refusal = Refusal("wrong_token", "The token is wrong.", 401)
        context = {"error": refusal.message, "code": refusal.code}
        return Page(name="admin_signin", context=context, status=refusal.status)
    name = who_administers(state, request)

    def act(tx: Transaction) -> str:
        requesters.end_entry(tx, requesters.begin_entry(tx, name, "sign in", ""), 200, "")
        return requesters.open_admin_session(tx)

    secret = await state.executor.run(act)
    return Page(name="admin_signin", location="/admin", cookies={state.cookie("admin"): secret})


async def sign_out(state: AppState, request: Request) -> Page:
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
