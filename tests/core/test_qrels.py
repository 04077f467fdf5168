"""Qrels and judgments of some queries or documents only."""

from prefjudge.core.judgments import Judgments, only_queries
from prefjudge.core.runs import Qrels, restrict, restrict_documents
from tests.core.tables import judgments_of, qrels_of

LABELS = qrels_of([("q", "a", 1), ("p", "b", 2), ("q", "c", 0), ("r", "a", 3)])


def rows(labels: Qrels) -> list[tuple[str, str, float]]:
    columns = (labels.query.tolist(), labels.doc.tolist(), labels.grade.tolist())
    return [(labels.queries[q], labels.docs[d], grade) for q, d, grade in zip(*columns, strict=True)]


def test_only_the_queries_asked_for_are_judged_then() -> None:
    some = restrict(LABELS, ["r", "p", "unknown"])
    assert (some.name, some.queries) == (LABELS.name, ("p", "r"))
    assert rows(some) == [("p", "b", 2), ("r", "a", 3)]


def test_without_some_documents_the_queries_stay_judged() -> None:
    some = restrict_documents(LABELS, ["a", "c", "unknown"])
    assert (some.name, some.queries) == (LABELS.name, LABELS.queries)
    assert rows(some) == [("q", "a", 1), ("q", "c", 0), ("r", "a", 3)]


def test_the_judgments_of_some_queries_keep_their_order_and_codes() -> None:
    def lines(votes: Judgments) -> list[tuple[str, str, str, int, int, str]]:
        columns = (votes.query, votes.left, votes.right, votes.choice, votes.strength, votes.worker)
        return [
            (votes.queries[q], votes.docs[a], votes.docs[b], choice, strength, votes.workers[worker])
            for q, a, b, choice, strength, worker in zip(*(c.tolist() for c in columns), strict=True)
        ]

    every = judgments_of("q a b b w", "p c a tie v", "q b a b v", "r a d d w")
    every.strength[:] = [1, 2, 3, 4]
    some = only_queries(every, ["r", "q", "unknown"])
    assert lines(some) == [lines(every)[0], *lines(every)[2:]]
    assert some.queries == every.queries
