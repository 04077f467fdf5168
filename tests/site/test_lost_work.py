"""What could cost a worker their work: time, the connection, the session. It is said, and nothing is lost."""

from contextlib import suppress

from tests.site.conftest import inspect, soon
from tests.site.live import answers_of, question_of, signed_in, thanked
from tests.site.test_judging_page import Platform, page_of
from tests.site.test_live import EXTERNAL
from tests.site.test_old_pages import FILLED_IN, page_with

OLD = page_with(after=FILLED_IN)
DRAFTING = """<!doctype html><html lang=en><title>Drafting</title><input aria-label=Words><script>
document.querySelector("input").oninput = event =>
  parent.postMessage({prefjudge: "draft", draft: [["words", event.target.value]]}, "*");
addEventListener("message", event => { document.querySelector("input").value = event.data.draft[0][1]; });
parent.postMessage({prefjudge: "ready"}, "*");
</script></html>"""


def at_work(open_page, marketplace, name, html=OLD, **options):
    """Open a HIT with work in it; return its id, the page and what is inside its frame."""
    hit_id = marketplace.post(question_of(html), Title=name)
    page = signed_in(open_page, marketplace, name, **options)
    page.click("text=Accept and work")
    page.wait_for_url("**/assignments/*")
    inside = page.frame_locator("iframe")
    inside.locator("textarea, input:not([type])").first.fill("half an hour of work")
    return hit_id, page, inside


def try_again(page):
    """Press the button, unless the page has tried again by itself and the button is gone."""
    from playwright.sync_api import Error

    with suppress(Error):
        page.click("text=Try again", timeout=3000)


def test_answers_wait_for_the_connection(marketplace, open_page):
    hit_id, page, inside = at_work(open_page, marketplace, "Offline")
    page.forgiven += ["ERR_INTERNET_DISCONNECTED"]
    page.context.set_offline(True)
    inside.locator("#submitButton").click()
    soon(page, lambda: "No connection" in page.inner_text("#notice"))
    assert marketplace.submitted(hit_id) == []
    page.context.set_offline(False)
    thanked(page)
    (assignment,) = marketplace.submitted(hit_id)
    assert answers_of(assignment)["comment"] == "half an hour of work"


def test_answers_outlive_a_failing_server_and_a_reload(marketplace, open_page):
    hit_id, page, inside = at_work(open_page, marketplace, "Unlucky")
    page.forgiven += ["502 (Bad Gateway)"]
    page.route("**/mturk/externalSubmit", lambda route: route.fulfill(status=502, body="no"))
    inside.locator("#submitButton").click()
    soon(page, lambda: "kept on this device" in page.inner_text("#notice"))
    inspect(page)
    page.reload()
    soon(page, lambda: "kept on this device" in page.inner_text("#notice"))
    page.unroute("**/mturk/externalSubmit")
    try_again(page)
    thanked(page)
    assert answers_of(marketplace.submitted(hit_id)[0])["comment"] == "half an hour of work"


def test_a_page_elsewhere_that_could_not_submit_is_told_of(marketplace, open_page):
    platform = Platform()
    address = platform.url(page_of(1)).partition("?")[0]
    hit_id = marketplace.post(EXTERNAL.format(address), Title="Elsewhere, offline")
    page = signed_in(open_page, marketplace, "Marie")
    page.forgiven += ["allow-same-origin", "ERR_INTERNET_DISCONNECTED"]
    page.click("text=Accept and work")
    inside = page.frame_locator("iframe")
    for control in ("#begin", "#text1", "#next"):
        inside.locator(control).click()
    soon(page, lambda: page.inner_text("#kept") == "Saved")
    page.context.set_offline(True)
    page.frames[1].evaluate("Object.defineProperty(navigator, 'onLine', {value: true})")
    inside.locator("#send").click()
    soon(page, lambda: "may not have arrived" in page.inner_text("#notice"))  # not of a draft
    page.context.set_offline(False)
    try_again(page)
    inside.locator("#send").click()
    thanked(page)
    platform.stop()
    assert answers_of(marketplace.submitted(hit_id)[0])["consent"] == "yes"


def test_the_end_of_the_time_is_seen_and_ends_the_work(marketplace, open_page):
    page = open_page()
    page.clock.install()
    marketplace.post(question_of(OLD), Title="Short", AssignmentDurationInSeconds=600)
    page.goto(marketplace.invitation("Slow"))
    page.click("text=Begin")
    page.click("text=Accept and work")
    page.wait_for_url("**/assignments/*")
    assert not page.is_visible("#notice")
    page.clock.fast_forward(601_000)
    soon(page, lambda: page.is_visible("#notice"))
    assert page.inner_text("#said") == "The time for this HIT is over."
    assert page.evaluate("document.getElementById('frame').inert")
    inspect(page)
    page.click("#notice >> text=All HITs")
    page.wait_for_url("**/hits")


def test_what_the_server_refuses_is_said_where_the_work_is(marketplace, open_page):
    hit_id, page, inside = at_work(open_page, marketplace, "Twice")
    page.forgiven += ["410 (Gone)"]
    token = page.get_attribute("#frame", "data-csrf")
    page.evaluate(
        "token => fetch(location.pathname + '/return', {method: 'POST', headers: {'X-CSRF-Token': token}})",
        token,
    )
    inside.locator("#submitButton").click()
    soon(page, lambda: "You have returned this HIT" in page.inner_text("#notice"))
    assert marketplace.submitted(hit_id) == []


def test_answers_arrive_from_who_was_signed_out(marketplace, open_page):
    hit_id, page, inside = at_work(open_page, marketplace, "Elsewhere")
    page.context.clear_cookies()
    inside.locator("#submitButton").click()
    page.wait_for_url("**/signin?next=**")
    assert answers_of(marketplace.submitted(hit_id)[0])["comment"] == "half an hour of work"


def test_who_would_lose_what_was_typed_is_asked_first(marketplace, open_page):
    _, page, _ = at_work(open_page, marketplace, "Leaving")
    page.forgiven.append("dialog: ")
    # what the frame says of typing takes a moment to arrive
    soon(page, lambda: page.evaluate("!dispatchEvent(new Event('beforeunload', {cancelable: true}))"))
    with page.expect_event("dialog"):
        page.evaluate("setTimeout(() => location.assign('/hits'))")
    assert "/assignments/" in page.url, "the test's browser answers: stay"
    page.click("summary:has-text('Return')")
    page.click("text=Return the HIT")
    page.wait_for_url("**/done")


def test_a_draft_waits_until_its_worker_is_signed_in_again(marketplace, open_page):
    _, page, inside = at_work(open_page, marketplace, "Returning", DRAFTING)
    soon(page, lambda: page.inner_text("#kept") == "Saved")
    link, cookies = page.url, page.context.cookies()
    page.forgiven += ["401 (Unauthorized)", "403 (Forbidden)"]
    page.context.clear_cookies()
    inside.locator("input").fill("an hour of work")
    soon(page, lambda: "You are signed out" in page.inner_text("#notice"))
    inspect(page)
    page.context.add_cookies(cookies)
    try_again(page)
    soon(page, lambda: page.inner_text("#kept") == "Saved")
    assert not page.is_visible("#notice")
    page.goto(link)
    soon(page, lambda: inside.locator("input").input_value() == "an hour of work")


def test_a_new_session_is_taken_up(marketplace, open_page):
    _, page, inside = at_work(open_page, marketplace, "Newly", DRAFTING)
    soon(page, lambda: page.inner_text("#kept") == "Saved")
    page.forgiven += ["401 (Unauthorized)", "403 (Forbidden)"]
    page.evaluate("document.getElementById('frame').dataset.csrf = 'of an older session'")
    inside.locator("input").fill("an hour of work")
    soon(page, lambda: page.inner_text("#kept") == "Saved" and not page.is_visible("#notice"))
