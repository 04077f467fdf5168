"""QuestionForms in a real browser: what is asked for is held to before it is sent."""

import pytest

from tests.marketplace.people import question_form
from tests.marketplace.test_form_answers import choice, question, text
from tests.site.conftest import inspect, soon
from tests.site.live import signed_in, thanked

FORM = question_form(
    question("colours", choice("red", "green", "blue", least=2, most=3), required=True)
    + question("shape", choice("disc", "ring", other=True), required=True)
    + question("why", text('<Length minLength="2"/><AnswerFormatRegex regex="\\S" errorText="Write."/>'))
)
WRONG = "[...document.getElementById('form').elements].filter(c => !c.checkValidity()).map(c => c.name)"


@pytest.fixture
def filled(marketplace, open_page):
    """Open the form in a HIT."""

    def opened(name):
        hit_id = marketplace.post(FORM, Title=name)
        page = signed_in(open_page, marketplace, name)
        page.click("text=Accept and work")
        page.wait_for_url("**/assignments/*")
        page.frame_locator("iframe").locator("#form").wait_for()
        return hit_id, page, page.frame_locator("iframe")

    return opened


def test_what_is_missing_is_said_and_what_is_there_arrives(marketplace, filled):
    hit_id, page, inside = filled("Careful")
    form = page.frames[1]
    assert form.evaluate(WRONG) == ["colours", "shape", "why"]
    inside.locator("button").click()
    inside.locator("label:has-text('red')").click()
    assert form.evaluate("document.getElementById('form').elements.colours[0].validationMessage") == (
        "Choose 2 to 3."
    )
    inside.locator("label:has-text('blue')").click()
    inside.locator("label:has-text('disc')").click()
    inside.locator("[name='shape.other']").fill("square")
    assert not inside.locator("[value=disc]").is_checked()
    inside.locator("[name=why]").fill("   ")
    assert form.evaluate("document.getElementById('form').elements.why.validationMessage") == "Write."
    assert marketplace.submitted(hit_id) == []
    inside.locator("[name=why]").fill("because")
    assert form.evaluate(WRONG) == []
    inside.locator("button").click()
    thanked(page)
    (assignment,) = marketplace.submitted(hit_id)
    assert assignment["Answer"].partition('xsd">')[2] == (
        "<Answer><QuestionIdentifier>colours</QuestionIdentifier><SelectionIdentifier>red"
        "</SelectionIdentifier><SelectionIdentifier>blue</SelectionIdentifier></Answer>"
        "<Answer><QuestionIdentifier>shape</QuestionIdentifier><OtherSelectionText>square"
        "</OtherSelectionText></Answer>"
        "<Answer><QuestionIdentifier>why</QuestionIdentifier><FreeText>because</FreeText></Answer>"
        "</QuestionFormAnswers>"
    )


def test_what_the_server_misses_is_said_above_the_form_which_stays(marketplace, filled):
    hit_id, page, inside = filled("Forced")
    inside.locator("[name=why]").fill("because")
    page.forgiven.append("422 (Unprocessable")
    page.frames[1].evaluate("document.getElementById('form').submit()")
    soon(page, lambda: "choose 2 to 3" in page.inner_text("#notice"))
    inspect(page)
    assert inside.locator("[name=why]").input_value() == "because"
    assert not page.evaluate("document.getElementById('frame').inert")
    assert marketplace.submitted(hit_id) == []
