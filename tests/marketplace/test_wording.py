"""The words of the worker site: a marketplace of colleagues need not speak of HITs."""

import re

import pytest

from prefjudge.marketplace.people.qualifications import BEING_CHECKED
from prefjudge.marketplace.settings import Wording
from prefjudge.marketplace.site.pages import asset, render_page
from tests.site.gallery import PAGES, context

WRITTEN = ("assignment", "refused", "refused-framed", "error", "inbox", "done-panel")
"""Pages with values that speak of HITs."""
OWN = Wording(task="task")


@pytest.mark.parametrize("name", sorted(PAGES))
def test_no_page_speaks_of_hits_in_words_of_its_own(name: str) -> None:
    usual = render_page(name.partition("-")[0], context(name))
    own = render_page(name.partition("-")[0], context(name), OWN)
    if not name.startswith("admin"):
        said = re.sub(r"<[^>]*>", "", own)
        assert re.findall(r"\bHITs?\b", said.replace("A HIT", "")) == [] or name in WRITTEN
    assert render_page(name.partition("-")[0], context(name), Wording()) == usual
    if name.startswith("hits"):
        assert "<h1>Tasks</h1>" in own
        assert ">Tasks</a>" in own
    if name == "hits":
        assert "HIT" not in own


def test_what_people_wrote_stays_and_sentences_begin_with_capitals() -> None:
    values = context("hits") | {"open": []}
    values["groups"] = [values["groups"][0] | {"title": "HITs of a requester", "available": 24}]
    page = render_page("hits", values, OWN)
    assert "HITs of a requester" in page
    assert "24 tasks" in page
    values["groups"] = [values["groups"][0] | {"waits": BEING_CHECKED}]
    words = "The next task comes when that is done, if there is one for you."
    assert words in render_page("hits", values, OWN)
    assert OWN.say("HITs are here. HITs: ask for a HIT.") == "Tasks are here. Tasks: ask for a task."
    script = asset("assignment.js", OWN)
    assert script is not None
    assert b"All tasks" in script[0]
    assert script[0] != asset("assignment.js")[0]
