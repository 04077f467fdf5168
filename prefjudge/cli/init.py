"""``prefjudge init``."""

from pathlib import Path
from typing import TYPE_CHECKING

from prefjudge.cli.output import say
from prefjudge.errors import quoted

if TYPE_CHECKING:
    from prefjudge.steps.init import InitResult


def init(result: "InitResult", *, study: Path) -> None:
    """Print where the study is, and what leads on."""
    if result.created:
        say(
            f"made {result.study}; look through {Path(result.config)}, then: "
            f"prefjudge pool {quoted(study)} --runs …"
        )
    else:
        say(f"{result.study} is a study already; nothing was changed")
