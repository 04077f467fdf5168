"""How runs are read: the options of every verb that reads them."""

from collections.abc import Sequence
from concurrent.futures import Executor
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from prefjudge.core.pooling.runs import Order
from prefjudge.formats.problems import Notice
from prefjudge.gather.inputs import as_path
from prefjudge.gather.readers import Reader, reading


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadOptions:
    """How runs are read. Of these options only ``on_duplicate`` can change a result.

    Attributes
    ----------
    trust : bool
        Read only what is needed: the top of each query, or the lines of judged documents. The other lines are
        then not checked, nor are the runs digested.
    on_duplicate : {'error', 'first', 'best'}
        What to do with a document that a run lists twice for a query.
    workers : int or Executor, optional
        How many processes read runs side by side, or an executor whose workers do; None for as many as pay.
    cache : Path, optional
        Keep columnar copies of checked runs in this folder, so that the next look costs milliseconds.
    engine : {'files', 'duckdb', 'spark'}
        What reads the runs: this package, or SQL on DuckDB or on Apache Spark, which read Parquet too.
    """

    trust: bool
    on_duplicate: str
    workers: int | Executor | None
    cache: str | Path | None
    engine: str

    def read(
        self, runs: Sequence[str | Path], order: Order, notices: "list[Notice]"
    ) -> AbstractContextManager["Reader"]:
        """Open runs, to be read so.

        Raises
        ------
        InputError
            An option is none of the choices, or does not fit the engine.
        """
        return reading(
            runs,
            order,
            trust=self.trust,
            on_duplicate=self.on_duplicate,
            workers=self.workers,
            cache=as_path(self.cache),
            engine=self.engine,
            notices=notices,
        )
