"""The runs of a site: which are shown, what is told of them, and what an audit finds."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path

from prefjudge.core.pooling.runs import Heads
from prefjudge.counts import many
from prefjudge.errors import InputError
from prefjudge.evaluation.submissions.audit import Audit, audit
from prefjudge.evaluation.submissions.findings import Rules
from prefjudge.evaluation.submissions.official import find_entry
from prefjudge.evaluation.submissions.submissions import Submission
from prefjudge.formats.lines.problems import Notice
from prefjudge.formats.run_metadata import RunMetadata, day_of, read_run_metadata
from prefjudge.gather.inputs import expand, in_memory
from prefjudge.study.board_config import BoardConfig
from prefjudge.study.pooling import load_inputs
from prefjudge.study.study import Study

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
    """Return the runs to show: those given, or those of the study, without the embargoed and withdrawn.

    A run that is given and that the study has is known by its place, or else by its name.
    """
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
    aside = {
        name
        for name, one in found.items()
        if one.withdrawn or (one.hidden_until and one.hidden_until > today)
    }
    public = {name: one for name, one in sorted(found.items()) if name not in aside}
    shown = {name: one for name, one in public.items() if name in names}
    if not shown:
        such = f", such as {min(names)}" if names else ""
        raise InputError(
            f"no run of the study is among those that may be shown{such}",
            "Name the files or the folder of its runs: --runs FOLDER. They are known by their places, or "
            "by the names of their metadata, their tags, or their own.",
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
                yield from (Path(str(file)) for file in expand([str(folder)]) if _has_files(folder))
        else:
            found = [Path(str(file)) for file in expand([str(one)])]
            if gone := next((file for file in found if not file.exists()), None):
                raise InputError(
                    f"{gone} does not exist", "Give run files, or folders of them: --runs FOLDER."
                )
            yield from found


def _has_files(folder: Path) -> bool:
    return any(entry.is_file() for entry in folder.iterdir())


def with_leaderboard(
    shown: Mapping[str, RunMetadata], entries: Sequence[Submission]
) -> dict[str, RunMetadata]:
    """Return what is told of runs, completed by a leaderboard, whose entries have their names as ids."""
    found = {}
    for name, one in shown.items():
        entry = find_entry(name, entries)
        found[name] = (
            one
            if entry is None
            else replace(
                one,
                team=one.team or entry.team,
                description=one.description or entry.description,
                paper=one.paper or entry.paper,
                code=one.code or entry.code,
                type=one.type or entry.type,
                submitted=one.submitted or entry.date,
            )
        )
    return found


def audit_entries(
    shown: Mapping[str, RunMetadata], entries: Sequence[Submission], heads: Heads | None, board: BoardConfig
) -> Audit | None:
    """Return the audit of a leaderboard, or of the runs shown; None where no day of a submission is known.

    The runs shown are held to the limits of the study's board, which do not bind its maintainers.
    """
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
