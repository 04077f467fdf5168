"""``prefjudge pool``."""

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from prefjudge.cli.options import Target
from prefjudge.cli.output import advice, print_tables, say
from prefjudge.errors import quoted
from prefjudge.words import many

if TYPE_CHECKING:
    from prefjudge.steps.pool import PoolResult


def pool(
    result: "PoolResult",
    *,
    study: Path | None,
    queries: Path | None,
    collection: Path | None,
    challenge: bool,
    out: Target,
) -> None:
    """Print how large the pools are, and what leads on."""
    if challenge and study is not None and not result.documents:
        say(
            f"no newcomer: the study has compared what {many(len(result.runs), 'new run')} "
            f"{'has' if len(result.runs) == 1 else 'have'} on top"
        )
        say(f"next: prefjudge score {quoted(study)}")
    elif challenge and study is not None:
        say(
            f"{many(result.documents, 'newcomer challenges', 'newcomers challenge')} the "
            f"best-known answers of {many(result.queries, 'query')}"
        )
        say(f"next: {advice(study, 'run')}")
    else:
        show(result)
        if study is not None:
            say(
                _next(study, texts=bool(queries and collection))
                if result.changed
                else "the study had this pool already; it has noted where the files are"
            )


def _next(study: Path, *, texts: bool) -> str:
    """Say what leads on: HITs show texts, and gold pairs are suggested from them."""
    if not texts:
        return (
            "warning: the study has no texts to show; before you continue, run the same command again with "
            "--queries FILE and --collection FILE"
        )
    return (
        f"next: prefjudge gold {quoted(study)} --suggest 12; "
        "or hide no gold pairs: gold_per_hit = 0 in study.toml"
    )


def show(result: "PoolResult") -> None:
    """Print how many queries have a pool of each size, and what there is to judge."""
    show_sizes(result)
    if result.split:
        _show_split(result)
    say(
        f"{many(result.queries, 'query')}, {many(result.documents, 'candidate')} from "
        f"{many(len(result.runs), 'run')}, {many(result.pairs, 'pair')} to judge"
    )
    for path in (result.out, result.plot):
        if path:
            say(f"wrote {path}")


def _show_split(result: "PoolResult") -> None:
    """Print the categories, and what each number of pairs can show."""
    from prefjudge.show.boards import categories_table, power_table

    assert result.split is not None
    print_tables([categories_table(result.split, result.runs[0]), power_table(result.power)])


def show_sizes(result: "PoolResult") -> None:
    """Print how many queries have a pool of each size."""
    from prefjudge.show.tables import render_histogram

    typer.echo(render_histogram(result.sizes, "pool size", "queries"))
