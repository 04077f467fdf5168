"""``prefjudge init``."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from prefjudge.cli.output import say
from prefjudge.errors import quoted

if TYPE_CHECKING:
    from prefjudge.steps.init import InitResult


def _print_schema(asked: bool) -> None:
    if asked:
        from prefjudge.study.config import schema_text

        typer.echo(schema_text())
        raise typer.Exit


_Schema = Annotated[
    bool,
    typer.Option(
        "--schema",
        is_eager=True,
        callback=_print_schema,
        help="Print the JSON Schema of study.toml, for editors, and make nothing.",
    ),
]


def init(result: "InitResult", *, study: Path, schema: _Schema = False) -> None:
    """Print where the study is, and what leads on."""
    if result.created:
        say(
            f"made {result.study}; look through {Path(result.config)}, then: "
            f"prefjudge pool {quoted(study)} --runs …"
        )
    else:
        say(f"{result.study} is a study already; nothing was changed")
