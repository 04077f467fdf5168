"""The engine that a user asks for: the same two functions on files, DuckDB or Spark."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from concurrent.futures import Executor
from pathlib import Path

from prefjudge.core.qrels import JudgedRanks, Qrels
from prefjudge.core.runs import Heads, Order
from prefjudge.engines import files, sql
from prefjudge.errors import InputError
from prefjudge.formats.problems import Notice
from prefjudge.formats.runs import OnDuplicate

ENGINES = ("files", "duckdb", "spark")


def engine_named(name: str) -> sql.SqlEngine:
    """Return the engine that a user asks for: ``duckdb`` or ``spark``."""
    if name == "duckdb":
        from prefjudge.engines.duck import DuckEngine

        return DuckEngine()
    if name == "spark":
        from prefjudge.engines.spark import SparkEngine

        return SparkEngine()
    raise InputError(f"there is no engine {name!r}", "choose one of: files, duckdb, spark")


def top(
    paths: str | Path | Iterable[str | Path],
    *,
    k: int,
    engine: str = "files",
    order: Order | str = Order.SCORE,
    queries: Collection[str] | None = None,
    trust: bool = False,
    on_duplicate: OnDuplicate | str = OnDuplicate.ERROR,
    cache: str | Path | None = None,
    executor: Executor | None = None,
    notices: list[Notice] | None = None,
) -> Heads:
    """Return the ``k`` best documents of each query of each run; parameters as in `engines.files.top`.

    ``trust``, ``cache`` and ``executor`` mean nothing to the SQL engines, which check every line and share
    the work out themselves.
    """
    if engine == "files":
        return files.top(
            paths,
            k=k,
            order=order,
            queries=queries,
            trust=trust,
            on_duplicate=on_duplicate,
            cache=cache,
            executor=executor,
            notices=notices,
        )
    _check(engine, on_duplicate)
    return sql.top(engine_named(engine), paths, k=k, order=order, queries=queries, notices=notices)


def judged(
    paths: str | Path | Iterable[str | Path],
    qrels: Qrels,
    *,
    engine: str = "files",
    order: Order | str = Order.SCORE,
    trust: bool = False,
    on_duplicate: OnDuplicate | str = OnDuplicate.ERROR,
    cache: str | Path | None = None,
    executor: Executor | None = None,
    notices: list[Notice] | None = None,
) -> list[JudgedRanks]:
    """Return where each run placed the judged documents; parameters as in `top`."""
    if engine == "files":
        return files.judged(
            paths,
            qrels,
            order=order,
            trust=trust,
            on_duplicate=on_duplicate,
            cache=cache,
            executor=executor,
            notices=notices,
        )
    _check(engine, on_duplicate)
    return sql.judged(engine_named(engine), paths, qrels, order=order, notices=notices)


def _check(engine: str, on_duplicate: OnDuplicate | str) -> None:
    if OnDuplicate(on_duplicate) is not OnDuplicate.ERROR:
        raise InputError(
            f"--on-duplicate {on_duplicate} is not for the engine {engine}",
            "mend the runs, or read them with --engine files",
        )
