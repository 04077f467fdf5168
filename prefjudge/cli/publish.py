"""``prefjudge publish``."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from prefjudge.cli.options import Json, Sandbox, Yes, one_target
from prefjudge.cli.output import print_json, progress, say
from prefjudge.errors import quoted
from prefjudge.words import many

if TYPE_CHECKING:
    from prefjudge.steps.publish import PublishResult


def publish(
    call: "Callable[..., PublishResult]",
    *,
    study: Path,
    sandbox: Sandbox = False,
    live: bool,
    yes: Yes = False,
    json: Json = False,
) -> None:
    """Ask before anything is spent, and print what was published."""
    one_target(sandbox=sandbox, live=live)
    with progress("publishing") as bar:
        result = call(confirm=_asked(json), progress=bar)
    if json:
        print_json(result)
    elif result.dry_run:
        show_offer(result)
        for line in result.calls:
            say(line)
        say("nothing was published: this was a dry run")
    elif result.published:
        if yes:
            _warn(result)
        say(f"published {many(result.published, 'HIT')} to {result.target}; {result.open:,} in all are open")
        say(f"next: {_next(study, result.target)}")
    else:
        say(f"no pair waits for a judgment; {many(result.open, 'HIT')} open at {result.target}")


def _next(study: Path, target: str) -> str:
    from prefjudge.study.store import Study, command

    configured = Study(study).config.target(target)
    if configured is None or not configured.is_own_marketplace or target != "sandbox":
        return command("collect", study, target)  # people come by themselves, and nobody is simulated
    work, serve = (f"prefjudge {verb} {quoted(study)}" for verb in ("work", "serve"))
    return f"{work} (simulated), or {serve} for people; then collect"


def _asked(json: bool) -> "Callable[[PublishResult], bool]":
    def ask(offer: "PublishResult") -> bool:
        show_offer(offer)
        if json or not sys.stdin.isatty():
            return False
        if offer.target == "live":
            return bool(typer.prompt("Type the study's name to spend real money", err=True) == offer.name)
        return typer.confirm(f"Publish to {offer.target}?", err=True)

    return ask


def show_offer(offer: "PublishResult") -> None:
    """Print what would be published, where, and what it costs."""
    money = "play money" if offer.target == "sandbox" else "REAL MONEY"
    say(f"target    {offer.target} ({money}) at {offer.endpoint}")
    inside = f"{many(offer.pairs, 'pair')}, {many(offer.assignments, 'assignment')}"
    say(f"HITs      {offer.hits:,} with {inside}")
    say(f"cost      ${offer.total:,} = ${offer.rewards:,} rewards + ${offer.fees:,} fees")
    if offer.budget is not None:
        say(f"budget    ${offer.budget:,.2f}, of which ${offer.committed:,.2f} is committed")
    if offer.account is not None:
        say(f"account   ${offer.account:,} to spend")
    if offer.hourly is not None:
        say(f"pay       about ${offer.hourly} an hour")
    _warn(offer)


def _warn(offer: "PublishResult") -> None:
    for warning in offer.warnings:
        say(f"warning: {warning}", "yellow")
