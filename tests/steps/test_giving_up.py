"""HITs whose texts are lost for good do not keep a rebuilt study from going on."""

import contextlib
from decimal import Decimal
from pathlib import Path

import pytest

from prefjudge import collect, gold, pay, publish, resolve, status, work
from prefjudge.crowd.mturk import MTurkCrowd
from prefjudge.crowd.simulated import SimulatedWorker
from prefjudge.errors import BudgetError, StudyError
from prefjudge.field.crowd import open_marketplace
from prefjudge.steps.store.backup import RecoverResult, recover
from prefjudge.steps.store.check import examine
from prefjudge.study.hits import load_hits
from prefjudge.study.pools import load_pairs_by_number
from prefjudge.study.store import Study
from tests.steps.conftest import COLLECTION, edit, pool_demo
from tests.steps.test_interruptions import Killed
from tests.steps.test_recover import killed_at, lose, there


def lose_texts(study: Path) -> None:
    """Lose the store, and one passage each of a HIT that is paid, of one that is done, and of one that waits.

    The collection is another edition from now on, in which they read otherwise than what was judged.
    """
    opened, docs = Study(study), {}
    with opened.transaction(write=False) as db:
        pairs, hits = load_pairs_by_number(db), load_hits(db, "sandbox")
    with open_marketplace(opened) as door:
        for hit in hits:
            came = {found.state for found in MTurkCrowd(door.endpoint).fetch(hit.hit_id or "").submissions}
            kind = "waits" if not came else "submitted" if "submitted" in came else "approved"
            docs[kind] = next(pairs[slot.pair_id][1] for slot in hit.slots if slot.pair_id)
    assert docs.keys() == {"waits", "submitted", "approved"}
    lines = (COLLECTION / "collection.tsv").read_text().splitlines()
    study.with_name("edition.tsv").write_text(
        "".join(f"{line}{' (2nd edition)' if line.split()[0] in docs.values() else ''}\n" for line in lines)
    )
    opened.close()
    lose(study)


def rebuild(study: Path) -> RecoverResult:
    recover(study)
    pool_demo(study, collection=study.with_name("edition.tsv"))
    gold(study, accept=True, file=COLLECTION / "gold.tsv")
    return recover(study)


def balance(study: Path) -> Decimal:
    with open_marketplace(Study(study, recovering=True)) as door:
        return MTurkCrowd(door.endpoint).balance()


def given_up(study: Path) -> dict[str, tuple[str, ...]]:
    """The HITs that were given up, and the states of their assignments at the marketplace."""
    opened = Study(study)
    with opened.transaction(write=False) as db:
        hits = [hit for hit in load_hits(db, "sandbox") if hit.given_up]
    with open_marketplace(opened) as door:
        fetched = [MTurkCrowd(door.endpoint).fetch(hit.hit_id or "") for hit in hits]
    assert not any(hit.open and hit.room for hit in fetched), "nobody can take them up"
    return {hit.task_id: tuple(found.state for found in hit.submissions) for hit in fetched}


@pytest.fixture
def half_done(served: Path) -> Path:
    """A study of which some HITs are done and paid, some are done, and some are not taken up."""
    edit(
        served,
        ("pairs_per_hit = 10", "pairs_per_hit = 5\njudgments_per_pair = 2"),
        ("budget = 100.00", "budget = 500.00"),
    )
    publish(served, yes=True)
    work(served, workers=3, error=0.1, slip=0.0, most=4)
    collect(served)
    work(served, workers=3, error=0.1, slip=0.0, temper=("quitter",), most=2)
    return served


def finish(study: Path) -> None:
    publish(study, yes=True)
    while not collect(study).finished:
        work(study, workers=8, error=0.1, slip=0.0)


def test_a_study_whose_texts_are_lost_goes_on_once_their_hits_are_given_up(half_done: Path) -> None:
    pairs, spent, left_over = status(half_done).pairs, status(half_done).committed, balance(half_done)
    hits = sum(status(half_done).hits.values())
    lose_texts(half_done)
    left = rebuild(half_done)
    assert 1 < left.unmatched < hits
    assert any("--give-up" in text for text in left.remains)
    with pytest.raises(StudyError, match="is being rebuilt"):
        publish(half_done, yes=True)

    done = recover(half_done, give_up=True)
    assert (done.given_up, done.unmatched, done.remains) == (left.unmatched, 0, ())
    assert (status(half_done).notices, status(half_done).committed) == ((), spent)
    assert balance(half_done) == left_over, "giving up spends nothing"
    assert () in given_up(half_done).values()
    assert {state for came in given_up(half_done).values() for state in came} == {"approved", "submitted"}

    collect(half_done)
    finish(half_done)
    pay(half_done)
    now = status(half_done)
    assert (now.waiting, now.pairs) == (0, pairs)
    assert {state for came in given_up(half_done).values() for state in came} == {"approved"}
    assert Decimal(now.committed) - Decimal(spent) == left_over - balance(half_done)
    assert examine(half_done).well
    assert resolve(half_done).queries
    again = recover(half_done, give_up=True)
    assert (again.given_up, again.rebuilt, again.assignments, again.decisions) == (0, 0, 0, 0)


def test_what_was_given_up_counts_against_the_budget(half_done: Path) -> None:
    spent = Decimal(status(half_done).committed)
    lose_texts(half_done)
    rebuild(half_done)
    recover(half_done, give_up=True)
    edit(half_done, ("budget = 500.00", f"budget = {spent}"))
    before = there(half_done)
    with pytest.raises(BudgetError, match="would commit"):
        publish(half_done, yes=True)
    assert there(half_done) == before


def test_a_worker_who_holds_a_hit_that_is_given_up_is_paid(
    served: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    publish(served, yes=True)
    with monkeypatch.context() as away:
        away.setattr(SimulatedWorker, "_judge", lambda self, accepted: None)
        work(served, workers=7, temper=["left"] * 7, most=1)
    (served.with_name("edition.tsv")).write_text(
        "".join(f"{line}!\n" for line in (COLLECTION / "collection.tsv").read_text().splitlines())
    )
    lose(served)
    left = rebuild(served).unmatched
    assert recover(served, give_up=True).given_up == left
    assert collect(served).open == status(served).hits["open"]
    assert set(given_up(served).values()) == {()}
    work(served, workers=7, temper=["left"] * 7, most=1)  # those who come back submit what they hold
    collect(served)
    assert set(given_up(served).values()) == {("approved",)}


def test_a_kill_while_hits_are_given_up_leaves_them_to_a_repeat(
    half_done: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spent = status(half_done).committed
    lose_texts(half_done)
    left, kills, done = rebuild(half_done).unmatched, 0, False
    while not done:
        kills += 1
        with contextlib.suppress(Killed), killed_at(monkeypatch, kills, after=kills % 2 == 0):
            recover(half_done, give_up=True)
            done = True
    assert kills > left
    assert (len(given_up(half_done)), status(half_done).committed) == (left, spent)
    assert examine(half_done).well


def test_nothing_is_given_up_before_there_is_a_pool_to_find_the_texts_in(half_done: Path) -> None:
    lose(half_done)
    for lacking in ("pool", "gold"):
        with pytest.raises(StudyError, match="nothing was given up") as refused:
            recover(half_done, give_up=True)
        assert f"prefjudge {lacking} {half_done}" in refused.value.hint
        pool_demo(half_done)
    gold(half_done, accept=True, file=COLLECTION / "gold.tsv")
    assert recover(half_done, give_up=True).given_up == 0
