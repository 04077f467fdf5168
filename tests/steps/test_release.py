"""A release holds what a study found, for others: everything that can be used, and nobody's id."""

import hashlib
import json
from collections import Counter
from pathlib import Path

import pytest

from prefjudge import collect, publish, release, report, resolve, run, status, work
from prefjudge.core.judgments import ModelVote
from prefjudge.core.resolving.resolutions import resolve as resolve_log
from prefjudge.core.resolving.resolutions import to_qrels
from prefjudge.errors import StudyError
from prefjudge.field.crowd import keep_marketplace_open
from prefjudge.reading.labels import read_judgments, read_qrels
from prefjudge.study.imports import save_votes
from prefjudge.study.pools import load_pairs
from prefjudge.study.store import Study
from tests.steps.conftest import COLLECTION, climbing_study, edit, let_all_work_at_once, made_once


@made_once
def judged_study(study: Path) -> None:
    """A study whose every pair is judged, some of them again after careless work, and resolved."""
    let_all_work_at_once(climbing_study(study))
    with keep_marketplace_open(Study(study)):
        judge(study)


@pytest.fixture
def judged(tmp_path: Path) -> Path:
    return judged_study(tmp_path / "study")


def judge(study: Path) -> Path:
    publish(study, yes=True)
    for careless in (20, *[0] * 8):  # only the first are, so that some work is dropped whoever takes it
        work(
            study,
            workers=20,
            error=0.1,
            slip=0.0,
            temper=["careless"] * careless,
            truth=COLLECTION / "truth.tsv",
        )
        if collect(study).finished:
            resolve(study)
            return study
    raise AssertionError("the study was not judged")


def lines(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def bytes_of(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_what_is_released_can_be_used_again(judged: Path, tmp_path: Path) -> None:
    done = release(judged, rehearsal=True)
    folder = Path(done.out)
    assert folder == judged / "release"
    answers = folder / "preference.qrels"
    assert answers.read_bytes() == (judged / "preference.qrels").read_bytes()
    rule = json.loads((folder / "release.json").read_text())["rule"]
    # Left and right are the sides of the screen here: workers may be known by the side they favour.
    log = read_judgments(folder / "judgments.txt", sides=True)
    again, whole = to_qrels(resolve_log(log, rule=rule)), read_qrels(answers)
    pairs = [
        {(labels.queries[q], labels.docs[d]) for q, d in zip(labels.query, labels.doc, strict=True)}
        for labels in (again, whole)
    ]
    assert pairs[0] <= pairs[1]
    sizes = Counter(line.split("\t")[0] for line in (folder / "pool.tsv").read_text().splitlines()[1:])
    assert all(sizes[query] == 1 for query, _ in pairs[1] - pairs[0])  # nothing to compare
    votes = lines(folder / "judgments.jsonl")
    assert (len(votes), done.dropped) == (
        done.judgments + done.dropped,
        sum(bool(v["dropped"]) for v in votes),
    )
    assert done.dropped > 0
    stamp, *rows = (folder / "judgments.txt").read_text().splitlines()
    assert stamp == f"# rehearsal: {len(votes)} of {len(votes)} judgments are simulated"
    assert [line.split() for line in rows] == [
        [v["query"], v["left"], v["right"], v[str(v["choice"])], v["worker"]]
        for v in votes
        if not v["dropped"]
    ]
    assert {w["assignment"] for w in lines(folder / "assignments.jsonl")} >= {v["assignment"] for v in votes}
    likely: dict[str, float] = Counter()
    for row in lines(folder / "likely.jsonl"):
        likely[row["query"]] += row["p_best"]
        assert 0.0 <= row["loss"] < 0.5
    assert likely.keys() == sizes.keys() - {"query_id"}
    assert min(likely.values()) >= 0.8999


def test_nobody_and_nothing_secret_is_in_it(judged: Path) -> None:
    done = release(judged, rehearsal=True, texts=True, gold=True)
    opened = Study(judged)
    with opened.transaction(write=False) as db:
        hidden = [
            *(worker for (worker,) in db.execute("SELECT DISTINCT worker_id FROM judgments")),
            *(name for row in db.execute("SELECT assignment_id, hit_key FROM assignments") for name in row),
            *(name for (name,) in db.execute("SELECT hit_id FROM hits")),
            *(name for row in db.execute("SELECT first_token, second_token FROM slots") for name in row),
            *(path for (path,) in db.execute("SELECT path FROM inputs")),
        ]
    hidden += [opened.secret.hex(), str(judged), str(COLLECTION)]
    whole = b"\n".join(bytes_of(Path(done.out)).values()).decode()
    assert len(hidden) > 50
    assert [name for name in hidden if str(name) in whole] == []


def test_the_same_study_gives_the_same_bytes_and_what_is_not_asked_for_goes(judged: Path) -> None:
    folder = Path(release(judged, rehearsal=True).out)
    first = bytes_of(folder)
    with_texts = release(judged, rehearsal=True, texts=True, gold=True)
    more = {"queries.tsv", "passages.tsv", "gold.tsv", "chosen.jsonl"}
    assert {one.name for one in with_texts.files} - set(first) == more
    assert (folder / "passages.tsv").is_file()
    edit(judged, ("[design]", '[design]\nquestion = "Which one is longer?"'), ("reward = 2.00", "reward = 1"))
    release(judged, rehearsal=True)  # what the HITs asked and paid, whatever study.toml says by now
    assert bytes_of(folder) == first
    assert "Which one is longer?" not in (judged / "report.html", report(judged))[0].read_text()
    sums = (folder / "SHA256SUMS").read_text().splitlines()
    assert {name: digest for digest, name in (line.split() for line in sums)} == {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in folder.iterdir()
        if path.name != "SHA256SUMS"
    }
    with Study(judged).transaction() as db:
        db.execute("UPDATE hits SET reward_cents = 250 WHERE number = 1")
    release(judged, rehearsal=True)
    assert json.loads((folder / "release.json").read_text())["reward"] == "2.00 to 2.50"


def test_a_rehearsal_is_not_released(judged: Path) -> None:
    rehearsed = release(judged, rehearsal=True)
    opened = Study(judged)
    with opened.transaction() as db:  # as if half of the HITs had been published live since
        keys = [key for (key,) in db.execute("SELECT hit_key FROM hits ORDER BY hit_key")][::2]
        for key in keys:
            db.execute("UPDATE hits SET target = 'live' WHERE hit_key = :key", key=key)
    done = release(judged, rehearsal=True)
    votes, works = (lines(Path(done.out) / name) for name in ("judgments.jsonl", "assignments.jsonl"))
    assert 0 < len(votes) == done.judgments + done.dropped < rehearsed.judgments + rehearsed.dropped
    assert {work["judge"] for work in works if work["answered"]} == {"simulated"}
    assert {work["hit"] for work in works} == {opened.opaque("hit", key) for key in keys}
    assert {vote["assignment"] for vote in votes} <= {work["assignment"] for work in works}


def test_the_answers_that_run_keeps_are_released(pooled: Path) -> None:
    run(pooled, strategy="round-robin:1", workers=12, error=0.1, truth=COLLECTION / "truth.tsv", yes=True)
    done = release(pooled, rehearsal=True)
    folder = Path(done.out)
    assert (folder / "preference.qrels").read_bytes() == (pooled / "preference.qrels").read_bytes()
    record = json.loads((folder / "release.json").read_text())
    assert (record["driven_by"], record["version"]) == ("round-robin:1", 1)
    assert "by the strategy `round-robin:1`" in (folder / "README.md").read_text()


@pytest.mark.parametrize("record", [None, "{", "[]", '{"version": "1.2.3"}', "\xff"])
def test_a_folder_of_something_else_is_left_alone(judged: Path, tmp_path: Path, record: str | None) -> None:
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "README.md").write_text("mine")
    if record is not None:  # other tools have files of that name
        (tmp_path / "thesis" / "release.json").write_text(record, encoding="latin-1")
    before = bytes_of(tmp_path / "thesis")
    for out in (tmp_path / "thesis", tmp_path / "thesis" / "README.md"):
        with pytest.raises(StudyError, match=f"{out} is not a release"):
            release(judged, rehearsal=True, out=out)
    assert bytes_of(tmp_path / "thesis") == before


def test_a_release_that_was_killed_is_taken_up_and_leaves_nothing_behind(
    judged: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = bytes_of(Path(release(judged, rehearsal=True, out=tmp_path / "whole").out))

    def killed(path: Path, *_: object, **__: object) -> None:
        (path.parent / f".{path.name}.123456789abc.part").write_text("half of the gold pairs")
        raise SystemExit

    for name in ("contents.write_qrels", "release.write_pool", "release.write_gold"):
        with monkeypatch.context() as patch:
            patch.setattr(f"prefjudge.steps.release.{name}", killed)
            with pytest.raises(SystemExit):
                release(judged, rehearsal=True, gold=True)
        unfinished = json.loads((judged / "release" / "release.json").read_text())
        assert "files" not in unfinished
    release(judged, rehearsal=True)
    assert bytes_of(judged / "release") == whole


def test_a_study_under_way_and_the_votes_of_models_are_said(served: Path) -> None:
    publish(served, yes=True)
    work(served, workers=3, most=1, error=0.1, slip=0.0, truth=COLLECTION / "truth.tsv")
    collect(served)
    resolve(served)
    with Study(served).transaction() as db:
        save_votes(
            db,
            "acme/judge-1",
            [
                (pair, ModelVote(pair=(query, a, b), a_first=1, b_first=-1))
                for pair, query, a, b, _ in load_pairs(db)[:2]
            ],
        )
        (_, query, a, b, _), *_ = load_pairs(db)
    done = release(served, rehearsal=True)
    state = status(served)
    assert state.hits["open"] > 1
    assert done.notices[0] == f"the study is under way: {state.hits['open']} HITs open"
    assert done.notices[0] in (Path(done.out) / "README.md").read_text()
    votes = lines(Path(done.out) / "models.jsonl")
    assert len(votes) == 2
    asked = {"query": query, "a": a, "b": b, "a_first": a, "b_first": b}
    assert votes[0] == {"model": "acme/judge-1", "judge": "model:acme/judge-1", **asked}
    page = (served / "report.html", report(served))[0].read_text()
    assert f"goes on with what is open: {state.hits['open']} HITs open" in page
    assert "The model acme/judge-1 also judged 2 pairs" in page
    with Study(served).transaction() as db:
        db.execute("DELETE FROM model_votes")
    release(served, rehearsal=True)
    assert not (Path(done.out) / "models.jsonl").exists()
