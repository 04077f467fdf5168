"""Options that several verbs add to those of their steps, or declare alike."""

from typing import Annotated

import typer

from prefjudge.errors import ConfigError


def _forms() -> list[str]:
    from prefjudge.show.tables import EXPORTERS

    return ["terminal", *EXPORTERS]


Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON on stdout.")]
Details = Annotated[bool, typer.Option("--details", help="Print all tables and notes, not one screen.")]
Format = Annotated[
    str, typer.Option(help="What to print: terminal, csv, json, md or tex.", autocompletion=_forms)
]
Sandbox = Annotated[bool, typer.Option("--sandbox")]
Yes = Annotated[bool, typer.Option("--yes", "-y")]
Target = Annotated[str | None, typer.Option(metavar="PATH")]
"""A file to write, or an address that a cluster writes: one such as ``s3a://…`` is not a path."""


def one_target(*, sandbox: bool, live: bool) -> None:
    """Refuse to guess which of the two was meant."""
    if sandbox and live:
        raise ConfigError("--sandbox and --live exclude each other", "Leave one of them out.")
