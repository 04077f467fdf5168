"""``prefjudge backup``."""

from pathlib import Path
from typing import Annotated

import typer

from prefjudge.cli.options import Json
from prefjudge.cli.output import print_json, say


def backup(
    study: Annotated[
        Path | None,
        typer.Argument(metavar="[STUDY]", help="The study's folder; leave it out with --store."),
    ] = None,
    file: Annotated[Path | None, typer.Argument(metavar="FILE", help="The file to write.")] = None,
    store: Annotated[str | None, typer.Option(help="Copy the store at this URL instead.")] = None,
    replace: Annotated[
        bool, typer.Option("--replace", help="Take the place of a file that is there.")
    ] = False,
    json: Json = False,
) -> None:
    """Copy a store into one file while servers run, and read the copy back."""
    from prefjudge.steps.backup import backup as run

    if store is not None and file is None:
        study, file = None, study
    result = run(study, file, store=store, replace=replace)
    if json:
        print_json(result)
        return
    ledger = ", ".join(f"{name} ${sum_}" for name, sum_ in result.ledger.items()) or "empty"
    say(f"wrote {result.file}: the {result.kind}'s store as of {result.taken}, {result.bytes:,} bytes")
    say(
        f"read back: sound, {sum(result.rows.values()):,} rows in {len(result.rows)} tables; ledger: {ledger}"
    )
