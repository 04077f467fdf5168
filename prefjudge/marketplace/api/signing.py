"""Checks signatures by AWS Signature Version 4."""

import hashlib
import hmac
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache

from prefjudge.marketplace.errors import AccessDenied

MAX_SKEW = 15 * 60
_HEADER = re.compile(
    r"AWS4-HMAC-SHA256 Credential=([^/,\s]+)/(\d{8})/([a-z0-9-]+)/([a-z0-9-]+)/aws4_request,\s*"
    r"SignedHeaders=([a-z0-9;-]+),\s*Signature=([0-9a-f]{64})"
)

_STAMP = re.compile("([0-9]{4})" + 2 * "([0-9]{2})" + "T" + 3 * "([0-9]{2})" + "Z")


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """What an Authorization header says: who signed, for what day, region and service, over which headers."""

    access_key: str
    day: str
    region: str
    service: str
    signed_headers: tuple[str, ...]
    signature: str


def read_claim(authorization: str) -> Claim:
    """Read an Authorization header.

    Raises
    ------
    AccessDenied
        It is of another kind.
    """
    match = _HEADER.fullmatch(authorization.strip())
    if not match:
        raise AccessDenied(
            "The Authorization header does not use AWS4-HMAC-SHA256.", "IncompleteSignatureException"
        )
    key, day, region, service, names, signature = match.groups()
    return Claim(
        access_key=key,
        day=day,
        region=region,
        service=service,
        signed_headers=tuple(names.split(";")),
        signature=signature,
    )


def check(
    claim: Claim, secret: str, service: str, headers: Mapping[str, str], body: bytes, now: float
) -> None:
    """Check the signature of a ``POST /``.

    Raises
    ------
    AccessDenied
        The signature is of another key, request, service or time.
    """
    stamp = headers.get("x-amz-date", "")
    try:
        signed_at = _read_stamp(stamp)
    except ValueError:
        raise AccessDenied("X-Amz-Date is missing or malformed.", "IncompleteSignatureException") from None
    needed = {"host", "x-amz-date", "x-amz-target"} & {*headers, "host", "x-amz-date"}
    if not needed <= set(claim.signed_headers) or claim.service != service or not stamp.startswith(claim.day):
        raise AccessDenied("The signature does not cover this request.", "InvalidSignatureException")
    if abs(now - signed_at) > MAX_SKEW:
        raise AccessDenied(f"The signature of {stamp} has expired.", "InvalidSignatureException")
    if not hmac.compare_digest(_signature(claim, secret, stamp, headers, body), claim.signature):
        raise AccessDenied(
            "The signature does not match the request and the secret key.", "InvalidSignatureException"
        )


def _read_stamp(stamp: str) -> float:
    """Read ``20261123T045900Z``, as epoch seconds; each call has one, and strptime takes its time."""
    if not (parts := _STAMP.fullmatch(stamp)):
        raise ValueError(f"{stamp!r} is not a time")
    year, month, day, hour, minute, second = map(int, parts.groups())
    return datetime(year, month, day, hour, minute, second, tzinfo=UTC).timestamp()


def _signature(claim: Claim, secret: str, stamp: str, headers: Mapping[str, str], body: bytes) -> str:
    covered = "".join(f"{name}:{' '.join(headers.get(name, '').split())}\n" for name in claim.signed_headers)
    request = "\n".join(
        ["POST", "/", "", covered, ";".join(claim.signed_headers), hashlib.sha256(body).hexdigest()]
    )
    scope = f"{claim.day}/{claim.region}/{claim.service}/aws4_request"
    digest = hashlib.sha256(request.encode()).hexdigest()
    to_sign = "\n".join(["AWS4-HMAC-SHA256", stamp, scope, digest])
    return hmac.digest(_key(secret, scope), to_sign.encode(), "sha256").hex()


@lru_cache(maxsize=64)
def _key(secret: str, scope: str) -> bytes:
    """Return the key of a day, a region and a service: the same for all calls of a requester."""
    key = f"AWS4{secret}".encode()
    for part in scope.split("/"):
        key = hmac.digest(key, part.encode(), "sha256")
    return key
