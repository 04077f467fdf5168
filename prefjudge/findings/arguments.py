"""Checks what a program gives to a verb against the verb's annotations, before anything is done.

The command line has its own parser. A function may be given anything: a DataFrame, a dictionary, a generator.
A value that fits is converted to the type that the verb expects; others are refused by the argument's name.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence, ValuesView
from collections.abc import Set as AbstractSet
from concurrent.futures import Executor
from decimal import Decimal, InvalidOperation
from difflib import get_close_matches
from enum import Enum
from functools import wraps
from importlib import import_module
from inspect import Parameter, Signature, signature
from math import isfinite
from numbers import Real
from operator import index
from os import PathLike, fsencode, fspath
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, ParamSpec, TypeVar, Union, get_args, get_origin, get_type_hints

from annotated_types import Ge, Interval

from prefjudge.errors import InputError
from prefjudge.reading.datasets import downloads_allowed
from prefjudge.reading.inputs import InMemory, NotTaken
from prefjudge.reading.remote import is_remote, without_secrets
from prefjudge.renamed import told
from prefjudge.study.store import Study

P = ParamSpec("P")
R = TypeVar("R")


_BEYOND = 2**63
"""Larger counts and seeds are refused, as numpy cannot hold them."""

_LONGEST_NAME = 255
"""The bytes of the longest name that file systems take."""


class _No(Exception):  # noqa: N818 - a kind that does not take a value, while another may
    pass


def checked(verb: Callable[P, R]) -> Callable[P, R]:
    """Return the verb with its arguments checked, and made what their annotations say.

    Texts and paths stand for themselves where several are taken, and generators are read. A function of the
    same signature is returned.
    """
    expected = full_signature(verb)

    @wraps(verb)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            bound = expected.bind(*args, **kwargs)
        except TypeError as error:
            raise _unbound(verb.__name__, expected, kwargs, error) from None
        for name, value in bound.arguments.items():
            bound.arguments[name] = _taken(verb.__name__, name, expected.parameters[name].annotation, value)
        with downloads_allowed(allowed=_asks_to_download(verb.__name__, bound.arguments.get("dataset"))):
            return verb(*bound.args, **bound.kwargs)

    call.__signature__ = expected  # type: ignore[attr-defined]
    return call


def _asks_to_download(verb: str, words: str | None) -> bool:
    if not words:
        return False
    from prefjudge.reading.options import asks_to_download  # and with it what reads texts

    try:
        return asks_to_download(words)
    except InputError as error:
        raise InputError(f"{verb}: {error.message}", error.hint) from None


def full_signature(verb: Callable[..., object]) -> Signature:
    """Return the signature of a verb with the words of ``**how: Unpack[ReadOptions]`` spelled out."""
    written = signature(verb)
    words: list[Parameter] = []
    for one in written.parameters.values():
        if one.kind is not Parameter.VAR_KEYWORD:
            words.append(one)
            continue
        (options,) = get_args(one.annotation)
        defaults = import_module(options.__module__).DEFAULTS
        words += [
            Parameter(name, Parameter.KEYWORD_ONLY, default=defaults[name], annotation=kind)
            for name, kind in get_type_hints(options, include_extras=True).items()
        ]
    return written.replace(parameters=words)


def _unbound(verb: str, expected: Signature, given: Mapping[str, object], error: TypeError) -> InputError:
    names = list(expected.parameters)
    unknown = next((name for name in given if name not in names), None)
    if unknown is None and "positional" in str(error):
        places = [one.name for one in expected.parameters.values() if one.kind is not one.KEYWORD_ONLY]
        return InputError(
            f"{verb}: {error}",
            f"Write the name of each argument but {' and '.join(places)}, as in name=value.",
        )
    if unknown is None:
        return InputError(f"{verb}: {error}", f"Use its arguments: {', '.join(names)}.")
    close = get_close_matches(unknown, names, 1)
    if words := told("option", f"--{unknown.replace('_', '-')}", verb=verb):
        return InputError(f"{verb}: there is no argument {unknown}", f"{words}.")
    hint = f"Use {close[0]}, if that was meant." if close else f"Use its arguments: {', '.join(names)}."
    return InputError(f"{verb}: there is no argument {unknown}", hint)


def _taken(verb: str, name: str, annotation: Any, value: object) -> object:
    """Return the value as a kind that the annotation names."""
    kinds, why = _kinds(annotation), ""
    value = list(value) if isinstance(value, Iterator) else value  # several kinds look at its items
    for kind in kinds:
        try:
            return _as(kind, value)
        except _No as refused:
            why = why or str(refused)
    choices = next((texts for texts in map(_choices, kinds) if texts), ())
    if choices and isinstance(value, str):
        known = ", ".join(choices)
        raise InputError(f"{verb}: there is no {name} {value[:60]!r}", f"Choose one of: {known}.")
    takes = _words(kinds)
    what = f"{_named(value)}: {why}" if why else _named(value)
    raise InputError(f"{verb}: {name} is {what}; it takes {takes}", _hint(takes, value))


def _choices(kind: Any) -> tuple[str, ...]:
    """Return the values of a closed choice; none where it is something else."""
    if get_origin(kind) is Literal:
        return get_args(kind)
    return tuple(str(one.value) for one in kind) if isinstance(kind, type) and issubclass(kind, Enum) else ()


def _kinds(annotation: Any) -> tuple[Any, ...]:
    """Return the kinds of a union; a path in text is a path, and an amount in text or a number an amount."""
    kinds = get_args(annotation) if get_origin(annotation) in (Union, UnionType) else (annotation,)
    plainer = (str,) if Path in kinds else (str, float) if Decimal in kinds else ()
    return tuple(kind for kind in kinds if kind not in plainer)


def _as(kind: Any, value: object) -> object:
    """Return a value as one kind, or raise `_No`."""
    origin = get_origin(kind) or kind
    if origin is NoneType:
        return _only(value is None, value)
    if origin is Annotated:
        base, *notes = get_args(kind)
        if isinstance(notes[0], InMemory):
            return _from_memory(notes[0], value)
        return _within(_bounds(notes), _as(base, value))
    if origin is Literal:
        return _only(isinstance(value, str) and value in get_args(kind), value)
    if origin is Sequence:
        return _several(_kinds(get_args(kind)[0]), value)
    if origin is tuple:
        return _pair(get_args(kind), value)
    if origin is Callable:
        return _only(callable(value), value)
    if isinstance(origin, type) and issubclass(origin, Enum):
        return origin(_only(isinstance(value, str) and value in {one.value for one in origin}, value))
    if origin in _SINGLE:
        return _SINGLE[origin](value)
    return _only(isinstance(value, origin), value)


def _from_memory(note: InMemory, value: object) -> object:
    """Return what stands for a value in memory; paths and names by themselves are other kinds' matter."""
    items = value if isinstance(value, list | tuple | AbstractSet) else [value]
    if all(isinstance(item, str | PathLike) for item in items):
        raise _No
    for item in items:
        if isinstance(item, str | PathLike):
            _path(item)
    try:
        return note.take(value)
    except NotTaken as refused:
        raise _No(str(refused)) from None


def _only(fits: bool, value: object) -> object:
    if not fits:
        raise _No
    return value


def _bounds(notes: Sequence[object]) -> list[Ge | Interval]:
    """Return the bounds in the notes of an annotation; a register there is for the command line."""
    return [note for note in notes if isinstance(note, Ge | Interval)]


def _within(bounds: Sequence[Ge | Interval], number: Any) -> object:
    """Return a number that is within the bounds that an annotation names."""
    for bound in bounds:
        low, high = _ends(bound)
        _only((low is None or number >= low) and (high is None or number <= high), number)
    return number


def _ends(bound: Ge | Interval) -> tuple[Any, Any]:
    return bound.ge, bound.le if isinstance(bound, Interval) else None


def _several(kinds: tuple[Any, ...], value: object) -> tuple[object, ...]:
    """Return several; not the keys of a dictionary, nor the column names of a table."""
    if isinstance(value, str | PathLike):
        value = (value,)
    if isinstance(value, bytes | bytearray) or not isinstance(
        value, Sequence | AbstractSet | Iterator | ValuesView
    ):
        raise _No
    return tuple(_first(kinds, item) for item in value)


def _first(kinds: tuple[Any, ...], value: object) -> object:
    for kind in kinds:
        try:
            return _as(kind, value)
        except _No:
            continue
    raise _No


def _pair(kinds: tuple[Any, ...], value: object) -> tuple[object, ...]:
    if not isinstance(value, tuple | list) or len(value) != len(kinds):
        raise _No
    return tuple(_first(_kinds(kind), item) for kind, item in zip(kinds, value, strict=True))


def _text(value: object) -> object:
    return _only(isinstance(value, str) and "\0" not in value and _encoded(value) is not None, value)


def _encoded(text: str) -> bytes | None:
    """Return a text's bytes; None where it holds half a character, which no file and no name can."""
    try:
        return fsencode(text)
    except UnicodeEncodeError:
        return None


def _path(value: object) -> object:
    """Return a path, also one in text; one that no file system takes is refused."""
    if not isinstance(value, str | PathLike):
        raise _No
    text = fspath(value)
    if isinstance(text, str) and "\0" not in text:
        address = without_secrets(text)  # from here on nobody sees its password
        if address != text or is_remote(text):
            return address
    if not isinstance(text, str) or any(len(part) > _LONGEST_NAME for part in _encoded_parts(text)):
        raise _No
    _text(text)
    return value if isinstance(value, str | Path) else Path(text)


def _encoded_parts(text: str) -> list[bytes]:
    return (_encoded(text) or b"").split(b"/")


def _whole(value: object) -> int:
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise _No
    try:
        number = index(value)  # numpy's integers are not int
    except TypeError:
        raise _No from None
    if abs(number) >= _BEYOND:
        raise _No
    return number


def _number(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, Real | Decimal):
        raise _No
    try:
        number = float(value)
    except (OverflowError, ValueError):
        raise _No from None
    return float(_only(isfinite(number), number))  # type: ignore[arg-type]


def _flag(value: object) -> bool:
    is_flag = type(value).__name__ in ("bool", "bool_")  # numpy's, too
    return bool(_only(is_flag or (isinstance(value, int) and value in (0, 1)), value))


def _amount(value: object) -> Decimal:
    if isinstance(value, bool) or not isinstance(value, Decimal | Real | str):
        raise _No
    try:
        amount = Decimal(str(value))
    except InvalidOperation:
        raise _No from None
    if not amount.is_finite() or amount < 0:
        raise _No
    return amount


_SINGLE: Mapping[object, Callable[[object], object]] = {
    str: _text,
    Path: _path,
    int: _whole,
    float: _number,
    bool: _flag,
    Decimal: _amount,
    Executor: lambda value: _only(callable(getattr(value, "submit", None)), value),  # submitit's is its own
}

_NAMES: Mapping[object, str] = {
    NoneType: "None",
    str: "text",
    Path: "a path or its text",
    int: "a whole number",
    float: "a finite number",
    bool: "True or False",
    Decimal: "an amount of dollars",
    Executor: "an executor",
    Study: "an open study",
}


def _words(kinds: tuple[Any, ...]) -> str:
    """Return what an argument takes, as the end of a sentence."""
    return " or ".join(dict.fromkeys(map(_word, kinds)))


def _word(kind: Any) -> str:
    origin = get_origin(kind) or kind
    if origin is Annotated:
        base, *notes = get_args(kind)
        if isinstance(notes[0], InMemory):
            return notes[0].words
        words = [
            f"{low} {'or more' if high is None else f'to {high}'}" for low, high in map(_ends, _bounds(notes))
        ]
        return " of ".join([_word(base), *words])
    if origin is Sequence:
        return f"several of: {_words(_kinds(get_args(kind)[0]))}"
    if origin is tuple:
        items = get_args(kind)
        numbers = {*items} <= {int, float}
        return f"{len(items)} numbers" if numbers else " and ".join(_words(_kinds(one)) for one in items)
    if origin is Callable:
        return "a function"
    if _choices(kind):
        return f"one of {', '.join(_choices(kind))}"
    return _NAMES.get(origin, getattr(origin, "__name__", str(origin)))


def _named(value: object) -> str:
    """Name a value that was refused, and show it where it is short."""
    if value is None or isinstance(value, bool | int | float | Decimal):
        return repr(value)
    if isinstance(value, str):
        return f"the text {value[:60]!r}{'…' if len(value) > 60 else ''}"
    kind = type(value).__name__
    return f"{'an' if kind[:1].lower() in 'aeiou' else 'a'} {kind}"


def _hint(takes: str, value: object) -> str:
    if isinstance(value, bytes):
        return "Decode it: a text is needed."
    if isinstance(value, Sequence | AbstractSet) and not isinstance(value, str):
        return "Look at its items."
    if "a table" in takes:
        return "Make a DataFrame of it with named columns, or write it into a file, and give the file."
    if "a path" in takes:
        return "Write what you have into a file, and give the file."
    return "Give its name as text, as str(…) returns it." if "text" in takes else ""
