"""Pooling: the top of each query of many runs."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import inputs
from harness import Contest, Lab, shell

TITLE = "pooling: top-k of runs, trusted"

OURS = """
import sys
from prefjudge.engines.files import top
heads = top(sys.argv[2:], k=int(sys.argv[1]), trust=True)
print(len(heads.run), len(heads.docs))
"""
POLARS = """
import sys, polars as pl
columns = {"q": pl.String, "z": pl.String, "d": pl.String, "r": pl.Int64, "s": pl.Float64, "t": pl.String}
for path in sys.argv[2:]:
    run = pl.scan_csv(path, separator=" ", has_header=False, quote_char=None, schema=columns)
    run.select("q", "d", "s").group_by("q").agg(pl.col("d", "s").top_k_by("s", int(sys.argv[1]))).collect()
"""
DUCKDB = """
import sys, duckdb
columns = "{'q': 'VARCHAR', 'z': 'VARCHAR', 'd': 'VARCHAR', 'r': 'INT', 's': 'DOUBLE', 't': 'VARCHAR'}"
for path in sys.argv[2:]:
    rows = f"read_csv('{path}', delim=' ', header=false, quote='', columns={columns})"
    top = f"max_by(d, struct_pack(s := s, d := d), {sys.argv[1]})"
    duckdb.connect().execute(f"SELECT q, {top} FROM {rows} GROUP BY q").fetchall()
"""
IR_MEASURES = """
import sys, heapq, ir_measures
k, tops = int(sys.argv[1]), {}
for path in sys.argv[2:]:
    for row in ir_measures.read_trec_run(path):
        heap = tops.setdefault(row.query_id, [])
        (heapq.heappush if len(heap) < k else heapq.heappushpop)(heap, (row.score, row.doc_id))
"""
PYTREC_EVAL = """
import sys, heapq, pytrec_eval
for path in sys.argv[2:]:
    with open(path) as file:
        run = pytrec_eval.parse_run(file)
    {q: heapq.nlargest(int(sys.argv[1]), docs.items(), key=lambda row: row[1]) for q, docs in run.items()}
"""
RANX = """
import sys, heapq
from ranx import Run
for path in sys.argv[2:]:
    run = Run.from_file(path, kind="trec").to_dict()
    {q: heapq.nlargest(int(sys.argv[1]), docs.items(), key=lambda row: row[1]) for q, docs in run.items()}
"""


def shape(lab: Lab) -> dict[str, int]:
    """Return the size of the runs."""
    return (
        {"count": 2, "queries": 60, "depth": 50}
        if lab.short
        else {"count": 16, "queries": 6980, "depth": 1000}
    )


def prepare(lab: Lab) -> None:
    """Make the runs."""
    inputs.packed(inputs.runs(lab.folder, **shape(lab))[0])


def contests(lab: Lab) -> Iterable[Contest]:
    """Yield the contests: all runs against the floor, one run against the peers."""
    paths = inputs.runs(lab.folder, **shape(lab))
    one, some = paths[:1], paths[:4]
    for k, floor in ((1, "<= 2.5"), (10, "<= 5")):
        parts = {
            "polars": (POLARS, "polars", some),
            "duckdb": (DUCKDB, "duckdb", some),
            "pytrec_eval": (PYTREC_EVAL, "pytrec-eval-terrier", one),
            "ir_measures": (IR_MEASURES, "ir-measures", one),
            "ranx": (RANX, "ranx", one),
        }
        rivals = {
            name: lab.peer(package, code, str(k), *files, scale=len(paths) / len(files))
            for name, (code, package, files) in parts.items()
        }
        yield Contest(
            name=f"top-{k} of {len(paths)} runs",
            ours=lab.ours(OURS, str(k), *paths),
            rivals={"wc -l": shell(["wc", "-l", *paths]), **(rivals if k == 1 else {})},
            goals={
                "wc -l": floor,
                "polars": ">= 5",
                "duckdb": ">= 5",
                "pytrec_eval": ">= 50",
                "ir_measures": ">= 100",
                "ranx": ">= 100",
            },
            memory_limit_mb=64,
            note="start of the interpreters included",
        )
    packed = [inputs.packed(path) for path in paths[:4]]
    files = " ".join(f"'{path}'" for path in packed)
    yield Contest(
        name=f"top-1 of {len(packed)} runs, gz",
        ours=lab.ours(OURS, "1", *packed),
        rivals={
            "zcat | wc -l": shell(f"zcat {files} | wc -l"),
            "polars": lab.peer("polars", POLARS, "1", *packed),
        },
        goals={"zcat | wc -l": "<= 0.3"},
    )
    yield from growth(lab)


def growth(lab: Lab) -> Iterable[Contest]:
    """Yield the same work at 1, 10 and 100 times the queries."""
    for times in (1, 10) if lab.short else (1, 10, 100):
        path: Path = inputs.runs(lab.folder, count=1, queries=(10 if lab.short else 698) * times, depth=100)[
            0
        ]
        yield Contest(
            name=f"top-1, queries x {times}",
            ours=lab.ours(OURS, "1", path),
            rivals={"wc -l": shell(["wc", "-l", path])},
            memory_limit_mb=64,
        )
