"""Copies: which documents are the same, which of them is the candidate, and what lists them all."""

from collections.abc import Mapping

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from prefjudge.core.copies import (
    NO_COPIES,
    Carried,
    Carrier,
    Copies,
    copies_in,
    heads_of_candidates,
    labels_of_candidates,
    merge_copies,
    ranks_of_candidates,
)
from prefjudge.core.pools import Pools, candidates_of, pool_top_pairs, pools_of, top_pairs
from prefjudge.core.runs import JudgedRanks, Order, heads_of
from tests.core.tables import qrels_of


def rows_of(pools: Pools) -> set[tuple[str, str, str]]:
    rows = candidates_of(pools)
    return {
        (*rows[row], pools.sources[source])
        for row, source in zip(pools.source_row.tolist(), pools.source.tolist(), strict=True)
    }


@pytest.mark.parametrize(
    ("one", "other", "same", "near"),
    [
        ("a b", "a  b ", True, True),
        ("a b", "a\r\nb", True, True),
        ("a b", "a\u00a0b", True, True),
        ("caf\u00e9", "cafe\u0301", True, True),
        ("a b", "ab", False, False),
        ("A b", "a b", False, True),
        ("a, b!", "a b", False, True),
        ("\ufb01ne", "fine", False, True),
        ("a b", "b a", False, False),
        ("", "", False, False),
        (" \n", "\u00a0", False, False),
        ("?!", "--", False, False),
        ("\ud800", "\ud800", True, False),
    ],
)
def test_texts_that_read_the_same_are_copies(one: str, other: str, same: bool, near: bool) -> None:
    texts = {"x": one, "y": other}
    assert bool(copies_in(texts)) is same
    assert bool(copies_in(texts, near=True)) is near


def test_a_chain_of_copies_is_one_group() -> None:
    chain = Copies([("a", "b"), ("c", "d"), ("b", "c"), ("x",)])
    assert chain.groups == (("a", "b", "c", "d"),)
    assert (Copies([("a", "b")]) | Copies([("b", "e")])).of("e") == ("a", "b", "e")
    assert Copies([("a", "b"), ("c", "d")]).about(["d", "z"]).groups == (("c", "d"),)
    assert not NO_COPIES
    assert NO_COPIES.of("a") == ("a",)


def test_the_copy_with_the_highest_label_stands_for_all() -> None:
    pools = pools_of(
        [("1", "a", "r1"), ("1", "a", "r2"), ("1", "b", "r3"), ("1", "c", "original"), ("1", "z", "r4")]
    )
    same = Copies([("a", "b", "c")])
    labels = qrels_of([("1", "b", 2), ("1", "c", 1)])
    merged, gone = merge_copies(pools, same, labels)
    assert gone == {("1", "a"): "b", ("1", "c"): "b"}
    assert rows_of(merged) == {
        ("1", "b", "r1"), ("1", "b", "r2"), ("1", "b", "r3"), ("1", "b", "original"), ("1", "z", "r4"),
    }  # fmt: skip
    assert list(merged.docs) == sorted(merged.docs)
    equal = qrels_of([("1", "b", 1), ("1", "c", 1)])
    assert merge_copies(pools, same, equal)[1].keys() == {("1", "a"), ("1", "b")}, "the qrels brought c"
    other = qrels_of([("1", "b", 0)], name="others")
    assert merge_copies(pools, same, other)[1].keys() == {("1", "b"), ("1", "c")}, "0 is no label"
    assert merge_copies(pools, same)[1] == {("1", "b"): "a", ("1", "c"): "a"}, "most runs have a"


def test_copies_of_other_queries_and_a_run_with_two_copies() -> None:
    pools = pools_of([("1", "a", "r"), ("1", "b", "r"), ("2", "b", "r"), ("3", "c", "r")])
    merged, gone = merge_copies(pools, Copies([("a", "b"), ("c", "d")]))
    assert gone == {("1", "b"): "a"}
    assert rows_of(merged) == {("1", "a", "r"), ("2", "b", "r"), ("3", "c", "r")}
    assert merged.source_row.size == 3, "a run is named once"


def test_what_people_may_have_compared_stays() -> None:
    pools = pools_of([("1", "a", "r"), ("1", "b", "r"), ("2", "a", "r")])
    same = Copies([("a", "b", "z")])
    assert merge_copies(pools, same, kept={("1", "a"), ("1", "b")})[1] == {}
    merged, gone = merge_copies(pools, same, kept={("2", "z")})
    assert gone == {("1", "b"): "a", ("2", "a"): "z"}
    assert rows_of(merged) == {("1", "a", "r"), ("2", "z", "r")}


def test_answers_list_all_copies_once() -> None:
    same = Copies([("a", "b", "c")])
    answers = qrels_of([("2", "x", 1), ("1", "b", 1), ("1", "a", 2)])
    wide = same.spread(answers)
    found = dict(zip(candidates_of(wide), wide.grade.tolist(), strict=True))
    assert found == {("2", "x"): 1, ("1", "a"): 2, ("1", "b"): 1, ("1", "c"): 2}
    assert candidates_of(same.spread(wide)) == candidates_of(wide)
    assert NO_COPIES.spread(answers) is answers


def test_the_qrel_never_meets_its_own_copy() -> None:
    labels = qrels_of([("1", "a", 1), ("2", "a", 1), ("3", "a", 1)])
    heads = heads_of(
        ("r",),
        ("1", "2", "3"),
        ("b", "x", "c"),
        run=np.zeros(6, np.int32),
        query=np.array([0, 0, 1, 1, 2, 2], np.int32),
        doc=np.array([0, 1, 1, 0, 0, 2], np.int32),
    )
    gone = {(query, doc): "a" for query in "123" for doc in "bc"}
    heads, labels = heads_of_candidates(heads, gone), labels_of_candidates(labels, gone)
    split = top_pairs(heads, labels, "r").split
    assert (split.a, split.b, split.no_rival) == (2, 1, 1)
    assert sorted(candidates_of(pool_top_pairs(heads, labels))) == [
        ("1", "a"), ("1", "x"), ("2", "a"), ("2", "x"), ("3", "a"),
    ]  # fmt: skip


def test_of_labels_of_copies_the_highest_counts() -> None:
    labels = qrels_of([("1", "a", 1), ("1", "b", 3), ("1", "x", 0)])
    found = labels_of_candidates(labels, {("1", "b"): "a"})
    assert dict(zip(candidates_of(found), found.grade.tolist(), strict=True)) == {
        ("1", "a"): 3,
        ("1", "x"): 0,
    }


def test_a_candidate_has_the_best_place_of_its_copies() -> None:
    same = Copies([("a", "b")])
    documents = qrels_of([("1", "a", 1), ("1", "x", 1), ("2", "b", 1)])
    wide = same.spread(documents)
    place = {("1", "b"): 1, ("1", "x"): 2, ("1", "a"): 3, ("2", "a"): 4}
    rows = [row for row, one in enumerate(candidates_of(wide)) if one in place]
    position = np.array([place[candidates_of(wide)[row]] for row in rows], np.int32)
    ranks = JudgedRanks(
        run="r",
        query=wide.query[rows],
        judged=np.array(rows, np.int32),
        position=position,
        best=position,
        worst=position,
        grade=wide.grade[rows],
        retrieved=np.array([5, 5], np.int32),
        order=Order.SCORE,
    )
    (found,) = ranks_of_candidates([ranks], wide, documents, same)
    named = [candidates_of(documents)[row] for row in found.judged.tolist()]
    assert dict(zip(named, found.position.tolist(), strict=True)) == {
        ("1", "a"): 1, ("1", "x"): 2, ("2", "b"): 4,
    }  # fmt: skip


OLD = "The old house by the river burned down last night"


def carried(new: Mapping[str, str], old: str = OLD) -> tuple[Carried, tuple[str, ...]]:
    carrier = Carrier({"old": old})
    for doc, text in new.items():
        carrier.look(doc, text)
    return carrier.found("old")


@pytest.mark.parametrize(
    ("new", "how", "docs"),
    [
        ({"a": OLD}, Carried.TEXT, "a"),
        ({"a": f" {OLD.replace(' ', '  ')}\r"}, Carried.TEXT, "a"),
        ({"b": OLD, "a": OLD}, Carried.TEXT, "ab"),
        ({"a": OLD, "b": f"{OLD}!"}, Carried.TEXT, "a"),
        ({"b": OLD.upper(), "c": f"News: {OLD}."}, Carried.WORDS, "b"),
        ({"b": OLD.upper(), "a": OLD.lower()}, Carried.SEVERAL, "ab"),
        ({"c": f"News: {OLD}."}, Carried.INSIDE, "c"),
        ({"c": f"News: {OLD}.", "d": f"News: {OLD}."}, Carried.INSIDE, "cd"),
        ({"c": f"News: {OLD}.", "d": f"{OLD}, they say"}, Carried.SEVERAL, "cd"),
        ({"c": f"Th{OLD}"}, Carried.NONE, ""),
        ({"c": f"{OLD}s"}, Carried.NONE, ""),
        ({"c": OLD[:-5]}, Carried.NONE, ""),
        ({}, Carried.NONE, ""),
    ],
)
def test_a_passage_is_carried_to_the_one_text_that_fits(new: dict[str, str], how: Carried, docs: str) -> None:
    assert carried(new) == (how, tuple(docs))


def test_few_words_no_words_and_too_many_places_carry_nothing() -> None:
    seven = "seven words that stand here by chance"
    assert carried({"a": f"{seven} too"}, seven) == (Carried.NONE, ())
    assert carried({"a": seven}, seven) == (Carried.TEXT, ("a",))
    for empty in ("", " \n", "?! --", "\N{NO-BREAK SPACE}"):
        assert carried({"a": empty}, empty) == (Carried.NONE, ())
    how, docs = carried({f"d{number}": OLD for number in range(1000)})
    assert (how, len(docs)) == (Carried.SEVERAL, 100), "boilerplate does not fill the memory"
    assert Carrier({}).found("old") == (Carried.NONE, ())
    twice = Carrier({"old": OLD})
    for _ in range(2):
        twice.look("a", OLD)
    assert twice.found("old") == (Carried.TEXT, ("a",)), "a collection that lists it twice"


@given(st.lists(st.lists(st.sampled_from("abc\u0130"), max_size=14).map(" ".join), max_size=6))
def test_carrying_finds_what_looking_at_each_pair_finds(texts: list[str]) -> None:
    # Such texts repeat themselves, hold each other and themselves anew: whatever pair of words is looked for.
    named = {str(place): text for place, text in enumerate(texts)}
    carrier = Carrier(named)
    for doc, text in named.items():
        carrier.look(doc, text)
    for doc, text in named.items():
        same = {other for other, one in named.items() if one == text and text}
        assert carrier.found(doc) == ((Carried.TEXT, tuple(sorted(same))) if same else (Carried.NONE, ()))
    inner = {f"in {doc}": f"b {text} b" for doc, text in named.items() if len(text.split()) >= 8}
    carrier = Carrier({doc: text for doc, text in named.items() if f"in {doc}" in inner})
    for doc, text in inner.items():
        carrier.look(doc, text)
    for doc, text in named.items():
        holding = {other for other, one in inner.items() if f" {text} " in f" {one} "}
        if f"in {doc}" in inner:
            how = Carried.INSIDE if len({inner[one] for one in holding}) == 1 else Carried.SEVERAL
            assert carrier.found(doc) == (how, tuple(sorted(holding)))
