"""Tokens are pieces of bytes, however they are stored."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from prefjudge.core.runs import codes_of, line_tokens, same_token, tokens_of

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
