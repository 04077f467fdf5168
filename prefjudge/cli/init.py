"""``prefjudge init``."""

from pathlib import Path
from typing import Annotated

import typer

from prefjudge.cli.options import Json, NewStudy
from prefjudge.cli.output import print_json, say
from prefjudge.errors import quoted


def init(
    study: NewStudy,
    config: Annotated[str, typer.Option(help="The config to start from: default or paper2021.")] = "default",
    name: Annotated[str | None, typer.Option(help="The study's name; the folder's name by default.")] = None,
    json: Json = False,
) -> None:
    """Make a study: a folder with a config to edit."""
    from prefjudge.steps.init import init as run

    result = run(study, config=config, name=name)
    if json:
        print_json(result)
    elif result.created:
        say(
            f"made {result.study}; look through {Path(result.config)}, then: "
            f"prefjudge pool {quoted(study)} --runs …"
        )
    else:
        say(f"{result.study} is a study already; nothing was changed")
