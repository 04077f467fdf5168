"""Qrels and judgments of some queries or documents only."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from prefjudge.core.judgments import Judgments, only_queries
from prefjudge.core.runs import (
    Qrels,
    Vocabulary,
    codes_of,
    encode,
    line_tokens,
    merged,
    restrict,
    restrict_documents,
    same_token,
    tokens_of,
    vocabulary_of,
)
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


# Tokens are pieces of bytes, however they are stored.


LONG = st.binary(min_size=60, max_size=90)
IDS = st.lists(
    st.sampled_from([b"a", b"ab", b"12345678", b"123456789", b"12345678x"]) | st.binary(max_size=20)
)


@given(IDS | st.lists(LONG, max_size=4))
def test_tokens_give_back_what_they_were_made_of(ids: list[bytes]) -> None:
    tokens = tokens_of(ids)
    assert len(tokens) == len(ids)
    assert tokens.to_bytes() == [tokens.raw(row) for row in range(len(ids))] == ids
    assert tokens.symbols().tobytes() == b"".join(ids)
    assert tokens.take(slice(None, None, -1)).to_bytes() == ids[::-1]
    assert tokens.width() == max((-(-len(name) // 8) for name in ids), default=0)
    for index in range(tokens.width()):
        words = [int.from_bytes(name[8 * index : 8 * index + 8], "little") for name in ids]
        assert tokens.words(index).tolist() == words
    assert tokens.changes().tolist() == [row for row in range(1, len(ids)) if ids[row] != ids[row - 1]]


@given(st.lists(st.binary(min_size=1, max_size=30).map(lambda raw: raw.replace(b"\n", b" ")), max_size=8))
def test_lines_are_tokens_and_tokens_lines(ids: list[bytes]) -> None:
    lines = b"".join(name + b"\n" for name in ids)
    tokens = line_tokens(lines)
    assert tokens.to_bytes() == ids
    assert tokens.to_lines() == tokens_of(ids).to_lines() == lines if ids else not tokens.to_lines()


def test_blank_lines_are_empty_tokens() -> None:
    assert line_tokens(b"\na\n\n").to_bytes() == [b"", b"a", b""]


@given(st.lists(st.tuples(st.binary(max_size=18), st.binary(max_size=18)), min_size=1), st.data())
def test_columns_are_compared_row_by_row(rows: list[tuple[bytes, bytes]], data: st.DataObject) -> None:
    equal = [data.draw(st.booleans()) for _ in rows]
    left = [a for a, _ in rows]
    right = [a if same else b for (a, b), same in zip(rows, equal, strict=True)]
    found = same_token(tokens_of(left), tokens_of(right))
    assert found.tolist() == [a == b for a, b in zip(left, right, strict=True)]


def test_the_code_of_a_token_does_not_depend_on_its_neighbours() -> None:
    rng = np.random.default_rng(2)
    ids = [rng.bytes(int(size)) for size in rng.integers(1, 40, 3000)] + [
        b"x" * size for size in range(1, 40)
    ]
    together = codes_of(ids)
    assert together.tolist() == [int(codes_of([name])[0]) for name in ids]
    assert len(set(together.tolist())) == len(set(ids))


@pytest.mark.parametrize("place", [0, 7, 8, 15, 16, 22])
def test_one_bit_anywhere_changes_the_code(place: int) -> None:
    name = bytearray(b"a-token-of-23-bytes-abc")
    codes = set()
    for bit in range(8):
        other = bytearray(name)
        other[place] ^= 1 << bit
        codes.add(int(codes_of([bytes(other)])[0]))
    assert len(codes | {int(codes_of([bytes(name)])[0])}) == 9


# A vocabulary is a tuple of strings in all but memory.


NAMES = ("a", "café", "", "\udce9", "d10")


@pytest.fixture
def vocabulary():
    raws = [name.encode("utf-8", "surrogateescape") for name in NAMES]
    return Vocabulary(b"".join(raws) + b"padding", np.cumsum(list(map(len, raws))).astype(np.uint32))


def test_it_reads_as_a_tuple(vocabulary):
    assert len(vocabulary) == 5
    assert [vocabulary[code] for code in np.arange(5, dtype=np.int32)] == list(NAMES)
    assert (vocabulary[-1], vocabulary[1:4], vocabulary[::-2]) == ("d10", NAMES[1:4], NAMES[::-2])
    assert tuple(vocabulary) == tuple(reversed(tuple(reversed(vocabulary)))) == NAMES
    assert "café" in vocabulary
    assert "caf" not in vocabulary
    plain = Vocabulary(b"abcpadding", np.array([1, 1, 3], np.uint32))
    assert tuple(plain) == ("a", "", "bc")
    for code in (5, -6):
        with pytest.raises(IndexError):
            vocabulary[code]


def test_it_equals_a_tuple_and_its_like(vocabulary):
    assert vocabulary == NAMES
    assert vocabulary == pickle.loads(pickle.dumps(vocabulary))
    for other in (NAMES[:-1], (*NAMES[:-1], "d1"), list(NAMES), None):
        assert vocabulary != other
    ends = np.array([1, 3], np.uint32)
    assert Vocabulary(b"abc", ends) == Vocabulary(bytearray(b"abc padded"), ends)
    assert Vocabulary(b"abc", ends) != Vocabulary(b"abd", ends)
    assert Vocabulary(b"abc", ends) != Vocabulary(b"abc", ends[1:])


def test_codes_are_places_in_it(vocabulary):
    assert encode(["d10", "x", "a"], vocabulary).tolist() == [4, -1, 0]


PLAIN = st.text("ab019-", max_size=20)
ODD = st.text(st.sampled_from("a\0é\udce9\uffff\U0001f600"), max_size=4)
LENGTHY = st.integers(0, 60).map(lambda size: "x" * size + "y")


@given(
    st.sampled_from([PLAIN, ODD, LENGTHY]).flatmap(
        lambda ids: st.lists(st.lists(ids), min_size=1, max_size=3)
    )
)
def test_lists_are_merged_into_the_sorted_set_of_their_ids(lists):
    ids, codes = merged(*map(tuple, lists))
    assert list(ids) == sorted({name for names in lists for name in names})
    assert [[ids[code] for code in own] for own in codes] == lists


def test_some_of_the_ids(vocabulary):
    assert vocabulary.take(np.array([4, 1, 1])) == ("d10", "café", "café")
    assert vocabulary.take(np.array([], np.int32)) == ()
    assert vocabulary_of(vocabulary) is vocabulary
    assert vocabulary_of(NAMES) == NAMES
