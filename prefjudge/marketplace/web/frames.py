"""The frame in which a HIT's page runs: an opaque origin, without the site's cookies or storage."""

import re

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from prefjudge.marketplace.errors import Refusal
from prefjudge.marketplace.hits import hits
from prefjudge.marketplace.questions import Question, form_view, parse_form, read_question
from prefjudge.marketplace.store.store import Transaction
from prefjudge.marketplace.web.pages import Page, refused_page, respond
from prefjudge.marketplace.web.state import AppState

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
        answer = _form(state, request, xml, origin)
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


def _form(state: AppState, request: Request, xml: str, origin: str) -> Response:
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
