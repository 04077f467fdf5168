"""Small qrels and runs for the tests of measures, ranked the slow and obvious way."""

from collections.abc import Mapping

import numpy as np

from prefjudge.core.runs import JudgedRanks, Order, Qrels, Scores

RunDict = dict[str, dict[str, float]]
QrelDict = dict[str, dict[str, float]]


def make_qrels(labels: Mapping[str, Mapping[str, float]], name: str = "q") -> Qrels:
    """Turn a dictionary of dictionaries into qrels."""
    queries = tuple(labels)
    docs = tuple(dict.fromkeys(doc for judged in labels.values() for doc in judged))
    rows = [
        (queries.index(query), doc, grade)
        for query, judged in labels.items()
        for doc, grade in judged.items()
    ]
    codes = {doc: code for code, doc in enumerate(docs)}
    return Qrels(
        name=name,
        queries=queries,
        docs=docs,
        query=np.array([row[0] for row in rows], dtype=np.int32),
        doc=np.array([codes[row[1]] for row in rows], dtype=np.int32),
        grade=np.array([row[2] for row in rows], dtype=np.float64),
    )


def make_ranks(
    run: Mapping[str, Mapping[str, float]], qrels: Qrels, name: str = "run", order: Order = Order.SCORE
) -> JudgedRanks:
    """Rank a run of scores by score and doc_id, both descending, the slow and obvious way."""
    rows = []
    retrieved = np.zeros(len(qrels.queries), dtype=np.int32)
    labels: dict[tuple[int, str], int] = {
        (int(query), qrels.docs[doc]): row
        for row, (query, doc) in enumerate(zip(qrels.query, qrels.doc, strict=True))
    }
    for code, query in enumerate(qrels.queries):
        scores = {
            doc: float(np.float32(score)) if order is Order.SCORE_F32 else score
            for doc, score in run.get(query, {}).items()
        }
        ranking = sorted(scores, key=lambda doc: (scores[doc], doc), reverse=True)
        values = [scores[doc] for doc in ranking]
        retrieved[code] = len(ranking)
        for place, doc in enumerate(ranking, 1):
            if (code, doc) in labels:
                best = values.index(values[place - 1]) + 1
                rows.append(
                    (code, labels[code, doc], place, best, best + values.count(values[place - 1]) - 1)
                )
    table = np.array(rows, dtype=np.int32).reshape(-1, 5)
    return JudgedRanks(
        run=name,
        query=table[:, 0],
        judged=table[:, 1],
        position=table[:, 2],
        best=table[:, 3],
        worst=table[:, 4],
        grade=qrels.grade[table[:, 1]],
        retrieved=retrieved,
        order=order,
    )


def scores_of(values: np.ndarray, measure: str = "RR@10") -> Scores:
    """The matrix as the scores of runs r0, r1 and so on of queries q0, q1 and so on."""
    return Scores(
        measure=measure,
        qrels="test",
        queries=tuple(f"q{row}" for row in range(values.shape[0])),
        runs=tuple(f"r{column}" for column in range(values.shape[1])),
        values=values.astype(np.float64),
        order=Order.SCORE,
    )
