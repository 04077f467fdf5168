"""A store in another's place, or a marketplace that is gone, is said to be that, and nothing is made anew."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from prefjudge import collect, gold, init, pay, publish, status, work
from prefjudge.errors import InputError, PrefjudgeError, StudyError
from prefjudge.field.crowd import keep_marketplace_open
from prefjudge.marketplace.server import start
from prefjudge.steps.store.backup import backup, recover
from prefjudge.steps.store.check import State, examine
from prefjudge.study.store import Study
from tests.steps.conftest import COLLECTION, pool_demo
from tests.steps.test_recover import lose, there


@pytest.fixture
def published(pooled: Path) -> Path:
    """A published study whose marketplace nobody serves now."""
    with keep_marketplace_open(Study(pooled)):
        publish(pooled, yes=True)
    return pooled


def lose_marketplace(study: Path) -> None:
    for path in study.glob("marketplace.db*"):
        path.unlink()


VERBS: list[Callable[[Path], object]] = [
    status,
    pool_demo,
    collect,
    recover,
    lambda study: publish(study, yes=True),
    lambda study: backup(study, study.with_name("copy.db")),
]


def test_a_marketplaces_store_is_not_taken_for_a_studys(published: Path) -> None:
    lose(published)
    shutil.copyfile(published / "marketplace.db", published / "study.db")
    content = (published / "study.db").read_bytes()
    for verb in VERBS:
        with pytest.raises(StudyError, match=r"holds something else|is the store of a marketplace"):
            verb(published)
    found = {check.name: check for check in examine(published).checks}
    assert (found["store"].state, "is the store of a marketplace" in found["store"].found) == ("wrong", True)
    assert (published / "study.db").read_bytes() == content
    assert not published.with_name("copy.db").exists()


def test_a_studys_store_is_not_served_as_a_marketplace(published: Path) -> None:
    content = (published / "study.db").read_bytes()
    with pytest.raises(StudyError, match=r"holds something else"):
        start(f"sqlite:///{published / 'study.db'}", host="127.0.0.1", port=0)
    assert (published / "study.db").read_bytes() == content


def test_another_studys_store_is_neither_backed_up_nor_examined_as_this_ones(published: Path) -> None:
    other = published.with_name("other")
    init(other)
    status(other)
    lose(published)
    shutil.copyfile(other / "study.db", published / "study.db")
    with pytest.raises(StudyError, match="belongs to another study"):
        backup(published, published.with_name("copy.db"))
    assert any("belongs to another study" in check.found for check in examine(published).checks)


def test_backup_and_doctor_name_the_way_back_to_a_lost_store(published: Path) -> None:
    lose(published)
    with pytest.raises(StudyError, match="missing or empty") as refused:
        backup(published, published.with_name("copy.db"))
    assert "prefjudge store recover" in refused.value.hint
    (store,) = [check for check in examine(published).checks if check.state == State.WRONG]
    assert "prefjudge store recover" in store.hint


@pytest.mark.parametrize("verb", [collect, recover, lambda study: publish(study, yes=True)])
def test_a_lost_marketplace_is_not_begun_anew(published: Path, verb: Callable[[Path], object]) -> None:
    lose_marketplace(published)
    with pytest.raises(StudyError, match=r"marketplace .* is missing or empty") as refused:
        verb(published)
    assert "Restore a backup" in refused.value.hint
    examine(published)
    assert not (published / "marketplace.db").exists()


def test_a_study_goes_on_without_its_marketplace_once_that_is_given_up(pooled: Path) -> None:
    config = pooled / "study.toml"
    config.write_text(
        config.read_text().replace("pairs_per_hit = 10", "pairs_per_hit = 5\njudgments_per_pair = 2")
        + '\n[pay]\nwhen = "pay"\n'
    )
    with keep_marketplace_open(Study(pooled)):
        publish(pooled, yes=True)
        work(pooled, workers=3, error=0.1, slip=0.0, most=4)
        collect(pooled)
        work(pooled, workers=3, error=0.1, slip=0.0, most=1)  # what is not collected is lost
    before = status(pooled)
    assert before.judgments
    lose_marketplace(pooled)
    with pytest.raises(StudyError, match="missing or empty") as refused:
        publish(pooled, yes=True)
    assert f"prefjudge store recover {pooled} --give-up" in refused.value.hint
    done = recover(pooled, give_up=True)
    assert (done.given_up, done.remains) == (before.hits["open"], ())
    assert any("pay their workers yourself" in text for text in done.notices)
    after = status(pooled)
    assert (after.judgments, after.committed) == (before.judgments, before.committed)
    config.write_text(config.read_text().replace("budget = 100.00", f"budget = {after.committed}"))
    with keep_marketplace_open(Study(pooled)):
        with pytest.raises(PrefjudgeError, match="would commit"):
            publish(pooled, yes=True)
        config.write_text(config.read_text().replace(f"budget = {after.committed}", "budget = 500.00"))
        publish(pooled, yes=True)
        while not collect(pooled).finished:
            assert work(pooled, workers=6, error=0.1, slip=0.0).submitted
        assert pay(pooled).dues
        assert examine(pooled).well
    assert (status(pooled).waiting, status(pooled).judgments > before.judgments) == (0, True)


def test_nothing_is_given_up_where_the_store_is_lost_as_well(published: Path) -> None:
    lose(published)
    lose_marketplace(published)
    with pytest.raises(StudyError, match="both lost"):
        recover(published, give_up=True)
    assert not (published / "marketplace.db").exists()


@pytest.mark.parametrize("looked", [False, True])
def test_where_no_work_is_known_nothing_is_called_whole(tmp_path: Path, looked: bool) -> None:
    init(tmp_path / "new")
    if looked:
        status(tmp_path / "new")
    before = {path.name for path in (tmp_path / "new").iterdir()}
    for live in (False, True):
        with pytest.raises(InputError, match="it was never used, or both are lost"):
            recover(tmp_path / "new", live=live)
    assert {path.name for path in (tmp_path / "new").iterdir()} == before


def test_a_used_study_is_not_called_whole_after_a_look(published: Path) -> None:
    for path in [*published.glob("study.db*"), *published.glob("marketplace.db*")]:
        path.unlink()
    status(published)
    with pytest.raises(InputError, match="it was never used, or both are lost"):
        recover(published)


def test_a_new_marketplace_begins_where_the_lost_one_was_given_up(published: Path) -> None:
    work(published, workers=6, most=4, error=0.1, slip=0.0, temper=("left", "left"))
    assert collect(published).barred
    lose_marketplace(published)
    recover(published, give_up=True)
    publish(published, yes=True)  # the token of the lost marketplace is gone with it
    collect(published)  # where nothing came, the marketplace is told of the barred again
    work(published, workers=6, error=0.1, slip=0.0)
    collect(published)  # those who worked at the lost one are unknown to the new one


def test_a_lost_store_beside_its_marketplace_is_told(published: Path) -> None:
    lose(published)
    (published / "study.db.lock").unlink(missing_ok=True)
    assert any("its store is lost" in one.found for one in examine(published).checks)


def test_a_study_that_lost_its_marketplace_too_is_not_called_whole(published: Path) -> None:
    lose(published)
    shutil.copytree(published, published.with_name("kept"))
    lose_marketplace(published)
    with pytest.raises(StudyError, match=r"marketplace .* is missing or empty"):
        recover(published)
    assert not (published / "marketplace.db").exists()
    for path in published.with_name("kept").glob("marketplace.db*"):
        shutil.copyfile(path, published / path.name)
    before = there(published)
    with keep_marketplace_open(Study(published, recovering=True)):
        recover(published)
        pool_demo(published)
        gold(published, accept=True, file=COLLECTION / "gold.tsv")
        assert recover(published).remains == ()
        publish(published, yes=True)
    assert there(published) == before


def test_a_marketplace_without_any_hit_of_a_lost_study_does_not_make_it_whole(published: Path) -> None:
    lose(published)
    lose_marketplace(published)
    config = published / "study.toml"
    other = published.with_name("elsewhere.db")
    market = start(f"sqlite:///{other}", host="127.0.0.1", port=0)
    try:
        config.write_text(config.read_text() + f'\n[targets.sandbox]\nurl = "{market.endpoint}"\n')
        found = recover(published)
        assert "has no HITs of this study" in found.remains[0]
        assert "start over" in found.remains[1]
        with pytest.raises(PrefjudgeError, match="is being rebuilt"):
            publish(published, yes=True)
    finally:
        market.stop()


def test_a_study_that_was_never_published_may_recover_and_go_on(pooled: Path) -> None:
    assert recover(pooled).remains == ()
    publish(pooled, yes=True)
