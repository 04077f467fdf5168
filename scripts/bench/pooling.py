"""Pooling: the top of each query of many runs."""

from __future__ import annotations

from collections.abc import Iterable

import inputs
from harness import Contest, Lab, shell

TITLE = "pooling: top-k of runs"

OURS = """
import sys
from prefjudge.reading.runs.heads import RunFiles
heads = RunFiles(sys.argv[2:]).top(int(sys.argv[1]))
print(len(heads.run), len(heads.docs))
"""
VERB = ["pool", "--json", "--depth"]
POLARS = """
import sys, polars as pl
columns = {"q": pl.String, "z": pl.String, "d": pl.String, "r": pl.Int64, "s": pl.Float64, "t": pl.String}
for path in sys.argv[2:]:
    run = pl.scan_csv(path, separator=" ", has_header=False, quote_char=None, schema=columns)
    run.select("q", "d", "s").group_by("q").agg(pl.col("d", "s").top_k_by("s", int(sys.argv[1]))).collect()
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
import sys
from ranx import Run
for path in sys.argv[2:]:
    Run.from_file(path, kind="trec")
"""
PEERS = {
    "polars": ("polars", POLARS, 4),
    "pytrec_eval": ("pytrec-eval-terrier", PYTREC_EVAL, 1),
    "ir_measures": ("ir-measures", IR_MEASURES, 1),
    "ranx, reads only": ("ranx", RANX, 1),
}
"""The package of each peer, its code, and how many runs it reads."""

GOALS = {"ir_measures": ">= 6", "ranx, reads only": ">= 6"}


def contests(lab: Lab) -> Iterable[Contest]:
    """Yield the contests; peers read some of the runs, and their time is multiplied."""
    board = inputs.leaderboard(lab)
    paths, sparse = board.paths, inputs.qrels(lab.folder, board.queries)
    for k, floor, most in ((1, "<= 25", 70), (10, "<= 25", 128)):
        yield Contest(
            name=f"top-{k} of {len(paths)} runs",
            ours=lab.ours(OURS, str(k), *paths),
            rivals={
                "wc -l": shell(["wc", "-l", *paths]),
                **{
                    name: lab.peer(package, code, str(k), each=paths[:some], scale=len(paths) / some)
                    for name, (package, code, some) in PEERS.items()
                },
            },
            goals={"wc -l": floor, **GOALS},
            memory_limit_mb=70,
            note="start of the interpreters included",
            reads=paths,
        )
        out = ("--qrels", sparse, "--out", lab.folder / "pool.tsv")
        yield Contest(
            name=f"prefjudge pool --depth {k}, as typed, into a file",
            ours=lab.verb(*VERB, str(k), *out, *lab.runs(paths)),
            rivals={"wc -l": shell(["wc", "-l", *paths])},
            memory_limit_mb=most,
            reads=paths,
        )
    packed = [inputs.packed(path) for path in paths[:4]]
    files = " ".join(f"'{path}'" for path in packed)
    yield Contest(
        name=f"top-1 of {len(packed)} runs, gz",
        ours=lab.ours(OURS, "1", *packed),
        rivals={
            "zcat | wc -l": shell(f"zcat {files} | wc -l"),
            "polars": lab.peer("polars", POLARS, "1", each=packed),
        },
    )
    for times, run in inputs.growing(lab):
        yield Contest(
            name=f"top-1, queries x {times}",
            ours=lab.ours(OURS, "1", *run.paths),
            rivals={"wc -l": shell(["wc", "-l", *run.paths])},
            memory_limit_mb=70,
        )
