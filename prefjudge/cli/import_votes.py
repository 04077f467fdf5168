"""``prefjudge import``."""

from pathlib import Path
from typing import TYPE_CHECKING

from prefjudge.cli.output import say
from prefjudge.errors import quoted
from prefjudge.words import many

if TYPE_CHECKING:
    from prefjudge.steps.import_votes import ImportResult


def import_votes(result: "ImportResult", *, study: Path) -> None:
    """Print what was imported, and what leads on."""
    say(
        f"read as {result.read_as}: {many(result.queries, 'query')}, {many(result.documents, 'document')}, "
        f"{many(result.workers, 'worker')}"
    )
    dropped = f", of which {result.dropped:,} do not count" if result.dropped else ""
    say(f"added {many(result.votes, 'vote')}{dropped}")
    if result.votes:
        say(f"next: prefjudge resolve {quoted(study)}")
