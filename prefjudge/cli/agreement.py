"""``prefjudge agreement``."""

from typing import TYPE_CHECKING, Any

from prefjudge.cli.output import print_tables, say, to_plain

if TYPE_CHECKING:
    from prefjudge.steps.agreement import AgreementResult


def agreement(result: "AgreementResult") -> None:
    """Print the agreement rates."""
    print_tables(result.tables(), rehearsal=result.rehearsal)
    if result.out:
        say(f"wrote {result.out}")


def to_json(result: "AgreementResult") -> dict[str, Any]:
    """Return the documented JSON of ``agreement``."""
    return {
        "agreements": to_plain(result.agreements),
        "provenance": result.provenance,
        "inputs": to_plain(result.inputs),
        "rehearsal": to_plain(result.rehearsal),
        "out": result.out,
    }
