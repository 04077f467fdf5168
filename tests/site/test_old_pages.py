"""Pages that were written for Mechanical Turk years ago, as requesters still have them, in a real browser."""

import pytest

from tests.site.conftest import soon, watched
from tests.site.live import answers_of, question_of, signed_in, thanked

AMAZON = "s3.amazonaws.com/mturk-public/externalHIT_v1.js"
FORM = (
    "<form name='{form}' id='{form}' method='{method}' action='{action}'>"
    "<input type='hidden' name='assignmentId' id='assignmentId' value=''>"
    "<textarea name='comment'></textarea><input type='{button}' id='{button_id}' value='Submit'></form>"
)
HARD = "https://www.mturk.com/mturk/externalSubmit"


def page_with(head: str = "", after: str = "", body: str = "", **form: str) -> str:
    usual = {"form": "mturk_form", "method": "post", "action": HARD, "button": "submit"}
    usual["button_id"] = "submitButton"
    return (
        f"<!DOCTYPE html><html><head><title>Old</title>{head}</head><body {body}>"
        f"{FORM.format(**{**usual, **form})}{after}</body></html>"
    )


def script(address: str) -> str:
    return f"<script src='{address}'></script>"


FILLED_IN = """<script>document.getElementById('assignmentId').value =
    new URLSearchParams(location.search).get('assignmentId');</script>"""
CHECKED = """<script>document.getElementById('mturk_form').addEventListener('submit', event => {
    event.preventDefault(); event.target.submit(); });</script>"""
OLD = {
    "Amazon's own example": page_with(
        script(f"https://{AMAZON}"), "<script language='Javascript'>turkSetAssignmentID();</script>"
    ),
    "a form that leads to mturk.com": page_with(after=FILLED_IN),
    "a form that leads to the sandbox": page_with(
        after=FILLED_IN, action="http://workersandbox.mturk.com/mturk/externalSubmit"
    ),
    "a form that leads nowhere yet": page_with(
        script(f"https://{AMAZON}"), "<script>turkSetAssignmentID();</script>", action=""
    ),
    "other names": page_with(
        script(f"https://{AMAZON}"),
        "<script>turkSetAssignmentID('my_form', 'go');</script>",
        form="my_form",
        button_id="go",
    ),
    "on load": page_with(
        script(f"https://{AMAZON}"), "<script>window.onload = turkSetAssignmentID;</script>"
    ),
    "an address without a protocol": page_with(
        script(f"//{AMAZON}"), "<script>turkSetAssignmentID();</script>"
    ),
    "an http address": page_with(
        script("http://mturk-public.s3.amazonaws.com/externalHIT_v1.js"),
        body="onload='turkSetAssignmentID()'",
    ),
    "sent by a script": page_with(after=FILLED_IN + CHECKED),
    "a button that sends": page_with(
        after=FILLED_IN + "<script>document.getElementById('submitButton').onclick ="
        " function () { this.form.submit(); }</script>",
        button="button",
    ),
    "an address put together": page_with(
        after="<script>document.forms[0].action = 'https://www.mturk.com'"
        " + '/mturk/externalSubmit';</script>",
        action="#",
    ),
    "a form by GET": page_with(after=FILLED_IN, method="get"),
    "a form for the whole window": page_with(after=FILLED_IN).replace("<form", "<form target='_top'"),
    "fields named after properties": page_with(
        after="<input form=mturk_form type=hidden name=action value=x><input form=mturk_form type=hidden"
        " name=method value=y>"
    ),
    "no doctype, and a comment first": "<!-- ours -->" + page_with(after=FILLED_IN).partition(">")[2],
    "a page that keeps things": page_with(
        after="<script>localStorage.setItem('seen', 1); sessionStorage.at = 2; document.cookie = 'a=b';"
        "if (localStorage.getItem('seen') !== '1' || localStorage.length !== 1) throw 'lost';"
        f"</script>{FILLED_IN}",
        action="#",
    ).replace("</script>", f"; document.forms[0].action = '{HARD}';</script>", 1),
    "a link": page_with(
        after="<script>document.forms[0].onsubmit = function () { location.href ="
        f" '{HARD}?comment=' + this.comment.value + '&assignmentId='"
        " + new URLSearchParams(location.search).get('assignmentId'); return false; }</script>"
    ),
}


@pytest.fixture(scope="module")
def reader(running, browser):
    """The page of a worker who has signed in, and takes one HIT after the other."""
    with watched(browser) as opened:
        yield signed_in(opened, running, "Reader")


@pytest.mark.parametrize("shape", OLD)
def test_an_old_page_is_submitted(marketplace, reader, shape):
    hit_id, page = marketplace.post(question_of(OLD[shape]), Title="Old"), reader
    page.goto(f"{marketplace.server.worker_site}/hits")
    page.click("text=Accept and work")
    page.wait_for_url("**/assignments/*")
    inside = page.frame_locator("iframe")
    inside.locator("textarea").fill("half an hour of work")
    inside.locator("[value=Submit]").click()
    thanked(page)
    (assignment,) = marketplace.submitted(hit_id)
    assert answers_of(assignment)["comment"] == "half an hour of work"


def test_an_old_page_cannot_be_submitted_before_it_is_accepted(marketplace, open_page):
    for title, shape in (
        ("Old, with a script", "Amazon's own example"),
        ("Old, without one", "a form that leads to mturk.com"),
    ):
        html = OLD[shape] + "<!--accepted-->the work<!--/accepted-->"
        marketplace.post(question_of(html), Title=title)
    marketplace.post(question_of(OLD["Amazon's own example"]), Title="Unmarked")
    page = signed_in(open_page, marketplace, "Previewer")
    page.click("text=Preview Unmarked")
    page.wait_for_url("**/groups/*")
    assert page.locator("iframe").count() == 0
    page.goto(f"{marketplace.server.worker_site}/hits")
    page.click("text=Preview Old, with a script")
    inside = page.frame_locator("iframe")
    soon(page, lambda: inside.locator("#submitButton").is_disabled())
    assert inside.locator("#submitButton").input_value() == "Accept this HIT first"
    page.goto(f"{marketplace.server.worker_site}/hits")
    page.click("text=Preview Old, without one")
    page.forgiven.append("400 (Bad Request)")
    inside.locator("#submitButton").click()
    soon(page, lambda: "Accept the HIT before" in inside.locator("body").inner_text())


def test_a_page_that_says_no_is_not_submitted(marketplace, open_page):
    html = page_with(after=FILLED_IN).replace("<form", "<form onsubmit='return false'")
    hit_id = marketplace.post(question_of(html), Title="Says no")
    page = signed_in(open_page, marketplace, "Hasty")
    page.click("text=Accept and work")
    page.frame_locator("iframe").locator("#submitButton").click()
    page.wait_for_timeout(300)
    assert marketplace.submitted(hit_id) == []
    assert not page.is_visible("#notice")


CROWD = "https://assets.crowd.aws/crowd-html-elements.js"
CROWD_FORM = f"""<script src='{CROWD}'></script>
<crowd-form><p>Is it good?</p><input name='good'></crowd-form>"""
STAND_IN = """
customElements.define("crowd-form", class extends HTMLElement {
  connectedCallback() { addEventListener("load", () => {
    const form = document.createElement("form"), button = document.createElement("button");
    const to = new URLSearchParams(location.search).get("turkSubmitTo");
    if (/^https:\\/\\/(www|workersandbox)\\.mturk\\.com$/.test(to)) {
      form.method = "post";
      form.action = to + "/mturk/externalSubmit";
    }
    button.textContent = "Submit";
    form.append(...this.childNodes, button);
    this.append(form);
  }); }
});"""


def working_on(marketplace, open_page, name, script):
    """Accept a HIT with Amazon's elements, whose script is not to be had here: answer for Amazon's server."""
    hit_id = marketplace.post(question_of(CROWD_FORM), Title="Crowd elements")
    page = signed_in(open_page, marketplace, name)
    page.forgiven.extend([CROWD, "ERR_FAILED"])
    answer = {"body": script, "content_type": "text/javascript"}
    page.route(CROWD, lambda route: route.fulfill(**answer) if script else route.abort())
    page.click("text=Accept and work")
    page.wait_for_url("**/assignments/*")
    return hit_id, page


def test_elements_that_submit_to_mturk_alone_are_submitted(marketplace, open_page):
    hit_id, page = working_on(marketplace, open_page, "Elementary", STAND_IN)
    inside = page.frame_locator("iframe")
    inside.locator("input[name=good]").fill("very")
    inside.locator("text=Submit").click()
    thanked(page)
    (assignment,) = marketplace.submitted(hit_id)
    assert answers_of(assignment) == {"good": "very"}


def test_a_page_without_its_script_says_what_is_missing(marketplace, open_page):
    _, page = working_on(marketplace, open_page, "Offline", "")
    soon(page, lambda: "assets.crowd.aws that does not load" in page.inner_text("#notice"))
    assert "return the HIT" in page.inner_text("#notice")
