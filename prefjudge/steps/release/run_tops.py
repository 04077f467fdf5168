"""The tops of a study's runs, as deep as its measures look: enough to make its leaderboard again."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from prefjudge.core.runs import Heads, Qrels
from prefjudge.errors import StudyError
from prefjudge.evaluation.measures.measures import Measure, one_each
from prefjudge.evaluation.measures.preferences import is_preference_measure
from prefjudge.findings.answers import split_runs
from prefjudge.reading.files import atomic_write, column
from prefjudge.reading.inputs import paths_of
from prefjudge.reading.runs.heads import Reading, RunFiles
from prefjudge.steps.release.contents import RUNS
from prefjudge.study.store import Study

_ODD = re.compile(r"[^\w.-]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class RunTop:
    """The file that the top of a run is written to."""

    file: str
    name: str
    depth: int
    rows: int
    write: Callable[[Path], object]


def measures_of(measures: Sequence[str]) -> tuple[str, ...]:
    """Return the measures, one each, that are computed from labels.

    Raises
    ------
    StudyError
        None is.
    """
    every = [one for text in measures for one in one_each(text)]
    named = tuple(one for one in every if not is_preference_measure(one))
    if not named:
        raise StudyError("no measure of the study is computed from labels", "Add RR@10 to measures.")
    return named


def run_tops(study: Study, answers: Qrels, measures: Sequence[str]) -> Iterator[RunTop]:
    """Yield a file for each run that is judged.

    Raises
    ------
    StudyError
        A measure looks at whole runs, a run is gone, or there is none.
    """
    whole = next((one for one in measures if Measure.parse(one).cutoff is None), None)
    if whole is not None:
        raise StudyError(
            f"{whole} looks at whole runs, and a release holds their tops",
            "Give measures with a cut-off in study.toml, such as RR@10; or leave out --runs.",
        )
    ranked, _ = split_runs(study)
    paths = paths_of(ranked, "run", study.folder)
    if not paths:
        raise StudyError("the study has no runs", "Leave out --runs.")
    depth = max(Measure.parse(one).cutoff or 0 for one in measures)
    heads = RunFiles(paths, Reading(order=study.config.pool.order)).top(depth, answers.queries)
    for place, run in enumerate(heads.runs):
        lists = np.flatnonzero(heads.list_run == place)
        rows = int((heads.start[lists + 1] - heads.start[lists]).sum())
        yield RunTop(
            file=f"{RUNS}/{place + 1:03d}-{_ODD.sub('_', run)[:80]}.txt.gz",
            name=run,
            depth=depth,
            rows=rows,
            write=partial(_write, heads=heads, lists=lists.tolist(), depth=depth),
        )


def _write(path: Path, heads: Heads, lists: list[int], depth: int) -> None:
    """Write the lists of a run in TREC's format. Their scores say the order, and nothing else."""
    with atomic_write(path) as file:
        for one in lists:
            query = column(heads.queries[heads.list_query[one]])
            tag = heads.runs[heads.list_run[one]].encode("utf-8", "surrogateescape")
            docs = heads.doc[heads.start[one] : heads.start[one + 1]].tolist()
            for rank, doc in enumerate(docs, 1):
                file.write(
                    b"%b Q0 %b %d %d %b\n" % (query, column(heads.docs[doc]), rank, depth + 1 - rank, tag)
                )
