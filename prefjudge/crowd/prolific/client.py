"""Prolific's API and the worker site over HTTP: which calls may be repeated, and what they tell."""

import hashlib
import hmac
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from time import sleep, time
from typing import Any
from urllib.parse import urlencode, urlsplit

import urllib3

from prefjudge.crowd.protocol import RefusedError, UnknownError
from prefjudge.errors import ConfigError, CrowdError

ADDRESS = "https://api.prolific.com"
MOST_LISTED = 100
"""How many items one page of a list is asked to have."""
_ATTEMPTS = 6
_LONGEST_WAIT = 60.0
_TIMEOUT = urllib3.Timeout(connect=10.0, read=60.0)
_LOOPBACK = ("127.0.0.1", "::1", "localhost")
_TRY_LATER = (408, 425, 429)
_WITHOUT_CENTS = (
    "BHD", "BIF", "CLP", "DJF", "GNF", "IQD", "ISK", "JOD", "JPY", "KMF", "KRW", "KWD", "LYD", "OMR", "PYG",
    "RWF", "TND", "UGX", "UYI", "VND", "VUV", "XAF", "XOF", "XPF",
)  # fmt: skip
"""The currencies whose smallest coin is not a hundredth, by ISO 4217."""
_ID = re.compile(r"\b[0-9a-f]{24}\b")


class LostReplyError(CrowdError):
    """A call that must not be made again has no whole reply: it may have been carried out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Trouble:
    """Why a call has no answer, whether it was surely not carried out, and how long to wait."""

    what: str
    undone: bool
    wait: float | None = None


class Client:
    """Makes calls for one account; its token is sent to ``url`` and nowhere else, and never shown."""

    def __init__(self, token: str, url: str = ADDRESS) -> None:
        self.url = _checked(url).rstrip("/")
        if not token:
            raise ConfigError(
                "Prolific needs a token, and PROLIFIC_TOKEN is not set",
                "Make one in Prolific's settings, and set PROLIFIC_TOKEN to it.",
            )
        if not (token.isascii() and token.isprintable()) or " " in token:
            raise ConfigError(
                "PROLIFIC_TOKEN holds a character that is not allowed in a token",
                "Set it again, without blanks and line breaks.",
            )
        self._headers = {"Authorization": f"Token {token}", "Accept": "application/json"}
        self._http = urllib3.PoolManager(retries=False)

    def get(self, path: str, **query: object) -> Any:
        """Return what there is at a path; raises as `call`."""
        asked = {name: value for name, value in query.items() if value is not None}
        return self.call("GET", f"{path}?{urlencode(asked)}" if asked else path)

    def each(self, path: str, **query: object) -> Iterator[Mapping[str, Any]]:
        """Yield the items of a list, page by page.

        Prolific may put fewer on a page than it is asked for, and does not say how many there are: only a
        page without items, one that does not exist, or the same page again is behind the last.
        """
        number, before = 0, None
        while True:
            number += 1
            try:
                page = self.get(path, **query, page=number, page_size=MOST_LISTED)
            except UnknownError:
                if number == 1:
                    raise
                return
            found = self.listed(page)
            if not found or found == before:
                return
            before = found
            yield from found

    def listed(self, page: Any) -> list[Mapping[str, Any]]:
        """Return the items of one answer."""
        found = page.get("results") if isinstance(page, dict) else None
        if not isinstance(found, list) or not all(isinstance(one, dict) for one in found):
            raise self.odd("a list")
        return found

    def call(
        self, method: str, path: str, body: Mapping[str, object] | None = None, *, again: bool = True
    ) -> Any:
        """Make one call, and return its answer."""
        sent = None if body is None else json.dumps(body).encode()
        for attempt in range(_ATTEMPTS):
            found = self._try(method, path, sent)
            if not isinstance(found, _Trouble):
                return found
            if not (again or found.undone):
                raise LostReplyError(
                    f"{self.url} did not say whether it carried out {method} {_bare(path)}: {found.what}",
                    "It may have been carried out, and is not repeated. Look at it on Prolific's pages.",
                )
            if attempt + 1 < _ATTEMPTS:
                sleep(0.5 * 2**attempt if found.wait is None else found.wait)
        raise CrowdError(
            f"{self.url} gave no answer to {method} {_bare(path)} in {_ATTEMPTS} attempts: {found.what}",
            "Repeat the verb later: nothing is done twice.",
        )

    def balance(self, workspace: str) -> tuple[int, str]:
        """Return the cents that a workspace has to spend, and of which currency."""
        found = self.get(f"/api/v1/workspaces/{workspace}/balance/")
        cents = found.get("available_balance") if isinstance(found, dict) else None
        if not isinstance(cents, int):
            raise self.odd("a balance")
        currency = str(found.get("currency_code") or "USD")
        if currency in _WITHOUT_CENTS:
            raise RefusedError(
                f"the workspace is in {currency}, which has no hundredths: every amount here would be wrong",
                "Recruit with a workspace in a currency of a hundred cents, such as GBP, USD or EUR.",
            )
        return cents, currency

    def charged(self, study_id: str) -> tuple[int, int, int]:
        """Return the cents that a study has cost so far, fees included; the rewards and bonuses of these."""
        found = self.get(f"/api/v1/studies/{study_id}/cost/")
        try:
            rewards, bonuses = (
                {name: float(part["amount"]) for name, part in (found.get(kind) or {}).items()}
                for kind in ("rewards", "bonuses")
            )
            both = round(sum(rewards.values())) + round(sum(bonuses.values()))
            return both, round(rewards.get("rewards", 0)), round(bonuses.get("rewards", 0))
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise self.odd("the cost of a study") from error

    def odd(self, wanted: str, kind: type[CrowdError] = CrowdError) -> CrowdError:
        """Return the error that an answer is not what Prolific's API gives."""
        return kind(
            f"{self.url} answered, but not with {wanted}", "Check PROLIFIC_URL: it must be Prolific's API."
        )

    def _try(self, method: str, path: str, sent: bytes | None) -> Any:
        headers = self._headers | ({"Content-Type": "application/json"} if sent is not None else {})
        try:
            answer = self._http.request(
                method, self.url + path, body=sent, headers=headers, timeout=_TIMEOUT, redirect=False
            )
        except (urllib3.exceptions.NewConnectionError, urllib3.exceptions.ConnectTimeoutError):
            return _Trouble(what="no connection", undone=True)
        except urllib3.exceptions.TimeoutError:
            return _Trouble(what="no answer in time", undone=False)
        except urllib3.exceptions.HTTPError as error:
            return _Trouble(what=type(error).__name__, undone=False)
        if answer.status in _TRY_LATER or answer.status >= 500:
            wait = _asked_wait(answer.headers.get("Retry-After"))
            return _Trouble(what=f"status {answer.status}", undone=answer.status == 429, wait=wait)
        if not 200 <= answer.status < 300:
            raise self._refusal(method, path, answer.status, answer.data)
        return self._read(answer.data)

    def _read(self, body: bytes) -> Any:
        try:
            return json.loads(body) if body else None
        except (ValueError, RecursionError) as error:
            raise self.odd("JSON", LostReplyError) from error

    def _refusal(self, method: str, path: str, status: int, body: bytes) -> CrowdError:
        said = _sentence(body) or f"status {status}"
        call = f"{method} {_bare(path)}"
        if status in (401, 403):
            return RefusedError(
                f"{self.url} refused {call}: {said}",
                "Check PROLIFIC_TOKEN, and that its account may use the workspace and the project.",
            )
        kind = UnknownError if status == 404 else RefusedError
        if status < 400:  # a redirection could carry the token to another host
            return self.odd(f"an answer to {call}, but led elsewhere", LostReplyError)
        return kind(f"{self.url} refused {call}: {said}")


def _checked(url: str) -> str:
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
    except ValueError:
        parts, host = urlsplit(""), ""
    if parts.scheme not in ("http", "https") or not host or parts.query or parts.username:
        raise ConfigError(
            f"PROLIFIC_URL is {url!r}, which is not an address", f"Unset it, or write {ADDRESS} in full."
        )
    if parts.scheme == "http" and host not in _LOOPBACK:
        raise ConfigError(
            f"PROLIFIC_URL is {url}: the token would travel in clear text", "Give an https address."
        )
    return url


def _bare(path: str) -> str:
    """Return a path without its ids and query, for messages: who took part is nobody else's business."""
    return _ID.sub("…", path.partition("?")[0])


def _sentence(body: bytes) -> str:
    """Return what an error says, without ids."""
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        return ""
    error = found.get("error", found) if isinstance(found, dict) else None
    if not isinstance(error, dict):
        return ""
    title, detail = error.get("title"), error.get("detail")
    said = detail if isinstance(detail, str) else json.dumps(detail) if detail else ""
    words = ": ".join(part for part in (title, said) if isinstance(part, str) and part)
    return _ID.sub("…", words)[:500]


def _asked_wait(header: str | None) -> float | None:
    """Return the seconds that Prolific asks to wait, within limits."""
    try:
        return max(0.0, min(_LONGEST_WAIT, float(header or "")))  # in this order, nan is the longest
    except ValueError:
        return None


# Whose account at Prolific recruits, and how.


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """What a target's settings say of Prolific."""

    workspace: str
    project: str
    hits: int
    """HITs of one participant, for one payment."""
    secure: bool
    """Whether the workspace has secured study links, which say who comes."""
    filters: list[Any]
    """Who may take part, in the form of Prolific's API."""


# The one Prolific study by which a marketplace recruits: drafted, published, as large as its HITs need.

_BACK = "https://app.prolific.com/submissions/complete?cc="
_RETURN = "REQUEST_RETURN"
PART = "part"
"""The code by which a submission is approved in part, from here and not by the participant."""
_WAYS = {
    "submitted": ("COMPLETED", ""),
    "returned": ("OTHER", "You gave the task back, so please return your submission."),
    "none_left": ("OTHER", "There was nothing left to do for you, so please return your submission."),
    "timed_out": ("OTHER", "The time for the task was over, so please return your submission."),
    "screened_out": ("SCREENED_OUT", "You have done as much of this study as you may; please return it."),
    "no_consent": ("NO_CONSENT", "You did not agree to take part, so please return your submission."),
    PART: ("OTHER", ""),
}
"""For each outcome of a visit, the type of its code, and what to say where the submission goes back."""
_UNTIL_APPROVED = 21 * 86_400.0
CLOSED = " (stopped, no HIT is left)"
"""How the internal name of a study ends that was stopped from here, and not by a person at Prolific."""
_HALTED = " (stopped by hand)"
"""How it ends where a person said so here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A study as Prolific has it; money in cents."""

    study_id: str
    status: str
    reward: int
    places: int
    stopped: str = ""
    """How its internal name says that it was stopped from here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Submission:
    """A participant's submission as Prolific lists it; times in seconds since 1970, 0 where there is none."""

    participant: str
    status: str
    started: float
    completed: float

    @property
    def seconds(self) -> float:
        """How long it took by Prolific's clock; 0 where it is not over."""
        return max(0.0, self.completed - self.started) if self.completed and self.started else 0.0

    @property
    def approved_on(self) -> float:
        """When Prolific approves it, if nobody has decided by then."""
        return (self.completed or time()) + _UNTIL_APPROVED


class Studies:
    """Finds and makes the study of one marketplace, by an internal name that no other study has.

    A person can change that name and copy the study with it, so the id of what was published is remembered.
    """

    def __init__(
        self,
        client: Client,
        project: str,
        name: str,
        come_by: Callable[[], Sequence[str]] = tuple,
        remember: Callable[[str], str] = str,
    ) -> None:
        self._client, self._project, self._name, self._come_by = client, project, name, come_by
        self._remember = remember
        self._id = ""
        self.planned: list[str] | None = None
        """The calls that would change the study, where none of them is to be made."""
        self.doubles = 0
        """How many others were published under its name, as Prolific's pages duplicate a study with it."""

    def find(self) -> Found | None:
        """Return the study; None where there is none. The first that was published goes before the others."""
        if self._id:
            return _found(self._client, self._client.get(f"/api/v1/studies/{self._id}/"))
        path = f"/api/v1/projects/{self._project}/studies/"
        listed = [*self._client.each(path, ordering="-date_created")][::-1]
        names = (self._name, self._name + CLOSED, self._name + _HALTED)
        kept = self._look([self._remember("")])
        ids = [one.get("id") for one in kept]
        named = [one for one in listed if one.get("internal_name") in names and one.get("id") not in ids]
        # a renamed one that is not remembered is known by who came by it, and by its metadata
        named += [] if kept or named else self._look(self._come_by(), metadata=self._name)
        ours = [_found(self._client, one) for one in named]
        ours.sort(key=lambda one: one.status == "UNPUBLISHED")
        ours[:0] = [_found(self._client, one) for one in kept]
        if not ours:
            return None
        self._id = ours[0].study_id
        self.doubles = sum(one.status not in ("UNPUBLISHED", "COMPLETED") for one in ours[1:])
        return ours[0]

    def _look(self, ids: Sequence[str], **wanted: str) -> list[Mapping[str, Any]]:
        """Return those studies of these ids that there are."""
        found = []
        for study_id in filter(None, ids):
            with suppress(UnknownError):
                found.append(self._client.get(f"/api/v1/studies/{study_id}/"))
        return [one for one in found if all(one.get(key) == value for key, value in wanted.items())]

    def keep(self, study: Found) -> None:
        """Remember which study is this one's."""
        self._remember(study.study_id)

    def is_kept(self, study: Found) -> bool:
        """Return whether it was published from here, or found running."""
        return self._remember("") == study.study_id

    def draft(self, wanted: Mapping[str, object]) -> Found:
        """Make the draft: it costs nothing, and is found again where the reply is lost."""
        found: Found | None
        try:
            found = _found(self._client, self._client.call("POST", "/api/v1/studies/", wanted, again=False))
        except LostReplyError:
            found = self.find()
            if found is None:
                raise
        self._id = found.study_id
        return found

    def resize(self, study: Found, places: int) -> Found:
        """Set how many people may take part, which lets a study go on that was stopped from here."""
        name = {"internal_name": self._name} if study.stopped else {}
        return self._change(study, {"total_available_places": places, **name})

    def stop(self, study: Found, *, by_hand: bool = False) -> None:
        """Let nobody come any more; its name says first who said so, so that no kill hides it."""
        self._change(study, {"internal_name": self._name + (_HALTED if by_hand else CLOSED)})
        if study.status in ("ACTIVE", "PAUSED"):
            self.move(study, "STOP")

    def _change(self, study: Found, changed: Mapping[str, object]) -> Found:
        path = f"/api/v1/studies/{study.study_id}/"
        if self.planned is not None:
            self.planned.append(f"PATCH {path} {json.dumps(changed)}")
            return study
        return _found(self._client, self._client.call("PATCH", path, changed))

    def move(self, study: Found, action: str) -> None:
        """Publish, pause, start or stop the study.

        A study takes each step only once: where an earlier call without a reply did it, the next is refused,
        and the study's status tells.
        """
        path = f"/api/v1/studies/{study.study_id}/transition/"
        if self.planned is not None:
            return self.planned.append(f"POST {path} {json.dumps({'action': action})}")
        try:
            self._client.call("POST", path, {"action": action})
        except RefusedError:
            now = self.find()
            if now is None or now.status == study.status:
                raise


def code_of(outcome: str, code: str) -> dict[str, object]:
    """Return the completion code of an outcome, as Prolific's API takes it."""
    kind, reason = _WAYS[outcome]
    actor = "researcher" if outcome == PART else "participant"
    action = {"action": "DYNAMIC_PAYMENT" if outcome == PART else "MANUALLY_REVIEW"}
    action = {"action": _RETURN, "return_reason": reason} if reason else action
    return {"code": code, "code_type": kind, "actions": [action], "actor": actor}


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


def read_filters(text: str) -> list[Any]:
    """Return the filters of a target's settings, in the form of Prolific's API."""
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
            stopped=next(
                (one for one in (CLOSED, _HALTED) if str(said.get("internal_name")).endswith(one)), ""
            ),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise client.odd("a study") from error


def read_submission(client: Client, said: Mapping[str, object]) -> tuple[str, Submission]:
    """Return a submission of a list, by its id."""
    try:
        return str(said["id"]), Submission(
            participant=str(said["participant_id"]),
            status=str(said["status"]),
            started=moment_of(said.get("started_at")),
            completed=moment_of(said.get("completed_at")),
        )
    except KeyError as error:
        raise client.odd("a submission") from error


def moment_of(text: object) -> float:
    """Return a time that Prolific or the site tells, in seconds since 1970; 0 where it is none."""
    try:
        return datetime.fromisoformat(str(text)).timestamp()
    except ValueError:
        return 0.0


# The worker site, as the crowd talks to it: the panel of Prolific's participants, and their visits.

_AT_ONCE = 2000
"""Submissions in one request: a marketplace takes a million bytes."""
_HANDED_IN = ("Submitted", "Unconfirmed", "Approved", "Rejected")
_OPEN = ("Accepted", "Submitted", "Unconfirmed")
"""An assignment in these states is still to be submitted, or to be decided on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Visit:
    """What one participant did, for one payment; ``session`` is Prolific's id of the submission."""

    number: int
    session: str
    study: str
    """Prolific's id of the study, as the link has it."""
    participant: str
    worker_id: str
    confirmed: bool
    """Whether Prolific is known to have sent it."""
    wanted: int
    """How many HITs make a whole visit."""
    assignments: Mapping[str, str]
    """The state of each assignment."""
    earned: Decimal
    """The rewards of HITs that were approved, and the bonuses for HITs in part."""
    over: bool
    """Whether the participant is done, in whatever way."""
    paid: str
    """When its last payment was asked for; empty before."""
    payments: Sequence[Decimal] = ()
    """What was recorded as paid, the first payment first."""
    asked: Decimal = Decimal(0)
    """What bonuses are of these, each of which was asked for once."""
    unseen: Decimal = Decimal(0)
    """What of that Prolific has not shown yet."""
    by_hand: bool = False
    """Whether a person has approved it in part, for an amount that nobody knows here."""

    @property
    def due(self) -> Decimal:
        """What it has earned beyond what was recorded as paid."""
        return max(Decimal(0), self.earned - sum(self.payments))

    @property
    def approved_for(self) -> Decimal:
        """What was recorded as paid by an approval, in full or in part."""
        return sum(self.payments, -self.asked)

    @property
    def whole(self) -> bool:
        """Whether all its HITs were approved."""
        return self.approved >= self.wanted

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
        return sum(state in _HANDED_IN for state in self.assignments.values()) >= self.wanted


def without_shared(visits: Sequence[Visit], listed: Mapping[str, Submission]) -> tuple[Visit, ...]:
    """Return the visits but those by a shared link, whose submission is another participant's."""
    return tuple(
        one
        for one in visits
        if one.session not in listed or one.participant == listed[one.session].participant
    )


class Site:
    """The panel of Prolific's participants at one marketplace, as its admin sees it."""

    ahead = 0.0
    """Seconds by which its clock was ahead of ours when it last told of visits."""
    restored = 0.0
    """When its store was restored from a backup, copied or moved, by its clock; 0 where it was not."""
    hits = 0
    """How many HITs a visit has, as the study was published; 0 before it told of visits."""

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
        if not found:
            return ()
        self.ahead, self.restored = float(found["now"]) - time(), float(found["restored"] or 0)
        self.hits = int(found["panel"]["hits"])
        return tuple(_visit(one) for one in found["visits"])

    def tell(self, submissions: Sequence[Mapping[str, str]]) -> None:
        """Tell what Prolific says of submissions; a repeat is harmless."""
        for first in range(0, len(submissions), _AT_ONCE):
            told = submissions[first : first + _AT_ONCE]
            self._call("POST", f"{self._path}/submissions", {"submissions": told})

    def age(self, moment: float) -> float:
        """Return how many seconds ago something was by its clock."""
        return time() + self.ahead - moment

    def note_paid(self, visit: int, by: str, most: Decimal | None = None) -> bool:
        """Record that an ``approval`` pays a visit, or a ``bonus`` its rest; return whether that is new.

        A part that a person approved pays ``by hand``: ``most``, where its amount is known. By ``refused``
        the last payment is not made after all; ``seen`` says that Prolific shows all bonuses, ``replaced``
        that such a part pays for what never came.
        """
        told = {"visits": [visit], "by": by, **({} if most is None else {"most": f"{most:.2f}"})}
        return bool(self._call("POST", f"{self._path}/paid", told)["recorded"])

    def _call(self, method: str, path: str, body: Mapping[str, object] | None = None) -> Any:
        try:
            answer = self._http.request(method, self._url + path, json=body, headers=self._headers)
            if method == "GET" and answer.status in (400, 404):  # the panel is not made yet
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
        study=str(found["study"]),
        participant=str(found["participant"]),
        worker_id=str(found["worker_id"]),
        confirmed=bool(found["confirmed"]),
        wanted=int(found["wanted"]),
        assignments={str(one["assignment_id"]): str(one["status"]) for one in found["assignments"]},
        earned=Decimal(str(found["earned"])),
        over=found["outcome"] != "working",
        paid=str(found["paid"] or ""),
        payments=[Decimal(str(one)) for one in found["payments"]],
        asked=Decimal(str(found["by_bonus"])),
        unseen=Decimal(str(found["unseen"])),
        by_hand=bool(found["by_hand"]),
    )
