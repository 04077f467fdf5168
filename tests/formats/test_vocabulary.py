"""Vocabularies: codes by first appearance, also where hashes clash."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from prefjudge.formats.fields import Tokens, tokens_of
from prefjudge.formats.vocabulary import Vocabulary

IDS = st.lists(st.text("ab0é", min_size=1, max_size=20).map(str.encode), max_size=30)


def plain(names: list[bytes], known: dict[bytes, int]) -> list[int]:
    """Return what the codes are, one id after the other."""
    return [known.setdefault(name, len(known)) for name in names]


@given(blocks=st.lists(IDS, min_size=1, max_size=4))
@pytest.mark.parametrize("clash", [False, True])
def test_codes_are_places_of_first_appearance(blocks: list[list[bytes]], clash: bool) -> None:
    with pytest.MonkeyPatch.context() as patch:
        if clash:
            patch.setattr(Tokens, "codes", lambda tokens: np.zeros(len(tokens), np.uint64))
        vocabulary, known = Vocabulary(), dict[bytes, int]()
        for block in blocks:
            assert vocabulary.codes(tokens_of(block)).tolist() == plain(block, known)
        assert vocabulary.names() == tuple(name.decode() for name in known)
