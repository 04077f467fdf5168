"""The accounts of those who administer: signing in, passwords, roles, and the log of what they did."""

import asyncio
import hmac
from urllib.parse import urlsplit

from starlette.requests import Request

from prefjudge.marketplace.errors import Refusal
from prefjudge.marketplace.people import admin_log, admins
from prefjudge.marketplace.people.admins import TOKEN, Admin
from prefjudge.marketplace.people.sessions import hash_password, matches
from prefjudge.marketplace.store.marketplace import Transaction
from prefjudge.marketplace.web.access import admin_of
from prefjudge.marketplace.web.forms import remembered_fields
from prefjudge.marketplace.web.pages import Page
from prefjudge.marketplace.web.rate_limit import limits
from prefjudge.marketplace.web.state import AppState


async def show_sign_in(state: AppState, request: Request) -> Page:
    """Show the form that asks for a name and a password, or for the token."""
    return sign_in_page(state)


def sign_in_page(state: AppState, refusal: Refusal | None = None) -> Page:
    """Return the page of the ways in, with why one was refused."""
    oidc = state.settings.oidc
    context = {"error": refusal.message, "code": refusal.code} if refusal else {"error": ""}
    elsewhere = urlsplit(oidc.issuer).hostname if oidc else ""
    status = refusal.status if refusal else 200
    return Page(name="admin_signin", context={**context, "elsewhere": elsewhere}, status=status)


async def sign_in(state: AppState, request: Request) -> Page:
    """Open a session by the token, or by the name and the password of an account."""
    fields = await remembered_fields(request)
    try:
        admin = await _known(state, request, fields)
    except Refusal as refusal:
        return sign_in_page(state, refusal)
    return Page(name="admin_signin", location="/admin", cookies=await open_session(state, admin))


async def open_session(state: AppState, admin: Admin) -> dict[str, str | None]:
    """Sign somebody in who administers, and return the cookie by which that is known."""

    def act(tx: Transaction) -> str:
        log_sign_in(tx, admin.name, 200)
        return admins.open_session(tx, admin)

    return {state.cookie("admin"): await state.executor.run(act)}


def log_sign_in(tx: Transaction, name: str, status: int) -> None:
    """Write that somebody has signed in, or was refused."""
    admin_log.end(tx, admin_log.begin(tx, name, "sign in", ""), status, "")


async def _known(state: AppState, request: Request, fields: dict[str, str]) -> Admin:
    """Return who signs in; a token is too long to guess, and guesses of a password are limited."""
    token = fields.get("token", "").strip()
    if token or not fields.get("name"):
        if not hmac.compare_digest(token.encode(), state.admin_token.encode()):
            raise Refusal("wrong_token", "The token is wrong.", 401)
        return TOKEN
    name, address = fields["name"].strip(), request.client.host if request.client else ""
    kept = await check_guess(state, f"admin|{name}", address, name, fields.get("password", ""))
    found = await state.executor.run(lambda tx: admins.account_by(tx, name, kept), write=False)
    if found is None:  # removed, or given another password, while this one was checked
        raise Refusal("wrong_password", "The name or the password is wrong.", 401)
    return found


async def check_guess(state: AppState, who: str, address: str, name: str, password: str) -> str:
    """Return what is kept of an account's password; refuse a wrong one, and more than a few tries."""
    now, guess = state.marketplace.clock(), limits(who, address)
    if not state.rate_limit.allow_guess(guess, now):
        raise Refusal("too_many_tries", "Too many wrong attempts. Wait a minute.", 429)
    kept = await state.executor.run(lambda tx: admins.password_of(tx, name), write=False)
    # off the event loop: checking a password is slow on purpose, also where there is none
    right = await asyncio.get_running_loop().run_in_executor(None, matches, password, kept)
    if not right or kept is None:
        if kept is not None:  # who mistypes a name may have typed a password there
            await state.executor.run(lambda tx: log_sign_in(tx, name, 401))
        raise Refusal("wrong_password", "The name or the password is wrong.", 401)
    state.rate_limit.refund_guess(guess, now)
    return kept


async def sign_out(state: AppState, request: Request) -> Page:
    """End the session."""
    name = state.cookie("admin")
    secret = request.cookies.get(name, "")
    await state.executor.run(lambda tx: admins.close_session(tx, secret))
    return Page(name="admin_signin", location="/admin/signin", cookies={name: None})


async def show_accounts(state: AppState, request: Request) -> Page:
    """List the accounts."""
    found = await state.executor.run(admins.accounts, write=False)
    shown = [{"name": one.name, "role": one.role} for one in found]
    return Page(name="admin_accounts", context={"accounts": shown, "shortest": admins.MIN_PASSWORD})


async def add_account(state: AppState, request: Request) -> Page:
    """Make an account."""
    fields = await remembered_fields(request)
    admin = Admin(name=fields.get("name", "").strip(), role=fields.get("role", ""))
    kept = await _hashed(fields.get("password", ""))
    await state.executor.run(lambda tx: admins.create(tx, admin, kept))
    said = {"account": admin.name, "role": admin.role}
    return Page(name="admin_accounts", context=said, status=201, location="/admin/accounts")


async def remove_account(state: AppState, request: Request) -> Page:
    """Delete an account."""
    name = request.path_params["account"]
    await state.executor.run(lambda tx: admins.remove(tx, name))
    return Page(name="admin_accounts", context={"account": name}, location="/admin/accounts")


async def reset_password(state: AppState, request: Request) -> Page:
    """Give an account another password; whoever is signed in by it must sign in again."""
    name = request.path_params["account"]
    kept = await _hashed((await remembered_fields(request)).get("password", ""))
    await state.executor.run(lambda tx: admins.set_password(tx, name, kept))
    return Page(name="admin_accounts", context={"account": name}, location="/admin/accounts")


async def show_password(state: AppState, request: Request) -> Page:
    """Show the form for one's own password."""
    return Page(name="admin_password", context={"error": "", "shortest": admins.MIN_PASSWORD})


async def change_password(state: AppState, request: Request) -> Page:
    """Change one's own password; one's other sessions end."""
    fields, admin = await remembered_fields(request), admin_of(request)
    if not admin.has_password:
        raise Refusal("no_account", "You have no password here.", 400)
    address = request.client.host if request.client else ""
    await check_guess(state, f"admin|{admin.name}", address, admin.name, fields.get("old", ""))
    kept = await _hashed(fields.get("password", ""))
    secret = request.cookies.get(state.cookie("admin"), "")
    await state.executor.run(lambda tx: admins.set_password(tx, admin.name, kept, secret))
    return Page(name="admin_password", context={"account": admin.name}, location="/admin")


async def show_log(state: AppState, request: Request) -> Page:
    """Show what was done, newest first; ``before`` continues where a page ended."""
    text = request.query_params.get("before", "")
    before = int(text) if text.isdecimal() and len(text) < 18 else None
    found = await state.executor.run(lambda tx: admin_log.entries(tx, before), write=False)
    more = found[-1].seq if len(found) == admin_log.AT_ONCE else None
    return Page(name="admin_log", context={"entries": [one.to_json() for one in found], "before": more})


async def _hashed(password: str) -> str:
    admins.check_password(password)
    return await asyncio.get_running_loop().run_in_executor(None, hash_password, password)
