"""Signing in and out, and the language in which the site speaks."""

import asyncio

from starlette.requests import Request

from prefjudge.marketplace.errors import Refusal
from prefjudge.marketplace.people import workers
from prefjudge.marketplace.people.workers import Session
from prefjudge.marketplace.store.store import Transaction
from prefjudge.marketplace.web.forms import remembered_fields
from prefjudge.marketplace.web.languages import COOKIE
from prefjudge.marketplace.web.pages import Page
from prefjudge.marketplace.web.rate_limit import limits
from prefjudge.marketplace.web.state import AppState
from prefjudge.marketplace.wording import catalogues


async def show_sign_in(state: AppState, request: Request) -> Page:
    """Show the form."""
    query = request.query_params
    context = {
        "invite": query.get("invite", ""),
        "next": _local(query.get("next", "")),
        "error": "",
        "suggested": "",
    }
    return Page(name="signin", context=context)


async def sign_in(state: AppState, request: Request) -> Page:
    """Open a session by an invitation, or by a name and its password."""
    fields = await remembered_fields(request)
    try:
        secret, session = await _open(state, fields, request.client.host if request.client else "")
    except Refusal as refusal:
        return _again(fields, refusal)
    return Page(
        name="signin",
        context={"worker_id": session.worker_id, "name": session.name, "csrf": session.csrf},
        location=_local(fields.get("next", "")),
        cookies={state.cookie("worker"): secret},
    )


async def _open(state: AppState, fields: dict[str, str], address: str) -> tuple[str, Session]:
    checked: tuple[str, tuple[str | None, str | None]] | None = None
    if not fields.get("invite"):  # invitations are too long to guess
        name, password = fields.get("name", "").strip(), fields.get("password", "")
        guess, now = limits(f"worker|{name}", address), state.marketplace.clock()
        if not state.rate_limit.allow_guess(guess, now):
            raise Refusal("too_many_tries", "Too many wrong attempts. Wait a minute.", 429)
        checked = name, await _by_password(state, name, password)
        state.rate_limit.refund_guess(guess, now)

    def act(tx: Transaction) -> tuple[str, Session]:
        if checked is None:
            worker_id = workers.read_invite(tx, fields["invite"])
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


def _again(fields: dict[str, str], refusal: Refusal) -> Page:
    context = {
        "invite": "",
        "next": _local(fields.get("next", "")),
        "error": refusal.message,
        "code": refusal.code,
        "suggested": fields.get("name", ""),
    }
    return Page(name="signin", context=context, status=refusal.status)


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
        cookies={state.cookie(COOKIE): language},
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
