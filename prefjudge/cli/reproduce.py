"""``prefjudge reproduce``."""

from pathlib import Path
from typing import Annotated, Unpack

import typer

from prefjudge.cli.options import Json, Labels, OrderBy, Pool, ReadOptions, Runs, Seed, reads_runs
from prefjudge.cli.output import notice, one_of, print_json, say


@reads_runs
def reproduce(
    paper: Annotated[str, typer.Argument(help="shallow-pooling, significant-improvements or benchmarking.")],
    out: Annotated[Path, typer.Option(help="The folder for the tables, the figures and index.html.")],
    study: Annotated[Path | None, typer.Option(help="A study: its runs, qrels, judgments and texts.")] = None,
    runs: Runs = [],
    qrels: Labels = [],
    judgments: Annotated[Path | None, typer.Option(help="Query, document, document, preferred.")] = None,
    pool: Pool = None,
    leaderboard: Annotated[Path | None, typer.Option(help="The leaderboard's CSV.")] = None,
    held_out: Annotated[
        Path | None, typer.Option(help="Query ids, one a line: the private leaderboard's queries.")
    ] = None,
    against_qrel: Annotated[
        str | None,
        typer.Option(metavar="RUN", help="The representative run (a tag or a file); the best by default."),
    ] = None,
    baseline: Annotated[
        list[str],
        typer.Option(help="Compare the others with this run; all pairs by default. May be repeated."),
    ] = [],
    draw: Annotated[list[str], typer.Option(help="A run of benchmarking's Figure 4. May be repeated.")] = [],
    highlight: Annotated[str, typer.Option(help="A word in descriptions, drawn in a second colour.")] = "",
    simulate: Annotated[
        bool, typer.Option("--simulate", help="Walk shallow-pooling with simulated workers.")
    ] = False,
    sample: Annotated[int, typer.Option(min=1, help="How many queries shallow-pooling draws.")] = 500,
    order: OrderBy = None,
    seed: Seed = None,
    json: Json = False,
    **reading: Unpack[ReadOptions],
) -> None:
    """Make every table and figure of a paper for your own data, and a page that shows them."""
    from prefjudge.core.pooling.runs import Order
    from prefjudge.steps.reproduce.reproduce import PaperName
    from prefjudge.steps.reproduce.reproduce import reproduce as run

    chosen = one_of(PaperName, paper, "PAPER")
    assert chosen is not None
    result = run(
        chosen,
        out=out,
        study=study,
        runs=runs,
        qrels=qrels,
        judgments=judgments,
        pool=pool,
        leaderboard=leaderboard,
        held_out=held_out,
        against_qrel=against_qrel,
        baseline=baseline,
        draw=draw,
        highlight=highlight,
        simulate=simulate,
        sample=sample,
        order=one_of(Order, order, "--order"),
        seed=seed,
        **reading,
    )
    notice(result.notices)
    if json:
        print_json(result)
        return
    for one in result.exhibits:
        typer.echo(f"{one.name}: {', '.join(one.files) or f'not made: {one.missing}'}")
    say(f"wrote {result.index}")
