"""A whole study through a crowd that is not a marketplace: verbs know a crowd by its protocol only."""

from collections import Counter
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import pytest

from prefjudge import collect, gold, pay, publish, reject, resolve, status, work
from prefjudge.core.hits import layout_index
from prefjudge.crowd.crowds import CROWDS
from prefjudge.crowd.protocol import RefusedError
from prefjudge.crowd.simulated import SeenPage, Truth, read_page
from prefjudge.errors import BudgetError, ConfigError, CrowdError, StudyError
from prefjudge.field.crowd import keep_marketplace_open, open_crowd, read_prices
from prefjudge.steps.collect import CollectResult
from prefjudge.steps.store.backup import recover
from prefjudge.steps.store.check import examine
from prefjudge.steps.work import simulated_truth
from prefjudge.study.pools import load_gold
from prefjudge.study.store import Study
from tests.crowd.memory import PLATFORMS, MemoryCrowd, Person, Platform
from tests.steps.conftest import COLLECTION, edit, pool_demo, until_done
from tests.steps.test_recover import held, lose
from tests.steps.test_road import TRUTH, kept_votes

PRICE = Decimal("2.67")
"""What a HIT of two dollars costs there: a third on top, rounded up."""


@pytest.fixture
def platform(monkeypatch: pytest.MonkeyPatch) -> Iterator[Platform]:
    monkeypatch.setitem(CROWDS.ours, "memory", "tests.crowd.memory")
    PLATFORMS["memory:here"] = Platform("memory:here")
    yield PLATFORMS["memory:here"]
    PLATFORMS.clear()


@pytest.fixture
def elsewhere(pooled: Path, platform: Platform) -> Path:
    """A study with its pool and gold pairs whose sandbox is the crowd in memory."""
    config = pooled / "study.toml"
    target = '\n[targets.sandbox]\ncrowd = "memory"\nurl = "memory:here"\n'
    config.write_text(config.read_text() + target)
    return pooled


class People:
    """Workers who see the pages that the crowd shows, and know a truth."""

    def __init__(self, study: Path, platform: Platform) -> None:
        self._platform = platform
        self._truth: Truth = simulated_truth(Study(study), TRUTH)

    def come(self, *habits: str) -> None:
        """Let people come, one of each habit, each for all that is offered; the last one is honest."""
        for habit in (*habits, "honest"):
            worker = self._platform.join(Person(approved=20_000))
            for task_id in list(self._platform.tasks):
                if self._platform.offers(worker, task_id):
                    submission = self._platform.take(worker, task_id)
                    html = self._platform.tasks[task_id].task.page.html
                    fields = answer_page(read_page(html), submission, self._truth, habit)
                    self._platform.submit(submission, fields)
                    if habit != "honest":
                        break


def answer_page(page: SeenPage, submission: str, truth: Truth, habit: str) -> dict[str, str]:
    """Fill in the page of a HIT: honestly, wrong throughout, half of it, or with what no page sends."""
    index = layout_index(submission, len(page.layouts))
    order = page.layouts[index].order
    fields = {"consent": "yes", "layout": str(index)}
    if habit == "early":
        order, fields["stopped"] = order[: len(order) // 2], "1"
    if habit == "odd":
        return {"answer": "<!DOCTYPE x>]]>"}
    for place in order:
        slot = page.slots[place]
        values = [truth.get((slot.query, passage), float("-inf")) for passage in slot.passages]
        best = int(values[1] > values[0])
        fields[slot.name] = slot.tokens[1 - best if habit == "wrong" else best]
        fields[f"{slot.name}.ms"] = "4000"
    return fields


def judge_all(study: Path, people: People) -> CollectResult:
    for _ in range(20):
        people.come()
        state = collect(study)
        if state.finished:
            return state
    raise AssertionError(f"not finished: {state}")


def spent(platform: Platform) -> Decimal:
    return Decimal("10000.00") - platform.balance


def test_a_study_is_published_collected_and_paid_elsewhere(elsewhere: Path, platform: Platform) -> None:
    people = People(elsewhere, platform)
    offer = publish(elsewhere, dry_run=True)
    assert (offer.endpoint, offer.hits, offer.total) == ("memory:here", 7, 7 * PRICE)
    assert (platform.tasks, spent(platform)) == ({}, 0)
    publish(elsewhere, yes=True)
    assert publish(elsewhere, yes=True).published == 0
    assert (len(platform.tasks), spent(platform)) == (7, offer.total)
    people.come("wrong", "early", "odd")
    first = collect(elsewhere)
    assert first.reasons["missed a gold pair"] == 1
    assert (len(first.barred), first.reissued > 0) == (1, True)
    judge_all(elsewhere, people)
    with Study(elsewhere).transaction(write=False) as db:
        pairs = [number for (number,) in db.execute("SELECT pair_id FROM pairs")]
        decisions = Counter(
            decision
            for (decision,) in db.execute("SELECT decision FROM assignments WHERE decision IS NOT NULL")
        )
    assert kept_votes(elsewhere) == dict.fromkeys(pairs, 1)
    assert {decision.split(":")[0] for decision in decisions} == {"approved", "prorated"}
    (odd,) = pay(elsewhere, dry_run=True).dues
    assert odd.act == "decide"
    reject(elsewhere, odd.assignment_id, reason="this is not an answer")
    assert pay(elsewhere).dues == ()
    collect(elsewhere)
    assert Decimal(status(elsewhere).committed) == spent(platform), "the ledger is the account"
    assert len(platform.bonuses) == 1
    judged = resolve(elsewhere)
    assert judged.judgments == len(pairs)
    assert not list(elsewhere.glob("marketplace.db*")), "nobody needed a marketplace"


def test_a_crowd_that_shows_no_pages_asks_the_comparisons(elsewhere: Path, platform: Platform) -> None:
    """As one does that hands out tables: nobody there sees a page."""
    truth, good_first = simulated_truth(Study(elsewhere), TRUTH), set()
    with Study(elsewhere).transaction(write=False) as db:
        good = {frozenset((pair.good, pair.bad)): pair.good for pair in load_gold(db).values()}
    publish(elsewhere, yes=True)
    for task_id, published in platform.tasks.items():
        answers = {}
        for asked in published.task.comparisons:
            texts = [passage.text for passage in asked.passages]
            worth = [truth.get((asked.query, text), float("-inf")) for text in texts]
            answers[asked.name] = asked.tokens[int(worth[1] > worth[0])]
            if answer := good.get(frozenset(texts)):
                good_first.add(texts[0] == answer)
        person = platform.join(Person(approved=20_000))
        platform.submit(platform.take(person, task_id), {"consent": "yes", **answers})
    assert good_first == {True, False}, "who takes the first passage throughout misses gold"
    assert collect(elsewhere).finished
    assert set(kept_votes(elsewhere).values()) == {1}
    assert resolve(elsewhere).statuses["single"] == 15, "who answers by the truth leaves no cycle"


def test_what_breaks_off_is_neither_published_nor_paid_twice(elsewhere: Path, platform: Platform) -> None:
    people = People(elsewhere, platform)
    platform.lose_replies = True  # to every call that creates or spends, the first time that it is made
    assert until_done(lambda: publish(elsewhere, yes=True)) == 7
    people.come("early", "wrong")
    assert until_done(lambda: collect(elsewhere)) > 1
    platform.lose_replies = False
    judge_all(elsewhere, people)
    assert set(kept_votes(elsewhere).values()) == {1}
    keys = [found.task.key for found in platform.tasks.values()]
    assert len(keys) == len(set(keys))
    assert Counter(paid.submission_id for paid in platform.bonuses).most_common(1)[0][1] == 1
    assert Decimal(status(elsewhere).committed) == spent(platform)


def test_a_broken_publication_is_found_when_its_token_is_forgotten(
    elsewhere: Path, platform: Platform
) -> None:
    platform.lose_replies = True
    with pytest.raises(CrowdError):
        publish(elsewhere, yes=True)
    platform.lose_replies, platform.ahead = False, 2 * 86_400.0
    with Study(elsewhere).transaction() as db:
        db.execute("UPDATE intents SET intended = intended - 172800")
    publish(elsewhere, yes=True)
    assert (len(platform.tasks), spent(platform)) == (7, 7 * PRICE)


def test_what_the_account_does_not_hold_commits_nothing(elsewhere: Path, platform: Platform) -> None:
    platform.balance = 3 * PRICE
    with pytest.raises(RefusedError, match=r"the account holds \$0.00, and this costs \$2.67"):
        publish(elsewhere, yes=True)
    assert (len(platform.tasks), status(elsewhere).committed) == (3, str(3 * PRICE))
    platform.balance = Decimal("100.00")
    assert publish(elsewhere, yes=True).published == 4


def test_the_budget_counts_what_the_crowd_charges(elsewhere: Path, platform: Platform) -> None:
    edit(elsewhere, ("budget = 100.00", f"budget = {3 * PRICE}"))
    with pytest.raises(BudgetError, match=r"would commit \$2.67 on top of \$8.01"):
        publish(elsewhere, yes=True)
    assert spent(platform) == 3 * PRICE
    assert read_prices(Study(elsewhere).config).submission(Decimal("2.00"), 1) == PRICE


def test_a_lost_store_is_rebuilt_from_another_crowd(elsewhere: Path, platform: Platform) -> None:
    people = People(elsewhere, platform)
    publish(elsewhere, yes=True)
    people.come("wrong", "early")
    collect(elsewhere)
    judge_all(elsewhere, people)
    before, cost = held(elsewhere), spent(platform)
    lose(elsewhere)
    recover(elsewhere)
    pool_demo(elsewhere)
    gold(elsewhere, accept=True, file=COLLECTION / "gold.tsv")
    found = recover(elsewhere)
    assert (found.hits, found.remains, found.endpoint) == (len(platform.tasks), (), "memory:here")
    assert held(elsewhere) == before
    publish(elsewhere, yes=True)
    pay(elsewhere)
    assert (spent(platform), collect(elsewhere).finished) == (cost, True)


def test_doctor_holds_a_study_against_another_crowd(elsewhere: Path, platform: Platform) -> None:
    publish(elsewhere, yes=True)
    found = {check.name: check for check in examine(elsewhere).checks}
    assert found["study against sandbox"].found == "7 HITs and 0 assignments are the same in both"
    platform.tasks.popitem()
    found = {check.name: check for check in examine(elsewhere).checks}
    assert "1 HIT that the marketplace does not know" in found["study against sandbox"].found


def test_a_study_stays_with_its_crowd_and_play_money_with_the_sandbox(
    elsewhere: Path, platform: Platform
) -> None:
    publish(elsewhere, yes=True)
    PLATFORMS["memory:there"] = Platform("memory:there")
    config = elsewhere / "study.toml"
    config.write_text(config.read_text().replace("memory:here", "memory:there"))
    with pytest.raises(StudyError, match=r"published to .* memory:here, but memory:there answers now"):
        collect(elsewhere)
    config.write_text(config.read_text().replace("memory:there", "memory:here"))
    platform.play_money = False
    with pytest.raises(StudyError, match="memory:here is a live marketplace"):
        collect(elsewhere)
    platform.play_money = True
    assert collect(elsewhere).open == 7


def test_work_goes_to_marketplaces_of_prefjudge_only(elsewhere: Path) -> None:
    publish(elsewhere, yes=True)
    with pytest.raises(StudyError, match="is the crowd 'memory', which is not a marketplace of prefjudge"):
        work(elsewhere, workers=2)
    with keep_marketplace_open(Study(elsewhere)) as unserved, open_crowd(Study(elsewhere)) as crowd:
        assert (unserved, type(crowd)) == (False, MemoryCrowd)


def test_a_crowd_that_is_not_there_is_named(elsewhere: Path) -> None:
    config = elsewhere / "study.toml"
    config.write_text(config.read_text().replace('"memory"', '"nobody"'))
    with pytest.raises(ConfigError, match=r"sandbox\.crowd: there is no such crowd; choose one of: mturk"):
        publish(elsewhere, dry_run=True)
    config.write_text(config.read_text().replace('crowd = "nobody"', 'options = {project = "x"}'))
    with pytest.raises(ConfigError, match="a marketplace has no option 'project'"):
        publish(elsewhere, dry_run=True)
