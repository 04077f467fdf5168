"""Who judged: the marketplace knows which accounts were made for simulation, and every judgment keeps it."""

from pathlib import Path

import pytest
import urllib3

from prefjudge.crowd import mturk
from prefjudge.crowd.simulated import SimulatedWorker, Temper
from prefjudge.errors import CrowdError
from prefjudge.marketplace.requirements import SIMULATED
from prefjudge.steps.collect import collect
from prefjudge.steps.publish import publish
from prefjudge.steps.serve import open_door
from prefjudge.steps.work import simulated_truth, work
from prefjudge.study.rehearsal import load_rehearsal
from prefjudge.study.study import Study
from tests.steps.conftest import COLLECTION

TRUTH = COLLECTION / "truth.tsv"


@pytest.fixture
def offered(served: Path) -> Path:
    publish(served, sandbox=True, yes=True)
    return served


def people_work(study: Path, hits: int = 100) -> None:
    """Let accounts that the admin made for people take so many HITs each."""
    opened = Study(study)
    with open_door(opened) as door:
        for number in range(3):
            reply = urllib3.request(
                "POST",
                f"{door.admin}/workers",
                headers={"Authorization": f"Bearer {door.admin_token}", "Accept": "application/json"},
                json={"name": f"person {number}", "approved": 20_000, "approval_rate": 99},
            )
            person = SimulatedWorker(
                door.worker_site,
                reply.json()["invite"],
                truth=simulated_truth(opened, TRUTH),
                temper=Temper.HONEST,
                error=0.0,
                rng=opened.rng(f"person/{number}"),
            )
            for _ in range(hits):
                if not person.take_hit():
                    break


def judges(study: Path) -> dict[str, int]:
    with Study(study).transaction(write=False) as db:
        return dict(db.execute("SELECT judge, count(*) FROM judgments GROUP BY judge ORDER BY judge"))


@pytest.fixture
def marketplace_that_cannot_tell(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mturk, "SIMULATED", "0000000000NOSUCHTYPE")


def test_the_marketplace_tells_simulated_work_from_peoples(offered: Path) -> None:
    people_work(offered, hits=1)
    collect(offered)
    by_people = judges(offered)
    assert by_people.keys() == {"person"}
    with Study(offered).transaction(write=False) as db:
        assert load_rehearsal(db) is None
    work(offered, workers=6, error=0.0, truth=TRUTH)
    collect(offered)
    both = judges(offered)
    assert both["person"] == by_people["person"]
    assert both["simulated"] > 0
    with Study(offered).transaction(write=False) as db:
        found = load_rehearsal(db)
    assert found is not None
    assert str(found) == (f"rehearsal: {both['simulated']} of {sum(both.values())} judgments are simulated")


@pytest.mark.usefixtures("marketplace_that_cannot_tell")
@pytest.mark.parametrize("judge", ["person", "simulated"])
def test_the_config_says_who_judges_where_the_marketplace_cannot(offered: Path, judge: str) -> None:
    config = offered / "study.toml"
    config.write_text(config.read_text() + f'\n[targets.sandbox]\njudge = "{judge}"\n')
    people_work(offered, hits=1)
    collect(offered)
    assert judges(offered).keys() == {judge}


def test_work_refuses_a_marketplace_that_would_take_its_workers_for_people(
    offered: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("prefjudge.steps.work._FOR_SIMULATION", {})
    with pytest.raises(CrowdError, match=r"does not know accounts for simulation[\s\S]*Update"):
        work(offered, workers=1)


def test_the_crowd_asks_for_what_the_marketplace_has() -> None:
    assert mturk.SIMULATED == SIMULATED
