"""Reads submitted forms."""

import re
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import parse_qsl

from starlette.requests import Request

from prefjudge.marketplace.api import wire
from prefjudge.marketplace.errors import Refusal
from prefjudge.marketplace.web.state import read_body

Pairs = list[tuple[str, str]]
MAX_FIELDS = 2000
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
    """Read a form, or a JSON object with its fields; once, for the check of the token and for the route."""
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


async def read_json(request: Request) -> Mapping[str, Any]:
    """Read a JSON object.

    Raises
    ------
    Refusal
        ``bad_form``: it is not one.
    """
    try:
        value = wire.read_json(await read_body(request))
    except ValueError as error:
        raise Refusal("bad_form", f"The request is not JSON: {error}", 400) from error
    if not isinstance(value, dict):
        raise Refusal("bad_form", "The request is not a JSON object.", 400)
    return value


def _clean(pairs: Pairs) -> Pairs:
    """Replace each NUL with the replacement character: PostgreSQL does not store NUL in text."""
    return [(name.replace("\0", "\ufffd"), text.replace("\0", "\ufffd")) for name, text in pairs]


def _multipart(media: str, body: bytes) -> Pairs:
    """Read the fields of a multipart form, in order, without its files."""
    from python_multipart import MultipartParser
    from python_multipart.multipart import parse_options_header

    boundary = parse_options_header(media)[1].get(b"boundary")
    if not boundary:
        raise ValueError("its boundary is missing")
    reader = _PartReader(parse_options_header)
    parser = MultipartParser(
        boundary,
        {
            "on_part_begin": reader.begin_part,
            "on_header_field": reader.read_header_name,
            "on_header_value": reader.read_header_value,
            "on_header_end": reader.end_header,
            "on_part_data": reader.read_data,
            "on_part_end": reader.end_part,
            "on_end": reader.end_form,
        },
    )
    parser.write(body)
    # the parser accepts a body that ends too early, but then any field may be cut short
    if not reader.ended:
        raise ValueError("it is cut short")
    return reader.pairs


class _PartReader:
    """Gathers the fields of a form from what the parser finds."""

    def __init__(self, parse_options: Callable[[bytes], tuple[bytes, dict[bytes, bytes]]]) -> None:
        self.pairs: Pairs = []
        self.ended = False
        self._parse_options = parse_options
        self._parts = 0

    def begin_part(self) -> None:
        self._parts += 1
        if self._parts > MAX_FIELDS:
            raise ValueError(f"it has more than {MAX_FIELDS} fields")
        self._header, self._value, self._data = bytearray(), bytearray(), bytearray()
        self._options: dict[bytes, bytes] = {}

    def read_header_name(self, data: bytes, start: int, end: int) -> None:
        self._header += data[start:end]

    def read_header_value(self, data: bytes, start: int, end: int) -> None:
        self._value += data[start:end]

    def end_header(self) -> None:
        if self._header.lower() == b"content-disposition":
            self._options = self._parse_options(bytes(self._value))[1]
        self._header, self._value = bytearray(), bytearray()

    def read_data(self, data: bytes, start: int, end: int) -> None:
        self._data += data[start:end]

    def end_part(self) -> None:
        name = self._options.get(b"name")
        if name is not None and b"filename" not in self._options:
            plain = re.sub("%(?:22|0D|0A)", lambda one: _ESCAPED[one[0]], name.decode("utf-8", "replace"))
            self.pairs.append((plain, self._data.decode("utf-8", "replace")))

    def end_form(self) -> None:
        self.ended = True
