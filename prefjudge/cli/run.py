"""``prefjudge run``."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from prefjudge.cli.options import Json, Sandbox, Yes, one_target
from prefjudge.cli.output import print_json, say, stamp
from prefjudge.cli.publish import show_offer
from prefjudge.errors import NotFinished, quoted
from prefjudge.words import chance_text, many

if TYPE_CHECKING:
    from prefjudge.steps.publish import PublishResult
    from prefjudge.steps.run import RunResult


def run(
    call: "Callable[..., RunResult]",
    *,
    study: Path,
    sandbox: Sandbox = False,
    live: bool,
    workers: int,
    yes: Yes = False,
    json: Json = False,
) -> None:
    """Ask before the first round, and print each; the exit code is 3 where queries are not finished."""
    one_target(sandbox=sandbox, live=live)
    result = call(sandbox=not live, confirm=_ask, tell=say)
    if json:
        print_json(result)
    else:
        stamp(result.rehearsal)
        _show(result, study)
    if result.unfinished:
        # who judged so far judges on; without simulated workers `run` would wait for people
        again = f"{quoted(study)}{' --live' * live}{f' --workers {workers}' if workers else ''}"
        raise NotFinished(
            f"{result.unfinished:,} of {many(result.queries, 'query')} are not finished",
            f"Run: prefjudge run {again}; it continues where it stopped.",
        )


def _ask(offer: "PublishResult") -> bool:
    show_offer(offer)
    say("this is the first round; further rounds are published without asking, within the budget")
    return sys.stdin.isatty() and typer.confirm(f"Publish to {offer.target}?", err=True)


def _show(result: "RunResult", study: Path) -> None:
    say(
        f"{result.strategy}: {many(result.judgments, 'judgment')}, ${result.committed:.2f} committed; "
        f"{many(result.rounds, 'new round')}, ended by {result.stopped_by}"
    )
    for order in result.orders:
        say(f"  {order.words}")
    for duel in result.duels:
        verb = "replaces" if duel.dethroned else "loses to"
        runs = ", ".join(duel.brought_by) or "judged before"
        chance = "" if duel.chance is None else f", P(best) {chance_text(duel.chance)}"
        say(
            f"  query {duel.query_id}: {duel.newcomer} ({runs}) {verb} {duel.incumbent}, "
            f"{duel.votes_for:g} votes to {duel.votes_against:g}{chance}"
        )
    for shift in result.moved:
        say(f"  run {shift.run} moves from rank {shift.reference} to {shift.other}")
    say(f"version {result.version} of the answers, {many(result.qrels, 'preference qrel')}: {result.out}")
    say(f"next: prefjudge score {quoted(study)}")
