"""Forms of votes: what a file of each looks like, and how its rows become one vote each."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from prefjudge.errors import InputError
from prefjudge.formats.votes.parts import guess_parts
from prefjudge.formats.votes.rows import Row

Rows = Sequence[Mapping[str, Any]]
"""The first rows of a file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """What a form may need beside the rows.

    ``criterion`` is the question whose votes are read, where a file has several; ``items`` the records of the
    data file that the votes name by ``instance``.
    """

    path: str
    criterion: str = ""
    items: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


def _none(rows: Rows) -> tuple[str, ...]:
    return ()


def _as_they_are(rows: Iterable[Row], context: Context) -> Iterator[Row]:
    yield from rows


@dataclass(frozen=True, slots=True, kw_only=True)
class VoteForm:
    """A form of votes.

    Attributes
    ----------
    fits : callable
        Tells by the first rows whether a file has this form.
    flatten : callable
        Makes rows of one vote each. A column that starts with ``_`` is a part of the vote: ``_dropped``,
        ``_strength``, ``_judge``, ``_phase``, ``_assignment``, ``_id``, ``_milliseconds``, ``_instance``.
    parts : callable
        Returns which column holds which part of a vote, by the first of the flat rows.
    criteria : callable
        Returns the questions that the file has votes on, where there may be several.
    sides : callable
        Tells by the parts whether left and right are those of a screen.
    may_be_empty : bool
        Whether a file without votes says something all the same.
    """

    fits: Callable[[Rows], bool]
    flatten: Callable[[Iterable[Row], Context], Iterator[Row]] = _as_they_are
    parts: Callable[[Rows], dict[str, str]] = guess_parts
    criteria: Callable[[Rows], tuple[str, ...]] = _none
    sides: Callable[[Mapping[str, str]], bool] = lambda parts: True
    may_be_empty: bool = False


def choose_criterion(found: Sequence[str], asked: str | None, path: str) -> str:
    """Return the question whose votes are read.

    Raises
    ------
    InputError
        There are several and none is chosen, or the one that is chosen is not there.
    """
    if asked is None and len(found) > 1:
        raise InputError(
            f"{path} has votes on {len(found)} criteria: {', '.join(found)}",
            f"Choose one, for instance: --criterion {found[-1]}",
        )
    if asked is not None and asked not in found:
        known = f"Choose one of: {', '.join(found)}." if found else "Leave --criterion out."
        raise InputError(f"{path} has no votes on a criterion {asked!r}", known)
    return asked or (found[0] if found else "")
