"""A verb opens its study once, and what it reads of the store is one state, whoever writes meanwhile."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from shutil import copytree

import pytest

from prefjudge.database import Connection, Database
from prefjudge.field.crowd import keep_marketplace_open
from prefjudge.steps.agreement import agreement
from prefjudge.steps.collect import collect
from prefjudge.steps.compare import compare
from prefjudge.steps.gold import gold
from prefjudge.steps.pay import pay
from prefjudge.steps.plan.plan import plan
from prefjudge.steps.publish import publish
from prefjudge.steps.release.release import release
from prefjudge.steps.report.report import report
from prefjudge.steps.reproduce.reproduce import reproduce
from prefjudge.steps.resolve import resolve
from prefjudge.steps.run import run
from prefjudge.steps.score import score
from prefjudge.steps.stability import stability
from prefjudge.steps.status import status
from prefjudge.steps.store.backup import backup
from prefjudge.steps.store.check import examine
from prefjudge.steps.winratio import winratio
from prefjudge.steps.work import work
from prefjudge.steps.workers import workers
from prefjudge.study.store import STORE_FILE, Study
from tests.steps.conftest import COLLECTION, few_pooled

Verb = Callable[[Path | Study], object]

READING: dict[str, Verb] = {
    "agreement": agreement,
    "compare": lambda study: compare(study=study),
    "history": lambda study: status(study, history=True),
    "plan": lambda study: plan(study, trials=2, strategy=["round-robin:1"]),
    "release": lambda study: (release(study, rehearsal=True), files_in(study, "release")),
    "report": lambda study: (report(study), files_in(study, "report.html")),
    "resolve": lambda study: resolve(study, sensitivity=True),
    "score": lambda study: (score(study), files_in(study, "leaderboard.csv")),
    "stability": lambda study: stability(study, trials=10),
    "status": status,
    "winratio": lambda study: winratio(study, against_qrel="lexical", examples=2),
    "workers": workers,
}

NUMBERS = count()
OTHERS: dict[str, Verb] = {
    "store backup": lambda study: backup(study, file=folder_of(study).parent / f"copy-{next(NUMBERS)}.db"),
    "collect": collect,
    "store check": examine,
    "gold": lambda study: gold(study, accept=True, file=COLLECTION / "gold.tsv"),
    "pay": pay,
    "publish": lambda study: publish(study, yes=True),
    "reproduce": lambda study: reproduce(
        "significant-improvements",
        study=study,
        out=folder_of(study).parent / "exhibits",
    ),
    "work": lambda study: work(study, workers=2, most=1),
}


def folder_of(study: Path | Study) -> Path:
    return study.folder if isinstance(study, Study) else study


def files_in(study: Path | Study, name: str) -> dict[str, bytes]:
    path = folder_of(study) / name
    return {one.name: one.read_bytes() for one in (path.iterdir() if path.is_dir() else [path])}


@pytest.fixture(scope="module")
def judging(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study of which a part is judged, collected and resolved, while more waits to be collected."""
    study = tmp_path_factory.mktemp("judging") / "study"
    few_pooled(study)
    with keep_marketplace_open(Study(study)):
        publish(study, yes=True)
        work(study, workers=2, most=1, error=0.1, slip=0.0)
        collect(study)
        resolve(study)
        work(study, workers=5, error=0.1, slip=0.0)
    return study


@pytest.fixture
def half_judged(judging: Path, tmp_path: Path) -> Path:
    """A copy of it."""
    return copytree(judging, tmp_path / "study")


@contextmanager
def counted(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Note each study that is opened, and each store of a study whose schema is checked."""
    seen: list[str] = []
    opening, migrating = Study.__init__, Database.migrate

    def opened(self: Study, folder: str | Path, *, recovering: bool = False) -> None:
        seen.append("opened")
        opening(self, folder, recovering=recovering)

    def migrated(self: Database, steps: list[str]) -> None:
        seen.extend(["checked"] * self.url.endswith(STORE_FILE))
        migrating(self, steps)

    with monkeypatch.context() as patch:
        patch.setattr(Study, "__init__", opened)
        patch.setattr(Database, "migrate", migrated)
        yield seen


@pytest.mark.parametrize("verb", OTHERS)
def test_who_writes_opens_a_study_once(verb: str, half_judged: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with counted(monkeypatch) as seen:
        OTHERS[verb](half_judged)
        assert seen.count("opened") == 1
        assert seen.count("checked") <= 1  # `backup` copies a store as it is
        OTHERS[verb](Study(half_judged))
        assert seen.count("opened") == 2


def test_run_opens_a_study_once_for_all_its_rounds(pooled: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with counted(monkeypatch) as seen:
        assert run(pooled, strategy="sure:60", yes=True, workers=4, error=0.1).rounds > 1
    assert seen == ["opened", "checked"]


@pytest.mark.parametrize("verb", READING)
def test_a_study_is_opened_once_and_what_is_collected_meanwhile_is_not_half_seen(
    verb: str, half_judged: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once the verb has read for the first time, another process collects what waits."""
    study = Study(half_judged)
    with counted(monkeypatch) as seen:
        before = repr(READING[verb](half_judged))  # as nan is not nan
    assert seen == ["opened", "checked"]
    collected: list[int] = []
    reading = Study.transaction

    @contextmanager
    def interrupted(self: Study, *, write: bool = True) -> Iterator[Connection]:
        with reading(self, write=write) as db:
            yield db
        if not collected:
            collected.append(0)  # `collect` itself is not interrupted
            collected[0] = collect(half_judged).collected

    with monkeypatch.context() as patch:
        patch.setattr(Study, "transaction", interrupted)
        meanwhile = repr(READING[verb](half_judged))
    assert collected[0] > 0
    assert bool(meanwhile == before)  # a bool: pytest would look for ever how two large pages differ
    with counted(monkeypatch) as seen:
        after = repr(READING[verb](study))  # open already, as for a verb that is a part of another
    assert seen == ["checked"]
    assert bool(after != before), "else the test shows nothing"
