"""The protocol of the requester API: its description, signatures, JSON and pages.

boto3 checks types, required members and minimum lengths before it sends. Everything else is checked here:
patterns, enumerations, maximum lengths and numbers, unknown members.
"""

import hashlib
import hmac
import json
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache, lru_cache
from itertools import chain
from pathlib import Path
from typing import Any

from prefjudge.database import columns_of
from prefjudge.database.connection import T
from prefjudge.marketplace.errors import AccessDenied, Params, RequestError, invalid
from prefjudge.marketplace.people.qualifications import TAKEN
from prefjudge.marketplace.store.store import Transaction

# The description of the API: the operations, their shapes and their limits, as this package ships them.
#
# The JSON comes from botocore (NOTICE says what was changed) and is in the format of its loader. The
# marketplace checks requests with it, and a client can load it if its botocore no longer has the service.
# Tests compare the two.

SERVICE_FOLDER = Path(__file__).parent / "service"
"""Append this to the ``search_paths`` of a botocore session's data loader."""

Shape = Mapping[str, Any]
"""A shape of the service, in the format of botocore's models."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Description:
    """The operations and shapes of the service."""

    target_prefix: str
    signing_name: str
    operations: Mapping[str, Any]
    shapes: Mapping[str, Shape]

    def input_of(self, operation: str) -> Shape:
        """Return the shape of the operation's request."""
        return self.shapes[self.operations[operation]["input"]["shape"]]

    def output_of(self, operation: str) -> Shape:
        """Return the shape of the operation's response."""
        return self.shapes[self.operations[operation]["output"]["shape"]]


@cache
def mturk() -> Description:
    """Load the description of the Mechanical Turk requester API."""
    path = SERVICE_FOLDER / "mturk" / "2017-01-17" / "service-2.json"
    model = json.loads(path.read_text(encoding="utf-8"))
    return Description(
        target_prefix=model["metadata"]["targetPrefix"],
        signing_name=model["metadata"]["endpointPrefix"],
        operations=model["operations"],
        shapes={**model["shapes"], "Comparator": _extended(model["shapes"]["Comparator"])},
    )


def _extended(comparator: Shape) -> Shape:
    """Add this marketplace's own comparator; a client of the API sends it unchecked."""
    return {**comparator, "enum": [*comparator["enum"], TAKEN]}


# JSON 1.1: a request body becomes checked parameters, a result becomes a response body.

_DEEPEST = 100
"""Levels of JSON: no request needs as many, and every reader and writer can take them."""


def read_json(body: bytes) -> Any:
    """Read JSON that can be stored and written again; an empty body is an empty object."""
    text = (body or b"{}").decode("utf-8-sig")
    try:
        value = json.loads(text, parse_constant=_finite, parse_float=_finite)
        if _is_deeper(value, _DEEPEST):
            raise RecursionError
        if "\\ud" in text or "\\uD" in text:  # otherwise it has no characters that cannot be written
            json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        raise ValueError("it has half a character (a lone surrogate)") from error
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error
    return value


def _is_deeper(value: Any, limit: int) -> bool:
    """Tell whether JSON is nested deeper: what is read here is later written with less stack to spare."""
    level = [value]
    for _ in range(limit):
        inner = (
            one.values() if isinstance(one, dict) else one for one in level if isinstance(one, dict | list)
        )
        if not (level := list(chain.from_iterable(inner))):
            return False
    return any(isinstance(one, dict | list) for one in level)


def _finite(text: str) -> float:
    if not math.isfinite(number := float(text)):
        raise ValueError(f"{text} is not a number")
    return number


def parse(operation: str, body: bytes) -> Params:
    """Read and check the parameters of one request.

    Timestamps become epoch seconds. Nulls count as absent.
    """
    try:
        value = read_json(body)
    except ValueError as error:
        raise RequestError(f"The request body is not JSON: {error}", "AWS.MalformedInput") from error
    return _structure(mturk().input_of(operation), value, operation)


def serialize(operation: str, result: Params) -> bytes:
    """Write one response, leaving out what is None."""
    tidy = _outgoing(mturk().output_of(operation), result, operation)
    return json.dumps(tidy, ensure_ascii=True).encode()


def _value(name: str, value: Any, where: str) -> Any:
    shape = mturk().shapes[name]
    return _READERS[shape["type"]](shape, value, where)


def _structure(shape: Shape, value: Any, where: str) -> Params:
    if not isinstance(value, dict):
        raise invalid(where, "expected a structure")
    members = shape["members"]
    unknown = sorted(value.keys() - members.keys())
    if unknown:
        raise invalid(where, f"unknown parameter {', '.join(unknown)}")
    given = {key: item for key, item in value.items() if item is not None}
    absent = [key for key in shape.get("required", ()) if key not in given]
    if absent:
        raise RequestError(
            f"{where}: missing required parameter {', '.join(absent)}", "AWS.MissingParameters"
        )
    return {key: _value(members[key]["shape"], item, f"{where}.{key}") for key, item in given.items()}


def _list(shape: Shape, value: Any, where: str) -> list[Any]:
    if not isinstance(value, list):
        raise invalid(where, "expected a list")
    _bounded(shape, len(value), where, "items")
    member = shape["member"]["shape"]
    return [_value(member, item, f"{where}[{i}]") for i, item in enumerate(value)]


@lru_cache(maxsize=64)
def _pattern(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


def _string(shape: Shape, value: Any, where: str) -> str:
    if not isinstance(value, str):
        raise invalid(where, "expected a string")
    if "\0" in value:
        raise invalid(where, "has a NUL character, which is not text")
    _bounded(shape, len(value), where, "characters")
    if "enum" in shape and value not in shape["enum"]:
        raise invalid(where, f"{value[:64]!r} is not one of {', '.join(shape['enum'])}")
    # fullmatch: `$` alone would let a trailing newline through
    if "pattern" in shape and not _pattern(shape["pattern"]).fullmatch(value):
        raise invalid(where, f"{value[:64]!r} does not match {shape['pattern']}")
    return value


def _integer(shape: Shape, value: Any, where: str) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise invalid(where, "expected an integer")
    width = 31 if shape["type"] == "integer" else 63
    if not -(2**width) <= value < 2**width:
        raise invalid(where, f"{value} does not fit in {width + 1} bits")
    _bounded(shape, value, where, "")
    return value


def _boolean(_: Shape, value: Any, where: str) -> bool:
    if not isinstance(value, bool):
        raise invalid(where, "expected true or false")
    return value


def _timestamp(_: Shape, value: Any, where: str) -> float:
    if isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e11:
        return float(value)
    if isinstance(value, str):
        try:
            return datetime.fromisoformat(value).timestamp()
        except ValueError:
            pass
    raise invalid(where, "expected a time in epoch seconds")


def _bounded(shape: Shape, size: int, where: str, unit: str) -> None:
    if size > shape.get("max", size):
        raise invalid(where, f"{f'{size} {unit}'.strip()} is more than the maximum of {shape['max']}")
    if size < shape.get("min", size):
        raise invalid(where, f"{f'{size} {unit}'.strip()} is less than the minimum of {shape['min']}")


_READERS: dict[str, Callable[[Shape, Any, str], Any]] = {
    "structure": _structure,
    "list": _list,
    "string": _string,
    "integer": _integer,
    "long": _integer,
    "boolean": _boolean,
    "timestamp": _timestamp,
}


def _outgoing(shape: Shape, value: Any, where: str) -> Any:
    if shape["type"] == "structure":
        unknown = value.keys() - shape["members"].keys()
        if unknown:
            raise ValueError(f"{where} has no member {', '.join(sorted(unknown))}")
        return {
            key: _outgoing(mturk().shapes[shape["members"][key]["shape"]], item, key)
            for key, item in value.items()
            if item is not None
        }
    if shape["type"] == "list":
        member = mturk().shapes[shape["member"]["shape"]]
        return [_outgoing(member, item, where) for item in value]
    return value


# Checks signatures by AWS Signature Version 4.

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
    """Read an Authorization header."""
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


def check_signature(
    claim: Claim, secret: str, service: str, headers: Mapping[str, str], body: bytes, now: float
) -> None:
    """Check the signature of a ``POST /``."""
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


# Lists in pages, by keyset: a page starts after the last row of the one before, even if rows were added.

DEFAULT_SIZE = 10  # Mechanical Turk's


def page(
    tx: Transaction,
    kind: type[T],
    list_name: str,
    params: Params,
    rest: str,
    *,
    newest_first: bool = False,
    **named: Any,
) -> tuple[list[T], Params]:
    """Select one page, and what the response says about it: NumResults, and NextToken where more remains.

    ``rest`` is the statement from ``FROM`` to the end of its ``WHERE``; ``seq`` is the column of its order.
    Values that the statement does not name are ignored.
    """
    size = params.get("MaxResults", DEFAULT_SIZE)
    token = params.get("NextToken")
    after = _read_token(tx, list_name, token) if token else None
    where = "" if after is None else f" AND seq {'<' if newest_first else '>'} :after"
    order = f" ORDER BY seq{' DESC' if newest_first else ''} LIMIT :size"
    if after is not None:
        named["after"] = after
    # one more than is shown, to know whether more remain
    rows = tx.execute(f"SELECT seq, {', '.join(columns_of(kind))} {rest}{where}{order}", named, size=size + 1)
    shown = rows[:size]
    last = str(shown[-1][0]) if shown else ""
    more = len(rows) > size
    token = f"{last}.{tx.marketplace.sign('page', list_name, last)[:16]}" if more else None
    records = [kind(**dict(zip(columns_of(kind), row[1:], strict=True))) for row in shown]
    return records, {"NumResults": len(shown), "NextToken": token}


def _read_token(tx: Transaction, list_name: str, token: str) -> int:
    last, _, signature = token.partition(".")
    if not last.isdecimal() or signature != tx.marketplace.sign("page", list_name, last)[:16]:
        raise invalid("NextToken", "is not a token of this list")
    return int(last)
