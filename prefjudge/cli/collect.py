"""``prefjudge collect``."""

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from prefjudge.cli.options import Json
from prefjudge.cli.output import print_json, progress, say, stamp
from prefjudge.counts import many
from prefjudge.errors import NotFinished, quoted

if TYPE_CHECKING:
    from prefjudge.steps.collect import CollectResult


def collect(
    call: "Callable[..., CollectResult]",
    *,
    study: Path,
    live: bool,
    watch: Annotated[
        bool, typer.Option("--watch", help="Go on collecting until every pair is judged.")
    ] = False,
    every: Annotated[float, typer.Option(min=0.1, help="Seconds between looks with --watch.")] = 60.0,
    json: Json = False,
) -> None:
    """Print what was collected, at each look; the exit code is 3 while HITs are open."""
    shown = None
    while True:
        with progress("collecting") as bar:
            result = call(progress=bar)
        seen = replace(result, endpoint="")  # another one at each look, where nobody serves the marketplace
        if not json and seen != shown:
            _show(result)
        shown = seen
        if result.finished or not watch:
            break
        time.sleep(every)
    if json:
        print_json(result)
    if not result.finished:
        if json:
            raise typer.Exit(NotFinished.exit_code)
        raise NotFinished(
            f"{many(result.open, 'HIT')} open, {many(result.waiting, 'pair')} waiting for one",
            "Collect again later.",
        )
    if not json:
        verb, switch = ("run", " --live" * live) if result.challenge else ("resolve", "")
        say(f"every pair is judged; next: prefjudge {verb} {quoted(study)}{switch}")


def _show(result: "CollectResult") -> None:
    say(
        f"collected {many(result.collected, 'assignment')}: {result.dropped} dropped, "
        f"{result.reissued} re-issued"
    )
    for reason, count in result.reasons.items():
        say(f"  {count} {reason}")
    if result.barred:
        say(f"barred workers: {', '.join(result.barred)}")
    held = f", {result.held:,} of them in workers' hands" if result.held else ""
    say(
        f"{many(result.judgments, 'judgment counts', 'judgments count')}, "
        f"{many(result.dropped_judgments, 'is', 'are')} dropped; {many(result.open, 'HIT')} open{held}"
    )
    stamp(result.rehearsal)
