"""Qrels in Parquet, as MTEB keeps them: a row for each judged document."""

from collections.abc import Iterator
from pathlib import Path

from prefjudge.errors import ConfigError, InputError

_QUERIES = ("query-id", "query_id", "qid", "query", "q_id")
_DOCS = ("corpus-id", "doc_id", "docno", "doc", "docid")
_GRADES = ("score", "relevance", "label", "grade")
_BATCH = 4096


def read_parquet(path: str, data: Iterator[bytes]) -> Iterator[bytes]:
    """Yield the lines of qrels.

    Raises
    ------
    ConfigError
        DuckDB is not installed.
    InputError
        The file is damaged, or holds no qrels.
    """
    del data  # a file that is read from its end
    try:
        import duckdb  # type: ignore[import-not-found,unused-ignore]
    except ImportError:
        raise ConfigError(
            f"{path} is Parquet, which DuckDB reads, and that is not installed",
            "Install it with the extra: pip install 'prefjudge[sql]'",
        ) from None
    try:
        with duckdb.connect(":memory:") as connection:
            described = connection.execute("DESCRIBE FROM read_parquet(?)", [path]).fetchall()
            names = ", ".join(f'"{one}"' for one in _columns(path, {row[0] for row in described}))
            rows = connection.execute(f"SELECT {names} FROM read_parquet(?)", [path])
            row = 0
            while batch := rows.fetchmany(_BATCH):
                yield "".join(_line(path, row + place, *cells) for place, cells in enumerate(batch)).encode()
                row += len(batch)
    except (duckdb.Error, TypeError, ValueError) as error:
        said = str(error).splitlines()[0]
        raise InputError(f"{Path(path)} cannot be read as qrels: {said}", "Was the file cut off?") from None


def _line(path: str, row: int, query: object, doc: object, grade: float | None) -> str:
    """Return a row as a line; rows count from 0. An id with a blank would be two columns, or two lines."""
    for cell in (query, doc):
        if cell is None or len(str(cell).split()) != 1 or str(cell).strip() != str(cell):
            raise InputError(
                f"{path}, row {row}: the id {cell!r} is empty or holds a blank", "Give ids without blanks."
            )
    if grade is None:
        raise InputError(f"{path}, row {row}: there is no grade", "Fill in the cell, or leave out the row.")
    return f"{query} 0 {doc} {grade:.17g}\n"


def _columns(path: str, there: set[str]) -> list[str]:
    """Return the columns of the query, the document and the grade."""
    found = [next((one for one in names if one in there), "") for names in (_QUERIES, _DOCS, _GRADES)]
    if not all(found) or "rank" in there:
        raise InputError(
            f"{path} holds no qrels: it has the columns {', '.join(sorted(there))}",
            "Name them query-id, corpus-id and score. If these are runs, add --engine duckdb or spark.",
        )
    return found
