"""People from Prolific in a real browser: each goes back with the code of how the visit ended."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from prefjudge import collect, pay, publish
from prefjudge.crowd.prolific import client
from prefjudge.crowd.prolific.standin import TOKEN, Platform, Submission
from prefjudge.field.crowd import find_running, keep_marketplace_open
from prefjudge.steps.work import simulated_truth
from prefjudge.study.store import LIVE, Study
from tests.crowd.prolific_people import served
from tests.site.conftest import soon
from tests.site.live import thanked
from tests.steps.conftest import climbing_study, let_all_work_at_once
from tests.steps.test_prolific import FOR_MARKETPLACES, TARGET, ledger
from tests.steps.test_road import TRUTH

PHONE = {"viewport": {"width": 360, "height": 640}, "has_touch": True, "is_mobile": True}


@pytest.fixture
def platform(monkeypatch: pytest.MonkeyPatch) -> Iterator[Platform]:
    with served() as (platform, url):
        monkeypatch.setenv("PROLIFIC_TOKEN", TOKEN)
        monkeypatch.setenv("PROLIFIC_URL", url)
        monkeypatch.setattr(client, "sleep", lambda _: None)
        yield platform


@pytest.fixture
def study(tmp_path: Path, platform: Platform, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A study of small HITs, two of which make a visit, on offer at Prolific; its worker site is served."""
    study = climbing_study(tmp_path / "study")
    let_all_work_at_once(study)
    config = study / "study.toml"
    text = config.read_text().replace(FOR_MARKETPLACES, "").replace("pairs_per_hit = 10", "pairs_per_hit = 3")
    config.write_text(f"{text.replace('gold_per_hit = 3', 'gold_per_hit = 1')}{TARGET}hits = 2\n")
    with keep_marketplace_open(Study(study), LIVE):
        address = find_running(study)
        assert address
        monkeypatch.setenv("PREFJUDGE_PUBLIC_URL", address.local)
        publish(study, live=True, yes=True)
        yield study


class Person:
    """A participant before a browser, who has followed the study's link and begun."""

    def __init__(self, page: Any, platform: Platform, pid: str) -> None:
        place = platform.arrive(pid)
        assert place is not None
        self.page, self.place = page, place
        self.codes = {one["code"]: one for one in platform.studies[place.study].made["completion_codes"]}
        link = platform.studies[place.study].made["external_study_url"]
        for name, word in (("PROLIFIC_PID", pid), ("STUDY_ID", place.study), ("SESSION_ID", place.id)):
            link = link.replace(f"{{{{%{name}%}}}}", word)
        page.clock.install()
        page.goto(link)
        assert "play money" not in page.inner_text("body")
        page.click("text=Begin")
        page.wait_for_url("**/hits")
        self.home = page.url
        assert "0 of 2 HITs done" in page.inner_text("main")

    def take(self) -> None:
        self.page.goto(self.home)
        self.page.click("text=Accept and work")
        self.page.wait_for_url("**/assignments/*")

    def judge(self, truth: dict[tuple[str, str], float], *, wrong: bool = False) -> None:
        inside = self.page.frame_locator("iframe")
        begin, done, place = (inside.locator(one) for one in ("#begin", "#done", "#place"))
        soon(self.page, lambda: begin.is_visible() or place.is_visible())  # consent is asked for once
        if begin.is_visible():
            begin.click()
        while not done.is_visible():
            here = place.inner_text()
            values = [
                truth.get((_flat(inside.locator("#query").inner_text()), _flat(text)), float("-inf"))
                for text in (inside.locator(f"#text{number}").inner_text() for number in range(2))
            ]
            self.page.clock.run_for(9000)  # reading
            inside.locator(f"[name=choice][value='{int((values[1] > values[0]) != wrong)}']").check()
            inside.locator("#next").click()
            soon(self.page, lambda here=here: done.is_visible() or place.inner_text() != here)
        inside.locator("#send").click()
        thanked(self.page)

    def way_back(self) -> tuple[str, str]:
        """The code that is shown on the page of all HITs: its type at Prolific, and what happens by it."""
        self.page.goto(self.home)
        leads = self.page.locator("main a", has_text="Back to your panel").get_attribute("href")
        (code,) = parse_qs(urlsplit(leads).query)["cc"]
        assert self.page.locator("main code").inner_text() == code
        self.code = code
        (action,) = self.codes[code]["actions"]
        return self.codes[code]["code_type"], action["action"]

    def goes_back(self, platform: Platform) -> Submission:
        platform.complete(self.place.id, self.code)
        return self.place


def _flat(text: str) -> str:
    return " ".join(text.split())


def test_each_sees_the_code_of_how_the_visit_ended_and_the_ledger_is_the_account(
    study: Path, platform: Platform, open_page: Any
) -> None:
    truth = {
        (_flat(query), _flat(text)): value
        for (query, text), value in simulated_truth(Study(study), TRUTH).items()
    }
    whole, late, careless = (
        Person(open_page(**options), platform, f"5f{number:022x}")
        for number, options in enumerate(({}, PHONE, {}))
    )
    for person in (whole, late, careless):
        person.take()
    whole.judge(truth)
    assert "1 of 2 HITs done" in whole.page.inner_text("main")
    careless.judge(truth, wrong=True)
    platform.turn_into(late.place.id, "TIMED-OUT")
    assert len(collect(study, live=True).barred) == 1
    late.page.reload()
    assert late.page.inner_text("h1") == "Out of time"
    whole.take()
    whole.judge(truth)
    assert "You have finished" in whole.page.inner_text("main")

    assert whole.way_back() == ("COMPLETED", "MANUALLY_REVIEW")
    assert late.way_back() == ("OTHER", "REQUEST_RETURN")
    assert "Your time ran out" in late.page.inner_text("main")
    assert careless.way_back() == ("SCREENED_OUT", "REQUEST_RETURN")
    gone = [person.goes_back(platform) for person in (whole, careless)]
    state = collect(study, live=True)
    assert pay(study, live=True).dues == ()
    assert [one.status for one in gone] == ["APPROVED", "AWAITING REVIEW"]
    assert platform.paid == [(careless.place.id, 200)], "one HIT of two, paid though its gold pair was missed"
    assert platform.spent() == platform.cost(400) + platform.cost(200)
    assert ledger(study) == platform.spent() + state.open * platform.cost(200)
