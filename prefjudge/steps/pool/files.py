"""The files that ``pool`` leaves behind: the pool as a table, and its sizes drawn."""

from collections.abc import Collection
from pathlib import Path

from prefjudge.core.pools import Pools, QrelsPerQuery
from prefjudge.core.runs import Qrels
from prefjudge.reading import pools as pool_file
from prefjudge.reading.opened import Reader
from prefjudge.reading.runs.cluster import Engine
from prefjudge.reading.runs.parquet import is_parquet
from prefjudge.reading.runs.tables import TableRuns
from prefjudge.show.tables import Column, Table


def can_stay(out: str | Path | None, engine: str) -> bool:
    """Return whether a cluster keeps the pool where it is, and writes it."""
    return engine == Engine.SPARK and out is not None and is_parquet(out)


def save_pool(
    path: str,
    reader: Reader,
    depth: int,
    qrels: Qrels | None,
    per_query: QrelsPerQuery,
    queries: Collection[str] | None,
) -> tuple[tuple[str, ...], dict[int, int]]:
    """Let the cluster write the pool; return the run tags and the sizes of the pools."""
    from prefjudge.reading.runs import cluster

    runs = reader.runs
    assert isinstance(runs, TableRuns)
    return cluster.save_pool(runs, path, depth=depth, qrels=qrels, per_query=per_query, queries=queries)


def write_pool(path: str | Path, pools: Pools, engine: str) -> None:
    """Write the pool as a table: query, document, contributors."""
    if is_parquet(path):
        from prefjudge.findings.outputs import write_table

        write_table(path, _table(pools), engine)
    else:
        pool_file.write_pool(path, pools)


def _table(pools: Pools) -> Table:
    sources: list[list[str]] = [[] for _ in range(pools.query.size)]
    for row, source in zip(pools.source_row.tolist(), pools.source.tolist(), strict=True):
        sources[row].append(pools.sources[source])
    members = zip(pools.query.tolist(), pools.doc.tolist(), sources, strict=True)
    return Table(
        title="Pool",
        columns=tuple(Column(name=name) for name in ("query", "doc", "contributors")),
        rows=tuple(
            (pools.queries[query], pools.docs[doc], ",".join(sorted(names))) for query, doc, names in members
        ),
    )


def draw_sizes(path: Path, sizes: dict[int, int]) -> None:
    """Draw how many queries have a pool of each size."""
    from prefjudge.findings.outputs import write_figure
    from prefjudge.show.plots import plot_pool_sizes

    write_figure(path, plot_pool_sizes(sizes))
