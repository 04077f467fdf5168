import dataclasses
import json
import re
import string
from html.parser import HTMLParser

import pytest
from defusedxml.ElementTree import fromstring
from hypothesis import given
from hypothesis import strategies as st

from prefjudge.core.hits import Comparison, Layout, Passage
from prefjudge.crowd.mturk.questions import write_question
from prefjudge.crowd.tasks import Page
from prefjudge.errors import InputError
from prefjudge.pages.hit import HitPage, languages, render_hit_page

BOTH = (Passage("a"), Passage("b"))


def opaque(number: int) -> str:
    return f"{number:012d}"


def page_of(texts: list[tuple[str, str, str]], **changes: object) -> HitPage:
    slots = tuple(
        Comparison(
            name=opaque(3 * i), query=query, passages=both, tokens=(opaque(3 * i + 1), opaque(3 * i + 2))
        )
        for i, (query, both) in enumerate((query, (Passage(a), Passage(b))) for query, a, b in texts)
    )
    straight = Layout(order=tuple(range(len(slots))), swapped=(False,) * len(slots))
    page = HitPage(
        title="Choose", question="Which is better?", instructions="Read both.", consent="It is research.",
        reward="$2.00",
        shares=tuple(f"${done / 100:.2f}" for done in range(len(slots) + 1)),
        slots=slots, layouts=(straight,),
    )  # fmt: skip
    return dataclasses.replace(page, **changes)


def test_the_consent_says_how_long_names_are_kept_in_every_language():
    for language in languages():
        plain = render_hit_page(page_of([("q", "a", "b")], language=language))
        told = render_hit_page(page_of([("q", "a", "b")], language=language, keep_days=4321))
        assert ("4321" in plain, "4321" in told) == (False, True)
    assert page_of([("q", "a", "b")]).agreement != page_of([("q", "a", "b")], keep_days=90).agreement


class Reader(HTMLParser):
    """Reads the page as a browser would: the tags that it opens, and the texts of its slots."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[str] = []
        self.texts: list[str] = []
        self.text = ""
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        if tag in ("dt", "dd"):
            self.texts.append("")

    def handle_endtag(self, tag: str) -> None:
        self.tags.append("/" + tag)

    def handle_data(self, text: str) -> None:
        self.text += text
        if self.texts and "/dl" not in self.tags:
            self.texts[-1] += text


def legal(text: str) -> str:
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    kept = (c for c in text if c in "\t\n" or (c >= " " and not 0x7F <= ord(c) <= 0x9F) or c == "\x85")
    return "".join(c for c in kept if not 0xD800 <= ord(c) < 0xE000 and not 0xFDD0 <= ord(c) <= 0xFDEF
                   and ord(c) & 0xFFFE != 0xFFFE)  # fmt: skip


SHARP = [
    "<script>", "</dl>", "]]>", "<![CDATA[", "<!--", "&amp;", '"', "'",
    "\x0b", "\x00", "\ufffe", "\U0001f600", "{{ 7*7 }}", "\ud800",
]  # fmt: skip
hostile = st.one_of(st.text(max_size=60), st.lists(st.sampled_from(SHARP), max_size=12).map("".join))


@given(st.lists(st.tuples(hostile, hostile, hostile), min_size=1, max_size=3))
def test_any_text_survives_html_and_xml_as_text(texts):
    html = render_hit_page(page_of(texts))
    question = fromstring(write_question(Page(html=html)).encode())
    content = question[0].text
    assert content == html
    read = Reader(content)
    assert [text.strip() for text in read.texts] == [legal(text).strip() for row in texts for text in row]
    assert read.tags.count("script") == 2
    assert max(map(ord, html)) < 0x10000


def test_every_slot_is_written_alike():
    texts = [("a query", "one", "two"), ("another", "three", "four"), ("third", "five", "six")]
    html = render_hit_page(page_of(texts))
    rows = re.findall(r"<dt.*", html)
    masked = {re.sub(r'id="[a-z0-9]{12}"|(?<=>)[^<]+', "", row) for row in rows}
    assert len(rows) == 3
    assert len(masked) == 1


def test_the_page_asks_nothing_of_other_servers():
    html = render_hit_page(page_of([("q", "a", "b")]))
    assert re.findall(r" (?:src|href)=|@import|url\(", html) == []
    assert "default-src 'none'" in html
    assert "unsafe" not in html


def test_thirteen_pairs_of_long_passages_fit():
    passage = ("A passage with “quotes”, an apostrophe's tail & one more sentence. " * 30)[:1650]
    pairs = [("what is a long query about", passage, passage)] * 13
    html = render_hit_page(page_of(pairs, unable=True, comments=True))
    assert len(write_question(Page(html=html)).encode()) < 65_535


@pytest.mark.parametrize("language", sorted(languages()))
def test_the_shell_is_small_in_every_language(language):
    html = render_hit_page(page_of([("", "", "")], language=language, allow_ties=True))
    assert len(html.encode()) < 16_000


def test_too_large_a_question_says_by_how_much():
    html = render_hit_page(page_of([("q", "x" * 100_000, "b")]))
    with pytest.raises(InputError, match=r"bytes; the API accepts at most 65,535") as caught:
        write_question(Page(html=html))
    assert re.search(r"has 11\d,\d{3} bytes", str(caught.value))


def test_languages_say_the_same_things():
    fields = string.Formatter().parse
    told = {
        name: {key: sorted(part[1] for part in fields(text) if part[1]) for key, text in words.items()}
        for name, words in languages().items()
    }
    assert {"en", "de", "fr", "es", "zh"} <= told.keys()
    assert all(words == told["en"] for words in told.values())


@pytest.mark.parametrize("language", sorted(languages()))
def test_a_study_without_words_of_its_own_still_says_how_and_what_is_recorded(language):
    words = languages()[language]
    plain = render_hit_page(page_of([("q", "a", "b")], language=language, instructions="", consent=""))
    tied = render_hit_page(page_of([("q", "a", "b")], language=language, instructions="", allow_ties=True))
    own = render_hit_page(page_of([("q", "a", "b")], language=language))
    for name, page in (("how", plain), ("how_tie", tied)):
        said = words[name].replace("{all}", "1")
        assert said in Reader(page).text
    assert words["recorded"] in Reader(plain).text
    assert words["recorded"] not in own


@pytest.mark.parametrize("language", sorted(languages()))
def test_work_that_is_unpaid_speaks_of_no_pay(language):
    words = languages()[language]
    unpaid = render_hit_page(page_of([("q", "a", "b")], language=language, reward="", shares=()))
    assert words["unpaid"] in Reader(unpaid).text
    rules = json.loads(re.findall(r'id="rules">(.*?)</script>', unpaid)[0])
    assert (rules["words"]["due"], rules["words"]["owed"]) == (words["due"], "")
    assert "$" not in Reader(unpaid).text.partition('"use strict"')[0]


@pytest.mark.parametrize("language", sorted(languages()))
def test_a_study_has_its_own_words_for_hit_and_passage(language):
    own = {"task": "Quest", "passage": "Reply"}
    html = render_hit_page(page_of([("q", "a", "b")], language=language, instructions="", **own))
    text = Reader(html).text
    words = json.loads(re.findall(r'id="rules">(.*?)</script>', html)[0])["words"]
    assert "HIT" not in text + str(words)
    assert "Quest" in text
    assert "Quest" in words["none"]
    assert "Reply 1" in text
    assert words["passage"] == "Reply"
    assert re.findall(r"\{(?:task|passage)\}", text) == []


def test_ties_and_strengths_are_offered_only_when_asked():
    plain = render_hit_page(page_of([("q", "a", "b")]))
    rich = render_hit_page(page_of([("q", "a", "b")], allow_ties=True, strengths=("a little", "<b>much</b>")))
    assert "Equally good</" not in re.sub(r"\s", "", plain)
    assert 'id="strength"' not in plain
    assert "&lt;b&gt;much" in rich
    assert 'value="2"' in rich


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"language": "tlh"}, "no words in 'tlh'"),
        ({"shares": ("$0.00", "$1.00")}, "2 shares of the reward for 2 slots"),
        ({"layouts": ()}, "no slots or no layouts"),
        ({"layouts": (Layout(order=(0, 0), swapped=(True, True)),)}, "layout 0 does not show each"),
        ({"slots": (Comparison(name="gold", query="q", passages=BOTH, tokens=("x", "x")),)}, "used twice"),
    ],
)
def test_a_hit_that_cannot_be_shown_is_refused(change, problem):
    with pytest.raises(InputError, match=problem):
        render_hit_page(page_of([("q", "a", "b"), ("r", "c", "d")], **change))


def test_the_source_does_not_tell_which_passage_the_requester_put_first():
    texts = [(f"query {i}", f"first {i}", f"second {i}") for i in range(3)]
    page = page_of(texts)
    backwards = dataclasses.replace(
        page,
        slots=tuple(
            dataclasses.replace(slot, passages=slot.passages[::-1], tokens=slot.tokens[::-1])
            for slot in page.slots
        ),
        layouts=tuple(
            dataclasses.replace(layout, swapped=tuple(not side for side in layout.swapped))
            for layout in page.layouts
        ),
    )
    assert render_hit_page(backwards) == render_hit_page(page)
