"""``prefjudge export``."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from prefjudge.cli.options import Json
from prefjudge.cli.output import notice, print_json, say, stamp
from prefjudge.counts import many

if TYPE_CHECKING:
    from prefjudge.steps.export import ExportResult


def export(call: "Callable[..., ExportResult]", json: Json = False) -> None:
    """Print what was written."""
    result = call()
    notice(result.notices)
    stamp(result.rehearsal)
    if json:
        print_json(result)
        return
    say(f"wrote {many(result.rows, 'row')} of {many(result.judgments, 'judgment')} to {result.out}")
