"""Reads what forms send."""

import re
from typing import Any
from urllib.parse import parse_qsl

from starlette.requests import Request

from prefjudge.marketplace.api import wire
from prefjudge.marketplace.errors import Refusal
from prefjudge.marketplace.web.state import read_body

Pairs = list[tuple[str, str]]
MAX_FIELDS = 2000
_BOUNDARY = re.compile(r'boundary="?([^";,\s]{1,70})')
_NAME = re.compile(rb'form-data\s*;\s*name="([^"\r\n]{0,1000})"\s*(;\s*filename)?', re.IGNORECASE)
_ESCAPED = {"%22": '"', "%0D": "\r", "%0A": "\n"}  # what browsers write for these in a name


async def read_pairs(request: Request) -> Pairs:
    """Read the fields of a form, in order, sent as a browser sends them.

    Raises
    ------
    Refusal
        ``bad_form``: the body cannot be read.
    """
    body = await read_body(request)
    media = request.headers.get("content-type", "")
    try:
        if media.startswith("multipart/form-data"):
            return _clean(_multipart(media, body))
        return _clean(
            parse_qsl(
                body.decode(),
                keep_blank_values=True,
                max_num_fields=MAX_FIELDS,
                encoding="utf-8",
                errors="replace",
            )
        )
    except ValueError as error:
        raise Refusal("bad_form", f"The form cannot be read: {error}", 400) from error


async def remembered_pairs(request: Request) -> Pairs:
    """Read a form, or a JSON object that says the same; once for the check of the token and for the route."""
    if not hasattr(request.state, "pairs"):
        if request.headers.get("content-type", "").startswith("application/json"):
            given = await read_json(request)
            request.state.pairs = _clean(
                [(name, str(value)) for name, value in given.items() if value is not None]
            )
        else:
            request.state.pairs = await read_pairs(request)
    return list(request.state.pairs)


async def remembered_fields(request: Request) -> dict[str, str]:
    """Read a form whose names occur once."""
    return dict(await remembered_pairs(request))


async def read_json(request: Request) -> dict[str, Any]:
    """Read a JSON object.

    Raises
    ------
    Refusal
        ``bad_form``: it is none.
    """
    try:
        value = wire.read_json(await read_body(request))
    except ValueError as error:
        raise Refusal("bad_form", f"The request is not JSON: {error}", 400) from error
    if not isinstance(value, dict):
        raise Refusal("bad_form", "The request is not a JSON object.", 400)
    return value


def _clean(pairs: Pairs) -> Pairs:
    """Put the sign for an unreadable character where a NUL is, which a database does not take for text."""
    return [(name.replace("\0", "\ufffd"), text.replace("\0", "\ufffd")) for name, text in pairs]


def _multipart(media: str, body: bytes) -> Pairs:
    """Read the fields of a multipart form and leave its files out: flat, as browsers send it."""
    boundary = _BOUNDARY.search(media)
    if boundary is None:
        raise ValueError("its boundary is missing")
    _, *parts = (b"\r\n" + body).split(b"\r\n--" + boundary[1].encode(), MAX_FIELDS + 1)
    if not parts or not parts.pop().startswith(b"--"):
        raise ValueError(f"it is cut short, or has more than {MAX_FIELDS} fields")
    pairs: Pairs = []
    for part in parts:
        head, _, content = part.partition(b"\r\n\r\n")
        said = _NAME.search(head)
        if said and not said[2]:
            name = re.sub("%(?:22|0D|0A)", lambda one: _ESCAPED[one[0]], said[1].decode("utf-8", "replace"))
            pairs.append((name, content.decode("utf-8", "replace")))
    return pairs
