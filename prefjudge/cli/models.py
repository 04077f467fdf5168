"""``prefjudge models``."""

from typing import TYPE_CHECKING

from prefjudge.cli.options import Format
from prefjudge.cli.output import print_tables, say, to_plain

if TYPE_CHECKING:
    from prefjudge.steps.models import ModelsResult


def models(result: "ModelsResult", *, format: Format = "terminal") -> None:
    """Print the gates, and the estimates of people and models together."""
    print_tables(result.tables(), format, rehearsal=result.rehearsal)
    for path in result.files:
        say(f"wrote {path}")


def to_json(result: "ModelsResult") -> dict[str, object]:
    """Return the documented JSON of ``models``."""
    derived = ("open", "enough", "winning_rate")
    return {
        "gates": [
            {**to_plain(gate), **{name: to_plain(getattr(gate, name)) for name in derived}}
            for gate in result.gates
        ],
        "estimates": to_plain(result.estimates),
        "provenance": result.provenance,
        "inputs": to_plain(result.inputs),
        "rehearsal": to_plain(result.rehearsal),
        "out": result.out,
        "files": list(result.files),
    }
