"""Calls with a known key over plain HTTP, without the work that boto3 does anew for each call.

boto3 checks, resolves and signs each call through some twenty hooks, which takes twice as long as a
marketplace on the same machine takes to answer. Here a call is one JSON document, signed and sent on a
connection that stays open. Whatever is not a plain answer is left to boto3, which makes the call again, waits
and explains: every call that creates or spends has its request token, and a repeat of the others is harmless.
"""

import json
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlsplit

from prefjudge.crowd.mturk.line import Line
from prefjudge.crowd.mturk.sigv4 import Signer

_TYPE = "application/x-amz-json-1.1"


class DirectCalls:
    """One marketplace's calls, one at a time.

    Parameters
    ----------
    boto : Any
        boto3's client, which knows the API's operations and what their answers mean.
    key : tuple of str
        The access key and the secret to sign with.
    timeout : tuple of float
        Seconds to wait for a connection, and for an answer.
    agent : str
        What the calls say that they come from.
    """

    def __init__(self, boto: Any, key: tuple[str, str], *, timeout: tuple[float, float], agent: str) -> None:
        self._model = boto.meta.service_model
        self._names = boto.meta.method_to_api_mapping
        self._signer = Signer(
            access_key=key[0],
            secret=key[1],
            region=boto.meta.region_name,
            service=self._model.signing_name,
        )
        there = urlsplit(boto.meta.endpoint_url)
        self._line = Line(there.hostname or "", there.port or 80, timeout=timeout)
        self._headers = {"content-type": _TYPE, "host": there.netloc}
        self._agent = agent
        self._kinds: dict[str, Any] = {}

    def call(self, operation: str, parameters: dict[str, Any]) -> dict[str, Any] | None:
        """Make one call; None where it has no plain answer, whatever came of it."""
        name = self._names[operation]
        answer = self._line.ask(self._request(name, json.dumps(parameters, default=_epoch).encode()))
        if answer is None:
            return None
        try:
            told = json.loads(answer.body)
        except ValueError:  # half of an answer, which botocore takes for an empty one
            return None
        if not isinstance(told, dict):
            return None
        if name not in self._kinds:
            self._kinds[name] = _kind(self._model.operation_model(name).output_shape)
        about = {"HTTPStatusCode": 200, "HTTPHeaders": dict(answer.headers)}
        return {**_told(self._kinds[name], told), "ResponseMetadata": about}

    def _request(self, name: str, body: bytes) -> bytes:
        """Return a signed request as it is sent."""
        target = f"{self._model.metadata['targetPrefix']}.{name}"
        signed = self._signer.sign({**self._headers, "x-amz-target": target}, body, datetime.now(UTC))
        more = {"user-agent": self._agent, "content-length": str(len(body))}
        head = "".join(f"{header}: {text}\r\n" for header, text in (signed | more).items())
        return f"POST / HTTP/1.1\r\n{head}\r\n".encode("latin-1") + body


def can_call(endpoint: str) -> bool:
    """Whether an address is a plain one: over TLS, or through a path, boto3 alone makes the calls."""
    parts = urlsplit(endpoint)
    return parts.scheme == "http" and parts.path in ("", "/") and not (parts.query or parts.username)


def _kind(shape: Any) -> Any:
    """Return what an answer is made of: members by name, a list of one kind, a time, or a value."""
    if shape.type_name == "structure":
        return {name: _kind(one) for name, one in shape.members.items()}
    if shape.type_name == "list":
        return [_kind(shape.member)]
    return datetime if shape.type_name == "timestamp" else None


def _told(kind: Any, value: Any) -> Any:
    """Return an answer without what the API does not describe, and with its times as such."""
    if kind is None:
        return value
    if kind is datetime:
        return datetime.fromtimestamp(value, UTC)
    if isinstance(kind, list):
        return [_told(kind[0], one) for one in value]
    return {name: _told(kind[name], one) for name, one in value.items() if name in kind and one is not None}


def _epoch(value: object) -> float:
    if isinstance(value, datetime):
        return value.timestamp()
    raise TypeError(f"{value!r} is not a parameter")
