"""What is held in memory and goes wherever a path does, and the tables that are taken for it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar, runtime_checkable

from prefjudge.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray

T = TypeVar("T")
K = TypeVar("K")

MEMORY = "memory:"
"""What the name of an input in memory starts with, so that it is never taken for a file's."""

QUERY = ("query_id", "qid", "q_id", "query-id", "query")
DOC = ("doc_id", "docno", "docid", "doc-id", "corpus-id", "doc")
"""What columns of ids are called by ir_measures, PyTerrier, ranx and BEIR: the first found is taken."""


@runtime_checkable
class Frame(Protocol):
    """A DataFrame of pandas or polars."""

    @property
    def columns(self) -> Iterable[str]:
        """The names of the columns."""
        ...

    def __getitem__(self, name: str, /) -> Any:
        """Return a column."""
        ...

    def to_numpy(self) -> NDArray[Any]:
        """Return the values."""
        ...


@runtime_checkable
class Arrow(Protocol):
    """A table that speaks Arrow's protocol, such as those of pyarrow and polars."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Return a stream of record batches."""
        ...


def is_record(item: object) -> bool:
    """Return whether something is a row by itself: a named tuple, or a mapping of names to plain values."""
    if isinstance(item, Mapping):
        return any(name in item for name in QUERY) and not any(
            isinstance(value, Mapping) for value in item.values()
        )
    return isinstance(item, tuple) and any(name in getattr(item, "_fields", ()) for name in QUERY)


class Held(str, Generic[T]):
    """An input in memory, which goes wherever a path does."""

    # As a text it is its name. No engine, notice or record needs to know of it: readers look for what it
    # holds before they open a file. ``str(held)`` is the name alone, and ``Path(held)`` that of no file.

    name: str
    """What the user calls it, or what it is called for want of a name."""
    content: T
    """What a reader would have made of a file."""

    def __new__(cls, name: str, content: T) -> Held[T]:
        """Make the text that holds it."""
        made = super().__new__(cls, f"{MEMORY}{name}")
        made.name, made.content = name, content
        return made

    def __getnewargs__(self) -> tuple[str, T]:  # type: ignore[override]
        """Return what makes it again, for pickle."""
        return self.name, self.content

    def holding(self, kind: type[K], what: str, way: str) -> K:
        """Return what it holds, where that is of a kind; say ``what`` it lacks, and the ``way``."""
        if not isinstance(self.content, kind):
            raise InputError(f"{self} does not hold {what}", way)
        return self.content


class NamedFile(str):
    """The path of a run file that a program gives a name of its own, in the place of the tag in the file."""

    name: str

    def __new__(cls, path: str, name: str) -> NamedFile:
        """Make the path that has a name."""
        made = super().__new__(cls, path)
        made.name = name
        return made

    def __getnewargs__(self) -> tuple[str, str]:  # type: ignore[override]
        """Return what makes it again, for pickle."""
        return str(self), self.name
