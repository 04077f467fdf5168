"""What a release holds: its files, what each is, and what of a study was asked to be in it."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from math import ceil
from pathlib import Path
from typing import Final

import numpy as np

from prefjudge.core.judgments import Judgments, ModelVote
from prefjudge.core.resolving.resolutions import Resolution, Resolutions
from prefjudge.core.runs import Heads, Qrels
from prefjudge.errors import StudyError
from prefjudge.evaluation.boards import leaderboard
from prefjudge.evaluation.measures.measures import Measure, one_each, score_matrix
from prefjudge.evaluation.measures.preferences import is_preference_measure
from prefjudge.findings.answers import split_runs
from prefjudge.findings.outputs import stamp_of
from prefjudge.reading.files import Notice, atomic_write, column
from prefjudge.reading.given import paths_of
from prefjudge.reading.labels import write_judgments, write_qrels
from prefjudge.reading.opened import beside_each_other
from prefjudge.reading.pools import write_prefs, write_resolutions
from prefjudge.reading.runs.heads import Reading, RunFiles
from prefjudge.reading.votes.tables import JsonObject
from prefjudge.show.cells import Column, Table
from prefjudge.study.judgments import LoggedAssignment, LoggedJudgment
from prefjudge.study.people import PrivateWords
from prefjudge.study.progress import LoggedRemark
from prefjudge.study.store import Study
from prefjudge.words import Rehearsal

FORMAT: Final = 2
"""The version of the layout, for readers of older releases."""
FOLDER = "release"
RECORD = "release.json"
SUMS = "SHA256SUMS"
PAGE = "README.md"
ANSWERS, TOURNAMENTS, KEPT, PREFS, LIKELY = (
    "preference.qrels",
    "resolutions.jsonl",
    "judgments.txt",
    "preferences.prefs",
    "likely.jsonl",
)
LOG, WORK, POOL, ASKED = "judgments.jsonl", "assignments.jsonl", "pool.tsv", "asked.tsv"
COPIES = "copies.tsv"
BOARD = "leaderboard.csv"
RUNS = "runs"
TEXTS = frozenset({"queries.tsv", "passages.tsv", "passages.jsonl", "gold.tsv", "chosen.jsonl"})
"""Files of texts that the study did not write: an address in a passage is no secret."""

HOLDS = {
    ANSWERS: "the best answers (TREC qrels)",
    TOURNAMENTS: "each query's tournament: its status, its winners and their wins",
    KEPT: "the judgments that count: query, left, right, preferred, worker",
    PREFS: "the same in trec_eval's prefs format",
    LIKELY: "the fewest candidates that hold the best of each query by .9, and how probable each is",
    LOG: "every judgment, and why some do not count",
    WORK: "every assignment, and its results on gold pairs",
    POOL: "the candidates, and what put them there",
    COPIES: "passages of the same text, of which one is the candidate, as NIST lists them",
    ASKED: "the pairs that were asked for, where that is not all of a pool",
    "models.jsonl": "what language models chose, with each passage first",
    "comments.jsonl": "what workers said of pairs and HITs, and which pairs they could not judge",
    "queries.tsv": "the queries that were judged",
    "passages.tsv": "the passages that were judged",
    "passages.jsonl": "the same with the fields that people saw below them",
    "chosen.jsonl": "the preferences as models are trained on them: prompt, chosen, rejected",
    "gold.tsv": "the gold pairs",
    BOARD: "the runs by their scores under the best answers",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleasedFile:
    """One file of a release: what it holds, how many rows of it, and its digest (SHA-256)."""

    name: str
    holds: str
    rows: int
    sha256: str


def sums_text(sums: Mapping[str, str]) -> str:
    """Return digests by the names of their files as ``sha256sum -c`` reads them."""
    return "".join(f"{found}  {name}\n" for name, found in sorted(sums.items()))


# What follows from the judgments of a release: written with it, and made again where one is verified.


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


def likely_rows(queries: Iterable[Resolution]) -> Iterator[JsonObject]:
    """Yield the likely candidates of each query, and what is expected to be lost by naming each."""
    for one in queries:
        for doc in one.likely:
            yield {"query": one.query_id, "doc": doc, "p_best": one.p_best[doc], "loss": one.loss[doc]}


def _numbered(log: Judgments) -> Judgments:
    """Number the workers in the order in which they appear, whatever their names are sorted by elsewhere."""
    known = np.flatnonzero(log.worker >= 0)
    codes, first = np.unique(log.worker[known], return_index=True)
    order = codes[np.argsort(first)]
    worker = np.full(len(log), -1, log.worker.dtype)
    place = np.empty(len(log.workers), log.worker.dtype)
    place[order] = np.arange(order.size)
    worker[known] = place[log.worker[known]]
    names = tuple(log.workers[code] for code in order.tolist())
    return replace(log, workers=names, worker=worker, gold=None)


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


# The rows of a release: what the study logged, with pseudonyms for ids, and times that tell nobody.

_CHOICES = {1: "left", -1: "right", 0: "tie"}


class PrivateRows:
    """Makes rows in which people, HITs and assignments have the names that ``opaque`` gives them."""

    def __init__(self, opaque: Callable[..., str], assignments: Iterable[LoggedAssignment]) -> None:
        self._named = cache(opaque)
        works = list(assignments)
        self._words = PrivateWords(one.worker_id for one in works)
        self._hit_of = {one.assignment_id: one.hit_key for one in works}

    def _worker(self, worker_id: str) -> str | None:
        """Return a worker's pseudonym; None where imported votes do not say whose they are."""
        return self._named("worker", worker_id) if worker_id else None

    def judgment(self, vote: LoggedJudgment) -> JsonObject:
        """Return a judgment."""
        return {
            "query": vote.query_id,
            "left": vote.left,
            "right": vote.right,
            "choice": _CHOICES[vote.choice],
            "strength": vote.strength,
            "milliseconds": _whole_seconds(vote.milliseconds),
            "worker": self._worker(vote.worker_id),
            "judge": vote.judge,
            "phase": vote.phase,
            "assignment": self._named("assignment", vote.assignment_id),
            "hit": self._hit(vote.assignment_id),
            "dropped": vote.dropped or None,
            **({"shown": vote.shown} if vote.shown else {}),
        }

    def assignment(self, work: LoggedAssignment) -> JsonObject:
        """Return an assignment."""
        told = work.gold_right + work.gold_missed > 0  # without a gold pair nothing is known of 0
        return {
            "assignment": self._named("assignment", work.assignment_id),
            "hit": self._named("hit", work.hit_key),
            "worker": self._worker(work.worker_id),
            "judge": work.judge,
            "answered": work.answered,
            "gold_right": work.gold_right if told else None,
            "gold_missed": work.gold_missed if told else None,
            "seconds": ceil(work.seconds) or None,
            "verdict": work.verdict,
        }

    def remark(self, said: LoggedRemark) -> dict[str, str | None]:
        """Return what a worker said."""
        return {
            "assignment": self._named("assignment", said.assignment_id),
            "worker": self._worker(said.worker_id),
            "query": said.query_id or None,
            "a": said.doc_a or None,
            "b": said.doc_b or None,
            "others": said.others or None,
            "unable": said.unable or None,
            "comment": self._words.without_names(said.comment) or None,
        }

    def _hit(self, assignment_id: str) -> str | None:
        """Return a HIT's pseudonym; None where imported votes do not say in which one they were made."""
        key = self._hit_of.get(assignment_id)
        return self._named("hit", key) if key else None


def model_vote(model: str, vote: ModelVote) -> JsonObject:
    """Return what a model said of a pair."""
    query, a, b = vote.pair
    chosen = {1: a, -1: b, 0: None}
    return {
        "model": model,
        "judge": f"model:{model}",
        "query": query,
        "a": a,
        "b": b,
        "a_first": chosen[vote.a_first],
        "b_first": chosen[vote.b_first],
    }


def _whole_seconds(milliseconds: int) -> int | None:
    """Return a time rounded up: to the millisecond it could tell whose it is. None where it is not known."""
    return 1000 * ceil(milliseconds / 1000) or None


# The tops of a study's runs, as deep as its measures look: enough to make its leaderboard again.

_ODD = re.compile(r"[^\w.-]+")


def measures_of(measures: Sequence[str]) -> tuple[str, ...]:
    """Return the measures, one each, that are computed from labels."""
    every = [one for text in measures for one in one_each(text)]
    named = tuple(one for one in every if not is_preference_measure(one))
    if not named:
        raise StudyError("no measure of the study is computed from labels", "Add RR@10 to measures.")
    return named


def run_tops(
    study: Study, answers: Qrels, measures: Sequence[str]
) -> Iterator[tuple[str, int, Callable[[Path], object], str]]:
    """Yield the file of each run that is judged, its rows, what writes it, and what it holds."""
    whole = next((one for one in measures if Measure.parse(one).cutoff is None), None)
    if whole is not None:
        raise StudyError(
            f"{whole} looks at whole runs, but a release holds only their top results",
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
        yield (
            f"{RUNS}/{place + 1:03d}-{_ODD.sub('_', run)[:80]}.txt.gz",
            rows,
            partial(_write, heads=heads, lists=lists.tolist(), depth=depth),
            f"the top {depth} of {run}, in its order",
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
