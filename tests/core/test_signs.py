"""What is said of a worker who stands out, and from where on."""

import numpy as np
import pytest

from prefjudge.core.workers import Evidence, Sign, SignKind, find_signs

PLAIN = {
    "judged": 40, "left": 20, "decided": 40, "side_p": 1.0, "seconds": 20.0,
    "timed": 40, "hurried": 20, "repeated": 20, "consistent": 18, "compared": 40.0, "agreed": 36.0,
    "gold_right": 19, "gold_missed": 1, "gold_low": 0.76, "gold_high": 0.95,
}  # fmt: skip


def evidence(**odd: float) -> Evidence:
    """Return four plain workers, of whom ``w0`` is odd in some columns."""
    columns = {name: np.array([odd.get(name, plain), *[plain] * 3]) for name, plain in PLAIN.items()}
    return Evidence(workers=("w0", "w1", "w2", "w3"), **columns)


@pytest.mark.parametrize(
    ("odd", "kind", "text"),
    [
        (
            {"side_p": 0.0024, "left": 30},
            SignKind.SIDE,
            "chose the left passage in 30 of 40 comparisons (chance 1 in 417)",
        ),
        (
            {"side_p": 9.9e-7, "left": 1, "decided": 1},
            SignKind.SIDE,
            "chose the left passage in 1 of 1 comparison (chance below 1 in a million)",
        ),
        ({"hurried": 21}, SignKind.TIME, "made 21 of 40 choices faster than anybody can read"),
        # The others are consistent in 54 of 60: nobody of 8 is with the chance 0.1^8, and 5 of 8 with 0.038.
        (
            {"repeated": 8, "consistent": 0},
            SignKind.CONSISTENCY,
            "chose the same passage in 0 of 8 pairs that came back with their sides swapped "
            "(chance below 1 in a million if like the others)",
        ),
        # They agree in 108 of 120: one of three or less has the chance 0.1^3 + 3 * 0.9 * 0.1^2 = 0.028, and
        # none 0.001.
        (
            {"compared": 3.0, "agreed": 0.0},
            SignKind.AGREEMENT,
            "agrees with the majority of the others in 0% of 3 comparisons "
            "(chance 1 in 1,000 if like the others)",
        ),
        (
            {"gold_right": 9, "gold_missed": 9, "gold_low": 0.29, "gold_high": 0.71},
            SignKind.GOLD,
            "got 9 of 18 gold pairs right (95 % interval: 29% to 71%)",
        ),
    ],
)
def test_what_stands_out_is_said_with_its_chance(odd: dict[str, float], kind: SignKind, text: str) -> None:
    assert find_signs(evidence(**odd)) == (Sign(worker="w0", kind=kind, text=text),)


@pytest.mark.parametrize(
    "even",
    [
        {},
        {"side_p": 0.0025},  # 0.01, shared by four workers
        {"hurried": 20},
        {"repeated": 8, "consistent": 5},
        {"compared": 3.0, "agreed": 1.0},
        {"compared": 3.0, "agreed": 1.9},  # ties agree by half: what is whole counts
        {"repeated": 0, "consistent": 0, "compared": 0.0, "agreed": 0.0},
        {"gold_high": 0.9},
    ],
)
def test_at_the_bound_nobody_stands_out(even: dict[str, float]) -> None:
    assert find_signs(evidence(**even)) == ()


def test_the_level_and_the_accuracy_are_as_asked() -> None:
    odd = evidence(side_p=0.1, gold_high=0.94)
    assert find_signs(odd) == ()
    found = find_signs(odd, level=0.5, accuracy=0.945)
    assert [(sign.worker, sign.kind) for sign in found] == [("w0", SignKind.SIDE), ("w0", SignKind.GOLD)]
