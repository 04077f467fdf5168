"""Tokens against Python's own bytes."""

from hypothesis import given
from hypothesis import strategies as st

from prefjudge.core.runs import line_tokens, tokens_of

names = st.one_of(
    st.integers(0, 9).map(lambda size: b"1234567890"[:size]),
    st.binary(max_size=90).map(lambda raw: raw.translate(None, b"\n")),
)


@given(parts=st.lists(names, max_size=30), step=st.sampled_from([-1, 1, 2]))
def test_tokens_become_bytes_and_lines(parts, step):
    tokens = tokens_of(parts).take(slice(None, None, step))
    parts = parts[::step]
    assert tokens.symbols().tobytes() == b"".join(parts)
    assert tokens.to_lines() == b"".join([b"%b\n" % part for part in parts])
    assert line_tokens(tokens.to_lines()).to_bytes() == parts
