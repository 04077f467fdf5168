"""Reading a whole run, chunk by chunk: from its file, however its queries stand, or from its copy."""

from __future__ import annotations

from collections.abc import Callable
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
    from prefjudge.engines.files.cache import RunCache

T = TypeVar("T")


def per_chunk(
    path: str,
    work: Callable[[RunChunk], T],
    order: Order,
    on_duplicate: OnDuplicate,
    notices: list[Notice],
    cache: RunCache | None = None,
    *,
    again: Callable[[], None] = lambda: None,
    size: int = BLOCK,
) -> tuple[list[T], RunForm]:
    """Return what ``work`` makes of each chunk of a run, and what the run was taken for.

    Every line is checked, now or when it was copied.

    Where ``work`` leaves something behind, ``again`` takes it back: a run whose queries turn out not to stand
    together is read once more, from its first line. ``size`` is about how many bytes make a chunk.
    """
    if cache is None or on_duplicate is not OnDuplicate.ERROR:
        return _read(path, work, order, on_duplicate, notices, again, size)
    copy = cache.copy(path, order)
    if copy is not None:
        notices.extend(copy.notices(path))
        return [work(chunk) for chunk in copy.chunks()], copy.form
    with cache.writer(path) as writer:

        def keep(chunk: RunChunk) -> T:
            writer.add(chunk)
            return work(chunk)

        def forget() -> None:
            writer.clear()
            again()

        found = _read(path, keep, order, on_duplicate, notices, forget, size)
        writer.close(notices)
    return found


def _read(
    path: str,
    work: Callable[[RunChunk], T],
    order: Order,
    on_duplicate: OnDuplicate,
    notices: list[Notice],
    again: Callable[[], None],
    size: int,
) -> tuple[list[T], RunForm]:
    chunks = read_chunks(path, order=order, on_duplicate=on_duplicate, notices=notices, size=size)
    of_part = isinstance(path, FilePart)
    tally = FormTally(met=[] if of_part else None)
    try:
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
        notices[:] = [Notice(where=path, what="the lines of a query are not contiguous; read more slowly")]
        tally = FormTally()
        whole = read_whole(path, order=order, on_duplicate=on_duplicate, notices=notices)
        results = [work(tally.add(whole))]
    return results, tally.form()
