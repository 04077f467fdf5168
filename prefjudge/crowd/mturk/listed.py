"""Many HITs by the pages of a list, where that takes less than asking for one after the other."""

from collections.abc import Collection, Mapping
from typing import Any

from prefjudge.crowd.mturk.client import Client

_WORTH_A_PAGE = 15
"""A page of a hundred HITs, with their questions, takes about as long as so many calls for one."""
_KEPT = (
    "HITStatus",
    "MaxAssignments",
    "Expiration",
    "NumberOfAssignmentsPending",
    "NumberOfAssignmentsAvailable",
)


def list_hits(client: Client, wanted: Collection[str]) -> dict[str, Mapping[str, Any]]:
    """Return what a list says of the HITs wanted, without their questions.

    The list has the newest HITs first. It is read as long as its pages hold enough of those wanted; the
    others are missing in what is returned.
    """
    found: dict[str, Mapping[str, Any]] = {}
    if len(wanted) < _WORTH_A_PAGE:
        return found
    missing = set(wanted)
    for page in client.pages("list_hits"):
        here = {hit["HITId"]: hit for hit in page.get("HITs", ()) if hit["HITId"] in missing}
        found |= {hit_id: {key: hit.get(key) for key in _KEPT} for hit_id, hit in here.items()}
        missing -= here.keys()
        if len(here) < _WORTH_A_PAGE or not missing:
            break
    return found


def is_untouched(hit: Mapping[str, Any]) -> bool:
    """Whether no assignment of a listed HIT was submitted: all are on offer, or in workers' hands."""
    counts = (hit.get("NumberOfAssignmentsPending"), hit.get("NumberOfAssignmentsAvailable"))
    return None not in counts and sum(map(int, counts)) == hit["MaxAssignments"]  # type: ignore[arg-type]
