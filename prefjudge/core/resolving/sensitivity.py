"""Sensitivity: how the best answers, and the order of runs, change with the rule, ties, workers and runs."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from prefjudge.core.judges.judgments import Judgments, select_judgments
from prefjudge.core.pooling.pairs import Pairs
from prefjudge.core.pooling.pools import Pools
from prefjudge.core.pooling.qrels import Qrels
from prefjudge.core.resolving.counting import TieWorth
from prefjudge.core.resolving.preferences import resolve, resolve_all, to_qrels
from prefjudge.core.resolving.resolutions import Resolutions

CompareRuns = Callable[[Qrels, Qrels], float]
"""Returns the correlation of the orders of runs under two sets of qrels."""


class Kind(StrEnum):
    """What is varied."""

    RULE = "rule"
    """Another rule resolves the same judgments."""
    TIES = "ties"
    """Of several winners, only the first or the last by doc_id is kept."""
    WORKER = "worker"
    """A worker's judgments are left out."""
    RUN = "run"
    """The documents that only this run added to the pools are left out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Variation:
    """What one change does to the best answers.

    Attributes
    ----------
    kind : Kind
        What was changed.
    name : str
        The rule, the worker, the run, or which winner was kept.
    resolved : int
        Queries with a winner before and after.
    changed : int
        Those of them whose winners differ.
    lost, gained : int
        Queries with a winner only before, and only after.
    correlation : float
        How alike the orders of runs are; NaN where no runs were given.
    """

    kind: Kind
    name: str
    resolved: int
    changed: int
    lost: int
    gained: int
    correlation: float

    @property
    def changed_share(self) -> float:
        """The share of the queries resolved both times whose winners differ; 0 where there are none."""
        return self.changed / self.resolved if self.resolved else 0.0


def assess_sensitivity(
    judgments: Judgments,
    *,
    rule: str = "shallow-pooling",
    rules: Sequence[str] = (),
    pools: Pools | None = None,
    asked: Pairs | None = None,
    ties: TieWorth = TieWorth.IGNORE,
    strengths: bool = False,
    sparse_rule: str | None = None,
    compare_runs: CompareRuns | None = None,
) -> tuple[Variation, ...]:
    """Resolve the judgments again with one thing changed at a time.

    Parameters
    ----------
    judgments : Judgments
        The votes.
    rule : str
        The rule to compare with.
    rules : sequence of str
        The other rules.
    pools : Pools, optional
        The candidates, and which runs added them.
    asked : Pairs, optional
        The pairs that were to be judged, where it is not all of them.
    ties : TieWorth
        What a tie is worth.
    strengths : bool
        Whether a vote counts as often as it is strong.
    sparse_rule : str, optional
        What finds the winners of queries that are judged in part.
    compare_runs : callable, optional
        Takes the preference qrels before and after; returns the correlation of the orders of runs.

    Returns
    -------
    tuple of Variation
        Other rules, the two orders of ties, every worker, every run; those that exist.

    References
    ----------
    Shallow pooling for sparse labels, section 6.1, leaves out one run at a time.
    """
    every = resolve_all(
        judgments,
        rules=tuple(dict.fromkeys((rule, *rules))),
        pools=pools,
        asked=asked,
        ties=ties,
        strengths=strengths,
        sparse_rule=sparse_rule,
    )
    before = every[rule]
    qrels = to_qrels(before)

    def variation(kind: Kind, name: str, after: Resolutions) -> Variation:
        correlation = float("nan") if compare_runs is None else compare_runs(qrels, to_qrels(after))
        return _compared(kind, name, before, after, correlation)

    found = [variation(Kind.RULE, name, after) for name, after in every.items() if name != rule]
    found += [variation(Kind.TIES, name, after) for name, after in _without_ties(before)]

    def resolved(votes: Judgments, candidates: Pools | None) -> Resolutions:
        return resolve(
            votes,
            rule=rule,
            pools=candidates,
            asked=asked,
            ties=ties,
            strengths=strengths,
            sparse_rule=sparse_rule,
        )

    for worker, votes in _without_workers(judgments):
        # With the candidates as they were: a document that only this worker judged stays one, without votes.
        found.append(variation(Kind.WORKER, worker, resolved(votes, pools or _candidates(before))))
    if pools is not None:
        for run, candidates in _without_runs(pools):
            found.append(variation(Kind.RUN, run, resolved(judgments, candidates)))
    return tuple(found)


def _candidates(resolutions: Resolutions) -> Pools:
    """Return the candidates as pools, so that they stay when judgments are left out."""
    nothing = np.empty(0, dtype=np.int32)
    return Pools(
        queries=resolutions.queries,
        docs=resolutions.docs,
        query=resolutions.query,
        doc=resolutions.doc,
        sources=(),
        source_row=nothing,
        source=nothing,
    )


def _compared(
    kind: Kind, name: str, before: Resolutions, after: Resolutions, correlation: float
) -> Variation:
    n_docs = max(len(before.docs), 1)
    old, new = _winner_keys(before, n_docs), _winner_keys(after, n_docs)
    had, has = _queries(old // n_docs, len(before)), _queries(new // n_docs, len(before))
    differs = _queries(np.setxor1d(old, new) // n_docs, len(before))
    return Variation(
        kind=kind,
        name=name,
        resolved=int((had & has).sum()),
        changed=int((had & has & differs).sum()),
        lost=int((had & ~has).sum()),
        gained=int((has & ~had).sum()),
        correlation=correlation,
    )


def _winner_keys(resolutions: Resolutions, n_docs: int) -> NDArray[np.int64]:
    rows = np.flatnonzero(resolutions.winner)
    return resolutions.query[rows].astype(np.int64) * n_docs + resolutions.doc[rows]


def _queries(codes: NDArray[np.int64], n_queries: int) -> NDArray[np.bool_]:
    mask = np.zeros(n_queries, dtype=bool)
    mask[codes] = True
    return mask


def _without_ties(resolutions: Resolutions) -> Iterator[tuple[str, Resolutions]]:
    """Keep one winner per query: the first, then the last, by doc_id."""
    query = resolutions.query
    rows = np.flatnonzero(resolutions.winner)
    counts = np.bincount(query[rows], minlength=len(resolutions))
    if (counts < 2).all():
        return
    tied = rows[counts[query[rows]] > 1]
    by_name = sorted(tied.tolist(), key=lambda row: resolutions.docs[int(resolutions.doc[row])])
    for name, order in (("first doc_id", by_name[::-1]), ("last doc_id", by_name)):
        winner = resolutions.winner.copy()
        winner[tied] = False
        # The last row put in for a query stays: hence the reversed order for the first doc_id.
        kept = {int(query[row]): row for row in order}
        winner[list(kept.values())] = True
        yield name, replace(resolutions, winner=winner)


def _without_workers(judgments: Judgments) -> Iterator[tuple[str, Judgments]]:
    for code in np.unique(judgments.worker[judgments.worker >= 0]).tolist():
        yield judgments.workers[code], select_judgments(judgments, judgments.worker != code)


def _without_runs(pools: Pools) -> Iterator[tuple[str, Pools]]:
    """Leave out one source at a time, with the documents that no other source added."""
    sources = np.bincount(pools.source_row, minlength=pools.query.size)
    for code, run in enumerate(pools.sources):
        alone = np.zeros(pools.query.size, dtype=bool)
        alone[pools.source_row[pools.source == code]] = True
        # A document that another run added, too, stays in the pool without this one.
        keep = ~(alone & (sources == 1))
        yield run, replace(pools, query=pools.query[keep], doc=pools.doc[keep])
