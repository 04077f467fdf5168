"""A language model behind an OpenAI-compatible chat endpoint."""

import json
import time
from dataclasses import dataclass
from typing import Any

import urllib3

from prefjudge.errors import CrowdError

_ATTEMPTS = 6
_LONGEST_WAIT = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What a model said, and how many tokens that took."""

    text: str
    prompt_tokens: int
    reply_tokens: int


class ChatModel:
    """Asks one question at a time; waits and repeats where the endpoint is busy.

    Parameters
    ----------
    url : str
        The endpoint's base address, up to ``/v1``.
    name : str
        The model.
    key : str
        The endpoint's key; empty where it wants none. It is sent and never stored.
    """

    def __init__(self, url: str, name: str, key: str) -> None:
        self.name = name
        self._url = f"{url.rstrip('/')}/chat/completions"
        self._headers = {"Content-Type": "application/json"}
        if key:
            self._headers["Authorization"] = f"Bearer {key}"
        self._http = urllib3.PoolManager(
            timeout=urllib3.Timeout(connect=10.0, read=120.0), maxsize=32, retries=False
        )

    def ask(self, prompt: str) -> Reply:
        """Return the model's reply.

        Raises
        ------
        CrowdError
            The endpoint refuses, or stays busy or out of reach.
        """
        body = json.dumps(
            {
                "model": self.name,
                "messages": [{"role": "user", "content": prompt}],
                "temperature": 0,
                "max_tokens": 4,
            }
        ).encode()
        trouble = ""
        for attempt in range(_ATTEMPTS):
            wait = min(0.5 * 2**attempt, _LONGEST_WAIT)
            try:
                answer = self._http.request("POST", self._url, body=body, headers=self._headers)
            except urllib3.exceptions.HTTPError as error:
                trouble = type(error).__name__
            else:
                if answer.status == 200:
                    return _read(self._url, answer)
                if answer.status != 429 and answer.status < 500:
                    raise CrowdError(
                        f"{self._url} refused: {answer.status} {answer.data[:200].decode(errors='replace')}",
                        "Check the address, the model's name and PREFJUDGE_MODEL_KEY.",
                    )
                trouble = str(answer.status)
                wait = _asked_wait(answer.headers.get("Retry-After"), wait)
            if attempt + 1 < _ATTEMPTS:
                time.sleep(wait)
        raise CrowdError(
            f"{self._url} did not answer after {_ATTEMPTS} attempts: {trouble}",
            "Repeat the verb later: what was answered is kept.",
        )


def _asked_wait(header: str | None, otherwise: float) -> float:
    """Return the seconds that the endpoint asks to wait, within reason; a fraction is legal here."""
    try:
        return min(max(float(header or ""), 0.0), _LONGEST_WAIT)
    except ValueError:
        return otherwise


def _read(url: str, answer: Any) -> Reply:
    try:
        found = answer.json()
        usage = found.get("usage") or {}
        return Reply(
            text=str(found["choices"][0]["message"]["content"] or ""),
            prompt_tokens=int(usage.get("prompt_tokens", 0)),
            reply_tokens=int(usage.get("completion_tokens", 0)),
        )
    except (ValueError, KeyError, IndexError, TypeError, AttributeError) as error:
        raise CrowdError(
            f"{url} answered, but not with a chat completion", "Does it speak OpenAI's chat API?"
        ) from error
