"""The whole road of a worker in a real browser, on a real marketplace that boto3 fills."""

import re

from prefjudge.core.hits import layout_index
from prefjudge.pages.hit import render_hit_page
from tests.site.conftest import inspect, soon
from tests.site.live import answers_of, question_of, signed_in, thanked
from tests.site.test_judging_page import Platform, page_of


def turned_to(page):
    """Wait until keys go to the page of the HIT: the site turns to it again once it has loaded."""
    page.wait_for_load_state()
    soon(page, lambda: page.frames[-1].evaluate("document.hasFocus()"), "the focus")


def test_a_worker_walks_the_whole_road_by_keyboard(paying, open_page):
    spec = page_of()
    hit_id = paying.post(question_of(render_hit_page(spec)))
    page = signed_in(open_page, paying, "Ada")
    inspect(page)
    page.click("text=Preview")
    page.wait_for_url("**/groups/*")
    shown = page.frame_locator("iframe")
    assert "This is a preview" in shown.locator("main").inner_text()
    assert shown.locator("#slots").inner_html().strip() == "", "pairs of a HIT that is not accepted"
    inspect(page)

    page.click("text=Accept and work")
    page.wait_for_url("**/assignments/*")
    inside = page.frame_locator("iframe")
    inside.locator("#begin").wait_for()
    turned_to(page)
    page.keyboard.press("Tab")
    assert page.frames[-1].evaluate("document.activeElement.id") == "begin"
    for key in ("Enter", "1", "Enter", "2"):
        page.keyboard.press(key)
    kept = "fetch(location.pathname + '/draft').then(answer => answer.json())"
    soon(page, lambda: len((page.evaluate(kept)["draft"] or {"answers": ""})["answers"]) == 2)
    soon(page, lambda: page.inner_text("#kept") == "Saved")
    page.reload()
    soon(page, lambda: inside.locator("#place").inner_text() == "Comparison 2 of 4")
    assert inside.locator("[name=choice][value='1']").is_checked()
    turned_to(page)
    inspect(page)
    page.keyboard.press("Enter")
    for key in ("ArrowLeft", "Enter", "ArrowRight", "Enter", "Enter"):
        page.keyboard.press(key)
    thanked(page)
    assert page.inner_text("h1") == "Thank you"
    inspect(page)

    (assignment,) = paying.submitted(hit_id)
    answers = answers_of(assignment)
    layout = spec.layouts[layout_index(assignment["AssignmentId"], 4)]
    for shown, side in zip(layout.order, (0, 1, 0, 1), strict=True):
        slot = spec.slots[shown]
        assert answers[slot.name] == slot.tokens[side ^ layout.swapped[shown]]
    paying.requester.approve_assignment(
        AssignmentId=assignment["AssignmentId"], RequesterFeedback="Thank you."
    )
    page.click("text=Your work")
    assert "Approved" in page.inner_text("main")
    assert "$2.00" in page.inner_text("main")
    inspect(page)
    paying.requester.notify_workers(
        Subject="More on Monday", MessageText="<b>400</b>", WorkerIds=[assignment["WorkerId"]]
    )
    page.click("text=Inbox")
    assert "<b>400</b>" in page.inner_text("main")


def test_a_worker_on_a_phone_stops_early_and_returns_another(paying, open_page):
    hit_id = paying.post(question_of(render_hit_page(page_of(title="On a phone"))), Title="Phone")
    page = signed_in(
        open_page,
        paying,
        "Grace",
        viewport={"width": 360, "height": 640},
        has_touch=True,
        is_mobile=True,
    )
    page.tap("text=Accept and work")
    page.wait_for_url("**/assignments/*")
    page.tap("summary:has-text('Return')")
    page.tap("text=Return the HIT")
    page.wait_for_url("**/done")
    page.tap("text=All HITs")
    page.wait_for_url("**/hits")
    page.tap("text=Accept and work")
    page.wait_for_url("**/assignments/*")
    inside = page.frame_locator("iframe")
    inside.locator("#begin").tap()
    inside.locator("#text0").tap()
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    inside.locator("#next").tap()
    inside.locator("#stop").tap()
    assert "$0.15" in inside.locator("#due").inner_text()
    inside.locator("#quit").tap()
    thanked(page)
    (assignment,) = paying.submitted(hit_id)
    assert answers_of(assignment)["stopped"] == "1"


PRYING = """<!doctype html><html><title>Prying</title><body><p id=said></p><script>
const said = [];
const attempt = (what, act) => { try { act(); said.push(what); } catch {} };
attempt("parent", () => parent.document.title);
attempt("cookie", () => document.cookie.match("theme")[0]);
attempt("storage", () => localStorage.getItem("theme").length);
fetch("/hits", {credentials: "include"}).then(() => said.push("fetch"), () => {}).finally(() => {
  document.getElementById("said").textContent = "reached: " + said.join(" "); });
</script></body></html>"""


def test_the_page_of_a_hit_reaches_nothing_of_the_site(marketplace, open_page):
    marketplace.post(question_of(PRYING), Title="Prying")
    page = signed_in(open_page, marketplace, "Mary")
    page.evaluate("document.cookie = 'theme=dark'; localStorage.setItem('theme', 'dark')")
    page.click("text=Accept and work")
    inside = page.frame_locator("iframe")
    soon(page, lambda: inside.locator("#said").inner_text().startswith("reached:"))
    assert inside.locator("#said").inner_text() == "reached:"
    page.forgiven += ["CORS policy", "ERR_FAILED", "401"]


def test_an_external_question_is_judged_on_the_requesters_own_server(marketplace, open_page):
    platform = Platform()
    address = platform.url(page_of(2)).partition("?")[0]
    hit_id = marketplace.post(EXTERNAL.format(address), Title="Elsewhere")
    page = signed_in(open_page, marketplace, "Barbara")
    page.forgiven.append("allow-same-origin")  # the page is of another origin, so it escapes into its own
    page.click("text=Accept and work")
    inside = page.frame_locator("iframe")
    inside.locator("#begin").click()
    inside.locator("#text1").click()
    inside.locator("#next").click()
    soon(page, lambda: page.inner_text("#kept") == "Saved")
    page.reload()
    soon(page, lambda: inside.locator("#place").inner_text() == "Comparison 2 of 2")
    inside.locator("#text1").click()
    inside.locator("#next").click()
    inside.locator("#send").click()
    thanked(page)
    platform.stop()
    (assignment,) = marketplace.submitted(hit_id)
    assert answers_of(assignment)["consent"] == "yes"


EXTERNAL = """<?xml version="1.0"?>
<ExternalQuestion
 xmlns="http://mechanicalturk.amazonaws.com/AWSMechanicalTurkDataSchemas/2006-07-14/ExternalQuestion.xsd">
<ExternalURL>{}</ExternalURL><FrameHeight>600</FrameHeight></ExternalQuestion>"""
FORM = """<?xml version="1.0"?>
<QuestionForm xmlns="http://mechanicalturk.amazonaws.com/AWSMechanicalTurkDataSchemas/2017-11-06/QuestionForm.xsd">
<Overview><Title>About passages</Title></Overview>
<Question><QuestionIdentifier>long</QuestionIdentifier><DisplayName>Length</DisplayName><IsRequired>true</IsRequired>
<QuestionContent><Text>How long?</Text></QuestionContent><AnswerSpecification><SelectionAnswer>
<StyleSuggestion>radiobutton</StyleSuggestion><Selections>
<Selection><SelectionIdentifier>s</SelectionIdentifier><Text>Short</Text></Selection>
<Selection><SelectionIdentifier>l</SelectionIdentifier><Text>Long</Text></Selection>
</Selections></SelectionAnswer></AnswerSpecification></Question>
<Question><QuestionIdentifier>why</QuestionIdentifier><QuestionContent><Text>Why?</Text></QuestionContent>
<AnswerSpecification><FreeTextAnswer/></AnswerSpecification></Question>
</QuestionForm>"""


def test_a_question_form_is_answered(marketplace, open_page):
    hit_id = marketplace.post(FORM, Title="A form")
    page = signed_in(open_page, marketplace, "Hedy")
    page.click("text=Accept and work")
    inside = page.frame_locator("iframe")
    inside.locator("label:has-text('Long')").click()
    inside.locator("[name=why]").fill("because <it> is")
    soon(page, lambda: page.inner_text("#kept") == "Saved")
    page.reload()
    soon(page, lambda: inside.locator("[name=why]").input_value() == "because <it> is")
    inside.locator("button").click()
    thanked(page)
    (assignment,) = marketplace.submitted(hit_id)
    assert answers_of(assignment) == {"long": "l", "why": "because <it> is"}


def test_a_qualification_test_opens_the_way(marketplace, open_page):
    key = """<AnswerKey xmlns="http://mechanicalturk.amazonaws.com/AWSMechanicalTurkDataSchemas/2005-10-01/AnswerKey.xsd">
    <Question><QuestionIdentifier>long</QuestionIdentifier><AnswerOption><SelectionIdentifier>l</SelectionIdentifier>
    <AnswerScore>90</AnswerScore></AnswerOption></Question></AnswerKey>"""
    kind = marketplace.requester.create_qualification_type(
        Name="Length test", Description="Do you know?", QualificationTypeStatus="Active", Test=FORM,
        AnswerKey=key, TestDurationInSeconds=600,
    )["QualificationType"]["QualificationTypeId"]  # fmt: skip
    need = {"QualificationTypeId": kind, "Comparator": "GreaterThanOrEqualTo", "IntegerValues": [80]}
    marketplace.post(FORM, Title="For the qualified", QualificationRequirements=[need])
    page = signed_in(open_page, marketplace, "Lise")
    assert "Accept and work" not in page.inner_text("main")
    page.click("text=Length test")
    page.click("text=Start the test")
    page.click("label:has-text('Long')")
    inspect(page)
    page.click("text=Submit the test")
    soon(page, lambda: "Granted" in page.inner_text("main"))
    page.click("nav >> text=HITs")
    page.click("text=Accept and work")
    page.wait_for_url("**/assignments/*")


def test_the_admin_sees_the_work_and_invites(marketplace, open_page):
    marketplace.invitation("Rosalind")
    page = open_page()
    page.goto(marketplace.server.admin)
    page.fill("#token", "wrong")
    page.keyboard.press("Enter")
    assert "wrong" in page.inner_text("[role=alert]")
    page.forgiven.append("401 (Unauthorized)")
    page.fill("#token", marketplace.server.admin_token)
    page.keyboard.press("Enter")
    soon(page, lambda: page.url.endswith("/admin"))
    assert "Rosalind" in page.inner_text("main")
    inspect(page)
    page.click("text=Make a link")
    link = page.inner_text("code.key")
    assert "/signin?invite=" in link
    page.click("text=Copy")
    soon(page, lambda: page.inner_text("[data-copies]") == "Copied")
    assert page.evaluate("getSelection().toString()").strip() == link
    inspect(page)
    guest = open_page()
    guest.goto(link)
    inspect(guest)
    guest.fill("#name", "Émilie")
    guest.click("text=Begin")
    guest.wait_for_url("**/hits")
    assert "Émilie" in guest.inner_text(".bar")
    page.click("text=Back")
    page.fill("#newcomer", "Émilie")
    page.forgiven.append("400 (Bad Request)")
    page.click("text=Make a link")
    assert "is taken" in page.inner_text("[role=alert]")
    inspect(page)
    page.click("a:has-text('Administration')")
    page.click("text=Sign out")
    page.goto(marketplace.server.admin)
    assert page.query_selector("#token") is not None


def test_a_colleague_on_a_phone_reads_of_the_progress_and_not_of_pay_or_keys(marketplace, open_page):
    html = question_of(render_hit_page(page_of(2)))  # whose own words speak of $2.00
    for _ in range(2):
        marketplace.post(html, Title="For colleagues")
    phone = {"viewport": {"width": 390, "height": 844}, "is_mobile": True, "has_touch": True}
    page = signed_in(open_page, marketplace, "Chien-Shiung", **phone)
    page.click("text=Accept and work")
    inside = page.frame_locator("iframe")
    read = [page.inner_text("body"), inside.locator("body").inner_text()]
    inside.locator("#begin").click()
    for _ in range(2):
        inside.locator("#text0").click()
        read.append(inside.locator("body").inner_text())
        inside.locator("#stop").click()
        read.append(inside.locator("body").inner_text())
        inside.locator("#stay").click()
        inside.locator("#next").click()
    inside.locator("#send").click()
    thanked(page)
    read.append(page.inner_text("body"))
    assert "1 of 2 HITs, 2 pairs judged" in read[-1]
    page.goto(f"{marketplace.server.worker_site}/history")
    read.append(page.inner_text("body"))
    assert "1 HIT, 2 pairs judged" in read[-1]
    inspect(page)
    unheard = r"\$|money|\bpaid|reward|reject|approv|keyboard|shortcut"
    assert [found for text in read for found in re.findall(unheard, text, re.IGNORECASE)] == []


def test_a_link_signs_the_admin_in_once(marketplace, open_page):
    link = marketplace.server.sign_in_link()
    page = open_page()
    page.goto(link)
    soon(page, lambda: page.url.endswith("/admin"))
    assert page.inner_text("h1") == "How it goes"
    other = open_page()
    other.forgiven.append("401 (Unauthorized)")
    other.goto(link)
    soon(other, lambda: other.query_selector("[role=alert]"))
    assert "was used" in other.inner_text("[role=alert]")
    assert "once" not in other.url
    inspect(other)


def test_a_panel_sends_a_worker_and_gets_one_back(marketplace, open_page):
    home = f"{marketplace.server.endpoint}/healthz?cc=CDONE"  # stands for the panel's own site
    panel = {
        "name": "panel", "signed": False, "participant": "PROLIFIC_PID",
        "study": "STUDY_ID", "session": "SESSION_ID",
        "completion": {"submitted": {"code": "CDONE", "url": home}},
    }  # fmt: skip
    link = marketplace.admin("/admin/panels", panel)["url"]
    marketplace.post(question_of(render_hit_page(page_of(1))), Title="For the panel")
    page = open_page()
    page.goto(f"{link}?PROLIFIC_PID=5f0c&STUDY_ID=s1&SESSION_ID=e1")
    page.click("text=Begin")
    page.wait_for_url("**/hits")
    page.click("text=Accept and work")
    page.wait_for_url("**/assignments/*")
    early = "fetch(location.pathname + '/done', {headers: {Accept: 'application/json'}}).then(a => a.json())"
    assert page.evaluate(early)["completion"] is None, "a code before the work"
    inside = page.frame_locator("iframe")
    for control in ("#begin", "#text0", "#next", "#send"):
        inside.locator(control).click()
    thanked(page)
    assert page.inner_text("code.key") == "CDONE"
    page.forgiven.append("404 (Not Found)")  # no icon there
    page.click("text=Back to your panel")
    page.wait_for_url("**cc=CDONE")
