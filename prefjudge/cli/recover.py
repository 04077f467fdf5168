"""``prefjudge recover``."""

from typing import Annotated

import typer

from prefjudge.cli.options import Json, Live, StudyFolder
from prefjudge.cli.output import notice, print_json, progress, say
from prefjudge.counts import many
from prefjudge.errors import quoted


def recover(
    study: StudyFolder,
    live: Live = False,
    strategy: Annotated[
        str | None, typer.Option(help="Where `run` drove the study: the strategy that drove it.")
    ] = None,
    give_up: Annotated[
        bool,
        typer.Option(
            "--give-up",
            help="Close HITs whose texts are lost for good: their work is paid, their pairs are asked anew.",
        ),
    ] = False,
    json: Json = False,
) -> None:
    """Rebuild a lost or outdated store from the marketplace: HITs, assignments, decisions and payments."""
    from prefjudge.steps.recover.recover import recover as run

    with progress("recovering") as step:
        result = run(study, live=live, strategy=strategy, give_up=give_up, progress=step)
    if json:
        print_json(result)
    else:
        say(f"{many(result.hits, 'HIT')} of this study at {result.target}: {result.rebuilt:,} rebuilt now")
        say(
            f"learnt {many(result.assignments, 'assignment')}, {many(result.decisions, 'decision')} and "
            f"{many(result.bonuses, 'bonus', 'bonuses')}"
        )
        if result.given_up:
            say(
                f"gave up {many(result.given_up, 'HIT')}: their work is paid, their judgments are lost, and "
                "their pairs are asked anew"
            )
        notice(result.notices)
        for text in result.remains:
            say(f"remains: {text}", "yellow")
        if not result.remains:
            say(f"the store is whole; next: prefjudge status {quoted(study)}, then collect or run")
    if result.remains:
        raise typer.Exit(3)
