"""``prefjudge audit``."""

from typing import TYPE_CHECKING, Any

import typer

from prefjudge.cli.output import print_tables, print_words, say, to_plain

if TYPE_CHECKING:
    from prefjudge.steps.audit import AuditResult


def audit(result: "AuditResult") -> None:
    """Print the findings by rule, each as a sentence, then the institutions, teams and largest shifts."""
    from prefjudge.show.statistics import (
        institutions_table,
        shifts_table,
        summary_table,
        teams_table,
    )

    print_tables([summary_table(result.audit)])
    typer.echo()
    for rule in dict.fromkeys(found.rule for found in result.audit.findings):
        sentences = [found.words for found in result.audit.findings if found.rule is rule]
        for words in sentences[:_SENTENCES]:
            print_words(f"{rule}: {words}")
        if len(sentences) > _SENTENCES:
            typer.echo(f"{rule}: and {len(sentences) - _SENTENCES} more, see --json or --out")
    typer.echo()
    print_tables([institutions_table(result.audit), teams_table(result.audit)])
    shifts = shifts_table(result.audit)
    if shifts.rows:
        typer.echo()
        print_tables([shifts])
    for path in result.out:
        say(f"wrote {path}")


_SENTENCES = 12
"""At most this many findings of each rule are printed."""


def to_json(result: "AuditResult") -> dict[str, Any]:
    """Return the documented JSON of ``audit``."""
    found = result.audit
    return {
        "submissions": found.submissions,
        "first": str(found.first),
        "last": str(found.last),
        "as_of": str(found.as_of),
        "rules": {**to_plain(found.rules), "since": str(found.rules.since) if found.rules.since else None},
        "findings": to_plain(found.findings),
        "teams": to_plain(found.teams),
        "institutions": to_plain(found.institutions),
        "anonymous": found.anonymous,
        "standings": [{**to_plain(row), "shift": row.shift} for row in found.standings],
        "tau": to_plain(found.tau),
        "records": found.records,
        "shared_scores": found.shared_scores,
        "provenance": result.provenance,
        "inputs": to_plain(result.inputs),
        "out": result.out,
    }
