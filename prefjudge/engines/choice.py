"""Where runs are read that a user chooses: on this machine, or on a cluster."""

from __future__ import annotations

from concurrent.futures import Executor
from enum import StrEnum

from prefjudge.engines.tables import ParquetTables, Tables
from prefjudge.formats.runs.parquet import require_arrow


class Engine(StrEnum):
    """What reads runs: this machine, or a cluster."""

    FILES = "files"
    SPARK = "spark"


def tables_of(engine: Engine | str, executor: Executor | None = None) -> Tables:
    """Return what reads and writes Parquet, and sends run files to where they are read.

    Raises
    ------
    ConfigError
        pyarrow is not installed, or Spark.
    """
    require_arrow()
    if engine == Engine.SPARK:
        from prefjudge.engines.cluster import SparkTables

        return SparkTables()
    return ParquetTables(executor)
