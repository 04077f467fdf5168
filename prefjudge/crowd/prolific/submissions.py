"""What Prolific says of those whom it has sent: whose work counts, and whose HITs are free again."""

import time
from collections.abc import Callable

from prefjudge.crowd.prolific.client import Client
from prefjudge.crowd.prolific.site import Site, Visit
from prefjudge.crowd.prolific.studies import Found
from prefjudge.crowd.protocol import RefusedError

_LOOKED_UP = 50
"""At most so many visits that Prolific does not list are asked for by one look."""
_GONE = {"RETURNED": "returned", "TIMED-OUT": "timed_out", "SCREENED OUT": "screened_out"}
SYNC_EVERY = 20.0
"""Seconds between two looks at Prolific's submissions, while somebody watches."""


class Submissions:
    """The submissions of one study.

    Parameters
    ----------
    client : Client
        Prolific.
    site : Site
        The worker site.
    find : callable
        Returns the study at Prolific; None where there is none yet.
    """

    def __init__(self, client: Client, site: Site, find: Callable[[], Found | None]) -> None:
        self._client, self._site, self._find = client, site, find
        self._synced = float("-inf")
        self._people: dict[str, str] = {}

    def statuses(self, study: Found) -> dict[str, str]:
        """Return the status of each submission, by its id."""
        path = "/api/v1/submissions/"
        listed = list(self._client.each(path, study=study.study_id, ordering="started_at"))
        self._people = {str(one["id"]): str(one["participant_id"]) for one in listed}
        return {str(one["id"]): str(one["status"]) for one in listed}

    def sync_at_times(self) -> None:
        """Do what `sync` does, unless it was done a moment ago."""
        if time.monotonic() - self._synced >= SYNC_EVERY:
            self.sync()

    def sync(self) -> dict[str, str]:
        """Tell the site what Prolific says of each submission; return the statuses."""
        study = self._find()
        if study is None or study.status == "UNPUBLISHED":
            return {}
        statuses = self.statuses(study)
        told = [
            {"session": one, "participant": self._people[one], "status": _GONE.get(status, "known")}
            for one, status in statuses.items()
        ]
        visits = self._site.visits()
        strange = [v for v in visits if v.waiting and v.session not in statuses]
        for visit in strange[:_LOOKED_UP]:
            if not self._knows(visit, study):
                told.append({"session": visit.session, "participant": visit.participant, "status": "unknown"})
        self._site.tell(told)
        self._synced = time.monotonic()
        return statuses

    def _knows(self, visit: Visit, study: Found) -> bool:
        """Return whether Prolific knows a visit: the list may be older than it, and a link can be forged."""
        if not visit.session.isalnum():
            return False
        try:
            found = self._client.get(f"/api/v1/submissions/{visit.session}/")
        except RefusedError:  # what somebody typed into a link may not even be an id
            return False
        there = (found.get("study_id"), found.get("participant")) if isinstance(found, dict) else ()
        return there == (study.study_id, visit.participant)
