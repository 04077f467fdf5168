"""Shapes of strengths: probabilities of votes that sum to 1, and answers as sure as they are right."""

from itertools import product
from math import comb, prod

import numpy as np
import pytest
from numpy.typing import NDArray

from prefjudge.core.planning.sure import Sure
from prefjudge.core.resolving import shapes
from prefjudge.core.resolving.confidence import assess_confidence
from prefjudge.core.resolving.scales import one_scale
from prefjudge.core.resolving.shapes import average_chances, draw_shapes, tell_classes
from prefjudge.core.strategies import LapseNoise
from tests.core.tables import highest, log_of

Floats = NDArray[np.float64]
EVERY = np.full(15, 1 / 15)


def outcomes(size: int, times: int) -> tuple[Floats, Floats]:
    """Return all votes that so many on each pair can give, and in how many orders each may come."""
    x, y = np.triu_indices(size, 1)
    every = list(product(range(times + 1), repeat=x.size))
    votes = np.zeros((len(every), size, size))
    votes[:, x, y] = every
    votes[:, y, x] = times - votes[:, x, y]
    return votes, np.array([prod(comb(times, won) for won in one) for one in every], dtype=float)


@pytest.mark.parametrize("lapses", [0.0, 0.5])
def test_each_shape_makes_some_votes_certain(lapses: float, monkeypatch: pytest.MonkeyPatch) -> None:
    votes, ways = outcomes(3, 2)
    seen = []
    whole = shapes._other_shapes
    monkeypatch.setattr(shapes, "_other_shapes", lambda *args: seen.append(whole(*args)) or seen[-1])
    known = one_scale(1.3, lapses)
    average_chances(
        votes, type(known)(known.scale, known.weight, known.lapses, shapes=EVERY), draws=6000, seed=1
    )
    mix, logs = seen[0]
    assert ways @ np.exp(logs) == pytest.approx(np.ones(15), abs=0.015)
    assert mix[0].sum(axis=2) == pytest.approx(np.ones(logs.shape))


def test_classes_are_summed_over_all_sets() -> None:
    votes = np.random.default_rng(1).integers(0, 4, (1, 4, 4)).astype(float)
    votes[:, range(4), range(4)] = 0.0
    better = np.array([[1, 1, 0, 0], [0, 1, 1, 0], [1, 0, 1, 1]], dtype=float)
    mix, logs = tell_classes(votes, None, better)
    for number, right in enumerate(shapes.RIGHT):
        of_sets = []
        for chosen, before in zip(better, (0.25, 0.25, 0.5), strict=True):
            chance = 0.5 + (right - 0.5) * (chosen[:, None] - chosen[None, :])
            of_sets.append(before * np.prod(chance ** votes[0]))
        share = np.array(of_sets) / sum(of_sets)
        assert logs[0, number] == pytest.approx(np.log(sum(of_sets)))
        assert mix[0, 0, number] == pytest.approx(share @ (better / better.sum(axis=1)[:, None]))
        assert mix[1, 0, number] == pytest.approx(share @ better)


def certain(shape: int | slice) -> Floats:
    share = np.zeros(15)
    share[shape] = 1.0
    return share / share.sum()


CROWDS: dict[str, tuple[Floats, float]] = {
    "plain": (certain(shapes.PLAIN), 0.04),
    "two classes": (certain(shapes.CLASSES), 0.05),
    "one ahead": (certain(shapes.AHEAD), 0.05),
    "equal bests": (0.6 * certain(shapes.PLAIN) + 0.4 * certain(shapes.TIED), 0.07),
    "circles": (certain(shapes.CIRCLES), 0.06),
}


@pytest.mark.parametrize("name", CROWDS)
def test_answers_are_as_sure_as_they_are_right(name: str) -> None:
    share, bound = CROWDS[name]
    rng = np.random.default_rng(2)
    chances, best = draw_shapes(LapseNoise(error=0.33), share, 300, 6, rng)
    votes = cast(chances, 9, rng)
    judgments, pools = log_of(votes)
    assessed = assess_confidence(judgments, pools=pools, rng=rng)
    found, lost = (figure.reshape(-1, 6) for figure in (assessed.chance, assessed.loss))
    named, query = found.argmax(axis=1), np.arange(300)
    right = named == best
    assert found.max(axis=1).mean() == pytest.approx(right.mean(), abs=bound)
    if name != "circles":  # where who is named has the taste of its pair with the best on its side
        assert lost[query, named].mean() == pytest.approx(chances[query, best, named].mean() - 0.5, abs=0.01)
    sure = found.max(axis=1) >= 0.9
    assert right[sure].sum() >= 0.87 * sure.sum()


@pytest.mark.parametrize(("times", "least", "most"), [(1, 0.15, 0.5), (3, 0.05, 0.4), (9, 0.0, 0.12)])
@pytest.mark.parametrize("name", ["plain", "two classes", "equal bests"])
def test_what_few_votes_cannot_tell_is_between_two_bounds(
    name: str, times: int, least: float, most: float
) -> None:
    rng = np.random.default_rng(times)
    chances, best = draw_shapes(LapseNoise(error=0.33), CROWDS[name][0], 300, 6, rng)
    judgments, pools = log_of(cast(chances, times, rng))
    found = assess_confidence(judgments, pools=pools, rng=rng)
    chance, (down, up) = found.chance.reshape(-1, 6), found.scales.unlike
    right = (chance.argmax(axis=1) == best).mean()
    assert down < 0.0 < up
    assert chance.max(axis=1).mean() + down - 0.05 < right < chance.max(axis=1).mean() + up + 0.05
    assert least < up - down < most


def cast(chances: Floats, times: int, rng: np.random.Generator) -> Floats:
    x, y = np.triu_indices(chances.shape[1], 1)
    votes = np.zeros_like(chances)
    votes[:, x, y] = rng.binomial(times, chances[:, x, y])
    votes[:, y, x] = times - votes[:, x, y]
    return votes


def test_no_votes_are_spent_on_which_of_two_equals_is_the_best() -> None:
    rng = np.random.default_rng(3)
    chances, _ = draw_shapes(LapseNoise(error=0.2), certain(shapes.CLASSES), 60, 5, rng)
    judgments, pools = log_of(cast(chances, 9, rng))
    found = assess_confidence(judgments, pools=pools, rng=rng)
    good = found.good.reshape(-1, 5)
    assert good.max(axis=1).mean() > highest(found).mean() + 0.2
    asked = Sure(0.8).open(cast(chances, 9, rng), found.chance.reshape(-1, 5), enough=good.max(axis=1) >= 0.8)
    assert asked.mean() < 0.3
