"""Apache Spark: the SQL texts where the runs already live on a cluster.

Runs are text files (a folder, a pattern, a list of files), which the cluster reads itself, or Parquet. Which
cluster, the active session says, or Spark's own settings; without any it is this machine.
"""

from __future__ import annotations

import os
import re
import sys
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import reduce
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from prefjudge.core.pooling.runs import Order
from prefjudge.engines.sql.tables import RUNS, check_runs
from prefjudge.errors import ConfigError, InputError
from prefjudge.formats.lines.problems import LIMIT, Notice, shown
from prefjudge.formats.runs.layouts import RunForm, layout_of
from prefjudge.formats.runs.parquet import COLUMNS, is_parquet

_NUMBER = r"^[+-]?(([0-9]++\.?[0-9]*+|\.[0-9]++)([eE][+-]?[0-9]++)?|[iI][nN][fF]([iI][nN][iI][tT][yY])?)$"
_WHOLE = r"^[+-]?[0-9]{1,18}$"
_PART = 100_000
"""How many rows from home make a part: a small table is one file, and a large one is shared out."""
_BLANKS = "^\ufeff|[ \t\r\x0b\x0c]+"
_MOST = 7
"""Columns that are read separately: everything after the sixth belongs to the tag."""
_ODD = ("\ufeff", "  ", "\t", "\r", "\x0b", "\x0c")
"""What a line holds that has other blanks than one between each two fields."""


class SparkEngine:
    """Runs the SQL texts on a Spark session: the given one, the active one, or one of its own."""

    def __init__(self, session: Any = None) -> None:
        self.session = session or _session()
        self._kept: Any = None
        self._loaded = {RUNS}

    def load_runs(self, paths: Sequence[str], order: Order, notices: list[Notice]) -> dict[str, RunForm]:
        """Make the view of runs: the cluster reads each file once, and checks every line."""
        tables = [path for path in paths if is_parquet(path)]
        texts = [path for path in paths if not is_parquet(path)]
        self.close()
        columns = ", ".join(COLUMNS)
        remedy = f"Check that the cluster sees {paths[0]}; runs in Parquet have the columns {columns}"
        with _briefly("Spark cannot read the runs", remedy):
            self._kept = (self._lines(texts, order) if texts else self._tables(tables)).persist()
            runs, forms = self._named(self._kept, texts) if texts else (self._kept, {})
            if texts and tables:
                runs = runs.unionByName(self._tables(tables))
            runs.createOrReplaceTempView(RUNS)
            check_runs(self, order)
        return forms

    def _tables(self, paths: Sequence[str]) -> Any:
        from pyspark.sql import functions as f

        named = (
            self.session.read.parquet(path).select(*COLUMNS, f.lit(path).alias("source")) for path in paths
        )
        return reduce(lambda one, other: one.unionByName(other), named)

    def _lines(self, paths: Sequence[str], order: Order) -> Any:
        """Return the lines of run files as columns, with their file, form, and whether they can be read."""
        from pyspark.sql import functions as f

        value = f.col("value")
        odd = reduce(lambda one, other: one | other, map(value.contains, _ODD))
        plain = f.when(odd, f.regexp_replace(value, _BLANKS, " ")).otherwise(value)  # replacing is slow
        words = f.split(f.trim(plain), " ", _MOST)
        once = f.explode(f.array(words)).alias("parts")  # else Spark splits again for each column
        lines = self.session.read.text(list(paths)).select("value", f.input_file_name().alias("file"), once)
        lines = lines.withColumn("form", f.size("parts"))
        lines = lines.where(~f.col("parts")[0].rlike("^(#|$)"))
        part, short = f.col("parts").getItem, f.col("form") == 3
        rank, score = f.when(short, part(2)).otherwise(part(3)), f.when(~short, part(4))
        good = f.when(short, rank.rlike(_WHOLE)).otherwise(score.rlike(_NUMBER))
        good = good & f.col("form").isin(3, 5, 6, _MOST) & f.is_valid_utf8("value")
        if order is Order.RANK:
            good = good & rank.rlike(_WHOLE)
        good = f.coalesce(good, f.lit(False))
        whole = f.when(rank.rlike(_WHOLE), rank).cast("bigint")
        return lines.select(
            "file",
            "form",
            f.when(~good, f.col("value")).alias("bad"),
            f.array_join(f.slice("parts", 6, 2), " ").alias("tag"),
            part(0).alias("query"),
            f.when(short, part(1)).otherwise(part(2)).alias("doc"),
            whole.alias("rank"),
            f.when(good, f.when(short, -whole.cast("double")).otherwise(score.cast("double"))).alias("score"),
        )

    def _named(self, lines: Any, paths: Sequence[str]) -> tuple[Any, dict[str, RunForm]]:
        """Return the table of the lines, with each path as the caller wrote it, and the form of each file.

        Raises
        ------
        InputError
            Lines cannot be read, those of a file differ in form, or a file has none.
        """
        from pyspark.sql import functions as f

        files = _forms(lines).collect()
        written = {str(Path(path).resolve()): path for path in paths}
        local = {row.file: _local(row.file) for row in files}
        known = {file: written.get(path, path) for file, path in local.items()}
        problems = [f"{known[row.file]}: {what}" for row in files if not row.bad for what in _uneven(row)]
        if any(row.bad for row in files):
            wrong = lines.where(f.col("bad").isNotNull()).select("file", "bad").limit(LIMIT).collect()
            problems += sorted(f"{known[row.file]}: {shown(row.bad.encode())}" for row in wrong)
        read = set(known.values())
        problems += [f"{path}: it is empty" for path in paths if path not in read and Path(path).is_file()]
        if problems or not read:
            raise InputError(
                "Spark cannot read the runs:",
                "Run: prefjudge check FILE; it names the line and the remedy.",
                problems,
            )
        names = f.create_map(*(f.lit(text) for pair in known.items() for text in pair))
        name = names[f.col("file")]
        forms = {
            known[row.file]: RunForm(
                layout=layout_of(
                    known[row.file], row.low if row.low < _MOST else 5 + len(row.tag.split(" "))
                ),
                lines=row.lines,
                queries=row.queries,
            )
            for row in files
        }
        return lines.select(name.alias("path"), *COLUMNS[1:], name.alias("source")), forms

    def load(self, table: str, types: Mapping[str, str], rows: Sequence[tuple[Any, ...]]) -> None:
        """Make a view of rows from home."""
        schema = ", ".join(f"`{name}` {kind}" for name, kind in types.items())
        frame = self.session.createDataFrame(rows, schema)
        frame.coalesce(1 + len(rows) // _PART).createOrReplaceTempView(table)
        self._loaded.add(table)

    def rows(self, text: str) -> list[tuple[Any, ...]]:
        """Return the rows of a query."""
        return [tuple(row) for row in self.session.sql(text).collect()]

    def save(self, text: str, path: str) -> str:
        """Write the rows of a query as a Parquet folder, and replace one of that name."""
        with _briefly(f"Spark cannot write {path}", "Check that the cluster can write there."):
            self.session.sql(text).write.mode("overwrite").parquet(path)
        return f"parquet.`{path.replace('`', '``')}`"

    def close(self) -> None:
        """Drop the views, and what the cluster keeps for them; the session stays open."""
        if self._kept is not None:
            self._kept.unpersist()
            self._kept = None
        for view in self._loaded:
            self.session.catalog.dropTempView(view)


def _forms(lines: Any) -> Any:
    """Return what the lines of each file look like: how many, how many columns and tags, and what they count.

    Grouping by query first lets each query be counted, without a second shuffle of every line.
    """
    from pyspark.sql import functions as f

    score = f.col("score")
    counted = (f.max(score) - f.min(score) == f.count("form") - 1) & (f.max(score % 1) == 0)
    queries = lines.groupBy("file", "query").agg(
        f.count("form").alias("lines"),
        f.count("bad").alias("bad"),
        f.count("rank").alias("ranks"),
        f.min("form").alias("low"),
        f.max("form").alias("high"),
        f.min("tag").alias("tag"),
        f.max("tag").alias("other"),
        counted.alias("counted"),
    )
    return queries.groupBy("file").agg(
        f.sum("lines").alias("lines"),
        f.sum("bad").alias("bad"),
        f.sum("ranks").alias("ranks"),
        f.count("query").alias("queries"),
        f.min("low").alias("low"),
        f.max("high").alias("high"),
        f.min("tag").alias("tag"),
        f.max("other").alias("other"),
        f.min("counted").alias("counted"),
    )


def _uneven(row: Any) -> Iterator[str]:
    """Say what is wrong with lines that can be read one by one: as `RunReader` does, for the whole file."""
    if row.low != row.high:
        yield "its lines differ in their number of columns"
    elif row.tag != row.other:
        if row.low == _MOST:
            yield "its lines differ from the sixth column on, and a tag with blanks is the same on every line"
        numbers = re.match(_NUMBER, row.tag) and re.match(_NUMBER, row.other)
        if row.low == 6 and numbers and (row.counted or row.ranks < row.lines):
            yield "the sixth column holds numbers that change, so it is not the tag"


def _local(address: str) -> str:
    """Return the path of a file on this machine for the address that Spark gives it."""
    parts = urlsplit(address)
    return unquote(parts.path) if parts.scheme in ("", "file") else address


def _session() -> Any:
    """Return the active session, or a new one that says nothing while all is well."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "PySpark does not yet", FutureWarning)
        try:
            from pyspark.sql import SparkSession
        except ImportError:
            raise ConfigError(
                "Apache Spark is not installed", "Install it with the extra: pip install 'prefjudge[spark]'"
            ) from None
        active = SparkSession.getActiveSession()
        if active is not None:
            return active
        quiet: dict[str, Any] = {"spark.log.level": "ERROR", "spark.ui.showConsoleProgress": "false"}
        try:
            session = SparkSession.builder.config(map=quiet).getOrCreate()
        except Exception as error:  # Spark has many, and so has its gateway to Java
            raise ConfigError(
                f"Apache Spark does not start: {_first_line(error)}",
                "Install Java 17 or newer, on the PATH or in JAVA_HOME.",
            ) from error
    context = session.sparkContext
    if str(context.master).startswith("local") and "PYSPARK_PYTHON" not in os.environ:
        context.pythonExec = sys.executable  # by default the python3 of the PATH, which may be an older one
    return session


@contextmanager
def _briefly(what: str, remedy: str) -> Iterator[None]:
    """Say in one line what Spark says of files in many."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    try:
        yield
    except (PySparkException, Py4JError) as error:
        raise InputError(f"{what}: {_first_line(error)}", remedy) from error


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]
