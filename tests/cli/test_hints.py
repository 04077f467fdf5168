"""What a verb advises to do next can be done: each hint is taken and run as printed, by a shell."""

import re
import shlex
import shutil
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from prefjudge import collect, import_votes, init, publish, resolve, status, work, workers
from prefjudge.cli.app import app
from prefjudge.cli.road import collect as say_collect
from prefjudge.cli.road import status as say_status
from prefjudge.errors import ConfigError, InputError, NotFinished, PrefjudgeError, StudyError
from prefjudge.field.crowd import keep_marketplace_open
from prefjudge.marketplace.server import Server
from prefjudge.steps.store.backup import backup, recover
from prefjudge.study.answers import save_challenge
from prefjudge.study.people import HELD
from prefjudge.study.store import Study
from tests.cli.conftest import Finished, prefjudge
from tests.steps.conftest import COLLECTION, pool_demo
from tests.steps.conftest import once as once  # the fixtures
from tests.steps.conftest import quick as quick
from tests.steps.test_farming import UNFINISHED
from tests.steps.test_targets import add_live, live  # noqa: F401 - a fixture

ADVISED = re.compile(r"prefjudge (?:store )?[a-z]+ (?:'[^']*'|\S+)(?: --[a-z-]+(?: [a-z:-]*\d(?:\S*\w)?)?)*")
FILES = {
    "--runs": COLLECTION / "runs" / "*.txt", "--qrels": COLLECTION / "qrels.txt",
    "--queries": COLLECTION / "queries.tsv", "--collection": COLLECTION / "collection.tsv",
}  # fmt: skip


def files(*options: str) -> list[str]:
    return [text for option in options for text in (option, str(FILES[option]))]


def take(said: str) -> Finished:
    """Run the first command that was advised."""
    found = ADVISED.search(said[said.rindex("next: ") :] if "next: " in said else said)
    assert found, said
    return prefjudge(*shlex.split(found[0])[1:])


ROAD: dict[str, tuple[object, ...]] = {  # each state, and the verb that leads to it from the one before
    "pooled": ("pool", *files(*FILES)),
    "accepted": ("gold", "--accept", "--file", COLLECTION / "gold.tsv"),
    "published": ("publish", "--sandbox", "--yes"),
    "worked": ("work", "--workers", 8, "--error", 0, "--truth", COLLECTION / "truth.tsv"),
    "collected": ("collect",),
    "resolved": ("resolve",),
}  # fmt: skip
ASIDE: dict[str, tuple[str, str, tuple[object, ...]]] = {  # off the road: from which state, by which verb
    "suggested": ("pooled", "gold", ("--suggest", 12)),
    "publish before gold": ("pooled", "publish", ("--sandbox",)),
    "collect before publish": ("accepted", "collect", ()),
    "work before publish": ("accepted", "work", ()),
    "resolve before collect": ("worked", "resolve", ()),
    "workers before collect": ("worked", "workers", ()),
    "score before resolve": ("collected", "score", ()),
}  # fmt: skip


class Road:
    """One study's states, each reached once, and put back into the one folder that the hints name."""

    def __init__(self, top: Path) -> None:
        self.study, self.kept = top / "my study", top / "kept"  # a path that holds a blank
        self.said: dict[str, str] = {}
        made = prefjudge("init", self.study, "--config", "demo")
        assert made.returncode == 0, made.stderr
        self.keep("made", made.stderr)

    def keep(self, state: str, said: str) -> None:
        shutil.copytree(self.study, self.kept / state)
        self.said[state] = said

    def to(self, state: str) -> str:
        """Put the study into a state, and return what the verb that led there said."""
        if state not in self.said:
            states = ("made", *ROAD)
            self.to(states[states.index(state) - 1])
            verb, *options = ROAD[state]
            with keep_marketplace_open(Study(self.study)):
                said = prefjudge(verb, self.study, *options).stderr
            self.keep(state, said)
        shutil.rmtree(self.study)
        shutil.copytree(self.kept / state, self.study)
        return self.said[state]


@pytest.fixture(scope="module")
def road(tmp_path_factory: pytest.TempPathFactory) -> Road:
    return Road(tmp_path_factory.mktemp("road"))


@pytest.fixture
def study(road: Road) -> Path:
    """A new study."""
    road.to("made")
    return road.study


@pytest.mark.parametrize("state", [*ROAD, *ASIDE])
def test_what_is_advised_works(road: Road, state: str) -> None:
    before, verb, options = ASIDE.get(state, (state, "", ()))
    said = road.to(before)
    with keep_marketplace_open(Study(road.study)):
        if verb:
            said = prefjudge(verb, road.study, *options).stderr
        done = take(said)
    asked = "you did not confirm it" in done.stderr  # publish asks on a terminal, and there is none
    assert done.returncode in (0, 3) or asked, f"{said}\n{done.args}\n{done.stderr}"
    assert "Traceback" not in done.stderr


def test_without_qrels_publish_leads_to_gold_pairs(study: Path) -> None:
    said = prefjudge("pool", study, *files("--runs", "--queries", "--collection")).stderr
    assert "--suggest 12; or hide no gold pairs: gold_per_hit = 0 in study.toml" in said
    refused = prefjudge("publish", study, "--sandbox", "--yes").stderr
    for way in ("--suggest 12", "query_id, query, good_id, good, bad_id, bad", "gold_per_hit = 0"):
        assert way in refused
    assert take(refused).returncode == 0
    assert prefjudge("gold", study, "--accept").returncode == 0
    assert prefjudge("publish", study, "--sandbox", "--yes").returncode == 0


def test_a_pool_without_texts_says_what_it_lacks(study: Path) -> None:
    said = prefjudge("pool", study, *files("--runs", "--qrels")).stderr
    assert "warning: the study has no texts to show" in said
    assert "next: " not in said
    assert prefjudge("pool", study, *files(*FILES)).returncode == 0
    assert prefjudge("gold", study, "--suggest", 12).returncode == 0


def test_during_a_challenge_collect_leads_to_run(road: Road) -> None:
    road.to("published")
    study = road.study
    with keep_marketplace_open(Study(study)):
        for _ in range(9):
            prefjudge("work", study, "--workers", 8, "--error", 0, "--truth", COLLECTION / "truth.tsv")
            if prefjudge("collect", study).returncode == 0:
                break
    with Study(study).transaction() as db:
        save_challenge(db, "lead:5", {("q1", "d1"): ["new"]}, 0.0)
    said = prefjudge("collect", study).stderr
    assert f"next: prefjudge run {shlex.quote(str(study))}" in said


def test_what_was_imported_is_not_collected(tmp_path: Path) -> None:
    (tmp_path / "votes.txt").write_text("q1 d1 d2 d1\nq1 d3 d4 d3\n")
    import_votes(init(tmp_path / "study", name="study").study, tmp_path / "votes.txt")
    said = " ".join(resolve(tmp_path / "study").notices)
    assert "1 query has no winner" in said
    assert "collect" not in said
    assert "--sparse-rule" not in said, "no rule names a winner here"


def test_a_challenge_without_newcomers_leads_to_score(tmp_path: Path) -> None:
    made, run = tmp_path / "study", tmp_path / "run.txt"
    (tmp_path / "votes.txt").write_text("q1 d1 d2 d1 ann\nq1 d1 d2 d1 ben\n")
    run.write_text("q1 Q0 d2 1 2.0 new\nq1 Q0 d1 2 1.0 new\n")
    init(made, name="study")
    import_votes(made, tmp_path / "votes.txt")
    assert f"next: prefjudge report {made}" in prefjudge("resolve", made).stderr  # there are no runs to score
    said = prefjudge("pool", made, "--challenge", "--runs", run).stderr
    assert "no newcomer: the study has compared every passage that 1 new run has on top" in said
    assert f"next: prefjudge score {made}" in said
    assert "new" in take(said).stdout


def test_the_hint_of_a_plan_can_be_taken(road: Road) -> None:
    road.to("accepted")
    said = prefjudge("plan", road.study, "--error", 0.2).stderr
    with keep_marketplace_open(Study(road.study)):
        done = take(said)
    assert "--strategy" in done.args
    assert "you did not confirm it" in done.stderr, said  # `run` asks on a terminal, and there is none


def test_gold_leads_to_the_plan_that_says_what_each_way_on_buys(road: Road) -> None:
    said = road.to("accepted")
    assert said.endswith(f"next: prefjudge plan {shlex.quote(str(road.study))}\n")
    planned = prefjudge("plan", road.study, "--error", 0.2, "--trials", 20, "--budget", 1000)
    assert re.search("next: prefjudge run .* --strategy .*; or .*: prefjudge publish ", planned.stderr)
    (cheap,) = (line for line in planned.stdout.splitlines() if "cheap" in line)
    with keep_marketplace_open(Study(road.study)):
        offered = prefjudge("publish", road.study, "--sandbox", "--dry-run").stderr
        asked = prefjudge("run", road.study, "--sandbox").stderr
    assert re.findall(r"^plan +(\S+); .* prefjudge run$", offered, re.MULTILINE) == ["round-robin:1"]
    assert "round-robin:1" in cheap
    assert not re.search("^plan ", asked, re.MULTILINE), asked  # `run` asks by a plan of its own


def test_a_budget_that_pays_for_no_plan_is_not_asked_for_again(road: Road) -> None:
    road.to("accepted")
    said = prefjudge("plan", road.study, "--error", 0.2, "--trials", 20, "--budget", 1).stderr
    assert "$1.00 is too little" in said
    assert said.endswith("--strategy NAME, once the budget pays for one\n")


def both_targets(road: Road, url: str) -> Path:
    """Return a study that is published to its sandbox and has a live target."""
    road.to("accepted")
    add_live(road.study, url)
    publish(road.study, yes=True)
    return road.study


def test_the_hints_of_a_live_study_are_for_the_live_target(road: Road, live: Server) -> None:  # noqa: F811
    """None leads back to the sandbox, whose rehearsal is over."""
    study = both_targets(road, live.endpoint)
    done = take(prefjudge("publish", study, "--live", "--yes").stderr)
    assert (done.returncode, "--live" in done.args) == (3, True), done.stderr
    done = take(prefjudge("resolve", study).stderr)
    assert (done.returncode, "collect" in done.args, "--live" in done.args) == (3, True, True), done.stderr
    see = prefjudge("reject", study, "NONE", "--reason", "none", "--live").stderr
    assert "--live --dry-run" in see
    assert take(see).returncode == 0
    with pytest.raises(StudyError, match="its rehearsal in the sandbox is over"):
        work(study)


def test_a_live_study_is_recovered_as_advised(road: Road, live: Server) -> None:  # noqa: F811
    """What its sandbox tells is not all, neither before the store knows that it is live nor then."""
    study = both_targets(road, live.endpoint)
    backup(study, study.parent / "before.db")
    publish(study, live=True, yes=True)
    backup(study, study.parent / "after.db")
    shutil.copy(study.parent / "before.db", study / "study.db")
    assert recover(study).remains == ()
    with pytest.raises(StudyError, match="that its store does not know") as unknown:
        publish(study, live=True, yes=True)
    assert take(str(unknown.value)).returncode == 0, unknown.value
    assert collect(study, live=True).open == 7
    shutil.copy(study.parent / "after.db", study / "study.db")
    assert recover(study).remains[0].startswith("the study is live: run `prefjudge store recover ")
    with pytest.raises(StudyError, match="may lack what happened since") as outdated:
        collect(study, live=True)
    assert take(str(outdated.value)).returncode == 0, outdated.value
    assert collect(study, live=True).open == 7


def test_what_waits_for_a_person_is_decided_on_where_it_waits(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    init(tmp_path / "s", config="demo", name="s")
    found = status(tmp_path / "s")
    assert found.target == "sandbox"
    for target, option in (("sandbox", ""), ("live", " --live")):
        say_status(replace(found, to_decide={"A1": "why"}, target=target), study=tmp_path / "s")
        there = f"{tmp_path / 's'}{option}"
        assert f"pay {there} --held; or: prefjudge reject {there} …" in capsys.readouterr().err


def test_who_is_held_comes_first_with_what_ends_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    held, missed = [f"held{number}" for number in range(7)], [f"missed{number}" for number in range(7)]
    barred = dict.fromkeys(missed, "missed 2 of 2 gold pairs") | dict.fromkeys(held, f"{HELD}: by hand")
    study = init(tmp_path / "s", config="demo", name="s").study
    say_status(replace(status(study), barred=barred), study=tmp_path / "s")
    of_status = capsys.readouterr().err
    collected = replace(UNFINISHED, barred=barred)
    with pytest.raises(NotFinished):
        say_collect(lambda progress: collected, study=tmp_path / "s", live=False)
    of_collect = capsys.readouterr().err
    lines = [
        line
        for name in held
        for line in (
            f"held         {name} {HELD}: by hand",
            *(f'  {end}.{name} = "your reason"' for end in ENDS),
        )
    ]
    for said in (of_status, of_collect):
        assert said.splitlines()[: len(lines) + 1] == [*lines, HOW]
    assert [line for line in of_status.splitlines() if "missed" in line or "more" in line] == [
        *(f"barred       {name}: missed 2 of 2 gold pairs" for name in missed[:5]),
        "  … and 2 more: --details",
    ]
    assert "barred workers: missed0, missed1, missed2, missed3, missed4 and 2 more\n" in of_collect


ENDS, HOW = ("keep", "drop"), "  one such line in [screening] of study.toml, for each who is held, ends it"


@pytest.mark.parametrize(
    ("has", "verb"),
    [
        ({}, "pool"),
        ({"queries": 3}, "gold"),
        ({"queries": 3, "gold": 3, "waiting": 9}, "publish"),
        ({"queries": 3, "gold": 3, "hits": {"open": 1}, "assignments": 4, "judgments": 9}, "collect"),
        ({"queries": 3, "gold": 3, "hits": {"open": 1}, "judgments": 9}, "work"),
        ({"queries": 3, "gold": 3, "hits": {"closed": 1}, "judgments": 9, "waiting": 2}, "publish"),
        ({"queries": 3, "gold": 3, "hits": {"closed": 1}, "judgments": 9}, "resolve"),
        ({"queries": 3, "judgments": 9, "waiting": 2}, "resolve"),  # imported votes
        ({"queries": 3, "judgments": 9, "version": 1}, "score"),
        ({"queries": 3, "judgments": 9, "version": 1, "challenge": True}, "run"),
    ],
)
def test_status_names_the_verb_that_the_study_needs_next(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], has: dict[str, Any], verb: str
) -> None:
    init(tmp_path / "s", config="demo", name="s")
    found = replace(status(tmp_path / "s"), **has)
    if found.challenge:
        record = SimpleNamespace(challenge=1, newcomers=1, queries=1)
        found = replace(found, challenge=record)  # type: ignore[arg-type]
    say_status(found, study=tmp_path / "s")
    assert f"next: prefjudge {verb} {tmp_path / 's'}" in capsys.readouterr().err


VERBS = (  # each that takes a study on the road, with the least that it asks for
    "pool STUDY --challenge --runs …", "gold STUDY --suggest 12", "gold STUDY --accept",
    "plan STUDY --strategy round-robin:1 --error 0.2 --trials 2",
    "publish STUDY --sandbox", "work STUDY --workers 2", "collect STUDY", "run STUDY",
    "resolve STUDY", "score STUDY", "status STUDY", "status STUDY --history",
    "report STUDY", "report STUDY --site site",
    "release STUDY --out release --rehearsal", "export STUDY votes.csv --to crowd-kit", "winratio STUDY",
    "stability STUDY", "agreement STUDY",
    "judge STUDY --model m --url http://127.0.0.1:9", "judge STUDY --worth", "pay STUDY", "reject STUDY",
    "workers STUDY", "store check STUDY", "store backup STUDY copy.db",
)  # fmt: skip
VOTES = (  # four queries: fewer have no agreement
    "q01 p20 p34 p20 ann\nq01 p20 p34 p20 ben\n"
    "q02 p43 p71 p43 ann\nq03 p70 p32 p70 ann\nq04 p46 p69 p46 ann\n"
)
STEP = re.compile(r"prefjudge ((?:'[^']*'|[^\s;,.']+|\.)+(?: (?:'[^']*'|…|[^\s;,…']*[^\s;,.…']))*)")


def typed(words: str, folder: Path) -> str | None:
    """Type a command in this process; return what a refusal says, None where it is none."""
    for option, path in {
        **FILES,
        "VOTES": folder.parent / "votes.txt",
        "--url": "http://127.0.0.1:9",
    }.items():
        words = words.replace(f"{option} …", f"{option} {path}").replace(
            "VOTES", str(path) if option == "VOTES" else "VOTES"
        )
    arguments = [str(folder) if word == "STUDY" else word for word in shlex.split(words)]
    try:
        app(arguments, standalone_mode=False)
    except PrefjudgeError as error:
        refused = isinstance(error, StudyError | ConfigError | InputError) and "did not confirm" not in str(
            error
        )
        return str(error) if refused else None
    return None


def to_stage(stage: str, road: Road, folder: Path) -> None:
    """Make a study that has come to a stage."""
    if stage.startswith("imported"):
        (folder.parent / "votes.txt").write_text(VOTES)
        import_votes(init(folder, config="demo", name="study").study, folder.parent / "votes.txt")
        if stage == "imported and pooled":
            pool_demo(folder)
        if stage == "imported and resolved":
            resolve(folder)
    elif stage == "pooled without texts":
        init(folder, config="demo", name="study")
        assert typed(f"pool STUDY {shlex.join(files('--runs', '--qrels'))}", folder) is None
    else:
        (folder.parent / "votes.txt").write_text(VOTES)
        road.to(stage)
        shutil.copytree(road.study, folder)


@pytest.mark.parametrize(
    "stage",
    [
        "made",
        "pooled without texts",
        "pooled",
        "accepted",
        "published",
        "collected",
        "imported",
        "imported and pooled",
        "imported and resolved",
    ],
)
def test_the_verb_that_a_hint_names_first_does_not_refuse(
    stage: str, road: Road, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "runs").symlink_to(COLLECTION / "runs")  # the folder that hints name
    monkeypatch.setattr("prefjudge.crowd.model._ATTEMPTS", 1)  # no model answers, and none is waited for
    study, kept = tmp_path / "my study", tmp_path / "kept"
    to_stage(stage, road, study)
    shutil.copytree(study, kept)
    dead_ends = {}
    for verb in VERBS:
        words, refused = verb, False
        while (said := typed(words, study)) is not None:
            command = STEP.search(said)
            if not command and re.search("--runs|--collection", said):  # an option of the same verb
                break
            if refused or not command:
                dead_ends[verb] = said
                break
            assert not re.search(r"Run: prefjudge [^;:\n]*\.$", said.rstrip()), (
                "a shell takes the full stop, too"
            )
            words, refused = command[1], True
            shutil.rmtree(study)
            shutil.copytree(kept, study)
        shutil.rmtree(study)
        shutil.copytree(kept, study)
    assert not dead_ends, "\n".join(f"{verb}: {said}" for verb, said in dead_ends.items())


def test_who_has_imported_votes_alone_is_left_out_and_not_held_or_dropped(tmp_path: Path) -> None:
    made = tmp_path / "study"
    (tmp_path / "votes.txt").write_text("q1 d1 d2 d1 ann\nq1 d1 d2 d1 ben\nq1 d1 d2 d2 cy\n")
    import_votes(init(made, name="study").study, tmp_path / "votes.txt")
    name = Study(made).opaque("worker", "cy")
    for given in ("cy", name):
        with pytest.raises(InputError, match=f"{name}: this worker has no HITs to hold") as held:
            workers(made, hold=[given])
        assert held.value.hint == f"Leave them out: prefjudge resolve {made} --without {name}"
    assert take(held.value.hint).returncode == 0
    assert "drop." not in "".join((*workers(made).notices, *resolve(made).notices))
    config = made / "study.toml"
    line = f'[screening]\ndrop.{name} = "he follows the length"'
    config.write_text(config.read_text().replace("[screening]", line))
    for said in (workers(made).notices, resolve(made).notices):
        assert f"drop.{name} in study.toml does nothing to imported votes; leave them out: " in "".join(said)
        assert f"prefjudge resolve {made} --without {name}" in "".join(said)
    for left in ("cy", name):
        found = resolve(made, without=[left])
        assert (found.judgments, "drop." in "".join(found.notices)) == (2, False)
