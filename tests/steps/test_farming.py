"""A study cannot be farmed: nobody gets a second HIT before the first was screened. All over HTTP."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import urllib3

from prefjudge.crowd.mturk import MTurkCrowd
from prefjudge.crowd.simulated import Mind, SimulatedWorker, Temper
from prefjudge.errors import ConfigError, InputError, StudyError
from prefjudge.fieldwork import trust
from prefjudge.fieldwork.crowds import keep_marketplace_open, open_marketplace
from prefjudge.fieldwork.settlement import Act
from prefjudge.steps.collect import collect
from prefjudge.steps.gold import gold
from prefjudge.steps.pay import pay
from prefjudge.steps.publish import publish
from prefjudge.steps.resolve.resolve import resolve
from prefjudge.steps.serve import _Screener
from prefjudge.steps.status import status
from prefjudge.steps.work import simulated_truth
from prefjudge.study.assignments import save_barred
from prefjudge.study.study import Study
from prefjudge.study.trust import GUESSED, save_exclusion
from prefjudge.study.undecided import TOO_FAST
from tests.steps.conftest import COLLECTION, climbing_study


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    study = climbing_study(tmp_path_factory.mktemp("farming") / "study")
    config = study / "study.toml"
    config.write_text(config.read_text().replace("pairs_per_hit = 10", "pairs_per_hit = 3"))
    with keep_marketplace_open(Study(study)):
        publish(study, sandbox=True, yes=True)
        yield study


def person(study: Path, name: str, slip: float = 0.0, *, simulated: bool = True) -> SimulatedWorker:
    """Somebody who works at once; who is not known to be simulated has an ordinary account."""
    opened = Study(study)
    with open_marketplace(opened) as door:
        card = urllib3.request(
            "POST",
            f"{door.admin}/workers",
            headers={"Authorization": f"Bearer {door.admin_token}", "Accept": "application/json"},
            json={
                "name": name,
                "locale": "US",
                "approved": 20_000,
                "approval_rate": 99,
                **({"simulated": True} if simulated else {}),
            },
        ).json()
        return SimulatedWorker(
            door.worker_site,
            card["invite"],
            Mind(
                truth=simulated_truth(opened, COLLECTION / "truth.tsv"),
                temper=Temper.HONEST,
                error=0.0,
                slip=slip,
                rng=opened.rng(name),
            ),
        )


def take_all(worker: SimulatedWorker) -> int:
    """Take one HIT after another until none is offered."""
    taken = 0
    while worker.take_hit():
        taken += 1
    return taken


def test_nobody_gets_a_second_hit_before_the_first_was_screened(served: Path) -> None:
    guesser, honest = person(served, "guesser", slip=1.0), person(served, "honest")
    rounds = []
    for _ in range(3):
        rounds.append((take_all(guesser), take_all(honest)))
        collect(served)
    assert [ours for _, ours in rounds] == [1, 2, 4], "the honest climb"
    assert [theirs for theirs, _ in rounds] == [1, 0, 0], "who misses every gold pair is barred"
    with Study(served).transaction(write=False) as db:
        assert db.execute("SELECT reason FROM barred") == [("missed 3 of 3 gold pairs",)]


def test_what_nobody_can_have_read_never_counts_and_waits_for_a_person(served: Path) -> None:
    clicker = person(served, "clicker", simulated=False)  # who even gets every gold pair right
    assert take_all(clicker) == 1
    found = collect(served)
    assert found.reasons == {TOO_FAST: 1}
    assert (take_all(clicker), found.reissued) == (0, 1)
    (due,) = [due for due in pay(served, dry_run=True).dues if due.act is Act.DECIDE]
    assert due.why.startswith(f"{TOO_FAST}: 6 comparisons in 0.")
    pay(served)
    assert pay(served).dues == (due,), "neither paid nor rejected by itself"
    assert status(served).to_decide == {due.assignment_id: due.why}
    with Study(served).transaction(write=False) as db:
        reasons = db.execute(
            "SELECT DISTINCT d.reason FROM drops d JOIN judgments USING (judgment_id) "
            "WHERE assignment_id = :id",
            id=due.assignment_id,
        )
        assert reasons == [(TOO_FAST,)]
    assert pay(served, held=True).paid
    assert pay(served).dues == ()


def test_a_kill_between_the_call_and_its_record_takes_nothing_from_a_worker(
    served: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    worker = person(served, "unlucky")
    assert take_all(worker) == 1
    with monkeypatch.context() as killing:
        killing.setattr(MTurkCrowd, "allow", _killed)
        with pytest.raises(KeyboardInterrupt):
            collect(served)
    assert take_all(worker) == 0, "screened, and not told"
    with monkeypatch.context() as killing:
        killing.setattr(trust, "save_allowance", _killed)
        with pytest.raises(KeyboardInterrupt):
            collect(served)
    assert take_all(worker) == 2, "told, and not recorded"
    collect(served)
    assert take_all(worker) == 4


def _killed(*_: object, **__: object) -> None:
    raise KeyboardInterrupt


def test_a_cap_ends_the_climb(served: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    worker = person(served, "capped")
    assert take_all(worker) == 1
    monkeypatch.setenv("PREFJUDGE_WORKERS__MOST_HITS", "2")
    for more in (1, 0):
        collect(served)
        assert take_all(worker) == more
    monkeypatch.delenv("PREFJUDGE_WORKERS__MOST_HITS")
    monkeypatch.setenv("PREFJUDGE_WORKERS__MOST_SHARE", "0.5")
    monkeypatch.setenv("PREFJUDGE_SCREENING__POLICY", "first-miss")
    with pytest.raises(ConfigError, match="only the policy"):
        collect(served)


def test_nothing_is_published_while_too_much_is_dropped(
    served: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trust, "_ENOUGH", 1)
    assert collect(served).stopped == ""
    monkeypatch.setenv("PREFJUDGE_SCREENING__MOST_DROPPED", "0.0")
    assert "assignments were dropped, more than 0%: nothing is published" in collect(served).stopped
    with pytest.raises(StudyError, match="assignments were dropped, more than 0%"):
        publish(served, sandbox=True, yes=True)


def test_gold_says_how_long_a_session_hides_it(served: Path) -> None:
    found = gold(served)
    assert found.hits_before_repeat == found.gold // 3 < found.hits
    assert f"a worker may do {found.hits_before_repeat} HITs before a gold pair repeats" in found.advice
    sized = gold(served, suggest=0, file=served / "sized.tsv")
    assert found.gold < sized.suggested <= 3 * found.hits


def test_what_a_barred_worker_did_can_be_counted_all_the_same(served: Path) -> None:
    study = Study(served)
    with study.transaction(write=False) as db:
        ((worker, judged),) = db.execute(
            "SELECT worker_id, count(*) FROM judgments "
            "WHERE judgment_id NOT IN (SELECT judgment_id FROM drops) "
            "GROUP BY worker_id ORDER BY 2 DESC LIMIT 1"
        )
    every, name = resolve(served).judgments, study.opaque("worker", worker)
    assert resolve(served, without=[name]).judgments == every - judged
    with pytest.raises(InputError, match="no worker of this name is barred"):
        resolve(served, with_=[name])
    with study.transaction() as db:
        save_barred(db, "sandbox", worker, "to try it", 1.0)
        save_exclusion(db, "sandbox", worker, GUESSED, 1.0)
        save_exclusion(db, "sandbox", worker, GUESSED, 1.0)  # a repeat is harmless
    assert resolve(served).judgments == every - judged
    assert resolve(served, with_=[name]).judgments == every


def test_work_is_screened_as_it_comes_while_the_study_is_served(served: Path) -> None:
    worker, screener = person(served, "watched"), _Screener(served)
    assert take_all(worker) == 1
    screener.start()
    try:
        until = time.monotonic() + 20  # it takes a second, on a machine that is not busy
        while not (more := take_all(worker)):
            assert time.monotonic() < until, "nobody screens"
            time.sleep(0.05)
    finally:
        screener.stop()
    assert more == 2
    assert not screener.is_alive()
