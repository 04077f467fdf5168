"""``prefjudge pool``."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Unpack

import typer

from prefjudge.cli.options import Json, MaybeStudy, OrderBy, Plot, ReadOptions, Runs, Target, reads_runs
from prefjudge.cli.output import notice, one_of, print_json, print_tables, say
from prefjudge.counts import many
from prefjudge.errors import quoted

if TYPE_CHECKING:
    from prefjudge.steps.pool.pool import PoolResult


@reads_runs
def pool(
    study: MaybeStudy = None,
    runs: Runs = [],
    qrels: Annotated[Path | None, typer.Option(help="The known relevant documents.")] = None,
    queries: Annotated[
        Path | None, typer.Option(help="Queries and texts (tsv); others are left out.")
    ] = None,
    collection: Annotated[Path | None, typer.Option(help="The passages' texts (tsv or jsonl).")] = None,
    design: Annotated[str, typer.Option(help="shallow, or top-against-qrel for one run.")] = "shallow",
    depth: Annotated[
        int | None, typer.Option(min=1, help="How many of each run's top enter the pool; 1.")
    ] = None,
    order: OrderBy = None,
    qrels_per_query: Annotated[
        str | None,
        typer.Option(
            help="first (one: of the highest grade, the first in the file among those), all or none."
        ),
    ] = None,
    sample: Annotated[
        int | None, typer.Option(min=1, help="Keep a random sample of so many queries …")
    ] = None,
    min_size: Annotated[
        int | None, typer.Option(min=1, help="… whose pools have at least this size.")
    ] = None,
    challenge: Annotated[
        bool, typer.Option("--challenge", help="New runs: their new top results meet the best-known answers.")
    ] = False,
    plot: Plot = None,
    out: Target = None,
    json: Json = False,
    **reading: Unpack[ReadOptions],
) -> None:
    """Pool the top results of runs with the qrels, and pair the candidates."""
    from prefjudge.core.pooling.pools import PoolDesign, QrelsPerQuery
    from prefjudge.core.pooling.runs import Order
    from prefjudge.steps.pool.pool import pool as run

    result = run(
        study,
        runs=runs,
        qrels=qrels,
        queries=queries,
        collection=collection,
        design=one_of(PoolDesign, design, "--design") or PoolDesign.SHALLOW,
        depth=depth,
        order=one_of(Order, order, "--order"),
        qrels_per_query=one_of(QrelsPerQuery, qrels_per_query, "--qrels-per-query"),
        sample=sample,
        min_size=min_size,
        challenge=challenge,
        plot=plot,
        out=out,
        **reading,
    )
    notice(result.notices)
    if json:
        print_json(result)
    elif challenge:
        say(
            f"{many(result.documents, 'newcomer challenges', 'newcomers challenge')} the "
            f"best-known answers of {many(result.queries, 'query')}"
        )
        say(f"next: prefjudge run {quoted(study)}")
    else:
        show(result)
        if study is not None:
            say(
                _next(study, texts=bool(queries and collection), qrels=qrels is not None)
                if result.changed
                else "the study had this pool already; it has noted where the files are"
            )


def _next(study: Path, *, texts: bool, qrels: bool) -> str:
    """Say what leads on: HITs show texts, and gold pairs are suggested from texts and qrels."""
    if not texts:
        return (
            "warning: the study has no texts to show; before you go on, run the same command again with "
            "--queries FILE and --collection FILE"
        )
    if not qrels:
        return (
            f"next: write gold pairs into {study / 'gold.tsv'} (no qrels to suggest any from), then: "
            f"prefjudge gold {quoted(study)} --accept; or set gold_per_hit = 0 in study.toml"
        )
    return f"next: prefjudge gold {quoted(study)} --suggest 12"


def show(result: "PoolResult") -> None:
    """Print how many queries have a pool of each size, and what there is to judge."""
    show_sizes(result)
    if result.split:
        _show_split(result)
    say(
        f"{many(result.queries, 'query')}, {many(result.documents, 'candidate')} from "
        f"{many(len(result.runs), 'run')}, "
        f"{many(result.pairs, 'pair')} to judge"
    )
    for path in (result.out, result.plot):
        if path:
            say(f"wrote {path}")


def _show_split(result: "PoolResult") -> None:
    """Print the categories, and what each number of pairs can show."""
    from prefjudge.render.top_tables import categories_table, power_table

    assert result.split is not None
    print_tables([categories_table(result.split, result.runs[0]), power_table(result.power)])


def show_sizes(result: "PoolResult") -> None:
    """Print how many queries have a pool of each size."""
    from prefjudge.render.histogram import render_histogram

    typer.echo(render_histogram(result.sizes, "pool size", "queries"))
