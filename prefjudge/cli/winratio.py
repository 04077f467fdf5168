"""``prefjudge winratio``."""

from typing import TYPE_CHECKING, Any

from prefjudge.cli.options import Format
from prefjudge.cli.output import print_tables, print_words, say, to_plain

if TYPE_CHECKING:
    from prefjudge.steps.winratio import WinRatioResult


def winratio(result: "WinRatioResult", *, format: Format = "terminal") -> None:
    """Print the matrix, and the run against the qrels where that was asked for."""
    from prefjudge.show.boards import winratio_list
    from prefjudge.show.plots import example_lines

    tables = result.tables()
    if format == "csv":
        tables = (winratio_list(result.winratio, provenance=result.provenance), *tables[1:])
    print_tables(tables, format, rehearsal=result.rehearsal)
    for words, *_ in example_lines(result.examples):
        print_words(words)
    for path in result.files:
        say(f"wrote {path}")


def to_json(result: "WinRatioResult") -> dict[str, Any]:
    """Return the documented JSON of ``winratio``."""
    against = result.against_qrel
    return {
        **to_plain(result.winratio),
        "pairs": [{**to_plain(pair), "ratio": to_plain(pair.ratio)} for pair in result.winratio.pairs],
        "against_qrel": against and {**to_plain(against), "shares": to_plain(against.shares)},
        "examples": to_plain(result.examples),
        "provenance": result.provenance,
        "inputs": to_plain(result.inputs),
        "rehearsal": to_plain(result.rehearsal),
        "out": result.out,
        "files": list(result.files),
    }
