"""Workers: the report on a file of judgments, and on a study."""

import re
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from random import Random
from shutil import copytree

import numpy as np
import pytest

from prefjudge import collect, import_votes, publish, resolve, status, work, workers
from prefjudge.core.shortcuts import CLIQUE
from prefjudge.core.workers import SignKind
from prefjudge.errors import InputError
from prefjudge.findings import sureness
from prefjudge.study.store import Study
from tests.steps.conftest import COLLECTION, edit


@pytest.fixture
def votes(tmp_path: Path) -> Path:
    """Three careful workers, and one who always takes the left."""
    rng = np.random.default_rng(8)
    lines = []
    for query in range(60):
        better, worse = "ab" if query % 2 else "ba"
        for worker in ("ann", "bob", "cy", "lefty"):
            left, right = ("a", "b") if rng.random() < 0.5 else ("b", "a")
            honest = better if rng.random() < 0.9 else worse
            lines.append(f"q{query} {left} {right} {left if worker == 'lefty' else honest} {worker}")
    path = tmp_path / "judgments.txt"
    path.write_text("\n".join(lines) + "\n")
    return path


def test_the_careless_worker_comes_first(votes: Path) -> None:
    result = workers(judgments=votes)
    first = result.workers[0]
    assert first.worker == "lefty"
    assert first.left_rate == 1.0
    assert first.left_p < 1e-6
    assert first.reliability < 0.3 < min(one.reliability for one in result.workers[1:])
    assert first.agreement < 0.7 < min(one.agreement for one in result.workers[1:])
    assert (result.judgments, result.pairs, result.repeated, result.unnamed) == (240, 60, 60, 0)
    assert 0.1 < result.alpha < 0.6
    assert result == workers(judgments=votes)


def test_judgments_without_workers_have_an_agreement_only(tmp_path: Path) -> None:
    path = tmp_path / "judgments.txt"
    path.write_text("q a b a\nq a b a\np a b b\np a b b\n")
    result = workers(judgments=path)
    assert result.workers == ()
    assert (result.unnamed, result.alpha) == (4, 1.0)


def test_something_to_look_at_is_needed() -> None:
    with pytest.raises(InputError, match="workers takes either a study or a file"):
        workers()


def test_what_stands_out_is_said_in_words(votes: Path) -> None:
    signs = {(sign.worker, sign.kind.value): sign.text for sign in workers(judgments=votes).signs}
    assert signs["lefty", "side"].startswith("chose the left passage in 60 of 60 comparisons")
    assert {worker for worker, _ in signs} == {"lefty"}


def test_without_overlap_the_report_says_so(tmp_path: Path) -> None:
    path = tmp_path / "judgments.txt"
    path.write_text("".join(f"q{i} a b {'ab'[i % 2]} {'xy'[i % 3 == 0]}\n" for i in range(40)))
    result = workers(judgments=path)
    assert result.repeated == 0
    assert np.isnan(result.alpha)
    assert any(notice.startswith("no pair was judged twice") for notice in result.notices)


def test_a_study_names_workers_by_pseudonyms_and_looks_at_dropped_work_too(served: Path) -> None:
    publish(served, yes=True)
    for _ in range(20):
        done = work(served, workers=6, error=(0.0, 0.2), slip=0.0, temper=["left", "hasty"], most=2)
        if collect(served).finished:
            break
    result, named = workers(served), workers(served, ids=True)
    study = Study(served)
    assert {row.worker for row in named.workers} == set(done.tempers)
    assert {row.worker for row in result.workers} == {study.opaque("worker", name) for name in done.tempers}
    assert result.judgments > result.kept == result.pairs
    (words,) = (notice for notice in result.notices if "no pair was judged twice" in notice)
    compared = sum(row.compared > 0 for row in result.workers)
    assert 0 < compared < len(result.workers)
    assert f"twice, but by {compared} of {len(result.workers)} workers after work was dropped: " in words
    assert "is not estimated" not in words
    for row in named.workers:
        assert row.judgments > 0
        temper = done.tempers[row.worker]
        assert (row.left_rate == 1.0) == (temper == "left")
        assert (row.gold_missed > 0) == bool(row.barred) == (temper == "left")
        assert row.hourly is not None
        if temper == "honest":
            assert Decimal("5") < row.hourly < Decimal("40")
        else:
            assert row.hurried > 0.9 * row.timed


def test_low_pay_is_a_notice(served: Path) -> None:
    edit(served, ("[design]", "[design]\nhourly_floor = 50.00"))
    publish(served, yes=True)
    work(served, workers=3, error=0.0, most=1)
    collect(served)
    result = workers(served)
    assert result.hourly is not None
    assert f"an hour pays ${result.hourly}, less than the floor of $50.00" in result.notices[-1]


def test_repeats_and_times_follow_the_order_on_the_screen(served: Path) -> None:
    """The log of an assignment is in the order of slots; what was done after what follows from its layout."""
    from prefjudge.study.judgments import load_conduct

    publish(served, yes=True)
    work(served, workers=3, error=0.0, most=1)
    collect(served)
    with Study(served).transaction(write=False) as db:
        log, milliseconds = load_conduct(db)
        logged = db.execute("SELECT milliseconds FROM judgments ORDER BY judgment_id")
    assert sorted(milliseconds.tolist()) == sorted(row[0] for row in logged)
    assert milliseconds.tolist() != [row[0] for row in logged]
    assert len(log.workers) == 3
    assert log.gold is not None
    assert log.gold.sum(axis=0).tolist() == [3, 3, 3]


@pytest.mark.usefixtures("in_full")
def test_votes_that_follow_what_is_seen_are_said_first_and_make_no_answer_sure(
    pooled: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Imported votes of people and of bots that take the shorter passage: nothing else tells them apart."""
    texts = dict(line.split("\t") for line in (COLLECTION / "collection.tsv").read_text().splitlines())
    rows = (line.split("\t") for line in (COLLECTION / "truth.tsv").read_text().splitlines()[1:])
    worth = {(query, doc): float(value) for query, doc, value in rows}
    with Study(pooled).transaction(write=False) as db:
        pairs = list(db.execute("SELECT query_id, doc_a, doc_b FROM pairs ORDER BY pair_id"))

    def votes(workers: int, key: Callable[[str, str], float], wrong: float, name: str) -> list[str]:
        rng = Random(3)
        lines = []
        for worker in range(workers):
            for query, *docs in rng.sample(pairs, min(len(pairs), 90)):
                better, worse = sorted(docs, key=lambda doc: -key(query, doc))
                chosen = worse if rng.random() < wrong else better
                lines.append(f"{query} {better} {worse} {chosen} {name}{worker}")
        return lines

    people = votes(8, lambda query, doc: worth.get((query, doc), 0.0), 0.2, "person")
    bots = votes(4, lambda query, doc: -len(texts[doc]), 0.0, "bot")
    mean = {}
    for name, lines in (("people", people), ("both", people + bots)):
        study = pooled.parent / name
        copytree(pooled, study)
        (study / "votes.txt").write_text("\n".join(lines) + "\n")
        import_votes(study, study / "votes.txt")
        mean[name] = resolve(study).confidence.mean
        signs = {one.worker for one in workers(study, ids=True).signs if one.kind is SignKind.SHORTCUT}
        assert signs == ({"bot0", "bot1", "bot2", "bot3"} if name == "both" else set())
        (first, *_) = status(study).confidence.words
        assert first.startswith("do not trust these answers yet: 33% of the votes") == (name == "both")
    assert mean["both"] < mean["people"]
    # as if the rule were not known, so that the bots had nothing but each other in common
    known = sureness.study_shortcuts
    with monkeypatch.context() as patch:
        patch.setattr(
            sureness,
            "study_shortcuts",
            lambda votes: tuple(replace(one, rule=CLIQUE) for one in known(votes)),
        )
        either = status(study).confidence
    assert either.mean <= mean["both"]
    assert either.words[0].startswith(
        "do not trust these answers yet: either 4 workers who cast 33% of the votes did not read, or the "
    )
    names = sorted(one.worker for one in workers(study).signs if one.kind is SignKind.SHORTCUT)
    assert all(f"--without {name}" in either.words[0] for name in names)
    kept = [one.worker for one in workers(study).signs if one.kind is SignKind.SHORTCUT]
    config = study / "study.toml"
    decided = "".join(f'keep.{worker} = "I asked her"\n' for worker in kept)
    config.write_text(re.sub(r"(\[screening\].*\n)", rf"\1{decided}", config.read_text()))
    (first, *_) = status(study).confidence.words  # the bots are kept, and there are the people yet
    assert first.startswith("do not trust these answers yet: no gold tells who is right, and 8 of 12 workers")
    assert all(f"--without {name}" in first for name in kept), "the few, who may be right or not"
