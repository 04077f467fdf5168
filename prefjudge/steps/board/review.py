"""What people read of a change: a verdict, the health of its runs, and the audit, as Markdown."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from tempfile import TemporaryDirectory

from prefjudge.core.runs import Order
from prefjudge.errors import InputError
from prefjudge.evaluation import submissions as audits
from prefjudge.evaluation import submissions as entries
from prefjudge.evaluation.submissions import Rules
from prefjudge.reading.files import Notice
from prefjudge.reading.lines import pieces
from prefjudge.reading.opened import reading
from prefjudge.steps.board.git import Git
from prefjudge.steps.board.intake import Change
from prefjudge.steps.board.submissions import Problem, Submission
from prefjudge.steps.check import FileCheck, check
from prefjudge.study.config import BoardConfig
from prefjudge.words import many

MOST_SHOWN = 20
"""Lines of one list in a comment: the annotations have them all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Review:
    """What was found in the new runs: ``health`` of each, what is wrong, and what the audit says."""

    health: tuple[FileCheck, ...]
    problems: tuple[Problem, ...]
    warnings: tuple[Problem, ...]
    findings: tuple[str, ...]


def review(git: Git, change: Change, rules: BoardConfig, today: date) -> Review:
    """Look into the new runs of a change, and audit them with those that are in."""
    health: list[FileCheck] = []
    problems: list[Problem] = []
    warnings: list[Problem] = []
    with TemporaryDirectory() as place:
        for name, run in change.runs.items():
            path = Path(place) / run
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(git.blob(change.entries[run]))
            if _is_long(path, rules.unpacked_megabytes):
                what = f"has more than {rules.unpacked_megabytes:g} MB unpacked, and no more are taken"
                problems.append(Problem(path=run, what=what))
                continue
            found = _located(check(path, kind="run").files[0], f"{place}/")
            health.append(found)
            problems += [
                Problem(path=run, what=_plain(text, run)) for text in (*found.errors, *_tag(found, name))
            ]
            warnings += [Problem(path=run, what=_plain(text, run)) for text in found.warnings]
        runs = [Path(place) / found.path for found in health if found.ok]
        findings = _audit(change, rules, runs) if change.after else ()
    return Review(
        health=tuple(health), problems=tuple(problems), warnings=tuple(warnings), findings=tuple(findings)
    )


def _tag(found: FileCheck, name: str) -> list[str]:
    """Return why a run goes by another name than its file: boards would list it under that."""
    if found.health is None or found.health.columns != 6 or found.health.tag == name:
        return []
    return [f"its tag is {found.health.tag!r}, and is to be {name!r}"]


def _is_long(path: Path, megabytes: float) -> bool:
    """Return whether a file is longer than so much when it is unpacked; no more of it is unpacked."""
    left = megabytes * 1_000_000
    with suppress(InputError):  # what cannot be unpacked is reported with all else that is wrong
        for piece in pieces(path):
            left -= len(piece)
            if left < 0:
                return True
    return False


def _located(found: FileCheck, place: str) -> FileCheck:
    """Return what was found in a copy, as it is in the repository."""
    said = {
        name: tuple(text.replace(place, "") for text in getattr(found, name))
        for name in ("errors", "warnings")
    }
    return replace(
        found, path=found.path.removeprefix(place), errors=said["errors"], warnings=said["warnings"]
    )


def _plain(text: str, path: str) -> str:
    return text.removeprefix(f"{path}: ").removeprefix(f"{path}:")


def _audit(change: Change, rules: BoardConfig, runs: Sequence[Path]) -> tuple[str, ...]:
    """Return what the rules of leaderboards say of all submissions, where it is about one of the new ones."""
    fresh = {one.name for one in change.fresh}
    board = [
        entries.Submission(
            line=line,
            submission_id=one.name,
            date=one.day,
            team=one.about.team,
            description=one.about.model_description,
            type=one.about.type,
            dev=None,
            eval=None,
            baseline=one.about.submitter in rules.maintainers,
        )
        for line, one in enumerate(change.after.values(), 1)
    ]
    limits = Rules(limit=rules.per_team, days=rules.days)
    notices: list[Notice] = []
    with reading([str(run) for run in runs], Order.SCORE, notices) as reader:
        found = audits.audit(
            board,
            rules=limits,
            heads=reader.top(10) if runs else None,
        )
    return tuple(
        f"{one.rule}: {one.words}" for one in found.findings if not fresh or fresh & set(one.submissions)
    )


def to_markdown(
    change: Change, problems: Sequence[Problem], warnings: Sequence[Problem], seen: Review, today: date
) -> str:
    """Return the comment; what strangers wrote stands in it as code, which names and links nobody."""
    verdict = f"**{many(len(problems), 'problem')}**: this cannot come in yet" if problems else "**in order**"
    lines = ["## Submission check", "", verdict, ""]
    lines += _list("Problems", problems) + _list("Worth a look", warnings)
    if change.fresh:
        lines += [
            "### New submissions",
            "",
            "| run | team | shown | lines | queries |",
            "|---|---|---|---:|---:|",
        ]
        lines += [_row(one, seen, today) for one in change.fresh] + [""]
    if seen.findings:
        lines += ["### Audit", "", *(f"- {code(text)}" for text in seen.findings[:MOST_SHOWN]), ""]
    return "\n".join(lines)


def _row(one: Submission, seen: Review, today: date) -> str:
    health = next((found.health for found in seen.health if found.path == one.run), None)
    numbers = (f"{health.lines:,}", f"{health.queries:,}") if health else ("", "")
    state = one.state(today)
    shown = f"from {one.about.embargo_until}" if state == "embargoed" else state
    return f"| {code(one.name)} | {code(one.about.team)} | {shown} | {numbers[0]} | {numbers[1]} |"


def _list(title: str, found: Sequence[Problem]) -> list[str]:
    if not found:
        return []
    rest = [f"- and {len(found) - MOST_SHOWN} more"] if len(found) > MOST_SHOWN else []
    return [
        f"### {title}",
        "",
        *(f"- {code(one.path)}: {code(one.what)}" for one in found[:MOST_SHOWN]),
        *rest,
        "",
    ]


def code(text: str) -> str:
    """Return a text as code in Markdown, in one line and in one cell, whatever is in it."""
    plain = " ".join("".join(letter if letter.isprintable() else " " for letter in text).split())
    safe = plain.replace("`", "'").replace("|", "\N{DIVIDES}")
    return f"`{safe[:400] or ' '}`"
