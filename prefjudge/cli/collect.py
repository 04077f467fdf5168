"""``prefjudge collect``."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from prefjudge.cli.options import Json
from prefjudge.cli.output import notice, print_json, progress, say, stamp
from prefjudge.errors import CrowdError, NotFinished, quoted
from prefjudge.words import many

if TYPE_CHECKING:
    from prefjudge.field.crowd import Watch
    from prefjudge.steps.collect import CollectResult


def collect(
    call: "Callable[..., CollectResult]",
    *,
    study: Path,
    live: bool,
    watch: Annotated[
        bool,
        typer.Option("--watch", help="Go on until every pair is judged; take in work as it is submitted."),
    ] = False,
    every: Annotated[
        float, typer.Option(min=0.1, help="Seconds between looks with --watch while nothing is submitted.")
    ] = 60.0,
    json: Json = False,
) -> None:
    """Print what was collected, at each look; the exit code is 3 while HITs are open."""
    waits = _watch(study, live) if watch else None
    shown = None
    while True:
        try:
            with progress("collecting") as bar:
                result = call(progress=bar)
        except CrowdError as error:
            if waits is None or shown is None:  # at the first look the address or the key may be wrong
                raise
            seconds = waits.bear(error)
            notice((f"{error.message}; trying again in {seconds:.0f} s",))
            waits.wait(seconds)
            continue
        seen = replace(result, endpoint="")  # another one at each look, where nobody serves the marketplace
        if not json and seen != shown:
            _show(result, f"{quoted(study)}{' --live' * live}")
        shown = seen
        if result.finished or waits is None:
            break
        waits.found()
        waits.wait(every)
    if json:
        print_json(result)
    if not result.finished:
        if json:
            raise typer.Exit(NotFinished.exit_code)
        raise NotFinished(
            f"{many(result.open, 'HIT')} open, {many(result.waiting, 'pair')} waiting for a HIT",
            f"Collect again later{_more_work(study, result, live)}.",
        )
    if not json:
        verb, switch = ("run", " --live" * live) if result.challenge else ("resolve", "")
        say(f"every pair is judged; next: prefjudge {verb} {quoted(study)}{switch}")


def _watch(study: Path, live: bool) -> "Watch":
    from prefjudge.field.crowd import Watch
    from prefjudge.study.store import LIVE, SANDBOX, open_study

    return Watch(open_study(study), LIVE if live else SANDBOX)


def _more_work(study: Path, result: "CollectResult", live: bool) -> str:
    """Say how simulated workers go on where they have begun: the ladder makes them wait for a look."""
    began = result.rehearsal is not None and not live and result.open > result.held
    return f"; simulated workers continue by: prefjudge work {quoted(study)}" if began else ""


def _show(result: "CollectResult", there: str) -> None:
    notice(result.notices)
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
    if result.capped and result.open > result.held:
        say(
            f"{many(result.capped, 'worker waits', 'workers wait')} for others, after as many HITs as the "
            "gold pairs fill without a repeat: more gold pairs, or most_hits in [workers], let them continue"
        )
    if result.disputes:
        disputed = many(result.disputes, "rejection is", "rejections are")
        say(f"{disputed} disputed; read and answer: prefjudge reject {there}")
    if result.stopped:
        say(result.stopped)
    stamp(result.rehearsal)
