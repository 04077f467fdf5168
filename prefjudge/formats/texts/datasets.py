"""The queries and documents of datasets of ir_datasets: which of their fields is the text."""

from collections.abc import Iterable, Mapping
from typing import Any

from prefjudge.errors import InputError
from prefjudge.formats.lines.datasets import dataset_documents, dataset_entries
from prefjudge.formats.texts.topic_fields import PLAIN, TextFields


def dataset_queries(path: str, fields: TextFields) -> dict[str, str]:
    """Return the texts of a dataset's queries by their ids, in its order."""
    return {query.query_id: _query_text(path, query, fields) for query in dataset_entries(path, "queries")}


def dataset_texts(path: str, doc_ids: Iterable[str], fields: TextFields) -> dict[str, str]:
    """Return the texts of the documents that a dataset has, in the order asked for."""
    wanted = list(dict.fromkeys(doc_ids))
    found = dataset_documents(path, wanted)
    named = fields.text_field
    return {name: _document_text(path, found[name], named) for name in wanted if name in found}


def _query_text(path: str, query: Any, fields: TextFields) -> str:
    """Return the field that is asked for; of a query without a title, what the dataset says is its text."""
    there = query._asdict()
    text = next((there[one] for one in fields.texts() if isinstance(there.get(one), str)), "")
    if not text and fields == PLAIN and hasattr(query, "default_text"):
        text = query.default_text()
    if not text.strip():
        raise _no_text(path, query.query_id, fields.text_field or fields.field, there)
    return text.strip()


def _document_text(path: str, document: Any, named: str | None) -> str:
    """Return the field that is named; else the text, behind the title where there is one. It may be empty."""
    there = document._asdict()
    text = there.get(named) if named else document.default_text()
    if not isinstance(text, str):
        raise _no_text(path, document.doc_id, named, there)
    title = "" if named else str(there.get("title") or "").strip()
    if title and text.startswith(title):  # as ir_datasets joins them, on a line
        rest = text.removeprefix(title).strip()
        return rest if rest.startswith(title) else "\n".join(filter(None, (title, rest)))
    return text.strip()


def _no_text(path: str, name: str, asked: str | None, there: Mapping[str, object]) -> InputError:
    return InputError(
        f"{path}: {name} has no {asked}: it has {', '.join(there)}",
        "Name the field that holds the text: --dataset text=NAME.",
    )
