"""Prolific's API over HTTP: which calls may be made again, and what its errors mean."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from time import sleep
from typing import Any
from urllib.parse import urlencode, urlsplit

import urllib3

from prefjudge.crowd.protocol import RefusedError
from prefjudge.errors import ConfigError, CrowdError

ADDRESS = "https://api.prolific.com"
MOST_LISTED = 100
"""How many items one page of a list is asked to have."""
_ATTEMPTS = 6
_LONGEST_WAIT = 60.0
_TIMEOUT = urllib3.Timeout(connect=10.0, read=60.0)
_LOOPBACK = ("127.0.0.1", "::1", "localhost")
_TRY_LATER = (408, 425, 429)
_ID = re.compile(r"\b[0-9a-f]{24}\b")


class LostReplyError(CrowdError):
    """A call that must not be made again has no reply: it may have been carried out."""


class UnknownError(RefusedError):
    """Prolific does not know what the call names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Trouble:
    """Why a call has no answer, whether it was surely not carried out, and how long to wait."""

    what: str
    undone: bool
    wait: float | None = None


class Client:
    """Makes calls for one account.

    Parameters
    ----------
    token : str
        The account's token. It is sent to ``url`` and nowhere else, and never shown.
    url : str
        The API's address.

    Raises
    ------
    ConfigError
        The token or the address cannot be one; or the token would travel in clear text.
    """

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
        """Make one call, and return its answer.

        Parameters
        ----------
        method, path : str
            What is called.
        body : mapping, optional
            What is sent, as JSON.
        again : bool
            Whether a second call of the kind does no harm. If it does, the call is made again only where it
            was surely not carried out: Prolific was not reached, or asked to be called later.

        Raises
        ------
        RefusedError
            Prolific did nothing.
        LostReplyError
            The call must not be made again, and nobody knows what came of it.
        CrowdError
            Prolific fails, or cannot be reached.
        """
        sent = None if body is None else json.dumps(body).encode()
        for attempt in range(_ATTEMPTS):
            found = self._try(method, path, sent)
            if not isinstance(found, _Trouble):
                return found
            if not (again or found.undone):
                raise LostReplyError(
                    f"{self.url} did not say what came of {method} {_bare(path)}: {found.what}",
                    "It may have been carried out, and is not repeated. Look at it on Prolific's pages.",
                )
            if attempt + 1 < _ATTEMPTS:
                sleep(0.5 * 2**attempt if found.wait is None else found.wait)
        raise CrowdError(
            f"{self.url} gave no answer to {method} {_bare(path)} in {_ATTEMPTS} attempts: {found.what}",
            "Repeat the verb later: nothing is done twice.",
        )

    def balance(self, workspace: str) -> int:
        """Return the cents that a workspace has to spend."""
        found = self.get(f"/api/v1/workspaces/{workspace}/balance/")
        cents = found.get("available_balance") if isinstance(found, dict) else None
        if not isinstance(cents, int):
            raise self.odd("a balance")
        return cents

    def odd(self, wanted: str) -> CrowdError:
        """Return the error that an answer is not what Prolific's API gives."""
        return CrowdError(
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
            raise self.odd("JSON") from error

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
            return self.odd(f"an answer to {call}, but led elsewhere")
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
        return min(max(float(header or ""), 0.0), _LONGEST_WAIT)
    except ValueError:
        return None
