"""Leave one run, or one team, out: does a run profit from its own passages having been judged?

Runs of one team put the same passages on top, so that hardly any is one run's alone, and each hides what the
others gain: they are left out together.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from prefjudge.core.judges.judgments import Judgments
from prefjudge.core.pooling.pools import Pools, pools_of
from prefjudge.core.pooling.qrels import JudgedRanks, Qrels
from prefjudge.core.pooling.runs import Heads, encode
from prefjudge.evaluation.scoring.judged_pairs import relabel
from prefjudge.evaluation.scoring.measures import Measure, direction, score_matrix

Resolver = Callable[[Judgments, Pools], Qrels]


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """One run under the full preference qrels, and under those made without the passages that only it gave.

    With teams: without those that only its team gave.

    Attributes
    ----------
    run : str
        The run tag.
    team : str
        The team that was left out with it; the run itself where it is in none.
    passages : int
        How many passages only this run or team contributed.
    changed : int
        On how many queries the preference qrels change without them.
    score, rank, queries : float, int, int
        Under the full qrels, and how many queries these have.
    score_without, rank_without, queries_without : float, int, int
        Under the rebuilt ones. Queries that lose every candidate leave them, and others whose votes are then
        complete join them. NaN and 0 where none is left.
    """

    run: str
    team: str
    passages: int
    changed: int
    score: float
    rank: int
    score_without: float
    rank_without: int
    queries: int
    queries_without: int


def exclusive_rows(pools: Pools, sources: Collection[str]) -> NDArray[np.bool_]:
    """Mark the pooled documents that only ``sources`` contributed.

    Returns
    -------
    ndarray of bool, shape (rows of ``pools``,)
    """
    theirs = _given_by(pools, sources)
    by_them, by_others = (
        np.bincount(pools.source_row[by], minlength=pools.doc.size) for by in (theirs, ~theirs)
    )
    mine: NDArray[np.bool_] = (by_them > 0) & (by_others == 0)
    return mine


def _given_by(pools: Pools, sources: Collection[str]) -> NDArray[np.bool_]:
    """Mark what the sources gave, among ``pools.source_row``."""
    return np.isin(pools.source, [pools.sources.index(source) for source in sources])


def without_sources(judgments: Judgments, pools: Pools, sources: Collection[str]) -> tuple[Judgments, Pools]:
    """Return the judgments and the pools as they would be had ``sources`` not taken part.

    Raises
    ------
    ValueError
        Where one of them is none of ``pools.sources``.
    """
    drop = exclusive_rows(pools, sources)
    width = len(pools.docs) + 1  # an unpooled document has the code -1, and its place at the end
    gone = pools.query[drop].astype(np.int64) * width + pools.doc[drop]
    query = encode(judgments.queries, pools.queries).astype(np.int64)[judgments.query] * width
    doc = encode(judgments.docs, pools.docs)
    doc = np.where(doc < 0, len(pools.docs), doc)
    keep = ~(np.isin(query + doc[judgments.left], gone) | np.isin(query + doc[judgments.right], gone))
    columns = ("query", "left", "right", "choice", "strength", "worker")
    fewer = replace(judgments, **{name: getattr(judgments, name)[keep] for name in columns})
    # Old row to new row; only rows that stay are looked up.
    number = np.cumsum(~drop) - 1
    kept_source = ~drop[pools.source_row] & ~_given_by(pools, sources)
    smaller = replace(
        pools,
        query=pools.query[~drop],
        doc=pools.doc[~drop],
        source_row=number[pools.source_row[kept_source]].astype(np.int32),
        source=pools.source[kept_source],
    )
    return fewer, smaller


def judged_pools(judgments: Judgments, heads: Heads) -> Pools:
    """Return the judged documents as pools, where nobody kept the pools themselves.

    Parameters
    ----------
    judgments : Judgments
        The votes: every document of theirs is a candidate.
    heads : Heads
        The top passage of each run, which is taken for what the run contributed. A candidate that stands on
        top of no run has no contributor, and is never left out.
    """
    pairs = np.stack([judgments.query, judgments.query]), np.stack([judgments.left, judgments.right])
    members = set(zip(*(part.ravel().tolist() for part in pairs), strict=True))
    named = {(judgments.queries[query], judgments.docs[doc]) for query, doc in members}
    top = heads.position == 1
    columns = (heads.query[top].tolist(), heads.doc[top].tolist(), heads.run[top].tolist())
    given: dict[tuple[str, str], list[str]] = {member: [] for member in named}
    for query, doc, run in zip(*columns, strict=True):
        member = heads.queries[query], heads.docs[doc]
        if member in given:
            given[member].append(heads.runs[run])
    return pools_of(sorted((query, doc, run) for (query, doc), runs in given.items() for run in runs or [""]))


def unpooled_documents(judgments: Judgments, pools: Pools) -> list[tuple[str, str]]:
    """Return the judged (query_id, doc_id) that no pool holds, sorted."""
    pooled = {
        (pools.queries[query], pools.docs[doc])
        for query, doc in zip(pools.query.tolist(), pools.doc.tolist(), strict=True)
    }
    judged = {
        (judgments.queries[query], judgments.docs[doc])
        for side in (judgments.left, judgments.right)
        for query, doc in zip(judgments.query.tolist(), side.tolist(), strict=True)
    }
    return sorted(judged - pooled)


def pooled_documents(pools: Pools) -> Qrels:
    """Return every pooled document with grade 1: what :func:`leave_one_out` needs the runs ranked against."""
    return Qrels(
        name="pooled",
        queries=pools.queries,
        docs=pools.docs,
        query=pools.query,
        doc=pools.doc,
        grade=np.ones(pools.doc.size),
    )


def leave_one_out(
    judgments: Judgments,
    pools: Pools,
    ranks: Sequence[JudgedRanks],
    measure: Measure,
    *,
    resolve: Resolver,
    teams: Mapping[str, str] | None = None,
) -> tuple[LeftOut, ...]:
    """Rebuild the preference qrels without each run's own passages, and see where the run then stands.

    Parameters
    ----------
    judgments : Judgments
        The votes.
    pools : Pools
        Which run contributed what.
    ranks : sequence of JudgedRanks
        Where each run placed the rows of ``pooled_documents(pools)``.
    measure : Measure
        How to score.
    resolve : callable
        Makes preference qrels out of judgments and pools.
    teams : mapping of str to str, optional
        The team of a run: the passages that only the team gave are left out. A run without one stands alone.

    Returns
    -------
    tuple of LeftOut
        One for each run that is a source of the pools, in the order of ``ranks``.

    Notes
    -----
    Arabzadeh et al., "Shallow pooling for sparse labels" (2021), section 5.2, on run L.
    """
    documents = pooled_documents(pools)
    full = resolve(judgments, pools)
    before = _places(ranks, documents, full, measure)
    # A team may be called as a run of another: they are told apart by whether there is a team.
    team_of = {run: (True, teams[run]) if teams and run in teams else (False, run) for run in pools.sources}
    rebuilt: dict[tuple[bool, str], _Rebuilt] = {}
    results = []
    for placed in ranks:
        if placed.run not in team_of:
            continue
        team = team_of[placed.run]
        if team not in rebuilt:
            members = [run for run, other in team_of.items() if other == team]
            labels = resolve(*without_sources(judgments, pools, members))
            rebuilt[team] = _Rebuilt(
                passages=int(exclusive_rows(pools, members).sum()),
                changed=_changed(full, labels),
                queries=len(labels.queries),
                places=_places(ranks, documents, labels, measure),
            )
        after = rebuilt[team]
        results.append(
            LeftOut(
                run=placed.run,
                team=team[1],
                passages=after.passages,
                changed=after.changed,
                score=before[placed.run][0],
                rank=before[placed.run][1],
                score_without=after.places[placed.run][0],
                rank_without=after.places[placed.run][1],
                queries=len(full.queries),
                queries_without=after.queries,
            )
        )
    return tuple(results)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Rebuilt:
    """What the labels become without a team, and each run's score and rank under them."""

    passages: int
    changed: int
    queries: int
    places: dict[str, tuple[float, int]]


def _places(
    ranks: Sequence[JudgedRanks], documents: Qrels, qrels: Qrels, measure: Measure
) -> dict[str, tuple[float, int]]:
    """Return the score and the rank of each run; a leaderboard's intervals would take most of the time."""
    if not qrels.queries:
        return {placed.run: (float("nan"), 0) for placed in ranks}
    scores = score_matrix(relabel(ranks, documents, qrels), qrels, measure)
    means = scores.values.mean(axis=0)
    better_first = -direction(scores.measure) * means
    places = np.searchsorted(np.sort(better_first), better_first) + 1
    return dict(zip(scores.runs, zip(means.tolist(), places.tolist(), strict=True), strict=True))


def _changed(full: Qrels, rebuilt: Qrels) -> int:
    """Count the queries whose labelled documents differ."""
    before, after = _labels(full), _labels(rebuilt)
    return sum(before.get(query) != after.get(query) for query in before.keys() | after.keys())


def _labels(qrels: Qrels) -> dict[str, set[tuple[str, float]]]:
    found: dict[str, set[tuple[str, float]]] = {query: set() for query in qrels.queries}
    for query, doc, grade in zip(qrels.query, qrels.doc, qrels.grade, strict=True):
        found[qrels.queries[query]].add((qrels.docs[doc], float(grade)))
    return found
