"""Panels' pages: participants come and go; and the admin makes, edits, closes and pays panels."""

import asyncio
from collections.abc import Mapping
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from prefjudge.marketplace.errors import Params, Refusal, invalid
from prefjudge.marketplace.hits import visits
from prefjudge.marketplace.people import panels, workers
from prefjudge.marketplace.people.panels import LAST, OUTCOMES, Arrival, Panel
from prefjudge.marketplace.people.workers import Session
from prefjudge.marketplace.site.pages import (
    Page,
    Pairs,
    read_json,
    remembered_fields,
    remembered_pairs,
    wants_json,
)
from prefjudge.marketplace.site.signin import session_of
from prefjudge.marketplace.site.state import LINK_PARAMETER, AppState, need_library
from prefjudge.marketplace.store.store import Transaction

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
    token = query.get(LINK_PARAMETER, "")
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


# The admin's pages about panels: make, edit, close; who came, what they did and are owed; files.

KINDS: Mapping[str, Mapping[str, str]] = {
    "prolific": {
        "participant": "PROLIFIC_PID",
        "study": "STUDY_ID",
        "session": "SESSION_ID",
        "url": "https://app.prolific.com/submissions/complete?cc={code}",
        "link": "?PROLIFIC_PID={{%PROLIFIC_PID%}}&STUDY_ID={{%STUDY_ID%}}&SESSION_ID={{%SESSION_ID%}}",
    },
    "connect": {
        "participant": "participantId",
        "study": "projectId",
        "session": "assignmentId",
        "url": "",
        "link": "",
    },
    "sona": {"participant": "id", "study": "", "session": "", "url": "", "link": "?id=%SURVEY_CODE%"},
    "list": {"participant": "who", "study": "", "session": "", "url": "", "link": "?who=NAME"},
}
"""How the panels that people use name what their links carry, and where they want participants back."""

AT_ONCE = 200
"""Visits on one page of a panel."""


async def list_panels(state: AppState, request: Request) -> Page:
    """List the panels, and offer a form for another one, filled in for a kind of panel."""

    def act(tx: Transaction) -> list[Mapping[str, Any]]:
        return [_shown(tx, panel, state, request) for panel in panels.every(tx)]

    kind = request.query_params.get("kind", "")
    listed = {"panels": await state.executor.run(act, write=False)}
    if wants_json(request):
        return Page(name="panels", context=listed)
    form = {"kind": kind if kind in KINDS else "", "kinds": KINDS, "outcomes": OUTCOMES}
    return Page(name="panels", context={**listed, **form})


async def show_panel(state: AppState, request: Request) -> Page:
    """Show one panel: its link, its properties, and what its participants did and are owed.

    Programs get all visits, or ``most`` at once; ``before`` continues where a page ended.
    """
    name, query = request.path_params["panel"], request.query_params
    most = _number(query.get("most", "" if wants_json(request) else str(AT_ONCE)), "most")
    before = _number(query.get("before", ""), "before")

    def act(tx: Transaction) -> Mapping[str, Any]:
        panel = panels.find(tx, name)
        last = LAST if before is None else before - 1
        listed = visits.visit_list(tx, panel, last=last, most=most)
        more = listed[-1]["visit"] if listed and len(listed) == most else None
        shown = {"panel": _shown(tx, panel, state, request), "visits": listed, "before": more}
        if wants_json(request):
            return shown
        # whom to pay is said of all: the files are
        every = listed if more is None and before is None else visits.visit_list(tx, panel)
        return {**shown, "to_pay": visits.to_pay(every), "first": before is None}

    shown = await state.executor.run(act, write=False)
    if wants_json(request):
        return Page(name="panel", context=shown)
    return Page(name="panel", context={**shown, "outcomes": OUTCOMES, "kinds": KINDS})


def _number(text: str, name: str) -> int | None:
    """Read a number of the address, which need not be there."""
    if not text:
        return None
    if not text.isdecimal() or not 0 < len(text) < 19 or not int(text):
        raise invalid(name, f"{text[:32]!r} is not a number above 0")
    return int(text)


def _shown(tx: Transaction, panel: Panel, state: AppState, request: Request) -> Mapping[str, Any]:
    path = panels.view(tx, panel)["path"]
    return {
        **panels.view(tx, panel),
        "url": path and f"{state.origin(request)}{path}",
        "visits": panels.count_outcomes(tx, panel.panel),
    }


async def add_panel(state: AppState, request: Request) -> Page:
    """Register a panel and make its study's link."""
    wanted = dict(await _wanted(request))
    name = wanted.pop("name", "")
    need_library(str(wanted.get("keys", "")))

    def act(tx: Transaction) -> Mapping[str, Any]:
        panel = panels.create(tx, name, wanted)
        secret = {"secret": panels.secret(tx, panel.panel)} if panel.signed else {}
        key = panels.link_key(tx, panel.panel, panel.created)
        return {**_shown(tx, panel, state, request), "key": key, **secret}

    made = await state.executor.run(act)
    return Page(name="panel", context=made, status=201, location=f"/admin/panels/{name}")


async def put_panel(state: AppState, request: Request) -> Response:
    """Register a panel, or change one; a repeat changes nothing."""
    name, wanted = request.path_params["panel"], await read_json(request)
    need_library(str(wanted.get("keys", "")))
    return JSONResponse(
        await state.executor.run(lambda tx: _shown(tx, panels.save(tx, name, wanted), state, request))
    )


async def edit_panel(state: AppState, request: Request) -> Page:
    """Change a panel as the form says."""
    name, wanted = request.path_params["panel"], dict(await _wanted(request))
    need_library(str(wanted.get("keys", "")))

    def act(tx: Transaction) -> Mapping[str, Any]:
        panels.find(tx, name)
        return _shown(tx, panels.save(tx, name, wanted), state, request)

    context = await state.executor.run(act)
    return Page(name="panel", context=context, location=f"/admin/panels/{name}")


async def make_links(state: AppState, request: Request) -> Response:
    """Write a signed link for each name, one a line, as CSV, or JSON for programs."""
    name = request.path_params["panel"]
    if _is_json(request):
        names = (await read_json(request)).get("names")
    else:
        names = (await remembered_fields(request)).get("names", "").split("\n")
    if not isinstance(names, list) or not all(isinstance(one, str) for one in names):
        raise invalid("names", "must be a list of texts")
    wanted = list(dict.fromkeys(one.strip() for one in names if one.strip()))

    def act(tx: Transaction) -> list[dict[str, str]]:
        panel = panels.find(tx, name)
        url = _shown(tx, panel, state, request)["url"]
        if url is None:
            raise invalid("panel", "its link was shown when it was made, and is not kept")
        for one in wanted:
            panels.arrival(
                panel, one, "", "", confirmed=True
            )  # a link that nobody could follow is refused now
        return [{"name": one, "url": f"{url}?{panels.signed_query(tx, panel, one)}"} for one in wanted]

    links = await state.executor.run(act, write=False)
    if _is_json(request):
        return JSONResponse({"links": links})
    text = visits.written((workers.inert(one["name"]), one["url"]) for one in links)
    attached = {
        "Content-Disposition": f'attachment; filename="{name}-links.csv"',
        "Cache-Control": "no-store",
    }
    return Response(text, media_type="text/csv", headers=attached)


async def close_panel(state: AppState, request: Request) -> Page:
    """Let nobody new in."""
    return await _close(state, request, closed=True)


async def open_panel(state: AppState, request: Request) -> Page:
    """Let new participants in again."""
    return await _close(state, request, closed=False)


async def _close(state: AppState, request: Request, *, closed: bool) -> Page:
    name = request.path_params["panel"]
    await state.executor.run(lambda tx: panels.close(tx, name, closed=closed))
    return Page(name="panel", context={"panel": name, "closed": closed}, location=f"/admin/panels/{name}")


async def remove_panel(state: AppState, request: Request) -> Page:
    """Remove a panel that nobody has come from."""
    name = request.path_params["panel"]
    await state.executor.run(lambda tx: panels.remove(tx, name))
    return Page(name="panels", context={"removed": name}, location="/admin/panels")


async def download(state: AppState, request: Request) -> Response:
    """Write one of the files that the panel takes: whom to approve, and what to pay beyond."""
    name, file = request.path_params["panel"], request.path_params["file"]
    write = {"approvals.csv": visits.approvals, "bonuses.csv": visits.bonuses}.get(file)
    if write is None:
        raise Refusal("no_file", f"A panel has no file {file[:40]}.", 404)

    def act(tx: Transaction) -> str:
        return write(visits.visit_list(tx, panels.find(tx, name)))

    text = await state.executor.run(act, write=False)
    attached = {"Content-Disposition": f'attachment; filename="{name}-{file}"', "Cache-Control": "no-store"}
    return Response(text, media_type="text/csv", headers=attached)


async def report_submissions(state: AppState, request: Request) -> Page:
    """Take over what the panel's list says of its submissions: in JSON, or ids in a form, one a line."""
    name = request.path_params["panel"]
    if _is_json(request):
        said = (await read_json(request)).get("submissions")
        if not isinstance(said, list) or not all(isinstance(one, Mapping) for one in said):
            raise invalid("submissions", "must be a list of objects")
    else:
        fields = await remembered_fields(request)
        kind = "session" if fields.get("by") == "session" else "participant"
        ids = fields.get("ids", "").replace(",", "\n").split("\n")
        said = [{kind: one.strip(), "status": fields.get("status", "")} for one in ids if one.strip()]

    def act(tx: Transaction) -> dict[str, int]:
        return visits.report(tx, panels.find(tx, name), said)

    counts = await state.executor.run(act)
    return Page(name="panel", context=counts, location=f"/admin/panels/{name}")


async def end_session(state: AppState, request: Request) -> Page:
    """End a visit by its session, as the panel says that it ended."""
    name, session = request.path_params["panel"], request.path_params["session"]
    outcome = (await remembered_fields(request)).get("outcome", "returned")

    def act(tx: Transaction) -> dict[str, int]:
        panel = panels.find(tx, name)
        return visits.report(tx, panel, [{"session": session, "status": outcome}])

    counts = await state.executor.run(act)
    if counts["not_here"]:
        raise Refusal("no_session", "Nobody has come with this session.", 404)
    return Page(name="panel", context=counts, location=f"/admin/panels/{name}")


async def record_paid(state: AppState, request: Request) -> Page:
    """Record that the panel has paid visits; or, with ``refused`` in JSON, that it has not after all."""
    name, act_on = request.path_params["panel"], visits.record_paid
    if _is_json(request):
        wanted = await read_json(request)
        given = wanted.get("visits")
        if wanted.get("refused") is True:
            act_on = visits.take_back_paid
        numbers = given if isinstance(given, list) else [None]
    else:
        numbers = (await remembered_fields(request)).get("visits", "").split(",")
    texts = [str(number) for number in numbers]
    if not all(text.isdecimal() and len(text) < 19 for text in texts):
        raise invalid("visits", "must be numbers of visits")

    def act(tx: Transaction) -> int:
        return act_on(tx, panels.find(tx, name), [int(text) for text in texts])

    context = {"recorded": await state.executor.run(act)}
    return Page(name="panel", context=context, location=f"/admin/panels/{name}")


def _is_json(request: Request) -> bool:
    return request.headers.get("content-type", "").startswith("application/json")


async def _wanted(request: Request) -> Params:
    """Read a panel's properties, as JSON or from the form."""
    return await read_json(request) if _is_json(request) else _of_form(await remembered_pairs(request))


def _of_form(pairs: Pairs) -> Params:
    fields = {name: text.strip() for name, text in pairs}
    hits = fields.get("hits") or "1"
    if not hits.isdecimal() or len(hits) > 9:
        raise invalid("hits", "is not a whole number")
    texts = ("name", "participant", "study", "session", "locale", "reward", "keys", "requester")
    ways = {
        outcome: {"code": fields.get(f"code_{outcome}", ""), "url": fields.get(f"url_{outcome}", "")}
        for outcome in OUTCOMES
    }
    return {
        **{name: fields[name] for name in texts if name in fields and (fields[name] or name != "reward")},
        "hits": int(hits),
        "signed": "signed" in fields,
        "confirm": "confirm" in fields,
        # an address that waits for a code leads nowhere without one
        "completion": {
            outcome: way
            for outcome, way in ways.items()
            if way["code"] or (way["url"] and "{code}" not in way["url"])
        },
    }
