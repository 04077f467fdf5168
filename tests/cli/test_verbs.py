"""The command lines and JSON that others rely on."""

import json
import os
import re
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

import prefjudge as library
from prefjudge import publish
from prefjudge.crowd.mturk import MTurkCrowd
from prefjudge.field.crowd import open_marketplace
from prefjudge.study.store import Study
from tests.cli.conftest import prefjudge
from tests.steps.conftest import COLLECTION

RUNS = str(COLLECTION / "runs" / "*.txt")


def test_a_pattern_that_the_shell_expanded_is_understood() -> None:
    files = sorted((COLLECTION / "runs").iterdir())
    whole = prefjudge("pool", "--runs", RUNS, "--depth", 1, "--json")
    expanded = prefjudge("pool", "--runs", *files, "--depth", 1, "--json")
    assert json.loads(expanded.stdout) == json.loads(whole.stdout)


def test_pool_keeps_only_the_queries_of_the_queries_file(tmp_path: Path) -> None:
    (tmp_path / "some.tsv").write_text("q03\tx\nq07\ty\nunknown\tz\n")
    done = prefjudge("pool", "--runs", RUNS, "--queries", tmp_path / "some.tsv", "--json")
    assert json.loads(done.stdout)["queries"] == 2


@pytest.mark.parametrize("name", ["Set-I", "Set-II", "Set-III", "Combined-I+II", "Combined-I+II+III"])
def test_most_wins_gives_exactly_the_published_lists(data_dir: Path, tmp_path: Path, name: str) -> None:
    out = tmp_path / "preference.qrels"
    judgments = data_dir / "dl21" / "phases" / f"{name}.txt"
    done = prefjudge("resolve", "--judgments", judgments, "--rule", "most-wins", "--out", out, "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["queries"] == 25
    published = (data_dir / "dl21" / f"{name}.qrels").read_text().split("\n")
    assert sorted(out.read_text().split("\n")) == sorted(published)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["pool", "--runs", "nowhere/*.gz"], "no file matches nowhere/*.gz"),
        (["pool"], "no run files"),
        (["pool", "--runs", RUNS, "--order", "best"], "invalid value for '--order': 'best' is not one of"),
        (["pool", "nowhere", "--runs", RUNS], "nowhere is not a study"),
        (["score", "--runs", RUNS, "--qrels", "nowhere.txt"], "nowhere.txt"),
        (
            ["score", "--runs", RUNS, "--qrels", str(COLLECTION / "qrels.txt"), "--measure", "RRR@10"],
            "RRR@10",
        ),
        (["resolve"], "resolve takes either a study or a file"),
        (["resolve", "--judgments", "nowhere.txt"], "nowhere.txt"),
        (["scroe"], "error: no verb scroe\n  Did you mean score? See: prefjudge --help\n"),
        (["xyzzy"], "error: no verb xyzzy\n  See: prefjudge --help\n"),
        (["--verion"], "error: no option --verion\n  Did you mean --version? See: prefjudge --help\n"),
        (
            ["score", "--qrel", "x"],
            "error: no option --qrel\n  Did you mean --qrels? See: prefjudge score --help\n",
        ),
        (["plan", "a", "b"], "error: too many arguments: b\n  See: prefjudge plan --help\n"),
        (["score", "a", "."], "error: too many arguments: .\n  Did you mean --runs FILE --qrels FILE?"),
        (["judge"], "error: missing argument 'STUDY'\n  See: prefjudge judge --help\n"),
        (["--help", "nothing"], "error: no group nothing\n  There are start, road,"),
        (["init", "new", "--config", "mine"], "invalid value for '--config': 'mine' is not one of"),
    ],
)
def test_a_mistake_ends_in_a_message_with_a_hint_and_never_in_a_traceback(
    tmp_path: Path, arguments: list[str], message: str
) -> None:
    done = prefjudge(*arguments, cwd=tmp_path)
    assert done.returncode in (1, 2)
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""
    assert len(done.stderr.strip().splitlines()) >= 2


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a full device")
def test_a_full_disk_is_said_without_a_traceback() -> None:
    with Path("/dev/full").open("w") as full:
        found = subprocess.run(
            [sys.executable, "-m", "prefjudge", "plan", "--sizes", "2:3", "--trials", "5", "--json"],
            stdout=full, stderr=subprocess.PIPE, text=True, check=False,
        )  # fmt: skip
    assert found.returncode == 1
    assert found.stderr.startswith("error: ")
    assert "No space left on device" in found.stderr
    assert "Traceback" not in found.stderr


def test_the_demo_walks_the_road_and_its_commands_can_be_typed(tmp_path: Path) -> None:
    command = Path(sys.executable).with_name("prefjudge")
    done = subprocess.run(
        [command, "demo", "trial"],
        cwd=tmp_path,
        env={"PATH": "/usr/bin"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert f"where prefjudge is {command}, which" in done.stderr  # the shell does not find it by its name
    for shown in ("is first by RR@10 under preference", "under original", "may lead", "agree at τ"):
        assert shown in done.stdout
    for step in ("Pooled", "Published", "simulated workers", "Every pair is judged", "Resolved"):
        assert step in done.stderr
    for left in (
        "study/preference.qrels",
        "study/leaderboard.csv",
        "study/report.html",
        "study/study.toml",
        "collection/gold.tsv",
    ):
        assert (tmp_path / "trial" / left).is_file()
    assert len((done.stdout + done.stderr).splitlines()) <= 24
    verbs = [line.split()[1] for line in (tmp_path / "trial" / "by-hand.txt").read_text().splitlines()]
    assert verbs == ["init", "pool", "gold", "publish", "work", "collect", "resolve", "score", "report"]
    assert "the report is trial/study/report.html" in done.stderr
    again = prefjudge("demo", "trial", cwd=tmp_path)
    assert again.returncode == 1
    assert "exists and is not empty" in again.stderr


def test_collect_exits_with_3_while_hits_are_open_and_0_at_the_end(pooled: Path) -> None:
    assert prefjudge("publish", pooled, "--sandbox").returncode == 1
    assert prefjudge("publish", pooled, "--sandbox", "--yes", "--json").returncode == 0
    early = prefjudge("collect", pooled, "--json")
    assert early.returncode == 3
    assert json.loads(early.stdout)["open"] == 7
    assert "next: prefjudge work" in prefjudge("status", pooled).stderr  # who shall work, if nobody has?
    assert prefjudge("work", pooled, "--workers", 6, "--error", 0).returncode == 0
    late = prefjudge("collect", pooled)
    assert late.returncode == 0, late.stderr
    assert "next: prefjudge resolve" in late.stderr
    assert json.loads(prefjudge("status", pooled, "--json").stdout)["waiting"] == 0


@pytest.mark.parametrize("told", [signal.SIGINT, signal.SIGTERM])
def test_who_stops_a_verb_leaves_nothing_behind(tmp_path: Path, told: signal.Signals) -> None:
    typed = [sys.executable, "-m", "prefjudge", "try", tmp_path / "try"]
    env = {name: value for name, value in os.environ.items() if not name.endswith("DISPLAY")}
    with subprocess.Popen(typed, stderr=subprocess.PIPE, text=True, env=env) as verb:
        assert verb.stderr is not None
        assert "minutes; open this link" in verb.stderr.readline()
        assert [*(tmp_path / "try").iterdir()]
        verb.send_signal(told)
        assert verb.wait(30) == 128 + told
    assert not (tmp_path / "try").exists()


def test_workers_for_whom_there_is_nothing_are_said_to_have_found_nothing(pooled: Path) -> None:
    assert "published 7 HITs to sandbox" in prefjudge("publish", pooled, "--sandbox", "--yes").stderr
    first = prefjudge("work", pooled, "--workers", 1, "--error", 0)
    assert "1 simulated worker submitted 7 assignments\nnext: prefjudge collect" in first.stderr
    again = prefjudge("work", pooled, "--workers", 1, "--error", 0)
    assert "submitted 0 assignments\nno open HIT is left for them: others hold it" in again.stderr


def test_every_verb_says_that_the_time_of_hits_is_over(served: Path) -> None:
    publish(served, yes=True)
    with open_marketplace(Study(served)) as door:
        crowd = MTurkCrowd(door.endpoint)
        for task in list(crowd.tasks()):
            crowd.close(task.task_id)
    with Study(served).transaction() as db:
        db.execute("UPDATE hits SET published = published - 691200")
    lead = f"next: prefjudge collect {served}"
    for verb, words in (
        ("status", "HITs         7 open, of which 7 are past their time\n"),
        ("status", f"\n{lead}\n"),
        ("work", f"left for them: the time of 7 HITs is over; {lead}\n"),
        ("publish --sandbox", f"7 HITs open at sandbox, 7 of them past their time; {lead}\n"),
        ("collect", "collected 0 assignments: 0 dropped, 7 re-issued; the time of 7 HITs was over\n"),
    ):
        assert words in prefjudge(*verb.split(), served).stderr
    assert "past" not in prefjudge("status", served).stderr


def test_one_line_of_one_query_is_one(tmp_path: Path) -> None:
    (tmp_path / "run.txt").write_text("q1 Q0 d1 1 1.0 tag\n")
    assert "TREC, 6 columns, 1 line, 1 query; tag tag\n" in prefjudge("check", tmp_path / "run.txt").stdout


def test_a_demo_that_cannot_be_written_says_where(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    done = prefjudge("demo", tmp_path / "file" / "inside")
    assert done.returncode == 1
    assert "inside/collection: Not a directory\n  Name another folder" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("problem", "code", "said"),
    [
        (KeyboardInterrupt(), 130, "interrupted; repeat the verb"),
        (
            FileNotFoundError(2, "No such file or directory", "gone"),
            1,
            "error: gone: No such file or directory",
        ),
    ],
)
def test_what_ends_a_verb_from_beneath_is_said_in_a_line(
    problem: BaseException, code: int, said: str, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    from prefjudge.cli import app

    def ended(study: object, *, confidence: bool | None, top: bool | None, history: bool) -> None:
        raise problem

    monkeypatch.setattr("prefjudge.steps.status.status", ended)
    monkeypatch.setattr(sys, "argv", ["prefjudge", "status", "study"])
    with pytest.raises(SystemExit) as left:
        app.main()
    assert left.value.code == code
    (line,) = capsys.readouterr().err.strip().splitlines()
    assert line.startswith(said)
    monkeypatch.setattr(sys, "argv", ["prefjudge", "reproduce", "assessors"])
    with pytest.raises(SystemExit):
        app._end(130)
    assert capsys.readouterr().err == "\ninterrupted\n", "it begins anew"


def test_what_is_expected_in_a_moment_takes_minutes(pooled: Path) -> None:
    prefjudge("publish", pooled, "--sandbox", "--yes")
    prefjudge("work", pooled, "--workers", 1, "--error", 0, "--most", 2)
    hint = f"Collect again later; simulated workers continue by: prefjudge work {pooled}\n"
    assert hint in prefjudge("collect", pooled).stderr
    assert re.search(
        r"expected +5 assignments, about [1-9][0-9]* minutes? at", prefjudge("status", pooled).stderr
    )


def test_who_watches_is_told_only_what_is_new(
    pooled: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from prefjudge.cli.road import collect
    from prefjudge.field.crowd import Watch

    prefjudge("publish", pooled, "--sandbox", "--yes")
    looks: list[float] = []

    def work_after_the_third_look(_: object, seconds: float = 60.0) -> bool:
        looks.append(seconds)
        if len(looks) == 3:
            prefjudge("work", pooled, "--workers", 1, "--error", 0)
        return True

    monkeypatch.setattr(Watch, "wait", work_after_the_third_look)
    collect(partial(library.collect, pooled), study=pooled, live=False, watch=True)
    assert looks == [60.0] * 3
    assert capsys.readouterr().err.count("judgments count") == 2
