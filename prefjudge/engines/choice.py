"""The engine that a user asks for: the same questions to run files, DuckDB or Spark."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from concurrent.futures import Executor
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Protocol

from prefjudge.core.pooling.qrels import JudgedRanks, Qrels
from prefjudge.core.pooling.runs import Heads, Order
from prefjudge.engines.files import files
from prefjudge.engines.sql.tables import SqlEngine, require_arrow
from prefjudge.errors import InputError
from prefjudge.formats.lines.problems import Notice
from prefjudge.formats.runs.chunks import OnDuplicate
from prefjudge.formats.runs.layouts import RunForm


class Engine(StrEnum):
    """What reads runs."""

    FILES = "files"
    """This package, which checks every line and says which one is wrong."""
    DUCKDB = "duckdb"
    SPARK = "spark"


class Runs(Protocol):
    """Runs that can be asked for the few rows that matter."""

    @property
    def sources(self) -> tuple[str, ...]:
        """The file of each run."""
        ...

    @property
    def forms(self) -> Mapping[str, RunForm]:
        """What each run file was taken for, as far as it was read."""
        ...

    def __len__(self) -> int:
        """Return how many runs there are."""
        ...

    def top(self, k: int, queries: Collection[str] | None = None) -> Heads:
        """Return the ``k`` best documents of each query of each run."""
        ...

    def judged(self, qrels: Qrels) -> list[JudgedRanks]:
        """Return where each run placed the judged documents."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFiles:
    """Run files that are read again for each question; the fields are the parameters of `engines.files`."""

    paths: tuple[str | Path, ...]
    order: Order = Order.SCORE
    trust: bool = False
    on_duplicate: OnDuplicate = OnDuplicate.ERROR
    cache: Path | None = None
    executor: Executor | None = None
    notices: list[Notice] | None = None
    forms: dict[str, RunForm] = field(default_factory=dict)
    """Filled while the files are read."""

    @property
    def sources(self) -> tuple[str, ...]:
        """The file of each run."""
        return tuple(map(str, self.paths))

    def __len__(self) -> int:
        """Return how many runs there are."""
        return len(self.paths)

    def top(self, k: int, queries: Collection[str] | None = None) -> Heads:
        """Return the ``k`` best documents of each query of each run."""
        return files.top(
            self.paths,
            k=k,
            order=self.order,
            queries=queries,
            trust=self.trust,
            on_duplicate=self.on_duplicate,
            cache=self.cache,
            executor=self.executor,
            notices=self.notices,
            forms=self.forms,
        )

    def judged(self, qrels: Qrels) -> list[JudgedRanks]:
        """Return where each run placed the judged documents."""
        return files.judged(
            self.paths,
            qrels,
            order=self.order,
            trust=self.trust,
            on_duplicate=self.on_duplicate,
            cache=self.cache,
            executor=self.executor,
            notices=self.notices,
            forms=self.forms,
        )


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
