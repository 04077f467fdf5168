import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from prefjudge.evaluation.measures.measures import Measure
from prefjudge.evaluation.measures.placings import (
    NOWHERE,
    compared_pairs,
    positions,
    relabel,
    union_documents,
)
from prefjudge.evaluation.measures.preferences import pair_agreement

from .judging import Vote, make_judgments
from .samples import make_qrels, make_ranks

queries = st.sampled_from(["1", "2"])
docs = st.sampled_from("abcd")
votes = st.lists(st.tuples(queries, docs, docs, st.sampled_from([-1, 0, 1])), max_size=25)


@given(votes)
def test_every_vote_is_counted_once(votes: list[Vote]) -> None:
    pairs = compared_pairs(make_judgments(votes))
    names = pairs.documents
    found = {}
    for row in range(pairs.query.size):
        better, worse = pairs.preferred[row], pairs.other[row]
        assert names.query[better] == names.query[worse] == pairs.query[row]
        key = (names.queries[pairs.query[row]], names.docs[names.doc[better]], names.docs[names.doc[worse]])
        found[key] = (pairs.votes_for[row], pairs.votes_against[row])
        assert pairs.votes_for[row] >= pairs.votes_against[row]
    expected: dict[tuple[str, str, str], list[int]] = {}
    for query, left, right, choice in votes:
        if left != right:
            counts = expected.setdefault((query, *sorted([left, right])), [0, 0])
            first = (choice == 1) == (left < right)
            if choice:
                counts[0 if first else 1] += 1
    assert len(found) == len(expected)
    for (query, low, high), (for_low, for_high) in expected.items():
        if (query, low, high) in found:
            assert found[query, low, high] == (for_low, for_high)
        else:
            assert found[query, high, low] == (for_high, for_low)


def test_positions_say_what_was_not_retrieved() -> None:
    pairs = compared_pairs(make_judgments([("1", "a", "b", 1), ("1", "c", "b", 1)]))
    ranks = make_ranks({"1": {"b": 2.0, "x": 1.0, "c": 0.0}}, pairs.documents)
    placed = dict(
        zip(
            [pairs.documents.docs[doc] for doc in pairs.documents.doc],
            positions(ranks, pairs.documents),
            strict=True,
        )
    )
    assert placed == {"a": NOWHERE, "b": 1, "c": 3}


def test_pair_agreement_needs_both_documents_near_the_top() -> None:
    votes: list[Vote] = [
        ("1", "a", "b", 1),
        ("1", "c", "a", 1),
        ("1", "a", "far", 1),
        ("1", "b", "c", 1),
        ("1", "b", "c", -1),  # undecided
    ]
    pairs = compared_pairs(make_judgments(votes))
    run = {"1": {"a": 9.0, "b": 8.0, "c": 7.0, "far": 6.0}}
    near = pair_agreement([make_ranks(run, pairs.documents, "r")], pairs, depth=3)[0]
    assert (near.run, near.agree, near.disagree, near.ratio) == ("r", 1, 1, 0.5)
    assert pair_agreement([make_ranks(run, pairs.documents)], pairs, depth=4)[0].agree == 2
    assert np.isnan(pair_agreement([make_ranks({}, pairs.documents)], pairs)[0].ratio)


def test_pairs_agree_to_the_tenth_place_unless_another_is_asked_for() -> None:
    pairs = compared_pairs(make_judgments([("1", "tenth", "first", 1), ("1", "eleventh", "first", 1)]))
    run = {
        "first": 20.0,
        **{f"x{place}": 20.0 - place for place in range(2, 10)},
        "tenth": 2.0,
        "eleventh": 1.0,
    }
    (row,) = pair_agreement([make_ranks({"1": run}, pairs.documents)], pairs)
    assert (row.agree, row.disagree) == (0, 1)


runs = st.dictionaries(queries, st.dictionaries(docs, st.integers(-3, 3).map(float)))
labels = st.dictionaries(queries, st.dictionaries(docs, st.integers(0, 2).map(float), min_size=1), min_size=1)


@given(runs, labels)
def test_relabelled_ranks_are_those_read_for_the_labels(
    run: dict[str, dict[str, float]], label: dict[str, dict[str, float]]
) -> None:
    documents = make_qrels({query: dict.fromkeys("dcba", 1) for query in "21"})
    qrels = make_qrels(label)
    (moved,) = relabel([make_ranks(run, documents)], documents, qrels)
    direct = make_ranks(run, qrels)
    assert moved.retrieved.tolist() == direct.retrieved.tolist()
    for name in ("RR", "nDCG@2", "Judged@3"):
        measure = Measure.parse(name)
        np.testing.assert_array_equal(measure.score(moved, qrels), measure.score(direct, qrels))


@given(runs, labels, labels)
def test_one_look_up_serves_several_label_sets(
    run: dict[str, dict[str, float]], one: dict[str, dict[str, float]], other: dict[str, dict[str, float]]
) -> None:
    sets = [make_qrels(one, "one"), make_qrels(other, "other")]
    documents = union_documents(sets)
    ranks = [make_ranks(run, documents)]
    measure = Measure.parse("nDCG@3")
    for qrels in sets:
        (moved,) = relabel(ranks, documents, qrels)
        np.testing.assert_array_equal(
            measure.score(moved, qrels), measure.score(make_ranks(run, qrels), qrels)
        )


def test_a_query_that_was_never_looked_up_returned_nothing() -> None:
    documents = make_qrels({"1": {"a": 1, "b": 1}}, "one")
    run = make_ranks({"1": {"a": 1.0, "x": 0.5}, "2": {"y": 1.0}}, documents)
    (moved,) = relabel([run], documents, make_qrels({"2": {}, "1": {"b": 2}}))
    assert moved.retrieved.tolist() == [0, 2]
    assert moved.grade.tolist() == []


def test_the_union_of_label_sets_is_named_after_them() -> None:
    sets = [make_qrels({"1": {"a": 2}, "2": {"b": 0}}, "one"), make_qrels({"2": {"b": 1, "c": 1}}, "two")]
    union = union_documents(sets)
    rows = zip(union.query.tolist(), union.doc.tolist(), union.grade.tolist(), strict=True)
    assert union.name == "one and two"
    assert {(union.queries[query], union.docs[doc], grade) for query, doc, grade in rows} == {
        ("1", "a", 1.0), ("2", "b", 1.0), ("2", "c", 1.0),
    }  # fmt: skip
    assert union_documents([]).queries == ()
