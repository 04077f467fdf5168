"""The road on a real collection, verb by verb, as a person would walk it."""

import json
from pathlib import Path

from prefjudge.reading.labels import read_qrels
from prefjudge.study.store import Study
from tests.cli.conftest import Finished, prefjudge
from tests.steps.conftest import let_all_work_at_once


def walk(*arguments: object) -> Finished:
    done = prefjudge(*arguments)
    assert done.returncode == 0, f"{arguments}: {done.stderr}"
    return done


def test_ten_runs_and_fifty_two_queries_become_preference_qrels(data_dir: Path, tmp_path: Path) -> None:
    cacm, study = data_dir / "cacm", tmp_path / "study"
    walk("init", study)
    let_all_work_at_once(study)
    pooled = walk(
        "pool", study, "--runs", cacm / "runs" / "*.txt.gz", "--qrels", cacm / "qrels.txt",
        "--queries", cacm / "queries.tsv", "--collection", cacm / "collection.tsv", "--depth", 1,
    )  # fmt: skip
    assert "840 pairs to judge: 6 hours of work" in pooled.stderr
    # Some of the collection's own qrels name documents without their leading zeros.
    assert "lacks 46 of the 555 relevant documents" in pooled.stderr
    walk("gold", study, "--suggest", 12)
    walk("gold", study, "--accept")
    walk("publish", study, "--sandbox", "--yes")
    rounds = 0
    while True:
        rounds += 1
        walk("work", study, "--workers", 20, "--error", 0.2, "--slip", 0, "--careless", 2)
        collected = prefjudge("collect", study, "--json")
        state = json.loads(collected.stdout)
        assert collected.returncode == (0 if state["open"] == state["waiting"] == 0 else 3)
        if collected.returncode == 0:
            break
        assert rounds < 10
    assert rounds > 1, "nothing had to be judged again"
    _all_judged_by_who_passed(study, state["barred"])
    walk("resolve", study)
    walk("score", study)
    assert set(read_qrels(study / "preference.qrels").queries) <= set(read_qrels(cacm / "qrels.txt").queries)
    assert (study / "leaderboard.csv").read_text().count("ql-dirichlet") == 2


def _all_judged_by_who_passed(study: Path, barred: list[str]) -> None:
    with Study(study).transaction(write=False) as db:
        unjudged = db.execute(
            "SELECT count(*) FROM pairs p WHERE NOT EXISTS (SELECT 1 FROM judgments j JOIN assignments a "
            "USING (assignment_id) LEFT JOIN drops d USING (judgment_id) "
            "WHERE j.pair_id = p.pair_id AND d.judgment_id IS NULL AND a.gold_missed = 0 "
            "AND a.gold_right = 3)"
        )[0][0]
        missed = {row[0] for row in db.execute("SELECT worker_id FROM assignments WHERE gold_missed > 0")}
        dropped = {row[0] for row in db.execute("SELECT DISTINCT reason FROM drops")}
        rejudged = db.execute(
            "SELECT count(*) FROM judgments bad JOIN drops USING (judgment_id) JOIN judgments good "
            "ON good.pair_id = bad.pair_id AND good.worker_id <> bad.worker_id "
            "WHERE good.judgment_id NOT IN (SELECT judgment_id FROM drops)"
        )[0][0]
        all_dropped = db.execute("SELECT count(*) FROM drops")[0][0]
    assert unjudged == 0
    assert set(barred) == {Study(study).opaque("worker", worker) for worker in missed}
    assert len(barred) == 2
    assert dropped == {"missed a gold pair"}
    assert rejudged == all_dropped > 0
