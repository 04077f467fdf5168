"""A worker's pages: find a HIT, look at it, accept it, work, submit or return it; and qualifications."""

import json
import re
from urllib.parse import urlencode

from starlette.responses import JSONResponse, RedirectResponse, Response

from prefjudge.marketplace.errors import Refusal, View
from prefjudge.marketplace.hits import assignments, hits, own_work, visits
from prefjudge.marketplace.hits.hits import Hit
from prefjudge.marketplace.hits.own_work import OwnAssignment, pace
from prefjudge.marketplace.people import qualifications, workers
from prefjudge.marketplace.people.qualifications import QualificationType
from prefjudge.marketplace.questions import Form, Question, parse_form, read_question
from prefjudge.marketplace.site.pages import Call, Page, refused_page
from prefjudge.marketplace.site.state import newcomers_of
from prefjudge.marketplace.store.store import Transaction, iso

MAX_DRAFT = 64_000


def _number(call: Call) -> int:
    text = call.query_params.get("page", "1")
    return int(text) if text.isdecimal() and len(text) < 9 else 1


def frame(call: Call, hit: Hit | OwnAssignment, assignment_id: str) -> View:
    """Return the frame that shows a HIT; its page learns by ``unpaid`` where it must not speak of pay."""
    names = {
        "assignmentId": assignment_id,
        "hitId": hit.hit_id,
        "workerId": call.worker_id,
        "turkSubmitTo": call.origin,
    }
    if hit.kind == "external":
        url = f"{hit.address}{'&' if '?' in (hit.address or '') else '?'}{urlencode(names)}"
    else:
        names["ticket"] = call.running.marketplace.sign("frame", hit.hit_id, assignment_id, call.worker_id)
        if not call.running.pays(call.worker):
            names["unpaid"] = "yes"
        url = f"{call.origin}/frames/{hit.hit_id}?{urlencode(names)}"
    return {"url": url, "height": hit.height, "kind": hit.kind}


async def list_groups(call: Call) -> Page:
    """List what is on offer."""

    def act(tx: Transaction) -> View:
        visit = visits.progress(tx, call.worker.visit)
        shown = hits.groups(tx, call.worker_id, _number(call))
        if visit and visit["over"]:
            shown = {"groups": [], "page": 1, "pages": 1}
        held = own_work.held(tx, call.worker_id, call.worker.visit)
        soon = qualifications.BEING_CHECKED
        more = [one["available"] for one in shown["groups"] if one["qualified"] or one["waits"] == soon]
        so_far = own_work.progress(tx, call.worker_id, sum(more) if shown["pages"] == 1 else 0)
        back = visits.ending(tx, call.worker.visit)
        return {**shown, "open": held, "completion": back, "visit": visit, "progress": so_far}

    context = await call.look(act)
    await _keep_shown(call, context)
    return Page(name="hits", context=context)


async def _keep_shown(call: Call, context: View) -> None:
    """Keep an ending that a page shows: whoever has seen a code goes back with it."""
    number, back = call.worker.visit, context["completion"]
    if number is not None and back and back["outcome"] in visits.FINAL and not context["visit"]["over"]:
        await call.run(lambda tx: visits.keep_shown(tx, number))


async def preview(call: Call) -> Page:
    """Show what is known of a HIT before it is accepted."""
    path = call.path_params

    def act(tx: Transaction) -> View:
        group, hit, reason = hits.preview(
            tx, call.worker_id, hit_id=path.get("hit_id"), group_id=path.get("group_id")
        )
        known = before_accepting(read_question(hits.question(tx, hit.hit_id)))
        shows = known is not None and group["can_preview"]
        return {
            "group": group,
            "hit": {"hit_id": hit.hit_id},
            "can_accept": not reason,
            "reason": reason,
            "frame": frame(call, hit, NOT_AVAILABLE) if shows else None,
        }

    context = await call.look(act)
    return Page(name="preview", context=context)


async def accept(call: Call) -> Page:
    """Take a HIT, or any of a group."""
    path = call.path_params

    def act(tx: Transaction) -> View:
        taken = assignments.accept(
            tx,
            call.worker_id,
            hit_id=path.get("hit_id"),
            hit_type_id=path.get("group_id"),
            visit=call.worker.visit,
        )
        return _shown(call, tx, taken.assignment_id)

    shown = (await call.run(act))["assignment"]
    return Page(
        name="assignment", context=shown, status=201, location=f"/assignments/{shown['assignment_id']}"
    )


def _shown(call: Call, tx: Transaction, assignment_id: str) -> View:
    row = own_work.find(tx, call.worker_id, assignment_id)
    shown = frame(call, row, assignment_id)
    draft = json.loads(row.draft) if row.draft else None
    assignment = {**own_work.view(tx, row), "frame_url": shown["url"]}
    known = workers.agreed(tx, call.worker_id, row.requester_id)
    return {
        "assignment": assignment,
        "frame": shown,
        "draft": draft,
        "draft_tab": row.draft_tab or "",
        "agreed": known,
        "visit": visits.progress(tx, call.worker.visit),
        "pace": pace(tx, call.worker_id, row.hit_type_id),
    }


async def show_assignment(call: Call) -> Page:
    """Show an assignment that the worker holds."""
    ident = call.path_params["assignment_id"]
    shown = await call.look(lambda tx: _shown(call, tx, ident))
    done = shown["assignment"]["status"] != "Accepted"
    return Page(
        name="assignment",
        context=shown,
        location=f"/assignments/{ident}/done" if done else None,
        frame_source="https: http:" if shown["frame"]["kind"] == "external" else "'self'",
    )


async def give_back(call: Call) -> Page:
    """Return an assignment without answers."""
    ident = call.path_params["assignment_id"]
    refused = (await call.fields()).get("reason") == "no_consent"

    def act(tx: Transaction) -> View:
        assignments.give_back(tx, ident, call.worker_id)
        if refused:
            visits.leave(tx, call.worker.visit, refused=True)
        completion = visits.ending(tx, call.worker.visit)
        return {"assignment_id": ident, "status": "Returned", "completion": completion}

    return Page(name="done", context=await call.run(act), location=f"/assignments/{ident}/done")


async def show_draft(call: Call) -> Response:
    """Return what the worker has answered so far."""
    ident = call.path_params["assignment_id"]
    row = await call.look(lambda tx: own_work.find(tx, call.worker_id, ident))
    return JSONResponse({"draft": json.loads(row.draft) if row.draft else None})


async def save_draft(call: Call) -> Response:
    """Keep what the worker has answered so far."""
    sent = await call.json()
    draft, tab, after = json.dumps(sent.get("draft")), sent.get("tab"), sent.get("after")
    tab = tab[:40] if isinstance(tab, str) else ""
    after = after if isinstance(after, str) else None
    if len(draft) > MAX_DRAFT:
        raise Refusal("too_large", f"A draft may have at most {MAX_DRAFT} characters.", 413)
    ident = call.path_params["assignment_id"]
    await call.run(lambda tx: assignments.save_draft(tx, ident, call.worker_id, draft, tab=tab, after=after))
    return JSONResponse({"saved": True})


async def agree(call: Call) -> Response:
    """Keep that the worker has read and agreed to what the page of a HIT shows before the work."""
    page = str((await call.json()).get("page"))
    ident = call.path_params["assignment_id"]
    await call.run(lambda tx: workers.agree(tx, call.worker_id, ident, page))
    return JSONResponse({"agreed": True})


async def show_done(call: Call) -> Page:
    """Show what became of an assignment, and what comes next."""
    ident = call.path_params["assignment_id"]

    def act(tx: Transaction) -> View:
        row = own_work.find(tx, call.worker_id, ident)
        more = hits.group(tx, call.worker_id, row.hit_type_id)
        visit = visits.progress(tx, call.worker.visit)
        if visit and visit["over"]:
            more = None
        return {
            "assignment": own_work.view(tx, row),
            "completion": visits.ending(tx, call.worker.visit),
            "visit": visit,
            "next": {"group_id": more["group_id"], "available": more["available"]} if more else None,
            "pace": pace(tx, call.worker_id, row.hit_type_id, more["available"] if more else None),
        }

    shown = await call.look(act)
    await _keep_shown(call, shown)
    unfinished = shown["assignment"]["status"] == "Accepted"
    return Page(name="done", context=shown, location=f"/assignments/{ident}" if unfinished else None)


async def external_submit(call: Call) -> Response:
    """Take the answers that a HIT's page sends, in the body or, as Mechanical Turk allows, in the address.

    The page runs on an origin of its own, without the worker's cookie: the assignment id, which only the
    worker has, identifies the worker. A cookie that does come must be the worker's.
    """
    session = await call.find_session()
    try:
        if call.method == "HEAD":
            raise Refusal("bad_method", "A HIT is submitted with GET or POST.", 405)
        sent = call.method == "POST"
        fields = await call.form_pairs() if sent else call.query_params.multi_items()
        ident = next((value for name, value in fields if name == "assignmentId"), "")
        if not ident or ident == NOT_AVAILABLE:
            raise Refusal("no_assignment", "Accept the HIT before you submit it.", 400)

        def act(tx: Transaction) -> View:
            taken = assignments.submit(tx, ident, fields, session.worker_id if session else None)
            completion = visits.ending(tx, taken.visit)
            return {"assignment_id": ident, "status": taken.status, "completion": completion}

        page = Page(name="submitted", context=await call.run(act), framed=True)
        call.running.rate_limit.refund_first(newcomers_of(call.client.host if call.client else ""))
    except Refusal as refusal:
        page = refused_page(refusal, framed=True)
    return call.respond(page)


async def dispute(call: Call) -> Page:
    """Take what the worker says against a rejection."""
    ident = call.path_params["assignment_id"]
    text = (await call.fields()).get("text", "")
    await call.run(lambda tx: own_work.dispute(tx, call.worker_id, ident, text))
    context = {"assignment_id": ident, "disputed": True}
    return Page(name="history", context=context, location="/history")


async def history(call: Call) -> Page:
    """Show past work and earnings."""
    number = _number(call)
    context = await call.look(lambda tx: own_work.history(tx, call.worker_id, number))
    return Page(name="history", context=context)


async def inbox(call: Call) -> Page:
    """Show the messages of requesters."""
    messages = await call.run(lambda tx: own_work.inbox(tx, call.worker_id))
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


async def show_frame(call: Call) -> Response:
    """Send the page of a HIT to a client that has a ticket for it."""
    try:
        xml = await call.look(lambda tx: _ticketed(tx, call))
    except Refusal as refusal:
        return call.respond(refused_page(refusal, framed=True))
    origin, question = call.origin, read_question(xml)
    content: str | None = question.content
    if call.query_params.get("assignmentId") == NOT_AVAILABLE:
        content = before_accepting(question)
    if content is None:
        unseen = Refusal("not_accepted", "Accept the HIT to see it.", 403)
        return call.respond(refused_page(unseen, framed=True))
    if question.kind == "form":
        answer = _form_frame(call, parse_form(xml, "Question"))
    elif _CROWD_ELEMENTS.search(content) and call.query_params.get("turkSubmitTo") != _MTURK:
        there = call.url.include_query_params(turkSubmitTo=_MTURK)
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


def _ticketed(tx: Transaction, call: Call) -> str:
    query, hit_id = call.query_params, call.path_params["hit_id"]
    parts = (hit_id, query.get("assignmentId", ""), query.get("workerId", ""))
    if not tx.marketplace.signed(query.get("ticket", ""), "frame", *parts):
        raise Refusal("bad_ticket", "This address is not valid. Open the HIT from your list.", 403)
    hit = hits.get(tx, hit_id)
    if hit is None or hit.disposed:
        raise Refusal("no_hit", "This HIT no longer exists.", 404)
    return hits.question(tx, hit_id)


def _form_frame(call: Call, form: Form) -> Response:
    assignment_id = call.query_params["assignmentId"]
    context = {
        "form": form,
        "assignment_id": assignment_id,
        "submit_to": call.origin,
    }
    answer = call.respond(Page(name="question_form", context=context, framed=True))
    policy = answer.headers.get("Content-Security-Policy", "").replace(
        "form-action 'self'", f"form-action {call.origin}"
    )
    policy = policy.replace("img-src 'self'", "img-src 'self' https: http:")  # pictures of the form
    answer.headers["Content-Security-Policy"] = f"sandbox {SANDBOX}; {policy}"
    return answer


# The worker's qualifications: those that exist, those that were requested, and the tests.

HAND_IN = "hand_in"
_MOST_LISTED = 200
_STATUS = {"Open": "none", "Submitted": "pending", "Granted": "granted", "Rejected": "rejected"}


def _view_type(tx: Transaction, kind: QualificationType, worker_id: str) -> View:
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


async def list_types(call: Call) -> Page:
    """List the qualifications that can be requested, and those that the worker has."""

    def act(tx: Transaction) -> list[View]:
        kinds = qualifications.list_types(tx, call.worker_id)
        return [_view_type(tx, kind, call.worker_id) for kind in kinds[:_MOST_LISTED]]

    return Page(name="qualifications", context={"types": await call.look(act)})


def _kind(tx: Transaction, type_id: str) -> QualificationType:
    kind = qualifications.get_type(tx, type_id)
    if kind is None:
        raise Refusal("no_qualification", "There is no such qualification.", 404)
    return kind


async def show_type(call: Call) -> Page:
    """Show a qualification, and the test of a request that is open."""
    type_id = call.path_params["type_id"]

    def act(tx: Transaction) -> View:
        kind = _kind(tx, type_id)
        last = qualifications.latest_request(tx, kind, call.worker_id)
        form, deadline = None, None
        if last and last.status == "Open" and kind.test is not None:
            form = parse_form(kind.test, "Test")
            deadline = iso(last.started + (kind.test_duration or 0))
        return {"type": _view_type(tx, kind, call.worker_id), "form": form, "deadline": deadline}

    return Page(name="qualification", context=await call.look(act))


async def request_type(call: Call) -> Page:
    """Request a qualification, or submit its test; a hidden field marks a test, as answers may be empty."""
    type_id = call.path_params["type_id"]
    sent = [(name, text) for name, text in await call.pairs() if name != "csrf"]
    fields = [(name, text) for name, text in sent if name != HAND_IN]

    def act(tx: Transaction) -> tuple[View, bool]:
        kind = _kind(tx, type_id)
        handed_in = bool(sent) and kind.test is not None
        if handed_in:
            qualifications.finish_request(tx, type_id, call.worker_id, fields)
        else:
            qualifications.begin_request(tx, type_id, call.worker_id)
        return _view_type(tx, kind, call.worker_id), kind.test is not None and not handed_in

    context, begun = await call.run(act)
    back = f"/qualifications/{type_id}" if begun else "/qualifications"
    return Page(name="qualification", context=context, location=back)
