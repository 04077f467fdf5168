"""Run health: what a run file holds, and what in it may surprise."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from functools import partial
from os import fspath
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from prefjudge.core.runs import Order, Places, Qrels, Words, codes_of
from prefjudge.errors import InputError
from prefjudge.reading.fields import integers
from prefjudge.reading.files import Notice, decode, paths_of
from prefjudge.reading.held import Held
from prefjudge.reading.lines import stem
from prefjudge.reading.runs.heads import Judged, Reader, Reading, RunFiles, each_run, per_chunk
from prefjudge.reading.runs.runs import RunChunk, ranked
from prefjudge.reading.unpacking import digest
from prefjudge.words import OnDuplicate

_TAGS = 3
"""Changes of the tag that are told."""
_ODD = np.uint64(0x9E3779B97F4A7C15)
_ODDER = np.uint64(0xC2B2AE3D27D4EB4F)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunHealth:
    """What a run file holds. Counts are of queries where nothing else is said."""

    path: str
    tag: str
    format: str
    """The file, the run tag (the file's name where it has none), ``TREC``, ``TREC without tag``
    or ``MS MARCO``."""
    columns: int
    """How many columns its lines have."""
    read_as: str
    """What it was taken for, in words: format, columns, lines, queries."""
    digest: str
    """The SHA-256 of the file as it is stored."""
    ranking: str
    """A digest of the rankings: equal for runs that rank the same documents alike, with any scores."""
    order: Order
    """What ranked the documents."""
    lines: int
    queries: int
    """How many (query, document) lines and queries the run has."""
    depth_min: int
    depth_max: int
    """The fewest and the most documents of a query."""
    missing: tuple[str, ...]
    extra: tuple[str, ...]
    """The expected queries that the run misses, and its queries beyond the expected; empty where nothing is
    expected."""
    cutoff: int
    """The depth that the following look at."""
    ties_at_top: int
    ties_at_cutoff: int
    """Queries whose first document shares its score with the second; whose last document inside the cut-off
    shares it with the first one outside."""
    rank_contradicts_score: int
    """Queries in which a document with a higher score has a rank that is not better."""
    first_rank: int | None
    """The smallest number in the rank column; None where it holds none."""
    negative_scores: int
    infinite_scores: int
    """Lines with a score below zero; with one beyond the numbers that a computer holds, which is infinite."""
    other_tags: tuple[str, ...]
    """Tags other than the first line's, by their first word; only some where there are many."""
    judged: float | None
    """Judged@cutoff, as the measure: the share of the documents returned in the first ``cutoff`` places that
    is judged, averaged over all judged queries; None without qrels."""
    relevant_first: int | None
    relevant_at_cutoff: int | None
    """The judged queries with a relevant document at the first place, and in the first ``cutoff``; None
    without qrels."""
    relevant_found: int | None
    relevant_place: float | None
    """Those with one at any place, and the median of their first places."""
    notices: tuple[Notice, ...] = field(default=())
    """What the reader met."""


@dataclass(frozen=True, slots=True)
class _Part:
    """What one chunk adds."""

    tag: str
    names: list[bytes]
    sizes: NDArray[np.int64]
    top_ties: int
    cut_ties: int
    contradictions: int
    first_rank: int | None
    negative: int
    infinite: int
    tags: list[bytes]
    judged: float
    places: Places
    ranking: tuple[int, int]
    is_text: bool


def health(
    path: str | Path,
    qrels: Qrels | None = None,
    queries: Collection[str] | None = None,
    cutoff: int = 10,
    *,
    order: Order | str = Order.SCORE,
    on_duplicate: OnDuplicate | str = OnDuplicate.ERROR,
) -> RunHealth:
    """Read every line of a run and say what it holds."""
    # ``cutoff`` is the depth that matters. The expected queries are those of the qrels, unless ``queries``
    # says them.
    name, how = fspath(path), Reading(order=Order(order), on_duplicate=OnDuplicate(on_duplicate))
    index = Judged.of(qrels) if qrels is not None else None
    relevant = None if qrels is None else qrels.grade >= 1
    work = partial(_examined, index=index, relevant=relevant, cutoff=cutoff, order=how.order)
    parts, form, notices = per_chunk(name, work, how)
    if not all(part.is_text for part in parts):
        what = "some bytes are not UTF-8: ids keep them, but Parquet does not take them"
        notices.append(Notice(where=name, what=what))
    names = [decode(query) for part in parts for query in part.names]
    expected = tuple(queries) if queries is not None else qrels.queries if qrels is not None else None
    sizes = np.concatenate([part.sizes for part in parts])
    judged, places = sum(part.judged for part in parts), np.concatenate([part.places for part in parts])
    firsts = [part.first_rank for part in parts if part.first_rank is not None]
    return RunHealth(
        path=name,
        tag=next((part.tag for part in parts if part.tag), stem(name)),
        format=form.layout.name,
        columns=form.layout.columns,
        read_as=str(form),
        digest=digest(name),
        ranking="".join(f"{sum(part.ranking[i] for part in parts) % 2**64:016x}" for i in range(2)),
        order=how.order,
        lines=int(sizes.sum()),
        queries=len(names),
        depth_min=int(sizes.min(initial=0 if not sizes.size else sizes[0])),
        depth_max=int(sizes.max(initial=0)),
        missing=() if expected is None else _without(expected, names),
        extra=() if expected is None else _without(names, expected),
        cutoff=cutoff,
        ties_at_top=sum(part.top_ties for part in parts),
        ties_at_cutoff=sum(part.cut_ties for part in parts),
        rank_contradicts_score=sum(part.contradictions for part in parts),
        first_rank=min(firsts, default=None),
        negative_scores=sum(part.negative for part in parts),
        infinite_scores=sum(part.infinite for part in parts),
        other_tags=tuple(map(decode, dict.fromkeys(tag for part in parts for tag in part.tags)))[1:],
        judged=None if qrels is None else judged / len(qrels.queries),
        relevant_first=None if qrels is None else int((places == 1).sum()),
        relevant_at_cutoff=None if qrels is None else int((places <= cutoff).sum()),
        relevant_found=None if qrels is None else places.size,
        relevant_place=float(np.median(places)) if places.size else None,
        notices=tuple(notices),
    )


def health_of(reader: Reader, qrels: Qrels | None) -> list[RunHealth]:
    """Return what each run file holds; the queries of the qrels are expected."""
    if not isinstance(reader, RunFiles):
        raise InputError(
            "the health of runs is checked on text files, read on this machine",
            "Leave out Parquet and --engine, or the health: with site, --no-health.",
        )
    held = next((path for path in reader.paths if isinstance(path, Held)), None)
    if held is not None:
        raise InputError(
            f"{held} is in memory, and the health of a run is that of its file", "Leave out health."
        )
    work = partial(health, qrels=qrels, order=reader.how.order, on_duplicate=reader.how.on_duplicate)
    return list(each_run(work, paths_of(reader.paths), reader.executor))


def identical_runs(runs: Iterable[RunHealth]) -> list[tuple[str, ...]]:
    """Return the paths of runs that rank the same documents alike, group by group."""
    groups: dict[str, list[str]] = defaultdict(list)
    for run in runs:
        groups[run.ranking].append(run.path)
    return [tuple(paths) for paths in groups.values() if len(paths) > 1]


def _without(names: Iterable[str], known: Iterable[str]) -> tuple[str, ...]:
    seen = frozenset(known)
    return tuple(name for name in names if name not in seen)


def _examined(
    chunk: RunChunk, index: Judged | None, relevant: NDArray[np.bool_] | None, cutoff: int, order: Order
) -> _Part:
    sizes = np.diff(chunk.bounds)
    ranking = ranked(chunk, order)
    judged, places = _judged(chunk, index, relevant, ranking.rows, cutoff)
    place = np.arange(len(chunk)) - np.repeat(chunk.bounds[:-1], sizes)
    rank, numbers = integers(chunk.rows.ids(chunk.layout.rank))
    return _Part(
        tag=decode(chunk.tag),
        names=chunk.queries,
        sizes=sizes,
        top_ties=int((ranking.tied & (place == 1)).sum()),
        cut_ties=int((ranking.tied & (place == cutoff)).sum()),
        contradictions=_contradictions(chunk, rank, numbers) if chunk.layout.score is not None else 0,
        first_rank=int(rank[numbers].min()) if numbers.any() else None,
        negative=int((chunk.score < 0).sum()) if chunk.layout.score is not None else 0,
        infinite=int(np.isinf(chunk.score).sum()),
        tags=_tags(chunk),
        judged=judged,
        places=places,
        ranking=_ranking_digest(chunk, ranking.rows, place),
        is_text=_is_text(chunk.rows.text),
    )


def _tags(chunk: RunChunk) -> list[bytes]:
    """Return the first word of the tag, and those that it changes to: the first few."""
    if chunk.layout.tag is None or not len(chunk):
        return []
    tags = chunk.rows.ids(chunk.layout.tag)
    return tags.take(np.concatenate([[0], tags.changes()[:_TAGS]])).to_bytes()


def _is_text(raw: bytes) -> bool:
    try:
        str(raw, "utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _contradictions(chunk: RunChunk, rank: NDArray[np.int64], numbers: NDArray[np.bool_]) -> int:
    """Count the queries in which ranks and scores disagree on two lines that follow each other by score."""
    score, group = chunk.score, chunk.group
    inside = group[1:] == group[:-1]
    tied = score[1:] == score[:-1]
    if (inside & ((score[1:] > score[:-1]) | (tied & (rank[1:] < rank[:-1])))).any():
        by = np.lexsort((rank, -score, group))
        score, rank = score[by], rank[by]
    wrong = inside & (score[:-1] > score[1:]) & (rank[1:] <= rank[:-1])
    bad = np.zeros(len(chunk.queries), bool)
    bad[group[1:][wrong]] = True
    bad[group[~numbers]] = True
    return int(bad.sum())


def _judged(
    chunk: RunChunk, index: Judged | None, relevant: NDArray[np.bool_] | None, ranked: Places, cutoff: int
) -> tuple[float, Places]:
    """Return how much of the top is judged, in all, and the first place of a relevant one in each query."""
    if index is None or relevant is None:
        return 0.0, np.zeros(0, np.int64)
    code = np.fromiter((index.queries.get(name, -1) for name in chunk.queries), np.int64, len(chunk.queries))
    group = chunk.group[ranked]
    hits, rows = index.match(chunk.codes[ranked], code[group], chunk.docs.take(ranked))
    place = hits - chunk.bounds[group[hits]] + 1
    top, right = hits[place <= cutoff], relevant[rows]
    _, first = np.unique(group[hits[right]], return_index=True)
    seen = np.minimum(np.diff(chunk.bounds), cutoff)
    return float((1.0 / seen[group[top]]).sum()), place[right][first]


def _ranking_digest(chunk: RunChunk, rows: NDArray[np.int64], place: NDArray[np.int64]) -> tuple[int, int]:
    """Return two sums over (query, place, document), which do not depend on the order of the queries."""
    query = codes_of(chunk.queries)[chunk.group]
    mixed: Words = (chunk.codes[rows] ^ (query * _ODDER)) * _ODD + place.astype(np.uint64) * _ODDER
    mixed = (mixed ^ (mixed >> np.uint64(32))) * _ODDER
    mixed ^= mixed >> np.uint64(29)
    other = (mixed * _ODD) ^ (mixed >> np.uint64(31))
    return int(mixed.sum(dtype=np.uint64)), int((other * other).sum(dtype=np.uint64))
