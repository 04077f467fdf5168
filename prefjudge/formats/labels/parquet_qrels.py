"""Qrels in Parquet, as MTEB keeps them: a row for each judged document."""

from collections.abc import Collection, Iterator
from decimal import Decimal
from numbers import Real

from prefjudge.errors import InputError
from prefjudge.formats.runs.parquet import open_parquet

_QUERIES = ("query-id", "query_id", "qid", "query", "q_id")
_DOCS = ("corpus-id", "doc_id", "docno", "doc", "docid")
_GRADES = ("score", "relevance", "label", "grade")


def read_parquet(path: str, data: Iterator[bytes]) -> Iterator[bytes]:
    """Yield the lines of qrels.

    Raises
    ------
    ConfigError
        pyarrow is not installed.
    InputError
        The file is damaged, or holds no qrels.
    """
    del data  # a file that is read from its end
    with open_parquet(path) as file:
        columns, row = _columns(path, file.schema_arrow.names), 0
        for batch in file.iter_batches(columns=columns):
            cells = zip(*(batch[name].to_pylist() for name in columns), strict=True)
            yield "".join(_line(path, row + place, *line) for place, line in enumerate(cells)).encode()
            row += batch.num_rows


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
            "Name them query-id, corpus-id and score. If these are runs, give them with --runs.",
        )
    return found
