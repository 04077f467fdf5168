"""A leaderboard that is kept in Git: its repository, what comes in and is shown, and its study's log."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from enum import StrEnum
from pathlib import Path
from typing import Literal

from prefjudge.errors import StudyError
from prefjudge.findings.outputs import check_outputs
from prefjudge.reading.files import write_text
from prefjudge.reading.given import as_folder, as_path, day_of
from prefjudge.show.results import Shown
from prefjudge.steps.board.intake import (
    examine,
    review,
    rules_for,
    rules_of,
    staged_problems,
    to_markdown,
)
from prefjudge.steps.board.repository import LOG_FILE, Git, extend_log, make_repository
from prefjudge.steps.board.submissions import Problem, Submission
from prefjudge.study.people import load_rehearsal
from prefjudge.study.pools import load_inputs
from prefjudge.study.store import CONFIG_FILE, Study
from prefjudge.words import Rehearsal, many, told


class BoardAction(StrEnum):
    """What is done with a board's repository."""

    INIT = "init"
    CHECK = "check"
    RUNS = "runs"
    LOG = "log"


@dataclass(frozen=True, slots=True, kw_only=True)
class Submitted:
    """A submission: where its run is, and whether it is ``shown``, ``embargoed`` or ``withdrawn``."""

    name: str
    team: str
    run: str
    state: str


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class BoardResult(Shown):
    """What was done.

    ``written`` are files, ``submissions`` those that come in by a change, or that are shown. ``problems``
    keep a change from coming in, ``warnings`` do not; ``audit`` is what the rules of leaderboards say of it.
    ``logged`` counts the lines that were added to the log.
    """

    action: str
    board: str
    written: tuple[str, ...] = ()
    submissions: tuple[Submitted, ...] = ()
    problems: tuple[Problem, ...] = ()
    warnings: tuple[Problem, ...] = ()
    audit: tuple[str, ...] = ()
    logged: int = 0
    rehearsal: Rehearsal | None = None

    @told
    def ok(self) -> bool:
        """Whether nothing is wrong."""
        return not self.problems


def board(
    action: BoardAction | Literal["init", "check", "runs", "log"],
    folder: str | Path,
    *,
    base: str | None = None,
    head: str = "HEAD",
    staged: bool = False,
    submitter: str = "",
    new: bool = False,
    as_of: str | None = None,
    out: str | Path | None = None,
) -> BoardResult:
    """Keep a leaderboard in Git: a study, the runs submitted to it, and the log of its judgments.

    ``init`` makes the repository. ``check`` says whether a change may come in, by the rules under ``[board]``
    in the study.toml of the base. ``runs`` prints the runs that are judged and shown today. ``log`` adds to
    the log in Git what is new in the study's store, people by pseudonyms; ``import`` makes a study of it.

    Parameters
    ----------
    action : BoardAction
        What to do.
    folder : Path
        The repository, which is also the study's folder.
    base : str, optional
        With ``check``: the commit that the change is for. Without it all that is in is checked.
    head : str
        The commit that is looked at.
    staged : bool
        With ``check``: look for stores, secrets and a changed log in what would be committed next, as a
        hook does.
    submitter : str
        With ``check``: who submits, by the login that was verified.
    new : bool
        With ``runs``: only those that the study has not met.
    as_of : str, optional
        The day to judge dates and embargoes on, yyyy-mm-dd; today in UTC by default.
    out : Path, optional
        With ``check``: write verdict, health and audit as Markdown, for a comment.

    Raises
    ------
    InputError
        There is no such commit, or the log is not as it was written.
    StudyError
        The folder is not a board's repository, or the log is another study's.
    """
    action, place, out = BoardAction(action), as_folder(folder), as_path(out)
    today = day_of(as_of, "--as-of") or datetime.now(UTC).date()
    if action is BoardAction.INIT:
        made = make_repository(place)
        return BoardResult(action=action.value, board=str(place), written=tuple(made))
    if not (place / CONFIG_FILE).is_file():
        raise StudyError(f"{folder} is not a board", "Run: prefjudge board init DIR")
    if action is BoardAction.LOG:
        study = Study(place)
        added = extend_log(study, place / LOG_FILE)
        with study.transaction(write=False) as db:
            rehearsal = load_rehearsal(db)
        return BoardResult(
            action=action.value,
            board=str(place),
            logged=added,
            written=(LOG_FILE,) if added else (),
            rehearsal=rehearsal,
        )
    git = Git(place)
    if action is BoardAction.RUNS:
        return _runs(git, git.commit(head), today, new=new)
    return _checked(git, base, head, submitter, today, out, staged=staged)


def _checked(
    git: Git, base: str | None, head: str, submitter: str, today: date, out: Path | None, *, staged: bool
) -> BoardResult:
    if staged:
        return BoardResult(action="check", board=str(git.folder), problems=tuple(staged_problems(git)))
    now = git.commit(head)
    old = git.commit(base) if base else None
    check_outputs(out, inputs=[git.folder / path for path in git.tree(now)])
    rules, broken = rules_for(git, old) if old else (rules_of(git, now), [])
    change, problems, warnings = examine(git, old, now, rules, submitter, today)
    seen = review(git, change, rules, today)
    problems, warnings = [*problems, *seen.problems], [*broken, *warnings, *seen.warnings]
    if out is not None:
        write_text(out, to_markdown(change, problems, warnings, seen, today))
    return BoardResult(
        action="check",
        board=str(git.folder),
        submissions=_shown(change.fresh, today),
        problems=tuple(problems),
        warnings=tuple(warnings),
        audit=seen.findings,
        written=(str(out),) if out else (),
    )


def _runs(git: Git, head: str, today: date, *, new: bool) -> BoardResult:
    """Return the submissions of a commit that are shown; ``new`` those that the study has not met."""
    rules = rules_of(git, head)
    change, problems, _ = examine(git, None, head, rules, "", today)
    if problems:
        raise StudyError(
            f"{many(len(problems), 'thing is', 'things are')} wrong with what is there: {problems[0]}",
            "See them all: prefjudge board check DIR",
        )
    met: set[str] = set()
    if new:
        with Study(git.folder).transaction(write=False) as db:
            met = {one.name for one in load_inputs(db) if one.kind == "run"}
    found = [one for one in change.after.values() if one.name not in met and one.state(today) == "shown"]
    return BoardResult(action="runs", board=str(git.folder), submissions=_shown(found, today))


def _shown(found: Sequence[Submission], today: date) -> tuple[Submitted, ...]:
    return tuple(
        Submitted(name=one.name, team=one.about.team, run=one.run, state=one.state(today))
        for one in sorted(found, key=lambda one: one.name)
    )
