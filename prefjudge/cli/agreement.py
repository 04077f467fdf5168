"""``prefjudge agreement``."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from prefjudge.cli.options import Json
from prefjudge.cli.output import notice, print_json, print_tables, say, stamp, to_plain

if TYPE_CHECKING:
    from prefjudge.steps.agreement import AgreementResult


def agreement(call: "Callable[..., AgreementResult]", json: Json = False) -> None:
    """Print how far random halves of the queries agree."""
    result = call()
    notice(result.notices)
    stamp(result.rehearsal)
    if json:
        print_json(to_json(result), result.notices)
    else:
        show(result)


def show(result: "AgreementResult") -> None:
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
