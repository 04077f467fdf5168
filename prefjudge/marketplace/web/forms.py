"""Reads what forms send."""

import json
from email.parser import BytesParser
from email.policy import HTTP
from typing import Any
from urllib.parse import parse_qsl

from starlette.requests import Request

from prefjudge.marketplace.refusals import Refusal
from prefjudge.marketplace.web.front import read_body

Pairs = list[tuple[str, str]]
MAX_FIELDS = 2000


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
            return _multipart(media, body)
        return parse_qsl(
            body.decode(),
            keep_blank_values=True,
            max_num_fields=MAX_FIELDS,
            encoding="utf-8",
            errors="replace",
        )
    except ValueError as error:
        raise Refusal("bad_form", f"The form cannot be read: {error}", 400) from error


async def remembered_pairs(request: Request) -> Pairs:
    """Read a form, or a JSON object that says the same; once, for the door and for the route behind it."""
    if not hasattr(request.state, "pairs"):
        if request.headers.get("content-type", "").startswith("application/json"):
            given = await read_json(request)
            request.state.pairs = [(name, str(value)) for name, value in given.items() if value is not None]
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
        value = json.loads(await read_body(request) or b"{}")
    except ValueError as error:
        raise Refusal("bad_form", f"The request is not JSON: {error}", 400) from error
    if not isinstance(value, dict):
        raise Refusal("bad_form", "The request is not a JSON object.", 400)
    return value


def _multipart(media: str, body: bytes) -> Pairs:
    message = BytesParser(policy=HTTP).parsebytes(b"Content-Type: " + media.encode() + b"\r\n\r\n" + body)
    pairs: Pairs = []
    for part in message.iter_parts():
        name = part.get_param("name", header="content-disposition")
        if name is None or part.get_filename() is not None:
            continue
        content = part.get_payload(decode=True)
        pairs.append((str(name), content.decode("utf-8", "replace") if isinstance(content, bytes) else ""))
    return pairs
