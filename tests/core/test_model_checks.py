"""Model checks: counts by hand, votes of the model, and votes that no such model makes."""

from itertools import combinations

import numpy as np
import pytest

from prefjudge.core.resolving.confidence import ModelCheck, check_model
from prefjudge.core.resolving.scales import Scales, estimate_scales, one_scale
from prefjudge.core.strategies import LapseNoise, error_of_scale
from tests.core.tables import judgments_of


def check(*lines: str, scales: Scales | None = None) -> dict[str, ModelCheck]:
    found = check_model(judgments_of(*lines), scales or one_scale(0.7), rng=np.random.default_rng(1))
    return {one.name: one for one in found}


def times(many: int, *lines: str) -> list[str]:
    return [line for line in lines for _ in range(many)]


CIRCLE = ("q a b a", "q b c b", "q c a c")
ORDER = ("p a b a", "p b c b", "p a c a")


def test_circles_and_unanimous_pairs_are_counted() -> None:
    found = check(*times(5, *CIRCLE, *ORDER), "r a b a", *times(4, "r a b b"))
    assert (found["cycles"].of, found["cycles"].seen) == (2, 0.5)
    assert (found["unanimous"].of, found["unanimous"].seen) == (7, 6 / 7)


def test_a_circle_of_four_holds_two_circles_of_three() -> None:
    # a > b > c > d > a, a > c and b > d: of the four threes abd and acd go round.
    lines = ("q a b a", "q b c b", "q c d c", "q d a d", "q a c a", "q b d b")
    assert (found := check(*times(2, *lines)))["cycles"].of == 4
    assert found["cycles"].seen == 0.5


@pytest.mark.parametrize(
    "lines",
    [
        ORDER,  # one vote on each pair fits any number of cycles
        (*times(2, *ORDER), "p a b a"),  # a pair was asked once more
        (*times(2, *ORDER), "p a b tie", "p b c tie", "p a c tie"),
        ("p a b a", "p a b a", "p b c b", "p b c b"),  # a pair was not asked
        (),
    ],
)
def test_what_is_no_fair_sample_of_repeats_is_not_looked_at(lines: tuple[str, ...]) -> None:
    assert check(*lines) == {}


def crowd(chances: np.ndarray, many: int, seed: int) -> list[str]:
    rng = np.random.default_rng(seed)
    return [
        f"q{query:03} {x} {y} {x if rng.random() < chances[query, x, y] else y}"
        for query in range(len(chances))
        for x, y in combinations(range(chances.shape[1]), 2)
        for _ in range(many)
    ]


@pytest.mark.parametrize("lapses", [0.0, 0.4, 1.0])
def test_votes_of_the_model_fit_it(lapses: float) -> None:
    chances, _ = LapseNoise(error=0.3, lapses=lapses).draw_chances(60, 5, np.random.default_rng(3))
    judgments = judgments_of(*crowd(chances, 5, seed=4))
    rng = np.random.default_rng(5)
    found = check_model(judgments, estimate_scales(judgments, rng=rng), rng=rng)
    assert [one.name for one in found] == ["cycles", "unanimous"]
    assert all(one.fits for one in found)
    assert all(one.low < one.seen < one.high and one.high - one.low < 0.3 for one in found)


def test_votes_that_agree_and_yet_go_in_circles_do_not_fit() -> None:
    # Who is preferred is tossed for each pair, and then nine votes in ten say so.
    rng = np.random.default_rng(6)
    tossed = np.where(np.triu(rng.random((60, 5, 5)) < 0.5, 1), 0.9, 0.1)
    judgments = judgments_of(*crowd(tossed, 3, seed=7))
    found = check_model(judgments, estimate_scales(judgments, rng=rng), rng=rng)
    (cycles,) = found
    assert cycles.too_much_noise
    assert not cycles.fits
    assert cycles.seen == pytest.approx(0.25, abs=0.05)


@pytest.mark.parametrize(
    "lines",
    [
        # a redraw of so many votes may have an even pair, and then no three that counts
        times(100, *CIRCLE),
        # votes that agree less often than any chance: a line through the redraws leads below 0
        [f"q{n} {x} {y} {won}" for n in range(50) for x, y in combinations("abcd", 2) for won in (x, y) * 3],
    ],
)
def test_what_was_to_be_expected_is_a_share(lines: list[str]) -> None:
    judgments = judgments_of(*lines)
    rng = np.random.default_rng(9)
    found = check_model(judgments, estimate_scales(judgments, rng=rng), rng=rng)
    assert found
    assert all(0 <= one.low <= one.high <= 1 for one in found)
    cycles = [one for one in found if one.name == "cycles"]
    assert all(one.too_much_noise for one in cycles)


def test_lapses_keep_the_share_of_wrong_votes() -> None:
    rng = np.random.default_rng(8)
    for lapses in (0.0, 0.3, 1.0):
        noise = LapseNoise(error=0.3, lapses=lapses)
        chances, best = noise.draw_chances(20_000, 2, rng)
        right = chances[np.arange(len(best)), best, 1 - best]
        assert 1 - right.mean() == pytest.approx(0.3, abs=0.003)
        assert right.max() <= 1 - noise.tossed / 2 + 1e-12
    assert noise.draw_chances(9, 3, np.random.default_rng(1))[0].tolist() == (
        LapseNoise(error=0.3, lapses=1.0).draw_chances(9, 3, np.random.default_rng(1))[0].tolist()
    )
    assert error_of_scale(LapseNoise(error=0.3, lapses=0.0).scale) == pytest.approx(0.3)
