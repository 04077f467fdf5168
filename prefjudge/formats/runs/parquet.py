"""Runs in Parquet: how they are told from run files, and what they hold."""

from pathlib import Path

COLUMNS = ("path", "tag", "query", "doc", "rank", "score")
"""One row for each line of a run; ``path`` tells the runs apart."""


def is_parquet(path: str | Path) -> bool:
    """Return whether a path names Parquet: a file, or a folder of files as Spark writes it."""
    return str(path).rstrip("/").lower().endswith(".parquet")
