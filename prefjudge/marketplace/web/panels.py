"""Signs in a panel's participants, and lets them go."""

import asyncio

from starlette.requests import Request

from prefjudge.marketplace.errors import Refusal
from prefjudge.marketplace.hits import visits
from prefjudge.marketplace.people import panels, workers
from prefjudge.marketplace.people.panels import Arrival, Panel
from prefjudge.marketplace.people.workers import Session
from prefjudge.marketplace.store.store import Transaction
from prefjudge.marketplace.web import panel_tokens
from prefjudge.marketplace.web.access import session_of
from prefjudge.marketplace.web.forms import remembered_fields
from prefjudge.marketplace.web.pages import Page
from prefjudge.marketplace.web.state import AppState

_TICKET_LIFE = 3600
"""Seconds that somebody may take to begin: a panel's token is over sooner."""


async def show_arrival(state: AppState, request: Request) -> Page:
    """Ask before a link signs anybody in: another site could load such a link as a picture."""
    who = await _look(state, request)
    known = await state.executor.run(lambda tx: panels.worker_of(tx, who), write=False)
    session = await session_of(state, request)
    if session and session.worker_id == known:
        secret = request.cookies.get(state.cookie("worker"), "")
        await state.executor.run(lambda tx: workers.turn_to(tx, secret, panels.arrive(tx, who).visit))
        return Page(name="hits", context={"worker_id": session.worker_id}, location="/hits")
    other = session and (session.name or session.worker_id)
    here = f"{request.url.path}?{request.url.query}"
    context = {"panel": who.panel, "other": other, "here": here, "ticket": _ticket(state, who)}
    return Page(name="arrival", context=context)


async def arrive(state: AppState, request: Request) -> Page:
    """Let the participant in."""
    who = _of_ticket(state, request, await remembered_fields(request)) or await _look(state, request)

    def act(tx: Transaction) -> tuple[str, Session | None]:
        visit = panels.arrive(tx, who)
        secret = workers.open_session(tx, visit.worker_id, visit.visit)
        return secret, workers.find_session(tx, secret)

    secret, session = await state.executor.run(act)
    context = {"worker_id": session.worker_id, "csrf": session.csrf} if session else {}
    return Page(name="hits", context=context, location="/hits", cookies={state.cookie("worker"): secret})


async def leave(state: AppState, request: Request, session: Session) -> Page:
    """End the visit of a participant who wants to stop, and show the way back."""

    def act(tx: Transaction) -> visits.Ending | None:
        visits.leave(tx, session.visit)
        return visits.ending(tx, session.visit)

    return Page(name="hits", context={"completion": await state.executor.run(act)}, location="/hits")


async def _look(state: AppState, request: Request) -> Arrival:
    path, query = request.path_params, dict(request.query_params)

    def act(tx: Transaction) -> tuple[Panel, Arrival | None]:
        panel = panels.open_panel(tx, path["panel"], path["key"])
        return panel, None if panel.keys else panels.look(tx, path["panel"], path["key"], query)

    panel, who = await state.executor.run(act, write=False)
    if who is not None:
        return who
    address, now = f"{state.origin(request)}{request.url.path}", state.marketplace.clock()
    token = query.get(panel_tokens.NAME, "")
    # off the event loop: the panel's keys may have to be fetched
    tokens = state.panel_tokens
    told = await asyncio.get_running_loop().run_in_executor(
        tokens.threads, tokens.read, panel.keys, token, address, now
    )
    return panels.arrival(
        panel, told.get(panel.participant, ""), told.get(panel.study, ""), told["session"], confirmed=True
    )


def _ticket(state: AppState, who: Arrival) -> dict[str, str]:
    """Return the fields of a form that keep who has come by a token, until they begin."""
    until = str(int(state.marketplace.clock()) + _TICKET_LIFE)
    parts = (who.panel, who.participant, who.study, who.session, str(who.confirmed), until)
    names = ("panel", "participant", "study", "session", "confirmed", "until", "signature")
    return dict(zip(names, (*parts, state.marketplace.sign("arrival", *parts)), strict=True))


def _of_ticket(state: AppState, request: Request, fields: dict[str, str]) -> Arrival | None:
    if "signature" not in fields or "until" not in fields:
        return None
    names = ("panel", "participant", "study", "session", "confirmed", "until")
    parts = tuple(fields.get(name, "") for name in names)
    signed = state.marketplace.signed(fields["signature"], "arrival", *parts)
    if not signed or parts[0] != request.path_params["panel"]:
        return None
    if int(parts[-1]) < state.marketplace.clock():
        raise Refusal("late", "You have waited too long. Open the study from your panel again.", 410)
    return Arrival(
        panel=parts[0], participant=parts[1], study=parts[2], session=parts[3], confirmed=int(parts[4])
    )
