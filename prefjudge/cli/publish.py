"""``prefjudge publish``."""

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from prefjudge.cli.options import Json, Live, Sandbox, StudyFolder, one_target
from prefjudge.cli.output import print_json, progress, say
from prefjudge.counts import many
from prefjudge.errors import quoted

if TYPE_CHECKING:
    from collections.abc import Callable

    from prefjudge.steps.publish import PublishResult


def publish(
    study: StudyFolder,
    sandbox: Sandbox = False,
    live: Live = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would be published; do nothing.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    json: Json = False,
) -> None:
    """Publish HITs for the pairs that wait: exactly one for each."""
    from prefjudge.steps.publish import publish as run

    one_target(sandbox=sandbox, live=live)
    with progress("publishing") as bar:
        result = run(
            study, sandbox=sandbox, live=live, dry_run=dry_run, yes=yes, confirm=_asked(json), progress=bar
        )
    if json:
        print_json(result)
    elif result.dry_run:
        show_offer(result)
        say("nothing was published: this was a dry run")
    elif result.published:
        if yes:
            _warn(result)
        say(f"published {many(result.published, 'HIT')} to {result.target}; {result.open:,} in all are open")
        say(
            f"next: prefjudge work {quoted(study)} (simulated), or prefjudge serve {quoted(study)} for people"
            "; then collect"
        )
    else:
        say(f"no pair waits for a judgment; {many(result.open, 'HIT')} open at {result.target}")


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
        say(f"budget    ${offer.budget:,}, of which ${offer.committed:,} is committed")
    if offer.hourly is not None:
        say(f"pay       about ${offer.hourly} an hour")
    _warn(offer)


def _warn(offer: "PublishResult") -> None:
    for warning in offer.warnings:
        say(f"warning: {warning}", "yellow")
