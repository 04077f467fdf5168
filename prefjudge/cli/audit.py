"""``prefjudge audit``."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Unpack

import typer

from prefjudge.cli.options import Json, OrderBy, Out, Plot, ReadOptions, reads_runs
from prefjudge.cli.output import notice, one_of, print_json, say, to_plain

if TYPE_CHECKING:
    from prefjudge.steps.audit import AuditResult


@reads_runs
def audit(
    leaderboard: Annotated[
        Path, typer.Argument(metavar="LEADERBOARD.csv", help="Either layout of MS MARCO.", show_default=False)
    ],
    runs: Annotated[list[str], typer.Option(help="Run files named by their submission's id.")] = [],
    aliases: Annotated[
        Path | None, typer.Option(help="Lines of: a name on the leaderboard, a tab, its team.")
    ] = None,
    merge: Annotated[bool, typer.Option(help="Take names together that share a person or an id.")] = True,
    limit: Annotated[int, typer.Option(min=1, help="Submissions that a team may make …")] = 2,
    days: Annotated[int, typer.Option(min=1, help="… in any period of so many days.")] = 30,
    since: Annotated[str | None, typer.Option(help="When the rules came into force: yyyy-mm-dd.")] = None,
    as_of: Annotated[
        str | None, typer.Option(help="The day to judge embargoes on; by default that of the last entry.")
    ] = None,
    embargo_months: Annotated[int, typer.Option(min=0, help="How long an entry may stay anonymous.")] = 9,
    alike: Annotated[
        float, typer.Option(min=0, max=1, help="Report descriptions and runs that are so alike.")
    ] = 0.9,
    depth: Annotated[int, typer.Option(min=1, help="How many top documents of the runs to compare.")] = 10,
    order: OrderBy = None,
    plot: Plot = None,
    out: Out = None,
    json: Json = False,
    **reading: Unpack[ReadOptions],
) -> None:
    """Hold the submissions of a leaderboard against its rules."""
    from prefjudge.core.runs import Order
    from prefjudge.steps.audit import audit as run

    result = run(
        leaderboard,
        runs=runs,
        aliases=aliases,
        merge=merge,
        limit=limit,
        days=days,
        since=since,
        as_of=as_of,
        embargo_months=embargo_months,
        alike=alike,
        depth=depth,
        order=one_of(Order, order, "--order"),
        plot=plot,
        out=out,
        **reading,
    )
    notice(result.notices)
    if json:
        print_json(to_json(result), result.notices)
    else:
        show(result)


def show(result: "AuditResult") -> None:
    """Print the findings by rule, each as a sentence, then the teams and the largest shifts."""
    from prefjudge.render.audit_tables import shifts_table, summary_table, teams_table
    from prefjudge.render.tables import render_terminal

    typer.echo(render_terminal(summary_table(result.audit)))
    for rule in dict.fromkeys(found.rule for found in result.audit.findings):
        sentences = [found.words for found in result.audit.findings if found.rule is rule]
        for words in sentences[:_SENTENCES]:
            typer.echo(f"{rule}: {words}")
        if len(sentences) > _SENTENCES:
            typer.echo(f"{rule}: and {len(sentences) - _SENTENCES} more, see --json or --out")
    typer.echo()
    typer.echo(render_terminal(teams_table(result.audit)))
    if result.audit.standings:
        typer.echo(render_terminal(shifts_table(result.audit)))
    for path in result.out:
        say(f"wrote {path}")


_SENTENCES = 12
"""So many of each rule are printed."""


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
        "standings": [{**to_plain(row), "shift": row.shift} for row in found.standings],
        "tau": to_plain(found.tau),
        "records": found.records,
        "shared_scores": found.shared_scores,
        "provenance": result.provenance,
        "inputs": to_plain(result.inputs),
        "out": result.out,
    }
