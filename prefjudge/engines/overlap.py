"""Overlap: whether a run and qrels speak of the same queries and documents at all."""

import re
from collections.abc import Sequence

from prefjudge.core.qrels import Qrels
from prefjudge.errors import InputError

_SAMPLE = 1000


def check_overlap(path: str, qrels: Qrels, *, example: tuple[str, str], shared: int, found: int) -> None:
    """Refuse a run that has no query of the qrels, or whose doc_ids are of another kind.

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
    """
    query, doc = example
    if not shared and qrels.queries:
        raise InputError(
            f"{path}: none of the {len(qrels.queries)} judged queries of {qrels.name} is in this run:"
            f" its first query is {query!r}, the qrels have {qrels.queries[0]!r}",
            _hint("query_id", query, qrels.queries),
        )
    if shared and not found and qrels.docs and _shape(doc) not in map(_shape, qrels.docs[:_SAMPLE]):
        raise InputError(
            f"{path}: no judged document of {qrels.name} is in this run: its doc_ids look like {doc!r},"
            f" those of the qrels like {qrels.docs[0]!r}",
            _hint("doc_id", doc, qrels.docs),
        )


def _shape(name: str) -> str:
    return re.sub(r"\d+", "9", name)


def _hint(kind: str, name: str, others: Sequence[str]) -> str:
    if name.isdigit() and any(other.isdigit() and int(other) == int(name) for other in others):
        return f"the {kind}s differ in leading zeros: write them alike"
    return f"run and qrels must come from the same collection and write the {kind} alike"
