"""Signing in and out."""

import asyncio

from starlette.requests import Request

from prefjudge.marketplace.errors import Refusal
from prefjudge.marketplace.people import sessions
from prefjudge.marketplace.people.sessions import Session
from prefjudge.marketplace.store.marketplace import Turn
from prefjudge.marketplace.web.forms import remembered_fields
from prefjudge.marketplace.web.pages import Page
from prefjudge.marketplace.web.rate_limit import TRIES
from prefjudge.marketplace.web.state import Front


async def show_sign_in(front: Front, request: Request) -> Page:
    """Show the form."""
    query = request.query_params
    context = {
        "invite": query.get("invite", ""),
        "next": _local(query.get("next", "")),
        "error": "",
        "suggested": "",
    }
    return Page(name="signin", context=context)


async def sign_in(front: Front, request: Request) -> Page:
    """Open a session for who has an invitation, or a name and its password."""
    fields = await remembered_fields(request)
    try:
        secret, session = await _open(front, fields, request.client.host if request.client else "")
    except Refusal as refusal:
        return _again(fields, refusal)
    return Page(
        name="signin",
        context={"worker_id": session.worker_id, "name": session.name, "csrf": session.csrf},
        location=_local(fields.get("next", "")),
        cookies={front.cookie("worker"): secret},
    )


async def _open(front: Front, fields: dict[str, str], address: str) -> tuple[str, Session]:
    worker_id: str | None = None
    if not fields.get("invite"):  # which nobody guesses
        name, password = fields.get("name", "").strip(), fields.get("password", "")
        who, now = f"{address}|{name}", front.market.clock()
        if not (front.patience.admit(who, now) and front.patience.admit(address, now, 10 * TRIES)):
            raise Refusal("too_many_tries", "Too many wrong tries. Wait a minute.", 429)
        worker_id = await _by_password(front, name, password)
        front.patience.forgive(who, now)
        front.patience.forgive(address, now)

    def act(turn: Turn) -> tuple[str, Session]:
        secret = sessions.open_session(turn, worker_id or sessions.read_invite(turn, fields["invite"]))
        session = sessions.find_session(turn, secret)
        assert session is not None, "it was just opened"
        return secret, session

    return await front.desk.run(act)


async def _by_password(front: Front, name: str, password: str) -> str:
    worker_id, kept = await front.desk.run(lambda turn: sessions.password_of(turn, name), write=False)
    # off the loop and outside a turn: a password is slow to check on purpose
    right = await asyncio.get_running_loop().run_in_executor(None, sessions.matches, password, kept)
    if worker_id is None or not right:
        raise Refusal("wrong_password", "The name or the password is wrong.", 401)
    return worker_id


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


async def sign_out(front: Front, request: Request, session: Session) -> Page:
    """Close the session."""
    name = front.cookie("worker")
    secret = request.cookies.get(name)
    await front.desk.run(lambda turn: sessions.close_session(turn, secret))
    return Page(name="signin", context={"signed_out": True}, location="/signin", cookies={name: None})


async def show_account(front: Front, request: Request, session: Session) -> Page:
    """Show the worker's account."""
    return Page(name="account", context=await _account(front, session, ""))


async def _account(front: Front, session: Session, error: str) -> dict[str, object]:
    def act(turn: Turn) -> tuple[str, bool]:
        (row,) = turn.rows(
            "SELECT locale, password_hash IS NOT NULL FROM workers WHERE worker_id = :id",
            id=session.worker_id,
        )
        return str(row[0]), bool(row[1])

    locale, has_password = await front.desk.run(act, write=False)
    return {
        "worker_id": session.worker_id,
        "name": session.name,
        "locale": locale,
        "has_password": has_password,
        "error": error,
    }


async def set_password(front: Front, request: Request, session: Session) -> Page:
    """Set the worker's name and password."""
    fields = await remembered_fields(request)
    name, password = fields.get("name", "").strip(), fields.get("password", "")
    if not 1 <= len(name) <= 100 or len(password) < sessions.MIN_PASSWORD:
        error = f"Give a name, and a password of at least {sessions.MIN_PASSWORD} characters."
        return Page(name="account", context=await _account(front, session, error), status=400)
    kept = await asyncio.get_running_loop().run_in_executor(None, sessions.hash_password, password)
    try:
        secret = request.cookies.get(front.cookie("worker"), "")
        await front.desk.run(lambda turn: sessions.set_password(turn, session.worker_id, name, kept, secret))
    except Refusal as refusal:
        return Page(
            name="account", context=await _account(front, session, refusal.message), status=refusal.status
        )
    return Page(name="account", context={"name": name}, location="/account")
