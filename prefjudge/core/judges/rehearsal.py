"""How much of what is at hand is rehearsed: judged by nobody, but by simulated workers."""

from collections.abc import Iterable
from dataclasses import dataclass

from prefjudge.counts import many


@dataclass(frozen=True, slots=True, kw_only=True)
class Rehearsal:
    """Judgments that were collected, those that do not count among them, and how many are simulated."""

    simulated: int
    judgments: int

    def __str__(self) -> str:
        return f"rehearsal: {self.simulated:,} of {many(self.judgments, 'judgment')} are simulated"


def joint(found: Iterable[Rehearsal]) -> Rehearsal | None:
    """Return what several sources are together, of which two with the same numbers are one source."""
    apart = set(found)
    if not apart:
        return None
    return Rehearsal(
        simulated=sum(one.simulated for one in apart), judgments=sum(one.judgments for one in apart)
    )
