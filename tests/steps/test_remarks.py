"""What workers say beside their choices: comments, and pairs that they cannot judge. All over HTTP."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from prefjudge import collect, gold, pay, publish, release, report, resolve, status, workers
from prefjudge.crowd.simulated import SimulatedWorker
from prefjudge.errors import InputError
from prefjudge.field.crowd import keep_marketplace_open
from prefjudge.reading.pools import read_gold, write_gold
from prefjudge.study.people import STOPPED, UNABLE
from prefjudge.study.pools import load_gold, load_practice
from prefjudge.study.progress import waiting_pairs
from prefjudge.study.store import Study
from tests.steps.conftest import COLLECTION, climbing_study, edit
from tests.steps.test_farming import person

HOSTILE = "<script>alert(1)</script>\x00\u202e mail me: ada@example.org"


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A study of three judgments a pair, and one of its gold pairs for practice."""
    study = climbing_study(tmp_path_factory.mktemp("remarks") / "study")
    edit(study, ("pairs_per_hit = 10", "pairs_per_hit = 10\njudgments_per_pair = 3"))
    header, first, *others = (COLLECTION / "gold.tsv").read_text().splitlines()
    table = [f"{header}\tpractice", f"{first}\tOnly one is about it.", *others]
    (study / "gold.tsv").write_text("\n".join(table) + "\n")
    gold(study, accept=True)
    with keep_marketplace_open(Study(study)):
        publish(study, sandbox=True, yes=True)
        yield study


def saying(study: Path, name: str, change: Callable[[dict[str, str], set[str]], None]) -> SimulatedWorker:
    """An honest worker whose fields are changed before they are sent; ``change`` gets the gold slots, too."""
    worker = person(study, name)
    honest = worker._fields
    with Study(study).transaction(write=False) as db:
        hidden = {slot for (slot,) in db.execute("SELECT name FROM slots WHERE gold_id IS NOT NULL")}

    def fields(page, assignment_id):
        found = honest(page, assignment_id)
        change(found, hidden)
        return found

    worker._fields = fields
    return worker


def pairs_in(fields: dict[str, str], hidden: set[str]) -> list[str]:
    return sorted({name.removesuffix(".ms") for name in fields if name.endswith(".ms")} - hidden)


def test_what_workers_say_is_kept_shown_and_released_without_names(served: Path) -> None:
    def talk(fields: dict[str, str], hidden: set[str]) -> None:
        pairs = pairs_in(fields, hidden)
        fields[pairs[0]] = "unable-text"
        fields["comment"] = "x" * 60_000
        fields[f"{pairs[1]}.comment"] = HOSTILE
        fields[f"{min(hidden & fields.keys())}.comment"] = "This one is easy."
        fields["practice0"] = "good"
        fields["nosuchslot00"] = "unable-text"

    for name in ("ann", "bob", "cid"):
        assert saying(served, name, talk).take_hit()
    collect(served)
    opened = Study(served)
    with opened.transaction(write=False) as db:
        ids = [worker for (worker,) in db.execute("SELECT DISTINCT worker_id FROM assignments")]
        (unable,) = {pair for (pair,) in db.execute("SELECT pair_id FROM remarks WHERE unable <> ''")}
        assert db.execute("SELECT count(*) FROM judgments WHERE pair_id = :p", p=unable) == [(0,)]
        assert unable not in {row[0] for row in waiting_pairs(db)}
        assert db.execute("SELECT DISTINCT answered, verdict FROM assignments") == [(13, "kept")]
    assert status(served).unjudgeable == 1
    found = workers(served).remarks
    assert len(found) == 9
    assert {len(one.comment) for one in found if not one.query} == {2000}
    assert not any("easy" in one.comment for one in found)
    assert {one.unable for one in found} == {"", "text"}
    said = next(one.comment for one in found if "script" in one.comment)
    assert "\x00" not in said
    assert "\u202e" not in said
    page = Path(report(served).out).read_text()
    assert "&lt;script&gt;alert(1)" in page
    assert "<script>alert(1)" not in page
    with opened.transaction() as db:  # as somebody might sign
        db.execute(
            "UPDATE remarks SET comment = comment || ' I am ' || (SELECT lower(worker_id) FROM assignments a "
            "WHERE a.assignment_id = remarks.assignment_id) || '.' WHERE slot >= 0"
        )
    resolve(served)
    done = release(served, rehearsal=True)
    lines = [json.loads(line) for line in (Path(done.out) / "comments.jsonl").read_text().splitlines()]
    assert len(lines) == 9
    assert "ada@example.org" not in str(lines)
    assert "[removed]" in str(lines)
    assert not any(worker.lower() in str(lines).lower() for worker in ids)
    assert any("comments.jsonl" in notice for notice in done.notices)


def test_who_cannot_judge_a_gold_pair_gets_past_no_screening(served: Path) -> None:
    def dodge(fields: dict[str, str], hidden: set[str]) -> None:
        for name in hidden & fields.keys() | set(pairs_in(fields, hidden)[1:]):
            fields[name] = "unable-topic"

    assert saying(served, "dodger", dodge).take_hit()
    collect(served)
    pay(served, held=True)  # no gold pair was answered, so that pay waits for more
    with Study(served).transaction(write=False) as db:
        rows = db.execute("SELECT answered, decision FROM assignments WHERE verdict = :v", v=STOPPED)
    assert [(answered, "0.16" in decision) for answered, decision in rows] == [(1, True)]


def test_who_cannot_judge_most_pairs_closes_none_and_is_paid_for_the_rest(served: Path) -> None:
    def dodge(fields: dict[str, str], hidden: set[str]) -> None:
        for name in pairs_in(fields, hidden):
            fields[name] = "unable-topic"

    for name in ("dan", "eva", "fay"):
        assert saying(served, name, dodge).take_hit()
    before = status(served).unjudgeable
    found = collect(served)
    assert found.reasons == {UNABLE: 3}
    with Study(served).transaction(write=False) as db:
        assert db.execute("SELECT DISTINCT answered FROM assignments WHERE verdict = :v", v=UNABLE) == [(3,)]
    assert status(served).unjudgeable == before
    assert [row.unable for row in workers(served).workers].count(10) == 3


def test_gold_for_practice_never_screens(served: Path, tmp_path: Path) -> None:
    opened = Study(served)
    with opened.transaction(write=False) as db:
        (lesson,) = load_practice(db)
        numbers = {number for number, pair in load_gold(db).items() if pair.practice}
        assert not numbers & {n for (n,) in db.execute("SELECT DISTINCT gold_id FROM slots")}
    assert lesson.practice == "Only one is about it."
    back = tmp_path / "gold.tsv"
    pairs = read_gold(served / "gold.tsv")
    write_gold(back, [*pairs[1:], type(lesson)(**{**_values(pairs[0]), "practice": ""})])
    with pytest.raises(InputError, match="cannot screen") as refused:
        gold(served, accept=True, file=back)
    assert "explained in practice" in str(refused.value.problems)


def _values(pair: object) -> dict[str, str]:
    return {name: getattr(pair, name) for name in pair.__slots__}
