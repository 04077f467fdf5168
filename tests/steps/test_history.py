"""The history of the answers, as users read it."""

import json
import shutil
from collections import Counter
from pathlib import Path

import pytest

from prefjudge import agreement, gold, init, report, run, score, status
from prefjudge.field.history import history
from prefjudge.study.store import Study
from tests.cli.conftest import prefjudge
from tests.marketplace.conftest import cluster as cluster
from tests.marketplace.postgres import Cluster
from tests.steps.conftest import COLLECTION
from tests.steps.test_run import HONEST, RUNS, answers, pool_runs, young_study
from tests.steps.test_run import young as young  # the fixture


@pytest.fixture(scope="module")
def once_driven(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study of three runs whose first answers are kept."""
    study = young_study(tmp_path_factory.mktemp("driven") / "study")
    run(study, strategy="round-robin:1", **HONEST)  # type: ignore[arg-type]
    return study


@pytest.fixture
def driven(once_driven: Path, tmp_path: Path) -> Path:
    """A copy of it, which a test may change."""
    return shutil.copytree(once_driven, tmp_path / "study")


@pytest.fixture(scope="module")
def once_challenged(once_driven: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same after three more runs have challenged its answers."""
    study = shutil.copytree(once_driven, tmp_path_factory.mktemp("challenged") / "study")
    pool_runs(study, RUNS[3:], challenge=True)
    run(study, **HONEST)  # type: ignore[arg-type]
    return study


def test_a_study_without_kept_answers_has_none_and_says_so(young: Path) -> None:
    told = history(young)
    assert (told.versions, status(young).challenge, status(young).version) == ((), None, 0)
    assert (
        "no answers are kept yet: `prefjudge run` keeps them"
        in prefjudge("status", young, "--history").stderr
    )


def test_history_tells_what_the_run_told(driven: Path) -> None:
    before = answers(driven)
    (first,) = history(driven).versions
    assert (first.version, first.challenge, first.duels, first.changes, first.moved) == (1, None, (), (), ())
    assert first.queries == len(before)
    assert first.made is not None
    opened = pool_runs(driven, RUNS[3:], challenge=True)
    under_way = status(driven).challenge
    assert under_way is not None
    assert (under_way.challenge, under_way.newcomers) == (1, opened.documents)
    assert "version 1; challenge 1 is under way" in prefjudge("status", driven).stderr
    result = run(driven, **HONEST)  # type: ignore[arg-type]
    after = answers(driven)
    told = history(driven)
    second = told.versions[1]
    assert (status(driven).challenge, second.version, second.challenge) == (None, 2, 1)
    assert told.versions[0] == first
    assert second.duels == result.duels
    assert second.moved == result.moved != ()
    assert {change.query_id: (change.before, change.after) for change in second.changes} == {
        query: (tuple(sorted(before[query])), tuple(sorted(docs)))
        for query, docs in after.items()
        if docs != before[query]
    }
    assert status(driven).version == 2

    shown = prefjudge("status", driven, "--history").stdout
    won = next(duel for duel in result.duels if duel.dethroned)
    line = next(line for line in shown.splitlines() if won.newcomer in line)
    assert line.split()[:4] == ["2", won.query_id, won.incumbent, won.newcomer]
    assert f"{won.votes_for:.1f}" in line
    assert f"Runs that moved, by {told.measure}" in shown
    printed = json.loads(prefjudge("status", driven, "--history", "--json").stdout)["history"]
    assert [one["version"] for one in printed["versions"]] == [1, 2]


def test_a_run_is_ranked_once_it_was_judged_and_listed_apart_until_then(
    driven: Path, once_challenged: Path, tmp_path: Path
) -> None:
    old, new = ({path.stem for path in runs} for runs in (RUNS[:3], RUNS[3:]))
    pool_runs(driven, RUNS[3:], challenge=True)
    found = score(driven, out=tmp_path / "board.md")
    assert {row.run for board in found.boards for row in board.leaderboard.ranked} == old
    assert found.winratio is not None
    assert set(found.winratio.runs) & new == set()
    with Study(driven).transaction(write=False) as db:
        brought = Counter(run for (run,) in db.execute("SELECT source FROM challengers"))
    queries = status(driven).queries
    assert {row.run: row.queries - row.judged for row in found.not_judged} == brought
    assert {row.queries for row in found.not_judged} == {queries}
    assert {row.run for row in found.not_judged} == new == {*brought}
    assert any("challenge 1 is under way" in text and "not ranked" in text for text in found.notices)
    first = found.not_judged[0]
    assert f"not judged yet: {first.run} ({first.judged} of {queries})" in (tmp_path / "board.md").read_text()
    assert score(driven, runs=RUNS[3:4], write=False).not_judged == found.not_judged, "named or not"
    assert {run for one in agreement(driven, splits=2).agreements for run in [one.runs]} == {3}

    shown = prefjudge("score", driven, "--details").stdout
    listed = shown[shown.index("Not judged yet") :].partition("\n\n\n")[0]
    assert f"{first.share:.0%}" in next(line for line in listed.splitlines() if first.run in line)
    printed = json.loads(prefjudge("score", driven, "--json").stdout)
    assert {one["run"]: one["share"] for one in printed["not_judged"]} == {
        one.run: one.share for one in found.not_judged
    }
    report(driven)
    page = (driven / "report.html").read_text()
    assert page.index("Not judged yet") < page.index("Best answers</h3>")
    assert {shift.run for one in history(driven).versions for shift in one.moved} & new == set()

    after = score(once_challenged, write=False)
    assert after.not_judged == ()
    assert {row.run for board in after.boards for row in board.leaderboard.ranked} == old | new
    assert "Not judged yet" not in prefjudge("score", once_challenged, "--details").stdout


def test_a_query_that_was_settled_later_is_a_change_without_a_duel(
    once_challenged: Path, tmp_path: Path
) -> None:
    challenged = shutil.copytree(once_challenged, tmp_path / "study")
    with Study(challenged).transaction() as db:
        db.execute("INSERT INTO answers VALUES (2, 'late', 'd-late')")
    late = next(change for change in history(challenged).versions[1].changes if change.query_id == "late")
    assert (late.before, late.after) == ((), ("d-late",))
    line = next(
        line for line in prefjudge("status", challenged, "--history").stdout.splitlines() if "d-late" in line
    )
    assert line.split() == ["2", "late", "d-late", "–", "–"]


def test_runs_that_are_gone_or_changed_are_named_and_left_out(driven: Path, tmp_path: Path) -> None:
    tag, moving = "reranker-small", tmp_path / "moving.txt"
    original = next(path for path in RUNS[3:] if path.stem == tag)
    moving.write_text(original.read_text())
    pool_runs(driven, [moving, *(path for path in RUNS[3:] if path != original)], challenge=True)
    assert tag in {shift.run for shift in run(driven, **HONEST).moved}  # type: ignore[arg-type]
    for change, message in ((moving.write_text, "has changed since it was pooled"), (None, "is gone")):
        if change:
            change("q01 Q0 d1 1 1 other\n")
        else:
            moving.unlink()
        told = history(driven)
        assert told.notices == (f"{moving} {message}: run {tag} is left out of the leaderboards",)
        assert tag not in {shift.run for shift in told.versions[1].moved}
    unread = history(driven, moves=False)
    assert (unread.measure, unread.notices, unread.versions[1].moved) == (None, (), ())
    assert unread.versions[1].changes == told.versions[1].changes
    (versions, *_) = unread.tables()
    assert versions.rows[1][-1] in ("–", None)


def test_the_history_is_read_from_postgresql(tmp_path: Path, cluster: Cluster) -> None:
    study = tmp_path / "study"
    init(study, config="demo")
    config = study / "study.toml"
    config.write_text(f'store = "{cluster.new_database()}"\n' + config.read_text())
    pool_runs(study, RUNS[:3])
    gold(study, accept=True, file=COLLECTION / "gold.tsv")
    run(study, strategy="round-robin:1", **HONEST)  # type: ignore[arg-type]
    pool_runs(study, RUNS[3:], challenge=True)
    assert status(study, history=True).challenge is not None
    result = run(study, **HONEST)  # type: ignore[arg-type]
    first, second = history(study).versions
    assert first.made is not None
    assert (second.duels, second.moved) == (result.duels, result.moved)
