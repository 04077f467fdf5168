"""How verbs read runs: by any executor, from folders, and with words for options that do not fit."""

import inspect
import os
import re
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from multiprocessing import current_process
from pathlib import Path
from threading import Event, current_thread, main_thread
from typing import Any
from weakref import ref

import pytest
from typer.testing import CliRunner

import prefjudge
from prefjudge.cli.app import app
from prefjudge.errors import InputError
from prefjudge.reading.opened import _Helped, working
from prefjudge.steps.agreement import agreement
from prefjudge.steps.audit import audit
from prefjudge.steps.check import check
from prefjudge.steps.compare import compare
from prefjudge.steps.pool import pool
from prefjudge.steps.score import score
from prefjudge.steps.stability import stability
from prefjudge.steps.winratio import winratio

DEMO = Path(__file__).parents[2] / "prefjudge" / "demo"
RUNS = sorted((DEMO / "runs").iterdir())
QRELS = DEMO / "qrels.txt"

BOARD = """id,date,description,team,eval
1,2021/01/02,one,A,0.30
2,2021/02/03,two,B,0.32
"""


class Counting(Executor):
    """An executor of another maker, which counts what it is given."""

    def __init__(self) -> None:
        self.done = 0

    def submit(self, fn: Callable[..., Any], /, *args: Any, **options: Any) -> Future[Any]:
        self.done += 1
        with ThreadPoolExecutor(1) as thread:
            return thread.submit(fn, *args, **options)


@pytest.fixture
def votes(tmp_path: Path) -> Path:
    """Judgments of the first two runs' top documents."""
    tops = [
        {line.split()[0]: line.split()[2] for line in path.read_text().splitlines()[::-1]}
        for path in RUNS[:2]
    ]
    both = {query: (doc, tops[1][query]) for query, doc in tops[0].items() if doc != tops[1].get(query)}
    lines = [f"{query} {one} {other} {one}\n" for query, (one, other) in both.items() if other]
    (tmp_path / "votes").write_text("".join(lines))
    return tmp_path / "votes"


def test_any_executor_gives_the_same_as_none(votes: Path, tmp_path: Path) -> None:
    labels = [str(QRELS)]
    (tmp_path / "board.csv").write_text(BOARD)
    verbs: list[Callable[..., Any]] = [
        lambda **how: pool(runs=RUNS, qrels=QRELS, depth=3, **how),
        lambda **how: (
            score(runs=RUNS, qrels=labels, health=True, judgments=votes, **how).boards[0].leaderboard
        ),
        lambda **how: score(runs=RUNS, qrels=labels, health=True, **how).health,
        lambda **how: compare(runs=RUNS, qrels=labels, **how).comparisons[0].words,
        lambda **how: [str(one.stability) for one in stability(runs=RUNS, qrels=labels, **how).conditions],
        lambda **how: agreement(runs=RUNS, qrels=labels, trials=3, **how).agreements,
        lambda **how: winratio(runs=RUNS, judgments=votes, **how).winratio.pairs,
        lambda **how: check(RUNS, qrels=QRELS, **how),
        lambda **how: audit(tmp_path / "board.csv", runs=RUNS, **how).audit.findings,
    ]
    for verb in verbs:
        executor = Counting()
        assert repr(verb(workers=executor)) == repr(verb())
        assert executor.done >= len(RUNS), inspect.getsource(verb)


class Submitting:
    """An executor as submitit has it: it only submits, and its jobs only have results."""

    def submit(self, fn: Callable[..., Any], *args: Any) -> Any:
        found = fn(*args)
        return type("Job", (), {"result": lambda self: found})()


def test_what_submits_fits() -> None:
    executor: Any = Submitting()
    assert prefjudge.pool(runs=RUNS, qrels=QRELS, workers=executor) == pool(runs=RUNS, qrels=QRELS)
    assert prefjudge.check(RUNS, workers=executor) == check(RUNS)


def test_processes_give_the_same_as_none() -> None:
    alone = pool(runs=RUNS, qrels=QRELS, depth=2)
    assert pool(runs=RUNS, qrels=QRELS, depth=2, workers=2) == alone
    assert check(RUNS, workers=2) == check(RUNS)


def test_a_program_without_a_guard_reads_by_processes(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        "import sys, prefjudge\n"
        "result = prefjudge.check(sys.argv[1:], workers=2)\n"
        "print(len(result.files), 'files')\n"
    )
    done = subprocess.run([sys.executable, program, *RUNS], capture_output=True, text=True, timeout=300)
    assert (done.stdout, done.stderr) == (f"{len(RUNS)} files\n", "")


def test_a_folder_stands_for_its_files(tmp_path: Path) -> None:
    for path in RUNS:
        (tmp_path / path.name).write_bytes(path.read_bytes())
    (tmp_path / ".hidden").write_text("not a run")
    (tmp_path / "_SUCCESS").write_text("")
    (tmp_path / "README.md").write_text("# What these runs are\n")
    (tmp_path / "inner").mkdir()
    assert pool(runs=[tmp_path], qrels=QRELS).runs == pool(runs=RUNS, qrels=QRELS).runs
    (tmp_path / "none").mkdir()
    with pytest.raises(InputError, match=r"no file matches .*none"):
        pool(runs=[tmp_path / "none"])


@pytest.mark.parametrize(
    ("option", "value", "named"),
    [("on_duplicate", "best", "--on-duplicate"), ("workers", 2, "workers (PREFJUDGE_WORKERS)")],
)
def test_options_that_do_not_fit_an_engine(option: str, value: object, named: str) -> None:
    with pytest.raises(InputError, match=re.escape(f"{named} cannot be used on a cluster")):
        pool(runs=RUNS, engine="spark", **{option: value})  # type: ignore[arg-type]


def test_what_no_engine_can_read() -> None:
    with pytest.raises(InputError, match="there is no engine 'polars'"):
        prefjudge.pool(runs=RUNS, engine="polars")  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"s3a://b/runs is an address[^$]*--engine spark"):
        pool(runs=["s3a://b/runs"])
    with pytest.raises(InputError, match=r"x\.parquet: there is no such file"):
        pool(runs=["x.parquet"])
    with pytest.raises(InputError, match="no run files were given"):
        pool(runs=[], engine="spark")
    with pytest.raises(InputError, match="0 workers cannot read"):
        pool(runs=RUNS, workers=0)
    with pytest.raises(InputError, match="only Parquet is written to an address"):
        score(runs=RUNS, qrels=[str(QRELS)], out="s3a://b/scores.csv")
    with pytest.raises(InputError, match=r"is an address[^$]*--engine spark"):
        pool(runs=RUNS, out="s3a://b/pool.parquet")
    with pytest.raises(InputError, match="looks like an address"):
        stability(runs=RUNS, qrels=[str(QRELS)], out="s3a://b/x.csv")
    with pytest.raises(InputError, match="looks like an address"):
        score(runs=RUNS, qrels=[str(QRELS)], plot="s3a://b/x.svg")


def test_health_of_runs_with_repeats(tmp_path: Path) -> None:
    """A choice about repeated documents holds for the health of a run, too."""
    line = RUNS[0].read_text().splitlines()[0]
    (tmp_path / "run").write_text(f"{line}\n{line}\n")
    found = score(runs=[tmp_path / "run"], qrels=[str(QRELS)], health=True, on_duplicate="first")
    assert found.health[0].lines == 1


def test_a_study_is_made_from_run_files(tmp_path: Path) -> None:
    from prefjudge.steps.init import init

    init(tmp_path / "study")
    runs = parquet_of_a_run(tmp_path / "runs.parquet")
    with pytest.raises(InputError, match="not a run file, and a study is made from run files"):
        pool(tmp_path / "study", runs=[runs])
    assert pool(tmp_path / "study", runs=RUNS, qrels=QRELS).changed


def parquet_of_a_run(path: Path) -> Path:
    pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed (extra parquet)")
    import pyarrow.parquet as pq

    lines = [line.split() for line in RUNS[0].read_text().splitlines()]
    query, _, doc, rank, score, tag = zip(*lines, strict=True)
    columns = {
        "path": ["p"] * len(lines),
        "tag": tag,
        "query": query,
        "doc": doc,
        "rank": rank,
        "score": score,
    }
    pq.write_table(pa.table({name: list(cells) for name, cells in columns.items()}), path)
    return path


def test_runs_in_parquet_are_read_as_files_are(tmp_path: Path) -> None:
    """By the verbs, with nothing said of an engine, and beside run files."""
    runs = [parquet_of_a_run(tmp_path / "runs.parquet"), *RUNS[1:]]
    ours, theirs = (score(runs=one, qrels=[str(QRELS)]) for one in (runs, RUNS))
    assert ours.leaderboards[0].rows == theirs.leaderboards[0].rows
    assert pool(runs=runs, depth=3).sizes == pool(runs=RUNS, depth=3).sizes


def test_health_is_that_of_files(tmp_path: Path) -> None:
    runs = parquet_of_a_run(tmp_path / "runs.parquet")
    with pytest.raises(InputError, match="the health of runs is checked on text files"):
        score(runs=[runs], qrels=[str(QRELS)], health=True)


def test_the_command_line_says_what_does_not_fit() -> None:
    words = ["pool", "--runs", str(DEMO / "runs"), "--engine", "spark", "--on-duplicate", "first"]
    found = CliRunner().invoke(app, words)
    assert found.exit_code == 1
    assert "--on-duplicate cannot be used on a cluster" in str(found.exception)


def test_processes_are_started_unasked_only_where_files_are_large(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(64)), raising=False)
    files = [tmp_path / name for name in "abcdefghijkl"]

    def processes(size: int, workers: int | None = None) -> int:
        for file in files:
            with file.open("wb") as handle:
                handle.truncate(size << 20)  # without taking up room
        with working(workers, [*files, tmp_path, tmp_path / "none"]) as executor:
            return executor.processes + 1 if executor else 1  # type: ignore[attr-defined]

    assert processes(1) == 1
    assert processes(40) == 8
    assert processes(400, 1) == 1
    assert processes(1, 3) == 3


def odd(number: int) -> int:
    """Return an odd number; even ones are refused."""
    if number % 2:
        return number
    raise InputError(f"{number} is even")


class Here(Executor):
    """An executor that does its work at once."""

    def submit(self, work: Callable[..., Any], *args: Any, **_: Any) -> Future[Any]:  # type: ignore[override]
        done: Future[Any] = Future()
        done.set_result(work(*args))
        return done


def test_a_result_is_let_go_once_it_was_taken() -> None:
    class Result:
        pass

    found = _Helped(Here(), 1).map(lambda _: Result(), range(3))
    first = ref(next(found))
    assert first() is None
    assert len(list(found)) == 2


def test_this_process_does_its_share_and_results_and_errors_come_in_order() -> None:
    done: list[tuple[str, int]] = []
    let_go = Event()

    def work(number: int) -> int:
        here = current_thread() is main_thread()
        done.append(("here" if here else "there", number))
        if not here:
            let_go.wait(60)
        elif number == 9:
            let_go.set()  # the others do their first thing for as long as there is another
        return odd(number) if number > 90 else number

    with ThreadPoolExecutor(1) as thread:
        assert list(_Helped(thread, 1).map(work, range(10))) == list(range(10))
        assert sorted(done) == [*(("here", number) for number in range(1, 10)), ("there", 0)]
        found = _Helped(thread, 1).map(work, [91, 92, 93])
        assert next(found) == 91
        with pytest.raises(InputError, match="92 is even"):
            next(found)
    with working(3, RUNS) as executor:
        assert executor is not None
        assert list(executor.map(odd, [1, 3, 5, 7, 9, 11])) == [1, 3, 5, 7, 9, 11]
        refused = executor.map(odd, [1, 3, 4, 5, 6, 8])
        assert [next(refused), next(refused)] == [1, 3]
        with pytest.raises(InputError, match="4 is even"):
            next(refused)


def die(number: int) -> int:
    """End the process, as a lack of memory does."""
    if current_process().name != "MainProcess":
        os._exit(1)
    return number


def test_a_process_that_is_killed_is_an_error_and_not_a_wait() -> None:
    with working(3, RUNS) as executor:
        assert executor is not None
        with pytest.raises(InputError, match="was killed"):
            list(executor.map(die, range(40)))


def test_provenance_says_what_runs_were_taken_for_once(tmp_path):
    from prefjudge.steps.score import score

    (tmp_path / "qrels").write_text("q1 0 d1 1\n")
    names = [f"run{number}" for number in range(5)]
    for number, name in enumerate(names):
        lines = [f"q1 Q0 d{doc} {doc} {-doc} {name}\n" for doc in range(1, number + 2)]
        (tmp_path / name).write_text("".join(lines))
    paths = [tmp_path / name for name in names]

    def said(**options):
        return score(runs=paths, qrels=tmp_path / "qrels", measure="RR@10", **options).provenance["read as"]

    assert said() == "TREC, 6 columns, 1 to 5 lines, 1 query"
    paths[-1].write_text("q1\td1\t1\n")
    assert said() == (
        "run0, run1, run2 and 1 more: TREC, 6 columns, 1 to 4 lines, 1 query; "
        "run4: MS MARCO, 3 columns, 1 line, 1 query"
    )
