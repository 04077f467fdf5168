"""Reading a whole run, chunk by chunk: from its file, however its queries stand, or from its copy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from prefjudge.core.pooling.runs import Order
from prefjudge.errors import InputError
from prefjudge.formats.lines.blocks import BLOCK, can_reread
from prefjudge.formats.lines.datasets import is_dataset
from prefjudge.formats.lines.parts import FilePart
from prefjudge.formats.lines.problems import Notice
from prefjudge.formats.runs.chunks import FormTally, OnDuplicate, RunChunk, Scattered
from prefjudge.formats.runs.layouts import RunForm
from prefjudge.formats.runs.runs import read_chunks, read_whole

if TYPE_CHECKING:
    from prefjudge.engines.files.copies import Copies, Copy

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """How run files are read.

    Attributes
    ----------
    order : Order
        What ranks a document higher.
    on_duplicate : OnDuplicate
        What to do with a document that a run lists twice for a query.
    copies : Copies, optional
        What is kept of runs that were read, for the next time.
    """

    order: Order = Order.SCORE
    on_duplicate: OnDuplicate = OnDuplicate.ERROR
    copies: Copies | None = None

    def __post_init__(self) -> None:
        """Take texts, too: what only compares like an order would be taken for none."""
        object.__setattr__(self, "order", Order(self.order))
        object.__setattr__(self, "on_duplicate", OnDuplicate(self.on_duplicate))
        if (
            self.on_duplicate is not OnDuplicate.ERROR
        ):  # only a run without repeated documents has one reading
            object.__setattr__(self, "copies", None)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFacts:
    """What is known of a run once it was read, or of the part of it that was.

    Attributes
    ----------
    path : str
        The file, or the name that a table has for the run.
    tag : str
        The run tag, or nothing.
    notices : tuple of Notice
        What was odd.
    form : RunForm or None
        What the whole run was taken for.
    """

    path: str
    tag: str
    notices: tuple[Notice, ...] = ()
    form: RunForm | None = None


def answers(
    path: str, work: Callable[[RunChunk], T], how: Reading, *, from_copy: Callable[[Copy], T]
) -> tuple[list[T], RunForm, list[Notice]]:
    """Return an answer in parts, what the run was taken for, and what was odd.

    Of a copy in which lines stand as they rank, no more is read than is needed; else each chunk.
    """
    copy = how.copies.find(path, how.order) if how.copies is not None else None
    if copy is not None and copy.in_order(how.order):
        return [from_copy(copy)], copy.form(path), copy.notices(path)
    return per_chunk(path, work, how)


def per_chunk(
    path: str, work: Callable[[RunChunk], T], how: Reading, *, size: int = BLOCK
) -> tuple[list[T], RunForm, list[Notice]]:
    """Return what ``work`` makes of each chunk of a run, what the run was taken for, and what was odd.

    Every line is checked, now or when it was copied. A run whose queries turn out not to stand together is
    read once more, from its first line: ``work`` then meets what it met before. ``size`` is about how many
    bytes make a chunk.
    """
    if how.copies is None:
        return _read(path, work, how, size)
    copy = how.copies.find(path, how.order)
    if copy is not None:
        return [work(chunk) for chunk in copy.chunks()], copy.form(path), copy.notices(path)
    with how.copies.writer(path) as writer:

        def keep(chunk: RunChunk) -> T:
            writer.add(chunk)
            return work(chunk)

        results, form, notices = _read(path, keep, how, size, again=writer.clear)
        writer.close(notices)
    return results, form, notices


def _read(
    path: str,
    work: Callable[[RunChunk], T],
    how: Reading,
    size: int,
    *,
    again: Callable[[], None] = lambda: None,
) -> tuple[list[T], RunForm, list[Notice]]:
    """Read a run from its file; ``again`` takes back what ``work`` left behind, before a second reading."""
    order, on_duplicate = how.order, how.on_duplicate
    of_part = isinstance(path, FilePart)
    notices: list[Notice] = []
    tally = FormTally(met=[] if of_part else None)
    try:
        chunks = read_chunks(path, order=order, on_duplicate=on_duplicate, notices=notices, size=size)
        results = [work(tally.add(chunk)) for chunk in chunks]
    except Scattered:
        if of_part:
            raise
        if not (can_reread(path) or is_dataset(path)):
            raise InputError(
                f"{path}: the lines of a query are not contiguous, and a pipe cannot be read twice",
                "Write the run to a file, and read that.",
            ) from None
        again()
        notices = [Notice(where=path, what="the lines of a query are not contiguous; read more slowly")]
        tally = FormTally()
        whole = read_whole(path, order=order, on_duplicate=on_duplicate, notices=notices)
        results = [work(tally.add(whole))]
    return results, tally.form(), notices
