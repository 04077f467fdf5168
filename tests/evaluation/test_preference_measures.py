from math import inf, log2

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prefjudge.core.runs import Order
from prefjudge.evaluation.measures.placings import compared_pairs
from prefjudge.evaluation.measures.preferences import (
    PreferenceMeasure,
    is_preference_measure,
    preference_matrix,
)

from .judging import Vote, make_judgments
from .samples import make_ranks


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("PPREF@10", "ppref@10"),
        ("nwpref", "nwpref"),
        ("appref @ 5", "APpref@5"),
        ("pgc", "PGC(p=0.8)"),
        ("PGC(p=.95)", "PGC(p=0.95)"),
    ],
)
def test_names(text: str, name: str) -> None:
    assert str(PreferenceMeasure.parse(text)) == name
    assert PreferenceMeasure.parse(name) == PreferenceMeasure.parse(text)


docs = st.sampled_from("abcdef")
votes = st.lists(
    st.tuples(st.just("1"), docs, docs, st.sampled_from([-1, 0, 1])).filter(lambda vote: vote[1] != vote[2]),
    min_size=1,
    max_size=25,
)
runs = st.dictionaries(st.sampled_from("abcdefxyz"), st.integers(-4, 4).map(float))


def slow(family: str, cutoff: float, place: dict[str, int], pairs: set[tuple[str, str]]) -> float:
    """Score by the words of the definitions."""

    def ordered(k: float) -> list[tuple[str, str]]:
        return [pair for pair in pairs if min(place.get(pair[0], inf), place.get(pair[1], inf)) <= k]

    def correct(k: float) -> list[tuple[str, str]]:
        return [(a, b) for a, b in ordered(k) if place.get(a, inf) < place.get(b, inf)]

    def weight(pair: tuple[str, str]) -> float:
        return 1 / log2(min(place.get(pair[0], inf), place.get(pair[1], inf)) + 1)

    last = min(cutoff, 50)
    if family == "ppref":
        return len(correct(last)) / len(ordered(last)) if ordered(last) else 0
    if family == "rpref":
        return len(correct(last)) / len(pairs) if pairs else 0
    if family == "wpref":
        return sum(map(weight, correct(last)))
    if family == "nwpref":
        return sum(map(weight, correct(last))) / sum(map(weight, ordered(last))) if ordered(last) else 0
    rises = [k for k in range(1, int(last) + 1) if len(correct(k)) > len(correct(k - 1))]
    return sum(len(correct(k)) / len(ordered(k)) for k in rises) / len(rises) if rises else 0


@given(
    votes,
    runs,
    st.sampled_from(["ppref", "rpref", "wpref", "nwpref", "APpref"]),
    st.sampled_from([1, 2, 4, None]),
)
def test_equals_the_words_of_the_definition(
    votes: list[Vote], run: dict[str, float], family: str, cutoff: int | None
) -> None:
    pairs = compared_pairs(make_judgments(votes))
    ranking = sorted(run, key=lambda doc: (run[doc], doc), reverse=True)
    place = {doc: number for number, doc in enumerate(ranking, 1)}
    net: dict[tuple[str, str], int] = {}
    for _, left, right, choice in votes:
        net[left, right] = net.get((left, right), 0) + choice
        net[right, left] = net.get((right, left), 0) - choice
    decided = {pair for pair, lead in net.items() if lead > 0}
    score = PreferenceMeasure.parse(family if cutoff is None else f"{family}@{cutoff}").score(
        make_ranks({"1": run}, pairs.documents), pairs
    )
    assert score[0] == pytest.approx(slow(family, cutoff or inf, place, decided))


def slow_order(edges: list[tuple[str, str]], place: dict[str, int], nodes: set[str]) -> list[str]:
    """The greedy feedback arc set, on lists of edges."""
    left, head, tail = set(nodes), [], []  # type: ignore[var-annotated]
    by_doc = sorted(nodes)

    def degree(doc: str) -> tuple[int, int]:
        live = [edge for edge in edges if edge[0] in left and edge[1] in left]
        return sum(a == doc for a, _ in live), sum(b == doc for _, b in live)

    def pick(docs: list[str], sign: int) -> str:
        return min(docs, key=lambda doc: (sign * place.get(doc, 10**6), by_doc.index(doc)))

    while left:
        while sinks := [doc for doc in by_doc if doc in left and degree(doc)[0] == 0]:
            tail.insert(0, pick(sinks, -1))
            left.remove(tail[0])
        while sources := [doc for doc in by_doc if doc in left and degree(doc)[1] == 0]:
            head.append(pick(sources, 1))
            left.remove(head[-1])
        if left:
            lead = {doc: degree(doc)[0] - degree(doc)[1] for doc in left}
            head.append(pick([doc for doc in left if lead[doc] == max(lead.values())], 1))
            left.remove(head[-1])
    return head + tail


@given(votes, runs)
def test_the_preference_graph_is_the_published_algorithm(votes: list[Vote], run: dict[str, float]) -> None:
    ordered = sorted(votes, key=lambda vote: vote[1:3])  # so that codes stand in order of the doc_id
    vocabulary = sorted({doc for vote in votes for doc in vote[1:3]})
    padding = [("0", doc, "~", 1) for doc in vocabulary]
    pairs = compared_pairs(make_judgments([*padding, *ordered]))
    ranking = sorted(run, key=lambda doc: (run[doc], doc), reverse=True)
    place = {doc: number for number, doc in enumerate(ranking, 1)}
    edges = [(left, right) if choice == 1 else (right, left) for _, left, right, choice in votes if choice]
    ideal = slow_order(edges, place, set(vocabulary))
    total = sum(
        0.8**depth * len(set(ideal[: depth + 1]) & set(ranking[: depth + 1])) / (depth + 1)
        for depth in range(1000)
    ) / sum(0.8**depth for depth in range(1000))
    score = PreferenceMeasure.parse("PGC").score(make_ranks({"1": run}, pairs.documents), pairs)
    assert score[1] == pytest.approx(total)


@pytest.mark.parametrize(
    ("text", "is_one"),
    [("ppref@10", True), (" APPREF ", True), ("PGC (p=0.5)", True), ("nDCG@10", False), ("", False)],
)
def test_preference_measures_are_known_by_their_names(text: str, is_one: bool) -> None:
    assert is_preference_measure(text) is is_one


def test_the_matrix_says_what_it_is_of() -> None:
    pairs = compared_pairs(make_judgments([("1", "a", "b", 1), ("2", "a", "c", -1)]))
    runs = {"r": {"1": {"a": 2.0, "b": 1.0}}, "s": {"1": {"b": 1.0}, "2": {"c": 1.0}}}
    ranks = [make_ranks(run, pairs.documents, name, order=Order.RANK) for name, run in runs.items()]
    scores = preference_matrix(ranks, pairs, PreferenceMeasure.parse("ppref@2"))
    assert (scores.measure, scores.qrels, scores.order) == ("ppref@2", "judgments", Order.RANK)
    assert (scores.queries, scores.runs) == (("1", "2"), ("r", "s"))
    assert scores.values.tolist() == [[1.0, 0.0], [0.0, 1.0]]
