"""Overlap: whether a run and qrels share queries and documents at all."""

import re

from prefjudge.core.pooling.qrels import Qrels
from prefjudge.errors import InputError
from prefjudge.formats.lines.problems import Notice, write_alike

_SAMPLE = 1000
_FILES = "a run and qrels"
_SWAPPED = (
    "One of the two has queries where the other has documents: swap these columns. "
    "Write each line of a run as: query Q0 doc rank score tag; of qrels as: query Q0 doc grade."
)


def check_overlap(
    path: str,
    qrels: Qrels,
    *,
    example: tuple[str, str],
    shared: int,
    found: int,
    notices: list[Notice] | None = None,
) -> None:
    """Refuse a run that has no query of the qrels, or whose doc_ids are numbers where theirs are not.

    Other doc_ids say little by their looks (``ug7v899j`` and ``xqhn0vbp`` are of one collection): a run that
    found nothing scores 0, and is noticed where its ids look different.

    Parameters
    ----------
    path : str
        The run file.
    qrels : Qrels
        The judged documents.
    example : tuple of str
        A query and a document of the run.
    shared, found : int
        How many judged queries the run has, and how many of their judged documents it returned.
    notices : list of Notice, optional
        Receives what is odd.
    """
    query, doc = example
    if not shared and qrels.queries:
        raise InputError(
            f"{path}: none of the {len(qrels.queries)} judged queries of {qrels.name} is in this run:"
            f" its first query is {query!r}, the qrels have {qrels.queries[0]!r}",
            _SWAPPED
            if query in qrels.docs or doc in qrels.queries
            else write_alike("query_id", [query], qrels.queries, _FILES),
        )
    judged = qrels.docs[:_SAMPLE]
    if found or not shared or not judged:
        return
    words = (
        f"no judged document of {qrels.name} is in this run: its doc_ids look like {doc!r},"
        f" those of the qrels like {judged[0]!r}"
    )
    numbers = sum(map(str.isdigit, judged))
    if numbers == (0 if doc.isdigit() else len(judged)):
        raise InputError(f"{path}: {words}", write_alike("doc_id", [doc], qrels.docs, _FILES))
    if notices is not None and _shape(doc) not in map(_shape, judged):
        notices.append(Notice(where=path, what=words))


def _shape(name: str) -> str:
    return re.sub(r"\d+", "9", name)
