"""Everything that the pages of a site say, gathered from one state of the study."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import Unpack

import numpy as np

from prefjudge.core.planning.rounds import Duel
from prefjudge.core.pools import Candidate, candidates_of
from prefjudge.core.resolving.confidence import ConfidenceSummary, resolved_queries
from prefjudge.core.resolving.resolutions import Resolution
from prefjudge.core.runs import Heads, JudgedRanks, Qrels
from prefjudge.errors import InputError, StudyError, quoted
from prefjudge.evaluation.boards import Board, label_board
from prefjudge.evaluation.correlation import RankCorrelation
from prefjudge.evaluation.measures.placings import relabel, union_documents
from prefjudge.evaluation.submissions import Audit, OfficialBoard, Rules, Submission, audit, find_entry
from prefjudge.field.history import History, history
from prefjudge.findings.answers import BestAnswers, load_versions
from prefjudge.findings.boards import (
    Votings,
    add_stamps,
    correlations,
    official_scores,
    own_votes,
    pooled_labels,
)
from prefjudge.findings.findings import Findings, gather
from prefjudge.findings.sureness import assess_best
from prefjudge.reading.files import Notice
from prefjudge.reading.given import QRELS_NAME, InputFile, expand, in_memory
from prefjudge.reading.held import NamedFile
from prefjudge.reading.leaderboards import RunMetadata, day_of, read_leaderboard, read_run_metadata
from prefjudge.reading.options import ReadOptions
from prefjudge.reading.runs.health import RunHealth, health_of
from prefjudge.steps.status import StatusResult, status
from prefjudge.study.config import BoardConfig
from prefjudge.study.pools import load_inputs, load_passages, load_queries
from prefjudge.study.progress import Finding, Stage, first_answers_since, lacking, load_findings
from prefjudge.study.store import Study
from prefjudge.words import Rehearsal, many

_DEPTH = 10
"""The top documents by which two runs are found to be nearly the same, as in ``audit``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entries:
    """What is told of the runs that are shown, by their names; those of ``waiting`` are not in the study.

    Where ``hidden`` runs took part, they are named nowhere.
    """

    shown: Mapping[str, RunMetadata]
    waiting: Mapping[str, RunMetadata]
    hidden: frozenset[str]


def find_entries(study: Study, given: Sequence[str | Path], today: date, notices: list[Notice]) -> Entries:
    """Return the runs to show: those given, or those of the study, without the embargoed and withdrawn."""
    # A run that is given and that the study has is known by its place, or else by its name.
    with study.transaction(write=False) as db:
        inputs = [one for one in load_inputs(db) if one.kind == "run"]
    places = {one.path: one.name for one in inputs}
    files = list(_files(given)) if given else [Path(one.path) for one in inputs if not in_memory(one.path)]
    found: dict[str, RunMetadata] = {}
    # A file of the study speaks for its run before any other file that is called like it.
    for path in sorted(files, key=lambda path: str(path.resolve()) not in places):
        told = read_run_metadata(path, notices)
        name = places.get(str(path.resolve()), told.run)
        found.setdefault(name, replace(told, run=name, submitted=told.submitted or day_of(name)))
    names = {one.name for one in inputs}
    if not names:
        raise InputError(
            f"{study.folder} has no runs, and a site shows a study's own",
            f"Add them first: prefjudge pool {quoted(study.folder)} --runs 'runs/*'",
        )
    aside = {
        name
        for name, one in found.items()
        if one.withdrawn or (one.hidden_until and one.hidden_until > today)
    }
    public = {name: one for name, one in sorted(found.items()) if name not in aside}
    shown = {name: one for name, one in public.items() if name in names}
    if not shown:
        raise InputError(
            f"no run of the study is among those that may be shown, such as {min(names)}",
            "Name the files or the folder of its runs: --runs FOLDER. Runs are recognized by path, "
            "metadata, tag or file name.",
        )
    if names - public.keys():
        left = many(len(names - public.keys()), "run")
        what = f"{left} of the study not shown: under an embargo, withdrawn, or not among --runs"
        notices.append(Notice(where=str(study.folder), what=what))
    return Entries(
        shown=shown,
        waiting={name: one for name, one in public.items() if name not in names},
        hidden=frozenset(names - shown.keys()),
    )


def _files(given: Sequence[str | Path]) -> Iterator[Path]:
    """Yield the run files that are given, and those in the folders that are, at any depth."""
    for one in given:
        path = Path(one)
        if path.is_dir():
            folders = sorted({path, *(inner for inner in path.rglob("*") if inner.is_dir())})
            for folder in folders:
                if any(part.startswith((".", "_")) for part in folder.relative_to(path).parts):
                    continue
                yield from (
                    Path(str(file))
                    for file in expand([str(folder)])
                    if any(entry.is_file() for entry in folder.iterdir())
                )
        else:
            found = [Path(str(file)) for file in expand([str(one)])]
            if gone := next((file for file in found if not file.exists()), None):
                raise InputError(
                    f"{gone} does not exist", "Give run files, or folders of them: --runs FOLDER."
                )
            yield from found


def with_leaderboard(
    shown: Mapping[str, RunMetadata], entries: Sequence[Submission]
) -> dict[str, RunMetadata]:
    """Return what is told of runs, completed by a leaderboard, whose entries have their names as ids."""
    found = {}
    for name, one in shown.items():
        if entry := find_entry(name, entries):
            keys = ("team", "description", "paper", "code", "type")
            told = {key: getattr(one, key) or getattr(entry, key) for key in keys}
            one = replace(one, **told, submitted=one.submitted or entry.date)
        found[name] = one
    return found


def audit_entries(
    shown: Mapping[str, RunMetadata], entries: Sequence[Submission], heads: Heads | None, board: BoardConfig
) -> Audit | None:
    """Return the audit of a leaderboard, or of the runs shown; None where no day of a submission is known."""
    # The runs shown are held to the limits of the study's board, which do not bind its maintainers.
    own = [
        Submission(
            line=number,
            submission_id=name,
            date=one.submitted,
            team=one.team,
            description=one.description,
            type=one.type,
            dev=None,
            eval=None,
            baseline=board.trusts(one.submitter),
        )
        for number, (name, one) in enumerate(shown.items(), 1)
        if one.submitted is not None
    ]
    listed = entries or own
    rules = None if entries else Rules(limit=board.per_team, days=board.days)
    return audit(listed, rules=rules, heads=heads) if listed else None


@dataclass(frozen=True, slots=True, kw_only=True)
class VersionBoards:
    """The boards under a version of the answers, one for each measure, of the runs that were there then.

    ``version`` is 0 and ``made`` None where ``resolve`` keeps one version of the answers only.
    """

    version: int
    made: str | None
    boards: tuple[Board, ...]

    @property
    def first(self) -> Board:
        """The board by the study's first measure, which runs are followed by."""
        return self.boards[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class AllBoards:
    """The boards under the labels that were pooled, and under each version of the answers, the last one last.

    A version of whose runs none is shown has no board.

    ``top`` and ``top_ten`` say how many runs have a best-known answer to a query first, or among their first
    ten; ``runs`` how many were looked at.
    """

    labels: tuple[Board, ...]
    versions: tuple[VersionBoards, ...]
    top: Mapping[str, int]
    top_ten: Mapping[str, int]
    runs: tuple[str, ...]

    @property
    def current(self) -> VersionBoards:
        """The boards under the answers as they are."""
        return self.versions[-1]


def make_boards(
    found: Findings,
    answers: Mapping[int, Qrels],
    made: Mapping[int, str | None],
    joined: Mapping[str, int],
) -> AllBoards:
    """Make all boards from one reading of the runs, each as ``score`` makes it."""
    # `answers` and `made` are the versions of the answers and when each was made; the last one is among the
    # label sets of `found`. `joined` is the first version at which each run was there.
    measures, _ = found.measures(())
    labels = found.qrels[:-1]
    pooled = pooled_labels(found, labels)
    sets = [*labels, *answers.values()]
    documents = union_documents(sets)
    (ranks,) = found.placed(documents)

    def boards(one: Qrels, placed: Sequence[JudgedRanks], *, first: bool) -> Iterator[Board]:
        top = None if first or not labels else labels[0]
        for measure in measures:
            yield label_board(placed, one, measure, top=top, pooled=pooled)

    of_labels = tuple(
        board
        for number, one in enumerate(labels)
        for board in boards(one, relabel(ranks, documents, one), first=not number)
    )
    versions = []
    latest = max(answers)
    for version, one in answers.items():
        there = [run for run in ranks if joined.get(run.run, 0) <= version]
        if not there:
            continue  # the runs of its day are not shown
        fresh = boards(one, relabel(there, documents, one), first=not labels)
        versions.append(
            VersionBoards(
                version=version,
                made=made.get(version),
                boards=tuple(fresh if version == latest else map(_without_scores, fresh)),
            )
        )
    last = answers[latest]
    top, ten = _placed(relabel(ranks, documents, last), last)
    return AllBoards(
        labels=of_labels,
        versions=tuple(versions),
        top=top,
        top_ten=ten,
        runs=tuple(one.run for one in ranks),
    )


def _without_scores(board: Board) -> Board:
    """Return a past board without its queries' scores: those of dozens of boards would fill the memory."""
    nothing = np.zeros(len(board.scores.queries), dtype=np.bool_)
    return replace(board, scores=board.scores.where(nothing), perfect=None)


def _placed(ranks: Sequence[JudgedRanks], answers: Qrels) -> tuple[dict[str, int], dict[str, int]]:
    """Count the runs that have a best answer to each query first, and among the first ten."""
    counts = np.zeros((2, len(answers.queries)), dtype=np.int64)
    for one in ranks:
        for row, depth in enumerate((1, 10)):
            counts[row, np.unique(one.query[one.position <= depth])] += 1
    first, ten = (dict(zip(answers.queries, row, strict=True)) for row in counts.tolist())
    return first, ten


def first_versions(findings: Mapping[tuple[str, str], Finding], past: History) -> dict[str, int]:
    """Return the version of the answers at which each run was first there."""
    # A run of the pools was there from the beginning, one of a challenge from the version that this made. Of
    # a run that brought nothing new to any of them nobody knows when it came: it is there from the beginning.
    of_challenge = {one.challenge or 0: one.version for one in past.versions}
    found: dict[str, int] = {}
    for one in findings.values():
        version = of_challenge.get(one.challenge, one.challenge and len(past.versions) + 1)
        for source in one.sources:
            found[source] = min(found.get(source, version), version)
    return found


NOT_SHOWN = "a run that is not shown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """Best answers of a query that took the place of others; ``before`` is empty for the first ones.

    ``duel`` is how the newcomer fared; None where none decided it.
    """

    version: int
    docs: tuple[str, ...]
    before: tuple[str, ...]
    duel: Duel | None


def _steps(
    past: History, versions: Mapping[int, Qrels], candidates: Collection[Candidate]
) -> dict[str, tuple[Step, ...]]:
    first, one = next(iter(versions.items()))
    docs: dict[str, list[str]] = {}
    for query, doc in candidates_of(one):
        if (query, doc) in candidates:  # and not one of its copies
            docs.setdefault(query, []).append(doc)
    found = {
        query: [Step(version=first, docs=tuple(sorted(best)), before=(), duel=None)]
        for query, best in docs.items()
    }
    for version in past.versions:
        won = {(duel.query_id, duel.newcomer): duel for duel in version.duels if duel.dethroned}
        for change in version.changes:
            duels = (won.get((change.query_id, doc)) for doc in change.after)
            found.setdefault(change.query_id, []).append(
                Step(
                    version=version.version,
                    docs=change.after,
                    before=change.before,
                    duel=next(filter(None, duels), None),
                )
            )
    return {query: tuple(steps) for query, steps in found.items()}


def found_by(
    findings: Mapping[tuple[str, str], Finding], query: str, doc: str, hidden: Collection[str]
) -> tuple[str, ...]:
    """Return who first had a passage: runs, ``the labels``, and a word for runs that are not shown."""
    found = findings.get((query, doc))
    sources = found.sources if found else ()
    names = (
        "the labels" if source == QRELS_NAME else NOT_SHOWN if source in hidden else source
        for source in sources
    )
    return tuple(dict.fromkeys(names))


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteState:
    """Everything that the pages say.

    ``queries`` are resolved, in their order; ``steps`` led to their answers. ``texts`` are what was asked.
    ``confidence`` is None where there are too many queries for probabilities. ``findings`` is who first had
    each candidate. ``taus`` hold the boards under the answers against those under the labels, as ``score``
    does. ``waiting`` are runs whose challenge is under way.
    """

    study: Study
    past: History
    progress: StatusResult
    best: BestAnswers
    queries: tuple[Resolution, ...]
    steps: Mapping[str, tuple[Step, ...]]
    confidence: ConfidenceSummary | None
    texts: Mapping[str, str]
    passages: Mapping[str, str]
    findings: Mapping[tuple[str, str], Finding]
    inputs: Sequence[InputFile]
    boards: AllBoards
    taus: tuple[RankCorrelation, ...]
    entries: Entries
    waiting: tuple[str, ...]
    health: Mapping[str, RunHealth]
    audit: Audit | None
    official: OfficialBoard | None
    rehearsal: Rehearsal | None
    notices: Sequence[Notice]
    contact: str
    url: str

    @property
    def title(self) -> str:
        """What the site is called."""
        return self.study.config.release.title or self.study.config.name


def gather_state(
    study: Study,
    runs: Sequence[str | Path],
    leaderboard: Path | None,
    today: date,
    *,
    contact: str,
    url: str,
    texts: bool,
    health: bool,
    **how: Unpack[ReadOptions],
) -> SiteState:
    """Gather what the pages of a site say; the texts of passages where they are wanted."""
    past, progress = history(study, moves=False), status(study, confidence=False)
    if not progress.queries:
        raise lacking(study, Stage.POOL)
    notices: list[Notice] = []
    entries = find_entries(study, runs, today, notices)
    listed: tuple[Submission, ...] = read_leaderboard(leaderboard) if leaderboard else ()
    entries = replace(entries, shown=with_leaderboard(entries.shown, listed))
    with study.transaction(write=False) as db:
        queries, inputs = load_queries(db), load_inputs(db)
        passages = load_passages(db) if texts else {}
        findings, since = load_findings(db), first_answers_since(db)
    best = BestAnswers(study, verb="report")
    versions = load_versions(study) or {0: best.qrels}
    found = gather(study, best=best, how=how)
    found.notices[:0] = notices
    found.runs = _only_shown(found, entries)
    add_stamps(found, leaderboard)
    made = {one.version: one.made for one in past.versions} or {0: since}
    with found.reading(digest=False):
        boards = make_boards(found, versions, made, first_versions(findings, past))
        every = [*boards.labels, *boards.current.boards]
        measures, _ = found.measures(())
        # beside τ stands how far two votings agree
        votings = Votings(own_votes(found), found, measures) if boards.labels and found.judgments else None
        taus = tuple(correlations(every, found, votings)) if boards.labels else ()
        dated = listed or any(one.submitted for one in entries.shown.values())
        heads = found.reader.top(_DEPTH) if dated else None
        official = official_scores(leaderboard, found, measures[0], every) if leaderboard else None
        checked = health_of(found.reader, found.qrels[0]) if health else []
    chances, sure = assess_best(study, best)
    candidates = set(candidates_of(best.votes.pools)) if best.votes.pools else set()
    return SiteState(
        study=study,
        past=past,
        progress=progress,
        best=best,
        queries=resolved_queries(best.resolutions, chances),
        steps=_steps(past, versions, candidates),
        confidence=sure,
        texts=queries,
        passages=passages,
        findings=findings,
        inputs=inputs,
        boards=boards,
        taus=taus,
        entries=entries,
        waiting=tuple(
            name for name in (found.waiting.names if found.waiting else ()) if name in entries.shown
        ),
        health=dict(zip(boards.runs, checked, strict=False)),
        audit=audit_entries(entries.shown, listed, heads, study.config.board),
        official=official,
        rehearsal=found.rehearsal,
        notices=found.notices,
        contact=contact,
        url=url,
    )


def _only_shown(found: Findings, entries: Entries) -> tuple[NamedFile, ...]:
    kept = [path for path in found.runs if isinstance(path, NamedFile) and path.name in entries.shown]
    if not kept:
        raise StudyError(
            "all runs that would be shown wait for a challenge to end", "Run `prefjudge run` to end it."
        )
    return tuple(kept)
