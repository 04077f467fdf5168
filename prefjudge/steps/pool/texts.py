"""The texts of the candidates, out of a collection."""

from collections.abc import Collection
from pathlib import Path

import numpy as np

from prefjudge.core.runs import Heads, Qrels
from prefjudge.errors import InputError
from prefjudge.reading.files import Notice
from prefjudge.reading.texts.collections import read_texts
from prefjudge.reading.texts.texts import TextFields


def candidate_texts(
    collection: str | Path,
    fields: TextFields,
    heads: Heads,
    qrels: Qrels | None,
    notices: list[Notice],
    others: Collection[str] = (),
) -> dict[str, str]:
    """Return the texts of the runs' top documents, of the qrels', and of others as far as they are there.

    A run's document must have one. A qrel without one cannot be shown: it is left out, with a notice.

    Raises
    ------
    InputError
        The collection lacks a document of a run.
    """
    of_runs = [heads.docs[code] for code in np.unique(heads.doc)]
    relevant = np.unique(qrels.doc[qrels.grade >= 1]) if qrels else np.empty(0, dtype=np.int32)
    of_qrels = [qrels.docs[code] for code in relevant] if qrels else []
    wanted = dict.fromkeys([*of_runs, *of_qrels, *others])
    found = read_texts(collection, wanted, fields=fields, notices=notices)
    missing = [doc for doc in of_runs if doc not in found]
    if missing:
        raise InputError(
            f"{collection} lacks {len(missing)} of the runs' {len(of_runs)} top passages, "
            f"such as {missing[0]!r}",
            "Give the collection that the runs were made from.",
        )
    unknown = [doc for doc in of_qrels if doc not in found]
    if unknown:
        notices.append(
            Notice(
                where=str(collection),
                what=f"lacks {len(unknown)} of the {len(of_qrels)} relevant documents of the qrels, such as "
                f"{unknown[0]!r}: they cannot be shown and do not enter the pool",
            )
        )
    return found
