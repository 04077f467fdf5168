"""A study's best answers: one source for its page, its release, its boards and its challenges."""

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np

from prefjudge.core.planning.rounds import BySize, parse_strategy, taken_out
from prefjudge.core.planning.sure import Sure
from prefjudge.core.pools import candidates_of
from prefjudge.core.resolving.resolutions import (
    PREFERENCE_NAME,
    HowResolved,
    Resolutions,
    resolved,
    to_qrels,
    with_answers,
)
from prefjudge.core.resolving.tournaments import TieWorth
from prefjudge.core.runs import Qrels
from prefjudge.core.strategies import Strategy
from prefjudge.errors import InputError, StudyError
from prefjudge.findings.judgments import JudgmentInput, fitting_rule, gather_judgments
from prefjudge.findings.outputs import stamp_of, write_stamp
from prefjudge.reading.files import Notice
from prefjudge.reading.given import InputFile, paths_of
from prefjudge.reading.labels import read_qrels, write_qrels
from prefjudge.reading.unpacking import digest_of_content
from prefjudge.study.answers import last_version, load_answers, load_open_challenge, save_answers
from prefjudge.study.hits import HitStatus
from prefjudge.study.people import load_rehearsal
from prefjudge.study.pools import load_copies, load_inputs
from prefjudge.study.progress import (
    ChallengeRecord,
    Stage,
    count_hits,
    lacking,
    load_challenges,
    waiting_pairs,
)
from prefjudge.study.store import QRELS_FILE, Study, advised, live_since
from prefjudge.words import many


class BestAnswers:
    """A study's best-known answers, and the judgments and tournaments behind them, whose winners they are.

    ``version`` is that of the answers which ``run`` keeps; 0 where ``resolve`` wrote them. ``how`` makes the
    tournaments, which are played when they are first asked for.
    """

    def __init__(self, study: Study, *, verb: str) -> None:
        self.read: list[Notice] = []
        with study.reading():
            self.qrels, self.version = load_best_answers(study, self.read)
            votes = gather_judgments(study, None, verb=verb)
            self.votes, self.how, self._told = votes_of_answers(study, votes, self.version, verb=verb)
            self._made = how_resolved(study) is not None

    @cached_property
    def tournaments(self) -> Resolutions:
        """What the rule finds in the judgments as they are."""
        return resolved(self.votes.log, self.how, pools=self.votes.pools, asked=self.votes.asked)

    @cached_property
    def resolutions(self) -> Resolutions:
        """The tournaments with the best-known answers as their winners."""
        won = to_qrels(self.tournaments)
        if set(candidates_of(self.votes.copies.spread(won))) != set(candidates_of(self.qrels)):
            won = self.qrels
        return with_answers(self.tournaments, won, (self.version and self.votes.driven_by) or self.how.rule)

    @cached_property
    def _others(self) -> int:
        """The number of queries to which the tournaments have other winners."""
        found, answered = self.tournaments, self.resolutions
        return int(np.unique(found.query[found.winner != answered.winner]).size)

    @property
    def derived(self) -> bool:
        """Whether the answers are what the tournaments find."""
        return not self.version and not self._others

    @property
    def notices(self) -> tuple[str, ...]:
        """What to say of the rule, and where the judgments now lead to other answers than were written."""
        if not self._others or self.version:
            return self._told
        made = "" if self._made else "other options made it, or "
        return (
            *self._told,
            f"{QRELS_FILE} is out of date for {many(self._others, 'query')}, to which {self.how.rule} now "
            f"finds other answers: {made}judgments have come since. `prefjudge resolve` makes it again",
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptAnswers:
    """The answers that a strategy has kept of the votes that it asked for, and could keep of others."""

    answers: Qrels
    strategy: Strategy


def kept_by_strategy(study: Study, answers: Qrels, version: int) -> KeptAnswers | None:
    """Return the best answers with the strategy that found them.

    None where none did, and where it cannot be asked again with other votes: it was taken out, a challenge
    has brought votes of its own, a model chose what people were shown, or votes went where they told runs
    apart.
    """
    name = study.setting("strategy")
    with study.transaction(write=False) as db:
        challenged = load_open_challenge(db) is not None
    if version != 1 or challenged or not name or taken_out(name) or study.setting("strategy model"):
        return None
    strategy = parse_strategy(name)
    sizes = strategy.steps if isinstance(strategy, BySize) else ((0, strategy),)
    if any(isinstance(one, Sure) and one.runs is not None for _, one in sizes):
        return None
    return KeptAnswers(answers=answers, strategy=strategy)


def load_best_answers(study: Study, notices: list[Notice] | None = None) -> tuple[Qrels, int]:
    """Return the last version of the answers that ``run`` keeps, or else what ``resolve`` wrote, version 0.

    All copies of an answer are answers.
    """
    with study.transaction(write=False) as db:
        version = last_version(db)
        kept, rehearsed_until = load_answers(db, version, PREFERENCE_NAME), live_since(db)
        copies = load_copies(db)
    if version or (study.until is not None and kept.queries):
        return copies.spread(kept), version
    path = study.folder / QRELS_FILE
    if study.until is not None or not path.is_file() or path.stat().st_mtime < rehearsed_until:
        raise lacking(study, Stage.ANSWERED)
    if not path.stat().st_size:
        more = "run" if study.setting("strategy") else "collect"
        raise StudyError(
            "no query of the study has a best answer yet",
            f"Collect more judgments: {advised(study, more)}{'; then resolve' * (more != 'run')}.",
        )
    return copies.spread(read_qrels(path, name=PREFERENCE_NAME, notices=notices)), 0


def load_versions(study: Study) -> dict[int, Qrels]:
    """Return the versions of the answers that ``run`` keeps; all copies of an answer are answers."""
    with study.transaction(write=False) as db:
        copies, last = load_copies(db), last_version(db)
        return {
            number: copies.spread(load_answers(db, number, PREFERENCE_NAME)) for number in range(1, last + 1)
        }


def write_versions(study: Study) -> Path:
    """Write all versions of the answers: the files may be those of a rehearsal, or of another store."""
    out = study.folder / QRELS_FILE
    with study.transaction(write=False) as db:
        rehearsal = load_rehearsal(db)
    versions = load_versions(study)
    for number, answers in versions.items():
        path = out if number == len(versions) else out.with_name(f"{out.stem}-v{number}{out.suffix}")
        write_stamp(path, stamp_of(rehearsal))
        write_qrels(path, answers, rehearsal=rehearsal)
    return out


def votes_of_answers(
    study: Study, votes: JudgmentInput, version: int, *, verb: str
) -> tuple[JudgmentInput, HowResolved, tuple[str, ...]]:
    """Return those votes of a study that its answers rest on, how they are resolved, and what to say of it.

    Version 0 of the answers is what ``resolve`` wrote, by the options that it had.
    """
    told = None if version else how_resolved(study)
    if told is not None:
        try:
            if told.without or told.counted:
                votes = gather_judgments(study, None, told.without, counted=told.counted, verb=verb)
            return votes, told, ()
        except InputError:  # such a worker was forgotten since, or is not barred any more
            pass
    (rule,), notices = ((votes.rule,), ()) if version else fitting_rule(votes)
    return votes, HowResolved(rule=rule), notices


def keep_resolved(study: Study, path: Path, answers: Qrels, how: HowResolved) -> None:
    """Keep a study's answers and how they were made: reports, releases and boards resolve them so again."""
    told = json.dumps({**asdict(how), "digest": digest_of_content(path)}, sort_keys=True)
    with study.transaction() as db:
        save_answers(db, 0, answers)
        if told != db.value(_HOW):
            db.insert("resolved", {"made": time.time(), "how": told})


_HOW = "SELECT how FROM resolved ORDER BY made DESC LIMIT 1"


def how_resolved(study: Study) -> HowResolved | None:
    """Return how the study's answers were made; None where the file is not the one that ``resolve`` wrote."""
    path = study.folder / QRELS_FILE
    with study.transaction(write=False) as db:
        told = json.loads(db.value(_HOW) or "{}")
    digest = told.pop("digest", None)
    if digest is None or (study.until is None and not (path.is_file() and digest == digest_of_content(path))):
        return None
    found = HowResolved(**told)
    return replace(
        found, ties=TieWorth(found.ties), without=tuple(found.without), counted=tuple(found.counted)
    )


# The work that is open in a study that is under way.


def what_is_open(study: Study) -> str:
    """Return the open work in words; empty where all that was asked is judged."""
    with study.transaction(write=False) as db:
        hits, waiting = count_hits(db), len(waiting_pairs(db))
        challenge = next((one for one in load_challenges(db) if one.concluded is None), None)
    return open_words(hits, waiting, challenge)


def open_words(hits: Mapping[str, int], waiting: int, challenge: ChallengeRecord | None) -> str:
    """Return the same where it is counted: HITs by their state, pairs without one, and an open challenge."""
    still_open = sum(count for name, count in hits.items() if name != HitStatus.CLOSED)
    parts = [
        *([f"{many(still_open, 'HIT')} open"] if still_open else []),
        *([f"{many(waiting, 'pair')} waiting for one"] if waiting and hits else []),
        *([f"challenge {challenge.challenge} under way"] if challenge else []),
    ]
    return ", ".join(parts)


# Runs whose challenge is under way: their newcomers are not judged, so no board ranks them yet.


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitingRuns:
    """The runs of the challenge that is under way, and the query_id and doc_id of their newcomers."""

    challenge: int
    names: tuple[str, ...]
    files: tuple[str | Path, ...]
    newcomers: frozenset[tuple[str, str]]

    def others(self, runs: Sequence[str | Path]) -> tuple[str | Path, ...]:
        """Return the run files that do not wait, however they are called here."""
        waiting = {Path(path).resolve() for path in self.files}
        return tuple(path for path in runs if Path(path).resolve() not in waiting)

    def __str__(self) -> str:
        names = ", ".join(self.names)
        return (
            f"challenge {self.challenge} is under way: {names} not judged yet, and not ranked; "
            "`prefjudge run` continues it"
        )


def split_runs(study: Study) -> tuple[list[InputFile], WaitingRuns | None]:
    """Return the study's run files that are judged, and those that wait for a challenge to end."""
    with study.transaction(write=False) as db:
        challenge = load_open_challenge(db)
        runs = [found for found in load_inputs(db) if found.kind == "run"]
    if challenge is None:
        return runs, None
    names = {source for _, _, source in challenge.rows}
    waiting = [found for found in runs if found.name in names]
    return [found for found in runs if found.name not in names], WaitingRuns(
        challenge=challenge.number,
        names=tuple(found.name for found in waiting),
        files=paths_of(waiting, "run", study.folder),
        newcomers=frozenset((query, doc) for query, doc, _ in challenge.rows),
    )
