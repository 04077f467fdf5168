"""Reading a whole run, chunk by chunk, whether its queries stand together or not."""

from collections.abc import Callable
from typing import TypeVar

from prefjudge.core.runs import Order
from prefjudge.formats.problems import Notice
from prefjudge.formats.runs import OnDuplicate, RunChunk, Scattered, read_chunks, read_whole

T = TypeVar("T")


def per_chunk(
    path: str,
    work: Callable[[RunChunk], T],
    order: Order,
    on_duplicate: OnDuplicate,
    notices: list[Notice],
) -> list[T]:
    """Return what ``work`` makes of each chunk of a run; every line is checked."""
    try:
        return [
            work(chunk)
            for chunk in read_chunks(path, order=order, on_duplicate=on_duplicate, notices=notices)
        ]
    except Scattered:
        notices[:] = [Notice(where=path, what="the lines of a query do not stand together; read more slowly")]
        return [work(read_whole(path, order=order, on_duplicate=on_duplicate, notices=notices))]
