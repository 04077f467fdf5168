"""Addresses: objects of a store or of a web server, and what is shown of their addresses.

A password and a signed query open an object to whoever reads them. So where an address comes in, what `shown`
returns takes its place: it says where the object is and no more. What was left out stays in this process, and
goes with the work to others (`kept_addresses`), but into no message, log, result or study.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from os import fspath
from pathlib import Path
from typing import TypeVar

from prefjudge.errors import InputError

A = TypeVar("A")
T = TypeVar("T")

_ADDRESS = re.compile(r"(?P<scheme>s3|gs|az|https?):/+(?P<rest>.+)", re.DOTALL | re.IGNORECASE)
"""One slash is enough: a path drops the other. It drops that of an empty folder name, too."""
_NAMED = re.compile(r"([^=/:?]*=)(.*)", re.DOTALL)
"""``NAME=address``, as label sets are given."""
_USER = re.compile(r"[^/?#]*@|[^/?#@:]*:(?!\d+(?:[/?#]|$))[^?#]*@")
"""A user and a password, in which an "@" or "/" may stand that should have been written as %40 or %2F."""
_LEFT_OUT = "?…"

_whole: dict[str, str] = {}
"""The whole address of each one that is shown in part."""


def is_remote(path: str | Path) -> bool:
    """Tell whether a path is the address of an object that is fetched."""
    return _ADDRESS.fullmatch(fspath(path)) is not None


def shown(given: str) -> str:
    """Return an address, or ``NAME=address``, without user, password and query; other text as it is."""
    named = _NAMED.fullmatch(given)
    name, text = named.groups() if named and is_remote(named[2]) else ("", given)
    found = _ADDRESS.fullmatch(text)
    if found is None:
        return given
    scheme, rest = found["scheme"].lower(), found["rest"]
    if _LEFT_OUT in rest:  # it was shown before
        return f"{name}{scheme}://{rest}"
    whole = f"{scheme}://{rest}"
    place = _USER.sub("", rest, count=1) if _USER.match(rest) else rest
    if scheme not in ("s3", "gs"):  # their keys may hold a "?"
        place, query, _ = place.partition("?")
        place += _LEFT_OUT if query else ""
    short = plain = f"{scheme}://{place}"
    number = 1
    while _whole.get(short, whole) != whole and whole != short:
        number += 1
        short = f"{plain}({number})"
    if short != whole:
        _whole[short] = whole
    return name + short


def bare(path: str | Path) -> str:
    """Return a path without what an address may have behind a "?", so that it ends in the file's name."""
    return shown(fspath(path)).partition("?")[0] if is_remote(path) else fspath(path)


def whole(path: str | Path) -> str:
    """Return the address that an object is fetched by.

    Raises
    ------
    InputError
        A part of it was left out, and is not known here.
    """
    address = shown(fspath(path))
    found = _whole.get(address, address)
    if _LEFT_OUT in found:
        raise InputError(
            f"{address}: what follows the ? was not kept, since it may be a signature",
            "Give the whole address again.",
        )
    return found


def kept_addresses(paths: Iterable[str | Path]) -> dict[str, str]:
    """Return what is known of some paths beyond what is shown of them."""
    names = [fspath(path) for path in paths]
    return {name: _whole[name] for name in names if name in _whole}


def knowing(kept: Mapping[str, str], work: Callable[[A], T], thing: A) -> T:
    """Do work in a process that does not know yet what was kept of its addresses."""
    _whole.update(kept)
    return work(thing)
