import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest

from prefjudge.core.hits import Comparison, Layout, Passage, Side, layout_index
from prefjudge.pages.hit import Example, HitPage, render_hit_page
from tests.serving import Handler, Serving
from tests.site.conftest import inspect, soon

ASSIGNMENT = "3ABCDEFGHIJKLMNOPQRSTUVWXYZ012"


def page_of(count: int = 4, **changes: Any) -> HitPage:
    slots = tuple(
        Comparison(
            name=f"slot{i:08d}", query=f"query {i}", passages=(Passage(f"first {i}"), Passage(f"second {i}")),
            tokens=(f"aaaa{i:08d}", f"bbbb{i:08d}"),
        )
        for i in range(count)
    )  # fmt: skip
    turned = [tuple((place + turn) % count for place in range(count)) for turn in range(count)]
    layouts = tuple(
        Layout(order=order, swapped=tuple(bool((turn >> (i % 3)) & 1) for i in range(count)))
        for turn, order in enumerate(turned)
    )
    fields: dict[str, Any] = {
        "title": "Choose the better passage", "question": "Which passage answers the question better?",
        "instructions": "Read both.\n\nChoose one.", "consent": "It is research.", "reward": "$2.00",
        "shares": tuple(f"${done * 0.15:.2f}" for done in range(count + 1)),
        "slots": slots, "layouts": layouts,
    }  # fmt: skip
    return HitPage(**{**fields, **changes})


class _Page(Handler):
    server: "Platform"

    def do_GET(self) -> None:
        path = urlsplit(self.path).path
        self.show(self.server.html if path == "/page" else self.server.around(self.path))

    def do_POST(self) -> None:
        self.server.submitted.append(dict(parse_qsl(self.body().decode(), strict_parsing=True)))
        self.show("<!doctype html><html lang=en><title>Thanks</title><h1>Thanks</h1>")

    def show(self, html: str) -> None:
        self.answer(200, html.encode(), {"Content-Type": "text/html; charset=utf-8"})


class Platform(Serving):
    """Serves one judging page, alone or in a sandboxed frame, and keeps what is submitted."""

    def __init__(self) -> None:
        self.html = ""
        self.submitted: list[dict[str, str]] = []
        super().__init__(_Page)

    def url(self, page: HitPage, assignment: str = ASSIGNMENT) -> str:
        self.html = render_hit_page(page)
        return f"{self.origin}/page?assignmentId={assignment}&turkSubmitTo={self.origin}"

    def framed(self, page: HitPage) -> str:
        self.url(page)
        return f"{self.origin}/around"

    def around(self, _: str) -> str:
        source = f"/page?assignmentId={ASSIGNMENT}&turkSubmitTo={self.origin}"
        return f"""<!doctype html><html lang=en><link rel=icon href="data:,"><title>Around</title>
        <iframe id=f sandbox="allow-scripts allow-forms" title=HIT width=900 height=700></iframe><script>
        addEventListener("message", e => {{
          if (e.source !== f.contentWindow) return; // the last word of a page that is left
          if (e.data.prefjudge === "draft") sessionStorage.draft = JSON.stringify(e.data.draft);
          if (e.data.prefjudge === "agreed") sessionStorage.agreed = e.data.page;
          const draft = JSON.parse(sessionStorage.draft || null), agreed = [sessionStorage.agreed];
          if (e.data.prefjudge === "ready")
            e.source.postMessage({{prefjudge: "restore", draft, agreed}}, "*");
        }});
        f.src = {json.dumps(source)};
        </script>"""


@pytest.fixture
def platform() -> Iterator[Platform]:
    with Platform() as started:
        yield started


def place(page: Any) -> str:
    return str(page.evaluate("document.activeElement.textContent"))


def finish(page: Any, platform: Platform) -> dict[str, str]:
    """Wait until the page has been submitted and has made way, and return what it submitted."""
    page.wait_for_url("**/mturk/externalSubmit")
    return platform.submitted[-1]


def test_a_whole_hit_by_keyboard(platform, open_page):
    spec = page_of(allow_ties=True)
    page = open_page()
    page.goto(platform.url(spec))
    page.keyboard.press("Tab")
    assert place(page) == "I agree, begin"
    page.keyboard.press("Enter")
    assert place(page) == "Comparison 1 of 4"
    page.keyboard.press("Enter")
    assert page.inner_text("#status") == "Choose an answer first"
    for key in ("ArrowLeft", "2", "0", "ArrowRight"):
        page.keyboard.press(key)
        page.keyboard.press("Enter")
    assert place(page) == "All comparisons are judged"
    page.keyboard.press("Backspace")
    assert place(page) == "Comparison 4 of 4"
    page.keyboard.press("1")
    page.keyboard.press("Enter")
    page.keyboard.press("Enter")
    answers = finish(page, platform)

    index = layout_index(ASSIGNMENT, len(spec.layouts))
    layout = spec.layouts[index]
    assert answers["layout"] == str(index)
    assert answers["assignmentId"] == ASSIGNMENT
    assert answers["consent"] == "yes"
    assert "stopped" not in answers
    for shown, side in zip(layout.order, (0, 1, None, 0), strict=True):
        slot = spec.slots[shown]
        token = "tie" if side is None else slot.tokens[side ^ layout.swapped[shown]]
        assert answers[slot.name] == token
        assert int(answers[slot.name + ".ms"]) > 0
    assert len(answers) == 3 + 2 * 4


@pytest.mark.parametrize("assignment", ["3A", "30ZZZ", "3" + "Q" * 29, "3ABCDEFG"])
def test_the_layout_is_the_one_that_the_requester_computes(platform, open_page, assignment):
    spec = page_of(7)
    page = open_page()
    page.goto(platform.url(spec, assignment))
    page.click("#begin")
    layout = spec.layouts[layout_index(assignment, 7)]
    shown = layout.order[0]
    texts = [str(one) for one in spec.slots[shown].passages]
    left, right = reversed(texts) if layout.swapped[shown] else texts
    assert (page.inner_text("#query"), page.inner_text("#text0"), page.inner_text("#text1")) == (
        f"query {shown}", left, right,
    )  # fmt: skip


def test_touch_on_a_small_phone(platform, open_page):
    page = open_page(viewport={"width": 320, "height": 568}, has_touch=True, is_mobile=True)
    page.goto(platform.url(page_of(strengths=("a little", "much"))))
    page.tap("#begin")
    for _ in range(4):
        page.tap("#text1")
        page.tap("#next")
        assert page.inner_text("#status") == "Choose an answer first"
        page.tap("label:has-text('much')")
        assert page.evaluate("document.documentElement.scrollWidth") <= 320
        page.tap("#next")
    page.tap("#send")
    answers = finish(page, platform)
    assert [value for key, value in answers.items() if key.endswith(".strength")] == ["2"] * 4


def kept(page, part):
    """Part of the draft that the page around the frame has; what the frame says takes a moment to arrive."""
    return page.evaluate(f"(draft => draft && draft.{part})(JSON.parse(sessionStorage.draft || null))")


@pytest.mark.parametrize("framed", [False, True])
def test_a_reload_in_the_middle_loses_nothing(platform, open_page, framed):
    page = open_page()
    page.goto(platform.framed(page_of()) if framed else platform.url(page_of()))
    inside = page.frames[-1]
    inside.click("#begin")
    for key in ("1", "Enter", "2"):
        page.keyboard.press(key)
    if framed:
        soon(page, lambda: len(kept(page, "answers") or ()) == 2)
    page.reload()
    inside = page.frames[-1]
    inside.wait_for_selector("#judge:not([hidden])")
    assert inside.inner_text("#place") == "Comparison 2 of 4"
    assert inside.is_checked("[name=choice][value='1']")
    inside.click("#next")
    for _ in range(2):
        inside.click("#text0")
        inside.click("#next")
    inside.click("#send")
    answers = finish(inside, platform)
    assert sum(key.startswith("slot") and not key.endswith(".ms") for key in answers) == 4


def test_stopping_early_says_what_is_paid(platform, open_page):
    page = open_page()
    page.goto(platform.url(page_of()))
    page.click("#begin")
    page.click("#stop")
    assert "return the HIT" in page.inner_text("#due")
    assert page.is_hidden("#quit")
    page.click("#stay")
    for key in ("1", "Enter", "2", "Enter"):
        page.keyboard.press(key)
    page.click("#stop")
    assert "2 of 4" in page.inner_text("#due")
    assert "$0.30" in page.inner_text("#due")
    page.click("#quit")
    answers = finish(page, platform)
    assert answers["stopped"] == "1"
    assert sum(key.endswith(".ms") for key in answers) == 2


def test_a_preview_cannot_be_judged_or_submitted(platform, open_page):
    page = open_page()
    page.goto(platform.url(page_of(), "ASSIGNMENT_ID_NOT_AVAILABLE"))
    assert "This is a preview" in page.inner_text("main")
    assert page.query_selector_all("button:visible") == []
    page.keyboard.press("Enter")
    assert platform.submitted == []


LESSON = Example(
    query="how far is the sun", better="150 million km", worse="It is hot.", reason="A distance."
)


def test_practice_is_explained_asked_once_and_never_submitted(platform, open_page):
    spec = page_of(2, practice=(LESSON, LESSON), examples=(LESSON,), strengths=("a little", "much"))
    page = open_page(viewport={"width": 360, "height": 640})
    page.goto(platform.framed(spec))
    inside = page.frames[-1]
    assert "A distance." in inside.inner_text("#about")
    inside.click("#begin")
    for lesson in ("Practice 1 of 2", "Practice 2 of 2"):
        assert inside.inner_text("#place").startswith(lesson)
        wrong = "150" in inside.inner_text("#text0")
        inside.click(f"#text{int(wrong)}")
        assert inside.inner_text("#why") == "Most would choose the other. A distance."
        inside.click(f"#text{int(not wrong)}")
        assert inside.inner_text("#why") == "Yes. A distance."
        assert inside.is_hidden("#strength")
        assert page.evaluate("sessionStorage.agreed") is None
        inside.click("#next")
    assert inside.inner_text("#place") == "Comparison 1 of 2"
    soon(page, lambda: kept(page, "at") == 0)  # sent after what was agreed to
    assert page.evaluate("sessionStorage.agreed") == spec.agreement
    page.evaluate("sessionStorage.removeItem('draft')")  # as in the next HIT
    page.reload()
    inside = page.frames[-1]
    inside.wait_for_selector("#judge:not([hidden])")
    assert inside.inner_text("#place") == "Comparison 1 of 2"
    inside.click("#help summary")
    assert "It is research." in inside.inner_text("#help")
    assert "A distance." in inside.inner_text("#help")
    assert inside.is_hidden("#start")
    for _ in range(2):
        inside.click("#text0")
        inside.click("label:has-text('much')")
        inside.click("#next")
    inside.click("#send")
    answers = finish(inside, platform)
    assert {name.partition(".")[0] for name in answers} == {
        "assignmentId", "consent", "layout", "slot00000000", "slot00000001",
    }  # fmt: skip


def test_another_page_asks_for_consent_again(platform, open_page):
    page = open_page()
    page.goto(platform.framed(page_of()))
    page.frames[-1].click("#begin")
    soon(page, lambda: kept(page, "consent"))
    assert page.evaluate("sessionStorage.agreed")
    page.evaluate("sessionStorage.removeItem('draft')")
    platform.framed(page_of(consent="Your choices are sold."))
    page.reload()
    inside = page.frames[-1]
    inside.wait_for_selector("#begin")
    assert "Your choices are sold." in inside.inner_text("#start")
    assert inside.is_hidden("#judge")


def test_a_pair_that_cannot_be_judged_and_comments_are_submitted(platform, open_page):
    page = open_page(viewport={"width": 360, "height": 640})
    page.goto(platform.url(page_of(2, unable=True, comments=True, strengths=("a little", "much"))))
    page.click("#begin")
    page.click("#text0")
    page.click("#more summary")
    page.select_option("#unable", "unable-topic")
    assert page.inner_text("#status") == "Chosen: I can't judge this pair"
    assert page.is_hidden("#strength")
    page.focus("#comment")
    page.keyboard.type("12 <b>0</b>")  # keys that are shortcuts elsewhere
    page.keyboard.press("Backspace")
    page.click("#next")
    page.reload()
    page.wait_for_selector("#judge:not([hidden])")
    assert page.inner_text("#place") == "Comparison 2 of 2"
    assert page.input_value("#comment") == ""
    page.click("#back")
    assert page.input_value("#comment") == "12 <b>0</b"
    assert page.input_value("#unable") == "unable-topic"
    inspect(page)
    page.click("#next")
    page.click("#text1")
    page.click("label:has-text('much')")
    page.click("#next")
    page.fill("#remark", "Thanks")
    inspect(page)
    page.click("#send")
    answers = finish(page, platform)
    assert answers["comment"] == "Thanks"
    assert sorted(value for name, value in answers.items() if name.endswith(".comment")) == ["12 <b>0</b"]
    assert "unable-topic" in answers.values()


def test_on_a_phone_the_question_stays_and_a_button_leads_to_the_other_passage(platform, open_page):
    text = "word " * 300
    both, tokens = (Passage(text), Passage(text)), ("a" * 12, "b" * 12)
    slot = Comparison(name="slot00000000", query="the query", passages=both, tokens=tokens)
    page = open_page(viewport={"width": 390, "height": 700}, is_mobile=True, has_touch=True)
    page.goto(platform.url(page_of(1, slots=(slot,), shares=())))
    page.tap("#begin")
    assert page.inner_text("#jump") == "Passage 2 ↓"
    jump = "document.getElementById('jump').click()"  # Playwright scrolls before it taps something sticky
    page.evaluate(jump)
    soon(page, lambda: page.inner_text("#jump") == "Passage 1 ↑")
    top, bottom = page.evaluate(BOX, "#query"), page.evaluate(BOX, ".card:nth-child(2) label")
    assert 0 <= top[0] < top[1] <= bottom[0] < bottom[1] < 700
    page.evaluate(jump)
    soon(page, lambda: page.inner_text("#jump") == "Passage 2 ↓")
    inspect(page)


BOX = """what => {
    const box = document.querySelector(what).getBoundingClientRect();
    return [box.top, box.bottom]; }"""


def test_only_the_time_that_a_pair_was_seen_counts(platform, open_page):
    page = open_page()
    page.clock.install(time=0)
    page.goto(platform.url(page_of(2)))
    page.clock.pause_at(3_600_000)  # from here on only the test moves the time
    page.click("#begin")
    page.clock.run_for(1_000)
    hide = """state => {
        Object.defineProperty(document, 'visibilityState', {value: state, configurable: true});
        document.dispatchEvent(new Event('visibilitychange')); }"""
    page.evaluate(hide, "hidden")
    page.clock.run_for(60_000)
    page.evaluate(hide, "visible")
    page.clock.run_for(500)
    page.keyboard.press("1")
    page.keyboard.press("Enter")
    page.clock.run_for(2_000)
    page.keyboard.press("1")
    page.click("#stop")
    page.clock.run_for(30_000)
    page.click("#quit")
    answers = finish(page, platform)
    times = sorted(int(value) for key, value in answers.items() if key.endswith(".ms"))
    assert times == [1_500, 2_000]


HOSTILE = (
    "<script>alert(1)</script><img src=x onerror=alert(2)>",
    "</dd></dl><iframe src=javascript:alert(3)></iframe>]]>",
    "<svg onload=alert(4)><style>*{display:none}</style>\x0b\x00\u202e backwards",
    "{{ 7 * 7 }} <meta http-equiv=refresh content='0;url=http://192.0.2.1/'> \U0001f600 " + "x" * 100_000,
)


def test_hostile_passages_are_only_text(platform, open_page):
    slots = tuple(
        Comparison(name=f"slot{i:08d}", query=text[:300], passages=both, tokens=(f"a{i:011d}", f"b{i:011d}"))
        for i, text in enumerate(HOSTILE)
        for both in [(Passage(text, (("from", text),)), Passage(text))]
    )
    straight = Layout(order=(0, 1, 2, 3), swapped=(False,) * 4)
    page = open_page(viewport={"width": 375, "height": 700})
    page.goto(platform.url(page_of(slots=slots, layouts=(straight,))))
    page.click("#begin")
    for text in HOSTILE:
        assert page.inner_text("#text0").replace("\n", "")[:20] == text[:20]
        assert page.evaluate("document.documentElement.scrollWidth") <= 375
        page.keyboard.press("1")
        page.keyboard.press("Enter")
    assert (
        page.evaluate("document.querySelectorAll('main img, main svg, main iframe, main script').length") == 0
    )
    assert "\U0001f600" in page.text_content("#text0")


def test_a_script_url_to_submit_to_is_ignored(platform, open_page):
    page = open_page()
    page.goto(platform.url(page_of(1)).partition("&")[0] + "&turkSubmitTo=javascript:alert(1)")
    page.click("#begin")
    for key in ("1", "Enter", "Enter"):
        page.keyboard.press(key)
    assert finish(page, platform)["consent"] == "yes"


def test_shortcuts_can_be_turned_off(platform, open_page):
    page = open_page()
    page.goto(platform.url(page_of()))
    page.click("#begin")
    page.uncheck("#keys")
    page.keyboard.press("1")
    page.keyboard.press("Enter")
    assert page.inner_text("#place") == "Comparison 1 of 4"
    assert page.inner_text("#status") == ""


def test_axe_finds_nothing_on_any_screen(platform, open_page):
    page = open_page()
    page.goto(platform.url(page_of(1, allow_ties=True, strengths=("a little", "much"), language="de")))
    for steps in ((), ("#begin",), ("#text0",), ("#stop",), ("#stay", "label:has-text('much')", "#next")):
        for step in steps:
            page.click(step)
        for width in (1200, 320):
            page.set_viewport_size({"width": width, "height": 700})
            inspect(page)


def of_three(count: int = 4, **changes: Any) -> HitPage:
    """A page whose questions have three passages, but for the last one, which has two."""
    pairs, sizes = page_of(count), [3] * (count - 1) + [2]
    slots = tuple(
        replace(
            slot,
            passages=(*slot.passages, Passage(f"third {i}"))[:size],
            tokens=(*slot.tokens, f"0000{i:08d}")[:size],
        )
        for i, (slot, size) in enumerate(zip(pairs.slots, sizes, strict=True))
    )
    turned: tuple[Side, ...] = (*((1, 2, 0), (2, 1, 0), (0, 2, 1))[: count - 1], True)
    layouts = (Layout(order=tuple(range(count)), swapped=turned),)
    return replace(pairs, slots=slots, layouts=layouts, **changes)


def test_three_passages_by_keyboard_and_touch(platform, open_page):
    spec = of_three(unable=True)
    page = open_page(viewport={"width": 390, "height": 700}, has_touch=True)
    page.goto(platform.url(spec))
    page.tap("#begin")
    shown = [page.inner_text(f"#text{i}") for i in range(3)]
    assert shown == ["second 0", "third 0", "first 0"]
    assert page.inner_text("#jump") == "Passage 3 ↓" or page.inner_text("#jump") == "Passage 2 ↓"
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    for key in ("4", "0", "ArrowRight"):
        page.keyboard.press(key)
    assert page.inner_text("#status") == "", "no such passage, no tie, and no side"
    page.keyboard.press("3")
    assert page.inner_text("#status") == "Chosen: Passage 3"
    page.keyboard.press("Enter")
    page.tap("#text1")
    page.tap("#next")
    page.click("#more summary")
    page.select_option("#unable", "unable-text")
    assert page.inner_text("#status") == "Chosen: I can't judge these"
    page.reload()
    assert page.inner_text("#place") == "Comparison 3 of 4"
    page.tap("#next")
    assert page.locator(".card:visible").count() == 2
    for key in ("3", "ArrowLeft"):
        page.keyboard.press(key)
    assert page.inner_text("#status") == "", "of two there is no third"
    page.keyboard.press("1")
    page.keyboard.press("Enter")
    page.keyboard.press("Enter")
    answers = finish(page, platform)
    first, second, _, last = spec.slots
    assert [answers[slot.name] for slot in spec.slots] == [
        first.tokens[0], second.tokens[1], "unable-text", last.tokens[1],
    ]  # fmt: skip


def test_three_passages_stand_side_by_side_and_axe_finds_nothing(platform, open_page):
    page = open_page()
    page.goto(platform.url(of_three(unable=True, comments=True)))
    inspect(page)
    page.click("#begin")
    for width, rows in ((1280, 1), (390, 3)):
        page.set_viewport_size({"width": width, "height": 800})
        assert len({card.bounding_box()["y"] for card in page.locator(".card").all()}) == rows
        inspect(page)


CODE = "def best(votes):\n    for vote in votes:\n\tif vote:\n        return   vote\n\n    return None"
TEXTS = {
    "code": CODE,
    "indented": "    indented from the first line on\nnot indented",
    "table": "run\tRR@10\tnDCG@10\n" + "\n".join(f"{run}\t.18\t.41" for run in ("w", "ii", "bm", "a")),
    "many tabs": "a" + "\t" * 60 + "b" + " " * 300 + "c",
    "long line": "x = [" + ", ".join(f"value_{i}" for i in range(80)) + "]; " + "y" * 900,
    "right to left": "שלום עולם, מה שלומך?\n    if x == 1:  # שלום\n" + "ארוכה" * 120,
}
# Where the first character of each line that is not blank is drawn, from the side on which its text begins.
INDENTS = """text => {
  const node = text.firstChild, box = text.getBoundingClientRect(), found = [];
  const range = document.createRange();
  const rtl = getComputedStyle(text).direction === "rtl";
  for (const line of node.data.matchAll(/^([^\\S\\n]*)\\S/gm)) {
    const at = line.index + line[1].length;
    range.setStart(node, at); range.setEnd(node, at + 1);
    const drawn = range.getBoundingClientRect();
    found.push([line[1], Math.round(rtl ? box.right - drawn.right : drawn.left - box.left)]);
  }
  return found;
}"""


@pytest.mark.parametrize("width", [1200, 320])
def test_passages_are_shown_as_they_came(platform, open_page, width):
    slots = tuple(
        Comparison(name=f"slot{i:08d}", query=name, passages=both, tokens=(f"a{i:011}", f"b{i:011}"))
        for i, (name, text) in enumerate(TEXTS.items())
        for both in [(Passage(text), Passage("plain"))]
    )
    straight = Layout(order=tuple(range(len(slots))), swapped=(False,) * len(slots))
    page = open_page(viewport={"width": width, "height": 700}, is_mobile=width < 400)
    page.goto(platform.url(page_of(slots=slots, layouts=(straight,), shares=())))
    page.click("#begin")
    for name, text in TEXTS.items():
        assert page.text_content("#text0") == text
        drawn = page.eval_on_selector("#text0", INDENTS)
        margin = min(x for _, x in drawn)
        for indent, x in drawn:
            least = 2 * len(indent.expandtabs(8)) - 1  # a blank is more than two pixels wide
            assert (x - margin > least) if indent else (x - margin <= 1), (name, indent, drawn)
        if name == "table":  # cells stand under each other
            cells = page.eval_on_selector("#text0", CELLS)
            assert len({x for x in cells if x > margin}) == 2, cells
        assert page.evaluate("document.documentElement.scrollWidth") <= width, name
        for one in ("#text0", "#text1", ".pair", "main"):
            assert page.eval_on_selector(one, "box => box.scrollWidth - box.clientWidth") <= 0, (name, one)
        inspect(page)
        page.keyboard.press("1")
        page.keyboard.press("Enter")


CELLS = """text => {
  const node = text.firstChild, range = document.createRange(), left = text.getBoundingClientRect().left;
  return [...node.data.matchAll(/[^\\t\\n]+/g)].slice(3).map(cell => {
    range.setStart(node, cell.index); range.setEnd(node, cell.index + 1);
    return Math.round(range.getBoundingClientRect().left - left);
  });
}"""
