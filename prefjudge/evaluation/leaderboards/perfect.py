"""The perfect ranking: what a run would score that had nothing but the labels on top."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from prefjudge.core.pooling.qrels import JudgedRanks, Qrels, Scores, restrict
from prefjudge.core.pooling.runs import Codes, Order, encode
from prefjudge.evaluation.scoring.measures import Measure, score_matrix
from prefjudge.evaluation.scoring.placings import Floats, number_in_group
from prefjudge.evaluation.testing.classical_tests import sign_test, t_test
from prefjudge.evaluation.testing.corrections import Correction, adjust
from prefjudge.evaluation.testing.intervals import Statistic


@dataclass(frozen=True, slots=True, kw_only=True)
class PerfectRanking:
    """The relevant documents of qrels in their best order: codes of the qrels, positions from 1."""

    query: Codes
    doc: Codes
    position: Codes


def perfect_ranking(top: Qrels, pooled: Qrels | None = None) -> PerfectRanking:
    """Order the documents with a positive grade: the highest first, equal grades as the file lists them.

    Those that were ``pooled`` stand before the others: a qrel that nobody was shown cannot be anybody's
    choice, and above the one that was judged it would only push that one down.
    """
    grade: Floats = top.grade
    rows = np.lexsort((np.arange(grade.size), -grade, ~_among(top, pooled), top.query))
    rows = rows[grade[rows] > 0]
    return PerfectRanking(
        query=top.query[rows], doc=top.doc[rows], position=number_in_group(top.query[rows]).astype(np.int32)
    )


def _among(top: Qrels, pooled: Qrels | None) -> NDArray[np.bool_]:
    """Return which rows of ``top`` are rows of ``pooled``, too; all where that is not known."""
    if pooled is None:
        return np.ones(top.query.size, dtype=np.bool_)
    width = len(top.docs) + 1
    query = encode(pooled.queries, top.queries).astype(np.int64)[pooled.query]
    doc = encode(pooled.docs, top.docs).astype(np.int64)[pooled.doc]
    known = (query >= 0) & (doc >= 0)
    found: NDArray[np.bool_] = np.isin(
        top.query.astype(np.int64) * width + top.doc, (query * width + doc)[known]
    )
    return found


def perfect_ranks(top: Qrels, qrels: Qrels, *, order: Order, pooled: Qrels | None = None) -> JudgedRanks:
    """Return the run that places the relevant documents of ``top`` first, as ``qrels`` see it.

    It scores 1 under ``top`` itself. Under other qrels its score is the bar that a run must pass to be better
    than perfect (Arabzadeh et al. 2021, sections 3 and 5).

    Parameters
    ----------
    top : Qrels
        The labels that the perfect ranking follows: positive grades, the highest first, equal grades as the
        file lists them.
    qrels : Qrels
        The labels that it will be scored by.
    order : Order
        The ordering of the runs that it stands among.
    pooled : Qrels, optional
        Those of ``top`` that were judged: the perfect ranking has them first. All of the original qrels take
        part, as in section 5.1; where the pool has the first of each query the order is that of the file.

    Returns
    -------
    JudgedRanks
        Where the perfect ranking places the documents of ``qrels``; it is called ``perfect (<name of top>)``.
    """
    ranking = perfect_ranking(top, pooled)
    query = encode(top.queries, qrels.queries).astype(np.int64)[ranking.query]
    doc = encode(top.docs, qrels.docs).astype(np.int64)[ranking.doc]
    retrieved = np.bincount(query[query >= 0], minlength=len(qrels.queries)).astype(np.int32)
    labelled = {(int(q), int(d)): row for row, (q, d) in enumerate(zip(qrels.query, qrels.doc, strict=True))}
    judged = np.array(
        [labelled.get((int(q), int(d)), -1) for q, d in zip(query, doc, strict=True)], dtype=np.int32
    )
    rows, position = judged[judged >= 0], ranking.position[judged >= 0]
    return JudgedRanks(
        run=f"perfect ({top.name})",
        query=qrels.query[rows],
        judged=rows,
        position=position,
        best=position,
        worst=position,
        grade=qrels.grade[rows],
        retrieved=retrieved,
        order=order,
    )


def perfect_scores(
    top: Qrels, qrels: Qrels, measure: Measure, *, order: Order, pooled: Qrels | None = None
) -> Scores | None:
    """Score the perfect ranking of ``top`` under ``qrels``, on the queries that both judge.

    On other queries it has no label to follow: to score 0 there would make it easy to beat.

    Returns
    -------
    Scores or None
        One column, in the order of ``qrels.queries``; None where no query is judged by both.
    """
    shared = restrict(qrels, top.queries)
    if not shared.queries:
        return None
    return score_matrix([perfect_ranks(top, shared, order=order, pooled=pooled)], shared, measure)


@dataclass(frozen=True, slots=True, kw_only=True)
class AgainstPerfect:
    """Each run against the perfect ranking, over the perfect ranking's queries.

    Attributes
    ----------
    difference : ndarray of float64, shape (runs,)
        The score of the run less that of the perfect ranking.
    p : ndarray of float64, shape (runs,)
        Two-sided, after Holm's correction over the runs; 1 where there is only one query.
    """

    difference: Floats
    p: Floats


def against_perfect(scores: Scores, perfect: Scores, statistic: Statistic = "mean") -> AgainstPerfect:
    """Test each run against the perfect ranking on the queries of the latter.

    Parameters
    ----------
    scores : Scores
        The runs; the queries of ``perfect`` are among theirs.
    perfect : Scores
        The one column of :func:`perfect_scores`.
    statistic : {'mean', 'median'}
        What the runs are ordered by. Means are compared by paired t tests, medians by sign tests.
    """
    place = {query: row for row, query in enumerate(scores.queries)}
    runs = scores.values[[place[query] for query in perfect.queries]]
    apart: Floats = runs - perfect.values
    if statistic == "median":
        difference = np.median(runs, axis=0) - np.median(perfect.values)
        plus, minus = ((apart > 0).sum(axis=0), (apart < 0).sum(axis=0))
        p = sign_test(plus.astype(np.float64), minus.astype(np.float64))
        # A sign test may favour the run whose median is the lower one.
        p = np.where(np.sign(difference) == np.sign(plus - minus), p, 1.0)
    else:
        difference = apart.mean(axis=0)
        total, squares = apart.sum(axis=0), (apart**2).sum(axis=0)
        p = t_test(total, squares, len(apart))[1] if len(apart) > 1 else np.ones(difference.shape)
    return AgainstPerfect(difference=difference, p=adjust(p, Correction.HOLM))
