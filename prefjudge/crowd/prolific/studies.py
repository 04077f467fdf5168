"""The one Prolific study by which a marketplace recruits: drafted, published, as large as its HITs need."""

import hashlib
import hmac
import json
from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from math import ceil, sqrt
from typing import Any

from prefjudge.crowd.prolific.client import Client, LostReplyError
from prefjudge.crowd.protocol import RefusedError
from prefjudge.errors import ConfigError

_BACK = "https://app.prolific.com/submissions/complete?cc="
_RETURN = "REQUEST_RETURN"
_WAYS = {
    "submitted": ("COMPLETED", ""),
    "returned": ("OTHER", "You gave the task back, so please return your submission."),
    "none_left": ("OTHER", "There was nothing left to do for you, so please return your submission."),
    "timed_out": ("OTHER", "The time for the task was over, so please return your submission."),
    "screened_out": ("SCREENED_OUT", "You have done as much of this study as you may; please return it."),
    "no_consent": ("NO_CONSENT", "You did not agree to take part, so please return your submission."),
}
"""For each outcome of a visit, the type of its code, and what to say where the submission goes back."""
STOPPED = " (stopped, no HIT is left)"
"""How the internal name of a study ends that was stopped from here, and not by a person at Prolific."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A study as Prolific has it; money in cents."""

    study_id: str
    status: str
    reward: int
    places: int
    stopped_here: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """What a study says to participants, and what it pays."""

    title: str
    description: str
    reward: int
    minutes: int
    most_minutes: int


class Studies:
    """Finds and makes the study of one marketplace.

    Parameters
    ----------
    client : Client
        Prolific.
    project : str
        The project that the study belongs to.
    name : str
        Its internal name, by which it is found again, and no other study has.
    """

    def __init__(self, client: Client, project: str, name: str) -> None:
        self._client, self._project, self._name = client, project, name
        self._id = ""

    def find(self) -> Found | None:
        """Return the study; None where there is none. A published one goes before a draft."""
        if self._id:
            return _found(self._client, self._client.get(f"/api/v1/studies/{self._id}/"))
        path = f"/api/v1/projects/{self._project}/studies/"
        listed = self._client.each(path, ordering="-date_created")
        names = (self._name, self._name + STOPPED)
        ours = [_found(self._client, one) for one in listed if one.get("internal_name") in names]
        ours.sort(key=lambda one: one.status == "UNPUBLISHED")
        if not ours:
            return None
        self._id = ours[0].study_id
        return ours[0]

    def draft(self, wanted: Mapping[str, object]) -> Found:
        """Make the draft: it costs nothing, and is found again where the reply is lost."""
        try:
            made = self._client.call("POST", "/api/v1/studies/", wanted, again=False)
        except LostReplyError:
            found = self.find()
            if found is None:
                raise
            return found
        found = _found(self._client, made)
        self._id = found.study_id
        return found

    def resize(self, study: Found, places: int) -> Found:
        """Set how many people may take part, which lets a study go on that was stopped from here."""
        name = {"internal_name": self._name} if study.stopped_here else {}
        return self._change(study, {"total_available_places": places, **name})

    def stop(self, study: Found) -> None:
        """Let nobody come any more; its name says first that it was us, so that no kill hides it."""
        self._change(study, {"internal_name": self._name + STOPPED})
        self.move(study, "STOP")

    def _change(self, study: Found, changed: Mapping[str, object]) -> Found:
        return _found(self._client, self._client.call("PATCH", f"/api/v1/studies/{study.study_id}/", changed))

    def move(self, study: Found, action: str) -> None:
        """Publish, pause, start or stop the study.

        A study takes each step only once: where an earlier call without a reply did it, the next is refused,
        and the study's status tells.
        """
        path = f"/api/v1/studies/{study.study_id}/transition/"
        try:
            self._client.call("POST", path, {"action": action})
        except RefusedError:
            now = self.find()
            if now is None or now.status == study.status:
                raise


def draft_of(
    offer: Offer, *, name: str, project: str, link: str, places: int, codes: Mapping[str, str],
    secure: bool, filters: list[Any],
) -> dict[str, object]:  # fmt: skip
    """Return the draft of a study, as Prolific's API takes it."""
    parameters = "PROLIFIC_PID={{%PROLIFIC_PID%}}&STUDY_ID={{%STUDY_ID%}}&SESSION_ID={{%SESSION_ID%}}"
    return {
        "name": offer.title,
        "internal_name": name,
        "description": f"<p>{escape(offer.description, quote=False)}</p>",
        "external_study_url": f"{link}?{parameters}",
        "prolific_id_option": "url_parameters",
        "completion_codes": [_code(outcome, code) for outcome, code in codes.items()],
        "total_available_places": places,
        "estimated_completion_time": offer.minutes,
        "maximum_allowed_time": offer.most_minutes,
        "reward": offer.reward,
        "device_compatibility": [],
        "filters": filters,
        "project": project,
        "metadata": name,
        "submissions_config": {"max_submissions_per_participant": 1},
        **({"is_external_study_url_secure": True} if secure else {}),
    }


def _code(outcome: str, code: str) -> dict[str, object]:
    kind, reason = _WAYS[outcome]
    action = {"action": _RETURN, "return_reason": reason} if reason else {"action": "MANUALLY_REVIEW"}
    return {"code": code, "code_type": kind, "actions": [action], "actor": "participant"}


def make_codes(secret: str) -> dict[str, str]:
    """Return the completion code of each outcome: the same each time, and not to be guessed."""
    return {
        outcome: hmac.new(secret.encode(), f"prolific {outcome}".encode(), hashlib.sha256)
        .hexdigest()[:10]
        .upper()
        for outcome in _WAYS
    }


def way_back(code: str) -> dict[str, str]:
    """Return a code with the address that a participant goes back to."""
    return {"code": code, "url": f"{_BACK}{code}"}


def most_minutes(minutes: int, allowed: int) -> int:
    """Return the longest time of a submission: what the HITs allow, and at least what Prolific wants."""
    return max(allowed, ceil(2 + 2 * minutes + 2 * sqrt(minutes)))


def read_filters(text: str) -> list[Any]:
    """Return the filters of a target's settings, in the form of Prolific's API.

    Raises
    ------
    ConfigError
        They are not a JSON list of objects.
    """
    try:
        found = json.loads(text or "[]")
    except ValueError:
        found = None
    if not (isinstance(found, list) and all(isinstance(one, dict) for one in found)):
        raise ConfigError(
            "filters of the Prolific target is not a JSON list of filters",
            'Write it as Prolific\'s API does: \'[{"filter_id": "…", "selected_values": ["…"]}]\'.',
        )
    return found


def _found(client: Client, said: Any) -> Found:
    try:
        return Found(
            study_id=str(said["id"]),
            status=str(said["status"]),
            reward=int(said["reward"]),
            places=int(said["total_available_places"]),
            stopped_here=str(said.get("internal_name")).endswith(STOPPED),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise client.odd("a study") from error
