"""The frame in which a HIT's page runs: an opaque origin, without the site's cookies or storage."""

import re

from starlette.requests import Request
from starlette.responses import Response

from prefjudge.marketplace import hits, questions
from prefjudge.marketplace.market import Turn
from prefjudge.marketplace.refusals import Refusal
from prefjudge.marketplace.web.front import Front
from prefjudge.marketplace.web.pages import Page, refused_page, respond

SANDBOX = "allow-scripts allow-forms allow-popups allow-modals allow-downloads"
_AMAZON_SCRIPT = re.compile(
    r"https://(?:s3\.amazonaws\.com/mturk-public|mturk-public\.s3\.amazonaws\.com)/externalHIT_v1\.js"
)


async def show_frame(front: Front, request: Request) -> Response:
    """Send the page of a HIT to who has a ticket for it."""
    try:
        xml = await front.desk.run(lambda turn: _ticketed(turn, request), write=False)
    except Refusal as refusal:
        return respond(front, request, refused_page(refusal, framed=True))
    origin, question = front.origin(request), questions.read_question(xml)
    if question.kind == "form":
        answer = _form(front, request, xml, origin)
    else:
        html = _AMAZON_SCRIPT.sub(f"{origin}/externalHIT_v1.js", question.content)
        answer = Response(html, media_type="text/html")
        answer.headers["Content-Security-Policy"] = (
            f"sandbox {SANDBOX}; object-src 'none'; base-uri 'none'; form-action {origin};"
            f" frame-ancestors {origin}"
        )
    answer.headers["Cache-Control"] = "no-store"
    return answer


def _ticketed(turn: Turn, request: Request) -> str:
    query, hit_id = request.query_params, request.path_params["hit_id"]
    parts = (hit_id, query.get("assignmentId", ""), query.get("workerId", ""))
    if not turn.market.signed(query.get("ticket", ""), "frame", *parts):
        raise Refusal("bad_ticket", "This address is not valid. Open the HIT from your list.", 403)
    hit = hits.get(turn, hit_id)
    if hit is None or hit["disposed"]:
        raise Refusal("no_hit", "This HIT is gone.", 404)
    return hits.question(turn, hit_id)


def _form(front: Front, request: Request, xml: str, origin: str) -> Response:
    from prefjudge.marketplace.question_forms import form_view, read_form

    assignment_id = request.query_params["assignmentId"]
    context = {
        "form": form_view(read_form(questions.parse_xml(xml, "Question"), "Question")),
        "assignment_id": assignment_id,
        "submit_to": origin,
        "preview": assignment_id == "ASSIGNMENT_ID_NOT_AVAILABLE",
    }
    answer = respond(front, request, Page(name="question_form", context=context, framed=True))
    policy = answer.headers.get("Content-Security-Policy", "").replace(
        "form-action 'self'", f"form-action {origin}"
    )
    policy = policy.replace("img-src 'self'", "img-src 'self' https: http:")  # pictures of the form
    answer.headers["Content-Security-Policy"] = f"sandbox {SANDBOX}; {policy}"
    return answer


SHIM = b"""// Fills in what Mechanical Turk's pages expect: the assignment id, and where to send the form.
function turkGetParam(name, otherwise) {
  var value = new URLSearchParams(location.search).get(name);
  return value === null ? (otherwise === undefined ? "" : otherwise) : value;
}
function turkGetSubmitToHost() {
  return turkGetParam("turkSubmitTo", "");
}
function turkSetAssignmentID(form) {
  form = form || document.getElementById("mturk_form");
  if (!form) { return; }
  var assignment = turkGetParam("assignmentId", "");
  form.action = turkGetSubmitToHost() + "/mturk/externalSubmit";
  form.method = "post";
  var field = form.querySelector("[name=assignmentId]");
  if (!field) {
    field = document.createElement("input");
    field.type = "hidden";
    field.name = "assignmentId";
    form.appendChild(field);
  }
  field.value = assignment;
  var button = document.getElementById("submitButton");
  if (assignment === "ASSIGNMENT_ID_NOT_AVAILABLE" && button) {
    button.disabled = true;
    button.value = "Accept this HIT first";
  }
}
"""
