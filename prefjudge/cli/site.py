"""``prefjudge site``."""

from typing import TYPE_CHECKING

from prefjudge.cli.output import say
from prefjudge.counts import many

if TYPE_CHECKING:
    from prefjudge.steps.site.site import SiteResult


def site(result: "SiteResult") -> None:
    """Print where the site is, and what changed in it."""
    removed = f", removed {many(result.removed, 'old page')}" if result.removed else ""
    say(f"wrote {result.written:,} of {many(result.files, 'file')}{removed}: {result.out}/index.html")
