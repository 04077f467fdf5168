"""``prefjudge gold``."""

from pathlib import Path
from typing import TYPE_CHECKING

from prefjudge.cli.output import opened, say
from prefjudge.errors import quoted
from prefjudge.words import many

if TYPE_CHECKING:
    from prefjudge.steps.gold import GoldResult


def gold(result: "GoldResult", *, study: Path, accept: bool) -> None:
    """Print how many gold pairs there are, and what to do with suggestions."""
    if result.suggested:
        agreed = f", {result.agreed} of them pairs on which at least five agreed" if result.agreed else ""
        say(f"wrote {many(result.suggested, 'suggestion')} to {result.file}{agreed}")
    if result.lexical is not None:
        say(
            f"who only counts words in common with the question gets {result.lexical:.0%} of them right; "
            "the nearer to a coin's 50%, the more reading they take"
        )
    if accept:
        withdrew = f", withdrew {result.withdrawn} that the file does not have" if result.withdrawn else ""
        say(f"accepted {result.accepted}{withdrew}; the study has {many(result.gold, 'gold pair')}")
        if result.advice:
            say(result.advice)
        from prefjudge.study.store import find_target

        say(f"next: prefjudge publish {quoted(study)} --{find_target(opened(study))}")
    elif result.suggested:
        say("read them, delete the lines that are not obvious to everyone, then:")
        say(f"  prefjudge gold {quoted(study)} --accept")
    else:
        say(f"the study has {many(result.gold, 'gold pair')}; --suggest 12 writes more for review")
