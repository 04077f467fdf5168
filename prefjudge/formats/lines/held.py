"""Inputs in memory: what a program gives where the command line takes a file."""

from __future__ import annotations

from typing import Generic, TypeVar

from prefjudge.errors import InputError

T = TypeVar("T")

MEMORY = "memory:"
"""What the name of an input in memory starts with, so that it is never taken for a file's."""

_SHOWN = 20


class Held(str, Generic[T]):
    """An input in memory, which goes wherever a path does.

    As a text it is its name. No engine, notice or record needs to know of it: readers look for what it holds
    before they open a file. ``str(held)`` is the name alone, and ``Path(held)`` that of no file.

    Parameters
    ----------
    name : str
        What the user calls it, or what it is called for want of a name.
    content : T
        What a reader would have made of a file.
    """

    name: str
    content: T

    def __new__(cls, name: str, content: T) -> Held[T]:
        """Make the text that holds it."""
        made = super().__new__(cls, f"{MEMORY}{name}")
        made.name, made.content = name, content
        return made

    def __getnewargs__(self) -> tuple[str, T]:  # type: ignore[override]
        """Return what makes it again, for pickle."""
        """Return what makes it again, for pickle."""
        return self.name, self.content


def row_problems(name: str, kind: str, found: list[tuple[int, str]], hint: str) -> InputError:
    """Return what is wrong with rows of a table, counted from 0, as one error."""
    lines = [f"row {row}: {what}" for row, what in found[:_SHOWN]]
    more = f" (the first {_SHOWN})" if len(found) > _SHOWN else ""
    return InputError(f"{name} is not a readable {kind}; rows count from 0{more}:", hint, lines)
