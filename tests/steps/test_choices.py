"""Questions of several passages, from the pool to the release: one click is a choice, stored as its wins."""

from pathlib import Path

import pytest

from prefjudge import (
    collect,
    export,
    gold,
    import_votes,
    init,
    plan,
    publish,
    release,
    resolve,
    run,
    status,
    work,
)
from prefjudge.cli.road import show_offer
from prefjudge.core.judgments import passed_over
from prefjudge.core.pools import Pools, candidates_of
from prefjudge.database import Connection
from prefjudge.errors import ConfigError, InputError, StudyError
from prefjudge.field.crowd import keep_marketplace_open
from prefjudge.field.pay import lock_crowd
from prefjudge.field.publish import Pages, eligibility, plan_batch
from prefjudge.reading.labels import read_judgments
from prefjudge.steps.store.backup import recover
from prefjudge.steps.workers import examine_workers
from prefjudge.study.assignments import StudyAssignment, StudyJudgment, load_judgments, save_assignment
from prefjudge.study.hits import load_hits
from prefjudge.study.people import Judge
from prefjudge.study.pools import load_pools
from prefjudge.study.progress import Remark, load_remarks, save_remarks, waiting_pairs
from prefjudge.study.store import Study
from tests.steps.conftest import COLLECTION, edit, let_all_work_at_once, pool_demo

TRUTH = COLLECTION / "truth.tsv"


@pytest.fixture
def three(tmp_path: Path) -> Path:
    """A study whose questions show up to three passages, ready to be published."""
    study = tmp_path / "study"
    init(study, config="demo", name="three")
    let_all_work_at_once(study)
    edit(study, ("[hit]\n", "[hit]\npassages = 3\n"))
    pool_demo(study)
    made = gold(study, suggest=12, accept=True)
    assert (made.suggested, made.gold, status(study).gold) == (24, 12, 12), (
        "two lines a question: one good passage, two that are not"
    )
    return study


def judge(study: Path, *, workers: int) -> None:
    """Let so many people who are never wrong judge all that waits."""
    publish(study, sandbox=True, yes=True)
    work(study, workers=workers, error=0.0, truth=TRUTH)
    collect(study)


def waiting(study: Path) -> int:
    with Study(study).transaction(write=False) as db:
        return len(waiting_pairs(db, "sandbox"))


def pooled(pools: Pools, query: str) -> list[str]:
    return [doc for one, doc in candidates_of(pools) if one == query]


def lines(path: Path) -> list[str]:
    return path.read_text().splitlines()


def judged(study: Path) -> None:
    with keep_marketplace_open(Study(study)):
        publish(study, sandbox=True, yes=True)
        while not collect(study).finished:
            work(study, workers=6, error=0.0, truth=TRUTH)


def test_a_question_of_several_passages_shows_every_pair_and_hides_gold_of_as_many(three: Path) -> None:
    hits = plan_batch(Study(three), "sandbox")
    asked = [pair.pair_id for hit in hits for slot in hit.slots for pair in slot.pairs if pair.pair_id]
    assert set(asked) == set(range(1, 70)), "all pairs"
    assert len(asked) < 90, "few of them twice"
    with lock_crowd(Study(three), "sandbox") as crowd:
        task = Pages(Study(three)).task(hits[0], crowd, eligibility(Study(three)))
    assert "several passages" in task.description
    for hit in hits:
        shown = [pair.pair_id for slot in hit.slots for pair in slot.pairs if pair.pair_id]
        assert len(set(shown)) == len(shown), "no pair twice in a HIT"
        golden = [len(slot.passages) for slot in hit.slots if slot.gold_id]
        assert len(golden) == 3
        assert set(golden) <= {len(s.passages) for s in hit.slots if s.pair_id}


def test_a_click_is_stored_as_its_wins_and_finds_the_best(
    three: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert plan(three, trials=40).plans[0].assignments < 20, "half as many questions as pairs"
    judged(three)
    study = Study(three)
    with study.transaction(write=False) as db:
        log = load_judgments(db)
        clicks = db.execute("SELECT assignment_id, query_id, shown, count(*) FROM judgments GROUP BY 1, 2, 3")
        hits = load_hits(db, "sandbox")
    assert log.click is not None
    assert {count for *_, shown, count in clicks if shown} == {2}
    assert all(len(shown.split()) == 3 for _, _, shown, _ in clicks if shown), "all passages, as shown"
    assert waiting(three) == 0
    assert log.passages == 3
    assert [slot.more != () for hit in hits for slot in hit.slots].count(True) > 20
    assert resolve(three).statuses["single"] == 15, "nothing lacks a pair that was shown"
    truth = {(query, doc): float(value) for query, doc, value in map(str.split, lines(TRUTH)[1:])}
    with study.transaction(write=False) as db:
        pools = load_pools(db)
    for query, _, found, _ in map(str.split, lines(three / "preference.qrels")):
        assert found == max(pooled(pools, query), key=lambda doc: truth[query, doc])
    seen = examine_workers(three)
    assert seen.kept <= seen.judgments, "of each choice one win, in what counts too"
    # what leaves the study, and comes back, still knows which wins are one choice
    out = tmp_path / "release"
    release(three, out=out, rehearsal=True)
    read = read_judgments(out / "judgments.txt")
    assert read.click is not None
    told = examine_workers(judgments=out / "judgments.txt")
    assert (told.judgments, told.kept) == (seen.kept, seen.kept), "a file counts choices, as a study does"
    assert read.passages == 3
    assert len(read) == len(log)
    assert sorted(read.worth.tolist()) == sorted(log.worth.tolist())  # type: ignore[union-attr]
    for number, form in enumerate([out, out / "judgments.txt"]):
        again = tmp_path / f"again{number}"
        import_votes(again, form)
        with Study(again).transaction(write=False) as db:
            back = load_judgments(db)
        assert sorted(back.worth.tolist()) == sorted(log.worth.tolist())  # type: ignore[union-attr]
        assert passed_over(back).shape == passed_over(log).shape
    show_offer(publish(three, sandbox=True, dry_run=True))
    assert "HITs      none to publish: no pair waits for votes" in capsys.readouterr().err
    sent = export(three, tmp_path / "votes.csv", to="evalica")
    assert "one choice out of several" in sent.notices[0]
    assert (tmp_path / "votes.csv").read_text().splitlines()[0].endswith(",choice")


def test_a_choice_with_a_pair_that_was_judged_before_is_dropped_as_a_whole(three: Path) -> None:
    judged(three)
    with Study(three).transaction() as db:
        hit, worker, known = db.execute(
            "SELECT hit_key, j.worker_id, pair_id FROM judgments j JOIN assignments USING (assignment_id)"
        )[0]
        mine = {*db.values("SELECT pair_id FROM judgments WHERE worker_id = :worker", worker=worker)}
        first, second, *_ = (one for one in db.values("SELECT pair_id FROM pairs") if one not in mine)
        wins = [(known, "b", "a b c"), (first, "c", "a b c"), (second, "d", "")]
        of = {"query_id": "q", "left_id": "a", "choice": 1, "strength": 1, "milliseconds": 9}
        again = [StudyJudgment(pair_id=pair, right_id=doc, shown=shown, **of) for pair, doc, shown in wins]  # type: ignore[arg-type]
        row = {"accepted": 1.0, "submitted": 2.0, "collected": 2.0, "answer": "", "judge": Judge.SIMULATED}
        more = {"layout": 0, "answered": 2, "gold_right": 0, "gold_missed": 0, "seconds": 9.0}
        made = {"assignment_id": "again", "hit_key": hit, "worker_id": worker, "verdict": "kept"}
        save_assignment(db, StudyAssignment(judgments=again, **made, **row, **more), phase="main")  # type: ignore[arg-type]
        gone = db.values(
            "SELECT pair_id FROM drops JOIN judgments USING (judgment_id) WHERE assignment_id = 'again'"
        )
    assert gone == [known, first], "both wins of the choice, and nothing else"


def test_a_larger_pool_is_played_in_rounds_until_it_is_sure(three: Path) -> None:
    with keep_marketplace_open(Study(three)):
        done = run(three, sure=0.8, workers=30, error=0.1, truth=TRUTH, yes=True)
    assert done.rounds > 1
    assert done.qrels >= 15
    with Study(three).transaction(write=False) as db:
        assert load_judgments(db).passages == 3


def test_round_robin_ends_though_losers_are_not_compared(three: Path) -> None:
    with keep_marketplace_open(Study(three)):
        done = run(three, strategy="round-robin:2", workers=12, error=0.0, truth=TRUTH, yes=True)
    assert (done.unfinished, done.stopped_by) == (0, "nothing left to ask")


def test_what_too_many_cannot_judge_is_asked_no_more(three: Path) -> None:
    with keep_marketplace_open(Study(three)):
        judge(three, workers=3)
    study = Study(three)
    with study.transaction() as db:
        hits = load_hits(db, "sandbox")
        hit, place = next((h, i) for h in hits for i, s in enumerate(h.slots) if s.more and s.pair_id)
        pairs = {pair.pair_id for pair in hit.slots[place].pairs}
        db.execute("UPDATE pairs SET votes = 9")
        before = {row[0] for row in waiting_pairs(db, "sandbox")}
        _cannot(db, hit.hit_key, place, hit.slots[place].pair_id)
        after = {row[0] for row in waiting_pairs(db, "sandbox")}
        remark = load_remarks(db)[0]
    assert len({remark.doc_a, remark.doc_b, *remark.others.split()}) == 3, "all passages that it is on"
    assert before - after == pairs, "the question as a whole"


def _cannot(db: Connection, hit_key: str, place: int, pair: int | None) -> None:
    """Let four people say of one question that they cannot judge it."""
    for number in range(4):
        row = {"worker_id": f"w{number}", "collected": 1.0, "answer": "", "layout": 0, "answered": 9}
        more = {"gold_right": 3, "gold_missed": 0, "seconds": 9.0, "verdict": "kept"}
        db.insert("assignments", {"assignment_id": f"a{number}", "hit_key": hit_key, **row, **more})
        save_remarks(db, f"a{number}", [Remark(slot=place, pair_id=pair, unable="text", comment="")])


def test_a_lost_store_is_recorded_again_from_the_pages(three: Path) -> None:
    with keep_marketplace_open(Study(three)):
        judge(three, workers=6)
        study = Study(three)
        with study.transaction(write=False) as db:
            before, slots = load_judgments(db), load_hits(db, "sandbox")
        study.close()
        with study.transaction() as db:
            for table in ("drops", "remarks", "judgments", "assignments", "slots", "intents", "hits"):
                db.execute(f"DELETE FROM {table}")
        recover(three)
        with Study(three).transaction(write=False) as db:
            after, again = load_judgments(db), load_hits(db, "sandbox")
    assert len(after) == len(before)
    assert after.passages == 3
    for one, other in zip(slots, again, strict=True):
        assert {(s.name, frozenset(s.passages)) for s in one.slots} == {
            (s.name, frozenset(s.passages)) for s in other.slots
        }
        pairs = [{pair for s in hit.slots for pair in (p.pair_id for p in s.pairs)} for hit in (one, other)]
        assert pairs[0] == pairs[1]


def test_what_takes_two_passages_is_refused_with_more(three: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="decoys stand in pairs"):
        gold(three, suggest=0, decoys=COLLECTION / "collection.tsv")
    edit(three, ("passages = 3", "passages = 5"))
    with pytest.raises(StudyError, match=r"0 gold questions of 5 passages \(passages in \[hit\]"):
        publish(three, sandbox=True, yes=True)
    edit(three, ("[design]\n", "[design]\nallow_ties = true\n"))
    with pytest.raises(ConfigError, match="asked of two passages only"):
        publish(three, sandbox=True, yes=True)
