"""A small study made of the collection that ships with prefjudge."""

import pickle
from collections.abc import Callable, Iterator
from functools import cache
from importlib.resources import files
from pathlib import Path
from shutil import copytree
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest

from prefjudge import collect, pool, publish, resolve, work
from prefjudge.core.planning import rounds
from prefjudge.core.resolving import confidence, rules
from prefjudge.errors import CrowdError
from prefjudge.evaluation import intervals, stability
from prefjudge.field.crowd import keep_marketplace_open
from prefjudge.findings import sureness
from prefjudge.pages.page import Picture
from prefjudge.show.cells import Table
from prefjudge.steps.gold import gold
from prefjudge.steps.init import init
from prefjudge.steps.pool import PoolResult
from prefjudge.steps.report import boards, material
from prefjudge.study.store import Study

COLLECTION = Path(str(files("prefjudge"))) / "demo"
_MOST, _drawn = stability._MOST, material.drawn


def pool_from(folder: Path, study: Path | None, pattern: str = "runs/*.txt", **other: Any) -> PoolResult:
    """Pool what a folder holds under the usual names; ``other`` takes the place of some of it."""
    names = {"qrels": "qrels.txt", "queries": "queries.tsv", "collection": "collection.tsv"}
    usual = {what: folder / name for what, name in names.items()}
    return pool(study, **{"runs": [str(folder / pattern)], **usual, **other})


def pool_demo(study: Path, **other: Any) -> PoolResult:
    return pool_from(COLLECTION, study, **other)


def until_done(verb: Callable[[], object]) -> int:
    """Start a verb again each time that it breaks off; return how often it did."""
    for broken in range(40):
        try:
            verb()
        except CrowdError:
            continue
        return broken
    raise AssertionError("it breaks off for ever")


@pytest.fixture
def pooled(tmp_path: Path) -> Path:
    """A study with its pool and gold pairs, ready to be published; everybody may take all HITs at once."""
    study = climbing_study(tmp_path / "study")
    let_all_work_at_once(study)
    return study


def let_all_work_at_once(study: Path) -> None:
    """Leave the ladder of trust: everybody may take all HITs at once, until the first miss."""
    config = study / "study.toml"
    text = config.read_text().replace('policy = "ladder"', 'policy = "first-miss"')
    if "[screening]" not in text:
        text += '\n[screening]\npolicy = "first-miss"\n'
    config.write_text(text)


def made_once(make: Callable[[Path], object]) -> Callable[[Path], Path]:
    """Return what copies a study, which is made where it is first asked for: it does not know its folder."""

    @cache
    def made() -> TemporaryDirectory[str]:
        folder = TemporaryDirectory()
        make(Path(folder.name) / "study")
        return folder

    return lambda place: Path(copytree(Path(made().name) / "study", place))


@made_once
def climbing_study(study: Path) -> None:
    """A study like ``pooled`` with the default policy: workers climb the ladder of trust.

    Its key is always the same: what is hidden in which HIT decides who of the simulated workers is caught.
    """
    init(study, config="demo", name="trial")
    fix_key(study)
    pool_demo(study)
    gold(study, accept=True, file=COLLECTION / "gold.tsv")


@pytest.fixture
def served(pooled: Path) -> Iterator[Path]:
    """The same, its marketplace answering for as long as the test."""
    with keep_marketplace_open(Study(pooled)):
        yield pooled


@pytest.fixture
def few_judged(tmp_path: Path) -> Path:
    """A study of seven queries that simulated workers have judged, resolved: for what tries many verbs."""
    return _few_judged(tmp_path / "study")


def few_pooled(study: Path) -> Path:
    """A study like ``pooled``, of seven queries."""
    let_all_work_at_once(climbing_study(study))
    queries = study.with_name("queries.tsv")
    queries.write_text("".join((COLLECTION / "queries.tsv").read_text().splitlines(keepends=True)[:7]))
    assert pool_demo(study, queries=queries).changed
    return study


@made_once
def _few_judged(study: Path) -> None:
    few_pooled(study)
    with keep_marketplace_open(Study(study)):
        publish(study, sandbox=True, yes=True)
        while not collect(study).finished:
            work(study, workers=6, error=0.0, truth=COLLECTION / "truth.tsv")
    resolve(study)


@pytest.fixture(scope="module", autouse=True)
def quick() -> Iterator[None]:
    """What verbs take most of their time for: how sure answers are, pictures, two votings again and again."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("prefjudge.steps.status._QUICK", -1)  # as for a study too large to be asked unasked
        patch.setattr(stability, "_MOST", 4)
        for room in (material, boards):
            patch.setattr(room, "drawn", _undrawn)
        yield


LONG = (
    (sureness, "assess_confidence"), (rounds, "assess_confidence"), (confidence, "estimate_scales"),
    (rules, "learn_trust"), (intervals, "gaffke_interval"),
)  # fmt: skip


@pytest.fixture(scope="module", autouse=True)
def once() -> Iterator[None]:
    """Verb after verb asks the same of the same votes: let it be computed once, with the same draws."""
    with pytest.MonkeyPatch.context() as patch:
        for room, name in LONG:
            patch.setattr(room, name, _once(getattr(room, name)))
        yield


_known: dict[bytes, bytes] = {}


def _once(function: Callable[..., Any]) -> Callable[..., Any]:
    def asked(*given: object, rng: np.random.Generator | None = None, **more: object) -> Any:
        drawing = {} if rng is None else {"rng": rng}
        key = pickle.dumps((function.__qualname__, given, more, rng and rng.bit_generator.state))
        if key not in _known:
            found = function(*given, **drawing, **more)
            _known[key] = pickle.dumps((found, rng and rng.bit_generator.state))
        found, state = pickle.loads(_known[key])
        if rng is not None:
            rng.bit_generator.state = state
        return found

    return asked


def _undrawn(_: object, name: str, words: str, draw: object, table: Table | None = None) -> Picture:
    return Picture(words=words, svg=b"<svg/>", table=table)


@pytest.fixture
def in_full(monkeypatch: pytest.MonkeyPatch) -> None:
    """For tests of just that."""
    monkeypatch.setattr("prefjudge.steps.status._QUICK", 500)
    monkeypatch.setattr(stability, "_MOST", _MOST)
    for room in (material, boards):
        monkeypatch.setattr(room, "drawn", _drawn)


def edit(study: Path, *changes: tuple[str, str], more: str = "") -> None:
    """Replace words of a study's config, and add more at its end."""
    config = study / "study.toml"
    text = config.read_text(encoding="utf-8")
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new)
    config.write_text(text + more, encoding="utf-8")


def fix_key(study: Path) -> None:
    with Study(study).transaction() as db:
        db.execute("INSERT INTO settings (key, value) VALUES ('secret', :value)", value="5a" * 32)


def contents(study: Path) -> dict[str, list[tuple[object, ...]]]:
    """Everything that the store holds, but for its key and the simulated workers' visits."""
    opened = Study(study)
    tables = (
        "settings inputs queries passages pooled pairs gold hits slots intents "
        "assignments judgments drops barred"
    )
    with opened.transaction(write=False) as db:
        found = {table: sorted(db.execute(f"SELECT * FROM {table}"), key=repr) for table in tables.split()}
    found["settings"] = [
        row for row in found["settings"] if not str(row[0]).startswith(("visits:", "secret"))
    ]
    opened.close()
    return found
