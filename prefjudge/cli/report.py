"""``prefjudge report``."""

from prefjudge.cli.options import Json, Out, StudyFolder
from prefjudge.cli.output import notice, print_json, say


def report(study: StudyFolder, out: Out = None, json: Json = False) -> None:
    """Write one HTML page of what a study found: leaderboards, changed answers, and how it was judged."""
    from prefjudge.steps.report import report as run

    result = run(study, out=out)
    notice(result.notices)
    if json:
        print_json(result)
    else:
        say(f"wrote {result.out}: {', '.join(result.sections).lower()}")
