"""Calls with a known key over plain HTTP, without the work that boto3 does anew for each call.

boto3 checks, resolves and signs each call through some twenty hooks, which takes twice as long as a
marketplace on the same machine takes to answer. Here a call is one JSON document, which botocore signs and
sends on a connection that stays open. Whatever is not a plain answer is left to boto3, which makes the call
again, waits and explains: every call that creates or spends has its request token, and a repeat of the others
is harmless.
"""

import json
import socket
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlsplit

_TYPE = "application/x-amz-json-1.1"


class DirectCalls:
    """One marketplace's calls.

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
        from botocore.auth import SigV4Auth
        from botocore.credentials import Credentials
        from botocore.httpsession import URLLib3Session

        self._model = boto.meta.service_model
        self._names = boto.meta.method_to_api_mapping
        self._url = f"{boto.meta.endpoint_url.rstrip('/')}/"
        self._signer = SigV4Auth(Credentials(*key), self._model.signing_name, boto.meta.region_name)
        self._agent = agent
        at_once = [(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)]  # a call is two packets, and is waited for
        self._http = URLLib3Session(timeout=timeout, socket_options=at_once)

    def call(self, operation: str, parameters: dict[str, Any]) -> dict[str, Any] | None:
        """Make one call; None where it has no plain answer, whatever came of it."""
        from botocore.awsrequest import AWSRequest
        from botocore.exceptions import HTTPClientError

        name = self._names[operation]
        body = json.dumps(parameters, default=_epoch).encode()
        headers = {
            "Content-Type": _TYPE,
            "User-Agent": self._agent,
            "X-Amz-Target": f"{self._model.metadata['targetPrefix']}.{name}",
        }
        request = AWSRequest("POST", self._url, headers=headers, data=body)
        self._signer.add_auth(request)
        try:
            answer = self._http.send(request.prepare())
        except HTTPClientError:
            return None
        if answer.status_code != 200:
            return None
        try:
            told = json.loads(answer.content)
        except ValueError:  # half of an answer, which botocore takes for an empty one
            return None
        if not isinstance(told, dict):
            return None
        headers_told = {header.lower(): text for header, text in answer.headers.items()}
        about = {"HTTPStatusCode": 200, "HTTPHeaders": headers_told}
        shape = self._model.operation_model(name).output_shape
        return {**_told(shape, told), "ResponseMetadata": about}


def can_call(endpoint: str) -> bool:
    """Whether an address is a plain one: over TLS, or through a path, boto3 alone makes the calls."""
    parts = urlsplit(endpoint)
    return parts.scheme == "http" and parts.path in ("", "/") and not (parts.query or parts.username)


def _told(shape: Any, value: Any) -> Any:
    """Return an answer without what the API does not describe, and with its times as such."""
    if shape.type_name == "structure":
        members = shape.members
        known = ((name, one) for name, one in value.items() if name in members and one is not None)
        return {name: _told(members[name], one) for name, one in known}
    if shape.type_name == "list":
        return [_told(shape.member, one) for one in value]
    return datetime.fromtimestamp(value, UTC) if shape.type_name == "timestamp" else value


def _epoch(value: object) -> float:
    if isinstance(value, datetime):
        return value.timestamp()
    raise TypeError(f"{value!r} is not a parameter")
