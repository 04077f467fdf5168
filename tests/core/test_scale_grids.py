"""The grids of probable scales, held against densities whose place and width are known."""

import numpy as np
import pytest

from prefjudge.core.resolving import scales
from prefjudge.core.resolving.scales import HIGHEST, LOWEST, Grid, LogDensity, estimate_scales, find_grids
from tests.core.tables import simulated_judgments

LOW, WIDE = np.log(LOWEST), np.log(HIGHEST / LOWEST)


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


def logs_of(grid: Grid) -> tuple[np.ndarray, np.ndarray]:
    """Return the logs of the scales of a grid, and of their density."""
    return LOW + WIDE * np.array([*grid]), np.array([*grid.values()])


@pytest.mark.parametrize("width", [0.3, 0.03, 0.003])
def test_a_grid_covers_what_is_probable_and_is_found_soon_where_it_is_known_roughly(width: float) -> None:
    density, again = Asked(normal(width)), Asked(normal(width))
    (grid,) = find_grids(density, [0.0])
    (rough,) = find_grids(Asked(normal(2.8 * width, 0.5 * width)), [0.0])
    (same,) = find_grids(again, [0.0], rough=[rough])
    assert density.times <= 35
    assert again.times <= 20
    for one in (grid, same):
        points, logs = logs_of(one)
        assert np.diff(points) == pytest.approx(points[1] - points[0])
        assert points[1] - points[0] <= 1.8 * width
        assert max(logs[0], logs[-1]) < -10 < min(logs[1], logs[-2])


@pytest.mark.parametrize("shift", [-2.9, 0.01, 1.5, 2.9])
def test_a_rough_grid_that_is_wrong_hides_nothing(shift: float) -> None:
    (rough,) = find_grids(Asked(normal(0.05)), [0.0])
    (grid,) = find_grids(Asked(normal(0.02, shift)), [0.0], rough=[rough])
    points, logs = logs_of(grid)
    mass = np.exp(logs - logs.max())
    mass[[0, -1]] *= 0.5
    assert mass @ points / mass.sum() == pytest.approx(shift, abs=0.002)


@pytest.mark.parametrize("edge", [0.13, 0.2, 0.31, 0.5])
def test_a_density_with_a_cliff_is_found_all_the_same(edge: float) -> None:
    (grid,) = find_grids(
        lambda scale, _: normal(0.2)(np.log(scale), 0) - 3000.0 * (np.log(scale) > edge), [0.0]
    )
    points, logs = logs_of(grid)
    probable = points[logs > logs.max() - 10]
    assert probable[0] == pytest.approx(-0.9, abs=0.2)
    assert edge - 0.2 < probable[-1] <= edge


@pytest.mark.parametrize("bound", [LOWEST, HIGHEST])
def test_a_grid_ends_at_a_bound_where_what_lies_beyond_is_probable(bound: float) -> None:
    rough = find_grids(Asked(normal(0.4, float(0.9 * np.log(bound)))), [0.0])
    for near in (None, rough):
        (grid,) = find_grids(Asked(normal(0.3, float(np.log(bound)))), [0.0], rough=near)
        assert min(abs(place - (bound == HIGHEST)) for place in grid) == 0.0


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
    # A grid of nine to 16 for each share of lapses, and some scales again by more samples.
    assert whole < 80


def test_grids_of_several_shares_have_scales_in_common() -> None:
    asked: list[tuple[float, float]] = []

    def density(scale: float, lapses: float) -> float:
        asked.append((scale, lapses))
        return normal(0.1)(float(np.log(scale)), 0.5 * lapses)

    one, other = find_grids(density, [0.0, 1.0])
    assert len(asked) == len(set(asked))
    assert len({*one} & {*other}) > 3


def test_a_peak_that_is_steep_on_one_side_is_within_the_grid() -> None:
    for peak in np.linspace(0.4, 0.7, 31).tolist():

        def density(log: float, _: float, peak: float = peak) -> float:
            beyond = log - peak
            return float(-268.66 * beyond**2.257 if beyond > 0 else -5.892 * (-beyond) ** 0.684)

        (grid,) = find_grids(Asked(density), [0.0])
        points, logs = logs_of(grid)
        assert points[0] < peak < points[-1]
        assert max(logs[0], logs[-1]) < -9
