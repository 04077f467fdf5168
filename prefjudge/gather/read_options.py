"""How runs are read: the options of every verb that reads them, each once."""

from concurrent.futures import Executor
from pathlib import Path
from typing import Annotated, Literal, TypedDict

from annotated_types import Ge

from prefjudge.formats.runs.chunks import OnDuplicate


class ReadOptions(TypedDict, total=False):
    """How runs are read, as ``**how: Unpack[ReadOptions]``. Only ``on_duplicate`` can change a result.

    Parameters
    ----------
    trust : bool
        Read only what is needed of the runs: the top of each query, or the lines of judged documents. The
        other lines are then not checked, nor are the runs digested.
    on_duplicate : OnDuplicate
        What to do with a document that a run lists twice for a query.
    workers : int or Executor, optional
        How many processes read runs side by side. A program that says nothing gets 1, with None as many as
        pay; or the workers of an executor that it gives read. At a terminal as many as pay, or as the
        environment variable PREFJUDGE_WORKERS says.
    cache : Path, optional
        Keep columnar copies of checked runs in this folder, so that the next look costs milliseconds.
    """

    trust: bool
    on_duplicate: OnDuplicate | Literal["error", "first", "best"]
    workers: Annotated[int, Ge(1)] | Executor | None
    cache: str | Path | None


DEFAULTS = ReadOptions(trust=False, on_duplicate=OnDuplicate.ERROR, workers=1, cache=None)
"""What stands where a word is not given."""
