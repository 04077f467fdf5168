"""How a panel's participants come in."""

from starlette.requests import Request

from prefjudge.marketplace.people import panels, sessions
from prefjudge.marketplace.people.sessions import Session
from prefjudge.marketplace.store.marketplace import Turn
from prefjudge.marketplace.web.access import session_of
from prefjudge.marketplace.web.pages import Page
from prefjudge.marketplace.web.state import Front


async def show_arrival(front: Front, request: Request) -> Page:
    """Ask before a link signs anybody in: a picture on another site could be such a link."""
    visit = await front.desk.run(lambda turn: _look(turn, request), write=False)
    session = await session_of(front, request)
    if session and session.worker_id == visit.worker_id:
        return Page(name="hits", context={"worker_id": session.worker_id}, location="/hits")
    other = session and (session.name or session.worker_id)
    here = f"{request.url.path}?{request.url.query}"
    return Page(name="arrival", context={"panel": visit.panel, "other": other, "here": here})


async def arrive(front: Front, request: Request) -> Page:
    """Let the participant in."""

    def act(turn: Turn) -> tuple[str, Session | None]:
        secret = sessions.open_session(turn, panels.arrive(turn, _look(turn, request)))
        return secret, sessions.find_session(turn, secret)

    secret, session = await front.desk.run(act)
    context = {"worker_id": session.worker_id, "csrf": session.csrf} if session else {}
    return Page(name="hits", context=context, location="/hits", cookies={front.cookie("worker"): secret})


def _look(turn: Turn, request: Request) -> panels.Visit:
    path = request.path_params
    return panels.look(turn, path["panel"], path["key"], dict(request.query_params))
