"""Reading ahead: the next block is made ready while the last one is looked at."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")


def ahead(items: Iterator[T]) -> Iterator[T]:
    """Yield what an iterator yields; from the third item on, a thread makes the next one meanwhile."""
    end = object()
    for _ in range(2):  # what is small needs no thread
        if (item := next(items, end)) is end:
            return
        yield item  # type: ignore[misc]
    with ThreadPoolExecutor(1) as thread:
        coming = thread.submit(next, items, end)
        while (item := coming.result()) is not end:
            coming = thread.submit(next, items, end)
            yield item  # type: ignore[misc]
