"""JSON 1.1: a request body becomes checked parameters, a result becomes a response body.

boto3 checks types, required members and minimum lengths before it sends. Everything else is checked here:
patterns, enumerations, maximum lengths and numbers, unknown members.
"""

import json
import math
import re
from collections.abc import Callable
from datetime import datetime
from functools import lru_cache
from itertools import chain
from typing import Any

from prefjudge.marketplace.api.description import Description, Shape, mturk
from prefjudge.marketplace.errors import Params, RequestError, invalid

_DEEPEST = 100
"""Levels of JSON: no request needs as many, and every reader and writer can take them."""


def read_json(body: bytes) -> Any:
    """Read JSON that can be stored and written again; an empty body is an empty object.

    Raises
    ------
    ValueError
        It is not JSON in UTF-8, has lone surrogates or NaN or infinity, or is nested too deeply.
    """
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


def parse(operation: str, body: bytes, *, description: Description | None = None) -> Params:
    """Read and check the parameters of one request.

    Timestamps become epoch seconds. Nulls count as absent.

    Raises
    ------
    RequestError
        The body is not JSON, or a parameter is missing, unknown, of the wrong type or out of bounds.
    """
    description = description or mturk()
    try:
        value = read_json(body)
    except ValueError as error:
        raise RequestError(f"The request body is not JSON: {error}", "AWS.MalformedInput") from error
    parsed: Params = _structure(description, description.input_of(operation), value, operation)
    return parsed


def serialize(operation: str, result: Params, *, description: Description | None = None) -> bytes:
    """Write one response, leaving out what is None.

    Raises
    ------
    ValueError
        The result has a member that the description does not know.
    """
    description = description or mturk()
    tidy = _outgoing(description, description.output_of(operation), result, operation)
    return json.dumps(tidy, ensure_ascii=True).encode()


def _value(description: Description, name: str, value: Any, where: str) -> Any:
    shape = description.shapes[name]
    return _READERS[shape["type"]](description, shape, value, where)


def _structure(description: Description, shape: Shape, value: Any, where: str) -> Params:
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
    return {
        key: _value(description, members[key]["shape"], item, f"{where}.{key}") for key, item in given.items()
    }


def _list(description: Description, shape: Shape, value: Any, where: str) -> list[Any]:
    if not isinstance(value, list):
        raise invalid(where, "expected a list")
    _bounded(shape, len(value), where, "items")
    member = shape["member"]["shape"]
    return [_value(description, member, item, f"{where}[{i}]") for i, item in enumerate(value)]


@lru_cache(maxsize=64)
def _pattern(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


def _string(_: Description, shape: Shape, value: Any, where: str) -> str:
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


def _integer(_: Description, shape: Shape, value: Any, where: str) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise invalid(where, "expected an integer")
    width = 31 if shape["type"] == "integer" else 63
    if not -(2**width) <= value < 2**width:
        raise invalid(where, f"{value} does not fit in {width + 1} bits")
    _bounded(shape, value, where, "")
    return value


def _boolean(_: Description, __: Shape, value: Any, where: str) -> bool:
    if not isinstance(value, bool):
        raise invalid(where, "expected true or false")
    return value


def _timestamp(_: Description, __: Shape, value: Any, where: str) -> float:
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


_READERS: dict[str, Callable[[Description, Shape, Any, str], Any]] = {
    "structure": _structure,
    "list": _list,
    "string": _string,
    "integer": _integer,
    "long": _integer,
    "boolean": _boolean,
    "timestamp": _timestamp,
}


def _outgoing(description: Description, shape: Shape, value: Any, where: str) -> Any:
    if shape["type"] == "structure":
        unknown = value.keys() - shape["members"].keys()
        if unknown:
            raise ValueError(f"{where} has no member {', '.join(sorted(unknown))}")
        return {
            key: _outgoing(description, description.shapes[shape["members"][key]["shape"]], item, key)
            for key, item in value.items()
            if item is not None
        }
    if shape["type"] == "list":
        member = description.shapes[shape["member"]["shape"]]
        return [_outgoing(description, member, item, where) for item in value]
    return value
