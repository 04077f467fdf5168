"""The history of the answers, as users read it."""

import json
import shutil
import time
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path

import pytest

from prefjudge import agreement, gold, import_votes, init, pool, report, resolve, run, score, status
from prefjudge.errors import InputError, StudyError
from prefjudge.field.history import history
from prefjudge.study.assignments import save_barred
from prefjudge.study.people import _forget_drops
from prefjudge.study.store import Study
from tests.cli.conftest import prefjudge
from tests.marketplace.conftest import cluster as cluster
from tests.marketplace.postgres import Cluster
from tests.steps.conftest import COLLECTION, contents
from tests.steps.test_run import HONEST, RUNS, answers, driven_study, pool_runs
from tests.steps.test_run import driven as driven  # the fixtures
from tests.steps.test_run import young as young


@pytest.fixture(scope="module")
def once_challenged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study after three more runs have challenged its answers."""
    study = driven_study(tmp_path_factory.mktemp("challenged") / "study")
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
    assert {run for one in agreement(driven, trials=2).agreements for run in [one.runs]} == {3}

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
        db.execute("INSERT INTO answers VALUES (2, 'late', 'd-late', 0)")
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
    board, before = board_of(study), datetime.now(UTC).isoformat()
    pool_runs(study, RUNS[3:], challenge=True)
    assert status(study, history=True).challenge is not None
    result = run(study, **HONEST)  # type: ignore[arg-type]
    first, second = history(study).versions
    assert first.made is not None
    assert (second.duels, second.moved) == (result.duels, result.moved)
    assert board_of(study, "--until", before) == board


def board_of(study: Path, *words: str) -> tuple[str, bytes, str]:
    """What `score` prints of a study, all of it, the table that it writes, and what it says."""
    out = study.parent / "board.csv"
    told = prefjudge("score", study, "--measure", "RR@10", "--details", "--out", out, *words)
    notes = [line for line in told.stderr.splitlines(keepends=True) if line.startswith("note: ")]
    return told.stdout, out.read_bytes(), "".join(notes)


def test_the_board_of_any_day_is_made_again_byte_for_byte(driven: Path) -> None:
    days = {}

    def the_day_ends() -> None:
        days[datetime.now(UTC).isoformat()] = board_of(driven)

    the_day_ends()
    pool_runs(driven, RUNS[3:5], challenge=True)
    the_day_ends()  # while the new runs wait
    run(driven, **HONEST)  # type: ignore[arg-type]
    the_day_ends()
    pool_runs(driven, RUNS[5:], challenge=True)
    run(driven, **HONEST)  # type: ignore[arg-type]
    with Study(driven).transaction() as db:
        (worker,) = db.execute("SELECT worker_id FROM judgments ORDER BY judgment_id LIMIT 1")[0]
        save_barred(db, "sandbox", worker, "a doubt", time.time())
        db.execute(
            "INSERT INTO drops SELECT judgment_id, 'screening', :now FROM judgments WHERE worker_id = :who "
            "AND judgment_id NOT IN (SELECT judgment_id FROM drops)",
            now=time.time(), who=worker,
        )  # fmt: skip
    the_day_ends()
    with Study(driven).transaction() as db:
        _forget_drops(db, "sandbox", "d.reason = 'screening'")
    the_day_ends()
    boards = [*days.values()]
    assert len({printed for printed, _, _ in boards}) == 5, "each day has another board"
    assert "not judged yet" in boards[1][0] + boards[1][2]
    before = contents(driven), sorted(path.name for path in driven.iterdir())
    for day, board in days.items():
        assert board_of(driven, "--until", day) == board
    assert board_of(driven, "--until", "2199-12-31") == boards[-1]
    assert (contents(driven), sorted(path.name for path in driven.iterdir())) == before
    first = resolve(driven, until=next(iter(days)))
    assert (first.judgments, first.out) == (resolve(driven, until=[*days][1]).judgments, None)
    assert first.judgments < resolve(driven, until=[*days][2]).judgments
    with pytest.raises(StudyError, match=r"had no judgments by 2020-01-01T23:59:59.*the first came on"):
        score(driven, until="2020-01-01")
    with pytest.raises(InputError, match="--until yesterday: neither a day nor a time"):
        score(driven, until="yesterday")
    with pytest.raises(InputError, match="--until is about a study"):
        score(runs=[*RUNS], qrels=[COLLECTION / "qrels.txt"], until="2020-01-01")
    with pytest.raises(StudyError, match="can only be read"):
        Study(driven, until=time.time()).transaction().__enter__()


def test_boards_of_answers_that_resolve_wrote_are_made_again(tmp_path: Path) -> None:
    study, labels, texts = tmp_path / "study", tmp_path / "labels.qrels", tmp_path / "texts.tsv"
    texts.write_text("".join(f"d{n}\ttext {n if n != 4 else 3}\n" for n in range(1, 6)))  # d4 copies d3
    (tmp_path / "queries.tsv").write_text("q1\twhat\n")
    labels.write_text("q1 0 d1 1\n")
    days = {}
    votes = (["d1 d2 d1 ann", "d2 d3 d2 ann"], ["d3 d1 d3 ben", "d3 d1 d3 cy"], ["d5 d3 d5 ben"])
    for month, (lines, rule) in enumerate(zip(votes, ([], ["most-wins"], []), strict=True), 1):
        run_file, file = tmp_path / f"run{month}.txt", tmp_path / f"votes{month}.txt"
        ranked = " ".join(f"d{n}" for n in (month, 3 + month % 2, 5)).split()
        run_file.write_text("".join(f"q1 Q0 {d} {n} {9 - n} run{month}\n" for n, d in enumerate(ranked)))
        file.write_text("".join(f"q1 {line}\n" for line in lines))
        import_votes(study, file, queries=tmp_path / "queries.tsv", collection=texts)
        runs = [tmp_path / f"run{n}.txt" for n in range(1, month + 1)]
        pool(study, runs=runs, qrels=labels, queries=tmp_path / "queries.tsv", collection=texts, depth=2)
        resolve(study, rule=rule)
        board, page, site = board_of(study), tmp_path / "page.html", tmp_path / "site"
        report(study, out=page)
        report(study, site=site)
        days[datetime.now(UTC).isoformat()] = board, page.read_bytes(), (site / "index.html").read_bytes()
    assert len({*days.values()}) == 3
    for day, before in days.items():
        page, site = tmp_path / "again.html", tmp_path / "again"
        report(study, out=page, until=day)
        report(study, site=site, until=day)
        again = page.read_bytes(), (site / "index.html").read_bytes()
        assert (board_of(study, "--until", day), *again) == before
    with pytest.raises(InputError, match="what was may only be read"):
        report(study, until=day)
    with pytest.raises(InputError, match="--live shows what is new"):
        report(study, until=day, out=page, live=True)
