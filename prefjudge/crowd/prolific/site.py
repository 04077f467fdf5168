"""The worker site, as the crowd talks to it: the panel of Prolific's participants, and their visits."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import urllib3

from prefjudge.errors import CrowdError

_TIMEOUT = urllib3.Timeout(connect=10.0, read=60.0)
_AT_ONCE = 2000
"""Submissions in one request: a marketplace takes a million bytes."""
_DONE = ("Submitted", "Unconfirmed", "Approved", "Rejected")
_OPEN = ("Accepted", "Submitted", "Unconfirmed")
"""An assignment in these states is still to be submitted, or to be decided on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Visit:
    """What one participant did, for one payment.

    Attributes
    ----------
    number : int
        The site's number of it.
    session, participant : str
        Prolific's ids of the submission and of who made it.
    worker_id : str
        The site's id of the same person.
    confirmed : bool
        Whether Prolific is known to have sent it.
    wanted : int
        How many HITs make a whole visit.
    assignments : mapping of str to str
        The state of each assignment.
    earned : Decimal
        The rewards of HITs that were approved, and the bonuses for HITs in part.
    over : bool
        Whether the participant is done, in whatever way.
    paid : str
        When its payment was asked for; empty before.
    """

    number: int
    session: str
    participant: str
    worker_id: str
    confirmed: bool
    wanted: int
    assignments: Mapping[str, str]
    earned: Decimal
    over: bool
    paid: str

    @property
    def approved(self) -> int:
        """How many of its HITs were approved."""
        return list(self.assignments.values()).count("Approved")

    @property
    def to_review(self) -> int:
        """How many of its HITs wait for a decision."""
        return list(self.assignments.values()).count("Submitted")

    @property
    def waiting(self) -> bool:
        """Whether it holds HITs back until Prolific has confirmed it."""
        return not self.confirmed and any(state in _OPEN for state in self.assignments.values())

    @property
    def decided(self) -> bool:
        """Whether nothing of it is still to be submitted, or to be decided on."""
        return self.over and not any(state in _OPEN for state in self.assignments.values())

    @property
    def complete(self) -> bool:
        """Whether all its HITs were submitted."""
        return sum(state in _DONE for state in self.assignments.values()) >= self.wanted


class Site:
    """The panel of Prolific's participants at one marketplace.

    Parameters
    ----------
    url : str
        The marketplace's address.
    admin_token : str
        What its admin signs in with.
    """

    def __init__(self, url: str, admin_token: str) -> None:
        self._url, self._path = url.rstrip("/"), "/admin/panels/prolific"
        self._headers = {"Authorization": f"Bearer {admin_token}", "Accept": "application/json"}
        self._http = urllib3.PoolManager(retries=2, timeout=_TIMEOUT)

    def make(self, panel: Mapping[str, object]) -> str:
        """Make the panel, or change it; return the path of its link. A repeat is harmless."""
        made = self._call("PUT", self._path, panel)
        return urllib3.util.parse_url(str(made["url"])).path or ""

    def visits(self) -> tuple[Visit, ...]:
        """Return all visits; none before the panel is made."""
        found = self._call("GET", self._path)
        return tuple(_visit(one) for one in found["visits"]) if found else ()

    def tell(self, submissions: Sequence[Mapping[str, str]]) -> None:
        """Tell what Prolific says of submissions; a repeat is harmless."""
        for first in range(0, len(submissions), _AT_ONCE):
            told = submissions[first : first + _AT_ONCE]
            self._call("POST", f"{self._path}/submissions", {"submissions": told})

    def note_paid(self, visit: int) -> bool:
        """Record that the payment of a visit is asked for; return whether nobody has recorded it before."""
        return bool(self._call("POST", f"{self._path}/paid", {"visits": [visit]})["recorded"])

    def note_refused(self, visit: int) -> None:
        """Record that the payment of a visit was refused, so that it is still to be made."""
        self._call("POST", f"{self._path}/paid", {"visits": [visit], "refused": True})

    def _call(self, method: str, path: str, body: Mapping[str, object] | None = None) -> Any:
        try:
            answer = self._http.request(method, self._url + path, json=body, headers=self._headers)
            if answer.status == 404:
                return None
            if answer.status >= 300:
                raise ValueError(f"status {answer.status} {answer.data[:200].decode(errors='replace')}")
            return answer.json()
        except (urllib3.exceptions.HTTPError, ValueError) as error:
            raise CrowdError(
                f"the worker site at {self._url} did not answer {method} {path}: {error}",
                "Check that `prefjudge serve` of this version runs there.",
            ) from error


def _visit(found: Mapping[str, Any]) -> Visit:
    return Visit(
        number=int(found["visit"]),
        session=str(found["session"]),
        participant=str(found["participant"]),
        worker_id=str(found["worker_id"]),
        confirmed=bool(found["confirmed"]),
        wanted=int(found["wanted"]),
        assignments={str(one["assignment_id"]): str(one["status"]) for one in found["assignments"]},
        earned=Decimal(str(found["earned"])),
        over=found["outcome"] != "working",
        paid=str(found["paid"] or ""),
    )
