"""Whether a change may come in: what it adds to a board's repository, held against the board's rules.

The rules are those of the base: a change cannot loosen what it is judged by.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import date, timedelta
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from unicodedata import normalize

from prefjudge.core.runs import Heads, Order
from prefjudge.errors import InputError, PrefjudgeError
from prefjudge.evaluation import submissions as audits
from prefjudge.evaluation.submissions import Rules
from prefjudge.reading.held import NamedFile
from prefjudge.reading.opened import reading
from prefjudge.reading.unpacking import pieces
from prefjudge.reading.votes.votes import read_log
from prefjudge.steps.board.repository import FILE, LOG_FILE, Entry, Git, Tree
from prefjudge.steps.board.submissions import (
    FOLDER,
    METADATA,
    MOST_METADATA,
    Problem,
    Submission,
    is_open,
    read_submissions,
)
from prefjudge.steps.check import FileCheck, check
from prefjudge.steps.release.leaks import KEYS
from prefjudge.study.config import BoardConfig, is_same_login, parse_config
from prefjudge.study.store import CONFIG_FILE
from prefjudge.words import many

# What never enters Git: stores, secrets and gold pairs, by their names and by their bytes.

_NAMES = re.compile(
    r".*(\.db|\.sqlite3?|\.db-(wal|shm|journal)|\.admin-token|\.bak|\.dump|\.sql|\.pem|\.part)"
    r"|gold.*\.tsv|.*backup.*|\.env(\..*)?|id_(rsa|ed25519|ecdsa).*",
    re.IGNORECASE,
)
_STORES = (b"SQLite format 3\0", b"PGDMP")
"""How SQLite's files and PostgreSQL's dumps begin."""
LOOKED_AT = 1_000_000
"""Files of more bytes are known by their beginning alone: runs are long."""


def is_private(path: str, data: bytes) -> str:
    """Return why a file must not be in Git; empty where it may be."""
    if _NAMES.fullmatch(PurePosixPath(path).name):
        return "named like a store, a secret, gold pairs or a copy of them: these must not go into Git"
    if data.startswith(_STORES):
        return "a store, whatever its name: worker ids and gold pairs must not go into Git"
    if KEYS.search(data):
        return "contains a key: take it out, revoke it where it was issued, and commit again"
    return ""


_FIXED = ("team", "submitter", "type")
"""What is said of a submission and stays: the date is in its name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """What would be in the repository after a change, and what it changes.

    ``before`` are the submissions of the base, ``after`` those with the change; ``runs`` are the new run
    files by their names, whatever is said of them; ``changed`` are the paths.
    """

    before: Mapping[str, Submission]
    after: Mapping[str, Submission]
    runs: Mapping[str, str]
    changed: frozenset[str]
    entries: Mapping[str, Entry]

    @property
    def fresh(self) -> tuple[Submission, ...]:
        """The submissions that come in by it."""
        return tuple(one for name, one in self.after.items() if name not in self.before)


def rules_of(git: Git, sha: str) -> BoardConfig:
    """Return the rules in the config of a commit."""
    return _rules_in(git, git.tree(sha), sha[:12])


def rules_for(git: Git, base: str) -> tuple[BoardConfig, list[Problem]]:
    """Return the rules of a base; where they cannot be read, those that it had last, and a word on it."""
    # Never those of the change: a stranger would name himself a maintainer.
    try:
        return rules_of(git, base), []
    except PrefjudgeError as error:
        for before in git.changes(base, CONFIG_FILE):
            with suppress(PrefjudgeError):
                why = " ".join(error.message.split())
                what = f"cannot be read in the base, so the rules of {before[:12]} hold: {why}"
                return rules_of(git, before), [Problem(path=CONFIG_FILE, what=what)]
        raise


def _rules_in(git: Git, tree: Tree, where: str) -> BoardConfig:
    entry = tree.get(CONFIG_FILE)
    if entry is None:
        raise InputError(
            f"{git.folder} has no {CONFIG_FILE} in Git", "Run: prefjudge board init DIR; commit."
        )
    text = git.blob(entry).decode("utf-8", "replace")
    return parse_config(text, Path(f"{CONFIG_FILE} of {where}")).board


def _broken_rules(git: Git, new: Tree) -> Iterator[Problem]:
    """Refuse rules that cannot be read: they would keep everything else from coming in."""
    try:
        _rules_in(git, new, "the change")
    except PrefjudgeError as error:
        yield Problem(path=CONFIG_FILE, what=" ".join(error.message.split()))


def examine(
    git: Git, base: str | None, head: str, rules: BoardConfig, submitter: str, today: date
) -> tuple[Change, list[Problem], list[Problem]]:
    """Return a change, what is wrong with it, and what a person should look at."""
    old = git.tree(base)
    meeting = git.tree(git.meeting(base, head)) if base else {}
    new = git.tree(head)
    changed = {path for path in meeting.keys() | new.keys() if meeting.get(path) != new.get(path)}
    merged = {path: one for path, one in old.items() if path not in changed}
    merged |= {path: new[path] for path in changed if path in new}
    before, known_runs, _ = read_submissions(old, _metadata(git, old), rules)
    after, runs, problems = read_submissions(merged, _metadata(git, merged), rules)
    fresh = {name: path for name, path in runs.items() if path in changed and name not in known_runs}
    change = Change(before=before, after=after, runs=fresh, changed=frozenset(changed), entries=merged)
    if base:
        known = {one.path for one in problems} & changed
        problems = [one for one in problems if one.path in known or any(path in one.what for path in changed)]
        problems += _outside(changed, rules, submitter)
        problems += _later(change, old, rules, submitter)
        problems += _arrivals(change, rules, submitter, today)
    if CONFIG_FILE in changed:
        problems += _broken_rules(git, merged)
    problems += _to_come(change, today)
    problems += _too_many(change, rules, whole=base is None)
    problems += _broken_log(git, old, merged)
    problems += _private(git, base, head, new, changed)
    unusual = _unusual(change, changed, rules, submitter) if base else []
    return change, list(dict.fromkeys(problems)), unusual


def _metadata(git: Git, tree: Mapping[str, Entry]) -> dict[str, bytes]:
    wanted = (
        one
        for path, one in tree.items()
        if path.startswith(f"{FOLDER}/") and path.endswith(METADATA) and one.size <= MOST_METADATA
    )
    return {one.path: data for one, data in git.blobs(wanted, MOST_METADATA)}


def _outside(changed: Iterable[str], rules: BoardConfig, submitter: str) -> Iterator[Problem]:
    """Refuse changes beside the submissions, but those of a maintainer."""
    if rules.trusts(submitter):
        return
    who = submitter or "a submitter whom nobody named"
    for path in sorted(changed):
        if not is_open(path):
            what = f"only a maintainer changes this, and {who} is not in [board] maintainers of {CONFIG_FILE}"
            yield Problem(path=path, what=what)


def _later(change: Change, old: Mapping[str, Entry], rules: BoardConfig, submitter: str) -> Iterator[Problem]:
    """Refuse changes of what is in: a run stays as it was judged, and its words belong to its submitter."""
    for name, was in change.before.items():
        if change.entries.get(was.run) != old[was.run]:
            yield Problem(
                path=was.run, what="an accepted run cannot be changed: withdraw it, and submit another one"
            )
        if was.metadata not in change.changed:
            continue
        now = change.after.get(name)
        if now is None:
            if was.metadata not in change.entries:
                yield Problem(path=was.metadata, what="stays; say withdrawn in it to take the run back")
            continue
        if not (is_same_login(submitter, was.about.submitter) or rules.trusts(submitter)):
            who = submitter or "a submitter whom nobody named"
            what = f"belongs to {was.about.submitter}, who submitted it, but is changed by {who}"
            yield Problem(path=was.metadata, what=what)
        for key in _FIXED:
            if getattr(was.about, key) != getattr(now.about, key):
                yield Problem(path=was.metadata, what=f"{key} stays {getattr(was.about, key)!r}")
        if now.about.embargo_until > was.about.embargo_until:
            yield Problem(path=was.metadata, what="an embargo may be shortened, not added or made longer")
        if was.about.withdrawn and not now.about.withdrawn:
            yield Problem(path=was.metadata, what="a withdrawn run stays withdrawn: submit another one")


def _arrivals(change: Change, rules: BoardConfig, submitter: str, today: date) -> Iterator[Problem]:
    """Refuse new submissions under a wrong date, embargo or name."""
    for one in change.fresh:
        age = (today - one.day).days
        if not -1 <= age <= rules.late_days:  # a day's grace: the earth has many
            days = f"the last {rules.late_days} days up to {today}"
            what = f"the date in its name, {one.day}, must be one of {days}"
            yield Problem(path=one.run, what=what)
        if submitter and not is_same_login(one.about.submitter, submitter):
            what = f"submitter is {one.about.submitter!r}, and {submitter!r} submits it"
            yield Problem(path=one.metadata, what=what)
        if one.about.withdrawn:
            yield Problem(path=one.metadata, what="a new submission cannot be withdrawn already")
        if until := one.about.embargo_until:
            last = one.day + timedelta(days=rules.embargo_days)
            if not one.day < date.fromisoformat(until) <= last:
                what = f"embargo_until {until} must be after {one.day}, and {last} at the latest"
                yield Problem(path=one.metadata, what=what)


def _to_come(change: Change, today: date) -> Iterator[Problem]:
    """Refuse runs that are withdrawn on a day to come: they count as withdrawn at once."""
    for one in change.after.values():
        day = one.about.withdrawn
        if one.metadata in change.changed and day and date.fromisoformat(day) > today + timedelta(days=1):
            yield Problem(path=one.metadata, what=f"withdrawn {day} is in the future: give today, {today}")


def _too_many(change: Change, rules: BoardConfig, *, whole: bool) -> Iterator[Problem]:
    """Refuse what is beyond the limit of a team, and of a submitter, who may name many teams."""
    bound = [one for one in change.after.values() if not rules.trusts(one.about.submitter)]
    days = timedelta(days=rules.days)
    for one in bound if whole else change.fresh:
        for kind in ("team", "submitter"):
            whose = _plain(getattr(one.about, kind))
            theirs = [other.day for other in bound if _plain(getattr(other.about, kind)) == whose]
            starts = [day for day in theirs if day <= one.day < day + days]
            most = max((sum(day <= other < day + days for other in theirs) for day in starts), default=0)
            if most > rules.per_team:
                what = (
                    f"{kind} {getattr(one.about, kind)!r} has {most} submissions within {rules.days} days: "
                    f"at most {rules.per_team} are allowed, unless a maintainer submits them"
                )
                yield Problem(path=one.metadata, what=what)


def _plain(name: str) -> str:
    """Return a name without what a reader does not see: capitals, blanks, and wide or joined letters."""
    return " ".join(normalize("NFKC", name).casefold().split())


def _broken_log(git: Git, old: Mapping[str, Entry], new: Mapping[str, Entry]) -> Iterator[Problem]:
    """Refuse a log that is not the old one with lines added."""
    was, now = old.get(LOG_FILE), new.get(LOG_FILE)
    if was is not None and was == now:
        return
    if now is None or now.mode != FILE:
        if was is not None or now is not None:
            yield Problem(path=LOG_FILE, what="the log of judgments must stay, as a plain file")
        return
    data = git.blob(now)
    if was is not None and not data.startswith(git.blob(was)):
        yield Problem(path=LOG_FILE, what="earlier lines of the log were changed; lines may only be added")
    try:
        read_log(data, LOG_FILE)
    except InputError as error:
        yield Problem(path=LOG_FILE, what=error.message.removeprefix(f"{LOG_FILE}:"))


def _private(
    git: Git, base: str | None, head: str, new: Mapping[str, Entry], changed: Iterable[str]
) -> Iterator[Problem]:
    """Refuse stores and secrets in any commit: a later one that removes them leaves them in the history."""
    added = {one.sha: one for one in git.added(base, head)}
    for entry, data in git.blobs(added.values(), LOOKED_AT):
        if why := is_private(entry.path, data):
            yield Problem(path=entry.path, what=why)
    for path in changed:  # what was in before, by a harmless name
        if path in new and (why := is_private(path, b"")):
            yield Problem(path=path, what=why)


def staged_problems(git: Git) -> list[Problem]:
    """Return why the next commit must not be made: stores and secrets in it, or a log that was rewritten."""
    new, old = git.tree(git.staged()), git.tree(git.last())
    changed = [path for path, one in new.items() if old.get(path) != one]
    found = [
        Problem(path=entry.path, what=why)
        for entry, data in git.blobs((new[path] for path in changed), LOOKED_AT)
        if (why := is_private(entry.path, data))
    ]
    return [*found, *_broken_log(git, old, new)]


def _unusual(change: Change, changed: Iterable[str], rules: BoardConfig, submitter: str) -> list[Problem]:
    """Return what no rule forbids, and a maintainer should see."""
    found = []
    teams: dict[str, set[str]] = {}
    for one in change.before.values():
        teams.setdefault(_plain(one.about.team), set()).add(one.about.submitter)
    for one in change.fresh:
        if not submitter:
            what = (
                f"nobody has verified that {one.about.submitter} submits it: name who does by --submitter "
                "LOGIN"
            )
            found.append(Problem(path=one.metadata, what=what))
        others = teams.get(_plain(one.about.team), set())
        if others and not any(is_same_login(one.about.submitter, other) for other in others):
            what = (
                f"so far {', '.join(sorted(others))} submitted for this team, and now {one.about.submitter}"
            )
            found.append(Problem(path=one.metadata, what=what))
    if rules.trusts(submitter):
        found += [
            Problem(path=path, what="changed by a maintainer")
            for path in sorted(changed)
            if not is_open(path) and path != LOG_FILE
        ]
    return found


# What people read of a change: a verdict, the health of its runs, and the audit, as Markdown.

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
            path = _put(git, change.entries[run], place)
            if _is_long(path, rules.unpacked_megabytes):
                what = f"has more than {rules.unpacked_megabytes:g} MB unpacked, the most that is allowed"
                problems.append(Problem(path=run, what=what))
                continue
            found = _located(check(path, kind="run").files[0], f"{place}/")
            health.append(found)
            problems += [
                Problem(path=run, what=_review_plain(text, run))
                for text in (*found.errors, *_tag(found, name))
            ]
            warnings += [Problem(path=run, what=_review_plain(text, run)) for text in found.warnings]
        whole = {found.path for found in health if found.ok}
        fresh = [NamedFile(f"{place}/{run}", name) for name, run in change.runs.items() if run in whole]
        known = [one for one in change.before.values() if fresh and one.run not in change.changed]
        for one in known:
            _put(git, change.entries[one.run], place)
        beside = [NamedFile(f"{place}/{one.run}", one.name) for one in known]
        findings = _audit(change, rules, fresh, beside, warnings) if change.after else ()
    return Review(
        health=tuple(health), problems=tuple(problems), warnings=tuple(warnings), findings=tuple(findings)
    )


def _put(git: Git, entry: Entry, place: str) -> Path:
    path = Path(place) / entry.path
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(git.blob(entry))
    return path


def _unanswered(change: Change, heads: Heads) -> list[Problem]:
    """Return the new runs that answer fewer queries than those that are in."""
    answered: dict[str, set[int]] = {}
    for run, query in zip(heads.list_run.tolist(), heads.list_query.tolist(), strict=True):
        answered.setdefault(heads.runs[run], set()).add(query)
    return [
        Problem(
            path=path,
            what=f"has no answer to {len(lacking)} of {many(len(heads.queries), 'query')} that other runs "
            f"answer, such as {lacking[0]}",
        )
        for name, path in change.runs.items()
        if name in answered
        and (lacking := [one for n, one in enumerate(heads.queries) if n not in answered[name]])
    ]


def _tag(found: FileCheck, name: str) -> list[str]:
    """Return why a run goes by another name than its file: boards would list it under that."""
    if found.health is None or found.health.columns != 6 or found.health.tag == name:
        return []
    return [f"its tag is {found.health.tag!r}, and should be {name!r}"]


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
    errors, warnings = (
        tuple(text.replace(place, "") for text in of) for of in (found.errors, found.warnings)
    )
    return replace(found, path=found.path.removeprefix(place), errors=errors, warnings=warnings)


def _review_plain(text: str, path: str) -> str:
    return text.removeprefix(f"{path}: ").removeprefix(f"{path}:")


def _top(runs: Sequence[NamedFile]) -> Heads | None:
    if not runs:
        return None
    with reading(runs, Order.SCORE, []) as reader:
        return reader.top(10)


def _audit(
    change: Change,
    rules: BoardConfig,
    runs: Sequence[NamedFile],
    beside: Sequence[NamedFile],
    warnings: list[Problem],
) -> tuple[str, ...]:
    """Return what the rules of leaderboards say of all submissions, where it is about one of the new ones."""
    try:
        heads = _top([*runs, *beside])
        warnings += _unanswered(change, heads) if heads and beside else []
    except InputError:
        heads = _top(runs)
        what = "some runs of the board cannot be read (`board check .` names them): the new ones stand alone"
        warnings.append(Problem(path=FOLDER, what=what))
    fresh = {one.name for one in change.fresh}
    board = [
        audits.Submission(
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
    found = audits.audit(board, rules=limits, heads=heads)
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
