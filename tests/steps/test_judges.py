"""Who judged: the marketplace knows which accounts were made for simulation, and every judgment keeps it."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
import urllib3
from typer.testing import CliRunner

from prefjudge import collect, publish, release, work
from prefjudge.cli.app import app
from prefjudge.crowd.mturk import crowd
from prefjudge.crowd.simulated import Mind, SimulatedWorker, Temper
from prefjudge.errors import CrowdError, StudyError
from prefjudge.field.crowd import open_marketplace
from prefjudge.marketplace.people.qualifications import SIMULATED
from prefjudge.steps.work import simulated_truth
from prefjudge.study.people import load_rehearsal
from prefjudge.study.store import Study
from tests.steps.conftest import COLLECTION, edit

TRUTH = COLLECTION / "truth.tsv"


@pytest.fixture
def offered(served: Path) -> Path:
    publish(served, sandbox=True, yes=True)
    return served


def people_work(study: Path, hits: int = 100) -> None:
    """Let accounts that the admin made for people take so many HITs each."""
    opened = Study(study)
    with open_marketplace(opened) as door:
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
                Mind(
                    truth=simulated_truth(opened, TRUTH),
                    temper=Temper.HONEST,
                    error=0.0,
                    slip=0.0,
                    rng=opened.rng(f"person/{number}"),
                ),
            )
            for _ in range(hits):
                if not person.take_hit():
                    break


def judges(study: Path) -> dict[str, int]:
    with Study(study).transaction(write=False) as db:
        return dict(db.execute("SELECT judge, count(*) FROM judgments GROUP BY judge ORDER BY judge"))


@pytest.fixture
def marketplace_that_cannot_tell(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(crowd, "SIMULATED", "0000000000NOSUCHTYPE")


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
    edit(offered, more=f'\n[targets.sandbox]\njudge = "{judge}"\n')
    people_work(offered, hits=1)
    collect(offered)
    assert judges(offered).keys() == {judge}


def test_a_program_behind_accounts_for_people_is_what_the_config_says(offered: Path) -> None:
    edit(offered, more='\n[targets.sandbox]\njudge = "simulated"\n')
    people_work(offered, hits=1)
    assert collect(offered).rehearsal is not None
    assert judges(offered).keys() == {"simulated"}


def test_work_refuses_a_marketplace_that_would_take_its_workers_for_people(
    offered: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("prefjudge.steps.work._FOR_SIMULATION", {})
    with pytest.raises(CrowdError, match=r"has no accounts for simulation[\s\S]*Upgrade"):
        work(offered, workers=1)


def test_the_crowd_asks_for_what_the_marketplace_has() -> None:
    assert crowd.SIMULATED == SIMULATED


VERBS = (
    ("status",),
    ("collect",),
    ("resolve",),
    ("resolve", "--per-query", "--format", "pref", "--out", "OUT/pairs.txt"),
    ("score", "--per-query", "--plot", "OUT/boards.svg"),
    ("score", "--out", "OUT/board.tex"),
    ("score", "--out", "OUT/board.md", "--format", "csv"),
    ("score", "--out", "OUT/board.json", "--format", "md"),
    ("winratio", "--out", "OUT/matrix.csv", "--plot", "OUT/matrix.svg"),
    ("compare", "--study", "STUDY", "--out", "OUT/tests.csv"),
    ("stability", "--trials", "20", "--out", "OUT/ranks.md"),
    ("agreement", "--trials", "4", "--out", "OUT/halves.tex"),
    ("status", "--history"),
    ("workers",),
    ("report", "--out", "OUT/report.html"),
    ("release", "--out", "OUT/release", "--rehearsal"),
)


@pytest.fixture
def shown(few_judged: Path, tmp_path: Path) -> Callable[[bool], dict[str, str]]:
    """Do what shows something, and return all that was printed and written, by its name."""

    def show(documents: bool) -> dict[str, str]:
        out = tmp_path / "out"
        (out / "release").mkdir(parents=True, exist_ok=True)
        found = {}
        for verb, *words in VERBS:
            told = [word.replace("OUT", str(out)).replace("STUDY", str(few_judged)) for word in words]
            study = [] if verb == "compare" else [few_judged]
            done = CliRunner().invoke(app, [verb, *map(str, study), *told])
            assert done.exit_code == 0, (done.output, done.exception)
            found[" ".join((verb, *words))] = done.output
            if documents and f"{verb} --json" not in found:
                bare = told[: told.index("--plot")] if "--plot" in told else told  # the last: drawn already
                plain = CliRunner().invoke(app, [verb, *map(str, study), *bare, "--json"])
                found[f"{verb} --json"] = plain.stdout
        names = ("preference", "leaderboard", "winratio")
        written = [path for name in names for path in few_judged.glob(f"{name}*")]
        for path in (*written, *out.rglob("*.*")):
            found[path.name] = path.read_text()
        return found

    return show


def test_what_is_rehearsed_says_so_everywhere_until_it_is_not(
    few_judged: Path, shown: Callable[[bool], dict[str, str]]
) -> None:
    count = sum(judges(few_judged).values())
    words = f"rehearsal: {count} of {count} judgments are simulated"
    found = shown(True)
    noted = {name for name in found if name.endswith(".rehearsal.txt")}
    assert {name.removesuffix(".rehearsal.txt") for name in noted} == {
        *("preference", "leaderboard", "leaderboard.per-query", "winratio", "pairs", "matrix"),
        *("tests", "tests.reciprocal-ranks", "tests.outcomes", "preferences", "resolutions", "likely"),
    }
    drawn = {name for name in found if name.endswith(".svg") and " " not in name}
    silent = []
    for name, text in found.items():
        if name.endswith("--json"):
            assert json.loads(text)["rehearsal"] == {"simulated": count, "judgments": count}, name
        elif name in drawn:
            assert "<!-- rehearsal: " in text, name
        elif name.startswith("board.") and not name.endswith(".provenance.json"):
            assert words in text, name
        elif words not in text and words.replace("rehearsal:", "**Rehearsal:") not in text:
            silent.append(name)
    assert {*silent} - {name for name in silent if f"{Path(name).stem}.rehearsal.txt" in noted} == {
        "leaderboard.provenance.json",
        "board.provenance.json",
        "assignments.jsonl",
        "judgments.jsonl",
        "pool.tsv",
        "release.json",
    }
    assert f'"rehearsal": "{words.partition(": ")[2]}"' in found["leaderboard.provenance.json"]
    assert {json.loads(line)["judge"] for line in found["judgments.jsonl"].splitlines()} == {"simulated"}
    assert json.loads(found["release.json"])["rehearsal"] == {"simulated": count, "judgments": count}
    assert "people chose" not in found["README.md"]
    assert found["report.html"].count(words) > found["report.html"].count("<caption>") > 3

    with Study(few_judged).transaction() as db:  # as if people had judged the same
        db.execute("UPDATE judgments SET judge = 'person'")
    again = shown(False)  # what a document says was seen to be what the words say
    assert again.keys() == {name for name in found.keys() - noted if not name.endswith("--json")}
    assert [name for name, text in again.items() if words in text or "<!-- rehearsal" in text] == []
    assert (
        json.loads(CliRunner().invoke(app, ["status", str(few_judged), "--json"]).stdout)["rehearsal"] is None
    )
    assert "people chose" in again["README.md"]


def test_simulated_judgments_are_not_released_by_mistake(few_judged: Path, tmp_path: Path) -> None:
    out = tmp_path / "release"
    with pytest.raises(StudyError, match=r"rehearsal: (\d+) of \1 judgments are simulated[\s\S]*--rehearsal"):
        release(few_judged, out=out)
    assert not out.exists()
    with Study(few_judged).transaction() as db:
        db.execute("UPDATE judgments SET judge = 'person'")
    assert release(few_judged, out=out).rehearsal is None
    with Study(few_judged).transaction() as db:  # a single one that does not even count is one
        db.execute("UPDATE judgments SET judge = 'simulated' WHERE judgment_id = 1")
        db.execute("INSERT INTO drops VALUES (1, 'missed a gold pair', 0)")
    with pytest.raises(StudyError, match="rehearsal: 1 of "):
        release(few_judged, out=out)
    assert (
        "people and simulated workers chose"
        in (Path(release(few_judged, out=out, rehearsal=True).out) / "README.md").read_text()
    )
