"""Where a study publishes: the sandbox, a live marketplace, pages of one's own; and never somewhere else."""

import subprocess
import sys
from collections.abc import Iterator
from decimal import Decimal
from functools import partial
from pathlib import Path

import pytest
import urllib3

from prefjudge import collect, pay, publish, report, resolve, run, score, status, work
from prefjudge.crowd.mturk import MTurkCrowd
from prefjudge.crowd.tasks import Task
from prefjudge.errors import ConfigError, CrowdError, InputError, StudyError
from prefjudge.field.crowd import keep_marketplace_open
from prefjudge.marketplace.operator import issue_key
from prefjudge.marketplace.server import Server, start
from prefjudge.steps.publish import PublishResult
from prefjudge.study.answers import save_challenge
from prefjudge.study.assignments import load_gold_records, save_barred
from prefjudge.study.hits import load_hits
from prefjudge.study.judgments import load_conduct, load_paces
from prefjudge.study.progress import first_answers_since
from prefjudge.study.store import Study
from tests.cli.conftest import prefjudge
from tests.marketplace.people import Admin
from tests.serving import Files, Handler, Serving
from tests.steps.conftest import edit
from tests.steps.test_road import TRUTH, kept_votes


@pytest.fixture
def live(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    """A marketplace that pays out of prepaid budgets, with a requester's key in the environment."""
    store = f"sqlite:///{tmp_path / 'live.db'}"
    key = issue_key(store, "lab", sandbox=False)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", key.access_key)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", key.secret_key)
    with start(store, sandbox=False) as market:
        paid_in = urllib3.request(
            "POST",
            f"{market.admin}/funds",
            headers={"Authorization": f"Bearer {market.admin_token}"},
            json={"requester_id": key.requester_id, "amount": "50.00"},
        )
        assert paid_in.status < 300, paid_in.data
        yield market


def point_live_at(study: Path, url: str) -> None:
    edit(study, more=f'\n[targets.live]\nurl = "{url}"\nlive = true\n')


def test_a_live_study_spends_the_requesters_own_money(pooled: Path, live: Server) -> None:
    point_live_at(pooled, live.endpoint)
    shown = publish(pooled, live=True, dry_run=True)
    assert (shown.account, [told for told in shown.warnings if "account" in told]) == (Decimal("50.00"), [])
    offer = publish(pooled, live=True, yes=True)
    assert offer.target == "live"
    balance = MTurkCrowd(live.endpoint, signed=True).balance()
    assert balance == Decimal("50.00") - offer.total == offer.account
    assert collect(pooled, live=True).open == offer.hits
    with pytest.raises(StudyError, match=r"the study is live, and its rehearsal .* is over\nAdd --live"):
        collect(pooled)


@pytest.mark.parametrize("switch", ["live = false", ""])
def test_a_live_target_that_is_switched_off_spends_nothing(pooled: Path, live: Server, switch: str) -> None:
    point_live_at(pooled, live.endpoint)
    config = pooled / "study.toml"
    on = config.read_text()
    publish(pooled, live=True, yes=True)
    balance = MTurkCrowd(live.endpoint, signed=True).balance()
    config.write_text(on.replace("live = true", switch))
    for verb in (partial(publish, yes=True), partial(publish, dry_run=True), collect, pay):
        with pytest.raises(StudyError, match=r"target is switched off: .*live = true\nSet live = true in "):
            verb(pooled, live=True)
    assert MTurkCrowd(live.endpoint, signed=True).balance() == balance
    config.write_text(on)
    assert collect(pooled, live=True).open == 7


def test_who_cannot_pay_for_all_is_told_before_anything_is_published(pooled: Path, live: Server) -> None:
    point_live_at(pooled, live.endpoint)
    edit(pooled, ("reward = 2.00", "reward = 12.00"))
    shown = prefjudge("publish", pooled, "--live", "--dry-run")
    assert "account   $50.00 to spend" in shown.stderr
    assert "the account holds $50.00, and refuses HITs that it cannot pay for" in shown.stderr
    assert "play money" not in shown.stderr


def test_a_target_is_asked_for(pooled: Path) -> None:
    for verb in (publish, run):
        with pytest.raises(ConfigError, match=r"say where to publish\nAdd --sandbox .* or --live"):
            verb(pooled, sandbox=False, yes=True)  # type: ignore[operator]
        both = prefjudge(verb.__name__, pooled, "--sandbox", "--live", "--yes")
        assert (both.returncode, "exclude each other" in both.stderr) == (1, True)
    assert status(pooled).hits == {}
    alone = prefjudge("run", pooled, "--sandbox", "--yes", "--workers", 8, "--strategy", "round-robin:1")
    assert (alone.returncode, status(pooled).waiting) == (0, 0), alone.stderr


def test_a_run_on_a_live_target_needs_no_sandbox(pooled: Path, live: Server) -> None:
    point_live_at(pooled, live.endpoint)
    edit(pooled, ("budget = 100.00", "budget = 2.00"))
    result = run(pooled, live=True, yes=True)
    assert result.stopped_by.startswith("the budget")
    assert not list(pooled.glob("marketplace.db*"))
    with Study(pooled).transaction(write=False) as db:
        assert db.execute("SELECT key FROM settings WHERE key LIKE 'marketplace:%'") == [
            ("marketplace:live",)
        ]


def add_live(study: Path, url: str) -> None:
    """Have both targets."""
    point_live_at(study, url)
    edit(study, more='\n[targets.sandbox]\nurl = ""\n')


def rehearse(study: Path) -> None:
    """Judge all in the sandbox, with some who work badly, and bar one worker."""
    with keep_marketplace_open(Study(study)):
        publish(study, yes=True)
        while not collect(study).finished:
            work(study, workers=6, error=0.0, temper=["careless"] * 2, truth=TRUTH)
    with Study(study).transaction() as db:  # whether gold pairs bar a careless worker is left to luck
        ((worker,),) = db.execute("SELECT max(worker_id) FROM assignments")
        save_barred(db, "sandbox", str(worker), "guesses", 1.0)


def test_nothing_of_a_rehearsal_counts_once_the_study_is_live(pooled: Path, live: Server) -> None:
    add_live(pooled, live.endpoint)
    rehearse(pooled)
    edit(pooled, ("budget = 100.00", "budget = 20.00"))
    before = status(pooled)
    assert (before.waiting, bool(before.barred), before.judgments > 40) == (0, True, True)
    offer = publish(pooled, live=True, dry_run=True)
    assert (offer.hits, offer.committed) == (7, 0)
    assert f"{before.judgments} judgments were made in the sandbox" in offer.warnings[0]
    assert status(pooled) == before, "a dry run changes nothing"
    publish(pooled, live=True, yes=True)
    now = status(pooled)
    assert (now.judgments, now.dropped_judgments, now.assignments, now.barred) == (0, 0, 0, {})
    assert (now.hits, now.committed, now.verdicts) == ({"open": 7}, "16.80", {})
    with pytest.raises(StudyError, match="no judgments yet"):
        resolve(pooled)
    with Study(pooled).transaction(write=False) as db:
        assert load_gold_records(db) == {}
        assert load_conduct(db)[0].workers == ()
        assert load_paces(db) == []
        assert first_answers_since(db) is None
        assert load_gold_records(db, "sandbox") != {}
    for verb in (publish, collect):
        with pytest.raises(StudyError, match="the study is live"):
            verb(pooled)  # type: ignore[operator]


def test_an_interrupted_rehearsal_is_not_published_live(
    pooled: Path, live: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_live(pooled, live.endpoint)
    publish_one = MTurkCrowd.publish

    def break_off(crowd: MTurkCrowd, task: Task) -> str:
        publish_one(crowd, task)
        raise CrowdError("the line is dead")

    with keep_marketplace_open(Study(pooled)):
        monkeypatch.setattr(MTurkCrowd, "publish", break_off)
        with pytest.raises(CrowdError):
            publish(pooled, yes=True)
        monkeypatch.setattr(MTurkCrowd, "publish", publish_one)
        assert publish(pooled, live=True, yes=True).published == 7
        listed = MTurkCrowd(live.endpoint, signed=True).tasks()
        with Study(pooled).transaction(write=False) as db:
            there = {hit.hit_key for hit in load_hits(db, "live")}
        assert {task.key for task in listed} == there
        assert collect(pooled, live=True).open == 7


def test_newcomers_do_not_meet_the_answers_of_a_rehearsal(pooled: Path, live: Server) -> None:
    add_live(pooled, live.endpoint)
    publish(pooled, yes=True)
    with Study(pooled).transaction() as db:
        save_challenge(db, "lead:5", {("q1", "d1"): ["new"]}, 0.0)
    with pytest.raises(StudyError, match="answers that were found in the sandbox"):
        publish(pooled, live=True, yes=True)


def test_a_run_that_was_rehearsed_begins_anew_live(pooled: Path, live: Server) -> None:
    add_live(pooled, live.endpoint)
    rehearsed = run(pooled, strategy="sure:60", workers=8, error=0.0, truth=TRUTH, yes=True)
    assert rehearsed.unfinished == 0
    with Study(pooled).transaction(write=False) as db:
        asked = db.execute("SELECT count(*) FROM pairs WHERE votes > 0")[0][0]
        first = db.execute("SELECT count(*) FROM slots JOIN hits USING (hit_key) "
                           "WHERE batch = 1 AND pair_id IS NOT NULL")[0][0]  # fmt: skip
    told: list[str] = []

    def stop(offer: PublishResult) -> bool:
        told.append(f"{offer.pairs} of {asked}")
        return False

    with pytest.raises(StudyError, match="you did not confirm it"):
        run(pooled, live=True, confirm=stop)
    assert told == [f"{first} of {asked}"]
    assert first < asked


def test_live_money_needs_the_studys_name_or_an_explicit_yes(pooled: Path, live: Server) -> None:
    point_live_at(pooled, live.endpoint)
    refused = prefjudge("publish", pooled, "--live")
    assert refused.returncode == 1
    assert "REAL MONEY" in refused.stderr
    assert "you did not confirm it" in refused.stderr
    shown = prefjudge("publish", pooled, "--live", "--dry-run")
    assert shown.returncode == 0
    assert "$16.80 = $14.00 rewards + $2.80 fees" in shown.stderr
    assert status(pooled).hits == {}


def test_without_a_key_a_live_marketplace_is_not_spoken_to(
    pooled: Path, live: Server, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    point_live_at(pooled, live.endpoint)
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "none"))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    with pytest.raises(CrowdError, match=r"there is no key\nAsk its admin for a key"):
        publish(pooled, live=True, yes=True)


def test_a_study_does_not_talk_to_another_marketplace(pooled: Path, live: Server, tmp_path: Path) -> None:
    point_live_at(pooled, live.endpoint)
    publish(pooled, live=True, yes=True)
    with start(f"sqlite:///{tmp_path / 'other.db'}") as other:
        edit(pooled, (live.endpoint, other.endpoint))
        with pytest.raises(StudyError, match=r"has published to the marketplace .* but .* answers now"):
            collect(pooled, live=True)


@pytest.mark.parametrize(
    ("url", "message"),
    [
        (
            "https://mturk-requester.us-east-1.amazonaws.com",
            "announced to close for good on 30 September 2026",
        ),
        ("https://mturk-requester-sandbox.us-east-1.amazonaws.com", "prefjudge serve"),
        ("http://127.0.0.1:9", "no marketplace answers at http://127.0.0.1:9"),
    ],
)
def test_an_address_that_cannot_serve_is_named(pooled: Path, url: str, message: str) -> None:
    point_live_at(pooled, url)
    with pytest.raises(CrowdError, match=message):
        publish(pooled, live=True, yes=True)


def test_an_undescribed_target_is_named(pooled: Path) -> None:
    with pytest.raises(StudyError, match=r"no target 'live'\nAdd \[targets.live\]"):
        publish(pooled, live=True, yes=True)


def lengthen(study: Path) -> None:
    with Study(study).transaction() as db:
        db.execute("UPDATE passages SET text = text || ' ' || :more", more="and so on " * 700)


def test_pages_that_the_api_finds_too_large_are_served_as_files(pooled: Path) -> None:
    lengthen(pooled)
    with keep_marketplace_open(Study(pooled)):
        with pytest.raises(
            InputError, match=r"the API accepts at most 65,535\nPut fewer pairs .* design.pages_url"
        ):
            publish(pooled, yes=True)
        assert (status(pooled).hits, status(pooled).committed) == ({}, "0.00"), "and it can be packed anew"
        pages = pooled / "pages"
        pages.mkdir()
        with Serving(partial(Files, directory=str(pages))) as server:
            config = pooled / "study.toml"
            url = f'pages_url = "{server.origin}/"'
            config.write_text(config.read_text().replace("[design]", f"[design]\n{url}"))
            publish(pooled, yes=True)
            work(pooled, workers=4, error=0.0, truth=TRUTH)
            assert collect(pooled).finished
    assert set(kept_votes(pooled).values()) == {1}
    assert len(list(pages.iterdir())) == 7


def test_the_verbs_of_a_study_go_on_while_its_network_works(pooled: Path) -> None:
    command = [sys.executable, "-m", "prefjudge", "serve", str(pooled), "--port", "0"]
    for more in (["--host", "0.0.0.0", "--plain-http"], ["--public-url", "https://judge.example.org"]):
        with subprocess.Popen([*command, *more], stderr=subprocess.PIPE, text=True) as served:
            try:
                assert served.stderr is not None
                said = [served.stderr.readline() for _ in range(5)]
                assert "0.0.0.0" not in "".join(said)
                publish(pooled, yes=True)
                assert collect(pooled).open == 7
            finally:
                served.terminate()


def test_the_verbs_of_a_study_go_on_once_its_marketplace_has_keys(pooled: Path) -> None:
    issue_key(f"sqlite:///{pooled / 'marketplace.db'}", "another")
    with keep_marketplace_open(Study(pooled)):
        publish(pooled, yes=True)
        work(pooled, workers=6, error=0.0, truth=TRUTH)
        assert collect(pooled).finished
    assert (pooled / "marketplace.db").stat().st_mode & 0o077 == 0
    assert not list(pooled.glob("marketplace.db.serving")), "it is gone with the marketplace"


def test_the_address_of_a_running_marketplace_is_for_its_owner_only(pooled: Path) -> None:
    with keep_marketplace_open(Study(pooled)):
        assert (pooled / "marketplace.db.serving").stat().st_mode & 0o777 == 0o600


def test_a_sandbox_elsewhere_takes_the_key_that_the_environment_has(
    pooled: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    for name in ("AWS_SHARED_CREDENTIALS_FILE", "AWS_CONFIG_FILE"):
        monkeypatch.setenv(name, str(tmp_path / "none"))
    store = f"sqlite:///{tmp_path / 'team.db'}"
    with start(store) as team:
        edit(pooled, more=f'\n[targets.sandbox]\nurl = "{team.endpoint}"\n')
        assert publish(pooled, dry_run=True).hits == 7
        key = issue_key(store, "lab")
        with pytest.raises(CrowdError, match=r"not signed.*\nAsk its admin for a key .*AWS_ACCESS_KEY_ID"):
            publish(pooled, yes=True)
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", key.access_key)
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", key.secret_key)
        assert publish(pooled, yes=True).published == 7


def test_a_sandbox_is_never_a_live_marketplace(pooled: Path, live: Server) -> None:
    edit(pooled, more=f'\n[targets.sandbox]\nurl = "{live.endpoint}"\n')
    with pytest.raises(StudyError, match=r"is a live marketplace: .*\nPut its url into \[targets.live\]"):
        publish(pooled, yes=True)


class _Api(Handler):
    """Another server: it speaks the API and nothing else, and not all of it."""

    behind = ""
    lacks = "ListWorkersWithQualificationType"

    def do_GET(self) -> None:
        self.answer(404, b"not here")

    def do_POST(self) -> None:
        body = self.body()
        if self.headers["X-Amz-Target"].endswith(self.lacks):
            self.answer(400, b'{"__type": "UnknownOperationException"}')
            return
        names = ("X-Amz-Target", "Content-Type")
        reply = urllib3.request(
            "POST", self.behind, body=body, headers={name: self.headers[name] for name in names}
        )
        self.answer(reply.status, reply.data)


def test_any_server_that_speaks_the_api_is_a_target(
    pooled: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    for name in ("AWS_SHARED_CREDENTIALS_FILE", "AWS_CONFIG_FILE"):
        monkeypatch.setenv(name, str(tmp_path / "none"))
    with start(f"sqlite:///{tmp_path / 'inner.db'}") as inner:
        monkeypatch.setattr(_Api, "behind", inner.endpoint)
        with Serving(_Api) as server:
            url = server.origin
            edit(pooled, more=f'\n[targets.sandbox]\nurl = "{url}/"\n')
            offer = publish(pooled, dry_run=True)
            assert (offer.hits, offer.endpoint) == (7, f"{url}/")
            assert any("does not say whether its money is play money" in told for told in offer.warnings)
            assert publish(pooled, yes=True).published == 7
            invited = Admin(inner).worker(approved=20_000)
            invited.do({"HITId": invited.groups()[0]["hit_id"]}, {"consent": "no"})
            state = collect(pooled)
            assert (state.collected, state.open, state.reissued, state.rehearsal) == (1, 7, 1, None)
            assert pay(pooled, dry_run=True).dues[0].act == "decide"
            assert Study(pooled).setting("marketplace:sandbox") == url
        with pytest.raises(CrowdError, match=f"no marketplace answers at {url}"):
            collect(pooled)


@pytest.mark.parametrize("status", [500, 502, 503])
def test_a_marketplace_that_is_down_does_not_pass_for_another(
    pooled: Path, monkeypatch: pytest.MonkeyPatch, status: int
) -> None:
    monkeypatch.setattr(_Api, "do_GET", lambda self: self.answer(status, b"bad gateway"))
    with Serving(_Api) as server:
        edit(pooled, more=f'\n[targets.sandbox]\nurl = "{server.origin}"\n')
        with pytest.raises(CrowdError, match="no marketplace answers"):
            publish(pooled, dry_run=True)
        assert Study(pooled).setting("marketplace:sandbox") is None


def test_answers_of_a_rehearsal_are_none_once_the_study_is_live(pooled: Path, live: Server) -> None:
    add_live(pooled, live.endpoint)
    rehearse(pooled)
    resolve(pooled)
    assert len(score(pooled, write=False).boards) == 2
    publish(pooled, live=True, yes=True)
    with pytest.raises(
        StudyError, match=r"qrels yet\nIt has no judgments yet. Run: .* collect .*--live; then resolve"
    ):
        score(pooled)
    assert report(pooled).sections == ("Judging", "For a paper", "How it was made")


def test_answers_that_run_kept_in_a_rehearsal_are_none_once_the_study_is_live(
    pooled: Path, live: Server
) -> None:
    add_live(pooled, live.endpoint)
    run(pooled, strategy="round-robin:1", workers=6, error=0.0, truth=TRUTH, yes=True)
    assert status(pooled).version == 1
    publish(pooled, live=True, yes=True)
    assert (status(pooled).version, status(pooled).judgments) == (0, 0)
    with pytest.raises(StudyError, match=r"qrels yet\nIt has no judgments yet. Run: prefjudge run .*--live$"):
        score(pooled)
