"""Warnings about a readable file, in sentences."""

from collections.abc import Sequence

import numpy as np

from prefjudge.core.pooling.qrels import Qrels
from prefjudge.counts import many
from prefjudge.engines.health import RunHealth
from prefjudge.formats.lines.problems import is_text


def run_surprises(run: RunHealth) -> list[str]:
    """Return what a scorer of the run should know: each finding is one sentence without the file's name."""
    found = []
    if run.missing:
        found.append(
            f"{_queries(run.missing)} of those expected {_are(run.missing)} missing and will score 0"
        )
    if run.extra:
        found.append(f"{_queries(run.extra)} {_are(run.extra)} beyond those expected and will not count")
    found += [f"{what}: do not read it with --trust" for what in run.distrust]
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
        found.append("some ids are not UTF-8: they stay as they are, but SQL and Parquet do not take them")
    return found


def _queries(names: Sequence[str]) -> str:
    noun = "query" if len(names) == 1 else "queries"
    return f"{len(names):,} {noun} ({', '.join(names[:3])}{' …' if len(names) > 3 else ''})"


def _have(count: int) -> str:
    return many(count, "query has", "queries have")


def _are(names: Sequence[str]) -> str:
    return "is" if len(names) == 1 else "are"
