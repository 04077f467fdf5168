"""Scoring: where the judged documents stand, and RR, nDCG, AP and R@100 of it."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from pathlib import Path

import inputs
from harness import Absent, Contest, Lab, Work, scaled, shell

TITLE = "scoring: RR, nDCG@10, AP, R@100"

ALONE, WORKERS = "alone", "workers"
OURS = """
import sys
from prefjudge.reading.runs.heads import RunFiles
from prefjudge.evaluation.measures.measures import Measure
from prefjudge.reading.labels import read_qrels
from prefjudge.reading.opened import working
qrels = read_qrels(sys.argv[2])
how, paths = sys.argv[1], sys.argv[3:]
with working(None if how == "workers" else 1, paths, in_parts=True) as workers:
    runs = RunFiles(paths, executor=workers)
    for ranks in runs.judged(qrels):
        for name in ("RR", "nDCG@10", "AP", "R@100"):
            print(ranks.run, name, Measure.parse(name).score(ranks, qrels).mean())
"""
IR_MEASURES = """
import sys, ir_measures
from ir_measures import AP, R, RR, nDCG
qrels = list(ir_measures.read_trec_qrels(sys.argv[1]))
for path in sys.argv[2:]:
    ir_measures.calc_aggregate([RR, nDCG @ 10, AP, R @ 100], qrels, ir_measures.read_trec_run(path))
"""
PYTREC_EVAL = """
import sys, pytrec_eval
names = ["recip_rank", "ndcg_cut.10", "map", "recall.100"]
with open(sys.argv[1]) as file:
    scorer = pytrec_eval.RelevanceEvaluator(pytrec_eval.parse_qrel(file), names)
for path in sys.argv[2:]:
    with open(path) as file:
        scorer.evaluate(pytrec_eval.parse_run(file))
"""
RANX = """
import sys
from ranx import Qrels, Run, evaluate
qrels = Qrels.from_file(sys.argv[1], kind="trec")
names = ["mrr", "ndcg@10", "map", "recall@100"]
for path in sys.argv[2:]:
    evaluate(qrels, Run.from_file(path, kind="trec"), names, make_comparable=True)
"""


PEERS = {
    "pytrec_eval": ("pytrec-eval-terrier", PYTREC_EVAL),
    "ir_measures": ("ir-measures", IR_MEASURES),
    "ranx": ("ranx", RANX),
}
TREC_EVAL = ("-c", "-m", "recip_rank", "-m", "ndcg_cut.10", "-m", "map", "-m", "recall.100")


def contests(lab: Lab) -> Iterable[Contest]:
    """Yield the contests; peers score one run, and their time is multiplied."""
    board = inputs.leaderboard(lab)
    paths, one = board.paths, board.paths[0]
    sparse = inputs.qrels(lab.folder, board.queries)
    graded = inputs.graded_qrels(lab.folder, one, board.queries, board.depth)
    for how, name in ((ALONE, "one process"), (WORKERS, "as verbs read")):
        yield Contest(
            name=f"sparse qrels, {len(paths)} runs, {name}",
            ours=lab.ours(OURS, how, sparse, *paths),
            rivals={"wc -l": shell(["wc", "-l", *paths]), **_peers(lab, sparse, one, scale=len(paths))},
            goals={"wc -l": "<= 35", "pytrec_eval": ">= 4"},
            note="start of the interpreters included",
            reads=paths,
        )
    measures = [part for name in ("RR", "nDCG@10", "AP", "R@100") for part in ("--measure", name)]
    table = ("--out", lab.folder / "leaderboard.csv")
    yield Contest(
        name="prefjudge score, as typed, with intervals, into a file",
        ours=lab.verb("score", "--qrels", sparse, *measures, *table, *lab.runs(paths)),
        rivals={"wc -l": shell(["wc", "-l", *paths])},
        goals={"wc -l": "<= 20"},
        reads=paths,
    )
    yield Contest(
        name="graded qrels, one run",
        ours=lab.ours(OURS, ALONE, graded, one),
        rivals=_peers(lab, graded, one),
        goals={"pytrec_eval": ">= 4"},
    )
    for times, run in inputs.growing(lab):
        yield Contest(
            name=f"sparse qrels, queries x {times}",
            ours=lab.ours(OURS, ALONE, inputs.qrels(lab.folder, run.queries), *run.paths),
            rivals={"wc -l": shell(["wc", "-l", *run.paths])},
        )


def _peers(lab: Lab, qrels: Path, run: Path, scale: float = 1) -> dict[str, Work | Absent]:
    """Return the peers on one run; with ``scale``, for as many runs of its size."""
    trec_eval: Work | Absent = Absent("trec_eval is not on the path")
    if program := shutil.which("trec_eval"):
        trec_eval = scaled(shell([program, *TREC_EVAL, qrels, run]), scale)  # it scores one run at a time
    return {
        "trec_eval": trec_eval,
        **{
            name: lab.peer(package, code, qrels, each=[run], scale=scale)
            for name, (package, code) in PEERS.items()
        },
    }
