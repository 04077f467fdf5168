"""``prefjudge workers``."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from prefjudge.cli.options import Format, Json, MaybeStudy
from prefjudge.cli.output import notice, one_of, print_json, print_tables, stamp
from prefjudge.counts import many

if TYPE_CHECKING:
    from prefjudge.steps.workers.workers import WorkersResult


def workers(
    study: MaybeStudy = None,
    judgments: Annotated[
        Path | None, typer.Option(help="A file instead: query, document, document, preferred, worker.")
    ] = None,
    golds: Annotated[Path | None, typer.Option(help="Pairs whose answer is known, in the same form.")] = None,
    model: Annotated[
        str | None, typer.Option(help="majority, dawid-skene or noisy-bradley-terry; all by default.")
    ] = None,
    ids: Annotated[bool, typer.Option("--ids", help="Show worker ids instead of pseudonyms.")] = False,
    format: Format = "terminal",
    json: Json = False,
) -> None:
    """Say how each worker works: reliability, sides, pace, gold, agreement and hourly pay."""
    from prefjudge.steps.workers.workers import WorkerModel
    from prefjudge.steps.workers.workers import workers as run

    result = run(
        study, judgments=judgments, golds=golds, model=one_of(WorkerModel, model, "--model"), ids=ids
    )
    notice(result.notices)
    stamp(result.rehearsal)
    if json:
        print_json(result)
    else:
        show(result, format)


def show(result: "WorkersResult", format: str = "terminal") -> None:
    """Print the workers, their agreement as a whole, and what stands out."""
    from dataclasses import asdict

    from prefjudge.render.worker_tables import signs_table, workers_table

    tables = [workers_table([asdict(one) for one in result.workers], _notes(result))]
    if result.signs and format != "csv":
        tables.append(signs_table(result.signs))
    print_tables(tables, format, rehearsal=result.rehearsal)


def _notes(result: "WorkersResult") -> list[str]:
    alpha = f"Krippendorff's alpha {result.alpha:.3f}. " if result.repeated else ""
    left = f"The left won {result.left_rate:.1%} (p = {result.left_p:.3g})."
    notes = [
        f"{many(result.judgments, 'judgment')}, {result.kept:,} of which count; "
        f"{many(result.pairs, 'pair')}, "
        f"{result.repeated:,} of them judged more than once; {many(result.unnamed, 'judgment')} "
        f"without a worker.",
        *([f"{alpha}{left}"] if result.kept else []),
        "agrees: with the majority of the others on the same pair. accuracy: Dawid and Skene. looks, guesses "
        "left: noisy Bradley-Terry.",
        "seconds: the median visible time of a comparison. hurried: judgments faster than anybody reads.",
    ]
    if result.hourly is not None:
        notes.append(f"At the median visible time an hour pays ${result.hourly:,}.")
    return notes
