"""``prefjudge audit``."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Unpack

import typer

from prefjudge.cli.options import Json, OrderBy, Out, Plot, ReadOptions, reads_runs
from prefjudge.cli.output import notice, one_of, print_json, print_tables, print_words, say, to_plain

if TYPE_CHECKING:
    from prefjudge.steps.audit import AuditResult


@reads_runs
def audit(
    leaderboard: Annotated[
        Path, typer.Argument(metavar="LEADERBOARD.csv", help="Either layout of MS MARCO.", show_default=False)
    ],
    runs: Annotated[list[str], typer.Option(help="Run files named by their submission's id.")] = [],
    aliases: Annotated[
        Path | None,
        typer.Option(help="Lines of: a submission, team, person or institution, a tab, what it stands for."),
    ] = None,
    merge: Annotated[
        bool, typer.Option(help="Take names together that share people or an id, or are spelled alike.")
    ] = True,
    limit: Annotated[int, typer.Option(min=1, help="Submissions that a team may make …")] = 2,
    days: Annotated[int, typer.Option(min=1, help="… in any period of so many days.")] = 30,
    since: Annotated[str | None, typer.Option(help="When the rules came into force: yyyy-mm-dd.")] = None,
    until: Annotated[str | None, typer.Option(help="Leave out later submissions: yyyy-mm-dd.")] = None,
    ours: Annotated[
        bool, typer.Option("--ours", help="Apply rules too that are prefjudge's own and not the paper's.")
    ] = False,
    as_of: Annotated[
        str | None, typer.Option(help="The day to judge anonymity on; by default that of the last entry.")
    ] = None,
    embargo_months: Annotated[
        int | None, typer.Option(min=0, help="How long an entry may stay anonymous; with --ours 9 months.")
    ] = None,
    alike: Annotated[
        float, typer.Option(min=0, max=1, help="Report descriptions and runs that are so alike.")
    ] = 0.9,
    depth: Annotated[int, typer.Option(min=1, help="How many top documents of the runs to compare.")] = 10,
    order: OrderBy = None,
    measure: Annotated[str, typer.Option(help="What the scores are, where the header does not say it.")] = "",
    highlight: Annotated[
        str, typer.Option(help="Draw entries whose description has this in a second colour: BERT.")
    ] = "",
    plot: Plot = None,
    out: Out = None,
    json: Json = False,
    **reading: Unpack[ReadOptions],
) -> None:
    """Hold the submissions of a leaderboard against its rules."""
    from prefjudge.core.pooling.runs import Order
    from prefjudge.steps.audit import audit as run

    result = run(
        leaderboard,
        runs=runs,
        aliases=aliases,
        merge=merge,
        limit=limit,
        days=days,
        since=since,
        until=until,
        ours=ours,
        as_of=as_of,
        embargo_months=embargo_months,
        alike=alike,
        depth=depth,
        order=one_of(Order, order, "--order"),
        measure=measure,
        highlight=highlight,
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
    """Print the findings by rule, each as a sentence, then the institutions, teams and largest shifts."""
    from prefjudge.render.audit_tables import (
        institutions_table,
        merges_table,
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
    further = [merges_table(result.audit), shifts_table(result.audit)]
    for table in further:
        if table.rows:
            typer.echo()
            print_tables([table])
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
        "institutions": to_plain(found.institutions),
        "anonymous": found.anonymous,
        "unplaced": found.unplaced,
        "standings": [{**to_plain(row), "shift": row.shift} for row in found.standings],
        "tau": to_plain(found.tau),
        "records": found.records,
        "shared_scores": found.shared_scores,
        "provenance": result.provenance,
        "inputs": to_plain(result.inputs),
        "out": result.out,
    }
