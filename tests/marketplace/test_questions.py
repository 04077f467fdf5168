"""Questions in, answers out: what is accepted, what is refused, what survives."""

from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prefjudge.marketplace.errors import RequestError
from prefjudge.marketplace.questions import (
    parse_form,
    read_question,
    sanitised,
    visible_time,
    write_answers,
)
from tests.marketplace.people import external_question, html_question, question_form, selection

BOMB = (
    '<!DOCTYPE x [<!ENTITY a "' + "A" * 1000 + '">]>'
    '<HTMLQuestion xmlns="http://mechanicalturk.amazonaws.com/AWSMechanicalTurkDataSchemas/2011-11-11/'
    'HTMLQuestion.xsd"><HTMLContent>'
    + "&a;" * 1000
    + "</HTMLContent><FrameHeight>0</FrameHeight></HTMLQuestion>"
)


def test_questions_of_each_kind():
    assert read_question(html_question("<p>😀</p>", 400)).content == "<p>😀</p>"
    assert read_question(external_question("https://example.org/a?b=1&amp;c=2")).content.endswith("b=1&c=2")
    assert read_question(question_form()).kind == "form"
    assert read_question(html_question(height=450)).height == 450


@pytest.mark.parametrize(
    "xml",
    [
        "",
        "plain",
        "<HTMLQuestion><HTMLContent>x</HTMLContent><FrameHeight>0</FrameHeight></HTMLQuestion>",
        html_question(""),
        html_question("x").replace("<FrameHeight>0", "<FrameHeight>tall"),
        html_question("]]>"),
        html_question("x" * 65_500),
        html_question("é" * 33_000),
        external_question("http://example.org/"),
        external_question("javascript:alert(1)"),
        BOMB,
        question_form("<Question/>"),
        question_form(selection("a", "x") + selection("a", "x")),
        question_form(selection("a")),
        question_form(selection("a", "x", style="slider")),
        question_form("<Nonsense/>" + selection("a", "x")),
        question_form(overview="<Overview><Title>only</Title></Overview>", questions=" "),
    ],
)
def test_what_is_no_question(xml):
    with pytest.raises(RequestError):
        read_question(xml)


def test_a_form_keeps_its_order_and_loses_its_scripts():
    overview = (
        "<Overview><Title>T</Title><Text>a &lt; b</Text><List><ListItem>one</ListItem></List>"
        "<FormattedContent><![CDATA[<p onclick='x()'>Hi <a href='javascript:x()'>you</a>"
        "<script>alert(1)</script><img src='https://example.org/a.png' onerror='x()'/></p>]]>"
        "</FormattedContent>"
        "<Binary><MimeType><Type>image</Type></MimeType><DataURL>https://example.org/b.png</DataURL>"
        "<AltText>b</AltText></Binary></Overview>"
    )
    text = (
        "<Question><QuestionIdentifier>why</QuestionIdentifier>"
        "<QuestionContent><Text>Why?</Text></QuestionContent>"
        "<AnswerSpecification><FreeTextAnswer><Constraints><Length minLength='2' maxLength='9'/>"
        "<IsNumeric minValue='1' maxValue='5'/></Constraints><DefaultText>3</DefaultText></FreeTextAnswer>"
        "</AnswerSpecification></Question>"
    )
    shown = parse_form(question_form(selection("a", "x", "y") + text, overview), "Q")
    kinds = [content["kind"] for content in shown["overview"]]
    assert kinds == ["title", "text", "list", "html", "binary"]
    markup = shown["overview"][3]["html"]
    assert markup == '<p>Hi <a>you</a><img src="https://example.org/a.png"></p>'
    choice, why = (question["answer"] for question in shown["questions"])
    assert [option["identifier"] for option in choice["options"]] == ["x", "y"]
    assert (why["min_length"], why["max_length"], why["numeric"], why["min"], why["max"]) == (
        2,
        9,
        True,
        1,
        5,
    )
    assert why["default"] == "3"


def test_elements_may_be_nested_as_deep_as_the_size_lets_them():
    for depth in (1, 4_000, 9_000):
        markup = "<b>x<script>y</script></b>z" if depth == 1 else "<b>" * depth + "x" + "</b>" * depth
        assert sanitised(markup) == markup.replace("<script>y</script>", "")
    assert sanitised("a<p>b<u>c</u>d<br/>e</p>f<em>g</em>").startswith("a<p>b<u>c</u>d<br>e</p>f")


@given(st.text(alphabet=st.characters(codec="utf-8", categories=["L", "P", "S", "Zs"])))
def test_sanitised_text_stays_text(text):
    from xml.sax.saxutils import escape

    assert ElementTree.fromstring(f"<p>{sanitised(escape(text))}</p>").itertext is not None
    assert "<" not in sanitised(escape(text))


@given(
    st.lists(
        st.tuples(st.text(min_size=1, max_size=8), st.text(max_size=40)), max_size=6, unique_by=lambda f: f[0]
    )
)
def test_answers_survive_xml(fields):
    root = ElementTree.fromstring(write_answers(fields))
    found = [("".join(one[0].itertext()), "".join(one[1].itertext())) for one in root]
    reserved = {"assignmentId", "hitId", "workerId", "turkSubmitTo"}
    assert found == [(_legal(name), _legal(text)) for name, text in fields if name not in reserved]


def _legal(text: str) -> str:
    return "".join(
        c
        for c in text
        if c in "\t\n\r" or 0x20 <= ord(c) < 0xD800 or (ord(c) > 0xDFFF and ord(c) not in (0xFFFE, 0xFFFF))
    )


def test_fields_of_one_name_are_one_answer():
    root = ElementTree.fromstring(write_answers([("a", "1"), ("b", ""), ("a", "2")]))
    assert [["".join(part.itertext()) for part in answer] for answer in root] == [["a", "1|2"], ["b", ""]]


def test_visible_time_is_of_numbers_only():
    assert visible_time([("x.ms", "1200"), ("y.ms", "800"), ("z.ms", "soon"), ("w", "5")]) == (2000, 2)
