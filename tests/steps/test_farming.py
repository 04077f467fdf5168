"""A study cannot be farmed: nobody gets a second HIT before the first was screened. All over HTTP."""

import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import urllib3

from prefjudge import collect, gold, init, pay, publish, resolve, status, workers
from prefjudge.cli.road import collect as show
from prefjudge.crowd.mturk import MTurkCrowd
from prefjudge.crowd.protocol import RefusedError
from prefjudge.crowd.simulated import Mind, SeenPage, SeenSlot, SimulatedWorker, Temper
from prefjudge.crowd.tasks import Submission, SubmissionState
from prefjudge.errors import ConfigError, CrowdError, InputError, StudyError
from prefjudge.field import crowd as watching
from prefjudge.field import settle, trust
from prefjudge.field.crowd import Watch, keep_marketplace_open, open_crowd, open_marketplace
from prefjudge.field.publish import trusted_group
from prefjudge.field.settle import Act, check_assignment
from prefjudge.field.trust import least_seconds, waits_until
from prefjudge.reading.pools import read_gold, write_gold
from prefjudge.steps.collect import CollectResult
from prefjudge.steps.serve import Screener
from prefjudge.steps.work import simulated_truth
from prefjudge.study.assignments import KEPT, forget_barred, save_barred
from prefjudge.study.hits import load_hits
from prefjudge.study.judgments import load_conduct
from prefjudge.study.people import (
    DOUBTED,
    GUESSED,
    HELD,
    STOPPED,
    TOO_FAST,
    count_votes,
    load_allowances,
    load_undecided,
    load_workers,
    save_exclusion,
)
from prefjudge.study.pools import load_active_gold, load_pairs_by_number
from prefjudge.study.progress import count_judgments, load_barred, moment
from prefjudge.study.store import Study
from tests.core.test_trust import gang
from tests.core.test_trust import study as judged
from tests.steps.conftest import COLLECTION, climbing_study


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Path]:
    study = climbing_study(tmp_path / "study")
    config = study / "study.toml"
    text = config.read_text().replace("pairs_per_hit = 10", "pairs_per_hit = 3")
    config.write_text(text.replace("[workers]", "[workers]\nmost_hits = 100  # more than its gold allows"))
    with keep_marketplace_open(Study(study)):
        publish(study, sandbox=True, yes=True)
        yield study


def person(study: Path, name: str, slip: float = 0.0, *, simulated: bool = True) -> SimulatedWorker:
    """Somebody who works at once; who is not known to be simulated has an ordinary account."""
    opened, known = Study(study), {"simulated": True} if simulated else {}
    with open_marketplace(opened) as door:
        card = urllib3.request(
            "POST",
            f"{door.admin}/workers",
            headers={"Authorization": f"Bearer {door.admin_token}", "Accept": "application/json"},
            json={"name": name, "locale": "US", "approved": 20_000, "approval_rate": 99, **known},
        ).json()
        truth, rng = simulated_truth(opened, COLLECTION / "truth.tsv"), opened.rng(name)
        mind = Mind(truth=truth, temper=Temper.HONEST, error=0.0, slip=slip, rng=rng)
        return SimulatedWorker(door.worker_site, card["invite"], mind)


def take_all(worker: SimulatedWorker) -> int:
    """Take one HIT after another until none is offered."""
    taken = 0
    while worker.take_hit():
        taken += 1
    return taken


def guess(study: Path) -> None:
    """Let a guesser make a HIT, whose judgments are dropped and who is barred."""
    assert take_all(person(study, "guesser", slip=1.0)) == 1
    assert collect(study).dropped == 1


def climb(study: Path, name: str = "honest", rounds: int = 2) -> None:
    """Let somebody honest make some HITs, which count."""
    worker = person(study, name)
    for number in range(rounds):
        assert take_all(worker) == 2**number
        collect(study)


def test_nobody_gets_a_second_hit_before_the_first_was_screened(served: Path) -> None:
    guesser, honest = person(served, "guesser", slip=1.0), person(served, "honest")
    rounds, waiting = [], []
    for _ in range(3):
        rounds.append((take_all(guesser), take_all(honest)))
        collect(served)
        waiting.append([due.why for due in pay(served, dry_run=True).dues if due.act is Act.WAIT])
    assert [ours for _, ours in rounds] == [1, 2, 4], "the honest climb"
    assert [theirs for theirs, _ in rounds] == [1, 0, 0], "who misses every gold pair is barred"
    assert [len(whys) for whys in waiting] == [1, 0, 0], "three gold pairs leave doubt, nine do not"
    assert waiting[0][0].startswith(
        "made all comparisons; paid when its worker's gold pairs leave no doubt, and by 2"
    )
    with Study(served).transaction(write=False) as db:
        assert db.execute("SELECT reason FROM barred") == [("missed 3 of 3 gold pairs, as by guessing",)]


def test_what_nobody_can_have_read_never_counts_and_waits_for_a_person(
    served: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clicker = person(served, "clicker", simulated=False)  # who even gets every gold pair right
    assert take_all(clicker) == 1
    found = collect(served)
    assert found.reasons == {TOO_FAST: 1}
    assert (take_all(clicker), found.reissued) == (0, 1)
    undecided = tuple(due for due in pay(served, dry_run=True).dues if due.act is Act.DECIDE)
    (due,) = undecided
    assert due.why.startswith(f"{TOO_FAST}: 6 comparisons in 0.")
    pay(served)
    assert pay(served).dues == undecided, "neither paid nor rejected by itself"
    found = status(served)
    assert found.to_decide == {one.assignment_id: one.why for one in undecided}
    with Study(served).transaction(write=False) as db:
        ((submitted,),) = db.execute(
            "SELECT submitted FROM assignments WHERE assignment_id = :id", id=undecided[0].assignment_id
        )
    assert found.decide_by == moment(submitted + 7 * 86_400), "then the marketplace pays by itself"
    monkeypatch.setenv("PREFJUDGE_HIT__AUTO_APPROVAL_DAYS", "1")  # of HITs that are published from now on
    assert status(served).decide_by == found.decide_by
    assert [row.held for row in workers(served).workers if row.worker == due.worker_id] == [1]
    with Study(served).transaction(write=False) as db:
        reasons = db.execute(
            "SELECT DISTINCT d.reason FROM drops d JOIN judgments USING (judgment_id) "
            "WHERE assignment_id = :id",
            id=due.assignment_id,
        )
        assert reasons == [(TOO_FAST,)]
    assert pay(served, held=True).paid
    assert pay(served).dues == ()
    assert status(served).decide_by is None
    assert not any(row.held for row in workers(served).workers)


def test_who_passes_gold_pairs_over_climbs_no_rung_and_gets_three_hits(served: Path) -> None:
    stopper, taken = person(served, "stopper"), []
    honest, study = stopper._fields, Study(served)
    with study.transaction(write=False) as db:
        hidden = {slot for (slot,) in db.execute("SELECT name FROM slots WHERE gold_id IS NOT NULL")}

    def stop(page: SeenPage, assignment_id: str) -> dict[str, str]:
        left = {name for slot in page.slots if (name := slot.name) in hidden}
        return {**{k: v for k, v in honest(page, assignment_id).items() if k not in left}, "stopped": "1"}

    stopper._fields = stop  # type: ignore[method-assign]
    for _ in range(4):
        taken.append(take_all(stopper))
        collect(served)
    assert taken == [1, 1, 1, 0]
    with study.transaction(write=False) as db:
        ((worker, came),) = db.execute(
            "SELECT worker_id, count(*) FROM assignments WHERE verdict = :v GROUP BY worker_id", v=STOPPED
        )
        assert (came, worker in load_barred(db)) == (3, False)
    config = served / "study.toml"
    before = config.read_text()
    config.write_text(
        f'{before}\n[screening]\nkeep.{study.opaque("worker", worker)} = "she was called away"\n'
    )
    collect(served)
    config.write_text(before)
    assert take_all(stopper) == 1, "a person overrules it"
    collect(served)


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


def test_who_follows_a_visible_rule_is_held_until_a_person_decides(served: Path) -> None:
    follower, config = person(served, "follower"), served / "study.toml"

    def follow(slot: SeenSlot, *, leftmost: int) -> int:
        mind = follower._mind
        return mind._better(slot) if mind._is_easy(slot) else leftmost

    follower._mind = FollowingMind(follower._mind, follow)  # type: ignore[assignment]
    for _ in range(4):
        take_all(follower)
        collect(served)
    study = Study(served)
    assert trust._votes_to_look_at(study, "sandbox") == 0, "all were looked at"
    with study.transaction() as db:
        db.execute("UPDATE hits SET target = 'live'")
    assert trust._votes_to_look_at(study, "live") > 0, "of another target none was"
    with study.transaction() as db:
        db.execute("UPDATE hits SET target = 'sandbox'")
    ((name, why),) = status(served).barred.items()
    assert re.fullmatch(f"{HELD}: chose the left passage in (\\d+) of \\1 votes.*", why)
    assert (take_all(follower), count(served)) == (0, 0), "no more HITs, and nothing counts meanwhile"
    assert {due.act for due in pay(served, dry_run=True).dues} <= {Act.DECIDE}
    other, open_before = person(served, "another"), status(served).hits["open"]
    assert other.post(f"/groups/{other.get('/hits')['groups'][0]['group_id']}/accept")[0] < 300
    config.write_text(f'{config.read_text()}\n[screening]\nkeep.{name} = "I asked her"\n')
    found = collect(served)
    assert (found.open, found.held) == (open_before - found.closed, 1)
    assert found.closed > 3, "what was asked again is closed, but for what somebody holds"
    assert (other.take_hit(), (found := collect(served)).collected, found.expired) == (True, 1, 0)
    assert {due.act for due in pay(served, dry_run=True).dues} == {Act.WAIT}, "and is paid as any other"
    assert (status(served).barred, take_all(follower) > 0, count(served) > 0) == ({}, True, True)


def test_whose_votes_tell_no_more_than_coins_is_held_unless_most_may_be_wrong() -> None:
    assert trust._find_coins(judged(20, 10, 3, votes=3), {})[0] == {}, (
        "who reads may be so unlucky for 36 votes"
    )
    coins = judged(120, 10, 3, votes=3)
    for votes, many in ((100, True), (10, False)):
        counted = {worker: votes if worker in ("w0", "w1", "w2") else 100 for worker in coins.workers}
        held, little = trust._find_coins(coins, counted)
        assert set(little) == {"w0", "w1", "w2"}
        assert (held is None) == many, "where they are many, who is right?"
        assert many or "w0" in (held or ())
    for votes, queries in ((1, 140), (3, 60)):
        few = gang(share=0.6, right=0.95, votes=votes, queries=queries)
        assert trust._find_coins(few, {})[0] is None, "most votes follow another order"


def test_who_is_held_as_a_coin_is_let_go_once_more_votes_tell_otherwise(served: Path) -> None:
    climb(served, "early")
    climb(served, "another")
    study, counted = Study(served), count(served)
    with study.transaction() as db:
        first, second, *_ = load_workers(db)
        for worker, why in ((first, ""), (second, "by hand; ")):
            save_barred(db, "sandbox", worker, f"{HELD}: {why}54 {trust._LIKE_COINS}", time.time())
    assert collect(served).collected == 0
    assert (len(status(served).barred), count(served)) == (2, 0)
    climb(served, "a third", rounds=1)
    assert collect(served).collected == 0
    (why,) = status(served).barred.values()
    assert "by hand" in why
    assert count(served) > counted / 2


def test_that_nobody_is_held_as_too_many_would_be_is_said(
    served: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trust, "_find_coins", lambda log, counted: (None, [*counted]))
    assert take_all(person(served, "somebody")) == 1
    (said,) = collect(served).notices
    assert said.startswith("the votes of 1 worker, 100% of all, hardly agree with others'; nobody is held")


def test_accounts_of_one_person_are_shown_together_and_held_by_one_command(served: Path) -> None:
    accounts, config = [person(served, f"account {number}") for number in range(2)], served / "study.toml"
    while sum(take_all(one) for one in accounts):
        collect(served)
    study = Study(served)
    with study.transaction() as db:
        db.execute("UPDATE judgments SET judge = 'person'")
        db.execute("UPDATE hits SET published = 0")
        db.execute(
            "UPDATE assignments SET accepted = 600 * place, submitted = 600 * place + 570 FROM (SELECT "
            "assignment_id AS one, 2 * row_number() OVER (PARTITION BY worker_id ORDER BY submitted) + "
            "(worker_id > (SELECT min(worker_id) FROM assignments)) AS place FROM assignments) "
            "WHERE one = assignment_id"
        )
    config.write_text(config.read_text().replace("100.00", "900.00"))  # all is asked again
    found = workers(served)
    ((group,), known) = found.persons, {row.worker for row in found.workers}
    assert set(group.workers) == known
    assert "began within 60 seconds after another of them had stopped" in group.text
    first, second = group.workers
    assert f"perhaps one person (--hold {first} --hold {second}): in " in "".join(found.screen().sure)
    with pytest.raises(InputError, match="--hold nobody: the study has no worker of this name"):
        workers(served, hold=["nobody", first])
    with pytest.raises(InputError, match="--hold, --forget, --export and --judgments exclude each other"):
        workers(served, hold=[first], export=second)
    with pytest.raises(InputError, match="--hold holds workers of a study"):
        workers(hold=[first])
    assert status(served).barred == {}
    with study.transaction(write=False) as db:
        known_ids = load_workers(db)
    ids = {study.opaque("worker", one): one for one in known_ids}
    with study.transaction() as db:  # as if the second had missed gold, and the votes before it counted
        save_barred(db, "sandbox", ids[second], "missed 1 of 3 gold pairs", 0.0)
    held = workers(served, hold=[first, second])
    assert held.notices[0].startswith(
        "2 workers are held from the next `collect` on, until you decide: a line "
    )
    assert {row.worker: row.barred for row in held.workers} == {
        first: f"{HELD}: by hand",
        second: f"{HELD}: by hand; missed 1 of 3 gold pairs",
    }
    collect(served)
    assert (list(map(take_all, accounts)), count(served)) == ([0, 0], 0)
    config.write_text(f'{config.read_text()}\n[screening]\nkeep.{first} = "one of two at a desk"\n')
    collect(served)
    assert (set(status(served).barred), count(served) > 0) == ({second}, True)
    assert [note for note in resolve(served).notices if "held" in note] == [
        f"the votes of 1 held worker are left out; prefjudge status {served} says how to decide"
    ]
    assert "held" not in "".join(resolve(served, with_=[second]).notices)
    with pytest.raises(ConfigError, match=f"keeps {first}"):
        workers(served, hold=[first])
    config.write_text(f'{config.read_text()}drop.{second} = "the other of the two"\n')
    with pytest.raises(ConfigError, match=f"drops {second}"):
        workers(served, hold=[second])


class FollowingMind:
    """A mind that chooses as a function does."""

    def __init__(self, mind: Mind, choose: Callable[..., int]) -> None:
        self.mind, self.choose = mind, choose

    def __getattr__(self, name: str) -> Any:
        return getattr(self.mind, name)


def test_votes_that_leave_doubt_are_asked_again_of_the_proven(
    served: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert take_all(person(served, "passer-by")) == 1
    regular = person(served, "regular")
    while not collect(served).reissued:
        assert take_all(regular)
    study = Study(served)
    assert [due.act for due in pay(served, dry_run=True).dues] == [Act.WAIT], "the study is not over"
    with study.transaction() as db:
        doubted = [list(count_votes(db, target, DOUBTED).values()) for target in ("sandbox", "live")]
        assert doubted == [[3], []], "its one HIT"
        (known,) = count_votes(db, "sandbox")
        bases: list[set[str]] = []
        monkeypatch.setattr(trust, "find_shortcuts", lambda *_, base: bases.append({*base}))
        trust.find_followers(study, db, load_conduct(db)[0])
        db.execute("DELETE FROM drops")
        trust.find_followers(study, db, load_conduct(db)[0])
        assert bases == [{known}, {known}], "who is proven, and cast most votes, says what is usual"
        monkeypatch.undo()
        save_barred(db, "sandbox", known, HELD, 0.0)
    assert not trust.ask_again(study, "sandbox"), "who is held is nobody to ask"
    with study.transaction() as db:
        forget_barred(db, "sandbox", known)
    assert trust.ask_again(study, "sandbox")
    assert take_all(person(served, "newcomer")) == 0, "not of those who are as unknown"
    assert (take_all(regular), collect(served).finished) == (1, True)


def test_nothing_is_asked_again_where_all_proven_workers_have_judged_it(tmp_path: Path) -> None:
    """Else the study could never end."""
    study = climbing_study(tmp_path / "study")
    config = study / "study.toml"
    text = config.read_text().replace("pairs_per_hit = 10", "pairs_per_hit = 3\njudgments_per_pair = 2")
    config.write_text(text.replace("[workers]", "[workers]\nmost_hits = 100").replace("100.00", "300.00"))
    with keep_marketplace_open(Study(study)):
        publish(study, sandbox=True, yes=True)
        regular = person(study, "regular")
        while take_all(regular):
            collect(study)
        number = sum(status(study).hits.values())
        for passer in range(number):
            assert take_all(person(study, f"passer-by {passer}")) == 1
        assert collect(study).finished
        with Study(study).transaction(write=False) as db:
            assert db.execute("SELECT count(*) FROM drops") == [(0,)]


def test_times_are_the_marketplaces(served: Path) -> None:
    with Study(served).transaction(write=False) as db:
        hit = next(iter(load_hits(db, "sandbox")))
        pairs = load_pairs_by_number(db)
    names = {slot.name: slot.tokens[0] for slot in hit.slots}

    def verdict(passed: float, claimed: float, least: float = 0.0) -> str:
        fields = {"consent": "yes", **names, **{f"{name}.ms": f"{1000 * claimed / 6:.0f}" for name in names}}
        found = Submission(
            submission_id="A", worker_id="W", accepted=0.0, submitted=passed, fields=fields, raw="",
            state=SubmissionState.SUBMITTED, fault="", simulated=False, reason="",
        )  # fmt: skip
        design = Study(served).config.design
        return check_assignment(hit, found, pairs, design, words=60, least=least).verdict

    assert verdict(69.0, 609.0) == TOO_FAST, "looked at for longer than it was held"
    assert verdict(69.0, 120.0) == verdict(69.0, 0.0) == KEPT, "clocks differ; no times at all"
    assert [verdict(passed, passed, least=5.0) for passed in (29.0, 31.0)] == [TOO_FAST, KEPT]
    assert least_seconds(Study(served), "sandbox") == 0.0, "nobody is proven"
    regular = person(served, "regular")
    while not collect(served).finished:
        take_all(regular)
    with Study(served).transaction() as db:  # by 13 HITs of six comparisons, each in a minute
        db.execute("UPDATE judgments SET judge = 'person'")
        db.execute("UPDATE assignments SET accepted = 0, submitted = 60, seconds = 999")
    assert least_seconds(Study(served), "sandbox") == 2.0


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


@pytest.mark.parametrize("asked_again", [False, True])
def test_who_has_had_all_that_is_open_keeps_no_others_from_it(
    served: Path, monkeypatch: pytest.MonkeyPatch, asked_again: bool
) -> None:
    """Else the last HIT waits for ever: one has had its pairs, and the others have done their share."""
    monkeypatch.setattr(trust, "_cap", lambda *given: 9 if len(given[-1]) == 1 else 2)
    first, second = person(served, "first"), person(served, "second")
    for more in (second, first):
        assert (take_all(first), more.take_hit()) == (1, more is second)
        collect(served)
    study = Study(served)
    with study.transaction() as db:
        ((slow, _),) = db.execute(
            "SELECT worker_id, count(*) FROM assignments GROUP BY 1 HAVING count(*) = 1"
        )
        db.execute(
            "UPDATE hits SET status = CASE WHEN hit_key IN (SELECT hit_key FROM assignments "
            "WHERE worker_id = :slow) THEN 'open' ELSE 'closed' END",
            slow=slow,
        )
        if asked_again:  # what another dropped: the same pairs in a HIT that nobody has had
            db.execute(
                "UPDATE hits SET status = CASE WHEN hit_key = (SELECT min(hit_key) FROM hits "
                "WHERE hit_key NOT IN (SELECT hit_key FROM assignments)) THEN 'open' ELSE 'closed' END"
            )
            db.execute(
                "UPDATE slots SET pair_id = (SELECT min(pair_id) FROM judgments WHERE worker_id = :slow) "
                "WHERE hit_key IN (SELECT hit_key FROM hits WHERE status = 'open') AND pair_id IS NOT NULL",
                slow=slow,
            )
    with open_crowd(study, "sandbox") as crowd:
        trust.allow_more(study, crowd, "sandbox", again=asked_again)
    with study.transaction(write=False) as db:
        assert max(load_allowances(db, "sandbox").values()) > 2


@pytest.mark.parametrize(
    ("done", "gold", "cap"),
    [
        ([1], 12, 4),
        ([4], 12, 8),  # nobody else is there: it goes on
        ([4, 1, 1], 12, 4),
        ([4, 4, 1], 12, 8),
        ([9, 8, 1], 12, 12),
        ([1, 1], 2, 2),  # fewer than a HIT hides: they repeat
        ([1], 120, 21),  # the whole study
        ([1] * 7, 120, 7),  # two and a half times an equal share
        ([1] * 50, 120, 2),  # a tenth
    ],
)
def test_a_cap_follows_from_the_gold_pairs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, done: list[int], gold: int, cap: int
) -> None:
    study = tmp_path / "study"
    init(study, name="study")
    assert trust._cap(Study(study), 21, gold, done) == cap
    monkeypatch.setenv("PREFJUDGE_WORKERS__MOST_HITS", "7")
    assert trust._cap(Study(study), 21, gold, done) == 7
    monkeypatch.setenv("PREFJUDGE_WORKERS__MOST_SHARE", "0.2")
    assert trust._cap(Study(study), 21, gold, done) == 4


def test_nobody_new_begins_until_first_hits_are_good_or_the_others_are_gone(
    served: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trust, "_LEAST_BEGIN", 4)
    monkeypatch.setattr(trust, "_SHARE_BEGIN", 0.0)
    monkeypatch.setattr(trust, "load_setting", lambda *_: "")  # what was allowed before
    monkeypatch.setattr(settle, "_too_fast", lambda *_: False)
    study = Study(served)

    def seen(*, stuck: bool = False) -> tuple[bool, str]:
        with open_crowd(study, "sandbox") as crowd:
            limited, words = trust.admit_newcomers(study, crowd, "sandbox", stuck=stuck)
            return limited, "".join(words)

    assert seen() == (False, "")
    people = [person(served, f"n{number}", slip=0.5, simulated=False) for number in range(6)]
    assert [one.take_hit() for one in people] == [True] * 4 + [False] * 2
    assert "nobody new gets a HIT for now: 4 people got" in "".join(collect(served).notices)
    assert not people[5].take_hit()
    with study.transaction() as db:  # they are gone, but for two
        db.execute("UPDATE assignments SET submitted = submitted - 9999 WHERE rowid < 3")
    assert seen() == (True, "")
    assert people[4].take_hit()
    collect(served)
    with study.transaction() as db:
        db.execute("UPDATE assignments SET submitted = (SELECT max(submitted) FROM assignments)")
    assert "5 people" in seen()[1]
    assert not people[5].take_hit()
    assert seen(stuck=True) == (True, ""), "nobody does the work"
    assert "5 people" in seen()[1]
    with study.transaction() as db:
        db.execute("UPDATE assignments SET gold_right = 9, gold_missed = 0")
    assert seen() == (False, "")
    assert people[5].take_hit(), "the first work of those who came is good"


def test_a_marketplace_from_an_older_backup_is_told_again(served: Path) -> None:
    guess(served)
    worker = person(served, "forgotten")
    assert take_all(worker) == 1
    collect(served)
    study = Study(served)
    with study.transaction(write=False) as db:
        (name,) = [one for one, hits in load_allowances(db, "sandbox").items() if hits == 3]
        barred = list(load_barred(db))
    told: list[str] = []
    with open_crowd(study, "sandbox") as crowd:
        crowd.allow(name, trusted_group(study), 1, submitted=1)  # as the backup has it
    assert take_all(worker) == 0
    with pytest.MonkeyPatch.context() as watching:
        bar = MTurkCrowd.bar
        watching.setattr(
            MTurkCrowd, "bar", lambda crowd, who, group: (told.append(who), bar(crowd, who, group))[1]
        )
        assert collect(served).collected == 0
    assert told == barred != []
    assert take_all(worker) == 2
    collect(served)


def test_pay_waits_so_many_days_at_most_and_never_when_all_is_done(
    served: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = Study(served)
    newcomer = person(served, "newcomer")
    assert take_all(newcomer) == 1
    collect(served)
    with study.transaction(write=False) as db:
        undecided = load_undecided(db, "sandbox")
    until = max(waits_until(study, "sandbox", undecided, time.time()).values())
    assert until == max(one.submitted or 0.0 for one in undecided) + 2 * 86_400
    assert waits_until(study, "sandbox", undecided, until) == {}
    with monkeypatch.context() as longer:
        longer.setenv("PREFJUDGE_PAY__DOUBT_DAYS", "30")
        latest = waits_until(Study(served), "sandbox", undecided, time.time()).values()
        assert max(latest) == max(one.pays_itself or 0.0 for one in undecided), "the marketplace pays before"
    with monkeypatch.context() as done:
        done.setattr(trust, "count_hits", lambda *_: {})
        done.setattr(trust, "waiting_pairs", lambda *_: [])
        assert waits_until(study, "sandbox", undecided, time.time()) == {}
    assert pay(served).dues[-1].act is Act.WAIT
    monkeypatch.setenv("PREFJUDGE_PAY__DOUBT_DAYS", "0")
    assert pay(served).dues[-1].act is Act.APPROVE


def test_nothing_is_published_while_too_much_is_dropped(
    served: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    climb(served)
    guess(served)
    monkeypatch.setattr(trust, "_ENOUGH", 1)
    assert collect(served).stopped == ""
    monkeypatch.setenv("PREFJUDGE_SCREENING__MOST_DROPPED", "0.0")
    assert "assignments were dropped, more than 0%: nothing is published" in collect(served).stopped
    with pytest.raises(StudyError, match="assignments were dropped, more than 0%"):
        publish(served, sandbox=True, yes=True)


def test_gold_says_how_long_a_session_hides_it(served: Path) -> None:
    found = gold(served)
    assert found.hits_before_repeat == found.gold // 3 < found.hits
    assert f"may do {found.hits_before_repeat} of the study's {found.hits} HITs" in found.advice
    sized = gold(served, suggest=0, file=served / "sized.tsv")
    assert sized.suggested == -(-5 * 3 * found.hits // 4), "a quarter more, for HITs that are issued again"


def test_what_a_barred_worker_did_can_be_counted_all_the_same(served: Path) -> None:
    climb(served)
    climb(served, "another", rounds=1)
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


@pytest.mark.parametrize(("policy", "kept"), [("first-miss", 2), ("first-miss-whole", 1)])
def test_a_miss_costs_a_hit_or_all_that_the_worker_judged(tmp_path: Path, policy: str, kept: int) -> None:
    study = climbing_study(tmp_path / "study")
    config = study / "study.toml"
    config.write_text(f'{config.read_text()}\n[screening]\npolicy = "{policy}"\n')
    with keep_marketplace_open(Study(study)):
        publish(study, sandbox=True, yes=True)
        first, second = person(study, "one"), person(study, "another")
        assert first.take_hit()
        assert second.take_hit()
        collect(study)
        each = count(study) // 2
        first._mind.slip = 1.0
        assert first.take_hit()
        (failed,) = collect(study).barred
        assert count(study) == kept * each
        collect(study)
        assert count(study) == kept * each, "a repeat changes nothing"
        config.write_text(f'{config.read_text()}keep.{failed} = "she read"\n')
        collect(study)
        assert count(study) == 2 * each, "a person overrules it; the HIT with the miss never counts"


def test_a_person_overrules_the_policy_and_the_study_keeps_the_reason(served: Path) -> None:
    climb(served)
    climb(served, "another", rounds=1)
    config = served / "study.toml"
    before, every = config.read_text(), count(served)
    with Study(served).transaction() as db:
        ((barred, judged), _) = db.execute(
            "SELECT worker_id, count(*) FROM judgments WHERE judgment_id NOT IN "
            "(SELECT judgment_id FROM drops) GROUP BY worker_id ORDER BY 2 DESC"
        )
        save_exclusion(db, "sandbox", barred, GUESSED, 1.0)
    assert count(served) == every - judged
    name = Study(served).opaque("worker", barred)

    def decide(line: str) -> int:
        config.write_text(f"{before}\n[screening]\n{line}\n")
        collect(served)
        return count(served)

    assert decide(f'keep.{name} = "she sat beside me"') == every
    assert decide("") == every, "no policy had barred this one"
    with Study(served).transaction(write=False) as db:
        ((other, theirs),) = db.execute(
            "SELECT worker_id, count(*) FROM judgments "
            "WHERE judgment_id NOT IN (SELECT judgment_id FROM drops) GROUP BY worker_id ORDER BY 2 LIMIT 1"
        )
    name = Study(served).opaque("worker", other)
    assert decide(f'drop.{name} = "copied from a neighbour"') == every - theirs
    assert status(served).barred[name] == "by decision: copied from a neighbour"
    assert decide("") == every
    with pytest.raises(ConfigError, match="decides on nobody, but the study has no worker of this name"):
        decide('drop.nobody = "a typing error"')
    with pytest.raises(ConfigError, match="keep and drop both name"):
        decide(f'keep.{name} = "yes"\ndrop.{name} = "no"')
    config.write_text(before)


def test_one_decision_lets_a_worker_in_again_counts_and_pays(
    served: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = served / "study.toml"
    before, every = config.read_text(), count(served)
    hasty = person(served, "hasty reader", simulated=False)  # right on all gold pairs, in no time
    assert take_all(hasty) == 1
    collect(served)
    assert (take_all(hasty), count(served)) == (0, every)
    (due,) = [due for due in pay(served, dry_run=True).dues if due.act is Act.DECIDE]
    config.write_text(f'{before}\n[screening]\nkeep.{due.worker_id} = "I know how fast she reads"\n')
    for call, place in (("readmit", MTurkCrowd), ("forget_barred", trust)):
        with monkeypatch.context() as killing:
            killing.setattr(place, call, _killed)
            with pytest.raises(KeyboardInterrupt):
                collect(served)
        assert due.worker_id in status(served).barred
    collect(served)
    assert due.worker_id not in status(served).barred
    assert count(served) == every + 3, "what she judged counts"
    assert status(served).to_decide == {}
    assert not any(left.worker_id == due.worker_id for left in pay(served, dry_run=True).dues), "she is paid"
    assert take_all(hasty) > 0, "the bar is lifted"
    config.write_text(before)
    collect(served)
    assert (due.worker_id in status(served).barred, count(served)) == (True, every)
    assert take_all(hasty) == 0


def count(study: Path) -> int:
    """How many judgments count."""
    with Study(study).transaction(write=False) as db:
        return count_judgments(db)[0]


def test_a_watch_bears_a_crowd_that_is_away_for_a_while(
    served: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    watch = Watch(Study(served), "sandbox")
    assert [watch.bear(CrowdError("away")) for _ in range(8)] == [1, 2, 4, 8, 16, 32, 60, 60]
    watch.found()
    assert watch.bear(CrowdError("away")) == 1
    with pytest.raises(RefusedError):
        watch.bear(RefusedError("no such key"))
    monkeypatch.setattr(watching, "_PATIENCE", -1.0)
    with pytest.raises(CrowdError, match="away"):
        watch.bear(CrowdError("away"))


def test_work_is_screened_as_it_comes_while_the_study_is_served(served: Path) -> None:
    worker, screener = person(served, "watched"), Screener(served)
    assert take_all(worker) == 1
    screener.start()
    try:
        until = time.monotonic() + 120  # it takes a second, on a machine that is not busy
        while not (more := take_all(worker)):
            assert time.monotonic() < until, "nobody screens"
            time.sleep(0.05)
    finally:
        screener.stop()
    assert more == 2
    assert not screener.is_alive()


def test_what_was_dropped_is_asked_again_with_gold_pairs_that_nobody_has_met(served: Path) -> None:
    def workers_wanted() -> dict[str, int]:
        with Study(served).transaction(write=False) as db:
            return dict(db.execute("SELECT hit_key, assignments FROM hits"))

    file = served / "sized.tsv"
    gold(served, suggest=0, file=file)
    with Study(served).transaction(write=False) as db:
        write_gold(file, [*load_active_gold(db).values(), *read_gold(file)])
    gold(served, accept=True, file=file)
    before = workers_wanted()
    guess(served)
    after = workers_wanted()
    assert {key: after[key] for key in before} == before, "a HIT was extended, with its gold pairs"


def test_watching_survives_a_marketplace_that_is_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    waits: list[float] = []
    errors = [None, CrowdError("away"), CrowdError("away"), None, CrowdError("gone"), RefusedError("no")]
    looks = iter(errors)

    def look(progress: object) -> CollectResult:
        if error := next(looks):
            raise error
        return UNFINISHED

    init(tmp_path / "study", name="study")
    watch = Watch(Study(tmp_path / "study"), "sandbox")
    monkeypatch.setattr(watch, "wait", lambda seconds=60.0: waits.append(seconds))
    monkeypatch.setattr("prefjudge.cli.road._watch", lambda study, live: watch)
    with pytest.raises(RefusedError, match="no"):
        show(look, study=tmp_path, live=False, watch=True)
    assert waits == [60.0, 1.0, 2.0, 60.0, 1.0]
    assert "away; trying again in 2 s" in capsys.readouterr().err
    monkeypatch.setattr(watch, "wait", lambda _: pytest.fail("the first look may have a wrong address"))
    with pytest.raises(CrowdError, match="gone"):
        show(
            lambda progress: (_ for _ in ()).throw(CrowdError("gone")), study=tmp_path, live=False, watch=True
        )


UNFINISHED = CollectResult(
    endpoint="", collected=0, dropped=0, reissued=0, expired=0, closed=0, barred={}, open=1, held=0, capped=0,
    judgments=0, dropped_judgments=0, waiting=0, reasons={}, stopped="", challenge=False, disputes=0,
    rehearsal=None,
)  # fmt: skip
