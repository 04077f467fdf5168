"""``prefjudge report``."""

from typing import Unpack

from prefjudge.cli.options import Json, Out, ReadOptions, StudyFolder, reads_runs
from prefjudge.cli.output import notice, print_json, say, stamp


@reads_runs
def report(study: StudyFolder, out: Out = None, json: Json = False, **reading: Unpack[ReadOptions]) -> None:
    """Write one HTML page of what a study found: leaderboards, changed answers, and how it was judged."""
    from prefjudge.steps.report.report import report as run

    result = run(study, out=out, **reading)
    notice(result.notices)
    stamp(result.rehearsal)
    if json:
        print_json(result)
    else:
        say(f"wrote {result.out}: {', '.join(result.sections).lower()}")
