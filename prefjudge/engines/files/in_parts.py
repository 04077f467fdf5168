"""One run in parts: what is found in each part of a large file, read side by side, put together again.

Only a file in order is read so. Where a part holds a mistake, something odd, or a query that another part has
too, the file is read as one: that reading says what is wrong, and on which line.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, TypeVar

from prefjudge.engines.files.heads import RunHead
from prefjudge.engines.files.judged import JudgedRows
from prefjudge.errors import InputError
from prefjudge.formats.lines.parts import FilePart, parts_of
from prefjudge.formats.lines.readers import has_reader
from prefjudge.formats.runs.chunks import Scattered
from prefjudge.formats.runs.layouts import TREC, RunForm

if TYPE_CHECKING:
    from prefjudge.engines.files.copies import Copies

Found = TypeVar("Found", RunHead, JudgedRows)


def units_of(paths: Iterable[str], copies: Copies | None) -> list[str]:
    """Return the parts of the large files, which are read side by side, and the others as they are.

    A file that turned out not to be in order has a copy of all of it.
    """
    units: list[str] = []
    for path in paths:
        whole = has_reader(path) or (copies is not None and copies.has(path))
        units += ([] if whole else parts_of(path)) or [path]
    return units


def of_part(work: Callable[[str], Found], part: str) -> Found | None:
    """Return what is found in a part of a file, or in all of it; None where all of it has to be read."""
    if not isinstance(part, FilePart):
        return work(part)
    try:
        found = work(part)
    except (InputError, Scattered):
        return None
    return None if found.notices else found


def joined_parts(
    work: Callable[[str], Found], parts: Sequence[str], results: Iterable[Found | None]
) -> Iterator[Found]:
    """Yield what was found in each file, from what was found in its parts; ``work`` reads a file as one."""
    for path, group in groupby(zip(parts, results, strict=True), key=lambda one: str(one[0])):
        found = [result for _, result in group]
        whole = [result for result in found if result is not None]
        yield (_joined(path, whole) if len(whole) == len(found) else None) or work(path)


def _joined(path: str, parts: list[Found]) -> Found | None:
    """Put the parts of a file together; None where they are not those of a file in order."""
    first = parts[0]
    if len(parts) == 1:
        return first
    form = _form([part.form for part in parts if part.form is not None])
    if form is None or (form.layout.columns > TREC.columns and len({part.tag for part in parts}) > 1):
        return None
    return type(first).joined(path, parts, form)


def _form(forms: list[RunForm]) -> RunForm | None:
    met = [name for form in forms for name in form.met]
    if len(set(met)) < len(met) or len({form.layout for form in forms}) > 1:
        return None
    return RunForm(
        layout=forms[0].layout,
        lines=sum(form.lines for form in forms),
        queries=sum(form.queries for form in forms),
    )
