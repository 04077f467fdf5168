"""What follows from the judgments of a release: written with it, and made again where one is verified."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np

from prefjudge.core.judgments import Judgments
from prefjudge.core.resolving.resolutions import Resolutions
from prefjudge.core.runs import Qrels
from prefjudge.evaluation.boards import leaderboard
from prefjudge.evaluation.measures.measures import Measure, score_matrix
from prefjudge.findings.outputs import stamp_of
from prefjudge.reading.files import Notice
from prefjudge.reading.labels import write_judgments, write_qrels
from prefjudge.reading.opened import beside_each_other
from prefjudge.reading.pools import write_prefs, write_resolutions
from prefjudge.reading.runs.heads import RunFiles
from prefjudge.show.cells import Column, Table
from prefjudge.steps.release.contents import ANSWERS, KEPT, PREFS, TOURNAMENTS
from prefjudge.words import Rehearsal


@dataclass(frozen=True, slots=True, kw_only=True)
class Derived:
    """The judgments that count, and what they lead to."""

    log: Judgments
    resolutions: Resolutions
    answers: Qrels
    rehearsal: Rehearsal | None

    def files(self) -> Iterator[tuple[str, int, Callable[[Path], object]]]:
        """Yield the name of each file, its rows, and what writes it."""
        answers = partial(write_qrels, qrels=self.answers, rehearsal=self.rehearsal)
        yield ANSWERS, int(self.answers.query.size), answers
        yield TOURNAMENTS, len(self.resolutions), partial(write_resolutions, rules=[self.resolutions])
        kept = partial(write_judgments, judgments=self.log, comment=stamp_of(self.rehearsal))
        yield KEPT, len(self.log), kept
        yield PREFS, len(self.log), partial(write_prefs, judgments=_numbered(self.log))


def _numbered(log: Judgments) -> Judgments:
    """Number the workers in the order in which they appear, whatever their names are sorted by elsewhere."""
    known = np.flatnonzero(log.worker >= 0)
    codes, first = np.unique(log.worker[known], return_index=True)
    order = codes[np.argsort(first)]
    worker = np.full(len(log), -1, log.worker.dtype)
    place = np.empty(len(log.workers), log.worker.dtype)
    place[order] = np.arange(order.size)
    worker[known] = place[log.worker[known]]
    return replace(log, workers=tuple(log.workers[code] for code in order.tolist()), worker=worker)


def board(runs: list[Path], answers: Qrels, measures: tuple[str, ...]) -> tuple[Table, list[Notice]]:
    """Return the board that the tops of the runs make under the best answers, and what is odd in them."""
    ranks = RunFiles(runs).judged(answers)
    odd = beside_each_other([ranks], [answers], max(Measure.parse(one).cutoff or 0 for one in measures), ())
    rows = []
    for measure in measures:
        made = leaderboard(score_matrix(ranks, answers, Measure.parse(measure)))
        rows += [
            (made.measure, row.rank, row.run, row.score, row.low, row.high, row.queries) for row in made.rows
        ]
    columns = (
        Column(name="measure"),
        Column(name="rank", kind="integer"),
        Column(name="run"),
        *(Column(name=name, kind="number", digits=6) for name in ("score", "low", "high")),
        Column(name="queries", kind="integer"),
    )
    return Table(title="", columns=columns, rows=tuple(rows)), odd
