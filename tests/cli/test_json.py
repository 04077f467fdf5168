"""docs/json.md names every key that --json prints, and no other: held against what the verbs print."""

import inspect
import json
import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from prefjudge import VERBS
from prefjudge.cli.app import app
from prefjudge.cli.commands import verb_function
from prefjudge.field.crowd import keep_marketplace_open
from prefjudge.steps.try_it import _PERSON
from prefjudge.study.store import MARKETPLACE_FILE, Study
from tests.steps.conftest import COLLECTION
from tests.steps.conftest import once as once  # the fixture
from tests.steps.repositories import TODAY, commit_all, write_submission
from tests.steps.test_judge import Endpoint
from tests.steps.test_road import TRUTH
from tests.steps.test_spending import settle_by_hand
from tests.steps.test_try import follow

DOCUMENT = Path(__file__).parents[2] / "docs" / "json.md"
FILES = ["--runs", COLLECTION / "runs", "--qrels", COLLECTION / "qrels.txt"]
TEXTS = ["--queries", COLLECTION / "queries.tsv", "--collection", COLLECTION / "collection.tsv"]
TWO = [*FILES, "--qrels", f"again={COLLECTION / 'qrels.txt'}"]
SECTION = re.compile(r"^## `([\w-]+)`\n(.*?)(?=^## |\Z)", re.M | re.S)
ITEM = re.compile(r"^- (`.*(?:\n  .*)*)", re.M)
BOARD = "id,date,description,team,eval\nlexical,2021/01/02,one,A,0.30\n2,2021/02/03,one,A,0.32\n"


class Printed:
    """What the verbs printed, by verb."""

    def __init__(self) -> None:
        self.documents: dict[str, list[dict[str, Any]]] = {}

    def __call__(self, verb: str, *words: object) -> dict[str, Any]:
        done = CliRunner().invoke(app, [verb, *map(str, words), "--json"])
        assert done.exit_code in (0, 1, 3), (verb, done.output, done.exception)
        try:
            found: dict[str, Any] = json.loads(done.stdout)
        except ValueError:
            raise AssertionError((verb, done.output, done.exception)) from done.exception
        self.documents.setdefault(verb, []).append(found)
        return found


def documented(found: Printed) -> dict[str, set[str]]:
    """The keys of each verb, by paths; a key that verbs share is a verb's if it prints it."""
    text = DOCUMENT.read_text(encoding="utf-8")
    shared = keys_of(text.partition("\n## What verbs share\n")[2].partition("\n## ")[0], {})
    sections: dict[str, dict[str, set[str]]] = {}
    for verb, section in SECTION.findall(text):
        earlier = {key: inside for one in sections.values() for key, inside in one.items()}
        had = {key: shared[key] for one in found.documents[verb] for key in one if key in shared}
        sections[verb] = had | keys_of(section, earlier | shared)
    assert [key for key in shared if sum(key in one for one in sections.values()) < 2] == []
    return {
        verb: {"notices"} | {f"{key}.{path}" if path else key for key in keys for path in keys[key] or {""}}
        for verb, keys in sections.items()
    }


def keys_of(section: str, known: dict[str, set[str]]) -> dict[str, set[str]]:
    """The keys that lines such as "- `a` → `b` (`c`): what it is" name, each with the paths inside."""
    found: dict[str, set[str]] = {}
    for line in ITEM.findall(section):
        said, colon, _ = " ".join(line.split()).partition(":")
        names, _, inside = said.partition("→")
        for key in re.findall(r"`([^`]+)`", names):
            assert colon or key in known, f"{key} is not described"
            found[key] = paths_inside(inside, known | found) if colon else known[key]
    return found


def paths_inside(text: str, known: dict[str, set[str]]) -> set[str]:
    """The paths that a list of keys names, in parentheses those of the key before them."""
    paths: set[str] = set()
    for alike, key, nested in re.findall(r"(as )?`([^`]+)`(?: of `\w+`)?(?: \(([^)]*)\))?", text):
        inside = known[key] if alike else {f"{key}.{path}" for path in paths_inside(nested, known)}
        paths |= inside or {key}
    return paths


def printed(value: object, known: set[str], at: str = "") -> Iterator[str]:
    """Yield the path of every key, down to those that the page names; what is empty ends a path, too."""
    if at in known or not value or not isinstance(value, list | dict):
        yield at
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from printed(item, known, f"{at}.{key}" if at else key)
    elif not all(isinstance(item, dict) for item in value):
        yield at
    else:
        for item in value:
            yield from printed(item, known, at)


def on_files(verb: Printed, folder: Path) -> None:
    (folder / "votes").write_text(
        "q01 p25 p34 p25 w\nq01 p25 p34 p25 v\nq02 p9 p3 p9 w\nq02 p3 p7 p3 w\nq02 p7 p9 p7 w\n"
    )
    (folder / "pair").write_text("q01 p20 p34 p34 w\n")
    (folder / "board.csv").write_text(BOARD)
    (folder / "bad").write_text("q1 Q0 d1 1 x t\n")
    run = COLLECTION / "runs" / "lexical.txt"
    verb("pool", *FILES, "--depth", 2, "--out", folder / "pool.tsv")
    asked = ["--per-query", "--sensitivity", "--rule", "most-wins", "--rule", "copeland"]
    verb("resolve", "--judgments", folder / "votes", *asked)
    many = ["--measure", "RR@10", "--measure", "nDCG@10", "--judgments", folder / "votes"]
    verb("score", *TWO, *many, "--per-query", "--health", "--out", folder / "x.csv")
    verb("score", *TWO, "--leaderboard", folder / "board.csv")
    verb("compare", *FILES, "--baseline", "lexical", "--out", folder / "c.csv")
    verb("stability", *FILES, "--trials", 20, "--judgments", folder / "votes")
    verb("agreement", *FILES, "--trials", 4)
    verb("winratio", *FILES, "--judgments", folder / "pair", "--against-qrel", run, "--examples", 2)
    verb("pool", "--runs", run, *FILES[2:], "--design", "top-against-qrel")
    verb("check", run, COLLECTION / "qrels.txt", folder / "bad", "--qrels", COLLECTION / "qrels.txt")
    verb("check", "--manifest", "trec-dl-2020", folder)
    verb("audit", folder / "board.csv", "--days", 90, "--limit", 1)
    a_board(verb, folder / "leaderboard")
    verb("reproduce", "shallow-pooling", *FILES, "--out", folder / "paper")
    verb("plan", "--sizes", "2:5,3:5", "--trials", 20, "--budget", 100)
    verb("serve", "--store", f"sqlite:///{folder / 'market.db'}", "--new-key", "lab")
    verb("serve", "--store", f"sqlite:///{folder / 'market.db'}", "--print-admin-token")


def a_board(verb: Printed, folder: Path) -> None:
    verb("board", "init", folder)
    write_submission(folder, f"{TODAY:%Y%m%d}-run")
    commit_all(folder)
    verb("board", "runs", folder)
    (folder / "submissions" / "odd").write_text("")
    commit_all(folder)
    verb("board", "check", folder)


def on_a_study(verb: Printed, study: Path) -> None:
    verb("init", study, "--config", "demo")
    verb("pool", study, *FILES, *TEXTS)
    verb("gold", study, "--accept", "--file", COLLECTION / "gold.tsv")
    verb("plan", study, "--trials", 20)
    with keep_marketplace_open(Study(study)):
        with Endpoint() as model:
            verb("judge", study, "--url", model.url, "--model", "taste")
        verb("publish", study, "--sandbox", "--yes")
        verb("work", study, "--workers", 6, "--error", 0.1, "--truth", TRUTH)
        verb("collect", study)
        verb("judge", study, "--worth")
        verb("pay", study)
        verb("store", "recover", study)
        verb("store", "backup", study, study.with_name("backup.db"))
        verb("store", "check", study)
        with Study(study).transaction(write=False) as db:
            ((someone,),) = db.execute("SELECT worker_id FROM assignments LIMIT 1")
        verb("workers", study, "--export", someone)
        verb("workers", study, "--forget", someone)
        verb("status", study)
        verb("workers", study)
        verb("resolve", study)
        verb("score", study, "--leave-one-out")
        verb("status", study, "--history")
        verb("report", study)
        verb("report", study, "--site", study.with_name("site"))
        verb("release", study, "--rehearsal", "--out", study.with_name("release"))


def on_other_studies(verb: Printed, folder: Path) -> None:
    """One that ``run`` drives, one in which work is rejected, one of imported votes, and the demo's."""
    (folder / "votes").write_text("q1 d1 d2 d1 ann\nq1 d2 d3 tie ben\n")
    verb("init", folder / "imported")
    verb("import", folder / "imported", folder / "votes", "--judge", "simulated")
    verb("export", folder / "imported", folder / "frame.csv", "--to", "evalica")
    for name in ("driven", "held"):
        verb("init", folder / name, "--config", "demo")
        verb("pool", folder / name, *FILES, *TEXTS)
        verb("gold", folder / name, "--accept", "--file", COLLECTION / "gold.tsv")
    with keep_marketplace_open(Study(folder / "driven")):
        simulated = ["--workers", 6, "--error", 0.1, "--truth", TRUTH]
        verb("run", folder / "driven", "--strategy", "round-robin:1", "--yes", *simulated)
        verb("status", folder / "driven", "--history")
    settle_by_hand(folder / "held")
    with keep_marketplace_open(Study(folder / "held")):
        verb("publish", folder / "held", "--sandbox", "--yes")
        verb("work", folder / "held", "--workers", 6, "--error", 0.1, "--truth", TRUTH)
        verb("collect", folder / "held")
        with Study(folder / "held").transaction(write=False) as db:
            ((assignment,),) = db.execute("SELECT assignment_id FROM assignments LIMIT 1")
        verb("reject", folder / "held", assignment, "--reason", "copied")
        with closing(sqlite3.connect(folder / "held" / MARKETPLACE_FILE)) as market, market:
            market.execute("UPDATE assignments SET dispute = 'no', disputed_at = 1 WHERE status = 'Rejected'")
        verb("reject", folder / "held")
    verb("demo", folder / "demo")
    with pytest.MonkeyPatch.context() as person:
        person.setitem(_PERSON, "simulated", True)
        person.setenv("DISPLAY", ":0")
        person.setattr("webbrowser.open", lambda link: follow(link, folder / "try"))
        verb("try", folder / "try")


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Printed:
    verb = Printed()
    on_files(verb, tmp_path_factory.mktemp("files"))
    on_a_study(verb, tmp_path_factory.mktemp("studies") / "study")
    on_other_studies(verb, tmp_path_factory.mktemp("others"))
    return verb


WITH_JSON = sorted(
    verb.name for verb in VERBS if "json" in inspect.signature(verb_function(verb.function)).parameters
)


def test_every_verb_is_documented(found: Printed) -> None:
    assert sorted(documented(found)) == sorted(found.documents) == WITH_JSON


@pytest.mark.parametrize("verb", WITH_JSON)
def test_the_page_names_what_is_printed(verb: str, found: Printed) -> None:
    """A key may be absent only where the object that has it was empty in every document."""
    known = documented(found)[verb]
    assert all(isinstance(document["notices"], list) for document in found.documents[verb])
    seen = {path for document in found.documents[verb] for path in printed(document, known)}
    inside = {path for path in seen if any(name.startswith(f"{path}.") for name in known)}
    assert seen - known - inside == set()
    assert {name for name in known - seen if not any(name.startswith(f"{path}.") for path in inside)} == set()


def test_notices_reach_the_document(tmp_path: Path) -> None:
    (tmp_path / "run").write_text("\ufeff" + (COLLECTION / "runs" / "lexical.txt").read_text())
    verb = Printed()
    asked = ["--runs", tmp_path / "run", "--runs", COLLECTION / "runs" / "lexical.txt"]
    for name in ("score", "compare", "agreement", "stability"):
        notices = verb(name, *asked, "--qrels", COLLECTION / "qrels.txt")["notices"]
        assert any("starts with a byte order mark" in text for text in notices), name
