"""``prefjudge report``."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from prefjudge.cli.options import Json
from prefjudge.cli.output import notice, print_json, say, stamp
from prefjudge.words import many


def report(
    call: Callable[..., Any],
    *,
    site: Path | None,
    tables: Annotated[tuple[str, Path] | None, typer.Option("--tables", metavar="FORM DIR")] = None,
    json: Json = False,
) -> None:
    """Print where the page is, its sections and other files, or the address it is served at; or the site."""
    result = call(ready=lambda address: say(f"{address}   (made again when the study changes; Ctrl-C stops)"))
    notice(result.notices)
    stamp(result.rehearsal)
    if json:
        print_json(result, result.notices)
        return
    if site is not None:
        removed = f", removed {many(result.removed, 'old page')}" if result.removed else ""
        say(f"wrote {result.written:,} of {many(result.files, 'file')}{removed}: {result.out}/index.html")
        return
    say(f"wrote {result.out}: {', '.join(result.sections).lower()}")
    for folder in dict.fromkeys(str(Path(file).parent) for file in result.files):
        beside = [Path(file).name for file in result.files if str(Path(file).parent) == folder]
        named = ", ".join(beside) if len(beside) < 4 else many(len(beside), "file")
        say(f"wrote {named} in {folder}")
