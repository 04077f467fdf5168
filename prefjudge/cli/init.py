"""``prefjudge init``."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from prefjudge.cli.options import Json
from prefjudge.cli.output import print_json, say
from prefjudge.errors import quoted

if TYPE_CHECKING:
    from prefjudge.steps.init import InitResult


def init(call: "Callable[..., InitResult]", *, study: Path, json: Json = False) -> None:
    """Print where the study is, and what leads on."""
    result = call()
    if json:
        print_json(result)
    elif result.created:
        say(
            f"made {result.study}; look through {Path(result.config)}, then: "
            f"prefjudge pool {quoted(study)} --runs …"
        )
    else:
        say(f"{result.study} is a study already; nothing was changed")
