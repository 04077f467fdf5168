"""Probabilities as people read them."""

import pytest

from prefjudge.show.cells import Column, write_cell
from prefjudge.words import chance_text

TEXTS = {
    1.0: ">0.99",
    0.996: ">0.99",
    0.994: "0.99",
    0.5: "0.50",
    0.006: "0.01",
    0.004: "<0.01",
    0.0: "<0.01",
}


@pytest.mark.parametrize("probability", TEXTS)
def test_what_is_not_certain_does_not_look_so(probability: float) -> None:
    assert chance_text(probability) == TEXTS[probability]
    assert write_cell(probability, Column(name="p_best", kind="chance")) == TEXTS[probability]
