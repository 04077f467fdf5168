"""Qrels in Parquet, as MTEB keeps them: a row for each judged document."""

from collections.abc import Collection, Iterator
from decimal import Decimal
from numbers import Real

from prefjudge.errors import InputError
from prefjudge.formats.lines.parquet_rows import ROW, parquet_rows, quoted

_QUERIES = ("query-id", "query_id", "qid", "query", "q_id")
_DOCS = ("corpus-id", "doc_id", "docno", "doc", "docid")
_GRADES = ("score", "relevance", "label", "grade")


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
    with parquet_rows(path) as file:
        for batch in file.batches([ROW, *map(quoted, _columns(path, file.columns))]):
            yield "".join(_line(path, *cells) for cells in batch).encode()


def _line(path: str, row: int, query: object, doc: object, grade: object) -> str:
    """Return a row as a line; rows count from 0. An id with a blank would be two columns, or two lines."""
    for cell in (query, doc):
        if cell is None or len(str(cell).split()) != 1 or str(cell).strip() != str(cell):
            raise InputError(
                f"{path}, row {row}: the id {cell!r} is empty or holds a blank", "Give ids without blanks."
            )
    if grade is None:
        raise InputError(f"{path}, row {row}: there is no grade", "Fill in the cell, or leave out the row.")
    if isinstance(grade, bool) or not isinstance(grade, Real | Decimal):
        raise InputError(f"{path}, row {row}: the grade {grade!r} is not a number", "Give grades as numbers.")
    return f"{query} 0 {doc} {grade:.17g}\n"


def _columns(path: str, there: Collection[str]) -> list[str]:
    """Return the columns of the query, the document and the grade."""
    found = [next((one for one in names if one in there), "") for names in (_QUERIES, _DOCS, _GRADES)]
    if not all(found) or "rank" in there:
        raise InputError(
            f"{path} holds no qrels: it has the columns {', '.join(sorted(there))}",
            "Name them query-id, corpus-id and score. If these are runs, add --engine duckdb or spark.",
        )
    return found
