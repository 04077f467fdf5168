"""The road with thirty workers of all kinds on a real collection, while the marketplace's replies fail."""

import time
from collections import Counter
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pytest
import urllib3

from prefjudge import collect, gold, init, publish, status, work, workers
from prefjudge.crowd.mturk import MTurkCrowd
from prefjudge.field.crowd import Address, keep_marketplace_open, open_marketplace
from prefjudge.steps.work import WorkResult
from prefjudge.study.store import Study
from tests.marketplace.faults import Fault, Faults
from tests.steps.conftest import let_all_work_at_once, pool_from, until_done

T = TypeVar("T")

KINDS = [
    "left", "left", "first", "first", "careless", "careless", "hasty", "hasty", "gold-aware", "gold-aware",
    "quitter", "quitter", "garbage", "twice", "twice",
]  # fmt: skip
WORKERS = 30
FAULTS = [
    Fault("drop", "CreateHIT", times=4, after=5),
    Fault("throttle", "CreateHIT", times=8, after=20),
    Fault("error", "CreateHIT", times=7, after=30),
    Fault("drop", "ListAssignmentsForHIT", times=6, after=4),
    Fault("error", "GetHIT", times=9, after=11),
    Fault("drop", "ApproveAssignment", times=9, after=3),
    Fault("drop", "RejectAssignment", times=1),
    Fault("drop", "SendBonus", times=7),
    Fault("drop", "CreateAdditionalAssignmentsForHIT", times=6, after=2),
    Fault("throttle", "AssociateQualificationWithWorker", times=6),
    Fault("delay", seconds=0.01, times=20),
]


class Marketplace:
    """The study's marketplace as its admin sees it."""

    def __init__(self, address: Address) -> None:
        self._door = address

    def call(self, method: str, path: str, **body: object) -> dict[str, Any]:
        reply = urllib3.request(
            method, f"{self._door.admin}/{path}", json=body or None,
            headers={"Authorization": f"Bearer {self._door.admin_token}", "Accept": "application/json"},
        )  # fmt: skip
        assert reply.status < 300, reply.data
        return reply.json() if reply.data else {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """The study at its end, what the simulation knows of its workers, and the money on both sides."""

    study: Path
    work: WorkResult
    interruptions: int
    spent: Decimal
    overview: dict[str, Any]


@pytest.fixture(scope="module")
def finished(data_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> Finished:
    """Take the whole road once; each test looks at the end of it."""
    cacm = data_dir / "cacm"
    if not cacm.is_dir():
        pytest.skip("no cacm/ in the real data")
    study = tmp_path_factory.mktemp("kinds") / "study"
    with pytest.MonkeyPatch.context() as patch:
        # Which gold pairs a HIT hides, and who comes first, is drawn alike each time.
        patch.setattr("prefjudge.study.store.new_key", lambda: "07" * 32)
        patch.setattr("prefjudge.steps.work._AT_ONCE", 1)
        init(study)
        let_all_work_at_once(study)
        config = study / "study.toml"
        text = config.read_text().replace("# sample = 500 ", "sample = 28")
        config.write_text(text.replace("judgments_per_pair = 1", "judgments_per_pair = 3"))
        pool_from(cacm, study, "runs/*.gz")
        gold(study, suggest=40, accept=True)
        with keep_marketplace_open(Study(study)), open_marketplace(Study(study)) as address:
            patch.setattr(time, "sleep", lambda _: None)  # the client waits before it repeats a call
            return _take_the_road(study, address, Faults(patch))


def _take_the_road(study: Path, address: Address, faults: Faults) -> Finished:
    market, crowd = Marketplace(address), MTurkCrowd(address.endpoint)
    before = crowd.balance()
    faults.add(*(replace(one) for one in FAULTS))
    interruptions = until_done(lambda: publish(study, yes=True))
    for _ in range(20):
        done = work(study, workers=WORKERS, error=(0.1, 0.35), slip=0.0, temper=KINDS, most=6)
        interruptions += until_done(lambda: collect(study))
        state = status(study)
        if not state.waiting and not state.hits.get("open") and not state.hits.get("planned"):
            break
    else:
        raise AssertionError(f"not finished: {state}")
    return Finished(
        study=study,
        work=done,
        interruptions=interruptions,
        spent=before - crowd.balance(),
        overview=market.call("GET", "overview"),
    )


def rows(finished: Finished, question: str) -> list[tuple[Any, ...]]:
    with Study(finished.study).transaction(write=False) as db:
        return db.execute(question)


def of_kind(finished: Finished, *kinds: str) -> set[str]:
    return {worker for worker, kind in finished.work.tempers.items() if kind in kinds}


def test_the_faults_were_met(finished: Finished) -> None:
    assert finished.interruptions >= 3


def test_every_pair_is_judged_three_times_by_workers_who_passed(finished: Finished) -> None:
    kept = rows(
        finished,
        "SELECT j.pair_id, j.worker_id, a.verdict, a.gold_missed, a.gold_right FROM judgments j "
        "JOIN assignments a USING (assignment_id) LEFT JOIN drops d USING (judgment_id) "
        "WHERE d.judgment_id IS NULL",
    )
    pairs = [pair for (pair,) in rows(finished, "SELECT pair_id FROM pairs")]
    assert len(pairs) > 280
    assert Counter(pair for pair, *_ in kept) == dict.fromkeys(pairs, 3)
    assert len({(pair, worker) for pair, worker, *_ in kept}) == len(kept)
    assert {tuple(rest) for _, _, *rest in kept} == {("kept", 0, 3)}


def test_every_drop_is_explained_by_a_record(finished: Finished) -> None:
    found = rows(
        finished,
        "SELECT a.verdict, d.reason, a.gold_missed, a.answered, "
        "(SELECT count(*) FROM slots s WHERE s.hit_key = a.hit_key), "
        "(SELECT count(*) FROM judgments o WHERE o.pair_id = j.pair_id AND o.worker_id = j.worker_id) "
        "FROM judgments j JOIN assignments a USING (assignment_id) LEFT JOIN drops d USING (judgment_id)",
    )
    reasons = Counter(reason for _, reason, *_ in found)
    for verdict, reason, missed, answered, slots, by_same in found:
        if reason is None:
            assert verdict == "kept"
        elif reason == "the worker has judged this pair before":
            assert by_same > 1
        else:
            assert reason == verdict
            assert missed > 0 if reason == "missed a gold pair" else answered < slots
    assert reasons["missed a gold pair"] > 70
    assert reasons["stopped before every gold pair was answered"] > 0


def test_the_marketplace_and_the_study_know_the_same_assignments(finished: Finished) -> None:
    counts = finished.overview["counts"]["assignments"]
    assert sum(counts.values()) == len(rows(finished, "SELECT 1 FROM assignments"))
    unusable = rows(finished, "SELECT DISTINCT worker_id FROM assignments WHERE verdict LIKE 'unusable%'")
    assert {worker for (worker,) in unusable} == of_kind(finished, "garbage")
    judged = rows(finished, "SELECT DISTINCT worker_id FROM judgments")
    assert {worker for (worker,) in judged} == set(finished.work.tempers) - of_kind(finished, "garbage")
    [(assignments, hits)] = rows(
        finished, "SELECT count(*), count(DISTINCT worker_id || hit_key) FROM assignments"
    )
    assert assignments == hits, "a worker had a HIT twice"


def test_the_ledgers_agree_to_the_cent(finished: Finished) -> None:
    money = {name: Decimal(str(value)) for name, value in finished.overview["money"].items()}
    assert Decimal(status(finished.study).committed) == finished.spent
    assert sum(money[kind] for kind in ("paid", "bonus", "fees", "held")) == finished.spent
    assert money["bonus"] > 0
    assert finished.overview["ledger_imbalance"] == []
    undecided = rows(finished, "SELECT verdict FROM assignments WHERE decision IS NULL")
    assert all(verdict.startswith("unusable") for (verdict,) in undecided)


def test_those_who_do_not_look_are_barred_and_nobody_else(finished: Finished) -> None:
    opened = Study(finished.study)
    caught = of_kind(finished, "left", "first", "careless")
    assert set(status(finished.study).barred) == {opened.opaque("worker", worker) for worker in caught}


def test_reliability_follows_the_truth_that_the_simulation_knows(finished: Finished) -> None:
    result = workers(finished.study, ids=True)
    known = [row for row in result.workers if row.judgments]
    errors = [finished.work.errors[row.worker] for row in known]
    assert len(known) == WORKERS - len(of_kind(finished, "garbage"))
    # It is 1 for many who look, whatever they err: what counts is that those by chance are below them.
    reliability, by_chance = np.array([row.reliability for row in known]), np.array(errors) == 0.5
    looking = reliability[~by_chance]
    assert looking.mean() > reliability[by_chance].mean() + 0.5
    assert (looking[:, None] > reliability[by_chance]).mean() > 0.93
    honest = of_kind(finished, "honest", "hasty", "twice", "quitter")
    assert 0.15 < result.alpha < 0.6
    assert result.judgments > result.kept == 3 * result.pairs == 3 * result.repeated
    assert not [row for row in known if row.worker in honest and row.gold_missed]


def test_each_kind_stands_out_by_what_it_does(finished: Finished) -> None:
    result = workers(finished.study, ids=True)
    seen = {(sign.worker, sign.kind.value) for sign in result.signs}
    for kind, about in [("left", "side"), ("hasty", "time"), ("careless", "time")]:
        assert {(worker, about) for worker in of_kind(finished, kind)} <= seen
    by_chance = {worker for worker, about in seen if about in ("side", "run")} - of_kind(finished, "left")
    assert len(by_chance) <= 1, (
        "sides are drawn at random: at most one in a hundred studies shows such a sign"
    )
    fast = {worker for worker, about in seen if about == "time"}
    assert fast == of_kind(finished, "left", "first", "careless", "hasty")
