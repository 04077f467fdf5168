"""The names that verbs and options had before, and how whoever uses an old name is told the new one.

A rename is a line of this table, and a deletion that leaves another way a line that names it; those of
config keys stand beside the config's model.
"""

import warnings
from collections.abc import Mapping
from typing import Literal

NOW: Mapping[str, Mapping[str, str]] = {"verb": {}, "option": {}}
"""What stands for an old verb or option: the words of a command, or an option and what it takes; or ``gone``.

An option that went from one verb alone stands behind the verb.
"""


def told(kind: Literal["verb", "option"], name: str, *, verb: str = "") -> str:
    """Return what to tell whoever used an old name, on one line; empty where it never was one."""
    now = NOW[kind].get(f"{verb} {name}", NOW[kind].get(name))
    if now is None:
        return ""
    if kind == "verb":
        return f"prefjudge {name} is now: prefjudge {now}"
    return f"{name} is {now}" if now.startswith("gone: ") else f"{name} is now: {now}"


class OldName(FutureWarning):
    """An old name that is still taken: programs see it as a warning, the shell prints it as a note."""


def tell(words: str) -> None:
    """Tell, once in a process, that a name is an old one."""
    warnings.warn(words, OldName, stacklevel=2)
