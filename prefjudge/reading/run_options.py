"""How runs are read: the options of every verb that reads them, each once."""

from concurrent.futures import Executor
from typing import Annotated, Literal, TypedDict

from annotated_types import Ge

from prefjudge.reading.runs.runs import OnDuplicate


class ReadOptions(TypedDict, total=False):
    """How runs are read, as ``**how: Unpack[ReadOptions]``. Only ``on_duplicate`` can change a result.

    Parameters
    ----------
    on_duplicate : OnDuplicate
        What to do with a document that a run lists twice for a query.
    workers : int or Executor, optional
        How many processes read runs side by side. A program that says nothing gets 1, with None as many as
        pay; or the workers of an executor that it gives read. At a terminal as many as pay, or as the
        environment variable PREFJUDGE_WORKERS says.
    """

    on_duplicate: OnDuplicate | Literal["error", "first", "best"]
    workers: Annotated[int, Ge(1)] | Executor | None


DEFAULTS = ReadOptions(on_duplicate=OnDuplicate.ERROR, workers=1)
"""What stands where a word is not given."""
