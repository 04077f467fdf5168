"""Signs in a panel's participants."""

from starlette.requests import Request

from prefjudge.marketplace.people import panels, sessions
from prefjudge.marketplace.people.sessions import Session
from prefjudge.marketplace.store.marketplace import Transaction
from prefjudge.marketplace.web.access import session_of
from prefjudge.marketplace.web.pages import Page
from prefjudge.marketplace.web.state import AppState


async def show_arrival(state: AppState, request: Request) -> Page:
    """Ask before a link signs anybody in: another site could load such a link as a picture."""
    visit = await state.executor.run(lambda tx: _look(tx, request), write=False)
    session = await session_of(state, request)
    if session and session.worker_id == visit.worker_id:
        return Page(name="hits", context={"worker_id": session.worker_id}, location="/hits")
    other = session and (session.name or session.worker_id)
    here = f"{request.url.path}?{request.url.query}"
    return Page(name="arrival", context={"panel": visit.panel, "other": other, "here": here})


async def arrive(state: AppState, request: Request) -> Page:
    """Let the participant in."""

    def act(tx: Transaction) -> tuple[str, Session | None]:
        secret = sessions.open_session(tx, panels.arrive(tx, _look(tx, request)))
        return secret, sessions.find_session(tx, secret)

    secret, session = await state.executor.run(act)
    context = {"worker_id": session.worker_id, "csrf": session.csrf} if session else {}
    return Page(name="hits", context=context, location="/hits", cookies={state.cookie("worker"): secret})


def _look(tx: Transaction, request: Request) -> panels.Visit:
    path = request.path_params
    return panels.look(tx, path["panel"], path["key"], dict(request.query_params))
