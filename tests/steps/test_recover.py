"""A study whose store is lost is not taken for a new one, and is rebuilt from its marketplace."""

import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from unittest.mock import Mock

import pytest

from prefjudge import collect, gold, pay, publish, reject, resolve, run, status, work
from prefjudge.crowd.mturk import MTurkCrowd
from prefjudge.database import Database
from prefjudge.errors import ConfigError, StudyError
from prefjudge.field.crowd import keep_marketplace_open, open_marketplace
from prefjudge.field.history import history
from prefjudge.field.settle import MISSED_GOLD
from prefjudge.steps.store.backup import RecoverResult, _rebuild, recover
from prefjudge.study.people import DOUBTED, TOO_FAST
from prefjudge.study.store import Study
from tests.steps.conftest import (
    COLLECTION,
    climbing_study,
    contents,
    edit,
    let_all_work_at_once,
    made_once,
    pool_demo,
)
from tests.steps.test_farming import person, take_all
from tests.steps.test_interruptions import Killed, Wire, wire  # noqa: F401 - a fixture
from tests.steps.test_run import HONEST, RUNS, answers, pool_runs
from tests.steps.test_run import driven as driven  # the fixture


@made_once
def mixed(study: Path) -> None:
    """A study with dropped, extended and prorated work, all of it collected and paid."""
    let_all_work_at_once(climbing_study(study))
    edit(study, ("pairs_per_hit = 10", "pairs_per_hit = 7"), ("budget = 100.00", "budget = 500.00"))
    tempers = ("careless", "quitter", "quitter", "left", "garbage")
    with keep_marketplace_open(Study(study)):
        publish(study, yes=True)
        work(study, workers=9, error=0.1, slip=0.0, temper=tempers, most=3)
        collect(study)
        work(study, workers=9, error=0.1, slip=0.0, temper=tempers, most=1)
        collect(study)
        publish(study, yes=True)  # what early exits left unanswered
        collect(study)
    assert status(study).dropped_judgments
    assert status(study).waiting == 0


@pytest.fixture
def judged(tmp_path: Path) -> Iterator[Path]:
    """A copy of it, its marketplace answering for as long as the test."""
    study = mixed(tmp_path / "study")
    with keep_marketplace_open(Study(study)):
        yield study


TABLES = {
    "hits": "hit_key, batch, number, target, assignments, reward_cents, layouts, hit_id",
    "slots": "*",
    "pairs": "*",
    "assignments": "assignment_id, hit_key, worker_id, accepted, submitted, answer, layout, answered, "
    "gold_right, gold_missed, seconds, verdict, decision",
    "judgments": "pair_id, query_id, left_id, right_id, choice, strength, milliseconds, worker_id, judge, "
    "phase, assignment_id",
    "intents": "operation, target, subject, cents, outcome IS NULL",
    "barred": "target, worker_id",
}


def held(study: Path) -> dict[str, list[tuple[object, ...]]]:
    """What the store knows of the marketplace, but for numbers and tokens that are its own."""
    opened = Study(study, recovering=True)
    with opened.transaction(write=False) as db:
        found = {
            table: sorted(db.execute(f"SELECT {columns} FROM {table}"), key=repr)
            for table, columns in TABLES.items()
        }
        found["drops"] = sorted(
            db.execute("SELECT assignment_id, pair_id, reason FROM drops JOIN judgments USING (judgment_id)"),
            key=repr,
        )
    opened.close()
    return found


def there(study: Path) -> dict[str, object]:
    """What the marketplace holds: HITs with their assignments, and all that moved."""
    with closing(sqlite3.connect(study / "marketplace.db")) as raw, raw:
        hits = raw.execute("SELECT annotation, max_assignments FROM hits ORDER BY annotation").fetchall()
        bonuses = raw.execute("SELECT assignment_id, cents FROM bonuses ORDER BY assignment_id").fetchall()
        money = raw.execute("SELECT kind, count(*), sum(cents) FROM transfers GROUP BY kind").fetchall()
    raw.close()
    return {"hits": hits, "bonuses": bonuses, "money": money}


@contextmanager
def both(served: Path) -> Iterator[tuple[sqlite3.Connection, sqlite3.Connection]]:
    """The study's store, and the older one beside its folder."""
    with (
        closing(sqlite3.connect(served / "study.db")) as now,
        closing(sqlite3.connect(served.with_name("older.db"))) as older,
        now,
        older,
    ):
        yield now, older


def lose(study: Path) -> None:
    for name in ("study.db", "study.db-wal", "study.db-shm"):
        (study / name).unlink(missing_ok=True)


def rebuild(study: Path) -> RecoverResult:
    pool_demo(study)
    gold(study, accept=True, file=COLLECTION / "gold.tsv")
    return recover(study)


VERBS: list[Callable[[Path], object]] = [
    status,
    pool_demo,
    collect,
    pay,
    resolve,
    lambda study: publish(study, yes=True),
    lambda study: gold(study, suggest=3),
    lambda study: run(study, yes=True, workers=3),
]


@pytest.mark.parametrize("how", ["missing", "no bytes", "no tables"])
def test_a_lost_store_is_not_taken_for_a_new_study(served: Path, how: str) -> None:
    publish(served, yes=True)
    before = there(served)
    lose(served)
    if how == "no bytes":
        (served / "study.db").touch()
    elif how == "no tables":
        with closing(sqlite3.connect(served / "study.db")) as raw:
            raw.execute("PRAGMA journal_mode=WAL").close()
    names = sorted(path.name for path in served.iterdir())
    for verb in VERBS:
        with pytest.raises(StudyError, match="is missing or empty, but the study was published") as refused:
            verb(served)
        assert f"prefjudge store recover {served}" in refused.value.hint
    assert there(served) == before
    assert {path.name for path in served.iterdir()} - set(names) <= {"study.db-wal", "study.db-shm"}


def test_a_store_that_was_lost_before_anything_was_published_is_made_anew(pooled: Path) -> None:
    lose(pooled)
    assert status(pooled).pairs == 0
    pool_demo(pooled)


@pytest.mark.parametrize("verb", [lambda study: publish(study, yes=True), collect, pay])
def test_a_marketplace_that_knows_more_than_the_store_is_obeyed(
    served: Path, verb: Callable[[Path], object]
) -> None:
    """An older store, or one of a clone without a past, would publish and pay again."""
    edit(served, ("pairs_per_hit = 10", "pairs_per_hit = 1"), ("budget = 100.00", "budget = 3.00"))
    with pytest.raises(Exception, match="budget"):
        publish(served, yes=True)
    with both(served) as (now, older):
        now.backup(older)
    edit(served, ("budget = 3.00", "budget = 500.00"))
    publish(served, yes=True)
    before = there(served)
    lose(served)
    shutil.copyfile(served.with_name("older.db"), served / "study.db")
    with pytest.raises(StudyError, match="HITs of this study that its store does not know") as refused:
        verb(served)
    assert "prefjudge store recover" in refused.value.hint
    assert there(served) == before
    found = recover(served)
    assert (found.unmatched, found.remains) == (0, ())
    assert found.rebuilt == len(before["hits"]) - 1  # type: ignore[arg-type]
    publish(served, yes=True)
    assert there(served) == before


def test_run_refuses_an_outdated_store_as_it_is(served: Path) -> None:
    """A strategy that it had settled before it was refused would drive the study from then on."""
    with both(served) as (now, older):
        now.backup(older)
    edit(served, ("budget = 100.00", "budget = 10.00"))
    run(served, strategy="round-robin:1", yes=True, workers=3)
    lose(served)
    shutil.copyfile(served.with_name("older.db"), served / "study.db")
    before = contents(served)
    with pytest.raises(StudyError, match="HITs of this study that its store does not know"):
        run(served, strategy="round-robin:1", yes=True, workers=3)
    assert contents(served) == before
    assert recover(served, strategy="round-robin:1").remains == ()
    assert run(served, yes=True, workers=3).strategy == "round-robin:1"


def test_a_lost_store_is_rebuilt_as_it_was_and_nothing_is_paid_or_published_twice(judged: Path) -> None:
    before, market = held(judged), there(judged)
    assert {row[0] for row in before["intents"]} >= {"CreateHIT", "SendBonus", "RejectAssignment"}
    lose(judged)
    first = recover(judged)
    assert (first.hits, first.rebuilt) == (len(before["hits"]), 0)
    assert ["pool" in first.remains[0], "gold" in first.remains[1]] == [True, True]
    for spend in (lambda: publish(judged, yes=True), lambda: collect(judged), lambda: pay(judged)):
        with pytest.raises(StudyError, match="is being rebuilt"):
            spend()
    assert "is being rebuilt" in status(judged).notices[0]
    found = rebuild(judged)
    assert (found.rebuilt, found.remains) == (len(before["hits"]), ())
    assert found.assignments == len(before["assignments"])
    assert status(judged).notices == ()
    assert held(judged) == before
    edit(judged, ("[design]", '[design]\nquestion = "Which one is longer?"'))
    with pytest.raises(StudyError, match=r'HITs have "Which passage best answers the question[?]"'):
        publish(judged, yes=True)
    edit(judged, ('question = "Which one is longer?"', ""))
    again = recover(judged)
    assert (again.rebuilt, again.assignments, again.decisions, again.bonuses) == (0, 0, 0, 0)
    publish(judged, yes=True)
    pay(judged)
    collect(judged)
    assert there(judged) == market
    work(judged, workers=9, error=0.1, slip=0.0)
    while not collect(judged).finished:
        assert work(judged, workers=14, error=0.1, slip=0.0).submitted
    assert status(judged).waiting == 0


def test_a_hit_that_was_deleted_for_its_money_is_found_again(served: Path) -> None:
    edit(served, ("pairs_per_hit = 10", "pairs_per_hit = 10\njudgments_per_pair = 2"))
    publish(served, yes=True)
    work(served, workers=1, error=0.0)
    with open_marketplace(Study(served)) as door:
        crowd = MTurkCrowd(door.endpoint)
        for task in list(crowd.tasks()):
            crowd.close(task.task_id)
    collect(served)
    before, market = held(served), there(served)
    assert any(row[0] == "DeleteHIT" for row in before["intents"])
    lose(served)
    with (served / "deleted-hits.txt").open("ab") as file:
        file.write(b"\xff\xfe not ids " + b"x" * 300)  # what an editor, or a disk, has left there
    recover(served)
    found = rebuild(served)
    assert (found.unmatched, found.rebuilt) == (0, len(before["hits"]))
    pay(served)
    assert held(served) == before
    assert there(served) == market


def test_a_study_that_run_drove_is_driven_on(served: Path) -> None:
    edit(served, ("budget = 100.00", "budget = 10.00"))
    assert run(served, strategy="sure:60", yes=True, workers=12, error=0.1).stopped_by.startswith("the bud")
    market = there(served)
    lose(served)
    recover(served)
    pool_demo(served)
    gold(served, accept=True, file=COLLECTION / "gold.tsv")
    assert any("--strategy" in text for text in recover(served).notices)
    recover(served, strategy="sure:60")
    assert status(served).waiting == 0
    assert there(served) == market
    edit(served, ("budget = 10.00", "budget = 500.00"))
    done = run(served, yes=True, workers=12, error=0.1)
    assert (done.strategy, done.unfinished) == ("sure:60", 0), done.stopped_by


def test_a_rebuilt_study_knows_whose_votes_were_asked_again(tmp_path: Path) -> None:
    study = climbing_study(tmp_path / "study")
    edit(study, ("pairs_per_hit = 10", "pairs_per_hit = 3"), ("[workers]", "[workers]\nmost_hits = 100"))
    with keep_marketplace_open(Study(study)):
        publish(study, yes=True)
        assert take_all(person(study, "passer-by")) == 1
        assert take_all(person(study, "reads nothing", simulated=False)) == 1
        assert take_all(person(study, "guesser", slip=1.0)) == 1
        regular = person(study, "regular")
        while not collect(study).finished:
            take_all(regular)
        before = held(study)
        assert {reason for *_, reason in before["drops"]} == {DOUBTED, MISSED_GOLD, TOO_FAST}
        edit(study, ("[workers]", "[screening.drop]\nof-the-lost-store = 'copied'\n\n[workers]"))
        lose(study)
        recover(study)
        assert rebuild(study).remains == ()
        assert held(study) == before
        with pytest.raises(ConfigError, match="the study has no worker of this name"):
            collect(study)
        edit(study, ("of-the-lost-store = 'copied'", ""))
        assert (collect(study).reissued, held(study)) == (0, before)


@contextmanager
def killed_at(monkeypatch: pytest.MonkeyPatch, place: int, *, after: bool) -> Iterator[None]:
    """Kill the program at the ``place``-th transaction that writes, before or after it is stored."""
    count = 0
    begin = Database.transaction

    @contextmanager
    def counted(database: Database, *, write: bool = True) -> Iterator[object]:
        nonlocal count
        count += write and database.url.endswith("study.db")
        doomed = write and database.url.endswith("study.db") and count == place
        with begin(database, write=write) as db:
            yield db
            if doomed and not after:
                raise Killed
        if doomed:
            raise Killed

    with monkeypatch.context() as patched:
        patched.setattr(Database, "transaction", counted)
        yield


def test_a_recovery_killed_at_every_write_ends_as_one_that_was_not(
    judged: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By turns before it is stored, and after: the calls in between are broken below."""
    before, market = held(judged), there(judged)
    lose(judged)
    kills = 0
    for step in (recover, pool_demo, lambda s: gold(s, accept=True, file=COLLECTION / "gold.tsv"), recover):
        place = 0
        while True:
            place += 1
            try:
                with killed_at(monkeypatch, place if place < 40 else 0, after=place % 2 == 0):
                    step(judged)
                break
            except Killed:
                kills += 1
    assert kills > len(before["hits"])
    assert held(judged) == before
    publish(judged, yes=True)
    pay(judged)
    assert there(judged) == market


@pytest.mark.parametrize("kind", ["kill before", "reply lost"])
def test_a_recovery_broken_at_every_call_ends_as_one_that_was_not(
    judged: Path,
    wire: Wire,  # noqa: F811
    kind: str,
) -> None:
    before, market = held(judged), there(judged)
    lose(judged)
    recover(judged)
    wire.kind = kind
    wire.until_done(lambda: rebuild(judged))
    wire.kind = ""
    assert held(judged) == before
    assert there(judged) == market


def test_an_older_store_pays_nobody_whom_a_person_has_rejected_since(served: Path) -> None:
    (served / "study.toml").write_text((served / "study.toml").read_text() + '\n[pay]\nwhen = "pay"\n')
    publish(served, yes=True)
    work(served, workers=2, error=0.1, slip=0.0, temper=("quitter", "quitter"), most=1)
    collect(served)
    first, *_ = pay(served, dry_run=True).dues
    assert first.act == "prorate"
    with both(served) as (now, older):
        now.backup(older)
    reject(served, first.assignment_id, reason="copied")
    lose(served)
    shutil.copyfile(served.with_name("older.db"), served / "study.db")
    pay(served)
    assert first.assignment_id not in dict(there(served)["bonuses"])  # type: ignore[call-overload]
    assert there(served)["bonuses"]


def test_hits_after_some_that_match_nothing_wait_for_them() -> None:
    """Else a challenge would be concluded anew with votes of a later one, whose pairs were known before."""
    listed = [
        Mock(task_id=f"{batch}-{number}", key=f"{'a' * 12}-{batch}-{number}-1-{'0' * 24}")
        for batch in (1, 2, 3)
        for number in (1, 2)
    ]
    there: dict[str, Mock | None] = {one.task_id: Mock(hit_key=one.key) for one in listed}
    recovery = Mock(known={listed[-1].key: there["3-2"]}, find=lambda one: there[one.task_id])
    assert _rebuild(recovery, listed, None)[1] == []
    assert recovery.take_in.call_count == 6
    recovery.take_in.reset_mock()
    there["2-2"] = None
    assert _rebuild(recovery, listed, None)[1] == ["2-2"]
    assert [call.args[0].task_id for call in recovery.take_in.call_args_list] == ["1-1", "1-2", "3-2"]


def test_a_study_is_rebuilt_after_two_challenges_with_its_files_and_without(driven: Path) -> None:
    """Each challenge was made against the answers of its day, and newcomers became answers since."""
    challenges = ([RUNS[3]], RUNS[4:])
    with keep_marketplace_open(Study(driven)):
        for runs in challenges:
            pool_runs(driven, runs, challenge=True)
            run(driven, **HONEST)  # type: ignore[arg-type]
        before, market, best = history(driven), there(driven), answers(driven)
        assert any(version.changes for version in before.versions)
        for lost in ([], driven.glob("preference*")):
            lose(driven)
            for path in lost:
                path.unlink()
            recover(driven)
            pool_runs(driven, RUNS[:3])
            gold(driven, accept=True, file=COLLECTION / "gold.tsv")
            for runs in challenges:
                assert recover(driven, strategy="round-robin:1").remains
                pool_runs(driven, runs, challenge=True)
            assert recover(driven).remains == ()
            run(driven, **HONEST)  # type: ignore[arg-type]
            assert there(driven) == market
            assert answers(driven) == best
            told = history(driven).versions
            assert [one.duels for one in told] == [one.duels for one in before.versions]
            assert [one.changes for one in told] == [one.changes for one in before.versions]
