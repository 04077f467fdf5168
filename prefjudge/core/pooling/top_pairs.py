"""Top pairs: what each query asks to be judged where one run's top results meet the qrels."""

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from prefjudge.core.pooling.pools import Contributions, Pools, chosen_qrels, group_contributions
from prefjudge.core.pooling.qrels import Qrels, select_labels
from prefjudge.core.pooling.runs import Heads, encode
from prefjudge.errors import InputError

Integers = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class TopPairs:
    """The pair that each labelled query asks to be judged.

    Category A: the run's top passage is the qrel, and is compared with the run's second passage. Category B:
    they differ, and the qrel is compared with the run's top passage. A query that the run does not answer is
    of neither. The pool of this design, its size in numbers and the analysis of its judgments all follow from
    this record, so that they cannot mean different pairs.

    Attributes
    ----------
    queries, docs : tuple of str
        The vocabularies.
    query : ndarray of int64, shape (n,)
        Every query with a relevant document.
    qrel, top, rival : ndarray of int64, shape (n,)
        The qrel, the run's first passage, and the passage that the qrel is compared with; -1: there is none.
    """

    queries: tuple[str, ...]
    docs: tuple[str, ...]
    query: Integers
    qrel: Integers
    top: Integers
    rival: Integers

    @property
    def agreed(self) -> NDArray[np.bool_]:
        """Whether the query is of category A."""
        same: NDArray[np.bool_] = self.top == self.qrel
        return same

    @property
    def retrieved(self) -> NDArray[np.bool_]:
        """Whether the run answers the query."""
        return self.top >= 0

    @property
    def split(self) -> "TopSplit":
        """How many queries there are of each kind."""
        paired = self.rival >= 0
        return TopSplit(
            a=int(self.agreed.sum()),
            b=int((self.retrieved & ~self.agreed).sum()),
            no_rival=int((self.retrieved & ~paired).sum()),
            not_retrieved=int((~self.retrieved).sum()),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class TopSplit:
    """How the queries split (Arabzadeh et al., "Shallow pooling for sparse labels", Table 1).

    Attributes
    ----------
    a, b : int
        Queries of category A (the qrel is on top) and of category B (another passage is).
    no_rival : int
        Queries of category A whose run returns nothing but the qrel, so that there is no pair to judge.
    not_retrieved : int
        Labelled queries that the run does not answer.
    """

    a: int
    b: int
    no_rival: int
    not_retrieved: int

    @property
    def queries(self) -> int:
        """All labelled queries: what shares are of."""
        return self.a + self.b + self.not_retrieved

    @property
    def pairs(self) -> int:
        """Pairs to judge."""
        return self.a + self.b - self.no_rival


def top_pairs(heads: Heads, qrels: Qrels, run: str, *, queries: Collection[str] | None = None) -> TopPairs:
    """Return the pair of each query: section 3.1's design.

    Parameters
    ----------
    heads : Heads
        The first two documents of the run.
    qrels : Qrels
        One qrel per query is used: of the highest grade, and the first in the file among equals.
    run : str
        The representative ranker.
    queries : collection of str, optional
        Look at these queries only.

    Raises
    ------
    InputError
        Where ``heads`` does not hold the run.
    """
    if run not in heads.runs:
        raise InputError(f"there is no run {run!r}", f"Choose one of: {', '.join(heads.runs)}.")
    docs = tuple(dict.fromkeys([*heads.docs, *qrels.docs]))
    rows = chosen_qrels(qrels)
    asked = np.array([queries is None or name in queries for name in qrels.queries], dtype=bool)
    rows = rows[asked[qrels.query[rows]]]
    query = qrels.query[rows].astype(np.int64)
    qrel = encode(qrels.docs, docs).astype(np.int64)[qrels.doc[rows]]
    tops = np.full((len(qrels.queries), 3), -1, dtype=np.int64)
    place = encode(heads.queries, qrels.queries)[heads.query]
    mine = (heads.run == heads.runs.index(run)) & (heads.position <= 2) & (place >= 0)
    tops[place[mine], heads.position[mine]] = encode(heads.docs, docs)[heads.doc[mine]]
    top, second = tops[query, 1], tops[query, 2]
    return TopPairs(
        queries=qrels.queries,
        docs=docs,
        query=query,
        qrel=qrel,
        top=top,
        rival=np.where(top == qrel, np.where(second == qrel, -1, second), top),
    )


def pool_top_pairs(heads: Heads, qrels: Qrels) -> Pools:
    """Pool the qrel of each query with the passage of one run that it is compared with.

    Parameters
    ----------
    heads : Heads
        The first two documents of one run.
    qrels : Qrels
        The known relevant documents: the first in the file among those with the highest grade is compared.

    Returns
    -------
    Pools
        A pool for every labelled query, in the order of the run and then of the qrels: the qrel, and its
        rival where it has one. A query that the run does not answer has the qrel alone, so that it stays in
        the shares of the analysis.

    Raises
    ------
    ValueError
        ``heads`` holds not exactly one run.

    References
    ----------
    Shallow pooling for sparse labels, section 3.1: categories A and B.
    """
    if len(heads.runs) != 1:
        raise ValueError(
            f"the top result of one run is compared with the qrel, not of {len(heads.runs)} runs"
        )
    pairs = top_pairs(heads, qrels, heads.runs[0])
    labelled = {pairs.queries[code] for code in pairs.query.tolist()}
    queries = tuple(name for name in dict.fromkeys([*heads.queries, *qrels.queries]) if name in labelled)
    query = encode(pairs.queries, queries)[pairs.query]
    real, agreed = pairs.rival >= 0, pairs.agreed
    added = Contributions.of_rows(
        pairs.docs,
        np.concatenate([query, query[real], query[agreed]]),
        np.concatenate([pairs.qrel, pairs.rival[real], pairs.qrel[agreed]]).astype(np.int32),
        np.repeat([1, 0, 0], [query.size, int(real.sum()), int(agreed.sum())]).astype(np.int32),
    )
    return group_contributions(queries, (*heads.runs, qrels.name), [added])


def pooled_qrels(qrels: Qrels, pools: Pools, source: str) -> Qrels:
    """Return the qrels that a pool holds: those are what people were asked about.

    A qrel without a text cannot be shown, and another one of its query takes its place in the pool. Whoever
    compares runs with the qrels afterwards must mean the one that was judged.

    Parameters
    ----------
    qrels : Qrels
        The labels that the pool was made with, as their file has them.
    pools : Pools
        The pools.
    source : str
        What the pools call the qrels. Where it put nothing into any pool, all the qrels come back.

    Returns
    -------
    Qrels
        The judged queries stay; the rows are in the order of ``qrels``.
    """
    if source not in pools.sources:
        return qrels
    rows = pools.source_row[pools.source == pools.sources.index(source)]
    if not rows.size:
        return qrels
    width = len(pools.docs) + 1  # a document in no pool has the code -1: the place before a query's first
    pooled = pools.query[rows].astype(np.int64) * width + pools.doc[rows]
    query = encode(qrels.queries, pools.queries).astype(np.int64)[qrels.query]
    doc = encode(qrels.docs, pools.docs).astype(np.int64)[qrels.doc]
    keep = np.isin(query * width + doc, pooled) & (query >= 0)
    return select_labels(qrels, keep)
