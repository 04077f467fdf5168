"""Reading: every line of a run verified, the first time and the second."""

from __future__ import annotations

import shutil
from collections.abc import Iterable

import inputs
from harness import Contest, Lab, shell

TITLE = "reading: every line verified"

OURS = """
import sys
from prefjudge.reading.runs.heads import RunFiles
RunFiles(sys.argv[1:]).top(1)
"""
WORKERS = """
import sys
from prefjudge.reading.runs.heads import RunFiles
from prefjudge.reading.opened import working
with working(None, sys.argv[1:]) as executor:
    RunFiles(sys.argv[1:], executor=executor).top(1)
"""
COPIED = """
import os, sys, shutil
from prefjudge.reading.runs import copies
from prefjudge.reading.runs.heads import RunFiles
from prefjudge.reading.runs.heads import Reading
how, folder, *paths = sys.argv[1:]
if how == "first":
    shutil.rmtree(folder, ignore_errors=True)
os.environ |= {"XDG_CACHE_HOME": folder, copies.OFF: "1"}
copies.WORTH = 1
RunFiles(paths, Reading(copies=copies.copies_of(paths, []))).top(1)
"""
IR_MEASURES = """
import sys, ir_measures
for path in sys.argv[1:]:
    for row in ir_measures.read_trec_run(path):
        pass
"""
PYTREC_EVAL = """
import sys, pytrec_eval
for path in sys.argv[1:]:
    with open(path) as file:
        pytrec_eval.parse_run(file)
"""


def contests(lab: Lab) -> Iterable[Contest]:
    """Yield the contests."""
    every = inputs.leaderboard(lab).paths
    paths = every[:4]
    one = paths[0]
    copies = lab.folder / "copies"
    shutil.rmtree(copies, ignore_errors=True)
    yield Contest(
        name="one run, columns, numbers, order, duplicates",
        ours=lab.ours(OURS, one),
        rivals={
            "wc -l": shell(["wc", "-l", one]),
            "ir_measures, no checks": lab.peer("ir-measures", IR_MEASURES, each=[one]),
            "pytrec_eval": lab.peer("pytrec-eval-terrier", PYTREC_EVAL, each=[one]),
        },
        goals={"wc -l": "<= 25", "ir_measures, no checks": ">= 6"},
    )
    yield Contest(
        name=f"{len(every)} runs, as verbs read",
        ours=lab.ours(WORKERS, *every),
        rivals={"wc -l": shell(["wc", "-l", *every])},
        goals={"wc -l": "<= 12"},
        reads=every,
    )
    yield Contest(
        name="one run, and a copy kept",
        ours=lab.ours(COPIED, "first", copies, one),
        rivals={"no copy": lab.ours(OURS, one)},
        goals={"no copy": "<= 1.15"},
    )
    yield Contest(
        name=f"the second time, {len(paths)} runs",
        ours=lab.ours(COPIED, "again", copies, *paths),
        rivals={"wc -l": shell(["wc", "-l", *paths])},
        goals={"wc -l": "<= 2.5"},
    )
