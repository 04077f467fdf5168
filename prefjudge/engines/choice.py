"""The engine that a user asks for: the same questions to run files, DuckDB or Spark."""

from __future__ import annotations

from concurrent.futures import Executor
from enum import StrEnum

from prefjudge.engines.sql.tables import SqlEngine, require_arrow
from prefjudge.errors import InputError


class Engine(StrEnum):
    """What reads runs."""

    FILES = "files"
    """This package, which checks every line and says which one is wrong."""
    DUCKDB = "duckdb"
    SPARK = "spark"


def engine_named(name: str, executor: Executor | None = None) -> SqlEngine:
    """Return the SQL engine that a user asks for: ``duckdb``, which ``executor`` reads for, or ``spark``."""
    if name == "duckdb":
        require_arrow("sql")  # which the engines import as they are loaded
        from prefjudge.engines.sql.duck import DuckEngine

        return DuckEngine(executor)
    if name == "spark":
        require_arrow("spark")
        from prefjudge.engines.sql.spark import SparkEngine

        return SparkEngine()
    raise InputError(f"there is no engine {name!r}", f"Choose one of: {', '.join(Engine)}.")
