"""Warnings about a readable file, and about runs beside each other, in sentences."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from prefjudge.core.pooling.copies import Candidate, Copies
from prefjudge.core.pooling.pools import Pools, unpooled_tops
from prefjudge.core.pooling.qrels import JudgedRanks, Qrels
from prefjudge.core.pooling.runs import Heads, without_runs
from prefjudge.counts import many
from prefjudge.formats.lines.problems import Notice, is_text, way_of_writing

if TYPE_CHECKING:
    from prefjudge.engines.health import RunHealth
    from prefjudge.evaluation.leaderboards.not_judged import NotJudged
    from prefjudge.evaluation.leaderboards.tie_sensitivity import TieSensitivity

_NAMED = 5
"""So many runs are named where a sentence is about several."""


def run_surprises(run: "RunHealth") -> list[str]:
    """Return what a scorer of the run should know: each finding is one sentence without the file's name."""
    found = []
    if run.missing:
        found.append(
            f"{_queries(run.missing)} of those expected {_are(run.missing)} missing and will score 0"
        )
    if run.missing and run.extra and (what := way_of_writing(run.extra, run.missing)):
        found.append(
            f"query_ids differ from those expected in {what}, such as {run.extra[0]!r}: write them alike"
        )
    if run.extra:
        found.append(f"{_queries(run.extra)} {_are(run.extra)} beyond those expected and will not count")
    if run.ties_at_top:
        found.append(f"{_have(run.ties_at_top)} a tie at the first place: the order of ties decides the top")
    if run.ties_at_cutoff:
        found.append(f"{_have(run.ties_at_cutoff)} a tie across place {run.cutoff}")
    if run.rank_contradicts_score:
        found.append(
            f"{_have(run.rank_contradicts_score)} ranks that contradict the scores: "
            "--order rank and --order score will differ"
        )
    if run.first_rank is not None and run.first_rank != 1:
        found.append(f"ranks are numbered from {run.first_rank}, not from 1")
    if run.negative_scores:
        found.append(f"{run.negative_scores:,} scores are negative")
    if run.infinite_scores:
        found.append(
            f"{run.infinite_scores:,} scores are infinite, or too large for a number, which ties them"
        )
    if run.other_tags:
        found.append(f"some lines have other tags ({', '.join(run.other_tags)}): is this several runs?")
    if run.depth_min < run.depth_max:
        found.append(f"queries hold {run.depth_min:,} to {run.depth_max:,} documents")
    if run.judged is not None and run.judged < 0.5:
        found.append(f"Judged@{run.cutoff} is only {run.judged:.0%}")
    return found


def qrels_surprises(qrels: Qrels) -> list[str]:
    """Return what a user of the qrels should know."""
    relevant = np.bincount(qrels.query[qrels.grade >= 1], minlength=len(qrels.queries))
    empty = [query for query, count in zip(qrels.queries, relevant, strict=True) if not count]
    found = []
    if empty:
        found.append(f"{_queries(empty)} {'has' if len(empty) == 1 else 'have'} no relevant document")
    if (qrels.grade < 0).any():
        found.append(f"{int((qrels.grade < 0).sum()):,} grades are negative")
    if (qrels.grade != np.floor(qrels.grade)).any():
        found.append("some grades are fractions, which trec_eval cuts off")
    if not all(name.isascii() or is_text(name) for name in (*qrels.queries, *qrels.docs)):
        found.append("some ids are not UTF-8: they stay as they are, but Parquet does not take them")
    return found


def copies_labelled(qrels: Qrels, copies: Copies) -> list[str]:
    """Return how many copies of one text the qrels label in one query, and where their labels differ."""
    groups = defaultdict[tuple[str, str], list[tuple[str, float]]](list)
    for row in copies.rows(qrels.docs, qrels.doc):
        query, doc = qrels.queries[qrels.query[row]], qrels.docs[qrels.doc[row]]
        groups[query, copies.of(doc)[0]].append((doc, float(qrels.grade[row])))
    several = {key: labels for key, labels in groups.items() if len(labels) > 1}
    if not several:
        return []
    texts = sum(map(len, several.values())) - len(several)
    found = [f"{many(texts, 'labelled document is a copy', 'labelled documents are copies')} of another"]
    differ = [(query, some) for (query, _), some in several.items() if len({grade for _, grade in some}) > 1]
    if differ:
        named = "; ".join(
            f"{query}: {', '.join(f'{doc} {grade:g}' for doc, grade in some[:_NAMED])}"
            for query, some in differ[:_NAMED]
        )
        more = f"; and {len(differ) - _NAMED:,} more" if len(differ) > _NAMED else ""
        found.append(
            f"{many(len(differ), 'text has', 'texts have')} copies with other labels ({named}{more}): "
            "for pooling the highest counts, scores take each as it is"
        )
    return found


def beside_each_other(
    ranks: Sequence[Sequence[JudgedRanks]],
    sets: Sequence[Qrels],
    cutoff: int | None,
    ties: "Iterable[TieSensitivity]",
) -> list[Notice]:
    """Return what in the runs changes their scores: one sentence a cause.

    Parameters
    ----------
    ranks : sequence of sequence of JudgedRanks
        For each label set, where each run placed its documents.
    sets : sequence of Qrels
    cutoff : int or None
        The deepest place that is scored.
    ties : iterable of TieSensitivity
        Of each run, by each measure that is told.
    """
    depth = cutoff or max(
        (int(one.retrieved.max(initial=0)) for placed in ranks for one in placed), default=0
    )
    queries = {query for labels in sets for query in labels.queries}
    missing, short = defaultdict[str, set[str]](set), defaultdict[str, set[str]](set)
    alike = defaultdict[str, int](int)
    tied = dict.fromkeys((one.run for placed in ranks for one in placed), 0)
    for found in ties:
        tied[found.run] = max(tied[found.run], found.queries)
    for placed, labels in zip(ranks, sets, strict=True):
        names = np.array(labels.queries, dtype=object)
        most = np.max([one.retrieved for one in placed], axis=0, initial=0)
        for one in placed:
            missing[one.run] |= {*names[one.retrieved == 0]}
            few = (one.retrieved > 0) & (one.retrieved < np.minimum(most, depth))
            short[one.run] |= {*names[few]}
            parts = (one.judged.tobytes(), one.position.tobytes(), one.retrieved.tobytes())
            alike[one.run] = hash((alike[one.run], *parts))
    return [
        *_said("missing queries", _counts(missing), len(queries), "each counts as 0"),
        *_said("few documents", _counts(short), len(queries), f"others return more of the first {depth:,}"),
        *_said("ties", tied, len(queries), "the order of documents with one score changes a number"),
        *_same(alike, "place all judged documents alike: no number tells them apart"),
    ]


def heads_beside_each_other(heads: Heads, queries: Sequence[str], depth: int) -> list[Notice]:
    """Return what in the tops of runs changes what is pooled or compared, one sentence a cause."""
    asked = {query: place for place, query in enumerate(queries)}
    counted = np.zeros((len(heads.runs), len(queries)), np.int64)
    alike = defaultdict[str, int](int)
    ends = zip(heads.start[:-1].tolist(), heads.start[1:].tolist(), strict=True)
    for run, query, (first, last) in zip(
        heads.list_run.tolist(), heads.list_query.tolist(), ends, strict=True
    ):
        place = asked.get(heads.queries[query])
        if place is not None:
            counted[run, place] = last - first
            # a sum, as runs may list their queries in any order, and of millions of lists none is kept
            alike[heads.runs[run]] += hash((place, heads.doc[first:last].tobytes()))
    names = np.array(queries, dtype=object)
    few = (counted > 0) & (counted < np.minimum(counted.max(axis=0, initial=0), depth))
    missing = {run: {*names[row == 0]} for run, row in zip(heads.runs, counted, strict=True)}
    short = {run: {*names[row]} for run, row in zip(heads.runs, few, strict=True)}
    return [
        *_said("missing queries", _counts(missing), len(queries), "they have no answer to these"),
        *_said("few documents", _counts(short), len(queries), f"others return more of the first {depth:,}"),
        *_same(alike, f"have the same first {many(depth, 'document')} in every query"),
    ]


def copies_pooled(replaced: Mapping[Candidate, str], where: str | Path | None) -> list[Notice]:
    """Return how many pooled documents gave way to a candidate with the same text; else none."""
    if not replaced:
        return []
    (query, doc), candidate = next(iter(replaced.items()))
    what = (
        f"{many(len(replaced), 'pooled document is a copy', 'pooled documents are copies')} of another in "
        f"{many(len({query for query, _ in replaced}), 'query', 'queries')}, such as {doc} of {candidate} in "
        f"{query}: they are one candidate, and nobody is asked to compare them"
    )
    return [Notice(where=str(where or "copies"), what=what)]


def pooled_only(heads: Heads, pools: Pools | None, notices: list[Notice]) -> Heads:
    """Return the runs whose win ratios are known, and say which others are left out."""
    if pools is None or not (lacking := unpooled_tops(heads, pools)):
        return heads
    what = "people judged their first document only where a pooled run has it, too: no win ratios"
    found = dict.fromkeys(heads.runs, 0) | lacking
    notices.extend(_said("not pooled", found, len(pools.queries), what))
    return without_runs(heads, lacking)


def tops_not_judged(runs: "Sequence[NotJudged]") -> list[Notice]:
    """Return how many of the runs' top passages people have not compared, in one sentence."""
    most = max((one.queries for one in runs), default=0)
    unknown = {one.run: one.queries - one.judged for one in runs}
    return _said(
        "not judged", unknown, most, "nobody compared their first passage, so that it is no best answer"
    )


def _counts(found: Mapping[str, set[str]]) -> dict[str, int]:
    return {run: len(some) for run, some in found.items()}


def _said(cause: str, found: Mapping[str, int], queries: int, what: str) -> list[Notice]:
    """Return one sentence on the runs that have some, the worst first."""
    counts = sorted(((count, run) for run, count in found.items() if count), key=lambda one: -one[0])
    if not counts:
        return []
    named = ", ".join(f"{run} {count:,}" for count, run in counts[:_NAMED])
    more = f" and {len(counts) - _NAMED:,} runs more" if len(counts) > _NAMED else ""
    runs = f"in {len(counts):,} of {many(len(found), 'run')}"
    return [Notice(where=cause, what=f"{runs}, of {many(queries, 'query')}: {named}{more}; {what}")]


def _same(alike: Mapping[str, int], what: str) -> list[Notice]:
    """Return one sentence on the groups of runs whose hashes are the same."""
    groups = defaultdict[int, list[str]](list)
    for run, known in alike.items():
        groups[known].append(run)
    same = [f"{', '.join(runs[:-1])} and {runs[-1]}" for runs in groups.values() if len(runs) > 1]
    more = f"; and {len(same) - _NAMED:,} more groups" if len(same) > _NAMED else ""
    return [Notice(where="identical runs", what=f"{'; '.join(same[:_NAMED])}{more} {what}")] if same else []


def _queries(names: Sequence[str]) -> str:
    noun = "query" if len(names) == 1 else "queries"
    return f"{len(names):,} {noun} ({', '.join(names[:3])}{' …' if len(names) > 3 else ''})"


def _have(count: int) -> str:
    return many(count, "query has", "queries have")


def _are(names: Sequence[str]) -> str:
    return "is" if len(names) == 1 else "are"
