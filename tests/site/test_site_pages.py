import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from jinja2 import UndefinedError

import prefjudge.marketplace.site.pages as site
from tests.site.conftest import inspect, soon, stop_clock, watched
from tests.site.gallery import HOSTILE, PAGES, Gallery, context, rendered


@pytest.fixture(scope="module")
def gallery() -> Iterator[Gallery]:
    with Gallery() as shown:
        yield shown


@pytest.fixture(scope="module")
def phone(browser: Any) -> Iterator[Any]:
    with watched(browser) as opened:
        yield opened(viewport={"width": 320, "height": 640})


def test_every_template_has_a_sample():
    templates = {path.stem for path in (Path(site.__file__).parent / "templates").glob("*.html")}
    shared = {"base", "bare", "parts", "admin_parts", "form", "panel_form"}
    assert {name.partition("-")[0] for name in PAGES} == templates - shared


@pytest.mark.parametrize("name", PAGES)
def test_a_page_holds_to_the_policy_and_guards_its_forms(name):
    html = rendered(name)
    assert HOSTILE not in html
    assert re.search(r"<[^>]+\s(style|on\w+)=", html) is None
    assert all('nonce="' in tag for tag in re.findall(r"<script[^>]*>", html))
    assert re.findall(r'(?:src|href)="(?!/|https?://127)[^"]*"', html.replace('href="#main"', "")) == []
    for form in re.findall(r"<form.*?</form>", html, re.DOTALL):
        open_to_strangers = re.search(
            r'action="(/signin"|/language"|/admin/signin"|/mturk/externalSubmit"|/panel/)', form
        )
        assert open_to_strangers or 'name="csrf" value="c5rf"' in form


@pytest.mark.parametrize(("name", "key"), [("hits", "groups"), ("assignment", "frame"), ("admin", "money")])
def test_a_page_with_a_value_missing_is_an_error_and_not_a_gap(name, key):
    values = context(name)
    del values[key]
    with pytest.raises(UndefinedError):
        site.render_page(name, values)


def test_assets_are_served_by_name_only():
    content, media = site.asset("site.css") or (b"", "")
    assert b":root" in content
    assert media.startswith("text/css")
    assert site.asset("../pages.py") is None
    assert site.asset("nothing.css") is None
    assert b"url(" not in content


WANTED = """() => {
    const controls = 'a[href], button, input:not([type=hidden]), select, textarea, summary, [tabindex="0"]';
    const first = radio => document.getElementsByName(radio.name)[0] === radio;
    window.wanted = [...document.querySelectorAll(controls)]
        .filter(control => control.checkVisibility() && (control.type !== 'radio' || first(control)));
}"""
WHERE = """() => {
    const at = document.activeElement;
    const ring = getComputedStyle(at).outlineStyle !== 'none';
    const known = ring || ['IFRAME', 'BODY'].includes(at.tagName);
    return [window.wanted.indexOf(at), known, at.outerHTML.slice(0, 80)];
}"""


@pytest.mark.parametrize("name", PAGES)
def test_a_page_fits_a_phone_passes_axe_and_is_used_by_keyboard_alone(gallery, phone, name):
    page = phone
    page.goto(f"{gallery.origin}/{name}")
    assert page.evaluate("document.documentElement.scrollWidth") <= 320
    inspect(page)
    page.evaluate(WANTED)
    reached = []
    for _ in range(60):
        page.keyboard.press("Tab")
        index, visible, control = page.evaluate(WHERE)
        assert visible, f"no focus ring on {control}"
        if len(set(reached)) > 1 and index == reached[0]:  # once round; a frame may keep it for two
            break
        if index >= 0:
            reached.append(index)
    assert len(set(reached)) == page.evaluate("window.wanted.length")


DRAFT = "/assignments/3ASSIGNMENT/draft"
TALKING = """<!doctype html><html lang=en><title>HIT</title><script>
addEventListener("message", e => { document.body.textContent = JSON.stringify(e.data); });
parent.postMessage({prefjudge: "ready"}, "*");
</script><body>nothing"""


def test_drafts_are_stored_and_given_back(gallery, open_page):
    gallery.asked.clear()
    gallery.frame = TALKING
    gallery.changes = {"draft": {"at": 3, "note": "</script>"}}
    gallery.answers = {("POST", DRAFT): (200, "{}")}
    page = open_page()
    page.goto(f"{gallery.origin}/assignment")
    frame = page.frames[1]
    soon(page, lambda: "restore" in frame.inner_text("body"))
    assert (
        frame.inner_text("body") == '{"prefjudge":"restore","draft":{"at":3,"note":"</script>"},"agreed":[]}'
    )
    frame.evaluate("parent.postMessage({prefjudge: 'draft', draft: {at: 4}}, '*')")
    soon(page, lambda: page.inner_text("#kept") == "Saved")
    posts = [body for method, path, body in gallery.asked if (method, path) == ("POST", DRAFT)]
    (sent,) = map(json.loads, posts)
    assert (sent["draft"], sent["after"]) == ({"at": 4}, "")
    gallery.changes = {}


def test_the_last_of_two_tabs_does_not_win_in_silence(gallery, open_page):
    gallery.asked.clear()
    gallery.frame = TALKING
    gallery.changes = {"draft": {"at": 3}, "draft_tab": "first"}
    gallery.answers = {("POST", DRAFT): (412, '{"error": "another tab"}')}
    page = open_page(viewport={"width": 390, "height": 700})
    page.forgiven.append("412 (Precondition Failed)")
    page.goto(f"{gallery.origin}/assignment")
    page.frames[1].evaluate("parent.postMessage({prefjudge: 'draft', draft: {at: 4}}, '*')")
    soon(page, lambda: "another tab" in page.inner_text("#said"))
    assert page.inner_text("#kept") == ""
    inspect(page)
    gallery.answers = {("POST", DRAFT): (200, "{}")}
    page.click("text=Keep the answers here")
    soon(page, lambda: page.inner_text("#kept") == "Saved")
    assert page.is_visible("#kept")
    posts = [json.loads(body) for _, path, body in gallery.asked if path == DRAFT]
    assert [(one["draft"]["at"], one["after"]) for one in posts] == [(4, "first"), (4, None)]
    gallery.changes = {}


def test_a_draft_outlives_a_lost_connection_and_a_reload(gallery, open_page):
    gallery.frame = TALKING
    gallery.answers = {("POST", DRAFT): (200, "{}")}
    page = open_page()
    page.goto(f"{gallery.origin}/assignment")
    page.route("**/draft", lambda route: route.abort())
    page.frames[1].evaluate("parent.postMessage({prefjudge: 'draft', draft: {at: 7}}, '*')")
    soon(page, lambda: page.inner_text("#said").startswith("No connection"))
    page.reload()
    soon(page, lambda: '"at":7' in page.frames[1].inner_text("body"))
    page.forgiven.append("ERR_FAILED")


def test_submitting_leads_on(gallery, open_page):
    gallery.frame = """<!doctype html><html lang=en><title>HIT</title>
        <form method=post action=/mturk/externalSubmit><button>Submit</button>"""
    gallery.answers = {
        ("GET", "/assignments/3ASSIGNMENT/done"): (200, rendered("done")),
        ("GET", "/assignments/3ASSIGNMENT"): (200, '{"assignment": {"status": "Accepted"}}'),
    }
    page = open_page()
    page.goto(f"{gallery.origin}/assignment")
    page.frames[1].click("button")
    page.wait_for_url("**/assignments/3ASSIGNMENT/done")
    assert page.inner_text("h1") == "Thank you"


def test_the_deadline_runs_and_is_announced(gallery, open_page):
    gallery.frame = TALKING
    page = open_page()
    stop_clock(page)
    page.goto(f"{gallery.origin}/assignment")
    assert page.inner_text("#left") == "52:05"
    assert not page.is_visible("#notice")
    page.clock.fast_forward(1_000 * (3125 - 59))
    page.clock.run_for(2_000)
    assert page.inner_text("#left") == "0:57"
    assert page.text_content("#news") == "One minute left"
    page.clock.run_for(60_000)
    assert page.inner_text("#said") == "The time for this HIT is over."


def test_the_admin_page_is_live_until_it_is_told_not_to_be(gallery, open_page):
    counts = {"hits": {"Assignable": 7}, "assignments": {}, "workers": 1, "done": 434}
    event = {"time": "2026-11-21T10:00:00Z", "event": "<b>x"}
    now = {"counts": counts, "money": {"paid": "1000.5"}, "seconds_per_pair": 2, "events": [event]}
    now["study"] = {"judged": 413, "pairs": 990}
    page = open_page()
    stop_clock(page)
    page.goto(f"{gallery.origin}/admin")
    figure = page.locator("[data-key='counts.hits.Assignable']")
    assert not figure.is_visible(), "one step away"
    assert "412 of 990" in page.inner_text(".tiles")
    page.click("summary:has-text('money')")
    page.click("#events")
    assert figure.inner_text() == "312"
    page.route("**/admin", lambda route: route.fulfill(json=now))
    page.clock.run_for(6_000)
    soon(page, lambda: figure.inner_text() == "7")
    assert page.inner_text("[data-key='money.paid']") == "$1,000.50"
    assert "413 of 990" in page.inner_text(".tiles >> nth=0")
    assert page.evaluate("document.querySelector('progress').value") == 413
    assert page.inner_text("[data-key='counts.done']") == "434"
    assert "<b>x" in page.inner_text("#log")
    page.uncheck("#live")
    counts["hits"]["Assignable"] = 8
    page.clock.run_for(20_000)
    page.wait_for_timeout(200)
    assert figure.inner_text() == "7"
