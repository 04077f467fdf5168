"""Everything that the pages of a site say, gathered from one state of the study."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import Unpack

from prefjudge.core.judges.rehearsal import Rehearsal
from prefjudge.core.pooling.qrels import Qrels
from prefjudge.core.resolving.preferences import PREFERENCE_NAME
from prefjudge.engines.health import RunHealth
from prefjudge.errors import StudyError, quoted
from prefjudge.evaluation.leaderboards.correlation import RankCorrelation
from prefjudge.evaluation.scoring.leave_one_out import pooled_documents
from prefjudge.evaluation.scoring.measures import Measure
from prefjudge.evaluation.submissions.audit import Audit
from prefjudge.evaluation.submissions.official import OfficialBoard
from prefjudge.evaluation.submissions.submissions import Submission
from prefjudge.formats.leaderboard_csv import read_leaderboard
from prefjudge.formats.lines.held import NamedFile
from prefjudge.formats.lines.problems import Notice
from prefjudge.gather.best_answers import load_best_answers
from prefjudge.gather.official import official_scores, stamped
from prefjudge.gather.read_options import ReadOptions
from prefjudge.gather.readers import Reader, reading
from prefjudge.gather.score_inputs import ScoreInputs, gather
from prefjudge.gather.vote_sets import VoteSet
from prefjudge.steps.score.boards import Ceilings, correlations
from prefjudge.steps.site.answers import Answers, explain_answers
from prefjudge.steps.site.boards import AllBoards, first_versions, make_boards
from prefjudge.steps.site.entries import Entries, audit_entries, find_entries, with_leaderboard
from prefjudge.steps.status.history import History, history
from prefjudge.steps.status.status import StatusResult, status
from prefjudge.study.answers import load_answers
from prefjudge.study.history import Finding, first_answers_since, load_findings
from prefjudge.study.pooling import InputFile, load_inputs, load_passages, load_queries
from prefjudge.study.study import Study

_TOP = 10
"""How many top documents tell that two runs are nearly the same, as in ``audit``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """What the study keeps besides its judgments; ``findings`` is who first had each candidate."""

    queries: Mapping[str, str]
    passages: Mapping[str, str]
    findings: Mapping[tuple[str, str], Finding]
    inputs: tuple[InputFile, ...]
    since: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteState:
    """Everything that the pages say.

    ``taus`` hold the boards under the answers against those under the labels, as ``score`` does. ``waiting``
    are runs whose challenge is under way.
    """

    study: Study
    stored: Stored
    past: History
    progress: StatusResult
    answers: Answers
    boards: AllBoards
    taus: tuple[RankCorrelation, ...]
    entries: Entries
    waiting: tuple[str, ...]
    health: Mapping[str, RunHealth]
    audit: Audit | None
    official: OfficialBoard | None
    rehearsal: Rehearsal | None


def gather_state(
    study: Study,
    runs: Sequence[str | Path],
    leaderboard: Path | None,
    today: date,
    notices: list[Notice],
    *,
    health: bool,
    **how: Unpack[ReadOptions],
) -> SiteState:
    """Gather what the pages of a site say.

    Raises
    ------
    InputError
        A file cannot be read, or no run of the study is shown.
    StudyError
        The study has no answers yet, or all runs shown wait for a challenge to end.
    """
    past, progress = history(study, moves=False), status(study, confidence=False)
    if not progress.queries:
        raise StudyError(
            f"{study.folder} has no pool", f"Run: prefjudge pool {quoted(study.folder)} --runs …"
        )
    entries = find_entries(study, runs, today, notices)
    listed: tuple[Submission, ...] = read_leaderboard(leaderboard) if leaderboard else ()
    entries = replace(entries, shown=with_leaderboard(entries.shown, listed))
    stored = _stored(study)
    versions = _versions(study, past)
    found = stamped(_only_shown(gather(study, notices=notices), entries), leaderboard)
    made = {one.version: one.made for one in past.versions} or {0: stored.since}
    joined = first_versions(stored.findings, past)
    order = found.order(None)
    with reading(found.runs, order, notices, **how) as reader:
        boards = make_boards(found, versions, made, joined, reader)
        taus = tuple(_correlations(found, boards, reader, notices))
        heads = reader.top(_TOP) if listed or any(one.submitted for one in entries.shown.values()) else None
        official = _official(leaderboard, found, boards, reader)
        checked = _health(found, boards, reader) if health else {}
    return SiteState(
        study=study,
        stored=stored,
        past=past,
        progress=progress,
        answers=explain_answers(study, past, versions),
        boards=boards,
        taus=taus,
        entries=entries,
        waiting=tuple(
            name for name in (found.waiting.names if found.waiting else ()) if name in entries.shown
        ),
        health=checked,
        audit=audit_entries(entries.shown, listed, heads, study.config.board),
        official=official,
        rehearsal=found.rehearsal,
    )


def _stored(study: Study) -> Stored:
    with study.transaction(write=False) as db:
        return Stored(
            queries=load_queries(db),
            passages=load_passages(db),
            findings=load_findings(db),
            inputs=tuple(load_inputs(db)),
            since=first_answers_since(db),
        )


def _versions(study: Study, past: History) -> dict[int, Qrels]:
    """Return the versions of the answers: those that ``run`` keeps, or the one of ``resolve``, number 0."""
    if not past.versions:
        return {0: load_best_answers(study)[0]}
    with study.transaction(write=False) as db:
        return {one.version: load_answers(db, one.version, PREFERENCE_NAME) for one in past.versions}


def _only_shown(found: ScoreInputs, entries: Entries) -> ScoreInputs:
    kept = [path for path in found.runs if isinstance(path, NamedFile) and path.name in entries.shown]
    if not kept:
        raise StudyError(
            "all runs that would be shown wait for a challenge to end", "Run `prefjudge run` to end it."
        )
    return replace(found, runs=tuple(kept))


def _correlations(
    found: ScoreInputs, boards: AllBoards, reader: Reader, notices: list[Notice]
) -> Iterator[RankCorrelation]:
    """Compare the boards under the labels and the answers: no τ is shown without its noise ceiling."""
    if not boards.labels:
        return
    ceilings = None
    if found.judgments is not None and len(found.judgments) and found.pools:
        documents = pooled_documents(found.pools)
        votes = VoteSet(
            PREFERENCE_NAME,
            found.judgments,
            documents,
            reader.judged(documents),
            how=found.how,
            pools=found.pools,
            asked=found.asked,
            kept=found.kept,
        )
        ceilings = Ceilings(votes, found, [Measure.parse(text) for text in found.measures(())], None)
    yield from correlations([*boards.labels, *boards.current.boards], found, ceilings, notices)


def _official(
    leaderboard: Path | None, found: ScoreInputs, boards: AllBoards, reader: Reader
) -> OfficialBoard | None:
    if leaderboard is None:
        return None
    every = [*boards.labels, *boards.current.boards]
    return official_scores(leaderboard, found, Measure.parse(found.measures(())[0]), every, reader)


def _health(found: ScoreInputs, boards: AllBoards, reader: Reader) -> dict[str, RunHealth]:
    return dict(zip(boards.runs, reader.health(found.qrels[0]), strict=True))
