"""``prefjudge workers``."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from prefjudge.cli.options import Format, Json
from prefjudge.cli.output import notice, print_json, print_tables, stamp
from prefjudge.counts import many

if TYPE_CHECKING:
    from prefjudge.steps.workers.workers import WorkersResult


def workers(call: "Callable[..., WorkersResult]", *, format: Format = "terminal", json: Json = False) -> None:
    """Print a row for each worker."""
    result = call()
    notice(result.notices)
    stamp(result.rehearsal)
    if json:
        print_json(result)
    else:
        show(result, format)


def show(result: "WorkersResult", format: str = "terminal") -> None:
    """Print the workers, their agreement as a whole, and what stands out."""
    from dataclasses import asdict

    from prefjudge.render.tables.worker import signs_table, workers_table

    tables = [workers_table([asdict(one) for one in result.workers], _notes(result))]
    if result.signs and format != "csv":
        tables.append(signs_table(result.signs))
    print_tables(tables, format, rehearsal=result.rehearsal)


def _notes(result: "WorkersResult") -> list[str]:
    alpha = f"Krippendorff's alpha {result.alpha:.3f}. " if result.repeated else ""
    left = f"The left won {result.left_rate:.1%} (p = {result.left_p:.3g})."
    notes = [
        f"{many(result.judgments, 'judgment')}, {result.kept:,} of which count; "
        f"{many(result.pairs, 'pair')}, {result.repeated:,} of them judged more than once; "
        f"{many(result.unnamed, 'judgment')} without a worker.",
        *([f"{alpha}{left}"] if result.kept else []),
        "agrees: with the majority of the others on the same pair. accuracy: Dawid and Skene. looks, guesses "
        "left: noisy Bradley-Terry.",
        "seconds: the median visible time of a comparison. hurried: judgments faster than anybody reads.",
    ]
    if result.hourly is not None:
        notes.append(f"At the median visible time an hour pays ${result.hourly:,}.")
    return notes
