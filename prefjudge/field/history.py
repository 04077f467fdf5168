"""The versions of the best-known answers, and what changed from one to the next."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from prefjudge.core.planning.rounds import Duel
from prefjudge.core.resolving.resolutions import Change, find_changes
from prefjudge.evaluation.correlation import RankShift
from prefjudge.field.rounds import find_moves
from prefjudge.findings.answers import split_runs
from prefjudge.show.cells import Table
from prefjudge.show.results import Shown
from prefjudge.show.statistics import changes_table, moves_table, versions_table
from prefjudge.study.answers import load_answers
from prefjudge.study.progress import (
    count_answers,
    first_answers_since,
    load_challenges,
    load_duels,
)
from prefjudge.study.store import (
    Study,
    open_study,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Version:
    """A version of the best-known answers, and how it differs from the one before."""

    version: int
    """Its number, from 1."""
    made: str | None
    """When its challenge was concluded, in UTC; of the first version, when its last vote was collected."""
    queries: int
    answers: int
    """Queries with an answer, and their answers."""
    challenge: int | None
    """The challenge that made it; None for the first version."""
    duels: tuple[Duel, ...]
    """How each newcomer of the challenge fared, and which runs contributed it; and the candidates of earlier
    rounds that are the best again, which no run of the challenge contributed."""
    changes: tuple[Change, ...]
    """The queries whose answers differ."""
    moved: tuple[RankShift, ...]
    """The runs that change places: ``reference`` is the rank under the version before, ``other`` under
    this."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class History(Shown):
    """The versions, the first one first; ``measure`` is what their leaderboards are compared by, if they are.

    ``notices`` are the status's, which shows them.
    """

    measure: str | None
    versions: tuple[Version, ...]
    notices: tuple[str, ...] = field(repr=False, default=())

    def tables(self) -> tuple[Table, ...]:
        """Return the versions, what each changed, and the runs that moved."""
        rows = [
            {
                "version": one.version,
                "made": one.made,
                "queries": one.queries,
                "answers": one.answers,
                "challenge": one.challenge,
                "newcomers": sum(not duel.returned for duel in one.duels) if one.challenge else None,
                "changed": len(one.changes) if one.version > 1 else None,
                "moved": len(one.moved) if one.version > 1 and self.measure else None,
            }
            for one in self.versions
        ]
        further = (
            changes_table({one.version: (one.changes, one.duels) for one in self.versions}),
            moves_table(self.measure or "", {one.version: one.moved for one in self.versions}),
        )
        return (versions_table(rows), *(table for table in further if table.rows))


def history(study: str | Path | Study, *, moves: bool = True) -> History:
    """Return the versions of the answers, what each changed, and with ``moves`` the runs that moved."""
    opened, notices = open_study(study), list[str]()
    with opened.reading():
        with opened.transaction(write=False) as db:
            counts, challenges = count_answers(db), load_challenges(db)
            answers = {version: load_answers(db, version, f"version {version}") for version in counts}
            since = first_answers_since(db)
            # a conclusion makes the next version, and challenges follow one another
            makers = dict(enumerate((one for one in challenges if one.concluded is not None), start=2))
            duels = {version: load_duels(db, maker.challenge) for version, maker in makers.items()}
        moved: Sequence[tuple[RankShift, ...]] = [() for _ in answers]
        if moves:
            _, waiting = split_runs(opened)
            notices += [str(waiting)] if waiting else []
            without = waiting.names if waiting else ()
            moved = find_moves(opened, list(answers.values()), notices, without=without)
    versions = []
    for version, (queries, count) in counts.items():
        maker = makers.get(version)
        versions.append(
            Version(
                version=version,
                made=maker.concluded if maker else since,
                queries=queries,
                answers=count,
                challenge=maker.challenge if maker else None,
                duels=duels.get(version, ()),
                changes=find_changes(answers[version - 1], answers[version]) if version > 1 else (),
                moved=moved[version - 1],
            )
        )
    return History(
        measure=opened.config.measures[0] if moves else None,
        versions=tuple(versions),
        notices=tuple(notices),
    )
