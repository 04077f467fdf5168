"""Calls with a known key over plain HTTP, without the work that boto3 does anew for each call.

boto3 checks, resolves and signs each call through some twenty hooks, which takes twice as long as a
marketplace on the same machine takes to answer. Here a call is one JSON document, signed and sent on a
connection that stays open. Whatever is not a plain answer is left to boto3, which makes the call again, waits
and explains: every call that creates or spends has its request token, and a repeat of the others is harmless.
"""

import hmac
import json
import socket
from datetime import UTC, datetime
from functools import lru_cache
from hashlib import sha256
from typing import Any
from urllib.parse import urlsplit

_TYPE = "application/x-amz-json-1.1"
_SIGNED = "content-type;host;x-amz-date;x-amz-target"


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
        from botocore.httpsession import URLLib3Session

        self._model = boto.meta.service_model
        self._names = boto.meta.method_to_api_mapping
        self._url = f"{boto.meta.endpoint_url.rstrip('/')}/"
        self._host = urlsplit(self._url).netloc
        self._region = boto.meta.region_name
        self._key = key
        self._agent = agent
        at_once = [(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)]  # a call is two packets, and is waited for
        self._http = URLLib3Session(timeout=timeout, socket_options=at_once)

    def call(self, operation: str, parameters: dict[str, Any]) -> dict[str, Any] | None:
        """Make one call; None where it has no plain answer, whatever came of it."""
        from botocore.awsrequest import AWSPreparedRequest
        from botocore.exceptions import HTTPClientError

        name = self._names[operation]
        body = json.dumps(parameters, default=_epoch).encode()
        headers = self._headers(f"{self._model.metadata['targetPrefix']}.{name}", body, datetime.now(UTC))
        try:
            answer = self._http.send(AWSPreparedRequest("POST", self._url, headers, body, False))
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

    def _headers(self, target: str, body: bytes, now: datetime) -> dict[str, bytes]:
        """Return the headers of a call, signed by AWS Signature Version 4."""
        access_key, secret = self._key
        stamp = now.strftime("%Y%m%dT%H%M%SZ")
        scope = f"{stamp[:8]}/{self._region}/{self._model.signing_name}/aws4_request"
        request = (
            f"POST\n/\n\ncontent-type:{_TYPE}\nhost:{self._host}\nx-amz-date:{stamp}\nx-amz-target:{target}\n"
            f"\n{_SIGNED}\n{sha256(body).hexdigest()}"
        )
        to_sign = f"AWS4-HMAC-SHA256\n{stamp}\n{scope}\n{sha256(request.encode()).hexdigest()}"
        signature = hmac.digest(_signing_key(secret, scope), to_sign.encode(), "sha256").hex()
        told = {
            "Content-Type": _TYPE,
            "User-Agent": self._agent,
            "X-Amz-Date": stamp,
            "X-Amz-Target": target,
            "Authorization": f"AWS4-HMAC-SHA256 Credential={access_key}/{scope}, "
            f"SignedHeaders={_SIGNED}, Signature={signature}",
        }
        return {header: text.encode() for header, text in told.items()}


def can_call(endpoint: str) -> bool:
    """Whether an address is a plain one: over TLS, or through a path, boto3 alone makes the calls."""
    parts = urlsplit(endpoint)
    return parts.scheme == "http" and parts.path in ("", "/") and not (parts.query or parts.username)


@lru_cache(maxsize=8)
def _signing_key(secret: str, scope: str) -> bytes:
    key = f"AWS4{secret}".encode()
    for part in scope.split("/"):
        key = hmac.digest(key, part.encode(), "sha256")
    return key


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
