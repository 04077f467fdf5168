"""``prefjudge store``."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from prefjudge.cli.options import Json
from prefjudge.cli.output import notice, print_json, progress, say
from prefjudge.errors import NotFinished, quoted
from prefjudge.words import many

if TYPE_CHECKING:
    from prefjudge.steps.store.backup import BackupResult, RecoverResult
    from prefjudge.steps.store.check import StoreCheckResult

_COLORS = {"well": "green", "wrong": "red", "skipped": "yellow"}


def store(
    call: Callable[..., Any],
    *,
    action: str,
    study: Path | None,
    file: Path | None,
    store: str | None,
    live: bool,
    json: Json = False,
) -> None:
    """Print what was found, copied or learnt; the exit code says 1 what is wrong, and 3 what remains."""
    if action == "backup" and store is not None and file is None:
        study, file = None, study  # the one file named is the file to write
    with progress("recovering") as bar:
        result = call(study=study, file=file, progress=bar)
    if json:
        print_json(result)
    elif action == "check":
        _show_checks(result)
    elif action == "backup":
        _show_backup(result)
    else:
        _show_recovered(result, live=live)
    if not getattr(result, "well", True):
        raise typer.Exit(1)
    if getattr(result, "remains", ()):
        raise typer.Exit(NotFinished.exit_code)


def _show_checks(result: "StoreCheckResult") -> None:
    width = max(len(check.name) for check in result.checks)
    for check in result.checks:
        say(f"{check.state:<7}  {check.name:<{width}}  {check.found}", _COLORS[check.state], err=False)
        if check.hint:
            say(f"{'':<{width + 11}}{check.hint}", err=False)


def _show_backup(result: "BackupResult") -> None:
    ledger = ", ".join(f"{name} ${sum_}" for name, sum_ in result.ledger.items()) or "empty"
    say(f"wrote {result.file}: the {result.kind}'s store as of {result.taken}, {result.bytes:,} bytes")
    say(
        f"read back: sound, {sum(result.rows.values()):,} rows in {len(result.rows)} tables; ledger: {ledger}"
    )


def _show_recovered(result: "RecoverResult", *, live: bool) -> None:
    say(f"{many(result.hits, 'HIT')} of this study at {result.target}: {result.rebuilt:,} rebuilt now")
    say(
        f"learnt {many(result.assignments, 'assignment')}, {many(result.decisions, 'decision')} and "
        f"{many(result.bonuses, 'bonus', 'bonuses')}"
    )
    if result.given_up:
        say(f"gave up {many(result.given_up, 'HIT')}, whose pairs are asked for again")
    notice(result.notices)
    for text in result.remains:
        say(f"remains: {text}", "yellow")
    if not result.remains:
        then = f"collect or run{' --live' * live}"
        say(f"the store is whole; next: prefjudge status {quoted(result.study)}, then {then}")
