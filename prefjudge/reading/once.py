"""What a verb that is made of verbs asks of the same files in each of them is read once.

A report scores the runs and then compares them: both place the same documents in the same files. Answers are
kept only while `asking_once` is open, and only for files that have not changed since.
"""

from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from stat import S_ISREG
from typing import TypeVar, cast

from prefjudge.reading.remote import is_remote

T = TypeVar("T")

_ANSWERS: ContextVar[dict[Hashable, object] | None] = ContextVar("answers", default=None)


@contextmanager
def asking_once() -> Iterator[None]:
    """Keep the answers of `once` until the block ends."""
    before = _ANSWERS.set({})
    try:
        yield
    finally:
        _ANSWERS.reset(before)


def is_asking_once() -> bool:
    """Whether answers are kept: a key that takes long to make is needed only then."""
    return _ANSWERS.get() is not None


def once(key: Hashable, ask: Callable[[], T]) -> T:
    """Return the answer that is kept under the key, or ask for it; where none are kept, ask."""
    return once_each([key], lambda: [ask()])[0]


def once_each(keys: Sequence[Hashable], ask: Callable[[], list[T]]) -> list[T]:
    """Return the answers that are kept under the keys; where one is missing, ask for all of them together."""
    answers = _ANSWERS.get()
    if answers is None:
        return ask()
    if not answers.keys() >= set(keys):
        answers.update(zip(keys, ask(), strict=True))
    return [cast("T", answers[key]) for key in keys]


def state_of(path: str | Path) -> tuple[int | str, ...]:
    """Return what tells whether a file is still the same; nothing for what cannot be read twice."""
    if is_remote(path):
        from prefjudge.reading.remote import version

        return (version(path),)
    try:
        found = Path(path).stat()
    except OSError:
        return ()
    if str(path) == "-" or not S_ISREG(found.st_mode):
        return ()
    return (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns)
