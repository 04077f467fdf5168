"""A worker's pages: find a HIT, look at it, accept it, work, submit or return it; and qualifications."""

import json
import re
from collections.abc import Mapping
from typing import Any, TypedDict
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response

from prefjudge.marketplace.errors import Refusal
from prefjudge.marketplace.hits import assignments, hits, own_work, visits
from prefjudge.marketplace.hits.hits import Hit
from prefjudge.marketplace.hits.own_work import OwnAssignment, pace
from prefjudge.marketplace.people import qualifications, workers
from prefjudge.marketplace.people.qualifications import QualificationType
from prefjudge.marketplace.people.workers import Session
from prefjudge.marketplace.questions import Question, form_view, parse_form, read_question
from prefjudge.marketplace.site.pages import (
    Page,
    read_json,
    read_pairs,
    refused_page,
    remembered_fields,
    remembered_pairs,
    respond,
)
from prefjudge.marketplace.site.signin import session_of
from prefjudge.marketplace.site.state import AppState
from prefjudge.marketplace.store.store import Transaction, iso

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
    state: AppState, origin: str, hit: Hit | OwnAssignment, assignment_id: str, session: Session
) -> Frame:
    """Return the frame that shows a HIT; its page learns by ``unpaid`` where it must not speak of pay."""
    names = {
        "assignmentId": assignment_id,
        "hitId": hit.hit_id,
        "workerId": session.worker_id,
        "turkSubmitTo": origin,
    }
    if hit.kind == "external":
        url = f"{hit.address}{'&' if '?' in (hit.address or '') else '?'}{urlencode(names)}"
    else:
        names["ticket"] = state.marketplace.sign("frame", hit.hit_id, assignment_id, session.worker_id)
        if not state.pays(session):
            names["unpaid"] = "yes"
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
        soon = qualifications.BEING_CHECKED
        more = [one["available"] for one in shown["groups"] if one["qualified"] or one["waits"] == soon]
        so_far = own_work.progress(tx, session.worker_id, sum(more) if shown["pages"] == 1 else 0)
        back = visits.ending(tx, session.visit)
        return {**shown, "open": held, "completion": back, "visit": visit, "progress": so_far}

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
        shown = frame(state, origin, seen.hit, NOT_AVAILABLE, session)
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
    shown = frame(state, origin, row, assignment_id, session)
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


# The frame in which a HIT's page runs: an opaque origin, without the site's cookies or storage.

NOT_AVAILABLE = "ASSIGNMENT_ID_NOT_AVAILABLE"
"""The assignment of a preview."""
SANDBOX = "allow-scripts allow-forms allow-popups allow-modals allow-downloads"
SCRIPT = "/assets/externalHIT_v1.js"
_AMAZON_SCRIPT = re.compile(
    r"(?:https?:)?//(?:s3[\w.-]{0,30}\.amazonaws\.com/mturk-public"
    r"|mturk-public\.s3[\w.-]{0,30}\.amazonaws\.com)/externalHIT_v1\.js"
)
_AMAZON_SUBMIT = re.compile(r"(?:https?:)?//[\w-]+\.mturk\.com(?=/mturk/externalSubmit)")
_CROWD_ELEMENTS = re.compile(r"//assets\.crowd\.aws/")
_MTURK = "https://www.mturk.com"
"""Amazon's crowd-html-elements submit only to this host; the marketplace's own script redirects them."""
_ACCEPTED = re.compile(r"<!--accepted-->.*?(?:<!--/accepted-->|\Z)", re.DOTALL)
"""What a page keeps for who has accepted its HIT, as its requester marked it."""
_BEFORE_SCRIPTS = re.compile(r"(?:\s|<!--.*?-->|<\?.*?\?>)*(?:<!doctype[^>]*>)?", re.IGNORECASE | re.DOTALL)


async def show_frame(state: AppState, request: Request) -> Response:
    """Send the page of a HIT to a client that has a ticket for it."""
    try:
        xml = await state.executor.run(lambda tx: _ticketed(tx, request), write=False)
    except Refusal as refusal:
        return respond(state, request, refused_page(refusal, framed=True))
    origin, question = state.origin(request), read_question(xml)
    content: str | None = question.content
    if request.query_params.get("assignmentId") == NOT_AVAILABLE:
        content = before_accepting(question)
    if content is None:
        unseen = Refusal("not_accepted", "Accept the HIT to see it.", 403)
        return respond(state, request, refused_page(unseen, framed=True))
    if question.kind == "form":
        answer = _form_frame(state, request, xml, origin)
    elif _CROWD_ELEMENTS.search(content) and request.query_params.get("turkSubmitTo") != _MTURK:
        there = request.url.include_query_params(turkSubmitTo=_MTURK)
        answer = RedirectResponse(f"{there.path}?{there.query}", 303)
    else:
        answer = Response(at_home(content, origin), media_type="text/html")
        answer.headers["Content-Security-Policy"] = (
            f"sandbox {SANDBOX}; object-src 'none'; base-uri 'none'; form-action {origin};"
            f" frame-ancestors {origin}"
        )
    answer.headers["Cache-Control"] = "no-store"
    return answer


def before_accepting(question: Question) -> str | None:
    """Return what a worker may see of a question before accepting its HIT, or None where that is nothing.

    Whoever looks pays nothing for it, so that one person could read a study, its gold included: a question
    is shown only to who has accepted its HIT. Of HTML that marks what is to be kept back, the rest is shown.
    """
    if question.kind != "html" or not _ACCEPTED.search(question.content):
        return None
    return _ACCEPTED.sub("", question.content)


def at_home(html: str, origin: str) -> str:
    """Return the HTML with this marketplace's addresses instead of Amazon's, and its script first.

    First, so that the script meets every form, and no policy that the page sets for itself forbids it.
    """
    html = _AMAZON_SCRIPT.sub(lambda _: origin + SCRIPT, html)
    html = _AMAZON_SUBMIT.sub(lambda _: origin, html)
    before = _BEFORE_SCRIPTS.match(html)
    start = before.end() if before else 0
    return f'{html[:start]}<script src="{origin}{SCRIPT}"></script>{html[start:]}'


def _ticketed(tx: Transaction, request: Request) -> str:
    query, hit_id = request.query_params, request.path_params["hit_id"]
    parts = (hit_id, query.get("assignmentId", ""), query.get("workerId", ""))
    if not tx.marketplace.signed(query.get("ticket", ""), "frame", *parts):
        raise Refusal("bad_ticket", "This address is not valid. Open the HIT from your list.", 403)
    hit = hits.get(tx, hit_id)
    if hit is None or hit.disposed:
        raise Refusal("no_hit", "This HIT no longer exists.", 404)
    return hits.question(tx, hit_id)


def _form_frame(state: AppState, request: Request, xml: str, origin: str) -> Response:
    assignment_id = request.query_params["assignmentId"]
    context = {
        "form": form_view(parse_form(xml, "Question")),
        "assignment_id": assignment_id,
        "submit_to": origin,
    }
    answer = respond(state, request, Page(name="question_form", context=context, framed=True))
    policy = answer.headers.get("Content-Security-Policy", "").replace(
        "form-action 'self'", f"form-action {origin}"
    )
    policy = policy.replace("img-src 'self'", "img-src 'self' https: http:")  # pictures of the form
    answer.headers["Content-Security-Policy"] = f"sandbox {SANDBOX}; {policy}"
    return answer


# The worker's qualifications: those that exist, those that were requested, and the tests.

HAND_IN = "hand_in"
_MOST_LISTED = 200
_STATUS = {"Open": "none", "Submitted": "pending", "Granted": "granted", "Rejected": "rejected"}


class TypeView(TypedDict):
    """A qualification, as a worker's page and JSON show it."""

    qualification_type_id: str
    name: str
    description: str
    has_test: bool
    auto_granted: bool
    status: str
    value: int | None
    again: bool
    retry_after: str | None
    final: bool
    closed: bool


def _view_type(tx: Transaction, kind: QualificationType, worker_id: str) -> TypeView:
    last = qualifications.latest_request(tx, kind, worker_id)
    grant = qualifications.get_grant(tx, kind.qualification_type_id, worker_id)
    granted = grant if grant and grant.status == "Granted" else None
    rejected = bool(last and last.status == "Rejected")
    # a test is granted whatever its score, and may be taken again for a better one
    again = kind.retry_delay is not None and bool(last and last.status == "Granted" and kind.test)
    retry = None
    if last and (rejected or again) and kind.retry_delay is not None:
        then = (last.submitted_at or last.started) + kind.retry_delay
        retry = iso(then) if then > tx.now else None
    return {
        "qualification_type_id": kind.qualification_type_id,
        "name": kind.name,
        "description": kind.description,
        "has_test": kind.test is not None,
        "auto_granted": bool(kind.auto_granted),
        "status": "granted" if granted else _STATUS[last.status] if last else "none",
        "value": granted.value if granted else None,
        "again": again,
        "retry_after": retry,
        "final": rejected and kind.retry_delay is None,
        "closed": kind.status != "Active",
    }


async def list_types(state: AppState, request: Request, session: Session) -> Page:
    """List the qualifications that can be requested, and those that the worker has."""

    def act(tx: Transaction) -> list[TypeView]:
        kinds = qualifications.list_types(tx, session.worker_id)
        return [_view_type(tx, kind, session.worker_id) for kind in kinds[:_MOST_LISTED]]

    return Page(name="qualifications", context={"types": await state.executor.run(act, write=False)})


def _kind(tx: Transaction, type_id: str) -> QualificationType:
    kind = qualifications.get_type(tx, type_id)
    if kind is None:
        raise Refusal("no_qualification", "There is no such qualification.", 404)
    return kind


async def show_type(state: AppState, request: Request, session: Session) -> Page:
    """Show a qualification, and the test of a request that is open."""
    type_id = request.path_params["type_id"]

    def act(tx: Transaction) -> Mapping[str, object]:
        kind = _kind(tx, type_id)
        last = qualifications.latest_request(tx, kind, session.worker_id)
        form, deadline = None, None
        if last and last.status == "Open" and kind.test is not None:
            form = form_view(parse_form(kind.test, "Test"))
            deadline = iso(last.started + (kind.test_duration or 0))
        return {"type": _view_type(tx, kind, session.worker_id), "form": form, "deadline": deadline}

    return Page(name="qualification", context=await state.executor.run(act, write=False))


async def request_type(state: AppState, request: Request, session: Session) -> Page:
    """Request a qualification, or submit its test; a hidden field marks a test, as answers may be empty."""
    type_id = request.path_params["type_id"]
    sent = [(name, text) for name, text in await remembered_pairs(request) if name != "csrf"]
    fields = [(name, text) for name, text in sent if name != HAND_IN]

    def act(tx: Transaction) -> tuple[TypeView, bool]:
        kind = _kind(tx, type_id)
        handed_in = bool(sent) and kind.test is not None
        if handed_in:
            qualifications.finish_request(tx, type_id, session.worker_id, fields)
        else:
            qualifications.begin_request(tx, type_id, session.worker_id)
        return _view_type(tx, kind, session.worker_id), kind.test is not None and not handed_in

    context, begun = await state.executor.run(act)
    back = f"/qualifications/{type_id}" if begun else "/qualifications"
    return Page(name="qualification", context=context, location=back)
