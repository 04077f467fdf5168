"""The grids of probable scales, held against densities whose place and width are known."""

import numpy as np
import pytest

from prefjudge.core.resolving import scales
from prefjudge.core.resolving import scales as scale_grids
from prefjudge.core.resolving.scales import POINTS, LogDensity, estimate_scales, find_grids
from tests.core.tables import simulated_judgments

WITHIN = (-3.0, 1.6)


class Asked:
    """A density that counts how often it is asked for."""

    def __init__(self, of: LogDensity) -> None:
        self.of = of
        self.times = 0

    def __call__(self, scale: float, lapses: float) -> float:
        self.times += 1
        return self.of(float(np.log(scale)), lapses)


def normal(width: float, shift: float = 0.0) -> LogDensity:
    return lambda log, lapses: -0.5 * ((log - shift - lapses) / width) ** 2


@pytest.mark.parametrize("width", [0.3, 0.03, 0.003])
def test_three_grids_find_a_scale_and_two_where_it_is_known_roughly(width: float) -> None:
    density = Asked(normal(width))
    ((grid, _),) = find_grids(density, lapses=[0.0], within=WITHIN)
    assert density.times <= 3 * POINTS
    rough = [(np.linspace(-12 * width, 18 * width, POINTS), np.zeros(POINTS))]
    again = Asked(normal(width))
    ((same, _),) = find_grids(again, lapses=[0.0], within=WITHIN, rough=rough)
    assert again.times <= 2 * POINTS
    for one in (grid, same):
        assert one[0] == pytest.approx(-4.5 * width, abs=1.5 * width)
        assert one[-1] == pytest.approx(4.5 * width, abs=1.5 * width)


@pytest.mark.parametrize("shift", [-2.9, 0.01, 1.5])
def test_a_rough_grid_that_is_wrong_hides_nothing(shift: float) -> None:
    rough = [(np.linspace(-0.2, 0.0, POINTS), np.zeros(POINTS))]
    ((grid, logs),) = find_grids(Asked(normal(0.02, shift)), lapses=[0.0], within=WITHIN, rough=rough)
    mass = np.exp(logs - logs.max())
    mass[[0, -1]] *= 0.5
    assert mass @ grid / mass.sum() == pytest.approx(shift, abs=0.002)


@pytest.mark.parametrize("edge", [0.13, 0.2, 0.31, 0.5])
def test_a_density_that_no_spline_follows_is_found_all_the_same(edge: float) -> None:
    # A step down: a spline swings beside it, and misses what is probable there.
    def density(log: float, _: float) -> float:
        return -0.5 * (log / 0.2) ** 2 - (3000.0 if log > edge else 0.0)

    ((grid, logs),) = find_grids(Asked(density), lapses=[0.0], within=WITHIN)
    probable = grid[logs > logs.max() - 10]
    assert probable[0] == pytest.approx(-0.9, abs=0.2)
    assert edge - 0.2 < probable[-1] <= edge


def test_a_part_of_the_votes_tells_where_to_look(monkeypatch: pytest.MonkeyPatch) -> None:
    weighed = []

    def count(votes: np.ndarray, *args: object, **options: object) -> np.ndarray:
        weighed.append(len(votes))
        return log_evidences(votes, *args, **options)

    log_evidences = scales.log_evidences
    monkeypatch.setattr(scales, "log_evidences", count)
    judgments, _ = simulated_judgments(160, 2, votes=3, scale=1.0, seed=1)
    estimate_scales(judgments, rng=np.random.default_rng(1))
    whole = sum(number == 160 for number in weighed)
    assert weighed[0] == 20
    # Two grids of nine for each share of lapses, and some scales again by more samples.
    assert whole < 80


@pytest.mark.parametrize(("behind", "narrowed"), [(5.0, True), (40.0, False)])
def test_a_share_of_lapses_that_is_out_of_the_question_is_looked_at_once(
    behind: float, narrowed: bool
) -> None:
    asked: list[float] = []

    def density(scale: float, lapses: float) -> float:
        asked.append(lapses)
        return -0.5 * (float(np.log(scale)) / 0.03) ** 2 - behind * lapses

    rough = [(np.linspace(-1.0, 0.9, POINTS), np.zeros(POINTS))] * 2
    sure, doubtful = find_grids(density, lapses=[0.0, 1.0], within=WITHIN, rough=rough)
    assert sure[0][-1] - sure[0][0] < 0.4
    assert bool(doubtful[0][-1] - doubtful[0][0] < 0.4) is narrowed
    assert asked.count(0.0) == 2 * POINTS
    assert asked.count(1.0) == (2 if narrowed else 1) * POINTS
    assert doubtful[1].max() == pytest.approx(-behind, abs=2.0)  # half a step from its peak


def test_a_grid_that_misses_the_peak_is_not_widened_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    # Steep above its peak, flat below it: the least scale of a grid is improbable beside the peak alone.
    def density(log: float, _: float) -> float:
        beyond = log - peak
        return -268.66 * beyond**2.257 if beyond > 0 else -5.892 * (-beyond) ** 0.684

    def counted(*arguments: object) -> object:
        weighed.append(arguments)
        assert len(weighed) < 20
        return weigh(*arguments)

    weigh = scale_grids._weighed
    monkeypatch.setattr(scale_grids, "_weighed", counted)
    for peak in np.linspace(0.4, 0.7, 31).tolist():
        weighed: list[object] = []
        ((grid, logs),) = find_grids(Asked(density), lapses=[0.0], within=WITHIN)
        assert grid[0] < peak < grid[-1]
        assert max(logs[0], logs[-1]) < -9
