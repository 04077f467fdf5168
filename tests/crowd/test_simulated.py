"""What simulated workers see of a judging page: what people see."""

from hypothesis import given
from hypothesis import strategies as st

from prefjudge.core.hits import Comparison, Layout, Passage
from prefjudge.crowd.simulated import read_page, seen
from prefjudge.pages.hit import HitPage, render_hit_page


def shown(query: str, first: str, second: str) -> tuple[str, tuple[str, str]]:
    both, tokens = (Passage(first), Passage(second)), ("a" * 12, "b" * 12)
    slot = Comparison(name="s" * 12, query=query, passages=both, tokens=tokens)
    page = HitPage(
        title="t", question="q", instructions="", consent="", reward="", shares=(), slots=(slot,),
        layouts=(Layout(order=(0,), swapped=(False,)),),
    )  # fmt: skip
    (found,) = read_page(render_hit_page(page)).slots
    return found.query, found.passages


@given(st.text(), st.text(), st.text())
def test_a_text_is_recognised_on_the_page(query: str, first: str, second: str) -> None:
    assert shown(query, first, second) == (seen(query), (seen(first), seen(second)))


def test_passages_that_differ_in_their_blanks_are_two() -> None:
    loop, after = "for x in y:\n    a()\n    b()", "for x in y:\n    a()\nb()"
    assert shown("q", loop, after)[1] == (loop, after)
