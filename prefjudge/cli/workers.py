"""``prefjudge workers``."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from prefjudge.cli.options import Json, MaybeStudy
from prefjudge.cli.output import notice, print_json

if TYPE_CHECKING:
    from prefjudge.steps.workers import WorkersResult


def workers(
    study: MaybeStudy = None,
    judgments: Annotated[
        Path | None, typer.Option(help="A file instead: query, document, document, preferred, worker.")
    ] = None,
    golds: Annotated[Path | None, typer.Option(help="Pairs whose answer is known, in the same form.")] = None,
    json: Json = False,
) -> None:
    """Say how reliable each worker is, and how far they agree."""
    from prefjudge.steps.workers import workers as run

    result = run(study, judgments=judgments, golds=golds)
    notice(result.notices)
    if json:
        print_json(result)
    else:
        show(result)


def show(result: "WorkersResult") -> None:
    """Print the workers, and their agreement as a whole."""
    from dataclasses import astuple

    from prefjudge.render.tables import render_terminal
    from prefjudge.render.worker_tables import workers_table

    notes = [
        f"{result.judgments:,} judgments of {result.pairs:,} pairs, {result.repeated:,} of them judged more "
        f"than once; {result.unnamed:,} without a worker.",
        f"Krippendorff's alpha {result.alpha:.3f}. "
        f"The left won {result.left_rate:.1%} (p = {result.left_p:.3g}).",
        "agrees: with the majority of the others on the same pair. accuracy: Dawid and Skene. looks, guesses "
        "left: noisy Bradley-Terry.",
    ]
    typer.echo(render_terminal(workers_table((astuple(one) for one in result.workers), notes)), nl=False)
