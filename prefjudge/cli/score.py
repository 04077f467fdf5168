"""``prefjudge score``."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from prefjudge.cli.options import Json, MaybeStudy, Out
from prefjudge.cli.output import notice, one_of, print_json, say, to_plain

if TYPE_CHECKING:
    from prefjudge.steps.score import ScoreResult


def score(
    study: MaybeStudy = None,
    runs: Annotated[list[str], typer.Option(help="Run files, or a quoted pattern such as 'runs/*.gz'.")] = [],  # noqa: B006
    qrels: Annotated[list[str], typer.Option(help="FILE or NAME=FILE. May be repeated.")] = [],  # noqa: B006
    measure: Annotated[
        list[str], typer.Option(help="RR@10, nDCG@10, AP(rel=2)@100 …; may be repeated.")
    ] = [],  # noqa: B006
    order: Annotated[str | None, typer.Option(help="score, score-f32, rank or file.")] = None,
    out: Out = None,
    json: Json = False,
) -> None:
    """Score runs under one or more qrels, with intervals, and compare the leaderboards."""
    from prefjudge.core.runs import Order
    from prefjudge.steps.score import score as run

    result = run(
        study, runs=runs, qrels=qrels, measure=measure, order=one_of(Order, order, "--order"), out=out
    )
    notice(result.notices)
    if json:
        print_json(to_json(result))
    else:
        show(result)


def show(result: "ScoreResult") -> None:
    """Print the boards of each measure side by side, their correlation and the win ratios."""
    from prefjudge.render.leaderboard_tables import side_by_side_table
    from prefjudge.render.tables import render_terminal
    from prefjudge.render.winratio_tables import winratio_matrix

    for measure in dict.fromkeys(board.measure for board in result.leaderboards):
        boards = [board for board in result.leaderboards if board.measure == measure]
        typer.echo(render_terminal(side_by_side_table(boards)))
    for pair in result.tau:
        typer.echo(f"Kendall's τ between {pair.reference} and {pair.other}: {pair.tau:.2f}")
    if result.winratio:
        typer.echo(render_terminal(winratio_matrix(result.winratio)))
    if result.out:
        say(f"wrote {result.out}")


def to_json(result: "ScoreResult") -> dict[str, Any]:
    """Return the documented JSON of ``score``."""
    return {
        "leaderboards": [
            {
                "qrels": board.qrels,
                "measure": board.measure,
                "queries": board.queries,
                "statistic": board.statistic,
                "order": board.order,
                "rows": [to_plain(row) for row in board.rows],
            }
            for board in result.leaderboards
        ],
        "tau": [to_plain(pair) for pair in result.tau],
        "winratio": to_plain(result.winratio),
        "provenance": result.provenance,
        "out": result.out,
    }
