"""The road, step by step, with the marketplace answering over HTTP."""

from collections import Counter
from decimal import Decimal
from pathlib import Path

import pytest
import urllib3

from prefjudge.core.hits import prorated
from prefjudge.crowd.mturk import MTurkCrowd
from prefjudge.errors import BudgetError, CrowdError, InputError, StudyError
from prefjudge.field.crowd import open_marketplace
from prefjudge.reading.labels import read_qrels
from prefjudge.steps.collect import CollectResult, collect
from prefjudge.steps.gold import gold
from prefjudge.steps.init import init
from prefjudge.steps.pay import pay
from prefjudge.steps.publish import publish
from prefjudge.steps.reject import reject
from prefjudge.steps.resolve import resolve
from prefjudge.steps.score import score
from prefjudge.steps.status import status
from prefjudge.steps.work import work
from prefjudge.study.pools import load_withdrawn
from prefjudge.study.store import Study
from tests.steps.conftest import COLLECTION, contents, fix_key, pool_demo

TRUTH = COLLECTION / "truth.tsv"


def judge_all(study: Path, **options: object) -> CollectResult:
    """Work and collect until every pair is judged."""
    for _ in range(20):
        work(study, **{"workers": 6, "error": 0.0, "truth": TRUTH, **options})  # type: ignore[arg-type]
        state = collect(study)
        if state.finished:
            return state
    raise AssertionError(f"not finished after twenty rounds: {state}")


def kept_votes(study: Path) -> Counter[int]:
    with Study(study).transaction(write=False) as db:
        return Counter(
            pair
            for (pair,) in db.execute(
                "SELECT pair_id FROM judgments LEFT JOIN drops USING (judgment_id) WHERE reason IS NULL"
            )
        )


def test_every_pair_is_judged_by_workers_who_passed_and_careless_work_is_judged_again(served: Path) -> None:
    publish(served, yes=True)
    state = judge_all(served, temper=["careless"] * 4)
    with Study(served).transaction(write=False) as db:
        pairs = [row[0] for row in db.execute("SELECT pair_id FROM pairs")]
        missed = {row[0] for row in db.execute("SELECT worker_id FROM assignments WHERE gold_missed > 0")}
        of_missers = db.execute(
            "SELECT count(*) FROM judgments JOIN assignments USING (assignment_id) LEFT JOIN drops "
            "USING (judgment_id) WHERE gold_missed > 0 AND reason IS NULL"
        )[0][0]
    assert kept_votes(served) == dict.fromkeys(pairs, 1)
    assert set(state.barred) == {Study(served).opaque("worker", worker) for worker in missed}
    assert missed, "no careless worker was caught: the seed has lost its point"
    assert of_missers == 0
    assert state.dropped_judgments > 0


def test_without_error_the_road_ends_at_the_truth(served: Path) -> None:
    publish(served, yes=True)
    judge_all(served)
    result = resolve(served)
    assert result.statuses["sparse"] == 0
    utility = {
        (query, doc): float(value)
        for query, doc, value in (line.split("\t") for line in TRUTH.read_text().splitlines()[1:])
    }
    winners = read_qrels(served / "preference.qrels")
    with Study(served).transaction(write=False) as db:
        pooled: dict[str, list[str]] = {}
        for query, doc in db.execute("SELECT DISTINCT query_id, doc_id FROM pooled"):
            pooled.setdefault(query, []).append(doc)
    for query, doc in zip(winners.query.tolist(), winners.doc.tolist(), strict=True):
        candidates = pooled[winners.queries[query]]
        best = max(utility[winners.queries[query], candidate] for candidate in candidates)
        assert utility[winners.queries[query], winners.docs[doc]] == best
    boards = score(served).leaderboards
    assert [board.qrels for board in boards] == ["original", "preference"]
    assert boards[0].rows[0].run != boards[1].rows[0].run
    assert any(row.perfect for row in boards[1].rows)


def test_a_verb_run_twice_changes_nothing_the_second_time(served: Path) -> None:
    init(served, config="paper2021")
    assert not pool_demo(served).changed
    assert gold(served, accept=True, file=COLLECTION / "gold.tsv").accepted == 0
    publish(served, yes=True)
    before = contents(served)
    assert publish(served, yes=True).published == 0
    assert contents(served) == before
    judge_all(served, temper=["careless"])
    before = contents(served)
    assert collect(served).collected == 0
    assert contents(served) == before
    resolve(served)
    written = (served / "preference.qrels").read_bytes()
    resolve(served)
    assert (served / "preference.qrels").read_bytes() == written


def test_a_dry_run_records_nothing(served: Path) -> None:
    before = contents(served)
    offer = publish(served, dry_run=True)
    assert offer.hits == -(-offer.pairs // 10)
    assert contents(served) == before


def test_nobody_is_asked_nothing_is_published(served: Path) -> None:
    with pytest.raises(StudyError, match="you did not confirm it"):
        publish(served)
    with pytest.raises(StudyError, match="you did not confirm it"):
        publish(served, confirm=lambda offer: False)
    assert contents(served)["hits"] == []


def test_a_marketplace_that_is_too_busy_to_answer_is_an_error_in_words(
    served: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    publish(served, sandbox=True, yes=True)

    def busy(method: str, url: str, *, timeout: float, **_: object) -> None:
        assert timeout >= 30
        raise urllib3.exceptions.ReadTimeoutError(None, url, "timed out")  # type: ignore[arg-type]

    with monkeypatch.context() as patch:
        patch.setattr("prefjudge.steps.work.urllib3.request", busy)
        with pytest.raises(CrowdError, match="the marketplace does not answer"):
            work(served, workers=1, most=1)
    assert work(served, workers=1, most=1).submitted == 1


def test_the_budget_holds_and_the_rest_is_published_when_it_grows(served: Path) -> None:
    config = served / "study.toml"
    text = config.read_text()
    config.write_text(text.replace("budget = 100.00", "budget = 5.00"))
    with pytest.raises(BudgetError, match=r"would commit \$2.40 on top of \$4.80; the budget is \$5.00"):
        publish(served, yes=True)
    assert status(served).hits["open"] == 2
    config.write_text(text)
    total = publish(served, yes=True)
    assert status(served).hits == {"open": total.hits + 2}
    assert kept_votes(served) == {}
    judge_all(served)
    assert set(kept_votes(served).values()) == {1}


def test_several_judgments_of_a_pair_come_from_different_workers(tmp_path: Path) -> None:
    study = tmp_path / "study"
    init(study, config="demo")
    config = study / "study.toml"
    text = config.read_text().replace("pairs_per_hit = 10", "pairs_per_hit = 10\njudgments_per_pair = 2")
    text = text.replace("budget = 100.00", "budget = 1000.00")  # however much work is dropped
    fix_key(study)
    config.write_text(text.replace("[design]", "[design]\noverlap = 0.2\nallow_ties = true"))
    pool_demo(study)
    gold(study, accept=True, file=COLLECTION / "gold.tsv")
    publish(study, yes=True)
    judge_all(study, temper=["careless"], error=0.2)
    with Study(study).transaction(write=False) as db:
        wanted = dict(db.execute("SELECT pair_id, votes FROM pairs"))
        most = db.execute(
            "SELECT max(n) FROM (SELECT count(*) AS n FROM judgments LEFT JOIN drops USING (judgment_id) "
            "WHERE reason IS NULL GROUP BY pair_id, worker_id) AS counted"
        )[0][0]
    assert Counter(wanted.values())[3] == round(0.2 * len(wanted))
    assert kept_votes(study) == wanted
    assert most == 1


def test_what_is_missing_is_said_with_the_verb_that_brings_it(tmp_path: Path) -> None:
    with pytest.raises(
        StudyError, match=r"is not a study\nCheck the path, or make a new study there: prefjudge init"
    ):
        status(tmp_path)
    study = tmp_path / "study"
    init(study)
    with pytest.raises(StudyError, match=r"has no pool\nRun: prefjudge pool"):
        publish(study, yes=True)
    for verb in (collect, work):
        with pytest.raises(
            StudyError,
            match=r"nothing published to sandbox\nIt has no pool. Run: .* pool .*; then gold and publish",
        ):
            verb(study)
    whole = r"\nIt has no pool. Run: prefjudge pool .*; then gold, publish"
    with pytest.raises(StudyError, match=rf"no judgments yet{whole} and collect"):
        resolve(study)
    with pytest.raises(StudyError, match=rf"no preference qrels yet{whole}, collect and resolve"):
        score(study)
    pool_demo(study)
    with pytest.raises(StudyError, match=r"0 gold pairs of the 3 that a HIT hides\nRun: prefjudge gold"):
        publish(study, yes=True)
    with pytest.raises(StudyError, match=r"there is no .*gold\.tsv"):
        gold(study, accept=True)
    with pytest.raises(StudyError, match="exists and is not a study"):
        init(tmp_path)


def test_gold_is_suggested_for_review_and_only_what_is_left_is_accepted(pooled: Path) -> None:
    suggested = gold(pooled, suggest=5)
    lines = Path(suggested.file).read_text().splitlines()
    assert len(lines) == 1 + suggested.suggested
    Path(suggested.file).write_text("\n".join(lines[:-1]) + "\n")
    assert gold(pooled, accept=True).accepted == suggested.suggested - 1
    Path(suggested.file).write_text("\n".join([lines[0], "q1\t\t\t\t\t", "q2\tx"]) + "\n")
    with pytest.raises(InputError, match=r"gold\.tsv:2: query, good, bad: empty"):
        gold(pooled, accept=True)


def test_the_reviewed_file_says_which_gold_pairs_the_study_has(pooled: Path) -> None:
    path = pooled / "gold.tsv"
    lines = (COLLECTION / "gold.tsv").read_text().splitlines()
    path.write_text("\n".join(lines[:4]) + "\n")
    found = gold(pooled, accept=True)
    assert (found.accepted, found.withdrawn, found.gold) == (0, len(lines) - 4, 3)
    path.write_text("\n".join(lines) + "\n")
    found = gold(pooled, accept=True)
    assert (found.accepted, found.withdrawn, found.gold) == (len(lines) - 4, 0, len(lines) - 1)


def test_a_gold_pair_that_hits_hide_already_is_withdrawn_and_bars_nobody_from_then_on(served: Path) -> None:
    head, first, *rest = (COLLECTION / "gold.tsv").read_text().splitlines()
    names, cells = head.split("\t"), first.split("\t")
    swapped = {"good": "bad", "good_id": "bad_id", "bad": "good", "bad_id": "good_id"}
    wrong = "\t".join(cells[names.index(swapped.get(name, name))] for name in names)
    path = served / "gold.tsv"
    path.write_text("\n".join([head, wrong, *rest]) + "\n")
    gold(served, accept=True)
    publish(served, yes=True)
    path.write_text("\n".join([head, *rest]) + "\n")
    found = gold(served, accept=True)
    assert (found.accepted, found.withdrawn, found.gold) == (0, 1, len(rest))
    with Study(served).transaction(write=False) as db:
        (number,) = load_withdrawn(db)
        hits = db.execute("SELECT count(*) FROM slots WHERE gold_id = :number", number=number)[0][0]
    assert hits > 0
    work(served, workers=8, error=0.0, truth=TRUTH)
    result = collect(served)
    assert (result.finished, result.dropped, result.barred) == (True, 0, {})
    path.write_text("\n".join([head, wrong, *rest]) + "\n")
    assert (gold(served, accept=True).accepted, gold(served).gold) == (1, len(rest) + 1)


def test_who_stops_early_is_paid_for_the_part_and_keeps_a_clean_record(served: Path) -> None:
    publish(served, yes=True)
    judge_all(served, temper=["quitter"])
    with Study(served).transaction(write=False) as db:
        parts = db.execute(
            "SELECT answered, decision, worker_id, "
            "(SELECT count(*) FROM slots WHERE slots.hit_key = assignments.hit_key) "
            "FROM assignments WHERE decision LIKE 'prorated%' ORDER BY answered"
        )
    assert parts, "nobody stopped early"
    for answered, decision, _, slots in parts:
        assert decision == f"prorated: ${prorated(Decimal('2.00'), answered, slots)} by bonus"
    with open_marketplace(Study(served)) as door:
        crowd = MTurkCrowd(door.endpoint)
        bonuses = crowd.bonuses(_hit_of(served, parts[0][2]))
        assert [str(bonus.amount) for bonus in bonuses] == [parts[0][1].split("$")[1].split(" ")[0]]
        headers = {"Authorization": f"Bearer {door.admin_token}", "Accept": "application/json"}
        page = urllib3.request("GET", f"{door.admin}/overview", headers=headers).json()
    records = {worker["worker_id"]: worker for worker in page["workers"]}
    others = {worker["rejected"] for name, worker in records.items() if name != parts[0][2]}
    assert others == {records[parts[0][2]]["rejected"]}
    again = contents(served)
    assert pay(served).owed == 0
    assert contents(served) == again


def _hit_of(study: Path, worker: str) -> str:
    with Study(study).transaction(write=False) as db:
        rows = db.execute(
            "SELECT hit_id FROM hits JOIN assignments USING (hit_key) WHERE worker_id = :worker "
            "AND decision LIKE 'prorated%' ORDER BY answered",
            worker=worker,
        )
    return str(rows[0][0])


def test_a_settlement_is_shown_before_it_is_paid_and_only_a_person_rejects(served: Path) -> None:
    config = served / "study.toml"
    config.write_text(config.read_text() + '\n[pay]\nwhen = "pay"\n')
    publish(served, yes=True)
    work(served, workers=3, error=0.0, temper=["garbage"], truth=TRUTH, most=1)
    collect(served)
    shown = pay(served, dry_run=True)
    assert sorted(due.act for due in shown.dues) == ["approve", "approve", "decide"]
    assert (shown.owed, shown.paid) == (Decimal("4.00"), False)
    assert pay(served).decided == {"approved": 2, "undecided": 1}
    left = pay(served)
    assert (len(left.dues), left.owed, left.paid) == (1, 0, False)
    garbage = left.dues[0]
    with pytest.raises(StudyError, match="a rejection needs a reason"):
        reject(served, garbage.assignment_id, reason=" ")
    committed = Decimal(status(served).committed)
    rejected = reject(served, garbage.assignment_id, reason="The fields were not those of the page.")
    with Study(served).transaction(write=False) as db:
        ids = {row[0] for row in db.execute("SELECT worker_id FROM assignments")}
    assert rejected.worker_id == garbage.worker_id
    assert not ids & {due.worker_id for due in shown.dues}, "people go by pseudonyms"
    assert Decimal(status(served).committed) == committed - Decimal("2.40")
    with pytest.raises(StudyError, match="is not an assignment of this study that waits"):
        reject(served, garbage.assignment_id, reason="Twice.")
