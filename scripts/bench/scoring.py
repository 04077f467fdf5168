"""Scoring: where the judged documents stand, and RR, nDCG, AP and R@100 of it."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import inputs
from harness import Absent, Contest, Lab, Work, shell
from pooling import shape

TITLE = "scoring: RR@10, nDCG@10, AP, R@100"

OURS = """
import sys
from prefjudge.engines.files import judged
from prefjudge.evaluation.measures import Measure
from prefjudge.formats.qrels import read_qrels
qrels = read_qrels(sys.argv[1])
for ranks in judged(sys.argv[2:], qrels, trust=True):
    for name in ("RR@10", "nDCG@10", "AP", "R@100"):
        print(ranks.run, name, Measure.parse(name).score(ranks, qrels).mean())
"""
IR_MEASURES = """
import sys, ir_measures
from ir_measures import AP, R, RR, nDCG
qrels = list(ir_measures.read_trec_qrels(sys.argv[1]))
for path in sys.argv[2:]:
    ir_measures.calc_aggregate([RR @ 10, nDCG @ 10, AP, R @ 100], qrels, ir_measures.read_trec_run(path))
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
names = ["mrr@10", "ndcg@10", "map", "recall@100"]
for path in sys.argv[2:]:
    evaluate(qrels, Run.from_file(path, kind="trec"), names, make_comparable=True)
"""


def prepare(lab: Lab) -> None:
    """Make runs and qrels."""
    inputs.runs(lab.folder, **shape(lab))


def contests(lab: Lab) -> Iterable[Contest]:
    """Yield the contests."""
    size = shape(lab)
    paths = inputs.runs(lab.folder, **size)
    sparse = inputs.qrels(lab.folder, size["queries"])
    graded = inputs.graded_qrels(lab.folder, paths[0], size["queries"], size["depth"])
    yield Contest(
        name=f"sparse qrels, {len(paths)} runs, trusted",
        ours=lab.ours(OURS, sparse, *paths),
        rivals={"wc -l": shell(["wc", "-l", *paths]), **_peers(lab, sparse, paths[0], scale=len(paths))},
        goals={"wc -l": "<= 8", "ranx": ">= 75", "ir_measures": ">= 100"},
    )
    yield Contest(
        name="graded qrels, one run, every line verified",
        ours=lab.ours(OURS, graded, paths[0]),
        rivals=_peers(lab, graded, paths[0]),
        goals={"pytrec_eval": ">= 4"},
    )


def _peers(lab: Lab, qrels: Path, run: Path, scale: float = 1) -> dict[str, Work | Absent]:
    """Return the peers on one run; with ``scale``, for as many runs of its size."""
    works = {
        "pytrec_eval": ("pytrec-eval-terrier", PYTREC_EVAL),
        "ir_measures": ("ir-measures", IR_MEASURES),
        "ranx": ("ranx", RANX),
    }
    return {name: lab.peer(package, code, qrels, run, scale=scale) for name, (package, code) in works.items()}
