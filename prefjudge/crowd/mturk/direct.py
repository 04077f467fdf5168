"""Calls with a known key over plain HTTP, without the work that boto3 does anew for each call.

boto3 checks, resolves and signs each call through some twenty hooks, which takes twice as long as a
marketplace on the same machine takes to answer. Here a call is one JSON document, which botocore signs, on a
connection that stays open. Whatever is not a plain answer is left to boto3, which makes the call again, waits
and explains: every call that creates or spends has its request token, and a repeat of the others is harmless.
"""

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from http.client import HTTPConnection, HTTPException
from typing import Any
from urllib.parse import urlsplit

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
        Seconds to wait for a connection, and for each piece of an answer.
    agent : str
        What the calls say that they come from.
    """

    def __init__(self, boto: Any, key: tuple[str, str], *, timeout: tuple[float, float], agent: str) -> None:
        from botocore.auth import SigV4Auth
        from botocore.awsrequest import AWSRequest
        from botocore.credentials import Credentials

        self._model = boto.meta.service_model
        self._names = boto.meta.method_to_api_mapping
        self._request, self._url = AWSRequest, f"{boto.meta.endpoint_url.rstrip('/')}/"
        self._signer = SigV4Auth(Credentials(*key), self._model.signing_name, boto.meta.region_name)
        there = urlsplit(self._url)
        self._connect_timeout, self._timeout = timeout
        self._line = HTTPConnection(there.hostname or "", there.port, timeout=self._connect_timeout)
        self._agent = agent
        self._kinds: dict[str, Any] = {}

    def __del__(self) -> None:
        """Close the connection: a crowd is not closed, only forgotten."""
        if "_line" in self.__dict__:
            self._line.close()

    def call(self, operation: str, parameters: dict[str, Any]) -> dict[str, Any] | None:
        """Make one call; None where it has no plain answer, whatever came of it."""
        name = self._names[operation]
        target = f"{self._model.metadata['targetPrefix']}.{name}"
        answer = self._ask(target, json.dumps(parameters, default=_epoch).encode())
        if answer is None:
            return None
        headers, body = answer
        try:
            told = json.loads(body)
        except ValueError:  # half of an answer, which botocore takes for an empty one
            return None
        if not isinstance(told, dict):
            return None
        if name not in self._kinds:
            self._kinds[name] = _kind(self._model.operation_model(name).output_shape)
        about = {"HTTPStatusCode": 200, "HTTPHeaders": headers}
        return {**_told(self._kinds[name], told), "ResponseMetadata": about}

    def _ask(self, target: str, body: bytes) -> tuple[Mapping[str, str], bytes] | None:
        """Return the headers and the body of a plain answer; None where none comes."""
        headers = {"Content-Type": _TYPE, "User-Agent": self._agent, "X-Amz-Target": target}
        request = self._request("POST", self._url, headers=headers, data=body)
        self._signer.add_auth(request)
        try:
            connected = self._line.sock is not None
            if not connected:
                self._line.connect()
                self._line.sock.settimeout(self._timeout)
            self._line.request("POST", "/", body, dict(request.headers.items()))
            answer = self._line.getresponse()
            came = answer.read()
        except (OSError, HTTPException):
            self._line.close()
            return None
        except BaseException:  # interrupted: the rest of the answer must not be taken for the next one
            self._line.close()
            raise
        if answer.status != 200:
            return None
        return {header.lower(): text for header, text in answer.getheaders()}, came


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
