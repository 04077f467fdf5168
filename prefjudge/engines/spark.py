"""Apache Spark: the SQL texts where the runs already live on a cluster.

Runs are text files (a folder, a pattern, a list of files), which the cluster reads itself, or Parquet with
the columns ``path, tag, query, doc, rank, score``. Results too large to bring home are written as Parquet.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from prefjudge.core.qrels import Qrels
from prefjudge.core.runs import Order
from prefjudge.engines.sql import scores_text, top_text
from prefjudge.errors import ConfigError, InputError
from prefjudge.formats.problems import LIMIT, shown
from prefjudge.formats.qrels import read_qrels

_NUMBER = r"^[+-]?(([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?|[iI][nN][fF]([iI][nN][iI][tT][yY])?)$"
_WHOLE = r"^[+-]?[0-9]{1,18}$"
_BLANKS = "[ \t\r\x0b\x0c]+"
_COLUMNS = ("path", "tag", "query", "doc", "rank", "score")


class SparkEngine:
    """Runs the SQL texts on a Spark session: the given one, the active one, or a local one of its own."""

    def __init__(self, session: Any = None) -> None:
        try:
            from pyspark.sql import SparkSession
        except ImportError:
            raise ConfigError(
                "Apache Spark is not installed", "install it with the extra: pip install 'prefjudge[spark]'"
            ) from None
        if session is None:
            session = SparkSession.getActiveSession() or SparkSession.builder.getOrCreate()
        self.session = session

    def load_runs(self, paths: Sequence[str], order: Order) -> None:
        """Make the view ``runs``; every line is checked by the cluster."""
        if all(path.rstrip("/").endswith(".parquet") for path in paths):
            runs = self.session.read.parquet(*paths).select(*_COLUMNS)
        else:
            runs = self._parsed(paths, order)
        runs.createOrReplaceTempView("runs")
        self._check_repeats()

    def _parsed(self, paths: Sequence[str], order: Order) -> Any:
        from pyspark.sql import functions as f

        lines = self.session.read.text(list(paths)).withColumn("file", f.input_file_name())
        line = f.trim(f.regexp_replace(f.regexp_replace("value", "^\ufeff", ""), _BLANKS, " "))
        lines = lines.withColumn("line", line).where((f.col("line") != "") & ~f.col("line").startswith("#"))
        parts = f.split("line", " ", 6)
        lines = lines.withColumn("parts", parts).withColumn("size", f.size("parts"))
        short = f.col("size") == 3
        rank = f.when(short, f.col("parts")[2]).otherwise(f.col("parts")[3])
        score = f.when(~short, f.col("parts")[4])
        good = f.col("size").isin(3, 5, 6) & f.when(short, rank.rlike(_WHOLE)).otherwise(score.rlike(_NUMBER))
        if order is Order.RANK:
            good = good & rank.rlike(_WHOLE)
        lines = lines.withColumn("good", f.coalesce(good, f.lit(False)))
        self._check_lines(lines)
        known = self._known(lines, paths)
        whole = f.when(rank.rlike(_WHOLE), rank).cast("bigint")
        return lines.select(
            known.alias("path"),
            f.when(f.col("size") == 6, f.col("parts")[5]).otherwise("").alias("tag"),
            f.col("parts")[0].alias("query"),
            f.when(short, f.col("parts")[1]).otherwise(f.col("parts")[2]).alias("doc"),
            whole.alias("rank"),
            f.when(short, -whole.cast("double")).otherwise(score.cast("double")).alias("score"),
        )

    def _known(self, lines: Any, paths: Sequence[str]) -> Any:
        """Return the column of paths: as the caller wrote them where Spark gives addresses of local files."""
        from pyspark.sql import functions as f

        written = {str(Path(path).resolve()): path for path in paths}
        pairs = []
        for (file,) in lines.select("file").distinct().collect():
            address = urlsplit(file)
            local = unquote(address.path) if address.scheme in ("", "file") else file
            pairs += [f.lit(file), f.lit(written.get(local, local))]
        return f.create_map(*pairs)[f.col("file")]

    def _check_lines(self, lines: Any) -> None:
        from pyspark.sql import functions as f

        bad = lines.where(~f.col("good")).select("file", "value").limit(LIMIT).collect()
        sizes = (
            lines.where("good")
            .groupBy("file")
            .agg(f.countDistinct("size").alias("n"))
            .where("n > 1")
            .limit(1)
        )
        mixed = [] if bad else sizes.collect()
        if bad or mixed:
            problems = sorted(f"{row.file}: cannot be read: {shown(row.value.encode())}" for row in bad)
            problems += [f"{row.file}: has lines of different numbers of columns" for row in mixed]
            raise InputError(
                "runs cannot be read on Spark:",
                "prefjudge check FILE names the line and the remedy",
                problems,
            )
        if not lines.limit(1).count():
            raise InputError("the runs are empty", "check the program that wrote them")

    def _check_repeats(self) -> None:
        again = self.session.sql(
            f"SELECT path, query, doc FROM runs GROUP BY path, query, doc HAVING COUNT(*) > 1 LIMIT {LIMIT}"
        ).collect()
        if again:
            problems = [
                f"{row.path}: document repeated for query {row.query!r}: {row.doc!r}" for row in again
            ]
            raise InputError(
                "runs cannot be read on Spark:",
                "keep one line of each; prefjudge check FILE names them",
                problems,
            )

    def load_qrels(self, qrels: Qrels) -> None:
        """Make the view ``qrels``."""
        rows = [
            (qrels.queries[query], qrels.docs[doc], grade)
            for query, doc, grade in zip(
                qrels.query.tolist(), qrels.doc.tolist(), qrels.grade.tolist(), strict=True
            )
        ]
        frame = self.session.createDataFrame(rows, "query string, doc string, grade double")
        frame.createOrReplaceTempView("qrels")

    def rows(self, text: str) -> list[tuple[Any, ...]]:
        """Return the rows of a query."""
        return [tuple(row) for row in self.session.sql(text).collect()]

    def write_top(self, paths: Sequence[str], out: str, *, k: int, order: Order | str = Order.SCORE) -> None:
        """Write the ``k`` best documents of each query of each run as Parquet."""
        order = Order(order)
        self.load_runs(paths, order)
        self.session.sql(top_text(k, order)).write.mode("overwrite").parquet(out)

    def write_scores(
        self,
        paths: Sequence[str],
        qrels: Qrels | str | Path,
        out: str,
        *,
        measure: str = "RR",
        cutoff: int = 10,
        rel: float = 1,
        order: Order | str = Order.SCORE,
    ) -> None:
        """Write a score for each run and judged query as Parquet: ``path, query, value``."""
        order = Order(order)
        self.load_runs(paths, order)
        self.load_qrels(qrels if isinstance(qrels, Qrels) else read_qrels(qrels))
        self.session.sql(scores_text(measure, cutoff, rel, order)).write.mode("overwrite").parquet(out)
