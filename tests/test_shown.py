"""Every result is a table: in a notebook what the terminal shows, and DataFrames for further work."""

import math
import pickle
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, replace
from importlib import import_module
from inspect import getmembers, isclass
from pathlib import Path
from pkgutil import walk_packages
from typing import Any

import pytest

import prefjudge
from prefjudge import steps
from prefjudge.errors import InputError
from prefjudge.show.cells import Column, Table
from prefjudge.show.results import Shown
from prefjudge.show.tables import to_html, to_records
from tests.cli.conftest import prefjudge as run
from tests.steps.conftest import COLLECTION as DEMO

RUNS = str(DEMO / "runs" / "*.txt")
QRELS = DEMO / "qrels.txt"
VOTES = "q01 p25 p34 p25 w1\nq01 p25 p11 p25 w2\nq02 p1 p2 p1 w1\n"


def results() -> set[type]:
    modules = [import_module(one.name) for one in walk_packages(steps.__path__, "prefjudge.steps.")]
    kinds = {kind for module in modules for _, kind in getmembers(module, isclass)}
    return {kind for kind in kinds if kind.__name__.endswith("Result")}


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    name: str
    share: float


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class OddResult(Shown):
    count: int
    path: Path
    named: dict[str, int]
    pairs: tuple[Pair, ...]
    texts: tuple[str, ...] = ()


def test_what_every_function_returns_is_shown() -> None:
    found = results()
    assert len(found) >= 28
    assert {kind.__name__ for kind in found if not issubclass(kind, Shown)} == set()
    assert {kind.__name__ for kind in found if kind.__eq__ is not Shown.__eq__} == set(), "needs eq=False"


def test_results_are_compared_by_what_they_hold() -> None:
    def ranked(**more: Any) -> Any:
        return prefjudge.stability(runs=RUNS, qrels=QRELS, trials=5, **more)

    assert ranked() == ranked()
    assert ranked() != ranked(seed=1)
    assert ranked() != prefjudge.check(DEMO / "runs" / "lexical.txt")
    nothing = OddResult(count=1, path=Path("x"), named={"a": 1}, pairs=(Pair(name="p", share=math.nan),))
    assert nothing == replace(nothing)
    assert nothing != replace(nothing, named={"a": 2})
    assert nothing != replace(nothing, pairs=())


CALLS: dict[str, Callable[[Path], Any]] = {
    "score": lambda folder: prefjudge.score(runs=RUNS, qrels=QRELS, measure=["RR@10", "AP"]),
    "compare": lambda folder: prefjudge.compare(runs=RUNS, qrels=QRELS),
    "agreement": lambda folder: prefjudge.agreement(runs=RUNS, qrels=QRELS, trials=3),
    "stability": lambda folder: prefjudge.stability(runs=RUNS, qrels=QRELS, trials=20),
    "winratio": lambda folder: prefjudge.winratio(runs=RUNS, judgments=folder / "votes.txt", qrels=QRELS),
    "resolve": lambda folder: prefjudge.resolve(
        judgments=folder / "votes.txt", rule=["most-wins", "copeland"]
    ),
    "one rule": lambda folder: prefjudge.resolve(judgments=folder / "votes.txt", rule=["most-wins"]),
    "workers": lambda folder: prefjudge.workers(judgments=folder / "votes.txt"),
    "plan": lambda folder: prefjudge.plan(sizes="2:3,4:2", error=0.3, trials=3),
    "check": lambda folder: prefjudge.check([QRELS]),
    "init": lambda folder: prefjudge.init(folder / "study"),
    "pool": lambda folder: prefjudge.pool(runs=RUNS, qrels=QRELS, out=folder / "pool.tsv"),
}


@pytest.mark.parametrize("call", CALLS)
def test_a_result_is_frames_and_html(call: str, tmp_path: Path) -> None:
    (tmp_path / "votes.txt").write_text(VOTES)
    result = CALLS[call](tmp_path)
    frames = result.frames()
    assert len(frames) == len(result.tables()) >= 1
    assert list(frames) == [table.title for table in result.tables()]
    for frame, table in zip(frames.values(), result.tables(), strict=True):
        assert list(frame.columns) == [column.name for column in table.columns]
        assert len(frame) == len(table.rows)
        assert frame.attrs["title"] == table.title
    shown = result._repr_html_()
    assert shown.count("<table>") == len(frames)
    assert len(result.to_frame()) > 0
    # as a pool of processes hands it over, and a program keeps it
    assert repr(pickle.loads(pickle.dumps(result))) == repr(deepcopy(result)) == repr(result)


def test_the_words_of_a_notebook_are_those_of_the_terminal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "400")
    result = prefjudge.score(runs=RUNS, qrels=f"labels={QRELS}")
    page = result._repr_html_()
    printed = run("score", "--runs", RUNS, "--qrels", f"labels={QRELS}").stdout
    for record in to_records(result.tables()[0]):
        assert f">{record['run']}</" in page
        assert str(record["run"]) in printed
        assert f"{record['score']:.4f}" in page
        assert f"{record['score']:.4f}" in printed


def test_html_escapes_every_word() -> None:
    hostile = "<script>alert(1)</script>"
    table = Table(title=hostile, columns=(Column(name=hostile),), rows=((hostile,),), notes=(hostile,))
    assert "<script" not in to_html(table)
    assert to_html(table).count("&lt;script&gt;") == 4


def test_a_record_without_tables_of_its_own_is_shown_by_its_fields() -> None:
    result = OddResult(
        count=3, path=Path("x"), named={"a": 1}, pairs=(Pair(name="p", share=0.25),), texts=("u", "v")
    )
    assert [table.title for table in result.tables()] == ["odd", "named", "pairs"]
    assert result.to_frame().to_dict("list") == {
        "name": ["count", "path", "texts"],
        "value": [3, "x", "u, v"],
    }
    assert result.frames()["pairs"].to_dict("records") == [{"name": "p", "share": 0.25}]
    with pytest.raises(InputError):
        prefjudge.resolve()


def test_a_screen_does_not_call_an_absent_file_in_order(tmp_path: Path) -> None:
    found = prefjudge.check(tmp_path, manifest="trec-dl-2020")
    absent = len(found.manifest)
    assert f"0 ok, 0 wrong, {absent} absent" in repr(found)
    assert f"  absent: {found.manifest[0].name}" in repr(found)


def test_the_screen_and_the_plot_of_scores_are_by_peoples_answers_wherever_these_stand(
    tmp_path: Path,
) -> None:
    (tmp_path / "one").write_text("".join(f"q0{query} 0 p25 1\n" for query in range(1, 6)))
    for order in (["preference", "labels"], ["labels", "preference"]):
        named = {"labels": QRELS, "preference": tmp_path / "one"}
        found = prefjudge.score(runs=RUNS, qrels=[f"{name}={named[name]}" for name in order])
        assert " by RR@10 under preference: " in repr(found).splitlines()[0]
        assert "under labels" in repr(found)
        assert "preference" in found.plot().axes[0].get_title(loc="left")
