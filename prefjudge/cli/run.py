"""``prefjudge run``."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from prefjudge.cli.options import Json, Live, Sandbox, StudyFolder, one_target
from prefjudge.cli.output import print_json, say, stamp
from prefjudge.counts import many
from prefjudge.errors import NotFinished, quoted

if TYPE_CHECKING:
    from prefjudge.steps.publish import PublishResult
    from prefjudge.steps.run.run import RunResult


def run(
    study: StudyFolder,
    strategy: Annotated[
        str | None,
        typer.Option(
            help="default, round-robin:3, halving:1x2, knockout:3, or lead:3 (three votes ahead, or the "
            "majority of 21)."
        ),
    ] = None,
    model: Annotated[
        str | None, typer.Option(help="A model whose votes order the candidates and veto the hopeless.")
    ] = None,
    sandbox: Sandbox = False,
    live: Live = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    workers: Annotated[
        int, typer.Option(min=0, help="Let so many simulated workers judge; 0: people do.")
    ] = 0,
    error: Annotated[
        float, typer.Option(min=0, max=0.5, help="How often a simulated choice is wrong.")
    ] = 0.2,
    careless: Annotated[int, typer.Option(min=0, help="How many simulated workers choose at random.")] = 0,
    truth: Annotated[Path | None, typer.Option(help="Utilities: query_id, doc_id, utility (tsv).")] = None,
    every: Annotated[float, typer.Option(min=0.1, help="Seconds between looks while people work.")] = 60.0,
    json: Json = False,
) -> None:
    """Have a study, or its open challenge, judged round after round until a rule or the budget ends it."""
    from prefjudge.steps.run.run import run as drive

    one_target(sandbox=sandbox, live=live)
    result = drive(
        study,
        strategy=strategy,
        model=model,
        sandbox=not live,
        live=live,
        yes=yes,
        workers=workers,
        error=error,
        careless=careless,
        truth=truth,
        every=every,
        confirm=_ask,
        tell=say,
    )
    if json:
        print_json(result)
    else:
        stamp(result.rehearsal)
        _show(result, study)
    if result.unfinished:
        raise NotFinished(
            f"{result.unfinished:,} of {many(result.queries, 'query')} are not through",
            f"prefjudge run {quoted(study)} goes on where it stopped.",
        )


def _ask(offer: "PublishResult") -> bool:
    from prefjudge.cli.publish import show_offer

    show_offer(offer)
    say("this is the first round; further rounds are published without asking, within the budget")
    return sys.stdin.isatty() and typer.confirm(f"Publish to {offer.target}?", err=True)


def _show(result: "RunResult", study: Path) -> None:
    say(
        f"{result.strategy}: {many(result.judgments, 'judgment')} in {many(result.rounds, 'round')}, "
        f"${result.committed:.2f} committed; ended by {result.stopped_by}"
    )
    for duel in result.duels:
        verb = "dethrones" if duel.dethroned else "loses to"
        runs = ", ".join(duel.brought_by)
        say(
            f"  query {duel.query_id}: {duel.newcomer} ({runs}) {verb} {duel.incumbent}, "
            f"{duel.votes_for:g} votes to {duel.votes_against:g}"
        )
    for shift in result.moved:
        say(f"  run {shift.run} moves from rank {shift.reference} to {shift.other}")
    say(f"version {result.version} of the answers, {many(result.qrels, 'preference qrel')}: {result.out}")
    say(f"next: prefjudge score {quoted(study)}")
