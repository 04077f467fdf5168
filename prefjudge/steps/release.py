"""Writes a study's judgments and answers, and how they were made, into a folder to publish."""

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

from prefjudge.core.judges.models import ModelVote
from prefjudge.core.judges.rehearsal import Rehearsal
from prefjudge.errors import InputError, StudyError
from prefjudge.formats.labels.gold import write_gold
from prefjudge.formats.labels.judgments import write_judgments
from prefjudge.formats.labels.pools import write_pool, write_prefs
from prefjudge.formats.labels.qrels import write_qrels
from prefjudge.formats.labels.resolutions import write_resolutions
from prefjudge.formats.lines.atomic import write_text
from prefjudge.formats.lines.digests import digest
from prefjudge.gather.best_answers import explain_best_answers
from prefjudge.gather.inputs import as_folder
from prefjudge.gather.open_work import what_is_open
from prefjudge.gather.outputs import own_file
from prefjudge.gather.stamps import stamp_of, write_stamp
from prefjudge.render.pages.release_notes import release_notes
from prefjudge.render.shown import Shown
from prefjudge.render.text.plain_text import json_text
from prefjudge.study.gold import load_gold
from prefjudge.study.imports import load_imports
from prefjudge.study.logs import LoggedAssignment, LoggedJudgment, load_assignment_log, load_judgment_log
from prefjudge.study.models import load_votes
from prefjudge.study.pooling import is_published, load_inputs, load_passages, load_queries
from prefjudge.study.remarks import LoggedRemark, load_remarks
from prefjudge.study.study import Study, open_study
from prefjudge.version import __version__

FOLDER = "release"
FORMAT = 1
"""The version of the layout of `RECORD`, for readers of older releases."""
RECORD = "release.json"
_ANSWERS = "the best answers (TREC qrels)"
_TOURNAMENTS = "each query's tournament: its status, its winners and their wins"
_KEPT = "the judgments that count: query, left, right, preferred, worker"
_PREFS = "the same in trec_eval's prefs format"
_LOG = "every judgment, and why some do not count"
_WORK = "every assignment, and its results on gold pairs"
_MODELS = "what language models chose, with each passage first"
_POOL = "the candidates, and what put them there"
_CHOICES = {1: "left", -1: "right", 0: "tie"}
_SAID = "what workers said of pairs and HITs, and which pairs they could not judge"
_ADDRESS = re.compile(r"[^\s@<>]+@[^\s@<>]+\.\w+|https?://\S+|www\.\S+")
"""What may say who a worker is, in the worker's own words."""
_WORD = re.compile(r"[\w.-]*\w")
_SOMETIMES = ("models.jsonl", "comments.jsonl", "queries.tsv", "passages.tsv", "gold.tsv")
"""Files that not every release has."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleasedFile:
    """One file of a release: what it holds, how many rows of it, and its digest (SHA-256)."""

    name: str
    holds: str
    rows: int
    sha256: str


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ReleaseResult(Shown):
    """A release in numbers: ``judgments`` count, ``dropped`` do not; ``answers`` are preference qrels."""

    study: str
    out: str
    queries: int
    judgments: int
    dropped: int
    workers: int
    answers: int
    rule: str
    rehearsal: Rehearsal | None
    files: tuple[ReleasedFile, ...]
    notices: tuple[str, ...]


def release(
    study: str | Path | Study,
    *,
    out: str | Path | None = None,
    texts: bool = False,
    gold: bool = False,
    rehearsal: bool = False,
) -> ReleaseResult:
    """Write a study's judgments and answers into a folder for others, with no worker's id or secret in it.

    People are pseudonyms, which only the study's secret links to their ids; neither times of day nor
    addresses are written. The same study gives the same bytes.

    Parameters
    ----------
    study : Path
        The study's folder.
    out : Path, optional
        The folder; ``release`` in the study by default. What an earlier release wrote there is replaced.
    texts : bool
        Add the texts of the queries and passages that were judged, where their licence allows it.
    gold : bool
        Add the gold pairs. Once they are public they cannot screen workers any more.
    rehearsal : bool
        Release simulated judgments, too: the release's page and every judgment in it say so.

    Raises
    ------
    StudyError
        The study has no judgments, some are simulated, or the folder holds something else.
    """
    opened = open_study(study)
    folder = as_folder(out) or own_file(opened, FOLDER)
    if folder is None:
        raise InputError(f"{opened.folder} may only be read", "Write the release elsewhere: --out FOLDER")
    _check_folder(folder)
    bundle = _Bundle(opened, folder)
    if bundle.rehearsal and not rehearsal:
        raise StudyError(
            f"{bundle.rehearsal}: they are not people's preferences",
            "Have people judge, or add --rehearsal: then the release says what it is.",
        )
    bundle.write(texts=texts, gold=gold)
    return bundle.close()


def _check_folder(folder: Path) -> None:
    """Refuse a folder that holds anything but a release, finished or not."""
    try:
        if not folder.exists() or (folder.is_dir() and not any(folder.iterdir())):
            return
        record = json.loads((folder / RECORD).read_text(encoding="utf-8"))
        if isinstance(record, dict) and "prefjudge" in record:
            return
    except (OSError, ValueError):
        pass
    raise StudyError(f"{folder} is not a release", "Give an empty folder, or a new one: --out FOLDER")


class _Bundle:
    """The files of a release, as they are written."""

    def __init__(self, study: Study, folder: Path) -> None:
        self.study, self.folder, self.named = study, folder, cache(study.opaque)
        self.files: list[ReleasedFile] = []
        with study.reading():
            self.best, to_come = explain_best_answers(study, verb="release"), what_is_open(study)
            self.model = study.setting("strategy model") or None
            with study.transaction(write=False) as db:
                self.log, self.assignments = load_judgment_log(db), load_assignment_log(db)
                self.models, self.remarks = load_votes(db), load_remarks(db)
                self.inputs, self.gold = load_inputs(db), load_gold(db)
                self.imports = load_imports(db)
                self.asked = is_published(db) or not self.imports
                self.queries, self.passages = load_queries(db), load_passages(db)
        self.known = {one.worker_id.lower() for one in self.assignments if len(one.worker_id) > 3}
        self.rehearsal = self.best.votes.rehearsal
        self.notices = (*([f"the study is under way: {to_come}"] if to_come else []), *self.best.notices)
        if self.remarks:
            self.notices += ("comments.jsonl holds what workers wrote: read it before you publish it",)

    def write(self, *, texts: bool, gold: bool) -> None:
        """Write the files."""
        stamp = stamp_of(self.rehearsal)
        log, pools = self.best.votes.log, self.best.votes.pools
        found, qrels = self.best.resolutions, self.best.qrels
        assert pools is not None
        write_text(
            self.folder / RECORD, '{"prefjudge": null}\n'
        )  # first, so that a repeat recognizes an unfinished release as its own
        votes, works = list(map(self._judgment, self.log)), list(map(self._assignment, self.assignments))
        labels = partial(write_qrels, rehearsal=self.rehearsal)
        files: list[tuple[str, str, int, Callable[[Path, Any], None], Any]] = [
            ("preference.qrels", _ANSWERS, int(qrels.query.size), labels, qrels),
            ("resolutions.jsonl", _TOURNAMENTS, len(found), write_resolutions, [found]),
            ("judgments.txt", _KEPT, len(log), partial(write_judgments, comment=stamp), log),
            ("preferences.prefs", _PREFS, len(log), write_prefs, log),
            ("judgments.jsonl", _LOG, len(votes), _write_lines, votes),
            ("assignments.jsonl", _WORK, len(works), _write_lines, works),
            ("pool.tsv", _POOL, int(pools.query.size), write_pool, pools),
        ]
        if self.models:
            lines = list(map(_model_vote, *zip(*self.models, strict=True)))
            files.append(("models.jsonl", _MODELS, len(lines), _write_lines, lines))
        if self.remarks:
            said = list(map(self._remark, self.remarks))
            files.append(("comments.jsonl", _SAID, len(said), _write_lines, said))
        if texts:
            asked = {vote.query_id: self.queries.get(vote.query_id, "") for vote in self.log}
            shown = {doc: self.passages.get(doc, "") for vote in self.log for doc in (vote.left, vote.right)}
            files += [
                ("queries.tsv", "the queries that were judged", len(asked), _write_texts, asked),
                ("passages.tsv", "the passages that were judged", len(shown), _write_texts, shown),
            ]
        if gold:
            pairs = list(self.gold.values())
            files.append(("gold.tsv", "the gold pairs", len(pairs), write_gold, pairs))
        for name in (
            "preference.qrels",
            "preferences.prefs",
            "resolutions.jsonl",
        ):  # which have no room for it
            write_stamp(self.folder / name, stamp)
        for name, holds, rows, write, what in files:
            path = self.folder / name
            write(path, what)
            sha256 = digest(path).removeprefix("sha256:")
            self.files.append(ReleasedFile(name=name, holds=holds, rows=rows, sha256=sha256))

    def close(self) -> ReleaseResult:
        """Write the record and the checksums, remove what an earlier release left, and return the result."""
        result = ReleaseResult(
            study=str(self.study.folder),
            out=str(self.folder),
            queries=len(self.best.resolutions),
            judgments=len(self.best.votes.log),
            dropped=sum(1 for vote in self.log if vote.dropped),
            workers=len({vote.worker_id for vote in self.log if vote.worker_id}),
            answers=int(self.best.qrels.query.size),
            rule=self.best.resolutions.rule,
            rehearsal=self.rehearsal,
            files=tuple(self.files),
            notices=self.notices,
        )
        record = self._record(result)
        write_text(self.folder / "README.md", release_notes(record))
        write_text(self.folder / "SHA256SUMS", "".join(f"{one.sha256}  {one.name}\n" for one in self.files))
        stale = {*_SOMETIMES} - {one.name for one in self.files}
        for path in [*map(self.folder.joinpath, stale), *self.folder.glob(".*.part")]:
            path.unlink(missing_ok=True)
        write_text(self.folder / RECORD, json_text(record) + "\n")
        return result

    def _worker(self, worker_id: str) -> str | None:
        """Return a worker's pseudonym; None where imported votes do not say whose they are."""
        return self.named("worker", worker_id) if worker_id else None

    def _judgment(self, vote: LoggedJudgment) -> dict[str, Any]:
        return {
            "query": vote.query_id,
            "left": vote.left,
            "right": vote.right,
            "choice": _CHOICES[vote.choice],
            "strength": vote.strength,
            "milliseconds": vote.milliseconds,
            "worker": self._worker(vote.worker_id),
            "judge": vote.judge,
            "phase": vote.phase,
            "assignment": self.named("assignment", vote.assignment_id),
            "dropped": vote.dropped or None,
        }

    def _assignment(self, work: LoggedAssignment) -> dict[str, Any]:
        return {
            "assignment": self.named("assignment", work.assignment_id),
            "hit": self.named("hit", work.hit_key),
            "worker": self._worker(work.worker_id),
            "judge": work.judge,
            "answered": work.answered,
            "gold_right": work.gold_right,
            "gold_missed": work.gold_missed,
            "seconds": round(work.seconds, 1),
            "verdict": work.verdict,
        }

    def _remark(self, said: LoggedRemark) -> dict[str, str | None]:
        return {
            "assignment": self.named("assignment", said.assignment_id),
            "worker": self._worker(said.worker_id),
            "query": said.query_id or None,
            "a": said.doc_a or None,
            "b": said.doc_b or None,
            "unable": said.unable or None,
            "comment": self._without_names(said.comment) or None,
        }

    def _without_names(self, text: str) -> str:
        """Take worker ids and addresses out of a worker's own words: the release names nobody."""
        text = _ADDRESS.sub("[removed]", text)
        # Words are looked up: with thousands of workers, to search for each in each comment takes minutes.
        return _WORD.sub(lambda found: "[removed]" if found[0].lower() in self.known else found[0], text)

    def _record(self, result: ReleaseResult) -> dict[str, Any]:
        """Return the release's record for programs: numbers, design and files; no path, time or secret."""
        config = self.study.config
        return {
            "format": FORMAT,
            "prefjudge": __version__,
            "name": config.name,
            "seed": config.seed,
            "numbers": {
                name: getattr(result, name)
                for name in ("queries", "judgments", "dropped", "workers", "answers")
            },
            "rehearsal": asdict(self.rehearsal) if self.rehearsal else None,
            "rule": result.rule,
            "driven_by": self.best.votes.driven_by or None,
            "model": self.model,
            "version": self.best.version or None,
            "pool": config.pool.model_dump(mode="json"),
            "design": config.design.model_dump(mode="json", exclude={"pages_url"}),
            "screening": config.screening.model_dump(mode="json"),
            "reward": f"{config.hit.reward:.2f}",
            "asked": self.asked,
            "inputs": [{"kind": one.kind, "name": one.name, "digest": one.digest} for one in self.inputs],
            "imports": [
                {
                    "name": one.name,
                    "form": one.form,
                    "criterion": one.criterion or None,
                    "digest": one.digest,
                    "judge": one.judge,
                    "phase": one.phase,
                    "sides": bool(one.sides),
                    "votes": one.votes,
                }
                for one in self.imports
            ],
            "notices": list(result.notices),
            "files": [asdict(one) for one in result.files],
        }


def _model_vote(model: str, vote: ModelVote) -> dict[str, Any]:
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


def _write_lines(path: Path, records: Iterable[Mapping[str, Any]]) -> None:
    write_text(path, "".join(json_text(record, indent=None) + "\n" for record in records))


def _write_texts(path: Path, texts: Mapping[str, str]) -> None:
    write_text(path, "".join(f"{key}\t{' '.join(text.split())}\n" for key, text in texts.items()))
