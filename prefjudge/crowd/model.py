"""A language model behind an OpenAI-compatible chat endpoint."""

import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import urllib3

from prefjudge.errors import ConfigError, CrowdError, InputError
from prefjudge.words import many

_ATTEMPTS = 6
_LONGEST_WAIT = 60.0
_LONGEST_READ = 60.0
_PATIENCE = 120.0
"""Seconds for all attempts at one question: enough to wait out a limit of requests a minute."""
_MOST_TOKENS = 10**9
"""No prompt or reply takes more; a larger count is not one."""
_REPLY_TOKENS = 16
"""One would do for the asked digit, but "Passage 1 is worse than Passage 2" cut short would read as 1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What a model said, and how many tokens that took; both are 0 where the endpoint did not count them."""

    text: str
    prompt_tokens: int
    reply_tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class _Trouble:
    """Why there is no reply, and how many seconds the endpoint asks to wait."""

    what: str
    wait: float | None = None


class ChatModel:
    """Asks one question at a time; waits and repeats where the endpoint is busy.

    ``url`` is its base address, up to ``/v1``; the ``key`` is sent and never stored; ``tell`` is called with
    the reason for a wait, at most once a second.
    """

    def __init__(self, url: str, name: str, key: str, tell: Callable[[str], None] | None = None) -> None:
        self.name = name
        self._url = f"{_checked(url).rstrip('/')}/chat/completions"
        self._tell = tell or (lambda _: None)
        self._told = -1.0
        self._given_up: CrowdError | None = None
        if not (key.isascii() and key.isprintable()):
            raise ConfigError(
                "PREFJUDGE_MODEL_KEY holds a character that is not allowed in a key",
                "Set it again, without line breaks.",
            )
        self._headers = {"Content-Type": "application/json"}
        if key:
            self._headers["Authorization"] = f"Bearer {key}"
        self._http = urllib3.PoolManager(maxsize=64, retries=False)

    def ask(self, prompt: str) -> Reply:
        """Return the model's reply; raises CrowdError where it refuses, or stays busy or out of reach."""
        body = json.dumps(
            {
                "model": self.name,
                "messages": [{"role": "user", "content": prompt}],
                "temperature": 0,
                "max_tokens": _REPLY_TOKENS,
            }
        ).encode()
        spent, attempt = 0.0, 0
        while self._given_up is None:
            attempt += 1
            begun = time.monotonic()
            found = self._try(body, _PATIENCE - spent)
            if isinstance(found, Reply):
                return found
            wait = 0.5 * 2 ** (attempt - 1) if found.wait is None else found.wait
            spent += time.monotonic() - begun
            if attempt == _ATTEMPTS or spent + wait >= _PATIENCE:
                self._given_up = CrowdError(
                    f"{self._url} gave no answer in {many(attempt, 'attempt')} and {spent:.0f} "
                    f"seconds: {found.what}",
                    "Repeat the verb later, or with fewer --workers: its replies are kept.",
                )
            else:
                self._report(
                    f"{self._url}: {found.what}; attempt {attempt + 1} of {_ATTEMPTS} in {wait:.1f} s"
                )
                time.sleep(wait)
                spent += wait
        raise self._given_up

    def _try(self, body: bytes, seconds: float) -> Reply | _Trouble:
        """Send a prompt once."""
        try:
            answer = self._send(body, seconds)
        except (urllib3.exceptions.NewConnectionError, urllib3.exceptions.ConnectTimeoutError):
            return _Trouble(what="no connection")
        except urllib3.exceptions.TimeoutError:
            return _Trouble(what="no answer in time")
        except urllib3.exceptions.HTTPError as error:
            return _Trouble(what=type(error).__name__)
        if answer.status == 200:
            return _read(self._url, answer)
        if answer.status != 429 and answer.status < 500:
            raise CrowdError(
                f"{self._url} refused: {answer.status} {answer.data[:200].decode(errors='replace')}",
                "Check the address, the model's name and PREFJUDGE_MODEL_KEY.",
            )
        return _Trouble(what=f"status {answer.status}", wait=_asked_wait(answer.headers.get("Retry-After")))

    def _send(self, body: bytes, seconds: float) -> Any:
        limit = urllib3.Timeout(connect=min(10.0, seconds), read=min(_LONGEST_READ, seconds))
        return self._http.request("POST", self._url, body=body, headers=self._headers, timeout=limit)

    def _report(self, trouble: str) -> None:
        """Report a wait, once for several questions that wait for the same."""
        now = time.monotonic()
        if now - self._told >= 1:
            self._told = now
            self._tell(trouble)


def _checked(url: str) -> str:
    """Return an address that is valid."""
    try:
        parts = urllib3.util.parse_url(url)
    except urllib3.exceptions.LocationParseError:
        parts = urllib3.util.Url()
    if parts.scheme not in ("http", "https") or not parts.host:
        raise InputError(
            f"--url {url} is not an address", "Write it in full, such as http://127.0.0.1:8000/v1."
        )
    return url


def _asked_wait(header: str | None) -> float | None:
    """Return the seconds that the endpoint asks to wait, within limits; a fraction is allowed."""
    try:
        return min(max(float(header or ""), 0.0), _LONGEST_WAIT)
    except ValueError:
        return None


def _read(url: str, answer: Any) -> Reply:
    try:
        found = answer.json()
        text = str(found["choices"][0]["message"]["content"] or "")
        usage = found.get("usage") or {}
        prompt, reply = _count(usage.get("prompt_tokens")), _count(usage.get("completion_tokens"))
    except (ValueError, KeyError, IndexError, TypeError, AttributeError, RecursionError) as error:
        raise CrowdError(
            f"{url} answered, but not with a chat completion",
            "Give the address of a server with OpenAI's chat API.",
        ) from error
    text = text.encode("utf-8", "replace").decode()  # JSON may hold lone surrogates, which no store takes
    if not prompt or reply is None:  # every prompt has tokens, so 0 was not counted
        prompt, reply = 0, 0
    return Reply(text=text, prompt_tokens=prompt, reply_tokens=reply)


def _count(tokens: object) -> int | None:
    """Return a valid count of tokens, or None."""
    return tokens if type(tokens) is int and 0 <= tokens <= _MOST_TOKENS else None
