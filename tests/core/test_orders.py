"""The sum over orders, held against a loop over all of them."""

from collections.abc import Callable
from itertools import permutations
from math import factorial

import numpy as np
import pytest

from prefjudge.core.resolving.posterior import draw_exactly, draw_one, sum_orders


def looped(votes: np.ndarray, error: float) -> tuple[np.ndarray, float]:
    k = len(votes)
    mass = np.zeros(k)
    for order in permutations(range(k)):
        right = sum(votes[x, y] for place, x in enumerate(order) for y in order[place:])
        mass[order[0]] += (1 - error) ** right * error ** (votes.sum() - right) / factorial(k)
    return mass / mass.sum(), float(np.log(mass.sum()))


@pytest.mark.parametrize("k", [1, 2, 3, 6])
def test_orders_are_summed_as_a_loop_sums_them(k: int) -> None:
    votes = np.random.default_rng(k).integers(0, 4, (5, k, k)) / 2.0
    votes[:, np.arange(k), np.arange(k)] = 0
    votes[0] = 0
    for error in (0.1, 0.45):
        chance, evidence = sum_orders(votes, error)
        for query in range(5):
            expected, log = looped(votes[query], error)
            assert chance[query] == pytest.approx(expected)
            assert evidence[query] == pytest.approx(log)


def test_thousands_of_votes_in_a_circle_do_not_underflow() -> None:
    votes = np.zeros((1, 3, 3))
    votes[0, 0, 1] = votes[0, 1, 2] = votes[0, 2, 0] = 3000
    chance, evidence = sum_orders(votes, 0.1)
    assert chance[0] == pytest.approx([1 / 3] * 3)
    # Three of the six orders contradict one of the sides, the others two.
    assert evidence[0] == pytest.approx(6000 * np.log(0.9) + 3000 * np.log(0.1) + np.log(0.5))


def test_pools_of_twelve_sum_to_one() -> None:
    votes = np.random.default_rng(2).integers(0, 2, (30, 12, 12)).astype(float)
    votes[:, np.arange(12), np.arange(12)] = 0
    chance, _ = sum_orders(votes, 0.3)
    assert chance.sum(axis=1) == pytest.approx(1.0)
    # The more it won, the likelier.
    assert np.corrcoef(chance.ravel(), votes.sum(axis=2).ravel())[0, 1] > 0.5


def _exactly(votes: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return draw_exactly(votes, 0.3, rng)


def _weighed(votes: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return draw_one(votes, 0.3, draws=100, rng=rng)


@pytest.mark.parametrize("draw", [_exactly, _weighed])
def test_orders_are_drawn_as_often_as_they_are_probable(
    draw: Callable[[np.ndarray, np.random.Generator], np.ndarray],
) -> None:
    votes = np.array([[[0.0, 2.0, 1.0], [1.0, 0.0, 3.0], [0.0, 1.0, 0.0]]])
    places = draw(np.repeat(votes, 4000, axis=0), np.random.default_rng(1))
    weight = {}
    for place in permutations(range(3)):
        right = sum(votes[0, x, y] for x in range(3) for y in range(3) if place[x] < place[y])
        weight[place] = 0.7**right * 0.3 ** (votes.sum() - right)
    for place, mass in weight.items():
        share = (places == place).all(axis=1).mean()
        assert share == pytest.approx(mass / sum(weight.values()), abs=0.03)
