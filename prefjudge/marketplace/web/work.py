"""A worker's routes: find a HIT, look at it, accept it, work, submit or return it."""

import json
from collections.abc import Mapping
from typing import Any, TypedDict
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from prefjudge.marketplace.errors import Refusal
from prefjudge.marketplace.hits import assignments, hits, own_work, visits
from prefjudge.marketplace.hits.hits import Hit
from prefjudge.marketplace.hits.own_work import OwnAssignment, pace
from prefjudge.marketplace.people import workers
from prefjudge.marketplace.people.workers import Session
from prefjudge.marketplace.questions import read_question
from prefjudge.marketplace.store.store import Transaction
from prefjudge.marketplace.web.access import session_of
from prefjudge.marketplace.web.forms import read_json, read_pairs, remembered_fields
from prefjudge.marketplace.web.frames import NOT_AVAILABLE, before_accepting
from prefjudge.marketplace.web.pages import Page, refused_page, respond
from prefjudge.marketplace.web.state import AppState

MAX_DRAFT = 64_000


def _number(request: Request) -> int:
    text = request.query_params.get("page", "1")
    return int(text) if text.isdecimal() and len(text) < 9 else 1


class Frame(TypedDict):
    """The address, height and kind of the frame that shows a HIT."""

    url: str
    height: int
    kind: str


def frame(
    state: AppState, origin: str, hit: Hit | OwnAssignment, assignment_id: str, worker_id: str
) -> Frame:
    """Return the frame that shows a HIT."""
    names = {
        "assignmentId": assignment_id,
        "hitId": hit.hit_id,
        "workerId": worker_id,
        "turkSubmitTo": origin,
    }
    if hit.kind == "external":
        url = f"{hit.address}{'&' if '?' in (hit.address or '') else '?'}{urlencode(names)}"
    else:
        names["ticket"] = state.marketplace.sign("frame", hit.hit_id, assignment_id, worker_id)
        url = f"{origin}/frames/{hit.hit_id}?{urlencode(names)}"
    return {"url": url, "height": hit.height, "kind": hit.kind}


async def list_groups(state: AppState, request: Request, session: Session) -> Page:
    """List what is on offer."""

    def act(tx: Transaction) -> Mapping[str, Any]:
        visit = visits.progress(tx, session.visit)
        shown = hits.groups(tx, session.worker_id, _number(request))
        if visit and visit["over"]:
            shown = {"groups": [], "page": 1, "pages": 1}
        held = own_work.held(tx, session.worker_id, session.visit)
        back = visits.ending(tx, session.visit)
        return {**shown, "open": held, "completion": back, "visit": visit}

    context = await state.executor.run(act, write=False)
    await _keep_shown(state, session, context)
    return Page(name="hits", context=context)


async def _keep_shown(state: AppState, session: Session, context: Mapping[str, Any]) -> None:
    """Keep an ending that a page shows: whoever has seen a code goes back with it."""
    number, back = session.visit, context["completion"]
    if number is not None and back and back["outcome"] in visits.FINAL and not context["visit"]["over"]:
        await state.executor.run(lambda tx: visits.keep_shown(tx, number))


async def preview(state: AppState, request: Request, session: Session) -> Page:
    """Show what is known of a HIT before it is accepted."""
    origin = state.origin(request)
    path = request.path_params

    def act(tx: Transaction) -> tuple[hits.Preview, bool]:
        seen = hits.preview(tx, session.worker_id, hit_id=path.get("hit_id"), group_id=path.get("group_id"))
        known = before_accepting(read_question(hits.question(tx, seen.hit.hit_id)))
        return seen, known is not None and seen.group["can_preview"]

    seen, shows = await state.executor.run(act, write=False)
    shown = None
    if shows:
        shown = frame(state, origin, seen.hit, NOT_AVAILABLE, session.worker_id)
    context = {
        "group": seen.group,
        "hit": {"hit_id": seen.hit.hit_id},
        "can_accept": not seen.reason,
        "reason": seen.reason,
        "frame": shown,
    }
    return Page(name="preview", context=context)


def _source(shown: Frame) -> str:
    return "https: http:" if shown["kind"] == "external" else "'self'"


async def accept(state: AppState, request: Request, session: Session) -> Page:
    """Take a HIT, or any of a group."""
    origin = state.origin(request)
    path = request.path_params

    def act(tx: Transaction) -> Mapping[str, Any]:
        taken = assignments.accept(
            tx,
            session.worker_id,
            hit_id=path.get("hit_id"),
            hit_type_id=path.get("group_id"),
            visit=session.visit,
        )
        return _shown(state, tx, session, taken.assignment_id, origin)

    shown = (await state.executor.run(act))["assignment"]
    return Page(
        name="assignment", context=shown, status=201, location=f"/assignments/{shown['assignment_id']}"
    )


def _shown(
    state: AppState, tx: Transaction, session: Session, assignment_id: str, origin: str
) -> Mapping[str, Any]:
    row = own_work.find(tx, session.worker_id, assignment_id)
    shown = frame(state, origin, row, assignment_id, session.worker_id)
    draft = json.loads(row.draft) if row.draft else None
    assignment = {**own_work.view(tx, row), "frame_url": shown["url"]}
    known = workers.agreed(tx, session.worker_id, row.requester_id)
    return {
        "assignment": assignment,
        "frame": shown,
        "draft": draft,
        "draft_tab": row.draft_tab or "",
        "agreed": known,
        "visit": visits.progress(tx, session.visit),
        "pace": pace(tx, session.worker_id, row.hit_type_id),
    }


async def show_assignment(state: AppState, request: Request, session: Session) -> Page:
    """Show an assignment that the worker holds."""
    origin, ident = state.origin(request), request.path_params["assignment_id"]
    shown = await state.executor.run(lambda tx: _shown(state, tx, session, ident, origin), write=False)
    done = shown["assignment"]["status"] != "Accepted"
    return Page(
        name="assignment",
        context=shown,
        location=f"/assignments/{ident}/done" if done else None,
        frame_source=_source(shown["frame"]),
    )


async def give_back(state: AppState, request: Request, session: Session) -> Page:
    """Return an assignment without answers."""
    ident = request.path_params["assignment_id"]
    refused = (await remembered_fields(request)).get("reason") == "no_consent"

    def act(tx: Transaction) -> Mapping[str, Any]:
        assignments.give_back(tx, ident, session.worker_id)
        if refused:
            visits.leave(tx, session.visit, refused=True)
        completion = visits.ending(tx, session.visit)
        return {"assignment_id": ident, "status": "Returned", "completion": completion}

    return Page(name="done", context=await state.executor.run(act), location=f"/assignments/{ident}/done")


async def show_draft(state: AppState, request: Request, session: Session) -> Response:
    """Return what the worker has answered so far."""
    ident = request.path_params["assignment_id"]
    row = await state.executor.run(lambda tx: own_work.find(tx, session.worker_id, ident), write=False)
    return JSONResponse({"draft": json.loads(row.draft) if row.draft else None})


async def save_draft(state: AppState, request: Request, session: Session) -> Response:
    """Keep what the worker has answered so far."""
    sent = await read_json(request)
    draft, tab, after = json.dumps(sent.get("draft")), sent.get("tab"), sent.get("after")
    tab = tab[:40] if isinstance(tab, str) else ""
    after = after if isinstance(after, str) else None
    if len(draft) > MAX_DRAFT:
        raise Refusal("too_large", f"A draft may have at most {MAX_DRAFT} characters.", 413)
    ident = request.path_params["assignment_id"]
    await state.executor.run(
        lambda tx: assignments.save_draft(tx, ident, session.worker_id, draft, tab=tab, after=after)
    )
    return JSONResponse({"saved": True})


async def agree(state: AppState, request: Request, session: Session) -> Response:
    """Keep that the worker has read and agreed to what the page of a HIT shows before the work."""
    page = str((await read_json(request)).get("page"))
    ident = request.path_params["assignment_id"]
    await state.executor.run(lambda tx: workers.agree(tx, session.worker_id, ident, page))
    return JSONResponse({"agreed": True})


async def show_done(state: AppState, request: Request, session: Session) -> Page:
    """Show what became of an assignment, and what comes next."""
    ident = request.path_params["assignment_id"]

    def act(tx: Transaction) -> Mapping[str, Any]:
        row = own_work.find(tx, session.worker_id, ident)
        more = hits.group(tx, session.worker_id, row.hit_type_id)
        visit = visits.progress(tx, session.visit)
        if visit and visit["over"]:
            more = None
        return {
            "assignment": own_work.view(tx, row),
            "completion": visits.ending(tx, session.visit),
            "visit": visit,
            "next": {"group_id": more["group_id"], "available": more["available"]} if more else None,
            "pace": pace(tx, session.worker_id, row.hit_type_id),
        }

    shown = await state.executor.run(act, write=False)
    await _keep_shown(state, session, shown)
    unfinished = shown["assignment"]["status"] == "Accepted"
    return Page(name="done", context=shown, location=f"/assignments/{ident}" if unfinished else None)


async def external_submit(state: AppState, request: Request) -> Response:
    """Take the answers that a HIT's page sends, in the body or, as Mechanical Turk allows, in the address.

    The page runs on an origin of its own, without the worker's cookie: the assignment id, which only the
    worker has, identifies the worker. A cookie that does come must be the worker's.
    """
    session = await session_of(state, request)
    try:
        if request.method == "HEAD":
            raise Refusal("bad_method", "A HIT is submitted with GET or POST.", 405)
        sent = request.method == "POST"
        fields = await read_pairs(request) if sent else request.query_params.multi_items()
        ident = next((value for name, value in fields if name == "assignmentId"), "")
        if not ident or ident == NOT_AVAILABLE:
            raise Refusal("no_assignment", "Accept the HIT before you submit it.", 400)

        def act(tx: Transaction) -> Mapping[str, Any]:
            taken = assignments.submit(tx, ident, fields, session.worker_id if session else None)
            completion = visits.ending(tx, taken.visit)
            return {"assignment_id": ident, "status": taken.status, "completion": completion}

        page = Page(name="submitted", context=await state.executor.run(act), framed=True)
    except Refusal as refusal:
        page = refused_page(refusal, framed=True)
    return respond(state, request, page)


async def dispute(state: AppState, request: Request, session: Session) -> Page:
    """Take what the worker says against a rejection."""
    ident = request.path_params["assignment_id"]
    text = (await remembered_fields(request)).get("text", "")
    await state.executor.run(lambda tx: own_work.dispute(tx, session.worker_id, ident, text))
    context = {"assignment_id": ident, "disputed": True}
    return Page(name="history", context=context, location="/history")


async def history(state: AppState, request: Request, session: Session) -> Page:
    """Show past work and earnings."""
    number = _number(request)
    context = await state.executor.run(
        lambda tx: own_work.history(tx, session.worker_id, number), write=False
    )
    return Page(name="history", context=context)


async def inbox(state: AppState, request: Request, session: Session) -> Page:
    """Show the messages of requesters."""
    messages = await state.executor.run(lambda tx: own_work.inbox(tx, session.worker_id))
    return Page(name="inbox", context={"messages": messages})
