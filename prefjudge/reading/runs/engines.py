"""Where runs are read that a user chooses: on this machine, or on a cluster."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from prefjudge.reading.runs.parquet import require_arrow
from prefjudge.reading.runs.tables import ParquetTables

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from prefjudge.reading.runs.tables import Tables


class Engine(StrEnum):
    """What reads runs: this machine, or a cluster."""

    FILES = "files"
    SPARK = "spark"


def tables_of(engine: Engine | str, executor: Executor | None = None) -> Tables:
    """Return what reads and writes Parquet, and sends run files to where they are read."""
    require_arrow()
    if engine == Engine.SPARK:
        from prefjudge.reading.runs.cluster import SparkTables

        return SparkTables()
    return ParquetTables(executor)
