"""History: which queries' best-known answers differ from one version to the next."""

from dataclasses import dataclass

from prefjudge.core.pooling.qrels import Qrels


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A query whose best answers differ from those of the version before.

    Attributes
    ----------
    query_id : str
        The query.
    before, after : tuple of str
        The doc_ids of its best answers, sorted; none before where the query was settled later.
    """

    query_id: str
    before: tuple[str, ...]
    after: tuple[str, ...]


def find_changes(before: Qrels, after: Qrels) -> tuple[Change, ...]:
    """Return what differs between two versions of the best-known answers, query by query.

    Parameters
    ----------
    before, after : Qrels
        The versions.
    """
    old, new = _by_query(before), _by_query(after)
    return tuple(
        Change(query_id=query, before=old.get(query, ()), after=new.get(query, ()))
        for query in sorted(old.keys() | new.keys())
        if old.get(query) != new.get(query)
    )


def _by_query(answers: Qrels) -> dict[str, tuple[str, ...]]:
    found: dict[str, list[str]] = {}
    for query, doc in zip(answers.query.tolist(), answers.doc.tolist(), strict=True):
        found.setdefault(answers.queries[query], []).append(answers.docs[doc])
    return {query: tuple(sorted(docs)) for query, docs in found.items()}
