"""A real cluster on this machine: a Spark master and two workers, each with an executor and a core.

It pools four runs of MS MARCO's size (28 million lines) there, kills a worker in the middle, and compares
with the engine `files`. With ``--judgments 10000000`` it resolves so many judgments instead. It needs Java,
the extra ``spark``, and Linux, whose /proc says what all these processes cost.
"""

from __future__ import annotations

import argparse
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar

sys.path.insert(0, str(Path(__file__).parent))

T = TypeVar("T")

_DEPLOY = "org.apache.spark.deploy"
_JAVA = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""Processes that live for seconds: the second compiler and the parallel collector would not pay."""


@dataclass(slots=True)
class Cluster:
    """A master and its workers, each the leader of a session of processes."""

    url: str
    workers: list[subprocess.Popen[bytes]]

    def session(self, **config: Any) -> Any:
        """Return a Spark session whose driver is this process."""
        from pyspark.sql import SparkSession

        settings = {
            "spark.ui.enabled": "false",
            "spark.ui.showConsoleProgress": "false",
            "spark.log.level": "OFF",
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.executor.cores": 1,
            "spark.executor.memory": "1g",
            "spark.executor.extraJavaOptions": _JAVA,
            "spark.sql.shuffle.partitions": 2 * len(self.workers),
        }
        return SparkSession.builder.master(self.url).config(map=settings | config).getOrCreate()

    def kill(self, worker: subprocess.Popen[bytes]) -> None:
        """Kill a worker with its executor and the Python of that, as a machine that is switched off."""
        for process in processes():
            if process.session == worker.pid:
                with suppress(ProcessLookupError):
                    os.kill(process.pid, signal.SIGKILL)
        worker.wait()


@contextmanager
def standalone(folder: Path, workers: int = 2) -> Iterator[Cluster]:
    """Start a master and workers on loopback, and end them."""
    import pyspark

    home = Path(pyspark.__file__).parent
    env = os.environ | {
        "SPARK_HOME": str(home),
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_DAEMON_MEMORY": "256m",
        "SPARK_DAEMON_JAVA_OPTS": _JAVA,
        "SPARK_WORKER_DIR": str(folder / "work"),
        "SPARK_LOCAL_DIRS": str(folder / "local"),
    }

    def start(role: str, *options: str) -> subprocess.Popen[bytes]:
        command = [str(home / "bin" / "spark-class"), f"{_DEPLOY}.{role}", "--host", "127.0.0.1", *options]
        with (folder / "log").open("ab") as log:
            return subprocess.Popen(command, stdout=log, stderr=log, env=env, start_new_session=True)

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    url = f"spark://127.0.0.1:{port}"
    master = start("master.Master", "--port", str(port), "--webui-port", "0")
    cluster = Cluster(url, [])
    try:
        one = ("--webui-port", "0", "--cores", "1", "--memory", "1g", url)
        cluster.workers = [start("worker.Worker", *one) for _ in range(workers)]
        _await(lambda: (folder / "log").read_bytes().count(b"Successfully registered with master") == workers)
        yield cluster
    finally:
        for process in (*cluster.workers, master):
            cluster.kill(process)


def _await(ready: Callable[[], bool], seconds: float = 120) -> None:
    end = time.monotonic() + seconds
    while not ready():
        if time.monotonic() > end:
            raise TimeoutError(f"not ready after {seconds:.0f} s")
        time.sleep(0.05)


@dataclass(frozen=True, slots=True)
class Process:
    """A process as /proc has it: its parent, its session, and the seconds of processors that it used."""

    pid: int
    parent: int
    session: int
    cpu: float


def processes() -> list[Process]:
    """Return all processes of this machine."""
    found = []
    ticks = os.sysconf("SC_CLK_TCK")
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:  # it has just ended
            continue
        cpu = (int(fields[11]) + int(fields[12])) / ticks
        found.append(Process(int(path.parent.name), int(fields[1]), int(fields[3]), cpu))
    return found


class Meter(threading.Thread):
    """Sums the seconds of processors of this process and all that come from it, also of those that end."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.used: dict[int, float] = {}
        self.start()

    def run(self) -> None:
        """Look at the processes a few times a second: what one does after the last look is not counted."""
        while True:
            self.total()
            time.sleep(0.2)

    def total(self) -> float:
        """Return the sum so far."""
        children: dict[int, list[Process]] = {}
        for process in processes():
            children.setdefault(process.parent, []).append(process)
        waiting = [os.getpid()]
        while waiting:
            for process in children.get(waiting.pop(), []):
                self.used[process.pid] = max(process.cpu, self.used.get(process.pid, 0.0))
                waiting.append(process.pid)
        return time.process_time() + sum(self.used.values())


def driver_peaks() -> str:
    """Return the most memory that the driver took: this process, and its Java."""
    here, session = os.getpid(), os.getsid(0)
    own = [here, *(one.pid for one in processes() if (one.parent, one.session) == (here, session))]
    return ", ".join(f"{Path(f'/proc/{pid}/comm').read_text().strip()} {_peak(pid)} MB" for pid in own)


def _peak(pid: int) -> int:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next((int(line.split()[1]) >> 10 for line in lines if line.startswith("VmHWM:")), 0)


def measured(meter: Meter, name: str, work: Callable[[], T], count: int, unit: str = "lines") -> T:
    """Do a work, and print what it took."""
    wall, used = time.perf_counter(), meter.total()
    found = work()
    wall, used = time.perf_counter() - wall, meter.total() - used
    speed = f"{count / used / 1e6:.2f} M {unit} per CPU second"
    print(f"{name:44} {wall:7.2f} s, CPU {used:7.2f} s, {speed}", flush=True)
    return found


def main() -> int:
    """Measure on a cluster, and kill one of its workers."""
    parser = argparse.ArgumentParser(prog="python scripts/bench/cluster.py", description=__doc__)
    parser.add_argument("--cache", type=Path, default=Path(__file__).resolve().parents[2] / ".bench")
    parser.add_argument("--runs", type=int, default=4)
    parser.add_argument("--queries", type=int, default=6980)
    parser.add_argument("--judgments", type=int, default=0)
    options = parser.parse_args()
    os.environ["PYSPARK_PYTHON"] = sys.executable
    options.cache.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory() as name, standalone(Path(name)) as cluster:
        session = cluster.session()
        try:
            if options.judgments:
                _resolving(options, session, Path(name))
            else:
                _pooling(options, cluster, session, Path(name))
        finally:
            session.stop()
    return 0


def _pooling(options: argparse.Namespace, cluster: Cluster, session: Any, folder: Path) -> None:
    import inputs
    import pyarrow.parquet as pq

    from prefjudge.reading.runs import heads as files
    from prefjudge.reading.runs.cluster import SparkTables, save_pool
    from prefjudge.reading.runs.tables import TableRuns

    meter = Meter()
    paths = list(
        map(str, inputs.runs(options.cache, count=options.runs, queries=options.queries, depth=1000))
    )
    lines = options.runs * options.queries * 1000
    engine = SparkTables(session)
    runs = TableRuns(engine, paths)
    measured(
        meter,
        "spark, the first run: starts Python there",
        lambda: TableRuns(engine, paths[:1]).top(1),
        lines // options.runs,
    )
    kept = folder / "kept.parquet"
    sizes = measured(
        meter, "spark, the pool written there, depth 10", lambda: save_pool(runs, str(kept), depth=10), lines
    )
    print(f"the driver until now: {driver_peaks()}")
    for _ in range(3):
        theirs = measured(meter, "files, one process, depth 10", lambda: files.RunFiles(paths).top(10), lines)
        ours = measured(meter, "spark, two executors, depth 10", lambda: runs.top(10), lines)
        assert ours.queries == theirs.queries
        assert (ours.doc == theirs.doc).all()
    killer = threading.Timer(1.0, cluster.kill, [cluster.workers[0]])
    again = folder / "again.parquet"
    killer.start()
    after = measured(
        meter, "the same, a worker killed after 1 s", lambda: save_pool(runs, str(again), depth=10), lines
    )
    killer.join()
    order = [("query", "ascending"), ("doc", "ascending")]
    assert after == sizes
    assert pq.read_table(kept).sort_by(order) == pq.read_table(again).sort_by(order)
    print(f"the same pool: {sizes}")


def _resolving(options: argparse.Namespace, session: Any, folder: Path) -> None:
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq
    from resolving import tournaments

    from prefjudge.core.resolving.resolutions import resolve, to_qrels
    from prefjudge.reading.runs.cluster import SparkTables
    from prefjudge.reading.runs.tables import Tables
    from prefjudge.steps.resolve import resolve_judgments

    log = tournaments(options.judgments // 40, 15, np.random.default_rng(7))  # pools of 2 to 15: 40 pairs
    queries, docs = pa.array(log.queries), pa.array(log.docs)
    winner, order = log.winner, np.random.default_rng(8).permutation(len(log))
    path = str(folder / "judgments.parquet")
    Path(path).mkdir()
    for part, start in enumerate(range(0, len(log), 1 << 21)):
        rows = order[start : start + (1 << 21)]
        columns = {
            "query": queries.take(log.query[rows]),
            "doc_1": docs.take(log.left[rows]),
            "doc_2": docs.take(log.right[rows]),
            "preferred": docs.take(winner[rows]),
        }
        pq.write_table(pa.table(columns), f"{path}/part-{part}.parquet")
    count, meter = len(log), Meter()
    print(f"{count:,} judgments of {len(log.queries):,} queries, in no order")
    theirs = measured(meter, "the core alone, in memory", lambda: resolve(log), count, "judgments")
    contests = [("spark, two executors", partial(SparkTables, session)), ("here", Tables)]
    for place, (name, start_engine) in enumerate(2 * contests):  # at first all of it is cold
        out = folder / f"{place}.parquet"
        with closing(start_engine()) as engine:
            work = partial(resolve_judgments, engine, path, str(out), rules=("shallow-pooling",))
            found = measured(meter, f"{name}, from Parquet into Parquet", work, count, "judgments")
        assert found.judgments == count
        assert {status: n for status, n in found.statuses["shallow-pooling"].items() if n} == {
            status: n for status, n in theirs.counts().items() if n
        }
        qrels = to_qrels(theirs)
        written = pq.read_table(out)
        pairs = set(zip(written["query"].to_pylist(), written["doc"].to_pylist(), strict=True))
        ours = zip(qrels.query.tolist(), qrels.doc.tolist(), strict=True)
        assert pairs == {(qrels.queries[query], qrels.docs[doc]) for query, doc in ours}
    print("the same answers")


if __name__ == "__main__":
    sys.exit(main())
