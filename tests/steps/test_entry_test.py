"""Practice as a test: who has not passed it works at no HIT of the study. All over HTTP."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from prefjudge import collect, gold, publish, work
from prefjudge.crowd.mturk import MTurkCrowd
from prefjudge.crowd.prolific.crowd import ProlificCrowd
from prefjudge.errors import ConfigError, InputError, StudyError
from prefjudge.field.crowd import keep_marketplace_open
from prefjudge.field.publish import Pages, entry_test, refuse_test
from prefjudge.reading.pools import read_gold
from prefjudge.steps.collect import CollectResult
from prefjudge.study.pools import load_active_gold
from prefjudge.study.store import Study
from tests.steps.conftest import COLLECTION, climbing_study
from tests.steps.test_farming import person, take_all

LESSONS = 3


class _Prolific(ProlificCrowd):
    endpoint = "https://api.prolific.com"


@pytest.fixture(scope="module")
def unpublished(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A study that asks for a test, with three of its gold pairs for practice."""
    study = climbing_study(tmp_path_factory.mktemp("entry") / "study")
    config = study / "study.toml"
    asked = "[workers]\nmost_hits = 100\nmin_practice_rate = 100"
    text = config.read_text().replace("pairs_per_hit = 10", "pairs_per_hit = 3")
    config.write_text(text.replace("[workers]", asked))
    with keep_marketplace_open(Study(study)):
        yield study


@pytest.fixture(scope="module")
def tested(unpublished: Path) -> Path:
    with pytest.raises(StudyError, match="no gold pair is for practice"):
        publish(unpublished, sandbox=True, dry_run=True)
    header, *lines = (COLLECTION / "gold.tsv").read_text().splitlines()
    table = [f"{header}\tpractice", *(f"{line}\tOnly one is about it." for line in lines[:LESSONS])]
    (unpublished / "gold.tsv").write_text("\n".join([*table, *lines[LESSONS:]]) + "\n")
    gold(unpublished, accept=True)
    publish(unpublished, sandbox=True, yes=True)
    return unpublished


def test_who_fails_gets_no_hit_and_who_passes_climbs(tested: Path) -> None:
    guesser, reader = person(tested, "guesser", slip=1.0), person(tested, "reader")
    assert (take_all(guesser), take_all(reader)) == (0, 1)
    assert collect(tested).collected == 1
    assert (take_all(guesser), take_all(reader)) == (0, 2), "the guesser's test is not taken again"
    again = person(tested, "guesser again")
    assert take_all(again) == 1
    assert sum(work(tested, workers=2, slip=0.0, most=1).by_worker.values()) == 2, (
        "`work` takes the test, too"
    )


def test_the_test_tells_nothing_of_screening_gold(tested: Path) -> None:
    opened = Study(tested)
    test = entry_test(opened)
    assert test is not None
    with opened.transaction(write=False) as db:
        screening = {pair.query: {pair.good, pair.bad} for pair in load_active_gold(db).values()}
    asked = {choice.text: choice.options for choice in test.choices}
    lessons = read_gold(tested / "gold.tsv")[:LESSONS]
    assert {choice.text: choice.options[choice.right] for choice in test.choices} == {
        pair.query: pair.good for pair in lessons
    }
    assert not any(set(options) == screening.get(query) for query, options in asked.items())
    assert sorted(choice.right for choice in test.choices) == [0, 0, 1], "both sides are right by turns"
    assert entry_test(Study(tested)) == test, "it is the same each time"


def test_who_passed_reads_the_reasons_and_does_not_answer_again(tested: Path) -> None:
    pages = Pages(Study(tested))
    assert (len(pages._practice), len(pages._explained)) == (0, LESSONS)


def test_the_last_collect_takes_the_test_off_the_list_once(
    tested: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended: list[str] = []
    monkeypatch.setattr(MTurkCrowd, "end_tests", lambda _, mark: ended.append(mark))
    collect(tested)
    assert ended == [], "pairs wait"
    monkeypatch.setattr(CollectResult, "finished", True)
    for _ in range(2):
        collect(tested)
    test = entry_test(Study(tested))
    assert test is not None
    assert len(ended) == 1
    assert test.group.name.endswith(f" {ended[0]}")


@pytest.mark.parametrize("language", ["en", "de", "fr", "es", "zh"])
def test_the_test_speaks_the_languages_of_the_page(tested: Path, language: str) -> None:
    text = (tested / "study.toml").read_text()
    config = text.replace("[design]", f'[design]\nlanguage = "{language}"')
    (tested / "study.toml").write_text(config)
    try:
        test = entry_test(Study(tested))
    finally:
        (tested / "study.toml").write_text(text)
    assert test is not None
    assert "100" in test.group.notice
    assert str(LESSONS) in test.group.notice
    assert not set("{}") & set(test.group.name + test.group.notice + test.intro)


def test_what_cannot_be_a_test_is_refused_before_anything_is_published(
    tested: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(MTurkCrowd, "fault_of_test", lambda *_: "the test is too long")
    with pytest.raises(InputError, match="too long"):
        publish(tested, sandbox=True, dry_run=True)
    monkeypatch.undo()
    with pytest.raises(ConfigError, match="cannot test workers, as min_practice_rate"):
        refuse_test(object.__new__(_Prolific), entry_test(Study(tested)))
