"""A real cluster of two workers on this machine: the same pool and scores, also where one is killed."""

import os
import shutil
import sys
import time
from functools import partial
from pathlib import Path
from threading import Thread

import pytest

from prefjudge.errors import InputError
from prefjudge.reading.labels import read_qrels
from prefjudge.reading.runs import heads as files
from prefjudge.reading.runs.tables import TableRuns
from prefjudge.steps.pool import pool

from .test_tables import as_rows, parquet_rows, same, save_pool

SCRIPTS = Path(__file__).parents[2] / "scripts" / "bench"
DEMO = Path(__file__).parents[2] / "prefjudge" / "demo"
RUNS = sorted(map(str, (DEMO / "runs").iterdir()))

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="finds the processes of a worker in /proc")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    pytest.importorskip("pyspark", reason="Apache Spark is not installed (extra spark)")
    if shutil.which("java") is None:
        pytest.skip("Apache Spark needs Java, which is not installed")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(SCRIPTS))
        patch.setenv("PYSPARK_PYTHON", sys.executable)
        from cluster import standalone

        with standalone(tmp_path_factory.mktemp("cluster")) as started:
            yield started


@pytest.fixture(scope="module")
def engine(cluster):
    from prefjudge.reading.runs.cluster import SparkTables

    session = cluster.session(**{"spark.task.maxFailures": 2})
    yield SparkTables(session)
    session.stop()


def until(found):
    """Return what is found once there is something."""
    end = time.monotonic() + 120
    while (thing := found()) is None:
        assert time.monotonic() < end, "nobody reads"
        time.sleep(0.02)
    return thing


def opened(pipe):
    """Return a handle to write to a pipe that somebody reads."""
    try:
        return os.open(pipe, os.O_WRONLY | os.O_NONBLOCK)
    except OSError:
        return None


def session_of_reader(pipe):
    """Return the session of the process, other than this one, that has a pipe open."""
    for link in Path("/proc").glob("[0-9]*/fd/*"):
        pid = int(link.parts[2])
        try:
            if pid != os.getpid() and link.readlink() == pipe:
                return os.getsid(pid)
        except OSError:  # the process has ended, or closed it
            continue
    return None


def kill_first_reader(cluster, pipe, data, killed):
    """Kill the worker that first reads a run from a pipe, and give the run to the next."""
    handle = until(partial(opened, pipe))
    session = until(partial(session_of_reader, pipe))
    (worker,) = (one for one in cluster.workers if one.pid == session)
    cluster.kill(worker)
    # The handle stays open meanwhile: the next may read before the first is gone, and would find the end.
    until(lambda: session_of_reader(pipe) not in {session, None} or None)
    killed.append(worker)
    os.set_blocking(handle, True)
    with os.fdopen(handle, "wb") as file:
        file.write(data)


def test_a_killed_worker_changes_nothing(cluster, engine, tmp_path):
    """One dies while it reads a run; what it had kept of others is found again. Then one is left."""
    qrels = read_qrels(DEMO / "qrels.txt")
    (tmp_path / "bad").write_text("q1 Q0 d1 1 9 t\nq1 Q0 d2 2 8 t\nq1 Q0 d3 3 x t\n")
    with pytest.raises(InputError, match=r"bad:3:12: the score is not a number: 'x'"):
        TableRuns(engine, [*RUNS, tmp_path / "bad"]).top(1)
    pipe, killed = tmp_path / "pipe", []
    os.mkfifo(pipe)
    thread = Thread(target=kill_first_reader, args=(cluster, pipe, Path(RUNS[2]).read_bytes(), killed))
    thread.start()
    Thread(target=lambda: (thread.join(), os.close(os.open(pipe, os.O_RDWR)))).start()  # no reader waits on
    _, sizes = save_pool(
        TableRuns(engine, [*RUNS[:2], pipe, *RUNS[3:]]), str(tmp_path / "pool.parquet"), depth=3, qrels=qrels
    )
    thread.join()
    assert killed
    home = pool(runs=RUNS, qrels=DEMO / "qrels.txt", depth=3, out=tmp_path / "pool.tsv")
    assert sizes == home.sizes
    lines = (tmp_path / "pool.tsv").read_text().replace("original", qrels.name).splitlines()[1:]
    rows = {(query, doc, frozenset(by.split(","))) for query, doc, by in (x.split("\t") for x in lines)}
    ours = parquet_rows(tmp_path / "pool.parquet")
    assert {(query, doc, frozenset(by.split(","))) for query, doc, by in ours} == rows
    assert len(ours) == len(rows)
    asked = TableRuns(engine, RUNS)
    assert as_rows(asked.top(5)) == as_rows(files.RunFiles(RUNS).top(5))
    assert same(asked.judged(qrels), files.RunFiles(RUNS).judged(qrels))


@pytest.mark.parametrize("missing", ["prefjudge", "numpy"])
def test_an_executor_that_lacks_a_package_is_told_in_a_line(engine, tmp_path, monkeypatch, missing):
    (tmp_path / f"{missing}.py").write_text(f"raise ModuleNotFoundError(\"No module named '{missing}'\")\n")
    bare = tmp_path / "python"
    bare.write_text(f'#!/bin/sh\nPYTHONPATH="{tmp_path}:$PYTHONPATH" exec "{sys.executable}" "$@"\n')
    bare.chmod(0o755)
    monkeypatch.setattr(engine.session.sparkContext, "pythonExec", str(bare))
    with pytest.raises(InputError, match=f"No module named '{missing}'") as said:
        TableRuns(engine, RUNS).top(1)
    assert len(str(said.value).splitlines()) == 2
    assert "prefjudge, numpy and pyarrow installed" in str(said.value)
