"""Typed values: what is typed for an option, as its kind.

Typer asks pydantic for this: a model for each option that a verb has, given or not. With its import they take
longer than numpy's, and 9 MB of each process. Pydantic is left what is refused, and what has a parser.
"""

import os
from collections.abc import Callable, Iterable
from enum import Enum
from functools import partial
from inspect import Signature
from pathlib import Path
from typing import Any, get_args

from typer.core import TyperArgument, TyperOption

Options = Iterable[TyperArgument | TyperOption]


def read_lightly(options: Options, words: Signature | None = None) -> None:
    """Have options read what is typed for them by the kinds in a signature, once and for all."""
    known = words.parameters if words else {}
    for option in options:
        read = option.process_value
        if isinstance(read, partial):
            continue
        word = known.get(str(option.name))
        kind = get_args(word.annotation)[0] if word else bool
        option.process_value = partial(_value, option, kind, read)  # type: ignore[method-assign]


def _value(
    option: TyperArgument | TyperOption, kind: Any, read: Callable[[Any, Any], Any], ctx: Any, value: Any
) -> Any:
    try:
        value = _as_kind(kind, value)
    except ValueError:
        return read(ctx, value)  # typer says what is wrong with it
    if value is None and (option.multiple or option.nargs == -1):
        value = ()
    if option.required and not value:
        return read(ctx, value)
    return option.callback(ctx, option, value) if option.callback else value


def _as_kind(kind: Any, value: Any) -> Any:
    """Return a text as a kind, and what is no text as it is; `ValueError` where that is not for us."""
    if isinstance(value, list | tuple):
        (each,) = get_args(kind)
        return [_as_kind(each, one) for one in value]
    if not isinstance(value, str):
        return value
    (base,) = {*get_args(kind)} - {type(None)} or {kind}
    if base is Path and os.path.exists(value) and not os.access(value, os.R_OK):  # noqa: PTH110 - any name
        raise ValueError
    if base in (int, float) and not value.isascii():
        raise ValueError  # Python reads the digits of every script
    if base in (str, Path, int, float) or (isinstance(base, type) and issubclass(base, Enum)):
        return base(value)
    raise ValueError
