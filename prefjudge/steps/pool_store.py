"""Stores a pool in a study, once: a pool whose HITs are out is not replaced."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from prefjudge.core.pairs import Pairs
from prefjudge.core.pools import Pools
from prefjudge.errors import StudyError

if TYPE_CHECKING:
    from prefjudge.study.pooling import InputFile
    from prefjudge.study.study import Study


def store_pool(
    study: "Study",
    pools: Pools,
    pairs: Pairs,
    inputs: Sequence["InputFile"],
    queries: Mapping[str, str],
    passages: Mapping[str, str],
) -> bool:
    """Store the pool with its texts; return whether that changed anything.

    Raises
    ------
    StudyError
        The study has published another pool.
    """
    from prefjudge.study.pooling import load_pairs, save_pools, save_texts

    votes = _votes(study, len(pairs))
    with study.transaction() as db:
        members = set(db.execute("SELECT query_id, doc_id FROM pooled"))
        stored = [row for row in load_pairs(db) if {(row[1], row[2]), (row[1], row[3])} <= members]
        started = bool(db.execute("SELECT 1 FROM hits LIMIT 1"))
        before = [row[1:4] if started else row[1:] for row in stored]
        sources = set(db.execute("SELECT query_id, doc_id, source FROM pooled"))
        after = [
            (pairs.queries[q], pairs.docs[a], pairs.docs[b], n)[: 3 if started else 4]
            for q, a, b, n in zip(
                pairs.query.tolist(), pairs.doc_a.tolist(), pairs.doc_b.tolist(), votes, strict=True
            )
        ]
        contributions = {
            (pools.queries[pools.query[row]], pools.docs[pools.doc[row]], pools.sources[source])
            for row, source in zip(pools.source_row.tolist(), pools.source.tolist(), strict=True)
        }
        same = after == before and contributions == sources
        if not same and started:
            raise StudyError(
                "the study has HITs for another pool, which cannot be replaced",
                "Make a new study for the new pool.",
            )
        if not same:
            save_pools(db, pools, pairs, votes, inputs)
        pooled = {pools.queries[code] for code in np.unique(pools.query)}
        documents = {pools.docs[code] for code in np.unique(pools.doc)}
        save_texts(
            db,
            {key: text for key, text in queries.items() if key in pooled},
            {key: text for key, text in passages.items() if key in documents},
        )
    return not same


def _votes(study: "Study", count: int) -> list[int]:
    """Return how often each pair is judged: a random share more often, to measure agreement."""
    design = study.config.design
    votes = np.full(count, design.judgments_per_pair)
    more = study.rng("overlap").permutation(count)[: round(design.overlap * count)]
    votes[more] = np.maximum(votes[more], design.overlap_judgments)
    return [int(n) for n in votes]
