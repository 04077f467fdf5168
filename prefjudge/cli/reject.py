"""``prefjudge reject``."""

from typing import Annotated

import typer

from prefjudge.cli.options import Json, Live, StudyFolder
from prefjudge.cli.output import print_json, say


def reject(
    study: StudyFolder,
    assignment: Annotated[str, typer.Argument(help="The assignment's id.")],
    reason: Annotated[str, typer.Option(help="What to tell the worker.")],
    live: Live = False,
    json: Json = False,
) -> None:
    """Reject one assignment, with a reason that its worker reads."""
    from prefjudge.steps.reject import reject as run

    result = run(study, assignment, reason=reason, live=live)
    if json:
        print_json(result)
    else:
        say(f"rejected {result.assignment_id} of {result.worker_id}: {result.reason}")
